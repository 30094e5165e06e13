//! Cutting a text into words.

use crate::words::{Word, fold, look_up_folded};

/// A run of letters, digits and combining marks.
#[derive(Clone, Copy)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) word: Word,
    pub(super) ascii: bool,
    digits: bool,
    letters: bool,
    /// Begins with a capital letter.
    pub(super) capital: bool,
    /// Has a lower-case letter.
    pub(super) lower: bool,
}

impl Token {
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(super) fn has_digit(&self) -> bool {
        self.digits
    }

    /// Digits alone.
    pub(super) fn is_number(&self) -> bool {
        self.digits && !self.letters
    }

    /// Letters alone.
    pub(super) fn is_alphabetic(&self) -> bool {
        self.letters && !self.digits
    }
}

/// Fills `tokens` with the words of the text and `triggers` with the places of `@` and `://`.
pub(super) fn cut(text: &str, tokens: &mut Vec<Token>, triggers: &mut Vec<usize>) {
    tokens.clear();
    triggers.clear();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii() {
            if byte.is_ascii_alphanumeric() {
                at = word(text, at, tokens);
            } else {
                if byte == b'@' || byte == b':' && bytes[at..].starts_with(b"://") {
                    triggers.push(at);
                }
                at += 1;
            }
        } else {
            let character = text[at..].chars().next().unwrap_or_default();
            if character.is_alphanumeric() { at = word(text, at, tokens) } else { at += character.len_utf8() }
        }
    }
}

/// Takes the word at `start`; where it ends.
fn word(text: &str, start: usize, tokens: &mut Vec<Token>) -> usize {
    let bytes = text.as_bytes();
    let mut token = Token { start, end: start, word: Word::default(), ascii: true, digits: false, letters: false, capital: false, lower: false };
    let mut folded = [0u8; 32];
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_alphanumeric() {
            if byte.is_ascii_digit() {
                token.digits = true;
            } else {
                token.letters = true;
                token.lower |= byte.is_ascii_lowercase();
                token.capital |= at == start && byte.is_ascii_uppercase();
            }
            if let Some(place) = folded.get_mut(at - start) {
                *place = byte.to_ascii_lowercase();
            }
            at += 1;
        } else if byte.is_ascii() {
            break;
        } else {
            let character = text[at..].chars().next().unwrap_or_default();
            let mark = matches!(character, '\u{300}'..='\u{36f}');
            if !mark && !character.is_alphanumeric() {
                break;
            }
            token.ascii = false;
            token.letters = true;
            token.lower |= character.is_lowercase();
            token.capital |= at == start && character.is_uppercase();
            at += character.len_utf8();
        }
    }
    token.end = at;
    if token.letters && (!token.digits || token.len() <= 8) && token.len() >= 2 || token.letters && token.len() == 1 {
        let found = if token.ascii {
            folded.get(..token.len()).and_then(|word| std::str::from_utf8(word).ok()).and_then(look_up_folded)
        } else {
            let mut buffer = [0; 32];
            fold(&text[start..at], &mut buffer).and_then(look_up_folded)
        };
        token.word = found.unwrap_or_default();
    }
    tokens.push(token);
    at
}
