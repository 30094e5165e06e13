//! From as-typed to valid: what the structure alone cannot say. Each function takes the unvalidated value and gives the validated one;
//! it returns `None` only after it has reported why, or when the structure check has.
pub(crate) mod job;
pub(crate) mod places;
pub(crate) mod policy;
pub(crate) mod quality;
pub(crate) mod schema;

use crate::diagnostic::shorten;
use crate::schema::Decimal;
use crate::spanned::Spanned;
use crate::{Diagnostic, Span, codes};

/// The mistakes of one run.
pub(crate) type Report = Vec<Diagnostic>;

/// An identifier: a first letter or `_`, then letters, digits, `_`.
fn is_identifier(name: &str) -> bool {
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A name that goes into file names: letters, digits, `-`, `_`, `.`; not only dots.
fn is_file_name(name: &str) -> bool {
    name.len() <= 100 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) && name.bytes().any(|b| b.is_ascii_alphanumeric())
}

/// `[A-Z][A-Z0-9_]*`.
fn is_semantic_type(name: &str) -> bool {
    name.bytes().next().is_some_and(|b| b.is_ascii_uppercase()) && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

fn semantic_type(name: Spanned<String>, report: &mut Report) -> Option<String> {
    if is_semantic_type(&name.value) {
        return Some(name.value);
    }
    let message = format!("`{}` is not a semantic type", shorten(&name.value));
    report.push(Diagnostic::new(codes::BAD_NAME, name.span, message).help("upper-case letters, digits and `_`, a letter first: `BR_CPF`"));
    None
}

fn join_domain(name: Spanned<String>, report: &mut Report) -> Option<String> {
    if is_file_name(&name.value) {
        return Some(name.value);
    }
    let message = format!("`{}` is not a join domain", shorten(&name.value));
    report.push(Diagnostic::new(codes::BAD_NAME, name.span, message).help("letters, digits, `-`, `_` and `.`: `person`"));
    None
}

pub(crate) fn file_name(name: Spanned<String>, what: &str, report: &mut Report) -> Option<String> {
    if is_file_name(&name.value) {
        return Some(name.value);
    }
    let message = format!("`{}` is not a name of a {what}", shorten(&name.value));
    report.push(Diagnostic::new(codes::BAD_NAME, name.span, message).help("letters, digits, `-`, `_` and `.`, 100 at most"));
    None
}

fn not_blank(text: Spanned<String>, key: &str, report: &mut Report) -> Option<String> {
    if !text.value.trim().is_empty() {
        return Some(text.value);
    }
    report.push(Diagnostic::new(codes::MISSING_VALUE, text.span, format!("`{key}` is blank")).help("write the value"));
    None
}

/// `30d` as 30.
fn days(text: Spanned<String>, report: &mut Report) -> Option<u32> {
    let days = text.value.strip_suffix('d').filter(|digits| !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()));
    let days = days.and_then(|digits| digits.parse().ok()).filter(|days| *days <= 36_500);
    if days.is_none() {
        let message = format!("`{}` is not a number of days", shorten(&text.value));
        report.push(Diagnostic::new(codes::BAD_DURATION, text.span, message).help("whole days from `1d` to `36500d`"));
    }
    days
}

/// An exact decimal: digits, sign, point; an exponent is taken too.
pub(crate) fn decimal(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 || whole.len() + fraction.len() > 60 || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut unscaled: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        unscaled = unscaled.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
    }
    let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    while scale < 0 && unscaled != 0 {
        unscaled = unscaled.checked_mul(10)?;
        scale += 1;
    }
    while scale > 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    let scale = u8::try_from(scale.max(0)).ok().filter(|scale| *scale <= 38)?;
    Some(Decimal { unscaled: unscaled * sign, scale })
}

/// A rule of an ECMA-262 pattern.
fn pattern(text: &str, span: Span, report: &mut Report) -> Option<crate::schema::Check> {
    match crate::pattern::compile(text) {
        Ok(regex) => Some(crate::schema::Check::Pattern(regex)),
        Err(reason) => {
            let message = format!("the pattern cannot be used: {reason}");
            let help = "ECMA-262 syntax without look-around and back-references; the whole value must match";
            report.push(Diagnostic::new(codes::BAD_PATTERN, span, message).help(help));
            None
        }
    }
}

/// Whether something is wrong inside `span` already: then what is missing there may have been cut out, and is not missed again.
pub(crate) fn touched(report: &Report, span: Span) -> bool {
    report.iter().any(|mistake| mistake.span.file == span.file && (span.start..=span.end).contains(&mistake.span.start))
}

/// Reports names that are there before.
fn unique<'a>(names: impl Iterator<Item = (&'a str, Span)>, what: &str, report: &mut Report) {
    let mut seen = std::collections::HashSet::new();
    for (name, span) in names {
        if !seen.insert(name) {
            let message = format!("{what} `{}` is here twice", shorten(name));
            report.push(Diagnostic::new(codes::DUPLICATE_NAME, span, message).help("rename one of them"));
        }
    }
}
