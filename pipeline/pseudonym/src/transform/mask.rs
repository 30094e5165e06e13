//! `characterMask`, `truncate`, and `redact`, `replace`, `replaceWithInfoType`. A character is a Unicode scalar value; none has a key.
use super::ValueRefused;

/// Characters become a masking character, except some in front and at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharacterMask {
    masking_character: char,
    keep_first: usize,
    keep_last: usize,
    mask_length: Option<u32>,
}

impl CharacterMask {
    /// Keeps `keep_first` and `keep_last` characters. The mask between has as many characters as it hides, or `mask_length`, which
    /// hides the length too. A value no longer than what is kept is masked whole.
    pub fn new(masking_character: char, keep_first: u32, keep_last: u32, mask_length: Option<u32>) -> Self {
        // Saturating on platforms with 16-bit addresses only.
        let size = |count| usize::try_from(count).unwrap_or(usize::MAX);
        Self { masking_character, keep_first: size(keep_first), keep_last: size(keep_last), mask_length }
    }

    /// Appends the masked `value` to `out`.
    ///
    /// # Errors
    /// None: every value has a mask.
    pub fn apply(&self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        let length = value.chars().count();
        let (first, last) = if length <= self.keep_first.saturating_add(self.keep_last) { (0, 0) } else { (self.keep_first, self.keep_last) };
        let (front, back) = (offset(value, first), offset(value, length - last));
        let masked = self.mask_length.map_or(length - first - last, |length| usize::try_from(length).unwrap_or(usize::MAX));
        out.extend_from_slice(&value.as_bytes()[..front]);
        let mut utf8 = [0; 4];
        let mask = self.masking_character.encode_utf8(&mut utf8).as_bytes();
        for _ in 0..masked {
            out.extend_from_slice(mask);
        }
        out.extend_from_slice(&value.as_bytes()[back..]);
        Ok(())
    }
}

/// The first characters of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncate {
    length: usize,
}

impl Truncate {
    /// Keeps `length` characters.
    pub fn new(length: u32) -> Self {
        Self { length: usize::try_from(length).unwrap_or(usize::MAX) }
    }

    /// Appends the first characters of `value` to `out`.
    ///
    /// # Errors
    /// None.
    pub fn apply(&self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        out.extend_from_slice(&value.as_bytes()[..offset(value, self.length)]);
        Ok(())
    }
}

/// One text in place of every value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replace {
    text: Box<str>,
}

impl Replace {
    /// `replace`: the text that the policy says.
    pub fn with(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// `redact`: nothing.
    pub fn redact() -> Self {
        Self::with("")
    }

    /// `replaceWithInfoType`: the semantic type in brackets (`[BR_CPF]`).
    pub fn with_info_type(semantic_type: &str) -> Self {
        Self { text: format!("[{semantic_type}]").into() }
    }

    /// Appends the text to `out`, whatever the value.
    ///
    /// # Errors
    /// None.
    pub fn apply(&self, _value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        out.extend_from_slice(self.text.as_bytes());
        Ok(())
    }
}

/// Where character `index` begins, or the end.
fn offset(value: &str, index: usize) -> usize {
    value.char_indices().nth(index).map_or(value.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(mask: CharacterMask, value: &str) -> String {
        let mut out = Vec::new();
        mask.apply(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn masks() {
        let ends = CharacterMask::new('*', 2, 2, None);
        for (value, expected) in [("", ""), ("abcd", "****"), ("abcde", "ab*de"), ("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", "\u{e9}\u{e9}**\u{e9}\u{e9}")] {
            assert_eq!(masked(ends, value), expected);
        }
        let fixed = CharacterMask::new('\u{2022}', 1, 0, Some(3));
        for (value, expected) in [("", "\u{2022}\u{2022}\u{2022}"), ("a", "\u{2022}\u{2022}\u{2022}"), ("abcdef", "a\u{2022}\u{2022}\u{2022}")] {
            assert_eq!(masked(fixed, value), expected);
        }
        assert_eq!(masked(CharacterMask::new('#', u32::MAX, u32::MAX, None), "abc"), "###");
    }

    #[test]
    fn replacements_do_not_depend_on_the_value() {
        for (replace, expected) in [(Replace::redact(), ""), (Replace::with("n/a"), "n/a"), (Replace::with_info_type("BR_CPF"), "[BR_CPF]")] {
            for value in ["", "39053344705"] {
                let mut out = b"kept ".to_vec();
                replace.apply(value, &mut out).unwrap();
                assert_eq!(out, format!("kept {expected}").as_bytes());
            }
        }
    }

    #[test]
    fn truncates_between_characters() {
        for (length, value, expected) in [(3, "abcdef", "abc"), (2, "a\u{10348}b", "a\u{10348}"), (0, "abc", ""), (9, "abc", "abc")] {
            let mut out = Vec::new();
            Truncate::new(length).apply(value, &mut out).unwrap();
            assert_eq!(out, expected.as_bytes());
        }
    }
}
