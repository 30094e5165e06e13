//! Reads a finished shard back: is it sound, and does every example have the one shape it must have?
use super::manifest::{Feature, ShardFormat};
use crate::shape::dtype;
use crate::shape::{ANY_LENGTH, LENGTH};
use crate::shard::tensor::{Tensor, TensorLayout};
use crate::shard::tf_record::{RecordError, RecordReader};
use crate::shard::{ListKind, StoredFile, each_field};
use array_record::verify_with;
use crc32c::crc32c_append;
use perimeter_contract::job::{Dtype, RecordEncoding, SinkFormat};
use sha2::{Digest, Sha256};
use std::io::{self, BufReader, Read};

/// No record of a TFRecord file is longer: what a protobuf message may be.
const MAX_RECORD_BYTES: u64 = 1 << 31;

/// What a sound shard holds.
#[derive(Clone, Debug)]
pub(super) struct Recount {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) crc32c: u32,
    pub(super) sha256: [u8; 32],
    /// The sum of `length` in sequence jobs, else the number of records.
    pub(super) events: u64,
}

/// What is wrong with a shard.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The file's bytes are damaged, or are not what was written. Structure, never content.
    Damaged(String),
    /// It cannot be read for now.
    Unreadable(io::Error),
    /// The n-th record is not an example of the declared features and shapes.
    Shape(u64),
}

/// Re-reads a shard of the split with these features; `bucket` is `None` in row jobs.
pub(super) fn recount(file: &StoredFile, format: &ShardFormat, bucket: Option<u32>, features: &[Feature]) -> Result<Recount, Wrong> {
    let mut count = Count::new(format.encoding, bucket, features)?;
    let recount = match format.container {
        SinkFormat::ArrayRecord => {
            let sound = verify_with(file, |number, record| count.add(number, record)).map_err(|damage| match damage.reason {
                array_record::Reason::Unreadable(error) => Wrong::Unreadable(error),
                _ => Wrong::Damaged(damage.to_string()),
            })?;
            Recount { records: sound.records, bytes: sound.bytes, crc32c: sound.crc32c, sha256: sound.sha256, events: 0 }
        }
        SinkFormat::TfRecord => {
            let mut digest = Digested { from: StoredReader { file, at: 0 }, bytes: 0, crc32c: 0, sha256: Sha256::new() };
            let mut reader = RecordReader::new(BufReader::with_capacity(1 << 18, &mut digest), MAX_RECORD_BYTES);
            let mut records = 0;
            while let Some(record) = reader.next_record().map_err(damaged)? {
                count.add(records, record);
                records += 1;
            }
            drop(reader);
            let Digested { bytes, crc32c, sha256, .. } = digest;
            Recount { records, bytes, crc32c, sha256: sha256.finalize().into(), events: 0 }
        }
    };
    count.misshapen.map_or(Ok(Recount { events: count.events, ..recount }), |number| Err(Wrong::Shape(number)))
}

fn damaged(error: RecordError) -> Wrong {
    match error {
        RecordError::Io(error) => Wrong::Unreadable(error),
        error => Wrong::Damaged(error.to_string()),
    }
}

/// Events of the records so far, and the first record of another shape.
struct Count<'a> {
    bucket: Option<u32>,
    features: &'a [Feature],
    /// Of raw tensors: their layout, and the place of `length` in a record.
    tensors: Option<(TensorLayout, Option<std::ops::Range<usize>>)>,
    events: u64,
    misshapen: Option<u64>,
}

impl<'a> Count<'a> {
    fn new(encoding: RecordEncoding, bucket: Option<u32>, features: &'a [Feature]) -> Result<Self, Wrong> {
        let tensors = match encoding {
            RecordEncoding::TfExample => None,
            RecordEncoding::Tensor => {
                let unknown = || Wrong::Damaged("its features are no tensors".to_owned());
                let layout = tensor_layout(features).ok_or_else(unknown)?;
                let length = features.iter().position(|feature| feature.name == LENGTH && feature.dtype == Dtype::Int64 && feature.shape.is_empty());
                let length = length.and_then(|at| layout.range(at));
                Some((layout, length))
            }
        };
        Ok(Self { bucket, features, tensors, events: 0, misshapen: None })
    }

