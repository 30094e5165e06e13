//! Encodings of text files, and where a file does not keep to its own.
//!
//! | encoding | how it is read |
//! |---|---|
//! | UTF-8 | as it stands |
//! | ISO 8859-1, Windows-1252, code page 850 | as it stands: separators are ASCII in all three; cells become UTF-8 when they are typed, by [`Table`] |
//! | UTF-16 | brought to UTF-8 on the way in, by [`Utf16`]; what is no character becomes something that is not UTF-8 either, from which the file's own bytes can be had back |
//!
//! Nothing is ever replaced by U+FFFD and let pass: a record that is not text in its encoding is rejected, alone, with the bytes that the file has.
//! Byte order marks: that of the encoding is passed over, any other one is a refusal.
use super::decompress;
use crate::error::{Culprit, Failure, Result};
use crate::store::InputFile;
use perimeter_contract::job::Encoding;
use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::LazyLock;

/// How the bytes that a tokenizer sees stand to text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decoding {
    /// They are UTF-8.
    Utf8,
    /// A byte is a character.
    Table(&'static Table),
    /// They were UTF-16 and are UTF-8 now.
    Utf16 {
        /// In the file.
        big_endian: bool,
    },
}

/// An encoding of one byte a character; the first 128 are ASCII.
#[derive(Debug)]
pub(super) struct Table {
    characters: [Option<char>; 256],
    complete: bool,
}

impl Table {
    fn new(upper: impl Fn(u8) -> Option<char>) -> Self {
        let mut characters = [None; 256];
        for (byte, slot) in (0..=u8::MAX).zip(&mut characters) {
            *slot = if byte.is_ascii() { Some(char::from(byte)) } else { upper(byte) };
        }
        Self { complete: characters.iter().all(Option::is_some), characters }
    }

    fn character(&self, byte: u8) -> Option<char> {
        self.characters.get(usize::from(byte)).copied().flatten()
    }

