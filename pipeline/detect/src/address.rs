//! Street addresses: a street word with a name and a house number.

use crate::Verdict;
use crate::words::{fold, look_up};

/// A whole value as a street address: valid with a street word, a further word and a number; possible without the number.
pub(crate) fn validate(value: &str) -> Verdict {
    if value.len() > 200 || value.contains(['@', '=', '{', '<']) {
        return Verdict::Invalid;
    }
    let (mut street, mut numbers, mut others, mut first) = (false, 0, 0, true);
    for part in value.split(|character: char| !character.is_alphanumeric() && !matches!(character, '\u{300}'..='\u{36f}')).filter(|part| !part.is_empty()) {
        if part.starts_with(|character: char| character.is_ascii_digit()) {
            numbers += usize::from(part.len() <= 6);
        } else {
            let word = look_up(part).unwrap_or_default();
            let ends_in_street = is_compound(part);
            if first && word.is_street_before() || !first && word.is_street_after() || ends_in_street {
                street = true;
                others += usize::from(ends_in_street);
            } else {
                others += 1;
            }
            first = false;
        }
    }
    match (street && others > 0, numbers) {
        (true, 1..=4) => Verdict::Valid,
        (true, 0) => Verdict::Possible,
        _ => Verdict::Invalid,
    }
}

/// A German or Nordic street in one word: `Schulzweg`, `Hauptstraße`, `Gesterbyntie`.
pub(crate) fn is_compound(word: &str) -> bool {
    let mut buffer = [0; 32];
    let Some(folded) = fold(word, &mut buffer) else { return false };
    const ENDINGS: [&str; 17] =
        ["strasse", "straße", "weg", "allee", "gasse", "platz", "damm", "ufer", "straat", "laan", "plein", "gracht", "gatan", "vagen", "vej", "veien", "katu"];
    folded.len() >= 7 && ENDINGS.iter().any(|ending| folded.len() > ending.len() + 2 && folded.ends_with(ending)) || folded.len() > 6 && folded.ends_with("str")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_values() {
        for value in [
            "Rua das Flores, 123",
            "57566 Ann Freeway",
            "123 Elm St",
            "Schulzweg 9464",
            "Calle Mayor 5, 2º",
            "Hilmar-Schuster-Platz 1-2",
            "Av. Paulista 1578 apto 12",
        ] {
            assert_eq!(validate(value), Verdict::Valid, "{value}");
        }
        assert_eq!(validate("Rua das Flores"), Verdict::Possible);
        for value in ["", "123", "hello world", "Maria Silva", "Street 5", "a=1 b=2 st"] {
            assert_eq!(validate(value), Verdict::Invalid, "{value}");
        }
    }
}
