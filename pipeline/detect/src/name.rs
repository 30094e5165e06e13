//! Names of persons: a dictionary of given and family names (Brazil and Portugal, English, Spanish, German), forms of address, and the
//! words that introduce a name. Without a statistical model, names outside the dictionary are found only beside one that is in it, a
//! form of address or an introduction: the measured recall stands in `docs/detect.md`.

use crate::Verdict;
use crate::words::look_up;

/// A whole value as a person's name: valid with a given and a further name that are known, possible with one of them.
pub(crate) fn validate(value: &str) -> Verdict {
    if value.len() > 120 || value.bytes().any(|byte| byte.is_ascii_digit() || b"@:/\\#<>{}[]=_;!?%$|".contains(&byte)) {
        return Verdict::Invalid;
    }
    let (mut given, mut surnames, mut unknown, mut common, mut total) = (0, 0, 0, 0, 0);
    for part in value.split([' ', ',', '-', '\'', '\u{2019}', '\u{a0}', '\t']).filter(|part| !part.is_empty()) {
        let part = part.trim_end_matches('.');
        if part.chars().count() == 1 {
            continue;
        }
        let Some(word) = look_up(part) else {
            unknown += 1;
            total += 1;
            continue;
        };
        if word.is_company() {
            return Verdict::Invalid;
        }
        if word.is_particle() || word.is_honorific() {
            continue;
        }
        total += 1;
        match (word.is_given(), word.is_surname()) {
            (true, _) if given == 0 => given += 1,
            (_, true) => surnames += 1,
            (true, false) => given += 1,
            (false, false) => unknown += 1,
        }
        common += usize::from(word.is_common());
    }
    let known = given + surnames;
    if known == 0 || total > 7 || known < unknown || given == 0 && unknown > 0 {
        return Verdict::Invalid;
    }
    if total >= 2 && given > 0 && known > common { Verdict::Valid } else { Verdict::possible_if(known > common || total >= 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_values() {
        for value in ["João da Silva", "Joa\u{303}o da Silva", "MARIA APARECIDA DOS SANTOS", "Theresa Brown", "Silva, Maria", "Prof. Jörgen Müller"] {
            assert_eq!(validate(value), Verdict::Valid, "{value}");
        }
        for value in ["Theresa", "Maria Xyzzyq", "Silva Santos"] {
            assert!(validate(value).agrees(), "{value}");
        }
        for value in ["6033391", "", "12 Maria", "the quick brown fox", "Hope", "Carvalho Ltda", "maria@example.com", "PAYMENT RECEIVED"] {
            assert_eq!(validate(value), Verdict::Invalid, "{value}");
        }
    }
}
