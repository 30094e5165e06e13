//! libFuzzer's door to [`perimeter_fuzz_text::bodies::fixed_width`].
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| perimeter_fuzz_text::bodies::fixed_width(input, &perimeter_fuzz_text::read::read));
