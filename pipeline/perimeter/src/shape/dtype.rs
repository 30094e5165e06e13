//! Numbers as the types of accelerators, in little-endian bytes.
//!
//! [`Dtype::append_floats`], [`append_doubles`](Dtype::append_doubles), [`append_ints`](Dtype::append_ints) and [`append_array`](Dtype::append_array) convert
//! a column at a time. A value that the type cannot hold is refused, with its row: nothing wraps, nothing becomes infinite, and a fraction never becomes an
//! integer. Rounding is to nearest, ties to even, bit for bit as numpy and `ml_dtypes` do it: bfloat16 is the rounded *float32* of a value (theirs is too),
//! float16 comes of a float64 in one step. Infinities and NaN pass into float types; a NaN becomes the quiet one of its sign.
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Dtype {
    /// Signed 32 bit.
    Int32,
    /// Signed 64 bit.
    Int64,
    /// IEEE 754 binary32.
    Float32,
    /// The upper half of a binary32.
    Bfloat16,
    /// IEEE 754 binary16.
    Float16,
    /// Unsigned 8 bit.
    Uint8,
    /// One byte, 0 or 1.
    Bool,
}

/// A value that a type cannot hold: where it is, not what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: {reason}")]
pub struct Refused {
    /// From 0, in what was appended.
    pub row: usize,
    /// Why.
    pub reason: Reason,
}

/// Why a value is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Beyond the type's range; for `bool`, neither 0 nor 1.
    #[error("a value is out of the type's range")]
    OutOfRange,
    /// A fraction, an infinity or NaN for an integer type.
    #[error("a value is no whole number")]
    NotWhole,
    /// A null: fill it first.
    #[error("a value is null")]
    Null,
    /// The column holds no numbers.
    #[error("the column holds no numbers")]
    NotNumeric,
}

