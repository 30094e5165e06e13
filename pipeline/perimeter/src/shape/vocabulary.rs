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
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, DictionaryArray, Float64Array, Int16Array, LargeStringArray, StringArray, StringViewArray};
    use arrow::datatypes::Int32Type;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    fn number(value: usize) -> NonZeroUsize {
        NonZeroUsize::new(value).unwrap()
    }

    fn counted(rows: &[(Option<String>, u64)], min_units: usize) -> Counter {
        let mut counter = Counter::new(number(min_units), 1 << 20);
        let column: ArrayRef = Arc::new(rows.iter().map(|(value, _)| value.as_deref()).collect::<StringArray>());
        counter.add(&column, &rows.iter().map(|&(_, unit)| unit).collect::<Vec<_>>()).unwrap();
        counter
    }

    /// Every value with its rows and its units, all of them.
    fn model(rows: &[(Option<String>, u64)], min_units: usize, min_count: u64) -> Vec<String> {
        let mut values: BTreeMap<&str, (u64, BTreeSet<u64>)> = BTreeMap::new();
        for (value, unit) in rows {
            if let Some(value) = value {
                let entry = values.entry(value).or_default();
                entry.0 += 1;
                entry.1.insert(*unit);
            }
        }
        let mut kept: Vec<(std::cmp::Reverse<u64>, &str)> = values
            .into_iter()
            .filter(|(_, (count, units))| *count >= min_count && units.len() >= min_units)
            .map(|(value, (count, _))| (std::cmp::Reverse(count), value))
            .collect();
        kept.sort_unstable();
        kept.into_iter().map(|(_, value)| value.to_owned()).collect()
    }

    fn rows() -> impl Strategy<Value = Vec<(Option<String>, u64)>> {
        prop::collection::vec((prop::option::weighted(0.9, "[ab\u{e9}]{0,2}"), 0_u64..6), 0..80)
    }

    proptest! {
        #[test]
        fn vocabularies_are_those_of_the_model(rows in rows(), cut in 0_usize..80, min_units in 1_usize..5, min_count in 0_u64..6) {
            let whole = counted(&rows, min_units);
            let expected = model(&rows, min_units, min_count);
            let vocabulary = whole.freeze(min_count, None);
            prop_assert_eq!(vocabulary.values().map(str::to_owned).collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(whole.freeze(min_count, Some(number(2))).values().map(str::to_owned).collect::<Vec<_>>(), expected[..expected.len().min(2)].to_vec());
            // In any partition and order.
            let (left, right) = rows.split_at(cut.min(rows.len()));
            for (first, second) in [(left, right), (right, left)] {
                let mut merged = counted(first, min_units);
                merged.merge(&counted(second, min_units)).unwrap();
                prop_assert_eq!(&merged.freeze(min_count, None), &vocabulary);
            }
            // Through its file.
            let json = serde_json::to_string(&vocabulary).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Vocabulary>(&json).unwrap(), &vocabulary);
            // And back on the rows.
            let column: ArrayRef = Arc::new(rows.iter().map(|(value, _)| value.as_deref()).collect::<StringArray>());
            let mut ids = Vec::new();
            vocabulary.encode(&column, &mut ids).unwrap();
            for (id, (value, _)) in ids.iter().zip(&rows) {
                let expected = match value {
                    None => MISSING,
                    Some(value) => expected.iter().position(|known| known == value).map_or(OUT_OF_VOCABULARY, |at| FIRST_ID + i64::try_from(at).unwrap()),
                };
                prop_assert_eq!(*id, expected);
            }
        }
    }

    /// huggingface/tokenizers #1794: the same data gave other vocabularies, by the order of a hash map.
    #[test]
    fn a_hundred_runs_give_one_vocabulary() {
        let rows: Vec<(Option<String>, u64)> = (0..500_u64).map(|row| (Some(format!("value {}", row % 97)), row % 7)).collect();
        let json = |rows: &[(Option<String>, u64)]| serde_json::to_string(&counted(rows, 3).freeze(1, None)).unwrap();
        let first = json(&rows);
        let reversed: Vec<_> = rows.iter().rev().cloned().collect();
        for _ in 0..50 {
            assert_eq!(json(&rows), first);
            assert_eq!(json(&reversed), first);
        }
    }

    #[test]
    fn layouts_of_columns_do_not_show() {
        let values = ["7", "-12", "7"];
        let columns: [ArrayRef; 5] = [
            Arc::new(StringArray::from(values.to_vec())),
            Arc::new(LargeStringArray::from(values.to_vec())),
            Arc::new(StringViewArray::from(values.to_vec())),
            Arc::new(values.into_iter().collect::<DictionaryArray<Int32Type>>()),
            Arc::new(Int16Array::from(vec![7, -12, 7])),
        ];
        for column in &columns {
            let mut counter = Counter::new(number(1), 1000);
            counter.add(column, &[1, 2, 3]).unwrap();
            let vocabulary = counter.freeze(1, None);
            assert_eq!(vocabulary.values().collect::<Vec<_>>(), ["7", "-12"]);
            let mut ids = Vec::new();
            vocabulary.encode(column, &mut ids).unwrap();
            assert_eq!(ids, [3, 4, 3]);
        }
        let mut ids = Vec::new();
        let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
        Vocabulary::default().encode(&booleans, &mut ids).unwrap();
        assert_eq!(ids, [OUT_OF_VOCABULARY, MISSING]);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
        assert_eq!(Vocabulary::default().encode(&floats, &mut ids), Err(CategoryError::NotCategorical));
    }

    #[test]
    fn memory_is_bounded() {
        let rows: Vec<(Option<String>, u64)> = (0..100).map(|row| (Some(format!("{row:036}")), row)).collect();
        let column: ArrayRef = Arc::new(rows.iter().map(|(value, _)| value.as_deref()).collect::<StringArray>());
        let units: Vec<u64> = (0..100).collect();
        // 36 bytes, 64 for the entry, 2 units of 8.
        assert_eq!(Counter::new(number(2), 100 * 116).add(&column, &units), Ok(()));
        assert_eq!(Counter::new(number(2), 100 * 116 - 1).add(&column, &units), Err(CategoryError::TooManyValues));
        assert_eq!(Counter::new(number(2), 1000).add(&column, &units[1..]), Err(CategoryError::Units));
        let counter = counted(&rows, 2);
        assert!(!format!("{counter:?} {:?}", counter.freeze(0, None)).contains("00000"));
    }

    #[test]
    fn a_vocabulary_file_with_a_value_twice_is_refused() {
        assert!(serde_json::from_str::<Vocabulary>(r#"["a","b","a"]"#).is_err());
    }

    #[test]
    fn hashes_are_stable() {
        let plain = HashEncoder::new(NonZeroU32::new(1000).unwrap(), None);
        let column: ArrayRef = Arc::new(StringArray::from(vec![Some("GROCERY"), None, Some(""), Some("GROCERY")]));
        let mut ids = Vec::new();
        plain.encode(&column, &mut ids).unwrap();
        assert_eq!(ids[1], MISSING);
        assert_eq!(ids[0], ids[3]);
        assert!(ids.iter().all(|&id| (MISSING..1003).contains(&id)));
        // Written down: another version of ours must give the same.
        assert_eq!([ids[0], ids[2]], [800, 112]);
        let keyed = HashEncoder::new(NonZeroU32::new(1000).unwrap(), Some([7; 32]));
        assert_ne!(keyed.id("GROCERY"), ids[0]);
        let spelled = *b"perimeter.dev/shape/hash-key/v1\0";
        assert_eq!(HashEncoder::new(NonZeroU32::new(1000).unwrap(), Some(spelled)).id("GROCERY"), ids[0]);
    }

    #[test]
    fn one_hot_vectors() {
        let width = NonZeroU32::new(4).unwrap();
        let mut out = vec![9];
        one_hot(&[3, 0, 1], width, &mut out).unwrap();
        assert_eq!(out, [9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(one_hot(&[1, 4], width, &mut out), Err(CategoryError::IdOutOfRange { row: 1 }));
        assert_eq!(one_hot(&[-1], width, &mut out), Err(CategoryError::IdOutOfRange { row: 0 }));
        assert_eq!(out.len(), 13);
    }

    proptest! {
        #[test]
        fn days_of_the_week_are_those_of_chrono(day in -700_000_i32..700_000, second in 0_i64..86_400) {
            use chrono::Datelike;
            let date = chrono::DateTime::from_timestamp(i64::from(day) * 86_400 + second, 0).unwrap();
            let expected = i64::from(date.weekday().num_days_from_monday());
            let mut out = Vec::new();
            days_of_week(&[i64::from(day)], NonZeroI64::new(1).unwrap(), &mut out);
            days_of_week(&[(i64::from(day) * 86_400 + second) * 1_000_000], NonZeroI64::new(86_400_000_000).unwrap(), &mut out);
            prop_assert_eq!(out, vec![expected, expected]);
        }
    }

    #[test]
    fn times_at_the_ends() {
        let mut out = Vec::new();
        days_of_week(&[i64::MIN, i64::MAX], NonZeroI64::new(1).unwrap(), &mut out);
        days_of_week(&[i64::MIN], NonZeroI64::new(-1).unwrap(), &mut out);
        days_of_week(&[0], NonZeroI64::new(i64::MIN).unwrap(), &mut out);
        assert_eq!(out[3], 3);
        assert!(out.iter().all(|day| (0..7).contains(day)));
    }
}
