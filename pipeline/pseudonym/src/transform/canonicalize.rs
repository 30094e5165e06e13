//! Steps that run before a value becomes a token.
use super::ValueRefused;
use std::fmt;
use std::str::FromStr;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use zeroize::Zeroize;

/// One step. Steps are part of a token's identity: other steps, other tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Canonicalize {
    /// Unicode white space at both ends goes.
    Trim,
    /// Unicode normalization form C.
    Nfc,
    /// Upper case, locale-independent.
    Upper,
    /// Lower case, locale-independent.
    Lower,
    /// Only ASCII digits stay; other characters that stand for numbers are refused.
    Digits,
    /// ASCII punctuation and white space go.
    StripPunctuation,
    /// Zeros in front, up to this many characters: a number that lost its leading zeros as an integer gets them back. Longer values
    /// stay as they are, and nothing stays nothing.
    LeftPad(u8),
}

impl Canonicalize {
    /// The name in the policy file, without the number of [`Self::LeftPad`]; [`fmt::Display`] writes that too.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trim => "trim",
            Self::Nfc => "nfc",
            Self::Upper => "upper",
            Self::Lower => "lower",
            Self::Digits => "digits",
            Self::StripPunctuation => "stripPunctuation",
            Self::LeftPad(_) => "leftPad",
        }
    }
}

/// What enters key derivation: the name, and `leftPad:11` with its number.
impl fmt::Display for Canonicalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftPad(length) => write!(f, "leftPad:{length}"),
            step => f.write_str(step.as_str()),
        }
    }
}

/// The text is no name of a step. `leftPad` needs a length from 1 to 255 (`leftPad:11`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not one of trim, nfc, upper, lower, digits, stripPunctuation, leftPad:n with n from 1 to 255")]
pub struct UnknownStep;

impl FromStr for Canonicalize {
    type Err = UnknownStep;

    fn from_str(text: &str) -> Result<Self, UnknownStep> {
        let named = [Self::Trim, Self::Nfc, Self::Upper, Self::Lower, Self::Digits, Self::StripPunctuation].into_iter().find(|step| step.as_str() == text);
        let padding = || text.strip_prefix("leftPad:")?.parse().ok().filter(|&length| length > 0).map(Self::LeftPad);
        // One spelling for each: what is written back must be what was read.
        named.or_else(padding).filter(|step| step.to_string() == text).ok_or(UnknownStep)
    }
}

/// Runs steps over values in two buffers of its own.
#[derive(Clone)]
pub struct Canonicalizer {
    steps: Box<[Canonicalize]>,
    current: String,
    next: String,
}

impl Canonicalizer {
    /// Steps in the order in which they run.
    pub fn new(steps: &[Canonicalize]) -> Self {
        Self { steps: steps.into(), current: String::new(), next: String::new() }
    }

    /// The steps as key derivation binds them: names, joined by a character that no name has.
    pub(super) fn identity(&self) -> String {
        self.steps.iter().map(Canonicalize::to_string).collect::<Vec<_>>().join(",")
    }

    /// The canonical form of `value`, never empty.
    ///
    /// # Errors
    /// [`ValueRefused::Empty`] or [`ValueRefused::NonAsciiDigit`].
    #[inline]
    pub fn run<'a>(&'a mut self, value: &'a str) -> Result<&'a str, ValueRefused> {
        // Steps that change nothing copy nothing: `None` says that the text is still a part of `value`.
        let mut part = Some(value);
        for index in 0..self.steps.len() {
            let text = part.unwrap_or(&self.current);
            part = match self.steps[index] {
                Canonicalize::Trim => match part {
                    Some(text) => Some(text.trim()),
                    None => self.rewrite(None, |text, next| next.push_str(text.trim())),
                },
                Canonicalize::Nfc if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes => part,
                Canonicalize::Nfc => self.rewrite(part, |text, next| next.extend(text.nfc())),
                Canonicalize::Upper if text.is_ascii() => match text.bytes().any(|byte| byte.is_ascii_lowercase()) {
                    false => part,
                    true => self.rewrite(part, |text, next| {
                        next.push_str(text);
                        next.make_ascii_uppercase();
                    }),
                },
                Canonicalize::Upper => self.rewrite(part, |text, next| next.extend(text.chars().flat_map(char::to_uppercase))),
                Canonicalize::Lower if text.is_ascii() => match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                    false => part,
                    true => self.rewrite(part, |text, next| {
                        next.push_str(text);
                        next.make_ascii_lowercase();
                    }),
                },
                // One character at a time: the whole-string rule for a final sigma would make a letter depend on its neighbours.
                Canonicalize::Lower => self.rewrite(part, |text, next| next.extend(text.chars().flat_map(char::to_lowercase))),
                Canonicalize::Digits if text.bytes().all(|byte| byte.is_ascii_digit()) => part,
                Canonicalize::Digits => {
                    if !text.is_ascii() && text.chars().any(|c| !c.is_ascii() && c.is_numeric()) {
                        return Err(ValueRefused::NonAsciiDigit);
                    }
                    self.rewrite(part, |text, next| next.extend(text.chars().filter(char::is_ascii_digit)))
                }
                Canonicalize::StripPunctuation => match text.chars().any(strippable) {
                    false => part,
                    true => self.rewrite(part, |text, next| next.extend(text.chars().filter(|&c| !strippable(c)))),
                },
                Canonicalize::LeftPad(_) if text.is_empty() => return Err(ValueRefused::Empty),
                Canonicalize::LeftPad(length) => match usize::from(length).saturating_sub(text.chars().count()) {
                    0 => part,
                    missing => self.rewrite(part, |text, next| {
                        next.extend(std::iter::repeat_n('0', missing));
                        next.push_str(text);
                    }),
                },
            };
        }
        match part.unwrap_or(&self.current) {
            "" => Err(ValueRefused::Empty),
            text => Ok(text),
        }
    }

    /// Writes a new text from the current one; from then on the text is in `self.current`.
    fn rewrite<'a>(&mut self, part: Option<&str>, step: impl FnOnce(&str, &mut String)) -> Option<&'a str> {
        self.next.clear();
        step(part.unwrap_or(&self.current), &mut self.next);
        std::mem::swap(&mut self.current, &mut self.next);
        None
    }
}