impl Dtype {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Int32, Self::Int64, Self::Float32, Self::Bfloat16, Self::Float16, Self::Uint8, Self::Bool];

    /// That of a job file; `None` for bytes.
    pub fn of(dtype: perimeter_contract::job::Dtype) -> Option<Self> {
        use perimeter_contract::job::Dtype as Named;
        Some(match dtype {
            Named::Int32 => Self::Int32,
            Named::Int64 => Self::Int64,
            Named::Float32 => Self::Float32,
            Named::Bfloat16 => Self::Bfloat16,
            Named::Float16 => Self::Float16,
            Named::Uint8 => Self::Uint8,
            Named::Bool => Self::Bool,
            Named::Bytes => return None,
        })
    }

    /// Whether the integer is one of its values.
    pub fn holds(self, value: i64) -> bool {
        match self {
            Self::Int32 => i32::try_from(value).is_ok(),
            Self::Uint8 => u8::try_from(value).is_ok(),
            Self::Bool => matches!(value, 0 | 1),
            Self::Int64 | Self::Float32 | Self::Bfloat16 | Self::Float16 => true,
        }
    }

    /// As numpy, TensorFlow and job files name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float32 => "float32",
            Self::Bfloat16 => "bfloat16",
            Self::Float16 => "float16",
            Self::Uint8 => "uint8",
            Self::Bool => "bool",
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Self::Int64 => 8,
            Self::Int32 | Self::Float32 => 4,
            Self::Bfloat16 | Self::Float16 => 2,
            Self::Uint8 | Self::Bool => 1,
        }
    }

    /// Whether it holds fractions.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Bfloat16 | Self::Float16)
    }

    /// Appends float32 values.
    ///
    /// # Errors
    /// [`Refused`], with `out` as it was before.
    pub fn append_floats(self, values: &[f32], out: &mut Vec<u8>) -> Result<(), Refused> {
        match self {
            Self::Float32 => append(values, out, |value| Ok(value.to_bits().to_le_bytes())),
            Self::Bfloat16 => append(values, out, |value| finite(bfloat16_bits(value), 0x7f80, value.is_finite())),
            _ => self.append_from(values, out, f64::from),
        }
    }

    /// Appends float64 values.
    ///
    /// # Errors
    /// [`Refused`], with `out` as it was before.
    pub fn append_doubles(self, values: &[f64], out: &mut Vec<u8>) -> Result<(), Refused> {
        self.append_from(values, out, |value| value)
    }

    /// Appends integers.
    ///
    /// # Errors
    /// [`Refused`], with `out` as it was before.
    pub fn append_ints(self, values: &[i64], out: &mut Vec<u8>) -> Result<(), Refused> {
        match self {
            Self::Int64 => append(values, out, |value| Ok(value.to_le_bytes())),
            Self::Int32 => append(values, out, |value| Ok(i32::try_from(value).map_err(|_| Reason::OutOfRange)?.to_le_bytes())),
            Self::Uint8 => append(values, out, |value| Ok([u8::try_from(value).map_err(|_| Reason::OutOfRange)?])),
            Self::Bool => append(values, out, |value| Ok([truth(value)?])),
            #[expect(clippy::cast_precision_loss, reason = "rounding to float32 is what the feature asks for")]
            Self::Float32 => append(values, out, |value| Ok((value as f32).to_le_bytes())),
            #[expect(clippy::cast_precision_loss, reason = "rounding to float32 is what the feature asks for")]
            Self::Bfloat16 => append(values, out, |value| Ok(bfloat16_bits(value as f32).to_le_bytes())),
            // What is not exact as a double is far beyond binary16.
            #[expect(clippy::cast_precision_loss, reason = "out of range by then")]
            Self::Float16 => append(values, out, |value| finite(float16_bits(value as f64), 0x7c00, true)),
        }
    }

    /// Appends a column of integers, floats or booleans without nulls.
    ///
    /// # Errors
    /// [`Refused`], with `out` as it was before.
    pub fn append_array(self, array: &ArrayRef, out: &mut Vec<u8>) -> Result<(), Refused> {
        if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
            let row = (0..nulls.len()).find(|&row| nulls.is_null(row)).unwrap_or_default();
            return Err(Refused { row, reason: Reason::Null });
        }
        match array.data_type() {
            DataType::Boolean => self.append_ints(&array.as_boolean().values().iter().map(i64::from).collect::<Vec<_>>(), out),
            DataType::Int8 => self.append_ints(&wide::<Int8Type>(array), out),
            DataType::Int16 => self.append_ints(&wide::<Int16Type>(array), out),
            DataType::Int32 => self.append_ints(&wide::<Int32Type>(array), out),
            DataType::Int64 => self.append_ints(array.as_primitive::<Int64Type>().values(), out),
            DataType::UInt8 => self.append_ints(&wide::<UInt8Type>(array), out),
            DataType::UInt16 => self.append_ints(&wide::<UInt16Type>(array), out),
            DataType::UInt32 => self.append_ints(&wide::<UInt32Type>(array), out),
            DataType::UInt64 => {
                let values = array.as_primitive::<UInt64Type>().values();
                let signed = values.iter().map(|&value| i64::try_from(value)).collect::<Result<Vec<i64>, _>>();
                let beyond = || values.iter().position(|&value| i64::try_from(value).is_err()).unwrap_or_default();
                self.append_ints(&signed.map_err(|_| Refused { row: beyond(), reason: Reason::OutOfRange })?, out)
            }
            DataType::Float16 => self.append_from(array.as_primitive::<Float16Type>().values(), out, f64::from),
            DataType::Float32 => self.append_floats(array.as_primitive::<Float32Type>().values(), out),
            DataType::Float64 => self.append_doubles(array.as_primitive::<Float64Type>().values(), out),
            _ => Err(Refused { row: 0, reason: Reason::NotNumeric }),
        }
    }

    /// Appends values that are exact as doubles.
    fn append_from<T: Copy>(self, values: &[T], out: &mut Vec<u8>, double: impl Fn(T) -> f64) -> Result<(), Refused> {
        match self {
            Self::Int64 => append(values, out, |value| Ok(whole(double(value))?.to_le_bytes())),
            Self::Int32 => append(values, out, |value| Ok(i32::try_from(whole(double(value))?).map_err(|_| Reason::OutOfRange)?.to_le_bytes())),
            Self::Uint8 => append(values, out, |value| Ok([u8::try_from(whole(double(value))?).map_err(|_| Reason::OutOfRange)?])),
            Self::Bool => append(values, out, |value| Ok([truth(whole(double(value))?)?])),
            Self::Float32 => append(values, out, |value| {
                let value = double(value);
                let narrow = super::layout::narrow(value);
                if narrow.is_infinite() && value.is_finite() { Err(Reason::OutOfRange) } else { Ok(narrow.to_le_bytes()) }
            }),
            Self::Bfloat16 => append(values, out, |value| {
                let value = double(value);
                finite(bfloat16_bits(super::layout::narrow(value)), 0x7f80, value.is_finite())
            }),
            Self::Float16 => append(values, out, |value| finite(float16_bits(double(value)), 0x7c00, double(value).is_finite())),
        }
    }
}

