//! What one shard looks like: structure and figures, never a value.
use super::recount::StoredReader;
use crate::error::{Culprit, Error, Failure, Result};
use crate::shard::tf_record::{RecordError, RecordReader};
use crate::shard::{ListKind, StoredFile, fields, io_failure};
use crate::store::Stores;
use array_record::{ReadError, Reader};
use perimeter_contract::job::{SinkFormat, Uri};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufReader;
use std::path::Path;

/// How many examples are looked into.
const EXAMPLES: u64 = 1000;

/// A shard's structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// Where it is.
    pub uri: String,
    /// The file format.
    pub container: SinkFormat,
    /// Its length.
    pub bytes: u64,
    /// Records in it.
    pub records: u64,
    /// The writer's option string, where the file has one.
    pub options: Option<String>,
    /// Records that `features` is about, from the first.
    pub examined: u64,
    /// Of these, records that are no `tf.train.Example`.
    pub other_records: u64,
    /// Bytes of the shortest and the longest examined record.
    pub record_bytes: Option<(u64, u64)>,
    /// By name.
    pub features: Vec<FeatureSummary>,
}

/// One feature over the examined examples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FeatureSummary {
    /// Its name.
    pub name: String,
    /// `bytes`, `float32`, `int64`; `mixed` when examples differ, `none` when it is never set.
    pub dtype: &'static str,
    /// Examples that have it.
    pub examples: u64,
    /// Values of the shortest list.
    pub fewest_values: u64,
    /// Values of the longest list; a static shape has as many as the shortest.
    pub most_values: u64,
}

/// For people.
impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { uri, container, bytes, records, options, examined, other_records, record_bytes, features } = self;
        match container {
            SinkFormat::ArrayRecord => {
                let options = options.as_deref().unwrap_or("unnamed options");
                write!(f, "{uri}\n  ArrayRecord: {records} records, {bytes} bytes, written with {options}")?;
            }
            SinkFormat::TfRecord => write!(f, "{uri}\n  TFRecord: {records} records, {bytes} bytes")?,
        }
        if let Some((shortest, longest)) = record_bytes {
            write!(f, "\n  the first {examined} records have {shortest} to {longest} bytes")?;
        }
        if *other_records > 0 {
            write!(f, "\n  {other_records} of them are no tf.train.Example")?;
        }
        let width = features.iter().map(|feature| feature.name.chars().count()).max().unwrap_or_default();
        for FeatureSummary { name, dtype, examples, fewest_values, most_values } in features {
            let values = if fewest_values == most_values { most_values.to_string() } else { format!("{fewest_values} to {most_values}, not static") };
            write!(f, "\n  {name:width$}  {dtype:7}  {values}")?;
            if *examples + other_records < *examined {
                write!(f, ", in {examples} of them only")?;
            }
        }
        Ok(())
    }
}

/// Describes the shard at `uri`.
///
/// # Errors
/// `missing-file`, `damaged` (exit 1); disk's or store's (3, 4).
pub fn inspect(stores: &Stores, uri: &Uri) -> Result<Inspection> {
    let file = StoredFile::open(stores, uri)?;
    let bytes = file.bytes();
    let failure = |error: ReadError| -> Error {
        match error {
            ReadError::Io(error) => io_failure("read", Path::new(&uri.0), error),
            error => Failure::new(Culprit::Data, "damaged", format!("`{}`: {error}", uri.0))
                .help("is it an ArrayRecord file? `perimeter verify` says more about a whole version")
                .into(),
        }
    };
    let mut looked = Looked::default();
    let (container, records, options) = if uri.0.rsplit('/').next().is_some_and(|name| name.contains(".tfrecord")) {
        let damaged = |error: RecordError| -> Error {
            match error {
                RecordError::Io(error) => io_failure("read", Path::new(&uri.0), error),
                error => Failure::new(Culprit::Data, "damaged", format!("`{}`: {error}", uri.0)).help("is it a TFRecord file?").into(),
            }
        };
        let mut reader = RecordReader::new(BufReader::with_capacity(1 << 18, StoredReader { file: &file, at: 0 }), 1 << 31);
        let mut records = 0;
        while let Some(record) = reader.next_record().map_err(damaged)? {
            looked.at(records, record);
            records += 1;
        }
        (SinkFormat::TfRecord, records, None)
    } else {
        let reader = Reader::open(&file).map_err(failure)?;
        let mut stream = reader.records(0..reader.num_records().min(EXAMPLES));
        let mut number = 0;
        while let Some(record) = stream.next_borrowed() {
            looked.at(number, record.map_err(failure)?);
            number += 1;
        }
        (SinkFormat::ArrayRecord, reader.num_records(), reader.options().map(str::to_owned))
    };
    let Looked { other_records, record_bytes, features } = looked;
    Ok(Inspection {
        uri: uri.0.clone(),
        container,
        bytes,
        records,
        options,
        examined: records.min(EXAMPLES),
        other_records,
        record_bytes,
        features: features.into_values().collect(),
    })
}

/// What the first records look like.
#[derive(Default)]
struct Looked {
    other_records: u64,
    record_bytes: Option<(u64, u64)>,
    features: BTreeMap<String, FeatureSummary>,
}

impl Looked {
    fn at(&mut self, number: u64, record: &[u8]) {
        if number >= EXAMPLES {
            return;
        }
        let length = record.len() as u64;
        self.record_bytes = Some(self.record_bytes.map_or((length, length), |(shortest, longest)| (shortest.min(length), longest.max(length))));
        let Ok(found) = fields(record) else {
            self.other_records += 1;
            return;
        };
        for field in found {
            let dtype = match field.kind {
                Some(ListKind::Bytes) => "bytes",
                Some(ListKind::Float) => "float32",
                Some(ListKind::Int64) => "int64",
                None => "none",
            };
            let values = field.values as u64;
            let fresh = || FeatureSummary { name: field.name.to_owned(), dtype, examples: 0, fewest_values: values, most_values: values };
            let summary = self.features.entry(field.name.to_owned()).or_insert_with(fresh);
            summary.examples += 1;
            summary.fewest_values = summary.fewest_values.min(values);
            summary.most_values = summary.most_values.max(values);
            if summary.dtype != dtype {
                summary.dtype = "mixed";
            }
        }
    }
}
