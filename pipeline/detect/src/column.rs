//! What is in a column: verdicts from the share of its distinct values, not from single ones.
//!
//! One in a hundred random 11-digit numbers is a valid CPF, one in ten passes Luhn. So a type is claimed when the share of distinct
//! values that are valid is surely above what chance would make it, or when the column's name announces the type and most values
//! agree. The sample is the distinct values with the smallest seeded hashes: a uniform one, the same in whatever order, batches or
//! partitions the values come.

mod observe;
mod verdict;

pub use verdict::{Agreement, ColumnVerdict, Shape, TextShare};

use crate::{Context, Detector, Findings};
use observe::Observation;
use std::collections::BTreeMap;

/// How a column is sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProfileOptions {
    /// Distinct values that are looked at, at most.
    pub distinct_values: usize,
    /// Seed of the sample. Profiles of parts of one column need the same.
    pub seed: u64,
}

impl Default for ProfileOptions {
    /// 10,000 distinct values, which makes an interval of about one percent.
    fn default() -> Self {
        Self { distinct_values: 10_000, seed: 0 }
    }
}

/// Two profiles that are not of one column and sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DifferentProfiles;

impl std::fmt::Display for DifferentProfiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the profiles are of different columns or samples")
    }
}

impl std::error::Error for DifferentProfiles {}

/// The distinct values with the smallest hashes, as `T`.
#[derive(Clone, PartialEq)]
struct Sample<T> {
    options: ProfileOptions,
    name: String,
    rows: u64,
    nulls: u64,
    /// By hash; at most `options.distinct_values`.
    kept: BTreeMap<u64, T>,
    /// Whether a distinct value was left out.
    left_out: bool,
}

impl<T> Sample<T> {
    fn new(name: &str, options: ProfileOptions) -> Self {
        Self { options, name: name.to_owned(), rows: 0, nulls: 0, kept: BTreeMap::new(), left_out: false }
    }

    fn observe(&mut self, value: &str, keep: impl FnOnce(&str, &str) -> T) {
        self.rows = self.rows.saturating_add(1);
        let value = value.trim();
        if value.is_empty() {
            self.nulls = self.nulls.saturating_add(1);
            return;
        }
        let hash = hash(value.as_bytes(), self.options.seed);
        if self.kept.contains_key(&hash) {
            return;
        }
        if self.kept.len() >= self.options.distinct_values {
            self.left_out = true;
            if self.kept.last_key_value().is_none_or(|(&largest, _)| hash >= largest) {
                return;
            }
            self.kept.pop_last();
        }
        self.kept.insert(hash, keep(&self.name, value));
    }

    fn observe_nulls(&mut self, count: u64) {
        self.rows = self.rows.saturating_add(count);
        self.nulls = self.nulls.saturating_add(count);
    }

    fn merge(&mut self, other: Self) -> Result<(), DifferentProfiles> {
        if self.options != other.options || self.name != other.name {
            return Err(DifferentProfiles);
        }
        self.rows = self.rows.saturating_add(other.rows);
        self.nulls = self.nulls.saturating_add(other.nulls);
        self.left_out |= other.left_out;
        self.kept.extend(other.kept);
        while self.kept.len() > self.options.distinct_values {
            self.kept.pop_last();
            self.left_out = true;
        }
        Ok(())
    }

    fn shown(&self, f: &mut std::fmt::Formatter<'_>, name: &str) -> std::fmt::Result {
        f.debug_struct(name).field("rows", &self.rows).field("nulls", &self.nulls).field("distinct", &self.kept.len()).finish_non_exhaustive()
    }
}

/// Accumulates the values of one column. It holds hashes and verdicts, never a value.
#[derive(Clone, PartialEq)]
pub struct ColumnProfile {
    sample: Sample<Observation>,
}

impl std::fmt::Debug for ColumnProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.sample.shown(f, "ColumnProfile")
    }
}

impl ColumnProfile {
    /// An empty profile of the column of this name.
    pub fn new(name: &str, options: ProfileOptions) -> Self {
        Self { sample: Sample::new(name, options) }
    }

    /// Adds a value. Text that is empty or white space counts as null.
    ///
    /// The detector looks inside longer texts and has the custom detectors; use one and the same for all parts of a column.
    pub fn observe(&mut self, value: &str, detector: &Detector, findings: &mut Findings) {
        self.sample.observe(value, |name, value| Observation::of(value, &Context::column(name), detector, findings));
    }

    /// Adds nulls.
    pub fn observe_nulls(&mut self, count: u64) {
        self.sample.observe_nulls(count);
    }

    /// Adds the profile of another part of the same column: in whatever order and grouping parts are merged, the result is that of
    /// one profile over all values.
    ///
    /// # Errors
    /// The other profile has another name or other options; nothing is changed.
    pub fn merge(&mut self, other: Self) -> Result<(), DifferentProfiles> {
        self.sample.merge(other.sample)
    }

    /// What the values seen so far say.
    pub fn verdict(&self) -> ColumnVerdict {
        verdict::judge(self)
    }
}

/// Bytes of a value that waits for its verdict; of a longer one the verdict is kept at once.
const WAITING_BYTES: usize = 256;

#[derive(Clone, PartialEq)]
enum Kept {
    Waiting(Box<str>),
    Judged(Observation),
}

/// Collects the values of one column and judges at the end those that are then still in the sample: for who reads many more values than are looked at.
/// [`ColumnSample::judged`] is the profile that observing all of them would have made, several times sooner. It holds values until then, and shows none.
#[derive(Clone, PartialEq)]
pub struct ColumnSample {
    sample: Sample<Kept>,
}

impl std::fmt::Debug for ColumnSample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.sample.shown(f, "ColumnSample")
    }
}

impl ColumnSample {
    /// An empty sample of the column of this name.
    pub fn new(name: &str, options: ProfileOptions) -> Self {
        Self { sample: Sample::new(name, options) }
    }

    /// Adds a value, as [`ColumnProfile::observe`] does.
    pub fn observe(&mut self, value: &str, detector: &Detector, findings: &mut Findings) {
        self.sample.observe(value, |name, value| {
            if value.len() <= WAITING_BYTES {
                Kept::Waiting(value.into())
            } else {
                Kept::Judged(Observation::of(value, &Context::column(name), detector, findings))
            }
        });
    }

    /// Adds nulls.
    pub fn observe_nulls(&mut self, count: u64) {
        self.sample.observe_nulls(count);
    }

    /// Adds the sample of another part of the same column, as [`ColumnProfile::merge`] does.
    ///
    /// # Errors
    /// The other sample has another name or other options; nothing is changed.
    pub fn merge(&mut self, other: Self) -> Result<(), DifferentProfiles> {
        self.sample.merge(other.sample)
    }

    /// The profile of the values. Use the detector of [`ColumnSample::observe`].
    pub fn judged(self, detector: &Detector, findings: &mut Findings) -> ColumnProfile {
        let Sample { options, name, rows, nulls, kept, left_out } = self.sample;
        let mut judge = |kept: Kept| match kept {
            Kept::Waiting(value) => Observation::of(&value, &Context::column(&name), detector, findings),
            Kept::Judged(observation) => observation,
        };
        let kept = kept.into_iter().map(|(hash, kept)| (hash, judge(kept))).collect();
        ColumnProfile { sample: Sample { options, name, rows, nulls, kept, left_out } }
    }
}

/// A seeded 64-bit hash whose result is part of what a sample is: FNV-1a over the bytes, then the finalizer of SplitMix64.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut state = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests;
