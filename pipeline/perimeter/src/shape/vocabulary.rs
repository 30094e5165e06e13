//! Categories as numbers: `vocabulary`, `hash`, `oneHot` and `dayOfWeek`.
//!
//! A [`Counter`] per partition counts values and the privacy units that have them; counters merge in any order, and [`Counter::freeze`] makes one
//! [`Vocabulary`] of them: by count, then by bytes, never by the order of a hash map, so it is the same in every run and for every number of threads. A value
//! of fewer units than the policy's k, or rarer than the minimum, is out of the vocabulary: it cannot be told from one never seen.
use super::statistics::Units;
use crate::shard::plain;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use hashbrown::HashMap;
use highway::{HighwayHash, HighwayHasher, Key};
use std::fmt::{self, Write as _};
use std::num::{NonZeroI64, NonZeroU32, NonZeroUsize};

/// The id of padding.
pub const PADDING: i64 = 0;
/// The id of every value that is not in the vocabulary.
pub const OUT_OF_VOCABULARY: i64 = 1;
/// The id of a null.
pub const MISSING: i64 = 2;
/// The id of the first value.
pub const FIRST_ID: i64 = 3;

/// `perimeter.dev/shape/hash-key/v1\0` as four little-endian words. Changing it gives every hashed category another id.
const HASH_KEY: Key = Key([0x6574_656d_6972_6570, 0x6873_2f76_6564_2e72, 0x6873_6168_2f65_7061, 0x0031_762f_7965_6b2d]);

/// What one value costs beside its bytes and its units.
const ENTRY_BYTES: usize = 64;

/// Why a column gave no categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CategoryError {
    /// Neither text, integers nor booleans.
    #[error("the column is no text, integer or boolean")]
    NotCategorical,
    /// The counter would outgrow its limit: a column of so many values is better hashed.
    #[error("the column has too many values for a vocabulary: use `encode: hash`")]
    TooManyValues,
    /// There is not one unit for each row.
    #[error("rows and privacy units are not as many")]
    Units,
    /// An id that has no place in a one-hot vector.
    #[error("row {row}: an id is out of range")]
    IdOutOfRange {
        /// From 0, in what was given.
        row: usize,
    },
}

/// Shows every row's category as text; `None` for a null. Integers are shown in decimal, booleans as `true` and `false`.
fn each_category(column: &ArrayRef, mut show: impl FnMut(usize, Option<&str>) -> Result<(), CategoryError>) -> Result<(), CategoryError> {
    let column = plain(column).map_err(|_| CategoryError::NotCategorical)?;
    let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0);
    let is_null = |row| nulls.is_some_and(|nulls| nulls.is_null(row));
    match column.data_type() {
        DataType::Utf8 => {
            let array = column.as_string::<i32>();
            (0..array.len()).try_for_each(|row| show(row, (!is_null(row)).then(|| array.value(row))))
        }
        DataType::LargeUtf8 => {
            let array = column.as_string::<i64>();
            (0..array.len()).try_for_each(|row| show(row, (!is_null(row)).then(|| array.value(row))))
        }
        DataType::Utf8View => {
            let array = column.as_string_view();
            (0..array.len()).try_for_each(|row| show(row, (!is_null(row)).then(|| array.value(row))))
        }
        DataType::Boolean => {
            let array = column.as_boolean();
            (0..array.len()).try_for_each(|row| show(row, (!is_null(row)).then(|| if array.value(row) { "true" } else { "false" })))
        }
        kind if kind.is_integer() && *kind != DataType::UInt64 => {
            let wide = cast(&column, &DataType::Int64).map_err(|_| CategoryError::NotCategorical)?;
            let mut text = String::new();
            let mut last = None;
            wide.as_primitive::<Int64Type>().values().iter().enumerate().try_for_each(|(row, &value)| {
                if is_null(row) {
                    return show(row, None);
                }
                if last != Some(value) {
                    text.clear();
                    // Writing to a String cannot fail.
                    let _ = write!(text, "{value}");
                    last = Some(value);
                }
                show(row, Some(&text))
            })
        }
        _ => Err(CategoryError::NotCategorical),
    }
}

