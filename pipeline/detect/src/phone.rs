//! Telephone numbers.
//!
//! A table of calling codes with the length of their national numbers decides international ones; national ones are told by
//! their form (North America, Brazil, a trunk 0), and the rest only by their context. The `phonenumber` crate knows the numbering
//! plans exactly, but takes many times as long and needs to be told a region, which text does not have: `docs/detect.md` has the
//! figures.

use crate::Verdict;
use std::sync::LazyLock;

/// Calling codes.
///
/// By the code's number: how many digits the code has (none where there is no such code), fewest and most digits of what follows.
static CALLING_CODES: LazyLock<Vec<(usize, usize, usize)>> = LazyLock::new(|| {
    let mut codes = vec![(0, 0, 0); 1000];
    for line in include_str!("../words/calling_codes.txt").lines() {
        let mut fields = line.split(' ').map(|field| (field.len(), field.parse::<usize>()));
        if let (Some((width, Ok(code))), Some((_, Ok(fewest))), Some((_, Ok(most)))) = (fields.next(), fields.next(), fields.next())
            && let Some(place) = codes.get_mut(code)
        {
            *place = (width, fewest, most);
        }
    }
    codes
});

/// What the writing of a number says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// With `+` or `00`, a known calling code and a length that it has.
    International,
    /// Grouped as numbers of North America or Brazil are.
    National,
    /// With a trunk 0 or 8 in front or some grouping.
    Local,
    /// Digits alone.
    Bare,
}

/// A telephone number as a whole value: valid with a known calling code or a form of its own, possible for any 5 to 17 digits that
/// are written as telephone numbers are.
pub(crate) fn validate(value: &str) -> Verdict {
    match form(value) {
        Some(Form::International | Form::National) => Verdict::Valid,
        Some(Form::Local | Form::Bare) => Verdict::Possible,
        None => Verdict::Invalid,
    }
}

/// Looks at the writing of the whole of `value`.
pub(crate) fn form(value: &str) -> Option<Form> {
    let (number, extension) = split_extension(value);
    let mut digits = [0u8; 17];
    let (mut length, mut open, mut separators, mut groups, mut after_separator) = (0usize, false, 0usize, 0usize, true);
    for (index, byte) in number.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => {
                *digits.get_mut(length)? = byte;
                length += 1;
                groups += usize::from(after_separator);
                after_separator = false;
            }
            b'+' if index == 0 || index == 1 && open => {}
            b'(' if !open => open = true,
            b')' if open && !after_separator => open = false,
            b' ' | b'-' | b'.' | b'/' if length > 0 && (!after_separator || number.as_bytes()[index - 1] != byte) => separators += 1,
            _ => return None,
        }
        if !byte.is_ascii_digit() {
            after_separator = true;
        }
    }
    let digits = &digits[..length];
    if length < 5 || open || number.ends_with(['-', '.', '/', ' ']) {
        return None;
    }
    let plus = number.starts_with('+') || number.starts_with("(+");
    let international = if plus { Some(digits) } else { digits.strip_prefix(b"00".as_slice()) };
    if let Some(international) = international.filter(|digits| known_code(digits)) {
        // A bare `00…` may be any identifier.
        let bare = !plus && separators == 0;
        return Some(if bare || international.len() < 7 { Form::Local } else { Form::International });
    }
    if plus {
        return Some(Form::Local);
    }
    let punctuated = groups >= 2;
    if punctuated && (is_nanp(digits) && (2..=4).contains(&groups) || is_brazilian(number)) {
        return Some(Form::National);
    }
    Some(if punctuated || extension { Form::Local } else { Form::Bare })
}

/// The number, and whether an extension (`x1234`, `ext. 12`, `ramal 12`) followed it.
fn split_extension(value: &str) -> (&str, bool) {
    let bytes = value.as_bytes();
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 6 || digits == bytes.len() || !value.is_char_boundary(bytes.len() - digits) {
        return (value, false);
    }
    let before = value[..bytes.len() - digits].trim_end_matches([' ', '.', ':']);
    for word in ["x", "ext", "extension", "ramal", "ramais", "anexo", "durchwahl"] {
        let Some(at) = before.len().checked_sub(word.len()) else { continue };
        if before.is_char_boundary(at) && before[at..].eq_ignore_ascii_case(word) {
            let number = before[..at].trim_end_matches([' ', ',', ';']);
            if number.ends_with(|character: char| character.is_ascii_digit()) {
                return (number, true);
            }
        }
    }
    (value, false)
}

