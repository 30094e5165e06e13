//! Files as they are typed, before anything is judged: one struct a mapping, every key optional, positions kept.
//!
//! These types are the only description of the files' structure. schemars derives the JSON Schema from them that judges a file
//! ([`crate::structure`]) and that editors get ([`crate::json_schema`]); documentation of the fields shows up in both. Keys that a file
//! must have are marked `required` for schemars and are `Option` all the same: a file with a missing key is read on, to find the rest.
pub(crate) mod job;
pub(crate) mod odcs;
pub(crate) mod policy;
