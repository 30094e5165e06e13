//! Length and structure of each country's IBAN.
//!
//! `registry.txt` has the countries of the SWIFT registry, `outside.txt` those whose banks print IBANs that the registry does not list
//! (and older lengths of some that it does). A line is the country and the parts of its own number: how many characters, then
//! `n` for digits, `a` for letters, `c` for either.

use crate::Verdict;
use crate::compact::Compact;
use std::sync::LazyLock;

/// One country's own number.
struct Structure {
    country: [u8; 2],
    parts: Vec<(usize, u8)>,
    length: usize,
}

static REGISTRY: LazyLock<Vec<Structure>> = LazyLock::new(|| parse(include_str!("registry.txt")));
static OUTSIDE: LazyLock<Vec<Structure>> = LazyLock::new(|| parse(include_str!("outside.txt")));

fn parse(table: &str) -> Vec<Structure> {
    table
        .lines()
        .filter_map(|line| {
            let (country, structure) = line.split_once(' ')?;
            let parts: Vec<(usize, u8)> = structure
                .split_inclusive(|character: char| character.is_ascii_lowercase())
                .filter_map(|part| Some((part[..part.len() - 1].parse().ok()?, *part.as_bytes().last()?)))
                .collect();
            let length = parts.iter().map(|&(length, _)| length).sum();
            Some(Structure { country: country.as_bytes().try_into().ok()?, parts, length })
        })
        .collect()
}

impl Structure {
    fn fits(&self, own: &[u8]) -> bool {
        let mut rest = own;
        self.parts.iter().all(|&(length, kind)| {
            let Some((part, after)) = rest.split_at_checked(length) else { return false };
            rest = after;
            part.iter().all(|byte| match kind {
                b'n' => byte.is_ascii_digit(),
                b'a' => byte.is_ascii_uppercase(),
                _ => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            })
        }) && rest.is_empty()
    }
}

/// Whole lengths, country and check digits included, that IBANs of this country have; the registry's first.
pub(crate) fn lengths(country: [u8; 2]) -> impl Iterator<Item = usize> {
    REGISTRY.iter().chain(OUTSIDE.iter()).filter(move |structure| structure.country == country).map(|structure| structure.length + 4)
}

/// An IBAN in any usual writing: valid as the registry has it, possible where a country outside of it prints one, both with right
/// check digits.
pub(crate) fn validate(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    validate_bare(compact.bytes())
}

/// The same, without separators and in capital letters.
pub(crate) fn validate_bare(bare: &[u8]) -> Verdict {
    let Some((&[c0, c1, d0, d1], own)) = bare.split_first_chunk::<4>() else { return Verdict::Invalid };
    let fits = |structures: &[Structure]| structures.iter().any(|structure| structure.country == [c0, c1] && structure.fits(own));
    if super::digits([c0, c1], own) != Some([d0, d1]) {
        Verdict::Invalid
    } else if fits(&REGISTRY) {
        Verdict::Valid
    } else {
        Verdict::possible_if(fits(&OUTSIDE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sound() {
        assert_eq!(REGISTRY.len(), 89);
        assert!(REGISTRY.is_sorted_by_key(|structure| structure.country));
        for structure in REGISTRY.iter().chain(OUTSIDE.iter()) {
            assert!((11..=30).contains(&structure.length) && crate::country::exists(structure.country), "{:?}", structure.country);
        }
        assert_eq!(lengths(*b"NO").collect::<Vec<_>>(), [15]);
        assert_eq!(lengths(*b"NI").collect::<Vec<_>>(), [28, 32]);
    }

    #[test]
    fn verdicts() {
        for (value, verdict) in [
            ("DE89370400440532013000", Verdict::Valid),
            ("de89 3704 0044 0532 0130 00", Verdict::Valid),
            ("MT84MALT011000012345MTLCAST001S", Verdict::Valid),
            // Right check digits, another country's structure.
            ("FR14 2004 1010 0505 0001 3", Verdict::Invalid),
            ("DE88370400440532013000", Verdict::Invalid),
            // Not in the registry.
            ("IR200170000000339545727003", Verdict::Possible),
            ("AA110011123Z5678", Verdict::Invalid),
            ("BR1800360305000010009795493C1", Verdict::Valid),
        ] {
            assert_eq!(validate(value), verdict, "{value}");
        }
    }
}
