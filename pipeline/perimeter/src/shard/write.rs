//! The shards of one partition: a file for each of its shards and buckets, closed as soon as the sorted rows have passed it.
use super::container::{FileWriter, Proof, RecordFailure};
use super::folder::VersionFolder;
use super::tfds::{FileFormat, shard_file_name};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::Stores;
use array_record::{Options, WriteError, Writer};
use perimeter_contract::Diagnostic;
use perimeter_contract::job::{RecordEncoding, Sink, SinkFormat};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The only split of this version.
pub const SPLIT: &str = "train";

/// The folder of a row job's shards; those of sequences are `b<bucket>`.
const ROWS_FOLDER: &str = "rows";

/// Where all shards of a run go.
#[derive(Debug)]
pub struct ShardSink {
    folder: VersionFolder,
    dataset: String,
    format: SinkFormat,
    encoding: RecordEncoding,
    options: Options,
    options_text: String,
}

/// `sink.options` of a job, checked by the format's own parser.
///
/// # Errors
/// `shard-options`, at the sink's place in the job file.
pub fn shard_options(sink: &Sink) -> Result<Options, Diagnostic> {
    let options: Options = sink.options.parse().map_err(|error: array_record::OptionsError| {
        Diagnostic::new("shard-options", sink.span, format!("`options` of the sink: {error}")).help("for example \"group_size:1,zstd:3\"")
    })?;
    // Some options can be read but not written: ask the writer itself.
    // Partitions are written side by side already: unless the job says otherwise, a file is written by one thread alone.
    let options = if options.max_parallelism() == NonZeroUsize::MIN { options.with_max_parallelism(NonZeroUsize::MIN) } else { options };
    match Writer::new(std::io::sink(), &options) {
        Ok(_) | Err(WriteError::Io(_)) => Ok(options),
        Err(error) => Err(Diagnostic::new("shard-options", sink.span, format!("`options` of the sink: {error}")).help("for example \"group_size:1,zstd:3\"")),
    }
}

impl ShardSink {
    /// Starts the version `run_id` of `dataset` at a job's sink.
    ///
    /// # Errors
    /// As for [`VersionFolder::create`]; `shard-options` (exit 2) when they are wrong.
    pub fn create(stores: &Stores, sink: &Sink, dataset: &str, run_id: &str) -> Result<Self> {
        let options = shard_options(sink).map_err(|mistake| {
            let failure = Failure::new(Culprit::File, mistake.code, mistake.message);
            mistake.help.into_iter().fold(failure, Failure::help)
        })?;
        let folder = VersionFolder::create(&stores.with_sse_kms(sink.sse_kms.as_deref()), &sink.uri, run_id)?;
        let options_text = if sink.format == SinkFormat::ArrayRecord { sink.options.clone() } else { String::new() };
        Ok(Self { folder, dataset: dataset.to_owned(), format: sink.format, encoding: sink.encoding, options, options_text })
    }

    /// The version's folder.
    pub fn folder(&self) -> &VersionFolder {
        &self.folder
    }

    /// The dataset's name.
    pub fn dataset(&self) -> &str {
        &self.dataset
    }

    /// The container of the records.
    pub fn format(&self) -> SinkFormat {
        self.format
    }

    /// What a record is.
    pub fn encoding(&self) -> RecordEncoding {
        self.encoding
    }

    /// The option string of the shards; empty where the container has none.
    pub fn options(&self) -> &str {
        &self.options_text
    }

    /// `b128/cards-train.array_record-00000-of-00016`, relative to the version.
    pub fn shard_path(&self, bucket: Option<u32>, shard: u32, total_shards: u32) -> String {
        format!("{}/{}", bucket_folder(bucket), shard_file_name(&self.dataset, SPLIT, file_format(self.format), shard, total_shards))
    }
}

/// The folder of a bucket's shards, relative to the version.
pub fn bucket_folder(bucket: Option<u32>) -> String {
    bucket.map_or_else(|| ROWS_FOLDER.to_owned(), |bucket| format!("b{bucket}"))
}

/// As TFDS calls the container.
pub fn file_format(format: SinkFormat) -> FileFormat {
    match format {
        SinkFormat::ArrayRecord => FileFormat::ArrayRecord,
        SinkFormat::TfRecord => FileFormat::TfRecord,
    }
}

/// Proof that a shard was written to its end. Only [`ShardWriter`] makes it, and only proof can enter a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedShard {
    path: String,
    bucket: Option<u32>,
    shard: u32,
    proof: Proof,
}

impl ClosedShard {
    /// Relative to the version's folder.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// `None` in row jobs.
    pub fn bucket(&self) -> Option<u32> {
        self.bucket
    }

