//! Value rules over Arrow arrays. Bounds are brought to the column's own unit once, so that a row costs one comparison.
mod bounds;
mod formats;
mod lists;
mod multiples;
mod values;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType as ArrowType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use bounds::{at_least, at_most, clamp, out_of};
use multiples::FloatMultiple;
use perimeter_contract::schema::{Check, CheckDigit, DataType, StringFormat, TimeBound, ValueRule};
use regex::Regex;
use values::Values;

/// A rule for one type of column.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// Characters.
    MinLength(usize),
    /// Characters.
    MaxLength(usize),
    Pattern(Regex),
    CheckDigit(CheckDigit),
    Format(StringFormat),
    Among(Values),
    NotAmong(Values),
    /// Integers, unscaled decimals, days and microseconds; both ends included.
    Within(i128, i128),
    /// Integers and unscaled decimals: what divides them without a rest.
    MultipleOf(u128),
    FloatMultipleOf(FloatMultiple),
    /// Floats: the bound, and whether it is included.
    FloatAbove(f64, bool),
    FloatBelow(f64, bool),
    /// Items.
    MinItems(usize),
    /// Items.
    MaxItems(usize),
    UniqueItems,
    Each(Box<Rule>),
}

impl Rule {
    /// `None`: the rule says nothing about this type.
    pub(super) fn of(rule: &ValueRule, data_type: &DataType) -> Option<Self> {
        match (data_type, rule.each) {
            (DataType::List(item), true) => Some(Self::Each(Box::new(Self::compile(&rule.check, item)?))),
            (_, true) => None,
            (_, false) => Self::compile(&rule.check, data_type),
        }
    }

    /// As [`Rule::of`], of the value itself.
    pub(super) fn compile(check: &Check, data_type: &DataType) -> Option<Self> {
        let scale = match data_type {
            DataType::Int32 | DataType::Int64 => Some(0),
            DataType::Decimal { scale, .. } => Some(*scale),
            _ => None,
        };
        let text = matches!(data_type, DataType::String);
        let float = matches!(data_type, DataType::Float64);
        let time = matches!(data_type, DataType::Date { .. } | DataType::Time { .. } | DataType::Timestamp { .. });
        let list = matches!(data_type, DataType::List(_));
        match check {
            Check::MinLength(n) if text => Some(Self::MinLength(usize::try_from(*n).ok()?)),
            Check::MaxLength(n) if text => Some(Self::MaxLength(usize::try_from(*n).ok()?)),
            Check::Pattern(regex) if text => Some(Self::Pattern(regex.clone())),
            Check::CheckDigit(kind) if text => Some(Self::CheckDigit(*kind)),
            Check::Format(format) if text => Some(Self::Format(*format)),
            Check::Minimum(d) if float => Some(Self::FloatAbove(nearest(d), true)),
            Check::ExclusiveMinimum(d) if float => Some(Self::FloatAbove(nearest(d), false)),
            Check::Maximum(d) if float => Some(Self::FloatBelow(nearest(d), true)),
            Check::ExclusiveMaximum(d) if float => Some(Self::FloatBelow(nearest(d), false)),
            Check::MultipleOf(d) if float => FloatMultiple::new(d).map(Self::FloatMultipleOf),
            Check::Minimum(d) => scale.map(|s| Self::Within(at_least(d, s, true), i128::MAX)),
            Check::ExclusiveMinimum(d) => scale.map(|s| Self::Within(at_least(d, s, false), i128::MAX)),
            Check::Maximum(d) => scale.map(|s| Self::Within(i128::MIN, at_most(d, s, true))),
            Check::ExclusiveMaximum(d) => scale.map(|s| Self::Within(i128::MIN, at_most(d, s, false))),
            Check::MultipleOf(d) => scale.and_then(|s| multiples::divisor(d, s)).map(Self::MultipleOf),
            Check::TimeRange { bound, at } if time => {
                let at = i128::from(*at);
                Some(match bound {
                    TimeBound::Minimum => Self::Within(at, i128::MAX),
                    TimeBound::ExclusiveMinimum => Self::Within(at.saturating_add(1), i128::MAX),
                    TimeBound::Maximum => Self::Within(i128::MIN, at),
                    TimeBound::ExclusiveMaximum => Self::Within(i128::MIN, at.saturating_sub(1)),
                })
            }
            Check::ValidValues(values) => Values::all(values, data_type).map(Self::Among),
            Check::NotAmong(values) => Values::any(values, data_type).map(Self::NotAmong),
            Check::MinItems(n) if list => Some(Self::MinItems(usize::try_from(*n).ok()?)),
            Check::MaxItems(n) if list => Some(Self::MaxItems(usize::try_from(*n).ok()?)),
            Check::UniqueItems if list => Some(Self::UniqueItems),
            _ => None,
        }
    }

