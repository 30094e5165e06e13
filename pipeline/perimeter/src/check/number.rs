//! Numbers as text writes them, read exactly and without allocating.

/// Sign and magnitude of a number cell: `-12`, `$-12`, `-$12`, `$12`. A leading `+`, a second sign and white space are no number.
fn unsigned<'a>(cell: &'a [u8], prefix: Option<&[u8]>) -> (bool, &'a [u8]) {
    let minus = |cell: &'a [u8]| cell.strip_prefix(b"-").map_or((false, cell), |rest| (true, rest));
    let Some(prefix) = prefix else { return minus(cell) };
    match cell.strip_prefix(prefix) {
        Some(rest) => minus(rest),
        None => match minus(cell) {
            (true, rest) => (true, rest.strip_prefix(prefix).unwrap_or(rest)),
            positive => positive,
        },
    }
}

/// A whole number. Leading zeros are allowed (mainframe extracts pad with them).
pub(super) fn int64(cell: &[u8], prefix: Option<&[u8]>) -> Option<i64> {
    let (negative, digits) = unsigned(cell, prefix);
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    // Eighteen digits always fit.
    let (safe, rest) = digits.split_at(digits.len().min(18));
    for byte in safe {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    if negative {
        value = -value;
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        let digit = i64::from(digit);
        value = value.checked_mul(10)?.checked_add(if negative { -digit } else { digit })?;
    }
    Some(value)
}

/// The largest magnitude of a precision.
fn limit(precision: u8) -> Option<u128> {
    10u128.checked_pow(u32::from(precision))
}

/// A decimal, unscaled. More digits than declared, on either side of the point, make it no value of the type. `exponent`: JSON numbers may have one.
pub(super) fn decimal(cell: &[u8], prefix: Option<&[u8]>, precision: u8, scale: u8, exponent: bool) -> Option<i128> {
    let (negative, mut digits) = unsigned(cell, prefix);
    let mut shift: i64 = 0;
    if exponent && let Some(at) = digits.iter().position(|b| matches!(b, b'e' | b'E')) {
        shift = self::exponent(digits.get(at + 1..)?)?;
        digits = digits.get(..at)?;
    }
    let magnitude = if shift == 0 { plain(digits, scale)? } else { shifted(digits, scale, shift)? };
    if magnitude >= limit(precision)? {
        return None;
    }
    let magnitude = i128::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// `digits[.digits]` or `.digits`, with at most `scale` digits after the point.
fn plain(digits: &[u8], scale: u8) -> Option<u128> {
    // Up to eighteen digits stay in a machine word.
    let mut word: u64 = 0;
    let mut wide: Option<u128> = None;
    let mut seen = 0usize;
    let mut fraction: Option<u8> = None;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            if byte == b'.' && fraction.is_none() {
                fraction = Some(0);
                continue;
            }
            return None;
        }
        if let Some(count) = &mut fraction {
            *count = count.checked_add(1)?;
            if *count > scale {
                return None;
            }
        }
        seen += 1;
        match &mut wide {
            None if word < 100_000_000_000_000_000 => word = word * 10 + u64::from(digit),
            None => wide = Some(u128::from(word) * 10 + u128::from(digit)),
            Some(value) => *value = value.checked_mul(10)?.checked_add(u128::from(digit))?,
        }
    }
    if seen == 0 || fraction == Some(0) {
        return None;
    }
    let missing = scale.checked_sub(fraction.unwrap_or(0))?;
    match wide {
        None if missing == 0 => Some(u128::from(word)),
        wide => wide.unwrap_or(u128::from(word)).checked_mul(limit(missing)?),
    }
}

/// A mantissa with an exponent, exactly or not at all.
fn shifted(digits: &[u8], scale: u8, shift: i64) -> Option<u128> {
    let mut value: u128 = 0;
    let mut fraction: i64 = 0;
    let mut point = false;
    for &byte in digits {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
                fraction += i64::from(point);
            }
            _ => return None,
        }
    }
    let mut power = i64::from(scale).checked_add(shift)?.checked_sub(fraction)?;
    if value == 0 {
        return Some(0);
    }
    while power < 0 {
        if !value.is_multiple_of(10) {
            return None;
        }
        value /= 10;
        power += 1;
    }
    value.checked_mul(limit(u8::try_from(power).ok()?)?)
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = int64(digits, None).filter(|v| (0..=1000).contains(v))?;
    Some(if negative { -value } else { value })
}

/// A binary64, from decimal notation with an optional exponent. What is too large for one, infinities and NaN are no values.
pub(super) fn float64(cell: &[u8], prefix: Option<&[u8]>) -> Option<f64> {
    let (negative, text) = unsigned(cell, prefix);
    if !text.first()?.is_ascii_digit() && text.first() != Some(&b'.') {
        return None;
    }
    if !text.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+')) || text.last() == Some(&b'.') {
        return None;
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(if negative { -value } else { value })
}

/// `true` or `false` in any case, and nothing else.
pub(super) fn boolean(cell: &[u8]) -> Option<bool> {
    if cell.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}
