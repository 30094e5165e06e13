//! Files to checked rows, by deterministic units of work.
//!
//! | need | call |
//! |---|---|
//! | what there is to read, and whether it fits the contract | [`plan_units`] |
//! | the rows of one unit that break no rule, and the records that do | [`ingest_unit`]; with rules about rows and sets [`ingest_unit_with`] |
//! | the Arrow schema that comes out | [`arrow_schema`] |
//!
//! A [`Unit`] is a file, a byte range of one or some row groups of one, planned from the listing and never from the cores, so a unit gives the same rows and
//! the same counts wherever and however often it runs. Everything here blocks; nothing knows the engine.
//!
//! Every record costs at most itself: a ragged, torn, undecodable or untypable one is handed to [`Accept::rejected`] with all its codes and raw bytes, and reading
//! goes on with the next line. Codes of a whole record:
//!
//! | code | meaning |
//! |---|---|
//! | `ragged` | csv: more or fewer cells than columns; fixed width: not exactly as long as `recordLength` |
//! | `unknown-record-type` | fixed width: of a type that is neither among the `values` nor among the `others` of `recordTypes` |
//! | `torn-quote` | csv: a quote that is never closed, or followed by something else than delimiter or line end; its first line is rejected alone |
//! | `invalid-encoding` | the record is no text in the encoding that the job names, which is UTF-8 where it names none |
//! | `too-long` | a record of more than 16 MiB |
//! | `invalid-json`, `duplicate-key`, `unknown-field` | JSON: not exactly one object by RFC 8259; a key twice; a key that the contract does not have |
//!
//! Codes of a cell are those of [`crate::check`]; beside them, `<path>.required` is that of an object that must be there, and `<column>.partition` that of a row
//! whose value is another one than the path's. Lines without any character are no records. Faults of a whole file (truncated, corrupt) end the unit with exit 1.
mod arrow_ipc;
mod avro;
mod columns;
mod convert;
mod csv;
mod csv_plan;
mod decompress;
mod emit;
mod encoding;
mod fixed_width;
mod fixed_width_plan;
mod head;
mod json;
mod json_array;
mod json_plan;
mod json_scan;
mod parquet;
mod parquet_footer;
mod partitions;
mod rows;
mod some;
mod text;

pub(crate) use head::{fields, head, partition_keys};
pub(crate) use some::{Look, ingest_some};

pub use crate::check::arrow_schema;
pub use crate::store::InputFile;

use crate::check::Checker;
use crate::check::expression::RowRule;
use crate::check::report::Ragged;
use crate::check::sets::{FileViolations, Observe};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::Stores;
use arrow::array::RecordBatch;
use emit::Emit;
use partitions::Partitions;
use perimeter_contract::job::{Format, Source};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// One piece of work: it can be done alone, in any order, twice.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unit {
    /// Index of the source in the job.
    pub source: usize,
    /// Index of the file in the source's listing.
    pub file: usize,
    /// Which part of the file.
    pub part: Part,
}

/// Which part of a file a [`Unit`] covers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Part {
    /// All of it.
    Whole,
    /// Whole records of an uncompressed text file, without its header.
    Bytes {
        /// First byte.
        start: u64,
        /// One past the last byte.
        end: u64,
        /// Records before `start`.
        first_record: u64,
    },
    /// Row groups of a Parquet file, or record batches of an Arrow file.
    RowGroups {
        /// First row group or batch.
        start: usize,
        /// One past the last.
        end: usize,
        /// Rows before it.
        first_record: u64,
    },
}

/// What it takes to read the units of one source.
pub struct Ingest<'a> {
    /// The stores.
    pub stores: &'a Stores,
    /// The source.
    pub source: &'a Source,
    /// Its files, as [`plan_units`] listed them.
    pub files: &'a [InputFile],
    /// Contract columns that are wanted, in the order in which they come out.
    pub projection: &'a [usize],
    /// The most rows of one batch. 8,192 is a good number.
    pub batch_rows: usize,
}

/// Who takes the rows.
pub trait Accept {
    /// Rows that break no rule, in file order. `Break`: nobody wants more; checking goes on, since every row is checked and counted, and batches stop.
    fn batch(&mut self, batch: RecordBatch) -> ControlFlow<()>;

    /// One record that breaks rules, in file order within a unit.
    ///
    /// # Errors
    /// Whatever keeps the record from being kept; it ends the unit.
    fn rejected(&mut self, record: &Rejected<'_>) -> Result<()>;
}

/// A record that does not go on. It holds raw data: it goes into the quarantine and nowhere else.
pub struct Rejected<'a> {
    /// The file's uri.
    pub file: &'a str,
    /// 1-based, counted over the file's data records.
    pub record_number: u64,
    /// All of what it breaks: `<column>.<rule>`, or a code of the whole record.
    pub codes: &'a [&'a str],
    /// The record as it stands in the file; of Parquet, its columns as JSON.
    pub raw: Cow<'a, [u8]>,
}

impl std::fmt::Debug for Rejected<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rejected").field("record_number", &self.record_number).field("codes", &self.codes).finish_non_exhaustive()
    }
}