    /// Calls `broken` with every row that is there and breaks the rule, ascending.
    pub(super) fn evaluate(&self, array: &ArrayRef, broken: &mut dyn FnMut(u32)) {
        match self {
            Self::MinLength(min) => text(array, broken, |v| v.len() >= *min && (v.len() / 4 >= *min || characters(v) >= *min)),
            Self::MaxLength(max) => text(array, broken, |v| v.len() <= *max || characters(v) <= *max),
            Self::Pattern(regex) => text(array, broken, |v| regex.is_match(v)),
            Self::CheckDigit(CheckDigit::Luhn) => text(array, broken, |v| perimeter_detect::luhn::valid(v.as_bytes())),
            Self::CheckDigit(CheckDigit::Cpf) => text(array, broken, |v| perimeter_detect::cpf::valid(v.as_bytes())),
            Self::CheckDigit(CheckDigit::Cnpj) => text(array, broken, |v| perimeter_detect::cnpj::valid(v.as_bytes())),
            Self::CheckDigit(CheckDigit::Iban) => text(array, broken, |v| perimeter_detect::iban::valid(v.as_bytes())),
            Self::Format(format) => text(array, broken, |v| formats::is(*format, v)),
            Self::Among(values) => values.evaluate(array, true, broken),
            Self::NotAmong(values) => values.evaluate(array, false, broken),
            Self::Within(low, high) => match array.data_type() {
                // A bound outside the type's range holds for all of it or for none.
                ArrowType::Int32 => within::<Int32Type>(array, clamp(*low), clamp(*high), out_of(*low, *high, i32::MIN.into(), i32::MAX.into()), broken),
                ArrowType::Date32 => within::<Date32Type>(array, clamp(*low), clamp(*high), out_of(*low, *high, i32::MIN.into(), i32::MAX.into()), broken),
                ArrowType::Int64 => within::<Int64Type>(array, clamp(*low), clamp(*high), out_of(*low, *high, i64::MIN.into(), i64::MAX.into()), broken),
                ArrowType::Time64(TimeUnit::Microsecond) => {
                    within::<Time64MicrosecondType>(array, clamp(*low), clamp(*high), out_of(*low, *high, i64::MIN.into(), i64::MAX.into()), broken);
                }
                ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
                    within::<TimestampMicrosecondType>(array, clamp(*low), clamp(*high), out_of(*low, *high, i64::MIN.into(), i64::MAX.into()), broken);
                }
                _ => within::<Decimal128Type>(array, *low, *high, false, broken),
            },
            Self::MultipleOf(divisor) => integers(array, broken, |v| v.unsigned_abs() % divisor == 0),
            Self::FloatMultipleOf(multiple) => primitive::<Float64Type>(array, broken, |v| multiple.divides(v)),
            Self::FloatAbove(bound, true) => primitive::<Float64Type>(array, broken, |v| v >= *bound),
            Self::FloatAbove(bound, false) => primitive::<Float64Type>(array, broken, |v| v > *bound),
            Self::FloatBelow(bound, true) => primitive::<Float64Type>(array, broken, |v| v <= *bound),
            Self::FloatBelow(bound, false) => primitive::<Float64Type>(array, broken, |v| v < *bound),
            Self::MinItems(min) => lists::lengths(array, broken, |items| items >= *min),
            Self::MaxItems(max) => lists::lengths(array, broken, |items| items <= *max),
            Self::UniqueItems => lists::unique_items(array, broken),
            Self::Each(rule) => lists::each(array, rule, broken),
        }
    }
}

pub(super) use bounds::nearest;
pub(super) use lists::{canonical, null_items};

/// Characters of valid UTF-8.
fn characters(value: &str) -> usize {
    value.chars().count()
}

fn rows(array: &dyn Array, broken: &mut dyn FnMut(u32), holds: impl Fn(usize) -> bool) {
    let mut report = |row: usize| broken(u32::try_from(row).unwrap_or(u32::MAX));
    match array.nulls().filter(|n| n.null_count() > 0) {
        None => (0..array.len()).filter(|row| !holds(*row)).for_each(&mut report),
        Some(nulls) => nulls.valid_indices().filter(|row| !holds(*row)).for_each(&mut report),
    }
}

fn text(array: &ArrayRef, broken: &mut dyn FnMut(u32), holds: impl Fn(&str) -> bool) {
    let Some(array): Option<&StringArray> = array.as_string_opt() else { return };
    rows(array, broken, |row| holds(array.value(row)));
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef, broken: &mut dyn FnMut(u32), holds: impl Fn(T::Native) -> bool) {
    let Some(array) = array.as_primitive_opt::<T>() else { return };
    let values = array.values();
    rows(array, broken, |row| values.get(row).is_none_or(|v| holds(*v)));
}

fn within<T: ArrowPrimitiveType>(array: &ArrayRef, low: T::Native, high: T::Native, none: bool, broken: &mut dyn FnMut(u32))
where
    T::Native: PartialOrd,
{
    let Some(typed) = array.as_primitive_opt::<T>() else { return };
    // Slots of nulls hold anything: they only cost the second look.
    if !none && typed.values().iter().fold(true, |all, v| all & (*v >= low) & (*v <= high)) {
        return;
    }
    primitive::<T>(array, broken, |v| !none && v >= low && v <= high);
}

/// Everything that counts in whole numbers: integers, unscaled decimals, days, microseconds.
fn integers(array: &ArrayRef, broken: &mut dyn FnMut(u32), holds: impl Fn(i128) -> bool) {
    match array.data_type() {
        ArrowType::Int32 => primitive::<Int32Type>(array, broken, |v| holds(v.into())),
        ArrowType::Int64 => primitive::<Int64Type>(array, broken, |v| holds(v.into())),
        ArrowType::Date32 => primitive::<Date32Type>(array, broken, |v| holds(v.into())),
        ArrowType::Time64(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>(array, broken, |v| holds(v.into())),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => primitive::<TimestampMicrosecondType>(array, broken, |v| holds(v.into())),
        _ => primitive::<Decimal128Type>(array, broken, holds),
    }
}

#[cfg(test)]
mod tests;
