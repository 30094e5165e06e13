//! Values without their separators, on the stack.

/// At most 40 ASCII letters and digits, letters in upper case.
pub(crate) struct Compact {
    bytes: [u8; 40],
    length: usize,
}

impl Compact {
    /// Drops the usual separators (white space, hyphens and dashes, `.`, `/`); `None` when anything else stands in the value or it is longer.
    pub(crate) fn of(value: &str) -> Option<Self> {
        let mut compact = Self { bytes: [0; 40], length: 0 };
        for character in value.chars() {
            match character {
                ' ' | '-' | '.' | '/' | '\u{a0}' | '\u{2010}'..='\u{2015}' | '\u{202f}' | '\u{2212}' => {}
                _ if character.is_ascii_alphanumeric() => {
                    *compact.bytes.get_mut(compact.length)? = character.to_ascii_uppercase() as u8;
                    compact.length += 1;
                }
                _ => return None,
            }
        }
        Some(compact)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The value as exactly `N` digits (each 0 to 9), separators dropped.
pub(crate) fn digits<const N: usize>(value: &str) -> Option<[u8; N]> {
    let compact = Compact::of(value)?;
    digits_of(compact.bytes())
}

/// ASCII digits as numbers.
pub(crate) fn digits_of<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let mut digits = <[u8; N]>::try_from(bytes).ok()?;
    for digit in &mut digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        *digit -= b'0';
    }
    Some(digits)
}

/// Sum of the digits times their weights.
pub(crate) fn weigh(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(&digit, &weight)| u32::from(digit) * weight).sum()
}

/// The digits as one number.
pub(crate) fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0u64, |number, &digit| number.wrapping_mul(10).wrapping_add(u64::from(digit)))
}

/// Remainder modulo 97 of letters (as two digits, from 10 for A) and digits; `None` for anything else.
pub(crate) fn modulo_97(characters: impl IntoIterator<Item = u8>) -> Option<u32> {
    let mut rest = 0;
    for character in characters {
        rest = match character {
            b'0'..=b'9' => rest * 10 + u32::from(character - b'0'),
            b'A'..=b'Z' => rest * 100 + u32::from(character - b'A') + 10,
            _ => return None,
        } % 97;
    }
    Some(rest)
}

/// Whether the three numbers are a day that a calendar has, between the years 1000 and 2999.
pub(crate) fn is_day(year: u32, month: u32, day: u32) -> bool {
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => return false,
    };
    (1000..3000).contains(&year) && (1..=days).contains(&day)
}

/// Two digits as a number.
pub(crate) fn pair(digits: &[u8], at: usize) -> u32 {
    u32::from(digits[at]) * 10 + u32::from(digits[at + 1])
}
