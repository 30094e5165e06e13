//! libFuzzer's door to [`perimeter_fuzz::array_record_round_trip`].
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| perimeter_fuzz::array_record_round_trip::run(input));
