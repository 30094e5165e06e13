//! The Luhn check digit of payment cards and other identifiers (ISO/IEC 7812-1, annex B).

/// Whether `value` is two or more digits that end in their Luhn digit.
///
/// Single spaces or hyphens may stand between digits (`4111 1111 1111 1111`). The length of a card number and its issuer
/// range are not looked at.
pub fn valid(value: &[u8]) -> bool {
    let (mut sum, mut digits, mut double, mut after_separator) = (0u32, 0usize, false, true);
    for &byte in value.iter().rev() {
        match byte {
            b'0'..=b'9' => {
                sum = (sum + weigh(byte, double)) % 10;
                digits += 1;
                double = !double;
                after_separator = false;
            }
            b' ' | b'-' if !after_separator => after_separator = true,
            _ => return false,
        }
    }
    digits >= 2 && !after_separator && sum == 0
}

/// The check digit that follows `body`, as ASCII; `None` when the body is empty or holds anything but ASCII digits.
pub fn digit(body: &[u8]) -> Option<u8> {
    if body.is_empty() || !body.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut double = true;
    let mut sum = 0u32;
    for &byte in body.iter().rev() {
        sum = (sum + weigh(byte, double)) % 10;
        double = !double;
    }
    Some(b'0' + ((10 - sum) % 10) as u8)
}

/// Whether the Luhn sum of digits (0 to 9, in the order of the number) is a multiple of ten.
pub(crate) fn holds(digits: impl DoubleEndedIterator<Item = u8>) -> bool {
    let sum: u32 = digits.rev().enumerate().map(|(index, digit)| weigh(b'0' + digit, index % 2 == 1)).sum();
    sum.is_multiple_of(10)
}

/// A digit's share in the sum: doubled digits count the sum of their own digits.
fn weigh(byte: u8, double: bool) -> u32 {
    let digit = u32::from(byte - b'0');
    match (double, digit) {
        (false, _) => digit,
        (true, 0..=4) => digit * 2,
        (true, _) => digit * 2 - 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_cards() {
        for card in ["4111111111111111", "4111 1111 1111 1111", "378282246310005", "6011-1111-1111-1117", "8171999900000000021", "00", "18"] {
            assert!(valid(card.as_bytes()), "{card}");
        }
        for other in ["4111111111111112", "", "0", "-18", "18-", "1  8", "1--8", "1.8", "٤١١١", "18\n", " 18"] {
            assert!(!valid(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn every_body_gets_exactly_one_digit() {
        for body in 0..20_000u32 {
            let body = body.to_string();
            let right = digit(body.as_bytes()).unwrap();
            for last in b'0'..=b'9' {
                let whole = [body.as_bytes(), &[last]].concat();
                assert_eq!(valid(&whole), last == right, "{body}");
            }
        }
        assert_eq!(digit(b""), None);
        assert_eq!(digit(b"12a"), None);
    }
}