/// Counts the values of a column, and up to k of the units that have each.
#[derive(Clone)]
pub struct Counter {
    counts: HashMap<Box<str>, Count>,
    min_units: NonZeroUsize,
    limit_bytes: usize,
    bytes: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    rows: u64,
    units: Units,
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values are cells.
        f.debug_struct("Counter").field("values", &self.counts.len()).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Counter {
    /// Counts units exactly up to `min_units`, in `limit_bytes` of memory at most (reckoned the same for every partition, so the limit does not depend on them).
    pub fn new(min_units: NonZeroUsize, limit_bytes: usize) -> Self {
        Self { counts: HashMap::new(), min_units, limit_bytes, bytes: 0 }
    }

    /// Counts the rows of `column`; `units` is a digest of each row's privacy unit. Nulls are no values.
    ///
    /// # Errors
    /// [`CategoryError::NotCategorical`], [`CategoryError::TooManyValues`], [`CategoryError::Units`].
    pub fn add(&mut self, column: &ArrayRef, units: &[u64]) -> Result<(), CategoryError> {
        if column.len() != units.len() {
            return Err(CategoryError::Units);
        }
        each_category(column, |row, value| {
            let Some(value) = value else { return Ok(()) };
            let min_units = self.min_units;
            let count = self.entry(value)?;
            count.rows = count.rows.saturating_add(1);
            count.units.insert(units[row], min_units);
            Ok(())
        })
    }

    /// Adds all that `other`, made with the same limits, counted: in any order and grouping, the same.
    ///
    /// # Errors
    /// [`CategoryError::TooManyValues`].
    pub fn merge(&mut self, other: &Self) -> Result<(), CategoryError> {
        let min_units = self.min_units;
        for (value, theirs) in &other.counts {
            let count = self.entry(value)?;
            count.rows = count.rows.saturating_add(theirs.rows);
            count.units.merge(&theirs.units, min_units);
        }
        Ok(())
    }

    fn entry(&mut self, value: &str) -> Result<&mut Count, CategoryError> {
        if !self.counts.contains_key(value) {
            let cost = value.len().saturating_add(ENTRY_BYTES).saturating_add(self.min_units.get().saturating_mul(size_of::<u64>()));
            self.bytes = self.bytes.saturating_add(cost);
            if self.bytes > self.limit_bytes {
                return Err(CategoryError::TooManyValues);
            }
        }
        Ok(self.counts.entry_ref(value).or_default())
    }

    /// The vocabulary: values of at least `min_units` units and `min_count` rows, at most `max_size` of them, by count (most first), then by bytes.
    pub fn freeze(&self, min_count: u64, max_size: Option<NonZeroUsize>) -> Vocabulary {
        let kept = self.counts.iter().filter(|(_, count)| count.rows >= min_count && count.units.reaches(self.min_units));
        let mut kept: Vec<(&str, u64)> = kept.map(|(value, count)| (&**value, count.rows)).collect();
        kept.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.as_bytes().cmp(b.0.as_bytes())));
        kept.truncate(max_size.map_or(usize::MAX, NonZeroUsize::get));
        Vocabulary::of(kept.into_iter().map(|(value, _)| value.into()).collect())
    }
}

/// Values with ids from [`FIRST_ID`] on. In `statistics.json`, the list of the values.
#[derive(Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<Box<str>>", into = "Vec<Box<str>>")]
pub struct Vocabulary {
    values: Vec<Box<str>>,
    ids: HashMap<Box<str>, i64>,
}

/// A value stands twice in a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a vocabulary holds a value twice")]
pub struct DuplicateValue;

impl TryFrom<Vec<Box<str>>> for Vocabulary {
    type Error = DuplicateValue;

    fn try_from(values: Vec<Box<str>>) -> Result<Self, DuplicateValue> {
        let this = Self::of(values);
        if this.ids.len() == this.values.len() { Ok(this) } else { Err(DuplicateValue) }
    }
}

impl From<Vocabulary> for Vec<Box<str>> {
    fn from(vocabulary: Vocabulary) -> Self {
        vocabulary.values
    }
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary").field("values", &self.values.len()).finish_non_exhaustive()
    }
}

impl Vocabulary {
    fn of(values: Vec<Box<str>>) -> Self {
        let ids = values.iter().cloned().zip(FIRST_ID..).collect();
        Self { values, ids }
    }

