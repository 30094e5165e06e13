//! The characters that FF1 works on.
use std::fmt;

/// What is neither a character of the alphabet nor a separator.
pub(super) const FOREIGN: u8 = u8::MAX;
/// What stays where it is: ASCII punctuation and the space, unless the alphabet has them.
pub(super) const SEPARATOR: u8 = u8::MAX - 1;

/// 2 to 95 printable ASCII characters; each stands for the number of its place.
#[derive(Clone, PartialEq, Eq)]
pub struct Alphabet {
    characters: Box<[u8]>,
    /// By byte: the numeral, [`SEPARATOR`] or [`FOREIGN`].
    table: Box<[u8; 256]>,
}

/// The alphabets that have a name.
const NAMED: [(&str, &str); 9] = [
    ("digits", "0123456789"),
    ("hexLower", "0123456789abcdef"),
    ("hexUpper", "0123456789ABCDEF"),
    ("lowerLetters", "abcdefghijklmnopqrstuvwxyz"),
    ("upperLetters", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("letters", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    ("lowerAlphanumeric", "0123456789abcdefghijklmnopqrstuvwxyz"),
    ("upperAlphanumeric", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("alphanumeric", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
];

/// Why characters are no alphabet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an alphabet is 2 to 95 printable ASCII characters, each of them once")]
pub struct BadAlphabet;

impl Alphabet {
    /// The alphabet of a name: `digits`, `hexLower`, `hexUpper`, `lowerLetters`, `upperLetters`, `letters`, `lowerAlphanumeric`,
    /// `upperAlphanumeric` or `alphanumeric`.
    pub fn named(name: &str) -> Option<Self> {
        NAMED.iter().find(|(known, _)| *known == name).and_then(|(_, characters)| Self::custom(characters).ok())
    }

    /// All names, for messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// An alphabet of the caller's. The order of the characters is part of the tokens' identity.
    ///
    /// # Errors
    /// [`BadAlphabet`].
    pub fn custom(characters: &str) -> Result<Self, BadAlphabet> {
        if !(2..=95).contains(&characters.len()) {
            return Err(BadAlphabet);
        }
        let mut table = Box::new([FOREIGN; 256]);
        for byte in (b' '..=b'~').filter(|byte| *byte == b' ' || byte.is_ascii_punctuation()) {
            table[usize::from(byte)] = SEPARATOR;
        }
        for (numeral, byte) in (0..).zip(characters.bytes()) {
            let place = &mut table[usize::from(byte)];
            if !(b' '..=b'~').contains(&byte) || *place < SEPARATOR {
                return Err(BadAlphabet);
            }
            *place = numeral;
        }
        Ok(Self { characters: characters.as_bytes().into(), table })
    }

    /// The ten digits.
    pub fn digits() -> Self {
        // The name is one of the list.
        Self::named("digits").unwrap_or(Self { characters: Box::new([]), table: Box::new([FOREIGN; 256]) })
    }

    /// How many characters it has.
    pub fn radix(&self) -> u32 {
        self.characters.len() as u32
    }

    /// Whether a byte is one of its characters.
    pub fn contains(&self, byte: u8) -> bool {
        self.place(byte) < SEPARATOR
    }

    /// The numeral of a byte, [`SEPARATOR`] or [`FOREIGN`].
    #[inline]
    pub(super) fn place(&self, byte: u8) -> u8 {
        self.table[usize::from(byte)]
    }

    /// The character of a numeral, which is below the radix.
    #[inline]
    pub(super) fn character(&self, numeral: u16) -> u8 {
        self.characters.get(usize::from(numeral)).copied().unwrap_or(b'?')
    }

    pub(super) fn characters(&self) -> &[u8] {
        &self.characters
    }
}

impl fmt::Debug for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMED.iter().find(|(_, characters)| characters.as_bytes() == &*self.characters) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "custom alphabet of {}", self.radix()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_and_custom() {
        for name in Alphabet::names() {
            let alphabet = Alphabet::named(name).unwrap();
            assert_eq!(format!("{alphabet:?}"), name);
            for numeral in 0..alphabet.radix() as u16 {
                assert_eq!(u16::from(alphabet.place(alphabet.character(numeral))), numeral);
            }
        }
        assert_eq!((Alphabet::digits().radix(), Alphabet::named("letters").unwrap().radix()), (10, 52));
        let all: String = (' '..='~').collect();
        assert_eq!(Alphabet::custom(&all).unwrap().radix(), 95);
        for bad in ["", "a", "aa", "abca", "a\u{e9}", "a\n", &format!("{all}a")] {
            assert_eq!(Alphabet::custom(bad), Err(BadAlphabet), "{bad}");
        }
        assert_eq!((Alphabet::digits().place(b'-'), Alphabet::digits().place(b'a')), (SEPARATOR, FOREIGN));
        assert_eq!(Alphabet::custom("-+").unwrap().place(b'+'), 1, "what the alphabet has is no separator");
    }
}
