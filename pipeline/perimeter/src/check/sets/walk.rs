//! Sorted digests to the rows that break rules.
//!
//! One record: `digest (16) | group (4) | side (1) | file (4) | record number (8) [| value (16)]`, numbers big-endian, so that records sort as bytes.
//! Parents (side 0) come before those that refer to them; within a key, rows come in the order of files and records.
use super::DigestKey;
use super::plan::{GroupKind, SetPlan};

pub(super) const ORIGIN_BYTES: usize = 33;
pub(super) const VALUE_BYTES: usize = 16;

/// A value that can be compared with none.
pub(super) const INCOMPARABLE: i128 = i128::MIN;

/// Digest and group.
const KEY_BYTES: usize = 20;

/// One row that breaks a rule about sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which group of the plan: it says of which source and rule.
    pub group: u32,
    /// File of that source.
    pub file: u32,
    /// Record number in it.
    pub record: u64,
}

/// Goes through sorted records, all of a digest in one piece. Memory: one record.
#[derive(Debug)]
pub struct Walk<'a> {
    plan: &'a SetPlan,
    key: &'a DigestKey,
    current: [u8; KEY_BYTES],
    state: State,
    /// Rows beyond the first of each key, by group.
    duplicates: Vec<u64>,
}

#[derive(Debug)]
enum State {
    Nothing,
    /// The first row of a key, not reported yet.
    First(Finding),
    /// More than one row has the key.
    Several,
    /// The key is there to be referred to.
    Parent,
    /// The largest value so far.
    Latest(i128),
}

fn number<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..at.checked_add(N)?)?.try_into().ok()
}

impl<'a> Walk<'a> {
    /// Over the records that observers of this plan made under this key.
    pub fn new(plan: &'a SetPlan, key: &'a DigestKey) -> Self {
        Self { plan, key, current: [0; KEY_BYTES], state: State::Nothing, duplicates: vec![0; plan.counting_groups()] }
    }

    /// The next record. `None`: it is none of ours.
    #[must_use]
    pub fn push(&mut self, record: &[u8], found: &mut dyn FnMut(Finding)) -> Option<()> {
        let key: [u8; KEY_BYTES] = number(record, 0)?;
        let group = u32::from_be_bytes(number(record, 16)?);
        let parent = *record.get(20)? == 0;
        let (file, record_number) = (u32::from_be_bytes(number(record, 21)?), u64::from_be_bytes(number(record, 25)?));
        let finding = Finding { group, file, record: record_number };
        if key != self.current {
            self.current = key;
            self.state = State::Nothing;
        }
        match self.plan.groups.get(group as usize)?.kind {
            GroupKind::Unique => match self.state {
                State::Nothing => self.state = State::First(finding),
                State::First(first) => {
                    found(first);
                    found(finding);
                    self.state = State::Several;
                }
                _ => found(finding),
            },
            GroupKind::Duplicates => match self.state {
                State::Nothing => self.state = State::Several,
                _ => *self.duplicates.get_mut(group as usize)? += 1,
            },
            GroupKind::References => {
                if parent {
                    self.state = State::Parent;
                } else if !matches!(self.state, State::Parent) {
                    found(finding);
                }
            }
            GroupKind::Monotonic { strict } => {
                let value = i128::from_be_bytes(number(record, ORIGIN_BYTES)?) ^ self.key.pad(group, file, record_number).cast_signed();
                match self.state {
                    _ if value == INCOMPARABLE => found(finding),
                    State::Latest(latest) if value < latest || (strict && value == latest) => found(finding),
                    _ => self.state = State::Latest(value),
                }
            }
        }
        Some(())
    }

    /// Rows beyond the first of each key, by group.
    pub fn finish(self) -> Vec<u64> {
        self.duplicates
    }
}