/// Codes of records as a whole; the others are those of rules. `docs/ingest.md` explains each.
pub const RECORD_CODES: [&str; 8] =
    ["ragged", "torn-quote", "invalid-encoding", "too-long", "unknown-record-type", "invalid-json", "duplicate-key", "unknown-field"];

/// What one unit held.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct UnitTally {
    /// Records, good and bad.
    pub rows_read: u64,
    /// Records that break rules.
    pub rows_rejected: u64,
    /// `<source>.<column>.<rule>` or `<source>.<record code>`: records that break it.
    pub rejections: BTreeMap<String, u64>,
    /// By the same codes: the first records that break it, [`POSITIONS`](crate::check::report::POSITIONS) at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub first: BTreeMap<String, Vec<u64>>,
    /// Bytes taken from the store.
    pub bytes_read: u64,
    /// Fixed width: records of types that are none of `recordTypes.values`; they are not among `rows_read`.
    #[serde(default)]
    pub rows_passed_over: u64,
    /// JSON with `drift: allowAdded`: records with keys that the contract does not have. The keys can be data and are not named.
    #[serde(default)]
    pub rows_with_added_fields: u64,
    /// How long `ragged` records are, and how many are; the first lengths, where there are very many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ragged: Vec<(Ragged, u64)>,
}

/// What the rows of a unit are held against beside the rules about single values, and who looks on. By default: nothing, and nobody.
#[derive(Default)]
pub struct UnitRules<'a> {
    /// The source's compiled rules, where they are kept from unit to unit.
    pub checker: Option<Arc<Checker>>,
    /// Rules about one row.
    pub rows: &'a [Arc<dyn RowRule>],
    /// Records of the unit's file that break rules about sets, as an earlier pass has found them.
    pub violations: Option<&'a FileViolations>,
    /// Sees the rows that break no rule of their own.
    pub observer: Option<&'a mut dyn Observe>,
}

/// Text files longer than twice this are split into units of about this length.
const UNIT_BYTES: u64 = 32 << 20;

/// What a source has to read, as [`plan_source`] found it.
#[derive(Clone, Debug)]
pub struct PlannedSource {
    /// Sorted by uri.
    pub files: Vec<InputFile>,
    /// In file order.
    pub units: Vec<Unit>,
    /// Names of columns that files have and the contract does not, which `drift: allowAdded` lets pass unread; sorted.
    pub added: Vec<String>,
}

/// What one file has to read.
struct PlannedFile {
    parts: Vec<Part>,
    /// Columns that the contract does not have.
    added: Vec<String>,
}

impl From<Vec<Part>> for PlannedFile {
    fn from(parts: Vec<Part>) -> Self {
        Self { parts, added: Vec::new() }
    }
}

/// As [`plan_source`], without the names of columns that are let pass.
///
/// # Errors
/// As [`plan_source`].
pub fn plan_units(stores: &Stores, source_index: usize, source: &Source) -> Result<(Vec<InputFile>, Vec<Unit>)> {
    plan_source(stores, source_index, source).map(|planned| (planned.files, planned.units))
}

/// Lists the files of a source, opens each one, holds it against the contract and cuts it into units.
///
/// # Errors
/// Exit 2: no file, an empty one, one of another format, a header that is missing, has a column twice, lacks a column of the contract or has one more, a column
/// of another type. Exit 1: a Parquet file without an intact footer, a compressed file that ends in its header. 3 and 4 as the store says. Mistakes of a columnar
/// file point at the contract's lines; the texts of the contract are put in by the caller, who has them.
pub fn plan_source(stores: &Stores, source_index: usize, source: &Source) -> Result<PlannedSource> {
    // A rule that cannot be applied is found before anything is read.
    Checker::new(&source.schema)?;
    let files: Vec<InputFile> = stores.list(&source.uri)?.into_iter().map(|file| partitions::labelled(source, file)).collect();
    let planned = in_parallel(&files, |file| guarded(file, || plan_file(stores, source, file)));
    if planned.len() != files.len() {
        return Err(Failure::new(Culprit::Outside, "internal", format!("source `{}` could not be planned", source.name)).help("Report this as a bug").into());
    }
    let (mut units, mut added) = (Vec::new(), Vec::new());
    for (index, file) in planned.into_iter().enumerate() {
        let file = file?;
        units.extend(file.parts.into_iter().map(|part| Unit { source: source_index, file: index, part }));
        added.extend(file.added);
    }
    added.sort_unstable();
    added.dedup();
    Ok(PlannedSource { files, units, added })
}

fn plan_file(stores: &Stores, source: &Source, file: &InputFile) -> Result<PlannedFile> {
    let partitions = Partitions::of(source, file)?;
    match &source.format {
        Format::Csv(options) => {
            let planned = |source: &Source| csv_plan::plan(stores, source, options, file);
            with_or_without(&partitions, source, options.header, planned, |rest, _| planned(rest))
        }
        Format::Json(options) => json_plan::plan(stores, options, file).map(PlannedFile::from),
        Format::Parquet => parquet::plan(stores, source, &partitions, file),
        Format::Arrow => arrow_ipc::plan(stores, source, &partitions, file),
        Format::Avro => avro::plan(stores, source, &partitions, file),
        Format::FixedWidth(options) => fixed_width_plan::plan(stores, source, options, file).map(PlannedFile::from),
    }
}

