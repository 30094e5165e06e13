//! Numbers of the United States: social security, individual taxpayer, employer.

use crate::Verdict;
use crate::compact::{digits, number};

/// SSN: area, group and serial that are issued. No check digit: valid with its hyphens, possible without.
pub(crate) fn ssn(value: &str) -> Verdict {
    let Some(ssn) = digits::<9>(value) else { return Verdict::Invalid };
    let (area, group, serial) = (number(&ssn[..3]), number(&ssn[3..5]), number(&ssn[5..]));
    // The numbers of a wallet insert and of an advertisement.
    let known_fake = matches!((area, group, serial), (78, 5, 1120) | (219, 9, 9999) | (457, 55, 5462));
    let fits = area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 && !known_fake;
    match (fits, grouped(value, &[3, 5])) {
        (false, _) => Verdict::Invalid,
        (true, Some(true)) => Verdict::Valid,
        (true, Some(false)) => Verdict::Possible,
        (true, None) => Verdict::Invalid,
    }
}

/// ITIN: like an SSN, from 900, with the groups that are issued.
pub(crate) fn itin(value: &str) -> Verdict {
    let Some(itin) = digits::<9>(value) else { return Verdict::Invalid };
    let group = number(&itin[3..5]);
    let fits = itin[0] == 9 && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99);
    match (fits, grouped(value, &[3, 5])) {
        (true, Some(true)) => Verdict::Valid,
        (true, Some(false)) => Verdict::Possible,
        _ => Verdict::Invalid,
    }
}

/// EIN: a campus prefix that is assigned and seven digits.
pub(crate) fn ein(value: &str) -> Verdict {
    let Some(ein) = digits::<9>(value) else { return Verdict::Invalid };
    let prefix = number(&ein[..2]);
    let fits = matches!(prefix, 1..=6 | 10..=16 | 20..=27 | 30..=39 | 40..=48 | 50..=68 | 71..=77 | 80..=88 | 90..=95 | 98 | 99);
    match (fits, grouped(value, &[2])) {
        (true, Some(true)) => Verdict::Valid,
        (true, Some(false)) => Verdict::Possible,
        _ => Verdict::Invalid,
    }
}

/// Whether nine digits stand in groups that end where given: `Some(true)` with all separators, `Some(false)` bare or with some of
/// them, `None` otherwise.
fn grouped(value: &str, ends: &[usize]) -> Option<bool> {
    let (mut digits, mut separators, mut last) = (0, 0, ' ');
    for character in value.chars() {
        if character.is_ascii_digit() {
            digits += 1;
        } else {
            if !ends.contains(&digits) || !last.is_ascii_digit() {
                return None;
            }
            separators += 1;
        }
        last = character;
    }
    Some(separators == ends.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        for (validate, value, verdict) in [
            (ssn as fn(&str) -> Verdict, "536-90-4399", Verdict::Valid),
            (ssn, "536904399", Verdict::Possible),
            (ssn, "078-051123", Verdict::Possible),
            (ssn, "078-05-1120", Verdict::Invalid),
            (ssn, "666-05-1120", Verdict::Invalid),
            (ssn, "987-65-4321", Verdict::Invalid),
            (ssn, "53-690-4399", Verdict::Invalid),
            (ssn, "536--90-4399", Verdict::Invalid),
            (itin, "912-90-3456", Verdict::Valid),
            (itin, "912-93-3456", Verdict::Invalid),
            (ein, "91-1144442", Verdict::Valid),
            (ein, "911-14-4442", Verdict::Invalid),
            (ein, "07-1144442", Verdict::Invalid),
        ] {
            assert_eq!(validate(value), verdict, "{value}");
        }
    }
}
