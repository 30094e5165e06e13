//! What a column of a columnar file may be for a column of the contract, and how its values get there: exactly, or not at all.
//!
//! How a file lays values out (views, 64-bit offsets, dictionaries, runs) says nothing about them: [`plain`] undoes it first. Text comes as bytes, whatever the
//! file calls it, so that one cell that is no UTF-8 costs its row and not the file.
use crate::check::Typed;
use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder, PrimitiveArray, StringArray, StringBuilder, UInt64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType as ArrowType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, RunEndIndexType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use perimeter_contract::schema::{DataType, Zone};
use std::sync::Arc;

/// How values become the contract's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// They are.
    Same,
    /// Byte arrays to text, where they are UTF-8: that the file says they are text proves nothing.
    Text,
    /// To 32 bits; always fits.
    Int32,
    /// To 64 bits; fits, but for the upper half of unsigned 64 bits.
    Int64 { can_fail: bool },
    /// Values with more digits than the contract's precision, or than the file's own, are none of the type.
    Decimal { precision: u8, scale: i8 },
    /// Not a number and infinities are no values.
    Float64,
    /// From milliseconds; parts of a day are no date.
    Date,
    /// To microseconds since midnight; what is not within a day, or needs more digits, is no time.
    Time,
    /// To microseconds.
    Timestamp { utc: bool },
}

