//! libFuzzer's door to [`contract`].
#![no_main]
use libfuzzer_sys::fuzz_target;

#[path = "../src/contract.rs"]
mod contract;

fuzz_target!(|input: &[u8]| {
    contract::run(input);
});
