//! Value rules over Arrow arrays. Bounds are brought to the column's own unit once, so that a row costs one comparison.
use super::number;
use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::DataType as ArrowType;
use arrow::datatypes::{ArrowPrimitiveType, Decimal128Type, Float64Type, Int32Type, Int64Type};
use hashbrown::HashSet;
use perimeter_contract::schema::{Check, CheckDigit, DataType, Decimal};
use regex::Regex;

/// A rule for one type of column.
#[derive(Debug)]
pub(super) enum Rule {
    /// Characters.
    MinLength(usize),
    /// Characters.
    MaxLength(usize),
    Pattern(Regex),
    CheckDigit(CheckDigit),
    ValidText(HashSet<String, foldhash::fast::FixedState>),
    /// Integers and unscaled decimals, both ends included.
    Within(i128, i128),
    ValidNumber(HashSet<i128, foldhash::fast::FixedState>),
    /// Floats: the bound, whether it is included, whether it is the lower one.
    FloatAbove(f64, bool),
    FloatBelow(f64, bool),
    ValidFloat(Vec<f64>),
    ValidBoolean(bool, bool),
}

impl Rule {
    /// `None`: the rule says nothing about this type.
    pub(super) fn compile(check: &Check, data_type: &DataType) -> Option<Self> {
        let scale = match data_type {
            DataType::Int32 | DataType::Int64 => Some(0),
            DataType::Decimal { scale, .. } => Some(*scale),
            _ => None,
        };
        let text = matches!(data_type, DataType::String);
        let float = matches!(data_type, DataType::Float64);
        match check {
            Check::MinLength(n) if text => Some(Self::MinLength(usize::try_from(*n).ok()?)),
            Check::MaxLength(n) if text => Some(Self::MaxLength(usize::try_from(*n).ok()?)),
            Check::Pattern(regex) if text => Some(Self::Pattern(regex.clone())),
            Check::CheckDigit(kind) if text => Some(Self::CheckDigit(*kind)),
            Check::Minimum(d) if float => Some(Self::FloatAbove(nearest(d), true)),
            Check::ExclusiveMinimum(d) if float => Some(Self::FloatAbove(nearest(d), false)),
            Check::Maximum(d) if float => Some(Self::FloatBelow(nearest(d), true)),
            Check::ExclusiveMaximum(d) if float => Some(Self::FloatBelow(nearest(d), false)),
            Check::Minimum(d) => scale.map(|s| Self::Within(at_least(d, s, true), i128::MAX)),
            Check::ExclusiveMinimum(d) => scale.map(|s| Self::Within(at_least(d, s, false), i128::MAX)),
            Check::Maximum(d) => scale.map(|s| Self::Within(i128::MIN, at_most(d, s, true))),
            Check::ExclusiveMaximum(d) => scale.map(|s| Self::Within(i128::MIN, at_most(d, s, false))),
            Check::ValidValues(values) => Self::valid(values, data_type),
            _ => None,
        }
    }

    fn valid(values: &[String], data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::String => Some(Self::ValidText(values.iter().cloned().collect())),
            DataType::Int32 | DataType::Int64 => {
                values.iter().map(|v| number::int64(v.as_bytes(), None).map(i128::from)).collect::<Option<_>>().map(Self::ValidNumber)
            }
            DataType::Decimal { precision, scale } => {
                values.iter().map(|v| number::decimal(v.as_bytes(), None, *precision, *scale, false)).collect::<Option<_>>().map(Self::ValidNumber)
            }
            DataType::Float64 => values.iter().map(|v| number::float64(v.as_bytes(), None)).collect::<Option<_>>().map(Self::ValidFloat),
            DataType::Boolean => {
                let values = values.iter().map(|v| number::boolean(v.as_bytes())).collect::<Option<Vec<_>>>()?;
                Some(Self::ValidBoolean(values.contains(&true), values.contains(&false)))
            }
            DataType::Date { .. } | DataType::Timestamp { .. } | DataType::Time { .. } | DataType::List(_) => None,
        }
    }

    /// Calls `broken` with every row that is there and breaks the rule.
    pub(super) fn evaluate(&self, array: &ArrayRef, broken: impl FnMut(u32)) {
        match self {
            Self::MinLength(min) => text(array, broken, |v| v.len() >= *min && (v.len() / 4 >= *min || characters(v) >= *min)),
            Self::MaxLength(max) => text(array, broken, |v| v.len() <= *max || characters(v) <= *max),
            Self::Pattern(regex) => text(array, broken, |v| regex.is_match(v)),
            Self::CheckDigit(CheckDigit::Luhn) => text(array, broken, |v| perimeter_detect::luhn::valid(v.as_bytes())),
            Self::CheckDigit(CheckDigit::Cpf) => text(array, broken, |v| perimeter_detect::cpf::valid(v.as_bytes())),
            Self::CheckDigit(CheckDigit::Cnpj) => text(array, broken, |v| perimeter_detect::cnpj::valid(v.as_bytes())),
            Self::CheckDigit(CheckDigit::Iban) => text(array, broken, |v| perimeter_detect::iban::valid(v.as_bytes())),
            Self::ValidText(valid) => text(array, broken, |v| valid.contains(v)),
            Self::Within(low, high) => match array.data_type() {
                // A bound outside the type's range holds for all of it or for none.
                ArrowType::Int32 => within::<Int32Type>(array, clamp(*low), clamp(*high), out_of(*low, *high, i32::MIN.into(), i32::MAX.into()), broken),
                ArrowType::Int64 => within::<Int64Type>(array, clamp(*low), clamp(*high), out_of(*low, *high, i64::MIN.into(), i64::MAX.into()), broken),
                _ => within::<Decimal128Type>(array, *low, *high, false, broken),
            },
            Self::ValidNumber(valid) => match array.data_type() {
                ArrowType::Int32 => primitive::<Int32Type>(array, broken, |v| valid.contains(&i128::from(v))),
                ArrowType::Int64 => primitive::<Int64Type>(array, broken, |v| valid.contains(&i128::from(v))),
                _ => primitive::<Decimal128Type>(array, broken, |v| valid.contains(&v)),
            },
            Self::FloatAbove(bound, true) => primitive::<Float64Type>(array, broken, |v| v >= *bound),
            Self::FloatAbove(bound, false) => primitive::<Float64Type>(array, broken, |v| v > *bound),
            Self::FloatBelow(bound, true) => primitive::<Float64Type>(array, broken, |v| v <= *bound),
            Self::FloatBelow(bound, false) => primitive::<Float64Type>(array, broken, |v| v < *bound),
            Self::ValidFloat(valid) => primitive::<Float64Type>(array, broken, |v| valid.contains(&v)),
            Self::ValidBoolean(when_true, when_false) => {
                let Some(array) = array.as_boolean_opt() else { return };
                rows(array, broken, |row| if array.value(row) { *when_true } else { *when_false });
            }
        }
    }
}

