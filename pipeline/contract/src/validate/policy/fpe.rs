//! `cryptoReplaceFfxFpe`: what can be said before any column is seen.
use super::{mask, not_blank};
use crate::policy::{Alphabet, AlphabetName, Canonicalize, CheckDigit, TokenEncoding, Transform};
use crate::spanned::{OneOrMany, Spanned};
use crate::typed::policy::Fallback;
use crate::validate::{Report, touched};
use crate::{Diagnostic, Span, codes};

/// SP 800-38G r1.
const MIN_DOMAIN: u128 = 1_000_000;

pub(super) struct Options {
    pub(super) alphabet: Option<Spanned<AlphabetName>>,
    pub(super) custom_alphabet: Option<Spanned<String>>,
    pub(super) keep_first: Option<Spanned<u8>>,
    pub(super) keep_last: Option<Spanned<u8>>,
    pub(super) check_digit: Option<CheckDigit>,
    pub(super) lengths: Option<OneOrMany<Spanned<u16>>>,
    pub(super) fallback: Option<Fallback>,
}

pub(super) fn transform(options: Options, key: Option<String>, canonicalize: Option<Vec<Canonicalize>>, rule: Span, report: &mut Report) -> Option<Transform> {
    let before = report.len();
    let Options { alphabet, custom_alphabet, keep_first, keep_last, check_digit, lengths, fallback } = options;
    let lengths_span = lengths.as_ref().and_then(|lengths| lengths.0.first()).map(|length| length.span);
    let span = keep_last.as_ref().or(keep_first.as_ref()).map(|kept| kept.span).or(lengths_span).unwrap_or(rule);
    let alphabet = self::alphabet(alphabet, custom_alphabet, check_digit, report);
    let lengths = lengths.and_then(|lengths| self::lengths(&lengths.0, check_digit, report));
    let (keep_first, keep_last) = (keep_first.map_or(0, |kept| kept.value), keep_last.map_or(0, |kept| kept.value));
    let has_fallback = fallback.is_some();
    let fallback = fallback.map(|fallback| self::fallback(fallback, key.as_deref(), canonicalize.as_deref(), report));
    if report.len() == before && !has_fallback && !touched(report, rule) {
        let radix = if check_digit.is_some() { 10 } else { alphabet.as_ref().map_or(10, Alphabet::radix) };
        // Of cards and IBANs whose lengths nobody states, the longest must do: shorter ones are judged when columns are known.
        let length = lengths.map(|(shortest, _)| shortest).or(check_digit.map(|check_digit| check_digit.lengths().1));
        if let Some(length) = length {
            large_enough(radix, length, keep_first, keep_last, check_digit, span, report);
        }
    }
    let (key, canonicalize) = (key?, canonicalize?);
    if report.len() != before {
        return None;
    }
    let fallback = fallback.flatten().map(Box::new);
    Some(Transform::CryptoReplaceFfxFpe { key, alphabet, keep_first, keep_last, check_digit, lengths, fallback, canonicalize })
}

fn alphabet(named: Option<Spanned<AlphabetName>>, custom: Option<Spanned<String>>, check_digit: Option<CheckDigit>, report: &mut Report) -> Option<Alphabet> {
    let span = custom.as_ref().map(|custom| custom.span).or(named.as_ref().map(|named| named.span))?;
    let mut refuse = |message: &str, help: &str| report.push(Diagnostic::new(codes::BAD_ALPHABET, span, message).help(help));
    if check_digit.is_some() {
        refuse("an alphabet beside a check digit, whose type has its own", "remove one of them");
        return None;
    }
    match (named, custom) {
        (Some(_), Some(_)) => {
            refuse("`alphabet` and `customAlphabet` say the same thing", "keep one of them");
            None
        }
        (Some(named), None) => Some(Alphabet::Named(named.value)),
        (None, Some(custom)) => {
            let text = custom.value;
            let once = (0..text.len()).all(|index| !text.as_bytes()[..index].contains(&text.as_bytes()[index]));
            if (2..=95).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && once {
                return Some(Alphabet::Custom(text));
            }
            refuse("these characters are no alphabet", "2 to 95 printable ASCII characters, each of them once");
            None
        }
        (None, None) => None,
    }
}

fn lengths(lengths: &[Spanned<u16>], check_digit: Option<CheckDigit>, report: &mut Report) -> Option<(u16, u16)> {
    let (least, most) = check_digit.map_or((1, 256), CheckDigit::lengths);
    for length in lengths {
        if !(least..=most).contains(&length.value) {
            let help = format!("characters without separators: {least} to {most}");
            report.push(Diagnostic::new(codes::BAD_LENGTHS, length.span, "no value has this length").help(help));
        }
    }
    let values = || lengths.iter().map(|length| length.value);
    values().min().zip(values().max())
}

/// Says how many values share the shortest format, where that is too few.
fn large_enough(radix: u32, length: u16, first: u8, last: u8, check_digit: Option<CheckDigit>, span: Span, report: &mut Report) {
    let fixed = check_digit.map_or(0, CheckDigit::fixed);
    let kept = u32::from(first) + u32::from(last);
    let left = u32::from(length).saturating_sub(fixed + kept);
    let size = u128::from(radix).checked_pow(left);
    if left >= 2 && size.is_none_or(|size| size >= MIN_DOMAIN) {
        return;
    }
    let size = size.unwrap_or(u128::MAX);
    let check = if fixed > 0 { format!(" - {fixed} that are not encrypted") } else { String::new() };
    let message =
        format!("too few characters are left to encrypt: {length} - {kept} kept{check} = {left}, and {radix}^{left} = {size} is fewer than 10^6 values");
    let mut needed = 2;
    while u128::from(radix).pow(needed) < MIN_DOMAIN {
        needed += 1;
    }
    let room = u32::from(length).saturating_sub(fixed + needed);
    let help = format!("keep {room} at most, or state what such values get instead: `fallback: {{transform: cryptoHash}}`");
    report.push(Diagnostic::new(codes::TOO_FEW_DIGITS, span, message).help(help));
}

fn fallback(fallback: Fallback, key: Option<&str>, canonicalize: Option<&[Canonicalize]>, report: &mut Report) -> Option<Transform> {
    let key = key.map(str::to_owned);
    let canonicalize = canonicalize.map(<[_]>::to_vec);
    Some(match fallback {
        Fallback::CryptoHash(f) => Transform::CryptoHash { key: key?, canonicalize: canonicalize?, encoding: TokenEncoding::Hex, bytes: f.bytes.unwrap_or(32) },
        Fallback::CryptoDeterministic(_) => Transform::CryptoDeterministic { key: key?, canonicalize: canonicalize? },
        Fallback::CharacterMask(f) => mask(f.masking_character, f.keep_first, f.keep_last, f.mask_length, report)?,
        Fallback::Redact(_) => Transform::Redact,
        Fallback::Replace(f) => Transform::Replace { new_value: not_blank(f.new_value?, "newValue", report)? },
    })
}