    fn add(&mut self, number: u64, record: &[u8]) {
        if self.misshapen.is_some() {
            return;
        }
        let events = match &self.tensors {
            None => events_of(record, self.bucket, self.features),
            Some((layout, length)) => {
                let length = length.clone().and_then(|range| record.get(range)).and_then(|bytes| bytes.try_into().ok()).map(i64::from_le_bytes);
                (record.len() == layout.record_bytes()).then_some(()).and_then(|()| sound_length(self.bucket, length))
            }
        };
        match events {
            Some(events) => self.events = self.events.saturating_add(events),
            None => self.misshapen = Some(number),
        }
    }
}

/// Where the tensors of a record lie; `None` when a feature is no tensor.
pub(super) fn tensor_layout(features: &[Feature]) -> Option<TensorLayout> {
    let tensor = |feature: &Feature| Some(Tensor { name: feature.name.clone(), dtype: dtype::Dtype::of(feature.dtype)?, shape: feature.shape.clone() });
    TensorLayout::new(features.iter().map(tensor).collect::<Option<Vec<_>>>()?).ok()
}

/// The events of an example that has the declared features and no other, in the order of the names, with as many values as the shape says.
fn events_of(record: &[u8], bucket: Option<u32>, features: &[Feature]) -> Option<u64> {
    let (mut at, mut matches, mut length, mut values) = (0, true, None, 0);
    let read = each_field(record, |field| {
        values = field.values as u64;
        matches &= features.get(at).is_some_and(|feature| is(&field, feature));
        at += 1;
        if field.name == LENGTH {
            length = field.scalar;
        }
    });
    if read.is_err() || !matches || at != features.len() {
        return None;
    }
    if features.iter().any(|feature| feature.shape.contains(&ANY_LENGTH)) { Some(values) } else { sound_length(bucket, length) }
}

/// The events that an example counts for: its `length`, within the bucket; 1 for a row.
fn sound_length(bucket: Option<u32>, length: Option<i64>) -> Option<u64> {
    match bucket {
        None => Some(1),
        Some(bucket) => length.and_then(|length| u64::try_from(length).ok()).filter(|length| *length <= u64::from(bucket)),
    }
}

fn is(found: &crate::shard::Field<'_>, feature: &Feature) -> bool {
    let values = feature.shape.iter().map(|&dimension| dimension as usize).product::<usize>();
    let (kind, values, bytes) = match feature.dtype {
        Dtype::Float32 => (ListKind::Float, values, None),
        Dtype::Int64 | Dtype::Int32 | Dtype::Uint8 | Dtype::Bool => (ListKind::Int64, values, None),
        // One value of little-endian elements: an Example's lists hold neither.
        Dtype::Bfloat16 | Dtype::Float16 => (ListKind::Bytes, 1, Some(2 * values)),
        Dtype::Bytes => (ListKind::Bytes, values, None),
    };
    let any = feature.shape.contains(&ANY_LENGTH);
    found.name == feature.name && found.kind == Some(kind) && (any || found.values == values) && bytes.is_none_or(|bytes| found.bytes == bytes)
}

/// A stored file from its start to its end.
pub(super) struct StoredReader<'a> {
    pub(super) file: &'a StoredFile,
    pub(super) at: u64,
}

impl Read for StoredReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.file.bytes().saturating_sub(self.at)).unwrap_or(usize::MAX);
        let length = rest.min(out.len());
        self.file.read_exact_at(self.at, &mut out[..length])?;
        self.at += length as u64;
        Ok(length)
    }
}

/// Hashes what goes through.
struct Digested<R> {
    from: R,
    bytes: u64,
    crc32c: u32,
    sha256: Sha256,
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(out)?;
        self.bytes += length as u64;
        self.crc32c = crc32c_append(self.crc32c, &out[..length]);
        self.sha256.update(&out[..length]);
        Ok(length)
    }
}