impl Drop for Canonicalizer {
    /// The buffers held values.
    fn drop(&mut self) {
        self.current.zeroize();
        self.next.zeroize();
    }
}

impl fmt::Debug for Canonicalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.steps).finish()
    }
}

fn strippable(c: char) -> bool {
    c.is_ascii_punctuation() || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::Canonicalize::{Digits, LeftPad, Lower, Nfc, StripPunctuation, Trim, Upper};
    use super::*;

    fn run(steps: &[Canonicalize], value: &str) -> Result<String, ValueRefused> {
        Canonicalizer::new(steps).run(value).map(str::to_owned)
    }

    #[test]
    fn steps_in_order() {
        assert_eq!(run(&[], " a "), Ok(" a ".into()));
        assert_eq!(run(&[Trim, Nfc, Digits], "\u{a0}390.533.447-05\n"), Ok("39053344705".into()));
        assert_eq!(run(&[Nfc], "Jose\u{301}"), Ok("Jos\u{e9}".into()));
        assert_eq!(run(&[Upper], "stra\u{df}e"), Ok("STRASSE".into()));
        assert_eq!(run(&[Lower], "\u{c9}T\u{c9}"), Ok("\u{e9}t\u{e9}".into()));
        assert_eq!(run(&[Lower, Nfc], "E\u{301}"), Ok("\u{e9}".into()));
        assert_eq!(run(&[StripPunctuation, Upper], "12.abc.345/01de-35"), Ok("12ABC34501DE35".into()));
        assert_eq!(run(&[Upper, Trim, Lower], " x "), Ok("x".into()));
        assert_eq!(run(&[StripPunctuation, Trim, Nfc, Digits, Upper], "a-1"), Ok("1".into()));
    }

    #[test]
    fn refusals() {
        assert_eq!(run(&[], ""), Err(ValueRefused::Empty));
        assert_eq!(run(&[Trim], " \t"), Err(ValueRefused::Empty));
        assert_eq!(run(&[Digits], "n/a"), Err(ValueRefused::Empty));
        assert_eq!(run(&[Digits], "12\u{663}"), Err(ValueRefused::NonAsciiDigit));
        assert_eq!(run(&[Digits], "\u{ff11}\u{ff12}"), Err(ValueRefused::NonAsciiDigit));
    }

    #[test]
    fn lost_zeros_come_back() {
        assert_eq!(run(&[LeftPad(11)], "1234567890"), Ok("01234567890".into()));
        assert_eq!(run(&[Digits, LeftPad(11)], "012.345.678-90"), run(&[Digits, LeftPad(11)], "1234567890"));
        assert_eq!(run(&[LeftPad(3)], "12345"), Ok("12345".into()));
        assert_eq!(run(&[LeftPad(3)], "\u{e9}"), Ok("00\u{e9}".into()));
        assert_eq!(run(&[LeftPad(11)], ""), Err(ValueRefused::Empty), "nothing does not become a number");
        assert_eq!(run(&[Digits, LeftPad(11)], "n/a"), Err(ValueRefused::Empty));
        assert_eq!(run(&[StripPunctuation, LeftPad(14), Upper], "abc"), Ok("00000000000ABC".into()));
    }

    #[test]
    fn names_are_read_back() {
        for step in [Trim, Nfc, Upper, Lower, Digits, StripPunctuation, LeftPad(1), LeftPad(11), LeftPad(255)] {
            assert_eq!(step.to_string().parse(), Ok(step));
        }
        for other in ["", "Trim", "leftPad", "leftPad:", "leftPad:0", "leftPad:256", "leftPad:011", "leftPad:+1", "leftPad: 1"] {
            assert_eq!(other.parse::<Canonicalize>(), Err(UnknownStep), "{other}");
        }
    }

    #[test]
    fn nothing_of_the_previous_value_stays() {
        let mut canonicalizer = Canonicalizer::new(&[StripPunctuation, Upper]);
        assert_eq!(canonicalizer.run("long-long-value"), Ok("LONGLONGVALUE"));
        assert_eq!(canonicalizer.run("x-y"), Ok("XY"));
        assert_eq!(canonicalizer.run("Z"), Ok("Z"));
        assert_eq!(canonicalizer.run("--"), Err(ValueRefused::Empty));
        assert!(!format!("{canonicalizer:?}").contains('Z'));
    }
}
