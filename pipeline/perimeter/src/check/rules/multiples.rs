//! `multipleOf`, exactly: never by a division of floats.
use perimeter_contract::schema::Decimal;
use std::fmt::Write as _;

/// What divides an unscaled value of this scale if and only if the value is a multiple; `None` for a multiple of nothing.
pub(super) fn divisor(multiple: &Decimal, scale: u8) -> Option<u128> {
    divide(multiple.unscaled.unsigned_abs(), i32::from(scale) - i32::from(multiple.scale))
}

/// `multiple * 10^power` of a whole number's unit, in lowest terms against that unit.
fn divide(multiple: u128, power: i32) -> Option<u128> {
    if multiple == 0 {
        return None;
    }
    if power >= 0 {
        // Beyond 128 bits nothing but zero is a multiple.
        let power = 10u128.checked_pow(power.unsigned_abs());
        return Some(power.and_then(|power| multiple.checked_mul(power)).unwrap_or(u128::MAX));
    }
    // `v * 10^n` is a multiple of `m` exactly when `v` is one of `m / gcd(m, 10^n)`.
    let strip = |value: u128, prime: u128| {
        (0..power.unsigned_abs()).try_fold(value, |v, _| if v.is_multiple_of(prime) { Ok(v / prime) } else { Err(v) }).unwrap_or_else(|v| v)
    };
    Some(strip(strip(multiple, 2), 5))
}

/// `multipleOf` of a float column. A float stands for the shortest decimal that reads back as it (0.3, not 0.299999999999999988897769753748), which is what a text file
/// holds; that decimal is a multiple or not.
#[derive(Clone, Debug)]
pub(in crate::check) struct FloatMultiple {
    unscaled: u128,
    scale: u8,
}

impl FloatMultiple {
    pub(super) fn new(multiple: &Decimal) -> Option<Self> {
        (multiple.unscaled != 0).then(|| Self { unscaled: multiple.unscaled.unsigned_abs(), scale: multiple.scale })
    }

    pub(super) fn divides(&self, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        let mut text = Digits { bytes: [0; 32], length: 0 };
        if write!(text, "{:e}", value.abs()).is_err() {
            return false;
        }
        let written = text.bytes.get(..text.length).unwrap_or_default();
        let Some(at) = written.iter().position(|b| *b == b'e') else { return false };
        let (mut digits, mut fraction, mut point) = (0u128, 0i32, false);
        for byte in written.get(..at).unwrap_or_default() {
            if *byte == b'.' {
                point = true;
            } else {
                // Seventeen digits at most.
                digits = digits * 10 + u128::from(byte.wrapping_sub(b'0'));
                fraction += i32::from(point);
            }
        }
        let exponent = written.get(at + 1..).and_then(|e| std::str::from_utf8(e).ok()).and_then(|e| e.parse::<i32>().ok());
        let Some(exponent) = exponent else { return false };
        // The value is `digits * 10^(exponent - fraction)`.
        divide(self.unscaled, fraction - exponent - i32::from(self.scale)).is_some_and(|divisor| digits % divisor == 0)
    }
}

/// A number as text, on the stack.
struct Digits {
    bytes: [u8; 32],
    length: usize,
}

impl std::fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(unscaled: i128, scale: u8) -> Decimal {
        Decimal { unscaled, scale }
    }

    #[test]
    fn decimals_of_any_scale_are_multiples_or_not() {
        // 0.05 of scale 2, 3 and 1; 2.50 of scale 0; 100 of scale 0 and 2.
        for (multiple, scale, divisor_of_value) in [
            (decimal(5, 2), 2, 5),
            (decimal(5, 2), 3, 50),
            (decimal(5, 2), 1, 1),
            (decimal(250, 2), 0, 5),
            (decimal(100, 0), 0, 100),
            (decimal(1, 0), 2, 100),
            (decimal(-3, 0), 0, 3),
            (decimal(15, 1), 0, 3),
        ] {
            assert_eq!(divisor(&multiple, scale), Some(divisor_of_value), "{multiple:?} at scale {scale}");
        }
        assert_eq!(divisor(&decimal(0, 0), 2), None);
        assert_eq!(divisor(&decimal(i128::MAX, 0), 38), Some(u128::MAX), "nothing but zero");
        assert_eq!(divisor(&decimal(1, 200), 0), Some(1));
    }

    #[test]
    fn floats_stand_for_what_was_written() {
        let tenth = FloatMultiple::new(&decimal(1, 1)).unwrap();
        for value in [0.3, 0.1, 0.7, -0.7, 1.1, 0.0, -0.0, 1e300, 123_456.7] {
            assert!(tenth.divides(value), "{value}");
        }
        for value in [0.25, 1e-300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.1 + 0.2, f64::MIN_POSITIVE, 5e-324] {
            assert!(!tenth.divides(value), "{value}");
        }
        assert!(FloatMultiple::new(&decimal(25, 2)).unwrap().divides(1e22));
        assert!(!FloatMultiple::new(&decimal(3, 0)).unwrap().divides(1e22));
    }
}
