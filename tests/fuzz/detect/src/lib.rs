//! Fuzz targets of `perimeter-detect`: what must hold of any text, and of any values of a column.
//!
//! `pipeline/detect/tests/stored.rs` takes the same files in and runs the stored inputs, and changes of them, with the ordinary tests.

pub mod text;
pub mod values;
