//! What a Parquet column may be for a column of the contract, and how its values get there: exactly, or not at all.
use crate::check::Typed;
use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder, PrimitiveArray, StringArray, StringBuilder};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType as ArrowType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use perimeter_contract::schema::{DataType, Zone};
use std::sync::Arc;

/// How values become the contract's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// They are.
    Same,
    /// Byte arrays to text, where they are UTF-8. Those that the file says are text are looked at only if somebody wants them.
    Text { declared: bool },
    /// To 32 bits; always fits.
    Int32,
    /// To 64 bits; fits, but for the upper half of unsigned 64 bits.
    Int64 { can_fail: bool },
    /// The file's precision is larger: values that do not fit are none of the type.
    Decimal { precision: u8, scale: i8 },
    /// Not a number and infinities are no values.
    Float64,
    /// To microseconds.
    Timestamp { utc: bool },
}

impl Conversion {
    /// `None`: the file's type is not the contract's.
    pub(super) fn of(found: &ArrowType, wanted: &DataType) -> Option<Self> {
        use ArrowType as A;
        match (wanted, found) {
            (DataType::Boolean, A::Boolean) | (DataType::Date { .. }, A::Date32) => Some(Self::Same),
            (DataType::String, A::Utf8) => Some(Self::Text { declared: true }),
            (DataType::String, A::Binary) => Some(Self::Text { declared: false }),
            (DataType::Int32, A::Int32) | (DataType::Int64, A::Int64) => Some(Self::Same),
            (DataType::Int32, A::Int8 | A::Int16 | A::UInt8 | A::UInt16) => Some(Self::Int32),
            (DataType::Int64, A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16 | A::UInt32) => Some(Self::Int64 { can_fail: false }),
            (DataType::Int64, A::UInt64) => Some(Self::Int64 { can_fail: true }),
            (DataType::Float64, A::Float64 | A::Float32) => Some(Self::Float64),
            (DataType::Decimal { precision, scale }, A::Decimal128(has, at)) if i16::from(*at) == i16::from(*scale) => {
                if has == precision {
                    Some(Self::Same)
                } else {
                    Some(Self::Decimal { precision: *precision, scale: *at })
                }
            }
            (DataType::Timestamp { zone, .. }, A::Timestamp(unit, found)) => {
                let utc = matches!(zone, Zone::Utc { .. });
                if utc != found.is_some() || *unit == TimeUnit::Second {
                    return None;
                }
                match (unit, found.as_deref()) {
                    (TimeUnit::Microsecond, None | Some("UTC")) => Some(Self::Same),
                    _ => Some(Self::Timestamp { utc }),
                }
            }
            _ => None,
        }
    }

    /// Whether a value of the file can be none of the contract's type.
    pub(super) fn can_fail(&self) -> bool {
        !matches!(self, Self::Same | Self::Text { declared: true } | Self::Int32 | Self::Int64 { can_fail: false })
    }
}