/// Whether digits begin with a calling code and have as many more as its numbers do.
pub(crate) fn known_code(digits: &[u8]) -> bool {
    if digits.len() > 15 {
        return false;
    }
    (1..=digits.len().min(3)).any(|width| {
        let code = digits[..width].iter().fold(0, |code, digit| code * 10 + usize::from(digit - b'0'));
        CALLING_CODES.get(code).is_some_and(|&(own, fewest, most)| own == width && (fewest..=most).contains(&(digits.len() - width)))
    })
}

/// Ten digits of the North American plan, perhaps with a 1 or 001 before.
pub(crate) fn is_nanp(digits: &[u8]) -> bool {
    let national = match digits.len() {
        13 => digits.strip_prefix(b"001".as_slice()),
        11 => digits.strip_prefix(b"1".as_slice()),
        10 => Some(digits),
        _ => None,
    };
    national.is_some_and(|national| matches!(national[0], b'2'..=b'9') && national[1..3] != *b"11" && matches!(national[3], b'2'..=b'9'))
}

/// `(11) 98765-4321`, `11 3170-6690`, `0800 123 4567` and the like.
fn is_brazilian(number: &str) -> bool {
    let mut digits = number.bytes().filter(u8::is_ascii_digit);
    let count = digits.clone().count();
    let Some((first, last)) = number.rsplit_once('-') else { return false };
    if last.len() != 4 || !matches!(count, 10 | 11) {
        return false;
    }
    let middle = first.bytes().rev().take_while(u8::is_ascii_digit).count();
    let area = (digits.next(), digits.next());
    let third = digits.next();
    matches!(area, (Some(b'1'..=b'9'), Some(b'1'..=b'9')))
        && match count {
            11 => middle == 5 && third == Some(b'9'),
            _ => middle == 4 && matches!(third, Some(b'2'..=b'9')),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_calling_code_is_known() {
        let lines: Vec<&str> = include_str!("../words/calling_codes.txt").lines().collect();
        assert_eq!(CALLING_CODES.iter().filter(|&&(width, ..)| width > 0).count(), lines.len());
        for line in lines {
            let [code, fewest, most] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let number = |digits: usize| format!("{code}{}", "5".repeat(digits)).into_bytes();
            let (fewest, most) = (fewest.parse().unwrap(), most.parse().unwrap());
            assert!(known_code(&number(fewest)) && known_code(&number(most)), "{line}");
            assert!(!known_code(&number(fewest - 1)) && (code.len() + most == 15 || !known_code(&number(most + 1))), "{line}");
        }
    }

    #[test]
    fn forms() {
        for (value, right) in [
            ("+55 11 98456 5666", Some(Form::International)),
            ("+49 30 1234567", Some(Form::International)),
            ("0049 30 1234567", Some(Form::International)),
            ("+37805496123456789", Some(Form::Local)),
            ("(415) 155-0132", Some(Form::Local)),
            ("(415) 555-0132", Some(Form::National)),
            ("949-639-2926x6858", Some(Form::National)),
            ("001-425-741-2957x5184", Some(Form::International)),
            ("51 3170-6690", Some(Form::National)),
            ("(11) 98765-4321", Some(Form::National)),
            ("(00748) 337887", Some(Form::Local)),
            ("02667869819", Some(Form::Bare)),
            ("60-56-85-91", Some(Form::Local)),
            ("1234", None),
            ("", None),
            ("asdf", None),
            ("++3567868", None),
            ("12 34 56", Some(Form::Local)),
            ("12--34-56", None),
            ("(12 345678", None),
            ("123456789012345678", None),
            ("Ⅻ12345", None),
            ("émx12", None),
        ] {
            assert_eq!(form(value), right, "{value}");
        }
    }
}