    /// Appends bytes as UTF-8. One that is no character becomes U+FFFD: the caller rejects its record.
    pub(super) fn push(&self, bytes: &[u8], text: &mut Vec<u8>) {
        if bytes.is_ascii() {
            return text.extend_from_slice(bytes);
        }
        for byte in bytes {
            let character = self.character(*byte).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// As [`Table::push`], into a string, with the place of every byte in it and the string's end.
    pub(super) fn decode(&self, bytes: &[u8], text: &mut String, places: &mut Vec<u32>) {
        text.clear();
        places.clear();
        text.reserve(bytes.len() + bytes.len() / 2);
        places.reserve(bytes.len() + 1);
        for byte in bytes {
            places.push(text.len() as u32);
            text.push(self.character(*byte).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        places.push(text.len() as u32);
    }
}

static LATIN_1: LazyLock<Table> = LazyLock::new(|| Table::new(|byte| Some(char::from(byte))));

static WINDOWS_1252: LazyLock<Table> = LazyLock::new(|| {
    Table::new(|byte| {
        // The Web's table fills the five holes with control characters; nothing is assigned there.
        let assigned = !matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
        encoding_rs::WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next().filter(|_| assigned)
    })
});

static CP850: LazyLock<Table> =
    LazyLock::new(|| Table::new(|byte| oem_cp::decode_string_complete_table(&[byte], &oem_cp::code_table::DECODING_TABLE_CP850).chars().next()));

impl Decoding {
    pub(super) fn table(self) -> Option<&'static Table> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }

    /// Whether the bytes are text.
    pub(super) fn is_text(self, bytes: &[u8]) -> bool {
        match self {
            Self::Utf8 | Self::Utf16 { .. } => std::str::from_utf8(bytes).is_ok(),
            Self::Table(table) => table.complete || bytes.is_ascii() || bytes.iter().all(|byte| table.character(*byte).is_some()),
        }
    }

    /// The code of a record that is not.
    pub(super) fn code(self) -> &'static str {
        "invalid-encoding"
    }

    /// A record as it stands in the file.
    pub(super) fn raw(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Utf8 | Self::Table(_) => Cow::Borrowed(bytes),
            Self::Utf16 { big_endian } => Cow::Owned(to_utf16(bytes, big_endian)),
        }
    }

    /// A piece of a record as UTF-8, as far as it is text.
    pub(super) fn utf8(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self.table().filter(|_| !bytes.is_ascii()) {
            None => Cow::Borrowed(bytes),
            Some(table) => {
                let mut text = Vec::with_capacity(bytes.len() * 2);
                table.push(bytes, &mut text);
                Cow::Owned(text)
            }
        }
    }
}

/// A byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Utf8,
    Utf16 { big_endian: bool },
    Utf32,
}

fn mark(start: &[u8]) -> Option<(Mark, usize)> {
    match start {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some((Mark::Utf32, 4)),
        [0xef, 0xbb, 0xbf, ..] => Some((Mark::Utf8, 3)),
        [0xff, 0xfe, ..] => Some((Mark::Utf16 { big_endian: false }, 2)),
        [0xfe, 0xff, ..] => Some((Mark::Utf16 { big_endian: true }, 2)),
        _ => None,
    }
}

/// Bytes that [`begin`] looks at.
pub(super) const MARK_BYTES: usize = 4;

/// What the first bytes of a file say about its encoding: how it is read, and how many bytes the mark takes.
///
/// # Errors
/// Exit 2: a byte order mark of another encoding, or none where it must say which one.
pub(super) fn begin(file: &InputFile, encoding: Encoding, start: &[u8]) -> Result<(Decoding, usize)> {
    let mark = mark(start);
    let wrong = |what: &str| -> crate::error::Error {
        Failure::new(Culprit::File, "format-mismatch", format!("{} is not what the job says: it starts like {what}", file.label))
            .help("Set the source's `options: {encoding: …}` to what the file is, or convert it")
            .into()
    };
    // Letters with a zero beside each: as bytes of one each they would be text, with zeros in all cells.
    if mark.is_none() && !matches!(encoding, Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf16Be) {
        let letter = |byte: u8| byte.is_ascii_graphic();
        match *start {
            [a, 0, b, 0, ..] if letter(a) && letter(b) => return Err(wrong("UTF-16 text without a byte order mark: name `utf-16le`")),
            [0, a, 0, b, ..] if letter(a) && letter(b) => return Err(wrong("UTF-16 text without a byte order mark: name `utf-16be`")),
            _ => {}
        }
    }
    let utf16 = |wanted: bool| match mark {
        Some((Mark::Utf16 { big_endian }, length)) if big_endian == wanted => Ok((Decoding::Utf16 { big_endian }, length)),
        Some((Mark::Utf16 { .. }, _)) => Err(wrong("UTF-16 text of the other byte order")),
        Some((Mark::Utf8, _)) => Err(wrong("UTF-8 text")),
        Some((Mark::Utf32, _)) => Err(wrong("UTF-32 text")),
        None => Ok((Decoding::Utf16 { big_endian: wanted }, 0)),
    };
    match encoding {
        Encoding::Utf16 => match mark {
            Some((Mark::Utf16 { big_endian }, _)) => utf16(big_endian),
            Some(_) => utf16(false),
            None => Err(wrong("something without a byte order mark, so nobody can tell which UTF-16 it is: name `utf-16le` or `utf-16be`")),
        },
        Encoding::Utf16Le => utf16(false),
        Encoding::Utf16Be => utf16(true),
        Encoding::Utf8 => match mark {
            Some((Mark::Utf8, length)) => Ok((Decoding::Utf8, length)),
            Some((Mark::Utf16 { .. }, _)) => Err(wrong("UTF-16 text")),
            Some((Mark::Utf32, _)) => Err(wrong("UTF-32 text")),
            None => Ok((Decoding::Utf8, 0)),
        },
        Encoding::Latin1 | Encoding::Windows1252 | Encoding::Cp850 => match mark {
            Some((Mark::Utf8, _)) => Err(wrong("UTF-8 text")),
            Some((Mark::Utf16 { .. }, _)) => Err(wrong("UTF-16 text")),
            Some((Mark::Utf32, _)) => Err(wrong("UTF-32 text")),
            None => Ok((Decoding::Table(table(encoding)), 0)),
        },
    }
}

fn table(encoding: Encoding) -> &'static Table {
    match encoding {
        Encoding::Windows1252 => &WINDOWS_1252,
        Encoding::Cp850 => &CP850,
        _ => &LATIN_1,
    }
}

/// UTF-16 to UTF-8 while it is read. An unpaired surrogate becomes the three bytes that it would have, a half unit at the very end becomes [`HALF`] and its
/// own bits: neither is UTF-8.
pub(super) struct Utf16<R> {
    inner: R,
    big_endian: bool,
    /// Bytes of the file that are not yet a whole character.
    pending: Vec<u8>,
    out: Vec<u8>,
    given: usize,
    ended: bool,
}

/// Never a byte of UTF-8.
const HALF: u8 = 0xff;

