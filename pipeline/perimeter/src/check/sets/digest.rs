//! Keyed digests of rows: HighwayHash-128 (Alakuijala, Cox and Wassenberg 2016, arXiv:1612.06257).
//!
//! What is hashed is the group's number, then of each column a tag of its kind and its value, text with its length in front, so that `("a", "bc")` is not `("ab", "c")`.
//! Values count, not how they are written down: `1`, `1.0` of any decimal type and the integer 1 are one number; zero and negative zero are one float, and so are all
//! NaNs. Texts are compared byte by byte.
use crate::error::{Culprit, Failure, Result};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, PrimitiveArray, StringArray};
use arrow::datatypes::{DataType as ArrowType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType};
use highway::{HighwayHash, HighwayHasher, Key};
use perimeter_contract::schema::{DataType, Zone};
use rand::TryRngCore;
use zeroize::Zeroizing;

/// What values of a column can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Number,
    Float,
    Boolean,
    Date,
    Time,
    /// Of the wall clock.
    Local,
    Instant,
}

impl Kind {
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::String => Self::Text,
            DataType::Int32 | DataType::Int64 | DataType::Decimal { .. } => Self::Number,
            DataType::Float64 => Self::Float,
            DataType::Boolean => Self::Boolean,
            DataType::Date { .. } => Self::Date,
            DataType::Time { .. } => Self::Time,
            DataType::Timestamp { zone: Zone::None, .. } => Self::Local,
            DataType::Timestamp { zone: Zone::Utc { .. }, .. } => Self::Instant,
            DataType::List(_) => return None,
        })
    }

    /// Whether one value can be before another.
    pub(super) fn is_ordered(self) -> bool {
        !matches!(self, Self::Text | Self::Boolean)
    }
}

/// The run's key. It lives in this process and is never written down.
pub struct DigestKey {
    digests: Zeroizing<[u64; 4]>,
    pads: Zeroizing<[u64; 4]>,
}

impl std::fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DigestKey([secret])")
    }
}

impl DigestKey {
    /// A fresh one.
    ///
    /// # Errors
    /// Exit 3: no randomness.
    pub fn random() -> Result<Self> {
        let words = || -> Result<_> {
            let mut words = Zeroizing::new([0; 4]);
            for word in words.iter_mut() {
                *word = rand::rngs::OsRng.try_next_u64().map_err(|_| Failure::new(Culprit::Outside, "no-randomness", "the system gives no random numbers"))?;
            }
            Ok(words)
        };
        Ok(Self { digests: words()?, pads: words()? })
    }

    pub(super) fn digest(&self, bytes: &[u8]) -> u128 {
        let [low, high] = HighwayHasher::new(Key(*self.digests)).hash128(bytes);
        u128::from(high) << 64 | u128::from(low)
    }

    /// What a value is hidden under while it is sorted: a pad that only this origin has.
    pub(super) fn pad(&self, group: u32, file: u32, record: u64) -> u128 {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&group.to_le_bytes());
        bytes[4..8].copy_from_slice(&file.to_le_bytes());
        bytes[8..].copy_from_slice(&record.to_le_bytes());
        let [low, high] = HighwayHasher::new(Key(*self.pads)).hash128(&bytes);
        u128::from(high) << 64 | u128::from(low)
    }
}

