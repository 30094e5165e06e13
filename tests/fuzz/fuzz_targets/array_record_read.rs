//! libFuzzer's door to [`perimeter_fuzz::array_record_read`], with a limit to what may be allocated.
#![no_main]
use libfuzzer_sys::fuzz_target;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Inputs have a few kilobytes and become files of at most a megabyte or so. Whatever they say, a zstd block of 4 bytes decodes to no more
/// than 128 KiB: this is what an honest bomb of that size may take in the harness and in the crate together.
const MAX_BYTES: usize = 1 << 30;

struct Limited;

static LIVE: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    if LIVE.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MAX_BYTES {
        // libFuzzer keeps the input.
        std::process::abort();
    }
}

// SAFETY: hands everything to the system's allocator as it came, and counts.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

fuzz_target!(|input: &[u8]| perimeter_fuzz::array_record_read::run(input));