/// Reads a csv file with the columns that stand in its path, and without them if its header does not have them. What is done without them also gets where the
/// others stand in the contract.
fn with_or_without<T>(
    partitions: &Partitions,
    source: &Source,
    header: bool,
    with: impl FnOnce(&Source) -> Result<T>,
    without: impl FnOnce(&Source, Vec<usize>) -> Result<T>,
) -> Result<T> {
    if !partitions.any() {
        return with(source);
    }
    let rest = || partitions.rest(source);
    if header {
        match with(source) {
            Err(error) if lacks_columns(&error) => {}
            done => return done,
        }
    }
    let (source, columns) = rest();
    without(&source, columns)
}

fn lacks_columns(error: &Error) -> bool {
    match error {
        Error::Failed(failure) => failure.code == "missing-column",
        Error::Contract(diagnostics) => diagnostics.list.iter().any(|d| d.code == "missing-column"),
    }
}

/// Opening many small files is waiting, for S3 above all; the answers come in the order of the files.
fn in_parallel<T: Send>(files: &[InputFile], work: impl Fn(&InputFile) -> T + Sync) -> Vec<T> {
    const THREADS: usize = 8;
    if files.len() < 2 {
        return files.iter().map(work).collect();
    }
    let share = files.len().div_ceil(THREADS);
    std::thread::scope(|scope| {
        let running: Vec<_> = files.chunks(share).map(|some| scope.spawn(|| some.iter().map(&work).collect::<Vec<_>>())).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// Reads one unit, checks every record and hands out the good rows and the bad records.
///
/// # Errors
/// Exit 1: the file is truncated or corrupt. Exit 3: it changed since it was listed, or the store does not answer. Whatever [`Accept::rejected`] says.
pub fn ingest_unit(ingest: &Ingest<'_>, unit: &Unit, accept: &mut dyn Accept) -> Result<UnitTally> {
    ingest_unit_with(ingest, unit, UnitRules::default(), accept)
}

/// As [`ingest_unit`], with rules about rows and sets.
///
/// # Errors
/// As [`ingest_unit`], and whatever the observer says.
pub fn ingest_unit_with<'a>(ingest: &Ingest<'a>, unit: &Unit, rules: UnitRules<'a>, accept: &'a mut dyn Accept) -> Result<UnitTally> {
    let file = ingest.files.get(unit.file).ok_or_else(|| {
        Failure::new(Culprit::File, "unknown-unit", format!("source `{}` has no file number {}", ingest.source.name, unit.file)).help("Plan again")
    })?;
    let mut emit = Emit::with_rules(ingest, file, rules, accept)?;
    let partitions = std::sync::Arc::clone(&emit.partitions);
    guarded(file, || match &ingest.source.format {
        Format::Csv(options) => {
            let both = std::cell::RefCell::new(&mut emit);
            let with = |_: &Source| csv_plan::ingest(ingest, options, file, &unit.part, &mut both.borrow_mut());
            let without = |rest: &Source, columns: Vec<usize>| {
                let position = |column: &usize| columns.iter().position(|kept| kept == column);
                let projection: Vec<usize> = ingest.projection.iter().filter_map(position).collect();
                let mut emit = both.borrow_mut();
                emit.reads_only(rest, columns)?;
                csv_plan::ingest(&Ingest { source: rest, projection: &projection, ..*ingest }, options, file, &unit.part, &mut emit)
            };
            with_or_without(&partitions, ingest.source, options.header, with, without)
        }
        Format::Json(options) => json_plan::ingest(ingest, options, file, &unit.part, &mut emit),
        Format::Parquet => parquet::ingest(ingest, &partitions, file, &unit.part, &mut emit),
        Format::Arrow => arrow_ipc::ingest(ingest, &partitions, file, &unit.part, &mut emit),
        Format::Avro => avro::ingest(ingest, &partitions, file, &unit.part, &mut emit),
        Format::FixedWidth(options) => fixed_width_plan::ingest(ingest, options, file, &unit.part, &mut emit),
    })?;
    Ok(emit.finish())
}

/// A decoder that panics on a damaged file is a damaged file. The panic's text could quote data, and dies here.
fn guarded<T>(file: &InputFile, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(corrupt(file).into()))
}

/// The file cannot be decoded.
fn corrupt(file: &InputFile) -> Failure {
    Failure::new(Culprit::Data, "corrupt-input", format!("{} is damaged: it cannot be decoded", file.label)).help("Get the file again from its source")
}

/// The file ends too early.
fn truncated(file: &InputFile) -> Failure {
    Failure::new(Culprit::Data, "truncated-input", format!("{} is cut off: it ends in the middle of a compressed stream", file.label))
        .help("Get the file again from its source")
}

#[cfg(test)]
mod tests;