/// Characters of valid UTF-8.
fn characters(value: &str) -> usize {
    value.chars().count()
}

fn rows(array: &dyn Array, mut broken: impl FnMut(u32), holds: impl Fn(usize) -> bool) {
    let mut report = |row: usize| broken(u32::try_from(row).unwrap_or(u32::MAX));
    match array.nulls().filter(|n| n.null_count() > 0) {
        None => (0..array.len()).filter(|row| !holds(*row)).for_each(&mut report),
        Some(nulls) => nulls.valid_indices().filter(|row| !holds(*row)).for_each(&mut report),
    }
}

fn text(array: &ArrayRef, broken: impl FnMut(u32), holds: impl Fn(&str) -> bool) {
    let Some(array): Option<&StringArray> = array.as_string_opt() else { return };
    rows(array, broken, |row| holds(array.value(row)));
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef, broken: impl FnMut(u32), holds: impl Fn(T::Native) -> bool) {
    let Some(array) = array.as_primitive_opt::<T>() else { return };
    let values = array.values();
    rows(array, broken, |row| values.get(row).is_none_or(|v| holds(*v)));
}

fn within<T: ArrowPrimitiveType>(array: &ArrayRef, low: T::Native, high: T::Native, none: bool, broken: impl FnMut(u32))
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

fn clamp<N: TryFrom<i128> + num::Bounds>(bound: i128) -> N {
    N::try_from(bound).unwrap_or(if bound < 0 { N::LOWEST } else { N::HIGHEST })
}

/// Whether no value of the type can lie between the bounds.
fn out_of(low: i128, high: i128, type_low: i128, type_high: i128) -> bool {
    low > type_high || high < type_low || low > high
}

mod num {
    pub(super) trait Bounds {
        const LOWEST: Self;
        const HIGHEST: Self;
    }
    impl Bounds for i32 {
        const LOWEST: Self = Self::MIN;
        const HIGHEST: Self = Self::MAX;
    }
    impl Bounds for i64 {
        const LOWEST: Self = Self::MIN;
        const HIGHEST: Self = Self::MAX;
    }
}

/// The smallest unscaled value at `scale` that is not below the bound (above it, when the bound is not included).
fn at_least(bound: &Decimal, scale: u8, included: bool) -> i128 {
    let (floor, exact) = rescale(bound, scale);
    if exact && included { floor } else { floor.saturating_add(1) }
}

/// The largest unscaled value at `scale` that is not above the bound (below it, when the bound is not included).
fn at_most(bound: &Decimal, scale: u8, included: bool) -> i128 {
    let (floor, exact) = rescale(bound, scale);
    if exact && !included { floor.saturating_sub(1) } else { floor }
}

/// The bound at another scale: rounded down, and whether that is exact. Beyond 128 bits it is further out than any value.
fn rescale(bound: &Decimal, scale: u8) -> (i128, bool) {
    if scale >= bound.scale {
        let power = 10i128.checked_pow(u32::from(scale - bound.scale));
        let scaled = power.and_then(|p| bound.unscaled.checked_mul(p));
        (scaled.unwrap_or(if bound.unscaled < 0 { i128::MIN } else { i128::MAX }), true)
    } else {
        match 10i128.checked_pow(u32::from(bound.scale - scale)) {
            Some(power) => (bound.unscaled.div_euclid(power), bound.unscaled.rem_euclid(power) == 0),
            None => (if bound.unscaled < 0 { -1 } else { 0 }, bound.unscaled == 0),
        }
    }
}

/// A bound of a float column is read as its values are: to the nearest binary64, so that equal texts are equal.
fn nearest(bound: &Decimal) -> f64 {
    format!("{}e-{}", bound.unscaled, bound.scale).parse().unwrap_or(f64::NAN)
}
