//! The pseudonymized rows as Parquet: one file per shard, in the order of the shard.
//!
//! Bytes do not depend on how the rows were cut into batches: a page may end only after a multiple of [`STEP_ROWS`] rows of the shard, so rows are handed
//! to the Parquet writer in such steps.
use super::folder::{NewFile, VersionFolder, write_failure};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::Stores;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use perimeter_contract::job::Table;
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::sync::Arc;

/// The Parquet writer looks at page limits after as many rows.
const STEP_ROWS: usize = 1024;
/// Rows of a row group: bounds what the writer holds in memory.
const GROUP_ROWS: usize = 128 * STEP_ROWS;

/// A column with more distinct bytes than this is written plain: ids, times and amounts gain nothing by a dictionary, and pay for it.
const DICTIONARY_BYTES: usize = 128 << 10;

/// Where the table of a run goes.
#[derive(Debug)]
pub struct TableSink {
    folder: VersionFolder,
}

impl TableSink {
    /// Starts the version `run_id` of a job's table. `sse_kms` is the key of server-side encryption.
    ///
    /// # Errors
    /// As for [`VersionFolder::create`].
    pub fn create(stores: &Stores, table: &Table, sse_kms: Option<&str>, run_id: &str) -> Result<Self> {
        Ok(Self { folder: VersionFolder::create(&stores.with_sse_kms(sse_kms), &table.uri, run_id)? })
    }

    /// The version's folder.
    pub fn folder(&self) -> &VersionFolder {
        &self.folder
    }
}

/// Proof that a file of the table was written to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedPart {
    path: String,
    rows: u64,
    bytes: u64,
    sha256: [u8; 32],
}

impl ClosedPart {
    /// Relative to the table's version folder.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Rows in the file.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of the file.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }
}

/// Writes the table's files of the shards `own` (ascending) of `total`, in order.
pub struct TableWriter {
    sink: Arc<TableSink>,
    schema: SchemaRef,
    own: Vec<u32>,
    total: u32,
    at: usize,
    open: Option<Part>,
    closed: Vec<ClosedPart>,
}

struct Part {
    writer: ArrowWriter<Hashed>,
    rows: u64,
    /// Rows that do not fill a step yet.
    rest: Vec<RecordBatch>,
    rest_rows: usize,
}

impl TableWriter {
    /// `schema` is that of the batches to come: table columns only.
    pub fn new(sink: Arc<TableSink>, schema: SchemaRef, own: Vec<u32>, total: u32) -> Self {
        Self { sink, schema, own, total, at: 0, open: None, closed: Vec::new() }
    }

    /// Appends rows of `shard`; the files of all shards before it are closed.
    ///
    /// # Errors
    /// `shard-order` when the shard is behind or not this partition's; else as for [`VersionFolder::file`].
    pub fn write(&mut self, shard: u32, batch: &RecordBatch) -> Result<()> {
        let Some(target) = self.own[self.at.min(self.own.len())..].iter().position(|&own| own == shard) else {
            return Err(Failure::new(Culprit::Data, "shard-order", "rows arrived in another order than their shards").help("this is a bug: report it").into());
        };
        for _ in 0..target {
            self.close()?;
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec()).map_err(|_| self.unwritable())?;
        let mut part = match self.open.take() {
            Some(part) => part,
            None => self.open()?,
        };
        part.push(batch).map_err(|error| self.failure(error))?;
        self.open = Some(part);
        Ok(())
    }

    /// Closes all that is left.
    ///
    /// # Errors
    /// As disk or store say.
    pub fn finish(mut self) -> Result<Vec<ClosedPart>> {
        while self.at < self.own.len() {
            self.close()?;
        }
        Ok(self.closed)
    }

    fn path(&self) -> String {
        format!("part-{:05}-of-{:05}.parquet", self.own.get(self.at).copied().unwrap_or_default(), self.total)
    }

    fn open(&self) -> Result<Part> {
        let file = self.sink.folder.file(&self.path())?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_write_batch_size(STEP_ROWS)
            .set_dictionary_page_size_limit(DICTIONARY_BYTES)
            .set_created_by(concat!("perimeter ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties);
        let hashed = Hashed { file, hash: Sha256::new(), bytes: 0 };
        let writer = ArrowWriter::try_new_with_options(hashed, Arc::clone(&self.schema), options).map_err(|error| self.failure(error))?;
        Ok(Part { writer, rows: 0, rest: Vec::new(), rest_rows: 0 })
    }

    fn close(&mut self) -> Result<()> {
        let mut part = match self.open.take() {
            Some(part) => part,
            None => self.open()?,
        };
        let path = self.path();
        part.write_rest().map_err(|error| self.failure(error))?;
        let rows = part.rows;
        let hashed = part.writer.into_inner().map_err(|error| self.failure(error))?;
        hashed.file.finish()?;
        self.closed.push(ClosedPart { path, rows, bytes: hashed.bytes, sha256: hashed.hash.finalize().into() });
        self.at += 1;
        Ok(())
    }

    /// The writer's own texts may quote data: only an error of ours inside is kept.
    fn failure(&self, error: ParquetError) -> Error {
        if let ParquetError::External(inner) = error
            && let Ok(inner) = inner.downcast::<io::Error>()
        {
            return write_failure(&self.path(), *inner);
        }
        self.unwritable()
    }

    fn unwritable(&self) -> Error {
        Failure::new(Culprit::File, "table-type", format!("`{}` cannot hold these columns", self.path()))
            .help("cast columns of unusual types in `prepare`")
            .into()
    }
}

impl Part {
    fn push(&mut self, batch: RecordBatch) -> Result<(), ParquetError> {
        self.rows += batch.num_rows() as u64;
        let mut from = 0;
        if self.rest_rows > 0 {
            from = (STEP_ROWS - self.rest_rows).min(batch.num_rows());
            self.rest.push(batch.slice(0, from));
            self.rest_rows += from;
            if self.rest_rows < STEP_ROWS {
                return Ok(());
            }
            self.write_rest()?;
        }
        let whole = (batch.num_rows() - from) / STEP_ROWS * STEP_ROWS;
        // The writer counts the values of lists where it counts rows otherwise, anew with each call: then each step is a call of its own.
        let call = if batch.schema_ref().fields().iter().any(|field| field.data_type().is_nested()) { STEP_ROWS } else { whole.max(1) };
        for start in (from..from + whole).step_by(call) {
            self.writer.write(&batch.slice(start, call))?;
        }
        let left = batch.num_rows() - from - whole;
        if left > 0 {
            self.rest.push(batch.slice(from + whole, left));
            self.rest_rows = left;
        }
        Ok(())
    }

    fn write_rest(&mut self) -> Result<(), ParquetError> {
        let rest = std::mem::take(&mut self.rest);
        self.rest_rows = 0;
        match rest.as_slice() {
            [] => Ok(()),
            [one] => self.writer.write(one),
            [first, ..] => self.writer.write(&concat_batches(&first.schema(), &rest)?),
        }
    }
}

/// Counts and hashes what passes.
struct Hashed {
    file: NewFile,
    hash: Sha256,
    bytes: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("own", &self.own).field("at", &self.at).finish_non_exhaustive()
    }
}
