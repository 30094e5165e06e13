//! Reads a finished shard back: is it sound, and does every example have the one shape it must have?
use super::manifest::Feature;
use crate::shape::LENGTH;
use crate::shard::{ListKind, StoredFile, each_field};
use array_record::{Sound, verify_with};
use perimeter_contract::job::Dtype;

/// What a sound shard holds.
#[derive(Clone, Debug)]
pub(super) struct Recount {
    pub(super) sound: Sound,
    /// The sum of `length` in sequence jobs, else the number of records.
    pub(super) events: u64,
}

/// What is wrong with a shard.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The file's bytes are damaged, or are not what was written. Structure, never content.
    Damaged(String),
    /// It cannot be read for now.
    Unreadable(std::io::Error),
    /// The n-th record is not an example of the declared features and shapes.
    Shape(u64),
}

/// Re-reads a shard of the split with these features; `bucket` is `None` in row jobs.
pub(super) fn recount(file: &StoredFile, bucket: Option<u32>, features: &[Feature]) -> Result<Recount, Wrong> {
    let (mut events, mut misshapen) = (0_u64, None);
    let sound = verify_with(file, |number, record| {
        if misshapen.is_none() {
            match events_of(record, bucket, features) {
                Some(count) => events = events.saturating_add(count),
                None => misshapen = Some(number),
            }
        }
    });
    let sound = sound.map_err(|damage| match damage.reason {
        array_record::Reason::Unreadable(error) => Wrong::Unreadable(error),
        _ => Wrong::Damaged(damage.to_string()),
    })?;
    misshapen.map_or(Ok(Recount { sound, events }), |number| Err(Wrong::Shape(number)))
}

/// The events of an example that has the declared features and no other, in the order of the names, with as many values as the shape says.
fn events_of(record: &[u8], bucket: Option<u32>, features: &[Feature]) -> Option<u64> {
    let (mut at, mut matches, mut length) = (0, true, None);
    let read = each_field(record, |field| {
        matches &= features.get(at).is_some_and(|feature| is(&field, feature));
        at += 1;
        if field.name == LENGTH {
            length = field.scalar;
        }
    });
    if read.is_err() || !matches || at != features.len() {
        return None;
    }
    match bucket {
        None => Some(1),
        Some(bucket) => length.and_then(|length| u64::try_from(length).ok()).filter(|length| (1..=u64::from(bucket)).contains(length)),
    }
}

fn is(found: &crate::shard::Field<'_>, feature: &Feature) -> bool {
    let kind = match feature.dtype {
        Dtype::Float32 => ListKind::Float,
        Dtype::Int64 => ListKind::Int64,
        Dtype::Bytes => ListKind::Bytes,
    };
    let values = feature.shape.iter().map(|&dimension| dimension as usize).product::<usize>();
    found.name == feature.name && found.kind == Some(kind) && found.values == values
}
