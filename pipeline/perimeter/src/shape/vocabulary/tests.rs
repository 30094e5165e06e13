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
