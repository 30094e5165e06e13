//! The bodies of the fuzz targets: plain functions from bytes to nothing that panic when something is wrong.
//!
//! libFuzzer calls them through `fuzz_targets/`; the ordinary tests of a crate include this file as a module and call them with the
//! stored inputs, so it uses only what both have.
pub mod array_record_read;
pub mod array_record_round_trip;
pub mod forge;
pub mod input;