/// Converts one column; `None` when the array is not of the type that the file declared.
pub(super) fn convert(array: &ArrayRef, conversion: &Conversion) -> Option<Typed> {
    use ArrowType as A;
    let (array, untyped): (ArrayRef, Vec<u32>) = match (conversion, array.data_type()) {
        (Conversion::Same, _) => (Arc::clone(array), Vec::new()),
        (Conversion::Text { .. }, _) => return text(array),
        (Conversion::Int32, A::Int8) => widen::<Int8Type, Int32Type>(array, |v| Some(v.into()))?,
        (Conversion::Int32, A::Int16) => widen::<Int16Type, Int32Type>(array, |v| Some(v.into()))?,
        (Conversion::Int32, A::UInt8) => widen::<UInt8Type, Int32Type>(array, |v| Some(v.into()))?,
        (Conversion::Int32, _) => widen::<UInt16Type, Int32Type>(array, |v| Some(v.into()))?,
        (Conversion::Int64 { .. }, A::Int8) => widen::<Int8Type, Int64Type>(array, |v| Some(v.into()))?,
        (Conversion::Int64 { .. }, A::Int16) => widen::<Int16Type, Int64Type>(array, |v| Some(v.into()))?,
        (Conversion::Int64 { .. }, A::Int32) => widen::<Int32Type, Int64Type>(array, |v| Some(v.into()))?,
        (Conversion::Int64 { .. }, A::UInt8) => widen::<UInt8Type, Int64Type>(array, |v| Some(v.into()))?,
        (Conversion::Int64 { .. }, A::UInt16) => widen::<UInt16Type, Int64Type>(array, |v| Some(v.into()))?,
        (Conversion::Int64 { .. }, A::UInt32) => widen::<UInt32Type, Int64Type>(array, |v| Some(v.into()))?,
        (Conversion::Int64 { .. }, _) => widen::<UInt64Type, Int64Type>(array, |v| i64::try_from(v).ok())?,
        (Conversion::Float64, A::Float32) => widen::<Float32Type, Float64Type>(array, |v| v.is_finite().then_some(v.into()))?,
        (Conversion::Float64, _) => {
            let finite = array.as_primitive_opt::<Float64Type>()?.values().iter().all(|v| v.is_finite());
            if finite { (Arc::clone(array), Vec::new()) } else { widen::<Float64Type, Float64Type>(array, |v| v.is_finite().then_some(v))? }
        }
        (Conversion::Decimal { precision, scale }, _) => {
            let limit = 10i128.checked_pow(u32::from(*precision))?;
            let (fitting, untyped) = map::<Decimal128Type, Decimal128Type>(array, |v| (v > -limit && v < limit).then_some(v))?;
            (Arc::new(fitting.with_precision_and_scale(*precision, *scale).ok()?), untyped)
        }
        (Conversion::Timestamp { utc }, _) => {
            let (micros, untyped) = match array.data_type() {
                A::Timestamp(TimeUnit::Millisecond, _) => map::<TimestampMillisecondType, TimestampMicrosecondType>(array, |v| v.checked_mul(1000))?,
                A::Timestamp(TimeUnit::Nanosecond, _) => {
                    map::<TimestampNanosecondType, TimestampMicrosecondType>(array, |v| (v % 1000 == 0).then_some(v / 1000))?
                }
                _ => map::<TimestampMicrosecondType, TimestampMicrosecondType>(array, Some)?,
            };
            (Arc::new(micros.with_timezone_opt(utc.then_some("UTC"))), untyped)
        }
    };
    Some(Typed { array, untyped, ambiguous: Vec::new() })
}

fn widen<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(array: &ArrayRef, value: impl Fn(F::Native) -> Option<T::Native>) -> Option<(ArrayRef, Vec<u32>)> {
    map::<F, T>(array, value).map(|(array, untyped)| (Arc::new(array) as ArrayRef, untyped))
}

/// Values, null where `value` has none, and the rows where that is so.
fn map<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    array: &ArrayRef,
    value: impl Fn(F::Native) -> Option<T::Native>,
) -> Option<(PrimitiveArray<T>, Vec<u32>)> {
    let array = array.as_primitive_opt::<F>()?;
    let mut untyped = Vec::new();
    let values: Vec<T::Native> = array
        .values()
        .iter()
        .enumerate()
        .map(|(row, v)| {
            value(*v).unwrap_or_else(|| {
                // Slots of nulls hold anything.
                if array.is_valid(row) {
                    untyped.extend(u32::try_from(row));
                }
                T::Native::default()
            })
        })
        .collect();
    Some((PrimitiveArray::new(values.into(), without(array.nulls(), array.len(), &untyped)), untyped))
}

fn without(nulls: Option<&NullBuffer>, rows: usize, untyped: &[u32]) -> Option<NullBuffer> {
    if untyped.is_empty() {
        return nulls.cloned();
    }
    let mut valid = BooleanBufferBuilder::new(rows);
    match nulls {
        Some(nulls) => valid.append_buffer(nulls.inner()),
        None => valid.append_n(rows, true),
    }
    untyped.iter().for_each(|row| valid.set_bit(*row as usize, false));
    Some(NullBuffer::new(valid.finish()))
}

fn text(array: &ArrayRef) -> Option<Typed> {
    let bytes = array.as_binary_opt::<i32>()?;
    // All at once, as nearly always.
    if let Ok(text) = StringArray::try_from_binary(bytes.clone()) {
        return Some(Typed { array: Arc::new(text), untyped: Vec::new(), ambiguous: Vec::new() });
    }
    let mut untyped = Vec::new();
    let mut builder = StringBuilder::new();
    for (row, value) in bytes.iter().enumerate() {
        match value.map(std::str::from_utf8) {
            Some(Ok(text)) => builder.append_value(text),
            Some(Err(_)) => {
                untyped.extend(u32::try_from(row));
                builder.append_null();
            }
            None => builder.append_null(),
        }
    }
    Some(Typed { array: Arc::new(builder.finish()), untyped, ambiguous: Vec::new() })
}
