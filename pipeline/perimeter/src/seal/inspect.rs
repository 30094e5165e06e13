//! What one shard looks like: structure and figures, never a value.
use crate::error::{Culprit, Error, Failure, Result};
use crate::shard::{ListKind, StoredFile, fields, io_failure};
use crate::store::Stores;
use array_record::{ReadError, Reader};
use perimeter_contract::job::Uri;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// How many examples are looked into.
const EXAMPLES: u64 = 1000;

/// A shard's structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// Where it is.
    pub uri: String,
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
        let Self { uri, bytes, records, options, examined, other_records, record_bytes, features } = self;
        write!(f, "{uri}\n  ArrayRecord: {records} records, {bytes} bytes, written with {}", options.as_deref().unwrap_or("unnamed options"))?;
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
    let reader = Reader::open(&file).map_err(failure)?;
    let records = reader.num_records();
    let examined = records.min(EXAMPLES);
    let mut features: BTreeMap<String, FeatureSummary> = BTreeMap::new();
    let (mut other_records, mut record_bytes) = (0, None::<(u64, u64)>);
    let mut stream = reader.records(0..examined);
    while let Some(record) = stream.next_borrowed() {
        let record = record.map_err(failure)?;
        let length = record.len() as u64;
        record_bytes = Some(record_bytes.map_or((length, length), |(shortest, longest)| (shortest.min(length), longest.max(length))));
        let Ok(found) = fields(record) else {
            other_records += 1;
            continue;
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
            let summary = features.entry(field.name.to_owned()).or_insert_with(fresh);
            summary.examples += 1;
            summary.fewest_values = summary.fewest_values.min(values);
            summary.most_values = summary.most_values.max(values);
            if summary.dtype != dtype {
                summary.dtype = "mixed";
            }
        }
    }
    let options = reader.options().map(str::to_owned);
    Ok(Inspection { uri: uri.0.clone(), bytes, records, options, examined, other_records, record_bytes, features: features.into_values().collect() })
}
