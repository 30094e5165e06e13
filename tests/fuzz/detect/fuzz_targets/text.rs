//! libFuzzer's door to [`perimeter_fuzz_detect::text`].
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    perimeter_fuzz_detect::text::run(input);
});