impl Conversion {
    /// `None`: the file's type is not the contract's.
    pub(super) fn of(found: &ArrowType, wanted: &DataType) -> Option<Self> {
        use ArrowType as A;
        match (wanted, found) {
            (wanted, A::Dictionary(_, values)) => Self::of(values, wanted),
            (wanted, A::RunEndEncoded(_, values)) => Self::of(values.data_type(), wanted),
            (DataType::Boolean, A::Boolean) | (DataType::Date { .. }, A::Date32) => Some(Self::Same),
            (DataType::Date { .. }, A::Date64) => Some(Self::Date),
            (DataType::String, A::Utf8 | A::LargeUtf8 | A::Utf8View | A::Binary | A::LargeBinary | A::BinaryView) => Some(Self::Text),
            (DataType::Int32, A::Int32) | (DataType::Int64, A::Int64) => Some(Self::Same),
            (DataType::Int32, A::Int8 | A::Int16 | A::UInt8 | A::UInt16) => Some(Self::Int32),
            (DataType::Int64, A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16 | A::UInt32) => Some(Self::Int64 { can_fail: false }),
            (DataType::Int64, A::UInt64) => Some(Self::Int64 { can_fail: true }),
            (DataType::Float64, A::Float64 | A::Float32 | A::Float16) => Some(Self::Float64),
            (DataType::Decimal { precision, scale }, A::Decimal32(_, at) | A::Decimal64(_, at) | A::Decimal128(_, at) | A::Decimal256(_, at))
                if i16::from(*at) == i16::from(*scale) =>
            {
                Some(Self::Decimal { precision: *precision, scale: *at })
            }
            (DataType::Time { .. }, A::Time32(_) | A::Time64(_)) => Some(Self::Time),
            (DataType::Timestamp { zone, .. }, A::Timestamp(unit, found)) => {
                let utc = matches!(zone, Zone::Utc { .. });
                if utc != found.is_some() {
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
        !matches!(self, Self::Same | Self::Int32 | Self::Int64 { can_fail: false })
    }
}

/// Converts one column; `None` when the array is not of the type that the file declared.
pub(super) fn convert(array: &ArrayRef, conversion: &Conversion) -> Option<Typed> {
    use ArrowType as A;
    let array = &plain(array)?;
    let (array, untyped): (ArrayRef, Vec<u32>) = match (conversion, array.data_type()) {
        (Conversion::Same, _) => (Arc::clone(array), Vec::new()),
        (Conversion::Text, _) => return text(array),
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
        (Conversion::Float64, A::Float16) => widen::<Float16Type, Float64Type>(array, |v| v.is_finite().then(|| v.to_f64()))?,
        (Conversion::Float64, A::Float32) => widen::<Float32Type, Float64Type>(array, |v| v.is_finite().then_some(v.into()))?,
        (Conversion::Float64, _) => {
            let finite = array.as_primitive_opt::<Float64Type>()?.values().iter().all(|v| v.is_finite());
            if finite { (Arc::clone(array), Vec::new()) } else { widen::<Float64Type, Float64Type>(array, |v| v.is_finite().then_some(v))? }
        }
        (Conversion::Date, _) => widen::<Date64Type, Date32Type>(array, |v| (v % 86_400_000 == 0).then(|| i32::try_from(v / 86_400_000).ok())?)?,
        (Conversion::Decimal { precision, scale }, found) => {
            let digits = match found {
                A::Decimal32(p, _) | A::Decimal64(p, _) | A::Decimal128(p, _) | A::Decimal256(p, _) => (*p).min(*precision),
                _ => return None,
            };
            let limit = 10i128.checked_pow(u32::from(digits))?;
            let fits = |v: i128| (v > -limit && v < limit).then_some(v);
            let (fitting, untyped) = match found {
                A::Decimal32(..) => map::<Decimal32Type, Decimal128Type>(array, |v| fits(v.into()))?,
                A::Decimal64(..) => map::<Decimal64Type, Decimal128Type>(array, |v| fits(v.into()))?,
                A::Decimal256(..) => map::<Decimal256Type, Decimal128Type>(array, |v| v.to_i128().and_then(fits))?,
                _ => {
                    let decimals = array.as_primitive_opt::<Decimal128Type>()?;
                    // Slots of nulls hold anything: they only cost the second look.
                    if decimals.values().iter().fold(true, |all, v| all & (*v > -limit) & (*v < limit)) {
                        (decimals.clone(), Vec::new())
                    } else {
                        map::<Decimal128Type, Decimal128Type>(array, fits)?
                    }
                }
            };
            (Arc::new(fitting.with_precision_and_scale(*precision, *scale).ok()?), untyped)
        }
        (Conversion::Time, found) => {
            let within = |v: i64| (0..86_400_000_000).contains(&v).then_some(v);
            match found {
                A::Time32(TimeUnit::Second) => widen::<Time32SecondType, Time64MicrosecondType>(array, |v| within(i64::from(v) * 1_000_000))?,
                A::Time32(_) => widen::<Time32MillisecondType, Time64MicrosecondType>(array, |v| within(i64::from(v) * 1000))?,
                A::Time64(TimeUnit::Nanosecond) => {
                    widen::<Time64NanosecondType, Time64MicrosecondType>(array, |v| if v % 1000 == 0 { within(v / 1000) } else { None })?
                }
                _ => widen::<Time64MicrosecondType, Time64MicrosecondType>(array, within)?,
            }
        }
        (Conversion::Timestamp { utc }, found) => {
            let (micros, untyped) = match found {
                A::Timestamp(TimeUnit::Second, _) => map::<TimestampSecondType, TimestampMicrosecondType>(array, |v| v.checked_mul(1_000_000))?,
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

/// The nulls there are and those of `untyped`.
pub(super) fn without(nulls: Option<&NullBuffer>, rows: usize, untyped: &[u32]) -> Option<NullBuffer> {
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
    if *array.data_type() == ArrowType::Utf8 {
        return Some(Typed { array: Arc::clone(array), untyped: Vec::new(), ambiguous: Vec::new() });
    }
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

/// The values without dictionaries, runs, views and 64-bit offsets; types inside lists and structs stay. `None`: more than 2 GiB of text.
pub(super) fn plain(array: &ArrayRef) -> Option<ArrayRef> {
    use ArrowType as A;
    match array.data_type() {
        A::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            plain(&take(dictionary.values(), dictionary.keys(), None).ok()?)
        }
        A::RunEndEncoded(ends, _) => {
            let values = match ends.data_type() {
                A::Int16 => runs::<Int16Type>(array),
                A::Int32 => runs::<Int32Type>(array),
                _ => runs::<Int64Type>(array),
            };
            plain(&values?)
        }
        A::LargeUtf8 | A::Utf8View => cast(array, &A::Utf8).ok(),
        A::LargeBinary | A::BinaryView => cast(array, &A::Binary).ok(),
        _ => Some(Arc::clone(array)),
    }
}

fn runs<R: RunEndIndexType>(array: &ArrayRef) -> Option<ArrayRef> {
    let runs = array.as_run_opt::<R>()?;
    let indices: UInt64Array = (0..runs.len()).map(|row| Some(runs.get_physical_index(row) as u64)).collect();
    take(runs.values(), &indices, None).ok()
}

/// How many bytes one cell can become that the file holds but once: a view, a dictionary or a run can stand for many. 0 where that cannot be.
pub(super) fn expansion_bytes(array: &dyn Array) -> usize {
    use ArrowType as A;
    let longest = |lists: usize, values: &ArrayRef| lists.saturating_mul(expansion_bytes(values.as_ref()));
    match array.data_type() {
        A::Utf8View => array.as_string_view().lengths().max().unwrap_or(0) as usize,
        A::BinaryView => array.as_binary_view().lengths().max().unwrap_or(0) as usize,
        A::Dictionary(..) => array.as_any_dictionary_opt().map_or(0, |d| cell_bytes(d.values().as_ref())),
        A::RunEndEncoded(ends, _) => match ends.data_type() {
            A::Int16 => array.as_run_opt::<Int16Type>().map_or(0, |r| cell_bytes(r.values().as_ref())),
            A::Int32 => array.as_run_opt::<Int32Type>().map_or(0, |r| cell_bytes(r.values().as_ref())),
            _ => array.as_run_opt::<Int64Type>().map_or(0, |r| cell_bytes(r.values().as_ref())),
        },
        A::Struct(_) => array.as_struct().columns().iter().map(|c| expansion_bytes(c.as_ref())).fold(0, usize::saturating_add),
        A::List(_) => longest((0..array.len()).map(|r| array.as_list::<i32>().value_length(r) as usize).max().unwrap_or(0), array.as_list::<i32>().values()),
        A::LargeList(_) => {
            longest((0..array.len()).map(|r| array.as_list::<i64>().value_length(r) as usize).max().unwrap_or(0), array.as_list::<i64>().values())
        }
        A::FixedSizeList(_, size) => longest(usize::try_from(*size).unwrap_or(0), array.as_fixed_size_list().values()),
        A::ListView(_) => {
            let lists = array.as_list_view::<i32>();
            let longest = lists.sizes().iter().max().map_or(0, |n| usize::try_from(*n).unwrap_or(0));
            longest.saturating_mul(cell_bytes(lists.values().as_ref()))
        }
        A::LargeListView(_) => {
            let lists = array.as_list_view::<i64>();
            let longest = lists.sizes().iter().max().map_or(0, |n| usize::try_from(*n).unwrap_or(0));
            longest.saturating_mul(cell_bytes(lists.values().as_ref()))
        }
        _ => 0,
    }
}

/// The longest cell.
fn cell_bytes(values: &dyn Array) -> usize {
    use ArrowType as A;
    match values.data_type() {
        A::Utf8 => values.as_string::<i32>().offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0),
        A::LargeUtf8 => values.as_string::<i64>().offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0),
        A::Binary => values.as_binary::<i32>().offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0),
        A::LargeBinary => values.as_binary::<i64>().offsets().windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0),
        A::Struct(_) => values.as_struct().columns().iter().map(|c| cell_bytes(c.as_ref())).fold(0, usize::saturating_add),
        _ => expansion_bytes(values).max(32),
    }
}