/// One column of a batch.
pub(super) enum Cells<'a> {
    Text(&'a StringArray),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    /// With 10 to the scale, and 10 to what is missing of 38 digits after the point.
    Decimal(&'a Decimal128Array, i128, u128),
    Float(&'a PrimitiveArray<Float64Type>),
    Boolean(&'a BooleanArray),
    Date(&'a PrimitiveArray<Date32Type>),
    Time(&'a PrimitiveArray<Time64MicrosecondType>),
    Local(&'a PrimitiveArray<TimestampMicrosecondType>),
    Instant(&'a PrimitiveArray<TimestampMicrosecondType>),
}

impl<'a> Cells<'a> {
    pub(super) fn of(array: &'a ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            ArrowType::Utf8 => Self::Text(array.as_string_opt()?),
            ArrowType::Int32 => Self::Int32(array.as_primitive_opt()?),
            ArrowType::Int64 => Self::Int64(array.as_primitive_opt()?),
            ArrowType::Decimal128(_, scale) => {
                let scale = u32::try_from(*scale).ok()?;
                Self::Decimal(array.as_primitive_opt::<Decimal128Type>()?, 10i128.checked_pow(scale)?, 10u128.checked_pow(38u32.checked_sub(scale)?)?)
            }
            ArrowType::Float64 => Self::Float(array.as_primitive_opt()?),
            ArrowType::Boolean => Self::Boolean(array.as_boolean_opt()?),
            ArrowType::Date32 => Self::Date(array.as_primitive_opt()?),
            ArrowType::Time64(_) => Self::Time(array.as_primitive_opt()?),
            ArrowType::Timestamp(_, None) => Self::Local(array.as_primitive_opt()?),
            ArrowType::Timestamp(_, Some(_)) => Self::Instant(array.as_primitive_opt()?),
            _ => return None,
        })
    }

    /// Appends what stands for a cell that is not there: a kind that no value has.
    pub(super) fn put_null(out: &mut Vec<u8>) {
        out.push(0);
    }

    /// Appends kind and value of a cell that is there.
    pub(super) fn put(&self, row: usize, out: &mut Vec<u8>) {
        let mut number = |whole: i128, fraction: u128| {
            out.push(2);
            out.extend_from_slice(&whole.to_le_bytes());
            out.extend_from_slice(&fraction.to_le_bytes());
        };
        match self {
            Self::Text(array) => {
                let value = array.value(row).as_bytes();
                out.push(1);
                out.extend_from_slice(&(value.len() as u64).to_le_bytes());
                out.extend_from_slice(value);
            }
            Self::Int32(array) => number(array.value(row).into(), 0),
            Self::Int64(array) => number(array.value(row).into(), 0),
            Self::Decimal(array, power, missing) => {
                let value = array.value(row);
                // Machine words divide ten times as fast.
                let (whole, fraction) = match (i64::try_from(value), i64::try_from(*power)) {
                    (Ok(value), Ok(power)) => (value.div_euclid(power).into(), value.rem_euclid(power).into()),
                    _ => (value.div_euclid(*power), value.rem_euclid(*power)),
                };
                // Below 10^scale, so below 10^38 in all.
                number(whole, fraction.unsigned_abs().wrapping_mul(*missing));
            }
            Self::Float(array) => {
                out.push(3);
                out.extend_from_slice(&super::super::rules::canonical(array.value(row)).to_bits().to_le_bytes());
            }
            Self::Boolean(array) => out.extend_from_slice(&[4, u8::from(array.value(row))]),
            Self::Date(array) => {
                out.push(5);
                out.extend_from_slice(&array.value(row).to_le_bytes());
            }
            Self::Time(array) => {
                out.push(6);
                out.extend_from_slice(&array.value(row).to_le_bytes());
            }
            Self::Local(array) => {
                out.push(7);
                out.extend_from_slice(&array.value(row).to_le_bytes());
            }
            Self::Instant(array) => {
                out.push(8);
                out.extend_from_slice(&array.value(row).to_le_bytes());
            }
        }
    }

    /// A number that is larger when the value is; none for what cannot be compared (NaN).
    pub(super) fn rank(&self, row: usize) -> Option<i128> {
        Some(match self {
            Self::Text(_) | Self::Boolean(_) => return None,
            Self::Int32(array) => array.value(row).into(),
            Self::Int64(array) => array.value(row).into(),
            Self::Decimal(array, ..) => array.value(row),
            Self::Float(array) => {
                let value = super::super::rules::canonical(array.value(row));
                if value.is_nan() {
                    return None;
                }
                let bits = value.to_bits().cast_signed();
                // Negative floats descend in their bits.
                i128::from(if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits })
            }
            Self::Date(array) => array.value(row).into(),
            Self::Time(array) => array.value(row).into(),
            Self::Local(array) | Self::Instant(array) => array.value(row).into(),
        })
    }
}
