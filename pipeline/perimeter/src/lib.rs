//! In the making.
pub mod error;
