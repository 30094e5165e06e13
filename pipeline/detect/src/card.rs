//! Payment card numbers (ISO/IEC 7812): issuer range, length, Luhn digit.

use crate::compact::Compact;
use crate::{Verdict, luhn};

/// Issuer ranges: first and last six digits, shortest and longest number.
///
/// Visa 13, 16 and 19; Mastercard with its 2-series; American Express; Diners; Discover; JCB (all of 35, and the 15-digit
/// ones of 1800 and 2131); UnionPay (62 and 81); Maestro; Elo and Hipercard of Brazil; Mir; Troy; UATP.
const RANGES: &[(u32, u32, usize, usize)] = &[
    (60_400, 60_499, 13, 19),
    (100_000, 179_999, 15, 15),
    (180_000, 180_099, 15, 15),
    (190_000, 199_999, 15, 15),
    (213_100, 213_199, 15, 15),
    (220_000, 220_499, 16, 19),
    (222_100, 272_099, 16, 16),
    (300_000, 305_999, 14, 19),
    (309_500, 309_599, 14, 19),
    (340_000, 349_999, 15, 15),
    (350_000, 359_999, 16, 19),
    (360_000, 369_999, 14, 19),
    (370_000, 379_999, 15, 15),
    (380_000, 399_999, 14, 19),
    (384_100, 384_199, 16, 19),
    (400_000, 499_999, 13, 13),
    (400_000, 499_999, 16, 16),
    (400_000, 499_999, 19, 19),
    (500_000, 509_999, 13, 19),
    (510_000, 559_999, 16, 16),
    (560_000, 599_999, 13, 19),
    (600_000, 699_999, 13, 19),
    (810_000, 817_199, 16, 19),
    (979_200, 979_289, 16, 16),
];

/// A card number as a whole value: 13 to 19 digits of a known range with their Luhn digit.
pub(crate) fn validate(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    Verdict::valid_if(in_range(bare) && luhn::valid(bare))
}

/// Whether an issuer range and its lengths fit, whatever the check digit.
pub(crate) fn in_range(digits: &[u8]) -> bool {
    if !(13..=19).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let prefix = digits[..6].iter().fold(0u32, |prefix, digit| prefix * 10 + u32::from(digit - b'0'));
    RANGES.iter().any(|&(first, last, shortest, longest)| (first..=last).contains(&prefix) && (shortest..=longest).contains(&digits.len()))
}

/// Maestro cards of twelve digits: too short to be claimed without context.
pub(crate) fn short_maestro(digits: &[u8]) -> bool {
    digits.len() == 12 && (matches!(digits[..2], [b'5', b'0' | b'6'..=b'8'] | [b'6', _]) || digits.starts_with(b"0604")) && luhn::valid(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lengths() {
        for card in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "2222155765072228",
            "2718760626256570",
            "8171999900000000021",
            "4131034282458809939",
            "4478857759876",
            "36050234196908",
            "122000000000003",
            "180033926253892",
        ] {
            assert_eq!(validate(card), Verdict::Valid, "{card}");
        }
        for other in [
            "4111111111111112",
            "2721465526338453",
            // Timestamps that pass Luhn: epoch in milliseconds, microseconds and nanoseconds.
            "1700000000004",
            "1700000000000001",
            "1700000000000000004",
            "20260101000004",
            "411111111111111111118",
            "4111-1111-1111-111a",
            "٤١١١١١١١١١١١١١١١",
        ] {
            assert_eq!(validate(other), Verdict::Invalid, "{other}");
        }
    }
}
