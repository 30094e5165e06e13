//! Rules over arrays built by hand: every type that a rule can meet.
use super::super::{Broken, Checker, arrow_type};
use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, Int64Builder, ListArray, ListBuilder, StringArray, StringBuilder,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use perimeter_contract::schema::{Check, Column, DataType, DateFormat, Decimal, Schema, TimeBound, ValueRule, Zone};
use perimeter_contract::{Span, schema::StringFormat};
use std::sync::Arc;

fn broken_by(column: Column, array: &ArrayRef) -> Vec<(u32, String)> {
    let checker = Checker::new(&Schema::new("t", vec![column])).unwrap();
    let mut broken: Vec<Broken> = Vec::new();
    checker.evaluate(0, array, &[], &mut broken);
    broken.sort_unstable();
    broken.dedup();
    broken.iter().map(|b| (b.row, checker.codes()[b.code as usize].clone())).collect()
}

fn rows(data_type: DataType, rule: impl Into<ValueRule>, array: ArrayRef) -> Vec<u32> {
    assert_eq!(*array.data_type(), arrow_type(&data_type));
    let mut column = Column::new("c", data_type);
    column.rules.push(rule.into());
    broken_by(column, &array).into_iter().map(|(row, _)| row).collect()
}

fn date() -> DataType {
    DataType::Date { format: DateFormat::iso_date() }
}

fn time() -> DataType {
    DataType::Time { format: DateFormat::iso_timestamp() }
}

fn timestamp() -> DataType {
    DataType::Timestamp { format: DateFormat::iso_timestamp(), zone: Zone::None }
}

#[test]
fn times_lie_within_their_bounds() {
    let range = |bound, at| Check::TimeRange { bound, at };
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(9), None, Some(10), Some(11)]));
    assert_eq!(rows(date(), range(TimeBound::Minimum, 10), days.clone()), [0]);
    assert_eq!(rows(date(), range(TimeBound::ExclusiveMinimum, 10), days.clone()), [0, 2]);
    assert_eq!(rows(date(), range(TimeBound::Maximum, 10), days.clone()), [3]);
    assert_eq!(rows(date(), range(TimeBound::ExclusiveMaximum, 10), days.clone()), [2, 3]);
    assert!(rows(date(), range(TimeBound::Maximum, i64::MAX), days.clone()).is_empty());
    assert_eq!(rows(date(), range(TimeBound::ExclusiveMinimum, i64::MAX), days.clone()), [0, 2, 3]);
    assert_eq!(rows(date(), range(TimeBound::ExclusiveMaximum, i64::MIN), days), [0, 2, 3]);
    let times: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![Some(0), Some(86_399_999_999), None]));
    assert_eq!(rows(time(), range(TimeBound::ExclusiveMinimum, 0), times.clone()), [0]);
    assert_eq!(rows(time(), range(TimeBound::Maximum, 86_399_999_998), times), [1]);
    let instants: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), Some(0), Some(i64::MAX)]));
    assert_eq!(rows(timestamp(), range(TimeBound::Minimum, 0), instants.clone()), [0]);
    assert_eq!(rows(timestamp(), range(TimeBound::ExclusiveMaximum, i64::MAX), instants), [2]);
}

#[test]
fn multiples_are_exact() {
    let of = |unscaled, scale| Check::MultipleOf(Decimal { unscaled, scale });
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), Some(-9), Some(10), None]));
    assert_eq!(rows(DataType::Int32, of(3, 0), ints.clone()), [2]);
    assert_eq!(rows(DataType::Int32, of(25, 1), ints), [1]);
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX]));
    assert_eq!(rows(DataType::Int64, of(2, 0), longs), [1]);
    let decimal = DataType::Decimal { precision: 38, scale: 2 };
    let cents: ArrayRef =
        Arc::new(Decimal128Array::from(vec![Some(105), Some(110), Some(i128::MIN / 4 * 2), Some(1), None]).with_precision_and_scale(38, 2).unwrap());
    assert_eq!(rows(decimal.clone(), of(5, 2), cents.clone()), [2, 3]);
    assert_eq!(rows(decimal.clone(), of(1, 3), cents.clone()), [] as [u32; 0]);
    assert_eq!(rows(decimal, of(i128::MAX, 0), cents), [0, 1, 2, 3]);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.3), Some(-0.0), Some(f64::NAN), Some(0.25), None, Some(f64::INFINITY)]));
    assert_eq!(rows(DataType::Float64, of(1, 1), floats), [2, 3, 5]);
}

#[test]
fn values_that_stand_for_nothing() {
    let not = |values: &[&str]| Check::NotAmong(values.iter().map(|v| (*v).to_owned()).collect());
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("N/A"), Some("n/a"), None, Some("")]));
    assert_eq!(rows(DataType::String, not(&["N/A", ""]), texts), [0, 3]);
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![Some(-1), Some(1), None]));
    assert_eq!(rows(DataType::Int64, not(&["-1", "N/A"]), ints), [0], "N/A is no number, so no number is N/A");
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 99.5, f64::NAN]));
    assert_eq!(rows(DataType::Float64, not(&["0", "99.50"]), floats), [0, 1]);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-25567, 0]));
    assert_eq!(rows(date(), not(&["1900-01-01"]), days.clone()), [0]);
    assert_eq!(rows(date(), Check::ValidValues(vec!["1970-01-01".into()]), days), [0]);
}

