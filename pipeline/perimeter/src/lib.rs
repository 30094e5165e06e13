//! Prepares raw financial records for model training outside the cloud that owns them.
//!
//! The flow, one module per stage; each takes only what the one before it makes, and constructors are private, so a path from raw
//! data to a shard that skips a stage does not compile:
//!
//! ```text
//! contract ─► plan ─► read ─► check ─► prepare ─► pseudonymize ─► shape ─► shard ─► seal
//!   files     no rows          Checked  Prepared   Pseudonymized   Shaped   Closed   Sealed
//!                       └► quarantine (encrypted, inside the perimeter)
//! ```
//!
//! One row's way, function by function ([`run::run`] calls the stages in this order):
//!
//! | the row | is handled by |
//! |---|---|
//! | is in a file of the listing | [`plan::plan`], which cuts files into [`read::Unit`]s |
//! | is looked at by the detectors, where the sample takes it | [`classify::gate`], before anything leaves |
//! | becomes cells, with a record number | [`read::ingest_unit`], called by the table of [`engine::scan`] |
//! | is typed and checked, or rejected | [`check::Typing`], [`check::Checker::evaluate`] |
//! | is held against expressions, other rows and other sources | [`check::expression::RowRule`], [`check::sets`], decided by [`engine::digests`] |
//! | goes to quarantine | [`quarantine::QuarantineWriter::push`] |
//! | passes the user's SQL | [`prepare::prepare`] |
//! | gets its tokens | [`pseudonymize::columns::Workers::push`] |
//! | gets its shard | [`shard::shard_column`] |
//! | is exchanged and sorted | [`engine::order::sort`] |
//! | becomes part of an example | [`shape::Emitter::push`], driven by [`engine::emit::shard`] |
//! | becomes bytes in a file | [`shard::Encoder`], [`shard::ShardWriter::write`] |
//! | is read again and sealed | [`seal::seal()`] |
//!
//! | to … | begin at |
//! |---|---|
//! | run a job from a program | [`run::run`] over a [`plan::Plan`] from [`plan::plan`] |
//! | see what a run would do | [`plan::explain`] |
//! | change a keyring, or turn tokens back | [`keys`], [`reveal`] |
//! | know what is sensitive in raw files, and who answers for it | [`classify`], [`macie`] |
//! | know which rule decides a column | [`plan::lineage`], then [`plan::decide`] |
//! | read or check what was written | [`seal`] |
//! | know who has to act on a failure | [`error`] |
//!
//! The engine is Apache DataFusion, kept inside [`engine`]; stages are synchronous functions over Arrow record batches. Contract
//! files are parsed in the crate `perimeter_contract`, keys and transforms live in `perimeter_pseudonym`, the file format in
//! `array_record`. Nothing here prints except [`cli`].
pub mod check;
pub mod classify;
pub mod cli;
pub mod engine;
pub mod error;
pub mod infer;
pub mod keys;
pub mod macie;
pub mod plan;
pub mod prepare;
pub mod progress;
pub mod pseudonymize;
pub mod quarantine;
pub mod read;
pub mod reveal;
pub mod run;
pub mod seal;
pub mod shape;
pub mod shard;
pub mod store;
