//! Schema, policy and job files: validated types, or diagnostics with the source line and the fix.
//!
//! | you have | you want | call |
//! |---|---|---|
//! | a job file | everything that a run starts from | [`load`] |
//! | a policy or a schema file alone | to check it | [`load_policy`], [`load_schema`] |
//! | an editor | completion and checks while typing | [`json_schema`] |
//! | mistakes | text, or JSON | [`Diagnostics::render`], [`Diagnostics::to_json`] |
//! | two schemas | what changed, and whom it breaks | [`diff()`] |
//! | files that are not on a disk | the same | [`load_with`], [`load_policy_with`], [`load_schema_with`] |
//! | a cell with a date in it | days or microseconds | [`schema::CompiledFormat`] |
//!
//! A file goes through four steps, and each one works on what the step before has left:
//!
//! 1. `yaml`: bytes to a tree in which everything has a position; refuses what can be read in two ways.
//! 2. `structure`: the tree against the JSON Schema that is derived from the types in `typed`: unknown and missing keys, wrong types,
//!    words and ranges. What does not fit is cut out.
//! 3. `spanned`: what is left to the structs in `typed`, positions kept.
//! 4. `validate`: as typed to valid ([`job`], [`policy`], [`schema`]): what one value says about another.
//!
//! So a mistake in one place does not hide those in others: [`load`] reports the mistakes of all files in one run. What the design or ODCS
//! knows and this version does not run is refused with a `…-not-available` code, never skipped.
//!
//! Nothing here reads data, keys or the network; the only I/O is reading the files named.
pub mod codes;
mod date_format;
pub mod diagnostic;
pub mod diff;
pub mod job;
mod kind;
mod load;
mod pattern;
pub mod policy;
pub mod schema;
mod spanned;
mod structure;
mod typed;
mod validate;
mod yaml;

pub use diagnostic::{Diagnostic, Diagnostics, SourceFile, SourceMap, Span};
#[doc(inline)]
pub use diff::{Change, diff};
pub use kind::{Kind, json_schema};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A job with everything that it names, validated and agreeing with itself: what `plan` starts from.
#[derive(Debug)]
pub struct Contract {
    /// The job, its sources already joined with their schemas.
    pub job: job::Job,
    /// The policy that the job names.
    pub policy: policy::Policy,
    /// The texts of all files read, for excerpts in later diagnostics and for the digests in the manifest.
    pub sources: Arc<SourceMap>,
}

/// Reads the job at `path` and every file that it names. `parameters` are the `--param` values.
///
/// # Errors
/// Every mistake of every file, in one go, a hundred at most.
pub fn load(path: &Path, parameters: &BTreeMap<String, String>) -> Result<Contract, Diagnostics> {
    load::load(path, parameters, &load::from_disk)
}

/// Reads one policy file.
///
/// # Errors
/// Every mistake in it, a hundred at most.
pub fn load_policy(path: &Path) -> Result<(policy::Policy, Arc<SourceMap>), Diagnostics> {
    load::load_policy(path, &load::from_disk)
}

/// Reads one schema file.
///
/// # Errors
/// Every mistake in it, a hundred at most.
pub fn load_schema(path: &Path) -> Result<(schema::Schema, Arc<SourceMap>), Diagnostics> {
    load::load_schema(path, &load::from_disk)
}

/// Gives the bytes of a file.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

/// As [`load`], with files from elsewhere. Where the job's own places lie is still looked up on the disk, links and all.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: &Path, parameters: &BTreeMap<String, String>, read: ReadFile<'_>) -> Result<Contract, Diagnostics> {
    load::load(path, parameters, read)
}

/// As [`load_policy`], with the file from elsewhere.
///
/// # Errors
/// As [`load_policy`].
pub fn load_policy_with(path: &Path, read: ReadFile<'_>) -> Result<(policy::Policy, Arc<SourceMap>), Diagnostics> {
    load::load_policy(path, read)
}

/// As [`load_schema`], with the file from elsewhere.
///
/// # Errors
/// As [`load_schema`].
pub fn load_schema_with(path: &Path, read: ReadFile<'_>) -> Result<(schema::Schema, Arc<SourceMap>), Diagnostics> {
    load::load_schema(path, read)
}