    /// The split's name.
    pub fn split(&self) -> &'static str {
        SPLIT
    }

    /// The shard's number, from 0.
    pub fn shard(&self) -> u32 {
        self.shard
    }

    /// Records, bytes and checksums.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }
}

/// Writes the shards `own` (ascending) of `total`, each with a file per bucket, in order.
pub struct ShardWriter {
    sink: Arc<ShardSink>,
    /// `[None]` in row jobs.
    buckets: Vec<Option<u32>>,
    own: Vec<u32>,
    total: u32,
    /// Index in `own` of the shard that is open, or of the next one.
    at: usize,
    /// One writer per bucket; empty between shards.
    open: Vec<FileWriter>,
    closed: Vec<ClosedShard>,
}

impl ShardWriter {
    /// `buckets` ascending; empty for a row job.
    pub fn new(sink: Arc<ShardSink>, buckets: &[u32], own: Vec<u32>, total: u32) -> Self {
        let buckets = if buckets.is_empty() { vec![None] } else { buckets.iter().copied().map(Some).collect() };
        debug_assert!(own.windows(2).all(|pair| pair[0] < pair[1]) && own.last().is_none_or(|&last| last < total), "own shards ascend");
        Self { sink, buckets, own, total, at: 0, open: Vec::new(), closed: Vec::new() }
    }

    /// The shard that is open.
    pub fn shard(&self) -> Option<u32> {
        self.own.get(self.at).copied().filter(|_| !self.open.is_empty())
    }

    /// Goes to `shard`: the files of all before it are closed, those without rows included.
    ///
    /// # Errors
    /// `shard-order` when the shard is behind or not this partition's; else as for [`VersionFolder::file`].
    pub fn advance(&mut self, shard: u32) -> Result<()> {
        if self.own.get(self.at) == Some(&shard) {
            return if self.open.is_empty() { self.open() } else { Ok(()) };
        }
        let Some(target) = self.own[self.at.min(self.own.len())..].iter().position(|&own| own == shard) else {
            return Err(Failure::new(Culprit::Data, "shard-order", "rows arrived in another order than their shards").help("this is a bug: report it").into());
        };
        for _ in 0..target {
            self.close()?;
        }
        self.open()
    }

    /// Appends a record to the open shard's file of the bucket with this index.
    ///
    /// # Errors
    /// As disk or store say.
    pub fn write(&mut self, bucket_index: usize, record: &[u8]) -> Result<()> {
        match self.open.get_mut(bucket_index) {
            Some(writer) => writer.write_record(record).map_err(|error| self.failure(bucket_index, error)),
            None => Err(Failure::new(Culprit::Data, "shard-order", "a record arrived before its shard").help("this is a bug: report it").into()),
        }
    }

    /// Closes all that is left.
    ///
    /// # Errors
    /// As disk or store say.
    pub fn finish(mut self) -> Result<Vec<ClosedShard>> {
        while self.at < self.own.len() {
            self.close()?;
        }
        Ok(self.closed)
    }

    fn open(&mut self) -> Result<()> {
        let shard = self.own[self.at];
        for index in 0..self.buckets.len() {
            let path = self.sink.shard_path(self.buckets[index], shard, self.total);
            let file = self.sink.folder.file(&path)?;
            let writer = FileWriter::new(file, self.sink.format, &self.sink.options).map_err(|error| self.failure(index, error))?;
            self.open.push(writer);
        }
        Ok(())
    }

    /// Closes the shard at hand, making its files first where there are none.
    fn close(&mut self) -> Result<()> {
        if self.open.is_empty() {
            self.open()?;
        }
        let shard = self.own[self.at];
        for (index, writer) in std::mem::take(&mut self.open).into_iter().enumerate() {
            let (proof, file) = writer.close().map_err(|error| self.failure(index, error))?;
            file.finish()?;
            let path = self.sink.shard_path(self.buckets[index], shard, self.total);
            self.closed.push(ClosedShard { path, bucket: self.buckets[index], shard, proof });
        }
        self.at += 1;
        Ok(())
    }

    fn failure(&self, bucket_index: usize, error: RecordFailure) -> Error {
        let shard = self.own.get(self.at).copied().unwrap_or_default();
        let path = self.sink.shard_path(self.buckets.get(bucket_index).copied().flatten(), shard, self.total);
        error.of(&path)
    }
}

impl std::fmt::Debug for ShardWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShardWriter").field("own", &self.own).field("at", &self.at).field("closed", &self.closed.len()).finish_non_exhaustive()
    }
}