#[test]
fn floats_that_are_none() {
    let d = |unscaled| Decimal { unscaled, scale: 0 };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -0.0, f64::NEG_INFINITY]));
    assert_eq!(rows(DataType::Float64, Check::Minimum(d(0)), floats.clone()), [0, 2]);
    assert_eq!(rows(DataType::Float64, Check::Maximum(d(0)), floats), [0]);
}

/// Five lists: `[a, b]`, none, `[]`, `[a, null, a]`, `[c]`.
fn lists() -> ArrayRef {
    let mut list = ListBuilder::new(StringBuilder::new());
    list.append_value([Some("a"), Some("b")]);
    list.append_null();
    list.append_value([] as [Option<&str>; 0]);
    list.append_value([Some("a"), None, Some("a")]);
    list.append_value([Some("c")]);
    Arc::new(list.finish())
}

fn of_text() -> DataType {
    DataType::List(Box::new(DataType::String))
}

fn each(check: Check) -> ValueRule {
    ValueRule { check, each: true, span: Span::default() }
}

#[test]
fn lists_and_their_items() {
    assert_eq!(rows(of_text(), Check::MinItems(1), lists()), [2]);
    assert_eq!(rows(of_text(), Check::MinItems(2), lists()), [2, 4]);
    assert_eq!(rows(of_text(), Check::MaxItems(1), lists()), [0, 3]);
    assert_eq!(rows(of_text(), Check::UniqueItems, lists()), [3]);
    assert_eq!(rows(of_text(), each(Check::ValidValues(vec!["a".into(), "b".into()])), lists()), [4]);
    assert_eq!(rows(of_text(), each(Check::NotAmong(vec!["a".into()])), lists()), [0, 3], "a row counts once");
    let mut column = Column::new("c", of_text());
    (column.required, column.item_required) = (true, true);
    column.rules.extend([each(Check::MaxLength(0)), each(Check::Format(StringFormat::Email)), Check::MinItems(1).into()]);
    let codes = ["c.max-length", "c.format"].map(str::to_owned);
    let mut want = vec![(1, "c.required".to_owned()), (2, "c.min-items".to_owned()), (3, "c.item-required".to_owned())];
    want.extend([0, 3, 4].iter().flat_map(|row| codes.iter().map(move |code| (*row, code.clone()))));
    let mut found = broken_by(column, &lists());
    want.sort();
    found.sort();
    assert_eq!(found, want);
    // A slice sees its own items only.
    let slice = lists().slice(1, 3);
    assert_eq!(rows(of_text(), each(Check::NotAmong(vec!["a".into(), "c".into()])), slice.clone()), [2]);
    assert_eq!(rows(of_text(), Check::UniqueItems, slice), [2]);
}

#[test]
fn items_of_a_list_that_is_not_there_do_not_count() {
    let values = Arc::new(Int64Array::from(vec![Some(1), Some(1), None, Some(2)]));
    let offsets = arrow::buffer::OffsetBuffer::new(vec![0, 3, 4].into());
    let field = Arc::new(arrow::datatypes::Field::new_list_field(arrow::datatypes::DataType::Int64, true));
    let list: ArrayRef = Arc::new(ListArray::new(field, offsets, values, Some(vec![false, true].into())));
    let mut column = Column::new("c", DataType::List(Box::new(DataType::Int64)));
    column.item_required = true;
    column.rules.extend([each(Check::Minimum(Decimal { unscaled: 2, scale: 0 })), Check::UniqueItems.into(), Check::MaxItems(1).into()]);
    assert!(broken_by(column, &list).is_empty());
}

#[test]
fn equal_items_of_every_kind() {
    let mut list = ListBuilder::new(arrow::array::Float64Builder::new());
    list.append_value([Some(0.0), Some(-0.0)]);
    list.append_value([Some(f64::NAN), Some(-f64::NAN)]);
    list.append_value([None, None]);
    list.append_value([Some(1.0), Some(2.0), None]);
    assert_eq!(rows(DataType::List(Box::new(DataType::Float64)), Check::UniqueItems, Arc::new(list.finish())), [0, 1, 2]);
    // As many items as a hostile file may hold: this is no quadratic walk.
    let mut list = ListBuilder::new(Int64Builder::new());
    list.append_value((0..200_000).map(Some));
    list.append_value((0..200_000).map(|n| Some(n % 199_999)));
    assert_eq!(rows(DataType::List(Box::new(DataType::Int64)), Check::UniqueItems, Arc::new(list.finish())), [1]);
}

#[test]
fn rules_of_other_types_are_refused() {
    for (data_type, rule) in [
        (DataType::String, Check::MinItems(1).into()),
        (DataType::String, each(Check::MinLength(1))),
        (of_text(), Check::MinLength(1).into()),
        (of_text(), each(Check::MinItems(1))),
        (DataType::Int64, Check::TimeRange { bound: TimeBound::Minimum, at: 0 }.into()),
        (DataType::Int64, Check::Format(StringFormat::Uuid).into()),
        (DataType::String, Check::MultipleOf(Decimal { unscaled: 1, scale: 0 }).into()),
        (DataType::Int64, Check::MultipleOf(Decimal { unscaled: 0, scale: 0 }).into()),
        (DataType::Float64, Check::MultipleOf(Decimal { unscaled: 0, scale: 3 }).into()),
        (date(), Check::ValidValues(vec!["yesterday".into()]).into()),
    ] {
        let mut column = Column::new("c", data_type);
        column.rules.push(rule);
        assert!(Checker::new(&Schema::new("t", vec![column])).is_err());
    }
}
