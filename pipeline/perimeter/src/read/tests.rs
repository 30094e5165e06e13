//! Small files of every kind, and what must come out of them.
mod arrow;
mod avro;
mod bad_files;
mod bug_reports;
mod codes;
mod columnar_suites;
mod conformance;
mod csv;
mod fixed_width;
mod json;
mod json_array;
mod json_nested;
mod nested;
mod parquet;
mod partitions;
mod projection;
mod stored;
mod text;
mod text_suites;
mod units;

use super::csv::Csv;
use super::decompress::Opened;
use super::fixed_width::FixedWidth;
use super::json::{Json, Records};
use super::json_array::JsonArray;
use super::rows::typings;
use super::text::{Blocks, Tokenizer};
use super::*;
use crate::check::{NumberStyle, Typing};
use crate::error::Error;
use ::arrow::array::Array;
use ::arrow::util::display::array_value_to_string;
use perimeter_contract::Span;
use perimeter_contract::job::{CsvOptions, Drift, Encoding, JsonOptions, TextOptions, Uri};
use perimeter_contract::schema::{Check, Column, DataType, Schema};
use std::path::{Path, PathBuf};

/// Everything that a test needs to read files that it writes.
pub(super) struct Bench {
    pub(super) folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
    pub(super) stores: Stores,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Out {
    /// Cells as text.
    pub(super) rows: Vec<Vec<Option<String>>>,
    /// Record number, codes, raw bytes.
    pub(super) rejected: Vec<(u64, Vec<String>, Vec<u8>)>,
    pub(super) batches: Vec<usize>,
    pub(super) stop_after: Option<usize>,
}

impl Accept for Out {
    fn batch(&mut self, batch: RecordBatch) -> ControlFlow<()> {
        for row in 0..batch.num_rows() {
            let cell = |column: &::arrow::array::ArrayRef| column.is_valid(row).then(|| array_value_to_string(column, row).unwrap());
            self.rows.push(batch.columns().iter().map(cell).collect());
        }
        self.batches.push(batch.num_rows());
        if self.stop_after.is_some_and(|rows| self.rows.len() >= rows) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn rejected(&mut self, record: &Rejected<'_>) -> Result<()> {
        let known = |code: &&str| code.contains('.') || RECORD_CODES.contains(code);
        assert!(record.codes.iter().all(known), "{:?}: in RECORD_CODES and docs/ingest.md", record.codes);
        self.rejected.push((record.record_number, record.codes.iter().map(|c| (*c).to_owned()).collect(), record.raw.to_vec()));
        Ok(())
    }
}

impl Out {
    /// Record numbers and codes.
    pub(super) fn codes(&self) -> Vec<(u64, String)> {
        self.rejected.iter().map(|(number, codes, _)| (*number, codes.join("+"))).collect()
    }

    pub(super) fn cells(&self) -> Vec<Vec<&str>> {
        self.rows.iter().map(|row| row.iter().map(|c| c.as_deref().unwrap_or("∅")).collect()).collect()
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { folder: tempfile::tempdir().unwrap(), stores: Stores::new(runtime.handle().clone()), _runtime: runtime }
    }

    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// All units, in order.
    pub(super) fn read(&self, source: &Source) -> Result<(Out, UnitTally)> {
        self.read_with(source, &(0..source.schema.columns.len()).collect::<Vec<_>>(), 8192)
    }

    pub(super) fn read_with(&self, source: &Source, projection: &[usize], batch_rows: usize) -> Result<(Out, UnitTally)> {
        let (files, units) = plan_units(&self.stores, 0, source)?;
        self.read_units(source, &files, &units, projection, batch_rows)
    }

    pub(super) fn read_units(&self, source: &Source, files: &[InputFile], units: &[Unit], projection: &[usize], batch_rows: usize) -> Result<(Out, UnitTally)> {
        let mut out = Out::default();
        let mut total = UnitTally::default();
        let ingest = Ingest { stores: &self.stores, source, files, projection, batch_rows };
        for unit in units {
            let tally = ingest_unit(&ingest, unit, &mut out)?;
            total.rows_read += tally.rows_read;
            total.rows_rejected += tally.rows_rejected;
            total.bytes_read += tally.bytes_read;
            total.rows_passed_over += tally.rows_passed_over;
            total.rows_with_added_fields += tally.rows_with_added_fields;
            for (code, count) in tally.rejections {
                *total.rejections.entry(code).or_default() += count;
            }
            for (code, numbers) in tally.first {
                let first = total.first.entry(code).or_default();
                first.extend(numbers);
                first.truncate(crate::check::report::POSITIONS);
            }
        }
        assert_eq!(total.rows_rejected, out.rejected.len() as u64);
        if projection.len() == source.schema.columns.len() {
            assert_eq!(total.rows_read, (out.rows.len() + out.rejected.len()) as u64, "rows in are rows out and rejects");
        }
        Ok((out, total))
    }

    /// Reads these bytes as the source's file, in blocks of `block` bytes. The batches' sizes are not among what comes out.
    pub(super) fn in_blocks(&self, source: &Source, bytes: &[u8], block: usize, batch_rows: usize) -> Result<(Out, UnitTally)> {
        let (out, tally) = self.in_blocks_of(source, bytes, block, batch_rows, super::text::MAX_RECORD_BYTES);
        tally.map(|tally| (out, tally))
    }