/// One loop for each type: `bytes` of every value, or none.
fn append<T: Copy, const N: usize>(values: &[T], out: &mut Vec<u8>, bytes: impl Fn(T) -> Result<[u8; N], Reason>) -> Result<(), Refused> {
    let start = out.len();
    out.reserve(values.len().saturating_mul(N));
    for (row, &value) in values.iter().enumerate() {
        match bytes(value) {
            Ok(bytes) => out.extend_from_slice(&bytes),
            Err(reason) => {
                out.truncate(start);
                return Err(Refused { row, reason });
            }
        }
    }
    Ok(())
}

fn wide<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<i64>
where
    T::Native: Into<i64>,
{
    array.as_primitive::<T>().values().iter().map(|&value| value.into()).collect()
}

/// Refuses what was finite and is `infinity` now.
fn finite(bits: u16, infinity: u16, was_finite: bool) -> Result<[u8; 2], Reason> {
    if was_finite && bits & 0x7fff == infinity { Err(Reason::OutOfRange) } else { Ok(bits.to_le_bytes()) }
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
fn whole(value: f64) -> Result<i64, Reason> {
    // NaN and infinities have no fraction of 0.
    if value.fract() != 0.0 || !value.is_finite() {
        return Err(Reason::NotWhole);
    }
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) { Ok(value as i64) } else { Err(Reason::OutOfRange) }
}

fn truth(value: i64) -> Result<u8, Reason> {
    match value {
        0 => Ok(0),
        1 => Ok(1),
        _ => Err(Reason::OutOfRange),
    }
}

/// The bfloat16 nearest to a float32, ties to even; beyond the largest, infinity. A NaN becomes the quiet NaN of its sign without payload, as in `ml_dtypes`.
pub fn bfloat16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let upper = (bits >> 16) as u16;
    if value.is_nan() {
        return (upper & 0x8000) | 0x7fc0;
    }
    // Half of the last place rounds up, less one when the last place is even. Infinity has no lower half; the largest float32 carries into it.
    ((bits + 0x7fff + u32::from(upper & 1)) >> 16) as u16
}