impl<R: Read> Utf16<R> {
    pub(super) fn new(inner: R, big_endian: bool) -> Self {
        Self { inner, big_endian, pending: Vec::new(), out: Vec::new(), given: 0, ended: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        const BLOCK_BYTES: u64 = 64 << 10;
        self.out.clear();
        self.given = 0;
        while self.out.is_empty() && !self.ended {
            self.ended = (&mut self.inner).take(BLOCK_BYTES).read_to_end(&mut self.pending)? == 0;
            let taken = to_utf8(&self.pending, self.big_endian, self.ended, &mut self.out);
            self.pending.drain(..taken);
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() {
            self.refill()?;
        }
        let left = self.out.get(self.given..).unwrap_or_default();
        let n = left.len().min(into.len());
        if let (Some(into), Some(left)) = (into.get_mut(..n), left.get(..n)) {
            into.copy_from_slice(left);
        }
        self.given += n;
        Ok(n)
    }
}

/// Appends as much as can be told; how many bytes that were.
fn to_utf8(bytes: &[u8], big_endian: bool, ended: bool, out: &mut Vec<u8>) -> usize {
    let unit = |at: usize| -> Option<u16> {
        let pair = [*bytes.get(at)?, *bytes.get(at + 1)?];
        Some(if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
    };
    let mut at = 0;
    while let Some(first) = unit(at) {
        let code = match first {
            0..0x80 => {
                out.push(first as u8);
                at += 2;
                continue;
            }
            0xd800..=0xdbff => match unit(at + 2) {
                Some(second @ 0xdc00..=0xdfff) => {
                    at += 2;
                    0x10000 + ((u32::from(first) - 0xd800) << 10) + (u32::from(second) - 0xdc00)
                }
                None if !ended => return at,
                _ => u32::from(first),
            },
            other => u32::from(other),
        };
        at += 2;
        match char::from_u32(code) {
            Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend_from_slice(&[0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]),
        }
    }
    if ended && let Some(half) = bytes.get(at) {
        out.extend_from_slice(&[HALF, 0x80 | (half >> 4), 0x80 | (half & 0xf)]);
        at += 1;
    }
    at
}

/// The way back. Bytes that [`to_utf8`] never makes are left out.
fn to_utf16(bytes: &[u8], big_endian: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    let mut put = |unit: u16| out.extend_from_slice(&if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() });
    let mut half = None;
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let length = match *first {
            0..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 | HALF => 3,
            _ => 4,
        };
        let tail = |at: usize| after.get(at).map_or(0, |b| u32::from(b & 0x3f));
        let first = u32::from(*first);
        match length {
            1 => put(first as u16),
            2 => put(((first & 0x1f) << 6 | tail(0)) as u16),
            3 if first == u32::from(HALF) => half = Some((tail(0) << 4 | tail(1)) as u8),
            3 => put(((first & 0xf) << 12 | tail(0) << 6 | tail(1)) as u16),
            _ => {
                let code = ((first & 7) << 18 | tail(0) << 12 | tail(1) << 6 | tail(2)).saturating_sub(0x10000);
                put(0xd800 | (code >> 10 & 0x3ff) as u16);
                put(0xdc00 | (code & 0x3ff) as u16);
            }
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    out.extend(half);
    out
}

/// Reads the first bytes of a stream, and gives back those that are text.
pub(super) fn decoded(file: &InputFile, encoding: Encoding, mut bytes: Box<dyn Read + Send>) -> Result<(Decoding, Box<dyn Read + Send>)> {
    let mut start = Vec::with_capacity(MARK_BYTES);
    (&mut bytes).take(MARK_BYTES as u64).read_to_end(&mut start).map_err(|e| decompress::failure(file, e))?;
    let (decoding, length) = begin(file, encoding, &start)?;
    start.drain(..length);
    let text = io::Cursor::new(start).chain(bytes);
    Ok(match decoding {
        Decoding::Utf16 { big_endian } => (decoding, Box::new(Utf16::new(text, big_endian))),
        _ => (decoding, Box::new(text)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tables_are_those_of_the_standards() {
        for (encoding, byte, character) in [
            (Encoding::Latin1, 0xe7, 'ç'),
            (Encoding::Latin1, 0x80, '\u{80}'),
            (Encoding::Windows1252, 0x80, '€'),
            (Encoding::Windows1252, 0xe3, 'ã'),
            (Encoding::Cp850, 0x87, 'ç'),
            (Encoding::Cp850, 0xc6, 'ã'),
            (Encoding::Cp850, 0xff, '\u{a0}'),
        ] {
            assert_eq!(table(encoding).character(byte), Some(character), "{encoding:?} {byte:x}");
        }
        let holes: Vec<u8> = (0..=255).filter(|byte| table(Encoding::Windows1252).character(*byte).is_none()).collect();
        assert_eq!(holes, [0x81, 0x8d, 0x8f, 0x90, 0x9d]);
        for encoding in [Encoding::Latin1, Encoding::Cp850] {
            let all: std::collections::BTreeSet<_> = (0..=255).map(|byte| table(encoding).character(byte).unwrap()).collect();
            assert_eq!(all.len(), 256, "{encoding:?}");
        }
    }

    proptest! {
        /// Any bytes: the way there and back, whatever the reads, and UTF-8 exactly where it was UTF-16.
        #[test]
        fn any_bytes_survive(units in prop::collection::vec(prop_oneof![Just(0xd800u16), Just(0xdc00), Just(10), any::<u16>()], 0..40), odd: Option<u8>, big_endian: bool, piece in 1usize..9) {
            let mut bytes: Vec<u8> = units.iter().flat_map(|u| if big_endian { u.to_be_bytes() } else { u.to_le_bytes() }).collect();
            bytes.extend(odd);
            struct Pieces(io::Cursor<Vec<u8>>, usize);
            impl Read for Pieces {
                fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                    let n = self.1.min(into.len());
                    self.0.read(&mut into[..n])
                }
            }
            let mut text = Vec::new();
            Utf16::new(Pieces(io::Cursor::new(bytes.clone()), piece), big_endian).read_to_end(&mut text).unwrap();
            prop_assert_eq!(std::str::from_utf8(&text).is_ok(), odd.is_none() && String::from_utf16(&units).is_ok());
            prop_assert_eq!(to_utf16(&text, big_endian), bytes);
        }
    }
}