    /// As [`Bench::in_blocks`], and records of more than `max_record_bytes` are too long.
    pub(super) fn in_blocks_of(&self, source: &Source, bytes: &[u8], block: usize, batch_rows: usize, max_record_bytes: usize) -> (Out, Result<UnitTally>) {
        let file = self.stores.list(&source.uri).unwrap().remove(0);
        let files = [file];
        let projection: Vec<usize> = (0..source.schema.columns.len()).collect();
        let ingest = Ingest { stores: &self.stores, source, files: &files, projection: &projection, batch_rows };
        let mut out = Out::default();
        let mut emit = Emit::new(&ingest, &files[0], &mut out).unwrap();
        let run = Run { ingest: &ingest, file: &files[0], block, max_record_bytes };
        let (text, opened) = match &source.format {
            Format::Csv(o) => (&o.text, opened(&files[0], o.text.encoding, bytes)),
            Format::Json(o) => (&o.text, opened(&files[0], o.text.encoding, bytes)),
            Format::FixedWidth(o) => (&o.text, opened(&files[0], o.text.encoding, bytes)),
            _ => panic!(),
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return (Out::default(), Err(error)),
        };
        let style = NumberStyle::of(text);
        let columns = typings(&ingest, &emit, |column| match &source.format {
            Format::FixedWidth(o) => style.clone().fixed_width(o.fields[column].implied_decimals),
            _ => style.clone(),
        });
        let done = match &source.format {
            Format::Csv(options) => {
                let mut csv = Csv::new(options, Some(projection.len()), opened.decoding.table());
                csv.columns = projection.clone();
                run.of(csv, opened, &mut emit, columns)
            }
            Format::Json(options) => {
                let records = Records::new(source, options, opened.decoding.table());
                match options.array {
                    true => run.of(JsonArray::new(records), opened, &mut emit, columns),
                    false => run.of(Json { records }, opened, &mut emit, columns),
                }
            }
            Format::FixedWidth(options) => run.of(FixedWidth::new(options, opened.decoding), opened, &mut emit, columns),
            _ => panic!(),
        };
        let tally = done.map(|()| emit.finish());
        out.batches.clear();
        (out, tally)
    }

    /// Cuts the source's only file into ranges of about so many bytes.
    pub(super) fn cut(&self, source: &Source, unit_bytes: u64) -> (Vec<InputFile>, Vec<Unit>) {
        let files = self.stores.list(&source.uri).unwrap();
        let parts = match &source.format {
            Format::Csv(options) => {
                let header = csv_plan::read_header(&self.stores, source, options, &files[0]).unwrap();
                csv_plan::parts(&self.stores, options, &header, &files[0], unit_bytes)
            }
            Format::Json(options) => json_plan::parts(&self.stores, options, &files[0], unit_bytes),
            Format::FixedWidth(options) => fixed_width_plan::parts(&self.stores, options, &files[0], unit_bytes),
            _ => panic!(),
        };
        (files, parts.unwrap().into_iter().map(|part| Unit { source: 0, file: 0, part }).collect())
    }

    /// Writes a file and reads it as csv with text columns of these names.
    pub(super) fn csv(&self, names: &[&str], bytes: impl AsRef<[u8]>) -> Out {
        let path = self.write("in.csv", bytes);
        self.read(&csv_source(&path, names)).unwrap().0
    }
}

struct Run<'a> {
    ingest: &'a Ingest<'a>,
    file: &'a InputFile,
    block: usize,
    max_record_bytes: usize,
}

impl Run<'_> {
    fn of(&self, tokenizer: impl Tokenizer, opened: Opened, emit: &mut Emit<'_>, columns: Vec<Option<Typing>>) -> Result<()> {
        let mut blocks = Blocks::new(tokenizer, self.file, opened, 0);
        blocks.block_bytes = self.block;
        blocks.max_record_bytes = self.max_record_bytes;
        blocks.ingest(self.ingest.batch_rows, emit, columns)
    }
}

/// Bytes as if they were a file's.
pub(super) fn opened(file: &InputFile, encoding: Encoding, bytes: &[u8]) -> Result<Opened> {
    let (decoding, bytes) = super::encoding::decoded(file, encoding, Box::new(std::io::Cursor::new(bytes.to_vec())))?;
    Ok(Opened { bytes, decoding, taken: Default::default() })
}

pub(super) fn column(name: &str, data_type: DataType) -> Column {
    Column::new(name, data_type)
}

pub(super) fn with_rule(mut column: Column, check: Check) -> Column {
    column.rules.push(check.into());
    column
}

pub(super) fn source(path: &Path, format: Format, columns: Vec<Column>) -> Source {
    Source {
        name: "tx".into(),
        uri: Uri(path.to_str().unwrap().into()),
        format,
        schema: Schema::new("t", columns),
        drift: Drift::Refuse,
        span: Span::default(),
    }
}

pub(super) fn csv_options() -> CsvOptions {
    CsvOptions { delimiter: b',', quote: Some(b'"'), escape: None, comment: None, header: true, text: TextOptions::default() }
}

pub(super) fn csv_source(path: &Path, names: &[&str]) -> Source {
    source(path, Format::Csv(csv_options()), names.iter().map(|n| column(n, DataType::String)).collect())
}

pub(super) fn json_source(path: &Path, columns: Vec<Column>) -> Source {
    source(path, Format::Json(JsonOptions::default()), columns)
}

/// Code, exit code and message of a refusal.
pub(super) fn refusal<T: std::fmt::Debug>(result: Result<T>) -> (&'static str, u8, String) {
    match result.unwrap_err() {
        Error::Failed(failure) => (failure.code, failure.culprit.exit_code(), failure.message),
        Error::Contract(diagnostics) => {
            let first = &diagnostics.list[0];
            (first.code, 2, first.message.clone())
        }
    }
}
