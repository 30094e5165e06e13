//! Digests and what is made of them, without files and without the engine.
use super::*;
use crate::check::Typed;
use arrow::array::{Array, BooleanArray, Decimal128Array, Float64Array, Int32Array, StringArray};
use perimeter_contract::Span;
use perimeter_contract::job::{Drift, Format, Source, Uri};
use perimeter_contract::schema::{Column, DataType, Schema, SetCheck, SetRule};
use std::sync::Arc;

/// Keeps what would be sorted.
#[derive(Default)]
struct Kept(Vec<Vec<u8>>);

impl DigestSink for Kept {
    fn push(&mut self, digest: u128, record: &[u8]) -> Result<()> {
        assert_eq!(record[..16], digest.to_be_bytes());
        self.0.push(record.to_vec());
        Ok(())
    }
}

fn source(name: &str, types: &[DataType], rules: Vec<SetCheck>) -> Source {
    let columns = types.iter().enumerate().map(|(at, data_type)| Column::new(format!("c{at}"), data_type.clone())).collect();
    let mut schema = Schema::new(name, columns);
    schema.rules = rules.into_iter().enumerate().map(|(at, check)| SetRule { code: format!("rule{at}"), check, span: Span::default() }).collect();
    Source { name: name.into(), uri: Uri("/x".into()), format: Format::Parquet, schema, drift: Drift::Refuse, span: Span::default() }
}

/// Digests of one batch of each source, sorted and walked: (group, record), and duplicates by group.
fn found(sources: &[Source], batches: &[Vec<ArrayRef>]) -> (Vec<(u32, u64)>, Vec<u64>) {
    let plan = SetPlan::new(sources).unwrap();
    let key = DigestKey::random().unwrap();
    let mut kept = Kept::default();
    for (index, arrays) in batches.iter().enumerate() {
        let mut observer = UnitObserver::new(&plan, &key, index, 0, &mut kept);
        let rows = arrays[0].len();
        let typed: Vec<_> = arrays.iter().map(|array| Typed { array: Arc::clone(array), untyped: vec![], ambiguous: vec![] }).collect();
        let columns: Vec<_> = typed.iter().map(Some).collect();
        let clean = Clean::new(rows, &[]);
        observer.batch(&Observed { columns: &columns, clean: &clean, number: &|row| row as u64 + 1 }).unwrap();
        assert_eq!(observer.finish().rows, rows as u64);
    }
    kept.0.sort_unstable();
    let mut walk = Walk::new(&plan, &key);
    let mut list = Vec::new();
    for record in &kept.0 {
        walk.push(record, &mut |finding| list.push((finding.group, finding.record))).unwrap();
    }
    list.sort_unstable();
    (list, walk.finish())
}

fn unique(columns: &[usize]) -> SetCheck {
    SetCheck::Unique { columns: columns.to_vec() }
}

fn decimals(values: Vec<i128>, scale: i8) -> ArrayRef {
    Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap())
}

#[test]
fn floats_and_booleans_are_equal_by_value() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), Some(f64::NAN), Some(-f64::NAN), Some(1.0), None, None]));
    assert_eq!(found(&[source("t", &[DataType::Float64], vec![unique(&[0])])], &[vec![floats]]).0, [(0, 1), (0, 2), (0, 3), (0, 4)]);
    let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    assert_eq!(found(&[source("t", &[DataType::Boolean], vec![unique(&[0])])], &[vec![booleans]]).0, [(0, 1), (0, 3)]);
}

#[test]
fn numbers_meet_across_types_and_scales() {
    let refers = SetCheck::References { columns: vec![0], dataset: "parents".into(), to: vec!["c0".into()] };
    let child = |data_type| source("t", &[data_type], vec![refers.clone()]);
    let parent = |data_type| source("parents", &[data_type], vec![]);
    let whole = |scale| DataType::Decimal { precision: 38, scale };
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![1, -3, 10]));
    // 1.00, -3.00, -2.99, 0.10, 10.00 against 1, -3, 10.
    let cents = decimals(vec![100, -300, -299, 10, 1000], 2);
    assert_eq!(found(&[child(whole(2)), parent(DataType::Int32)], &[vec![cents.clone()], vec![ints]]).0, [(0, 3), (0, 4)]);
    // The same against 38 digits behind the point, which hold none above 1, and against wide ones.
    let fractions = decimals(vec![10i128.pow(37), -(10i128.pow(37))], 38);
    assert_eq!(found(&[child(whole(2)), parent(whole(38))], &[vec![cents], vec![fractions]]).0, [(0, 1), (0, 2), (0, 3), (0, 5)]);
    let wide = decimals(vec![10i128.pow(38) - 1, 1 - 10i128.pow(38)], 0);
    assert!(found(&[child(whole(0)), parent(whole(0))], &[vec![wide.clone()], vec![wide]]).0.is_empty());
}

#[test]
fn texts_do_not_run_together() {
    let text = |values: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(values)) };
    let two = [DataType::String, DataType::String];
    let batch = vec![text(vec!["a", "ab", "", "abc", "a", "1"]), text(vec!["bc", "c", "abc", "", "bc", ""])];
    assert_eq!(found(&[source("t", &two, vec![unique(&[0, 1])])], &[batch]).0, [(0, 1), (0, 5)]);
    // A text is not the number that it reads as, and one rule's keys are not another's.
    let batch = vec![text(vec!["1", "2"]), text(vec!["2", "1"])];
    assert!(found(&[source("t", &two, vec![unique(&[0]), unique(&[1])])], &[batch]).0.is_empty());
}

