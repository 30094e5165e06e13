//! Numbers as text writes them, read exactly and without allocating.
//!
//! What is a number, by default: `[sign] digits [. digits]` or `[sign] . digits`, a sign being `-` or `+`; leading zeros are allowed, since mainframe extracts pad
//! with them. Floats may have an exponent. A [`NumberStyle`] changes that as the job's `options` say:
//!
//! | option | then |
//! |---|---|
//! | `decimalPrefix: $` | `$12.50`, `$-12.50` and `-$12.50`, and all of them without the prefix |
//! | `decimalSeparator: ","` | `12,50`; a point is then no part of a number, unless it separates thousands |
//! | `thousandsSeparator` | `1.234,56` or `1234,56`: all groups or none, one digit to three and then three each, up to the decimal point. A decimal or float has no zeros in front then (`00`, `0.123,45`), since nobody who pads also groups. A space is any of U+0020, U+00A0 and U+202F, `'` also U+2019; one of them throughout |
//! | `impliedDecimals: 2` (fixed width) | `0001250` is 12.50; only digits and a sign |
//!
//! In fixed-width records a sign may also stand behind the digits (`1250-`). No number anywhere, on purpose: two signs, white space around or inside, brackets for
//! negatives (`(12.50)`), currency behind the digits, `12.`, `1_000`, digits of other scripts, NaN and infinities. They cost their row, and never become another
//! number. More digits than the contract declares, on either side of the point, are no value of the type either, even if they are zeros: nothing is ever rounded.
//! JSON's own numbers follow JSON's grammar and no style; strings in JSON follow the style.
use perimeter_contract::job::TextOptions;

/// How text writes numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberStyle {
    /// Dropped in front of numbers.
    prefix: Option<Vec<u8>>,
    /// `None`: a point.
    decimal: Option<u8>,
    thousands: Option<Thousands>,
    /// A sign may stand behind the digits.
    sign_behind: bool,
    /// So many of the last digits stand after a point that is not written.
    implied: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thousands {
    One(u8),
    /// U+0020, U+00A0, U+202F.
    Space,
    /// `'`, U+2019.
    Apostrophe,
}

impl Thousands {
    /// The separator that the bytes start with.
    fn strip(self, bytes: &[u8]) -> Option<&[u8]> {
        let any: &[&[u8]] = match self {
            Self::One(byte) => return bytes.first().filter(|b| **b == byte).and(bytes.get(..1)),
            Self::Space => &[b" ", "\u{a0}".as_bytes(), "\u{202f}".as_bytes()],
            Self::Apostrophe => &[b"'", "\u{2019}".as_bytes()],
        };
        any.iter().find(|separator| bytes.starts_with(separator)).copied()
    }
}

/// Longer numbers in a style of their own are none.
const LONGEST: usize = 256;

/// Characters of a number, brought to the default style.
struct Plain {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Plain {
    fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.length)? = byte;
        self.length += 1;
        Some(())
    }
}

impl NumberStyle {
    /// As a text source's options say.
    pub fn of(options: &TextOptions) -> Self {
        let thousands = options.thousands_separator.and_then(|separator| match separator {
            ' ' | '\u{a0}' | '\u{202f}' => Some(Thousands::Space),
            '\'' | '\u{2019}' => Some(Thousands::Apostrophe),
            other => u8::try_from(other).ok().filter(u8::is_ascii).map(Thousands::One),
        });
        Self {
            prefix: options.number_prefix.as_ref().filter(|p| !p.is_empty()).map(|p| p.as_bytes().to_vec()),
            decimal: Some(options.decimal_separator).filter(|b| *b != b'.'),
            thousands,
            sign_behind: false,
            implied: None,
        }
    }

    /// As a field of fixed-width records has it.
    #[must_use]
    pub fn fixed_width(self, implied_decimals: Option<u8>) -> Self {
        Self { sign_behind: true, implied: implied_decimals, ..self }
    }

    fn is_plain(&self) -> bool {
        self.decimal.is_none() && self.thousands.is_none() && !self.sign_behind && self.implied.is_none()
    }

    pub(super) fn int64(&self, cell: &[u8]) -> Option<i64> {
        if self.is_plain() {
            return int64(cell, self.prefix.as_deref());
        }
        let plain = self.plain(cell, true)?;
        int64(plain.bytes.get(..plain.length)?, None)
    }