    /// The values, in the order of their ids.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// How many ids there are, the reserved ones included: the width of a one-hot vector, the rows of an embedding.
    pub fn size(&self) -> usize {
        self.values.len() + 3
    }

    /// The id of a value.
    pub fn id(&self, value: &str) -> i64 {
        self.ids.get(value).copied().unwrap_or(OUT_OF_VOCABULARY)
    }

    /// Appends the id of every row; [`MISSING`] for nulls.
    ///
    /// # Errors
    /// [`CategoryError::NotCategorical`].
    pub fn encode(&self, column: &ArrayRef, out: &mut Vec<i64>) -> Result<(), CategoryError> {
        out.reserve(column.len());
        each_category(column, |_, value| {
            out.push(value.map_or(MISSING, |value| self.id(value)));
            Ok(())
        })
    }
}

/// Ids by hash, without a vocabulary: HighwayHash-64 of the value's text, modulo the number of buckets. The same on every machine and in every version.
#[derive(Clone)]
pub struct HashEncoder {
    buckets: NonZeroU32,
    key: Key,
}

impl fmt::Debug for HashEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashEncoder").field("buckets", &self.buckets).finish_non_exhaustive()
    }
}

impl HashEncoder {
    /// For ids from [`FIRST_ID`] on, `buckets` of them. Without a `key`, a published one: whoever knows the possible values can then tell which share an id.
    pub fn new(buckets: NonZeroU32, key: Option<[u8; 32]>) -> Self {
        let words = |key: [u8; 32]| {
            let mut words = [0; 4];
            for (word, bytes) in words.iter_mut().zip(key.chunks_exact(8)) {
                *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            }
            Key(words)
        };
        Self { buckets, key: key.map_or(HASH_KEY, words) }
    }

    /// How many ids there are, the reserved ones included.
    pub fn size(&self) -> u64 {
        u64::from(self.buckets.get()) + 3
    }

    /// The id of a value.
    pub fn id(&self, value: &str) -> i64 {
        let bucket = HighwayHasher::new(self.key).hash64(value.as_bytes()) % u64::from(self.buckets.get());
        FIRST_ID.saturating_add_unsigned(bucket)
    }

    /// Appends the id of every row; [`MISSING`] for nulls.
    ///
    /// # Errors
    /// [`CategoryError::NotCategorical`].
    pub fn encode(&self, column: &ArrayRef, out: &mut Vec<i64>) -> Result<(), CategoryError> {
        out.reserve(column.len());
        each_category(column, |_, value| {
            out.push(value.map_or(MISSING, |value| self.id(value)));
            Ok(())
        })
    }
}

/// Appends a vector of `width` for each id: 1 at its place, 0 elsewhere, and all 0 for [`PADDING`].
///
/// # Errors
/// [`CategoryError::IdOutOfRange`], with `out` as it was before.
pub fn one_hot(ids: &[i64], width: NonZeroU32, out: &mut Vec<i64>) -> Result<(), CategoryError> {
    let (width, start) = (width.get() as usize, out.len());
    let place = |row: usize| usize::try_from(ids[row]).ok().filter(|&id| id < width).ok_or(CategoryError::IdOutOfRange { row });
    (0..ids.len()).try_for_each(|row| place(row).map(drop))?;
    out.resize(start.saturating_add(ids.len().saturating_mul(width)), 0);
    for (row, vector) in out[start..].chunks_exact_mut(width).enumerate() {
        if ids[row] != PADDING {
            vector[place(row)?] = 1;
        }
    }
    Ok(())
}

/// Appends the day of the week of every time, 0 for Monday to 6 for Sunday, in the time's own zone (UTC for instants): `ticks` since 1970-01-01, `per_day` of
/// them a day (1 for dates). Never of shifted dates.
pub fn days_of_week(ticks: &[i64], per_day: NonZeroI64, out: &mut Vec<i64>) {
    // 1970-01-01 was a Thursday.
    out.extend(ticks.iter().map(|tick| (tick.div_euclid(per_day.get().saturating_abs().max(1)).rem_euclid(7) + 3) % 7));
}

#[cfg(test)]
mod tests;