#[test]
fn floats_go_back_or_not() {
    let monotonic = |strict| source("t", &[DataType::Float64], vec![SetCheck::Monotonic { column: 0, per: vec![], strict }]);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(f64::NEG_INFINITY),
        Some(-1e300),
        Some(-1.5),
        Some(-2.0),
        Some(-0.0),
        Some(0.0),
        None,
        Some(f64::NAN),
        Some(5e-324),
        Some(f64::INFINITY),
        Some(1.0),
    ]));
    assert_eq!(found(&[monotonic(false)], &[vec![floats.clone()]]).0, [(0, 4), (0, 8), (0, 11)], "NaN stands nowhere, and is rejected");
    assert_eq!(found(&[monotonic(true)], &[vec![floats]]).0, [(0, 4), (0, 6), (0, 8), (0, 11)]);
    let ends = decimals(vec![1 - 10i128.pow(38), 10i128.pow(38) - 1, 0], 0);
    let wide = source("t", &[DataType::Decimal { precision: 38, scale: 0 }], vec![SetCheck::Monotonic { column: 0, per: vec![], strict: true }]);
    assert_eq!(found(&[wide], &[vec![ends]]).0, [(0, 3)]);
}

#[test]
fn what_is_sorted_holds_no_value_and_is_new_in_every_run() {
    let plan =
        SetPlan::new(&[source("t", &[DataType::String, DataType::Int64], vec![unique(&[0]), SetCheck::Monotonic { column: 1, per: vec![0], strict: false }])])
            .unwrap();
    let columns: Vec<_> = [
        Arc::new(StringArray::from(vec!["52998224725", "52998224725"])) as ArrayRef,
        Arc::new(arrow::array::Int64Array::from(vec![0x1122_3344_5566_7788, 0x1122_3344_5566_7788])),
    ]
    .into_iter()
    .map(|array| Typed { array, untyped: vec![], ambiguous: vec![] })
    .collect();
    let columns: Vec<_> = columns.iter().map(Some).collect();
    let sorted = || {
        let (key, mut kept) = (DigestKey::random().unwrap(), Kept::default());
        let clean = Clean::new(2, &[]);
        let observed = Observed { columns: &columns, clean: &clean, number: &|row| row as u64 + 1 };
        UnitObserver::new(&plan, &key, 0, 0, &mut kept).batch(&observed).unwrap();
        kept.0
    };
    let (one, two) = (sorted(), sorted());
    assert_eq!(one.len(), 4);
    let holds = |record: &Vec<u8>, value: &[u8]| record.windows(value.len()).any(|window| window == value);
    for record in one.iter().chain(&two) {
        assert_eq!(record.len(), plan.record_bytes());
        for value in [b"52998224725".as_slice(), &0x1122_3344_5566_7788u64.to_be_bytes(), &0x1122_3344_5566_7788u64.to_le_bytes()] {
            assert!(!holds(record, value));
        }
    }
    assert!(one.iter().all(|record| two.iter().all(|other| record[..16] != other[..16])), "a digest says nothing in another run");
    let values = |list: &[Vec<u8>]| list.iter().map(|r| r[33..].to_vec()).filter(|v| v.iter().any(|b| *b != 0)).collect::<Vec<_>>();
    assert_ne!(values(&one)[0], values(&one)[1], "equal values are hidden under different pads");
    assert_eq!(format!("{:?}", DigestKey::random().unwrap()), "DigestKey([secret])");
}

#[test]
fn violations_are_counted_once_and_found_by_record() {
    let plan = SetPlan::new(&[source("t", &[DataType::String, DataType::String], vec![unique(&[0]), unique(&[1])])]).unwrap();
    let mut violations = Violations::default();
    for (group, record) in [(0, 1), (0, 1024), (0, 1_000_000), (1, 1024), (1, 7), (0, 1)] {
        violations.insert(&plan, Finding { group, file: 2, record });
    }
    violations.insert(&plan, Finding { group: 99, file: 2, record: 1 });
    assert!(violations.of_file(0, 1).is_none());
    let file = violations.of_file(0, 2).unwrap();
    assert_eq!(file.by_rule(2).collect::<Vec<_>>(), [(0, 3, vec![1, 1024]), (1, 2, vec![7, 1024])]);
    assert_eq!(file.rejected(), 4, "1024 breaks two rules and is one record");
    let between = |first, last| {
        let mut list = Vec::new();
        file.between(first, last, |rule, record| list.push((rule, record)));
        list
    };
    assert_eq!(between(2, 1024), [(0, 1024), (1, 7), (1, 1024)]);
    assert_eq!(between(1025, 999_999), []);
    assert_eq!(between(9, 3), []);
    // Dense or sparse, memory stays small.
    let mut dense = Violations::default();
    (0..100_000).for_each(|record| dense.insert(&plan, Finding { group: 0, file: 0, record }));
    assert!(dense.bytes() < 20_000, "{}", dense.bytes());
}