    pub(super) fn decimal(&self, cell: &[u8], precision: u8, scale: u8) -> Option<i128> {
        if self.is_plain() {
            return decimal(cell, self.prefix.as_deref(), precision, scale, false);
        }
        let plain = self.plain(cell, false)?;
        decimal(plain.bytes.get(..plain.length)?, None, precision, scale, false)
    }

    pub(super) fn float64(&self, cell: &[u8]) -> Option<f64> {
        if self.is_plain() {
            return float64(cell, self.prefix.as_deref());
        }
        let plain = self.plain(cell, false)?;
        float64(plain.bytes.get(..plain.length)?, None)
    }

    /// The number in the default style, as far as it is one in this style; the rest is for the caller to find out.
    fn plain(&self, cell: &[u8], padded: bool) -> Option<Plain> {
        let (mut negative, mut digits) = unsigned(cell, self.prefix.as_deref());
        if self.sign_behind
            && let Some((sign @ (b'-' | b'+'), rest)) = digits.split_last()
        {
            // One sign is enough.
            if cell.len() != digits.len() && !self.prefix.as_deref().is_some_and(|p| cell.len() == p.len() + digits.len() && cell.starts_with(p)) {
                return None;
            }
            (negative, digits) = (*sign == b'-', rest);
        }
        let mut plain = Plain { bytes: [0; LONGEST], length: 0 };
        if negative {
            plain.push(b'-')?;
        }
        match self.implied {
            Some(implied) => imply(digits, implied, &mut plain)?,
            None => self.ungroup(digits, padded, &mut plain)?,
        }
        Some(plain)
    }

    fn ungroup(&self, digits: &[u8], padded: bool, plain: &mut Plain) -> Option<()> {
        let point = self.decimal.unwrap_or(b'.');
        if self.thousands.is_some() && !padded && digits.first() == Some(&b'0') && digits.get(1).is_some_and(|b| *b != point) {
            return None;
        }
        let mut rest = digits;
        // Digits of the group at hand, and the separator before it.
        let (mut group, mut between): (usize, Option<&[u8]>) = (0, None);
        let mut fraction = false;
        let closed = |group: usize, between: Option<&[u8]>| between.is_none() || group == 3;
        while let Some((byte, after)) = rest.split_first() {
            if byte.is_ascii_digit() {
                group += 1;
            } else if *byte == point && !fraction {
                if !closed(group, between) {
                    return None;
                }
                fraction = true;
                plain.push(b'.')?;
                rest = after;
                continue;
            } else if let Some(separator) = self.thousands.filter(|_| !fraction).and_then(|t| t.strip(rest)) {
                let fits = match between {
                    None => (1..=3).contains(&group) && digits.first() != Some(&b'0'),
                    Some(before) => group == 3 && before == separator,
                };
                if !fits {
                    return None;
                }
                (group, between) = (0, Some(separator));
                rest = rest.get(separator.len()..)?;
                continue;
            } else if *byte == b'.' {
                // A point that is neither: the caller must not take it for one.
                return None;
            }
            plain.push(*byte)?;
            rest = after;
        }
        (fraction || closed(group, between)).then_some(())
    }
}

/// Puts in the point that is not written.
fn imply(digits: &[u8], implied: u8, plain: &mut Plain) -> Option<()> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let significant = digits.get(digits.iter().take_while(|b| **b == b'0').count()..)?;
    let implied = usize::from(implied);
    let whole = significant.len().saturating_sub(implied);
    if whole == 0 {
        plain.push(b'0')?;
    }
    for byte in significant.get(..whole)? {
        plain.push(*byte)?;
    }
    if implied > 0 {
        plain.push(b'.')?;
        for _ in significant.len()..implied {
            plain.push(b'0')?;
        }
        for byte in significant.get(whole..)? {
            plain.push(*byte)?;
        }
    }
    Some(())
}

/// Sign and magnitude of a number cell: `-12`, `$-12`, `-$12`, `$12`, and the same with `+`. A second sign stays with the magnitude, which is then none.
fn unsigned<'a>(cell: &'a [u8], prefix: Option<&[u8]>) -> (bool, &'a [u8]) {
    let sign = |cell: &'a [u8]| match cell.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, cell),
    };
    let Some(prefix) = prefix else { return sign(cell) };
    match cell.strip_prefix(prefix) {
        Some(rest) => sign(rest),
        None => {
            let (negative, rest) = sign(cell);
            (negative, rest.strip_prefix(prefix).unwrap_or(rest))
        }
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