/// The float16 nearest to a float64, ties to even; beyond the largest, infinity. A NaN becomes the quiet NaN of its sign without payload.
#[expect(clippy::cast_possible_truncation, reason = "shifted to 15 bits")]
pub fn float16_bits(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    if value.is_nan() {
        return sign | 0x7e00;
    }
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    if exponent > 15 {
        return sign | 0x7c00;
    }
    // 2^-25 is half of the smallest subnormal: a tie, and even is 0.
    if exponent < -25 {
        return sign;
    }
    let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
    // Ten bits of fraction stay; below 2^-14 fewer. There the leading one is part of the fraction, above it raises the exponent field by one.
    let subnormal = (-14 - exponent).max(0).cast_unsigned();
    let shift = 42 + subnormal;
    let field = (exponent + 14).max(0).cast_unsigned();
    let kept = (u64::from(field) << 10) + (significand >> shift);
    let rest = significand & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    sign | (kept + u64::from(up)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, Float16Array, Float64Array, Int32Array, StringArray, UInt64Array};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// The value of a finite bfloat16, by the definition of its fields; `exponent` 255 stands for the number after the largest.
    fn bfloat16_value(bits: u16) -> f64 {
        let (exponent, fraction) = (i32::from(bits >> 7 & 0xff), f64::from(bits & 0x7f));
        let magnitude = if exponent == 0 { fraction * 2_f64.powi(-133) } else { (128.0 + fraction) * 2_f64.powi(exponent - 134) };
        if bits & 0x8000 == 0 { magnitude } else { -magnitude }
    }

    fn float16_value(bits: u16) -> f64 {
        let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
        let magnitude = if exponent == 0 { fraction * 2_f64.powi(-24) } else { (1024.0 + fraction) * 2_f64.powi(exponent - 25) };
        if bits & 0x8000 == 0 { magnitude } else { -magnitude }
    }

    fn next_up(value: f32) -> f32 {
        f32::from_bits(value.to_bits() + 1)
    }

    /// Every bfloat16, and the float32 at, just below and just above the middle to its neighbour.
    #[test]
    fn every_bfloat16_and_every_halfway_case() {
        for bits in 0..=u16::MAX {
            let float = f32::from_bits(u32::from(bits) << 16);
            if float.is_nan() {
                assert_eq!(bfloat16_bits(float), bits & 0x8000 | 0x7fc0);
                assert!(half::bf16::from_bits(bfloat16_bits(float)).is_nan());
                continue;
            }
            assert_eq!(bfloat16_bits(float), bits, "exact");
            if float.is_infinite() {
                continue;
            }
            assert_eq!(f64::from(float), bfloat16_value(bits));
            // Magnitudes ascend with the bits, so the neighbour away from zero is bits + 1; for the largest that is infinity.
            let middle = (bfloat16_value(bits) + bfloat16_value(bits + 1)) / 2.0;
            let halfway = middle as f32;
            assert_eq!(f64::from(halfway), middle, "the middle is a float32");
            let even = bits + (bits & 1);
            assert_eq!(bfloat16_bits(halfway), even, "{bits:04x}");
            assert_eq!(bfloat16_bits(f32::from_bits(halfway.to_bits() - 1)), bits, "{bits:04x}");
            assert_eq!(bfloat16_bits(next_up(halfway)), bits + 1, "{bits:04x}");
        }
    }

    /// The same for float16, from doubles: one unit in the last place of a double decides.
    #[test]
    fn every_float16_and_every_halfway_case() {
        for bits in 0..=u16::MAX {
            if bits & 0x7c00 == 0x7c00 {
                let special = f64::from(half::f16::from_bits(bits));
                let expected = if special.is_nan() { bits & 0x8000 | 0x7e00 } else { bits };
                assert_eq!(float16_bits(special), expected);
                continue;
            }
            let value = float16_value(bits);
            assert_eq!(float16_bits(value), bits, "exact");
            assert_eq!(value, f64::from(half::f16::from_bits(bits)));
            let middle = (value + float16_value(bits + 1)) / 2.0;
            assert_eq!(float16_bits(middle), bits + (bits & 1), "{bits:04x}");
            assert_eq!(float16_bits(f64::from_bits(middle.to_bits() - 1)), bits, "{bits:04x}");
            assert_eq!(float16_bits(f64::from_bits(middle.to_bits() + 1)), bits + 1, "{bits:04x}");
        }
    }

    proptest! {
        #[test]
        fn floats_agree_with_the_half_crate(bits in any::<u32>()) {
            let float = f32::from_bits(bits);
            prop_assume!(!float.is_nan());
            prop_assert_eq!(bfloat16_bits(float), half::bf16::from_f32(float).to_bits());
            prop_assert_eq!(float16_bits(f64::from(float)), half::f16::from_f32(float).to_bits());
        }

        /// Against 128-bit arithmetic over all dtypes: what fits is there, what does not is refused.
        #[test]
        fn integers_fit_or_are_refused(value in prop_oneof![any::<i64>(), -300_i64..300, 65_000_i64..66_000, i64::from(i32::MIN) - 3..i64::from(i32::MIN) + 3]) {
            for dtype in Dtype::ALL {
                let mut out = vec![7];
                let result = dtype.append_ints(&[0, value], &mut out);
                let fits = match dtype {
                    Dtype::Int32 => i32::try_from(value).is_ok(),
                    Dtype::Uint8 => (0..256).contains(&value),
                    Dtype::Bool => value == 0 || value == 1,
                    // 65,520 is the middle between the largest, which is odd, and what would come next.
                    Dtype::Float16 => value.unsigned_abs() < 65_520,
                    Dtype::Int64 | Dtype::Float32 | Dtype::Bfloat16 => true,
                };
                if fits {
                    prop_assert!(result.is_ok() && out.len() == 1 + 2 * dtype.bytes());
                } else {
                    prop_assert_eq!(result, Err(Refused { row: 1, reason: Reason::OutOfRange }));
                    prop_assert_eq!(&out, &[7]);
                }
                // As a double, where that is exact, the same.
                if value.unsigned_abs() < 1 << 53 {
                    let mut doubles = vec![7];
                    prop_assert_eq!(dtype.append_doubles(&[0.0, value as f64], &mut doubles), result);
                    prop_assert_eq!(doubles, out);
                }
            }
        }
    }

    #[test]
    fn overflow_and_fractions_are_refused() {
        let refused = |dtype: Dtype, value: f64| dtype.append_doubles(&[value], &mut Vec::new()).err().map(|refused| refused.reason);
        let bfloat16_max = bfloat16_value(0x7f7f);
        assert_eq!(refused(Dtype::Bfloat16, bfloat16_max), None);
        assert_eq!(refused(Dtype::Bfloat16, f64::from(f32::MAX)), Some(Reason::OutOfRange));
        assert_eq!(refused(Dtype::Bfloat16, 1e300), Some(Reason::OutOfRange));
        assert_eq!(Dtype::Bfloat16.append_floats(&[f32::MIN], &mut Vec::new()).unwrap_err().reason, Reason::OutOfRange);
        assert_eq!(refused(Dtype::Float32, 1e39), Some(Reason::OutOfRange));
        assert_eq!(refused(Dtype::Float16, 65_519.99), None);
        assert_eq!(refused(Dtype::Float16, -65_520.0), Some(Reason::OutOfRange));
        for dtype in [Dtype::Int32, Dtype::Int64, Dtype::Uint8, Dtype::Bool] {
            for value in [0.5, f64::NAN, f64::INFINITY, 1e-300] {
                assert_eq!(refused(dtype, value), Some(Reason::NotWhole));
            }
            assert_eq!(refused(dtype, 1e300), Some(Reason::OutOfRange));
        }
        assert_eq!(refused(Dtype::Int64, 9_223_372_036_854_775_808.0), Some(Reason::OutOfRange));
        assert_eq!(refused(Dtype::Int64, -9_223_372_036_854_775_808.0), None);
        assert_eq!(refused(Dtype::Uint8, -1.0), Some(Reason::OutOfRange));
    }

    #[test]
    fn specials_pass_into_floats() {
        let mut out = Vec::new();
        let specials = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, -0.0];
        Dtype::Bfloat16.append_floats(&specials, &mut out).unwrap();
        Dtype::Float16.append_floats(&specials, &mut out).unwrap();
        let words: Vec<u16> = out.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        assert_eq!(words, [0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x8000]);
    }

    #[test]
    fn arrow_columns() {
        let bytes = |dtype: Dtype, array: ArrayRef| {
            let mut out = Vec::new();
            dtype.append_array(&array, &mut out).map(|()| out)
        };
        assert_eq!(bytes(Dtype::Int32, Arc::new(Int32Array::from(vec![1, -2]))), Ok(vec![1, 0, 0, 0, 254, 255, 255, 255]));
        assert_eq!(bytes(Dtype::Uint8, Arc::new(BooleanArray::from(vec![true, false]))), Ok(vec![1, 0]));
        assert_eq!(bytes(Dtype::Bool, Arc::new(Float64Array::from(vec![1.0, 0.0]))), Ok(vec![1, 0]));
        assert_eq!(bytes(Dtype::Float16, Arc::new(Float16Array::from(vec![half::f16::from_bits(0x1234)]))), Ok(vec![0x34, 0x12]));
        assert_eq!(bytes(Dtype::Int64, Arc::new(Int32Array::from(vec![Some(1), None]))), Err(Refused { row: 1, reason: Reason::Null }));
        assert_eq!(bytes(Dtype::Int64, Arc::new(UInt64Array::from(vec![1, u64::MAX]))), Err(Refused { row: 1, reason: Reason::OutOfRange }));
        assert_eq!(bytes(Dtype::Int64, Arc::new(StringArray::from(vec!["1"]))), Err(Refused { row: 0, reason: Reason::NotNumeric }));
        assert!(!Refused { row: 3, reason: Reason::OutOfRange }.to_string().contains("65520"));
    }

    #[test]
    fn names_are_those_of_numpy() {
        assert_eq!(Dtype::ALL.map(Dtype::name), ["int32", "int64", "float32", "bfloat16", "float16", "uint8", "bool"]);
        for dtype in Dtype::ALL {
            assert_eq!(serde_json::to_string(&dtype).unwrap(), format!("\"{}\"", dtype.name()));
        }
    }

    /// The digests in `tests/interop/check_dtypes.py`, which hashes what ml_dtypes and numpy make of the same inputs.
    #[test]
    fn digests_that_ml_dtypes_gives() {
        use sha2::{Digest, Sha256};
        let lower = [0x0000, 0x0001, 0x7fff, 0x8000, 0x8001, 0xffff];
        let floats: Vec<f32> = (0..=0xffff_u32).flat_map(|upper| lower.map(|lower| f32::from_bits(upper << 16 | lower))).collect();
        let finite = floats.iter().filter(|float| float.is_finite() && **float != 0.0).map(|&float| f64::from(float).to_bits());
        let doubles: Vec<f64> = finite.flat_map(|bits| [bits - 1, bits, bits + 1].map(f64::from_bits)).collect();
        let powers = (0..63).flat_map(|step| (-3..4).map(move |more| (1_i64 << step) + more));
        let middles = (0..54).flat_map(|step| (-1..2).map(move |more| (0x181_i64 << step) + more));
        let ints: Vec<i64> = powers.chain(middles).collect();
        let ints: Vec<i64> = ints.iter().copied().chain(ints.iter().map(|int| -int)).collect();
        let digest = |words: Vec<u16>| hex::encode(Sha256::digest(words.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()));
        let bfloat16 = |values: &[f64]| values.iter().map(|&value| bfloat16_bits(value as f32)).collect::<Vec<_>>();
        assert_eq!(digest(floats.iter().map(|&float| bfloat16_bits(float)).collect()), "6cf8143dd41834d44febab198c7e0b943cd126485e25efc4045013a4a226738f");
        assert_eq!(digest(bfloat16(&doubles)), "2a05dad98c5b630282ef2390721bdfedec7ed87aabbbfecec7f97209e91527a6");
        assert_eq!(digest(doubles.iter().map(|&double| float16_bits(double)).collect()), "86433b03f624d2441008f421b183c5a3bf637f11ca8abad90b04b1dad5da523f");
        let mut bytes = Vec::new();
        Dtype::Bfloat16.append_ints(&ints, &mut bytes).unwrap();
        assert_eq!(hex::encode(Sha256::digest(&bytes)), "ee0849b0d3dabed0d17260dc6e5c2a8e56def941cc2e023475ab6d41c5e92fd2");
    }
}
