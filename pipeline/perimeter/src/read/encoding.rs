//! Text of other encodings, as UTF-8, while it is read.
//!
//! What an encoding does not have (an unassigned byte, half a surrogate pair, half a UTF-16 unit at the end) becomes the byte 0xFF, which is in no UTF-8 text: the
//! record that holds it is then found to be no text and rejected as `invalid-encoding`, it alone. Nothing becomes U+FFFD.
use encoding_rs::{Decoder, DecoderResult, UTF_16BE, UTF_16LE, WINDOWS_1252};
use perimeter_contract::job::Encoding;
use std::io::{self, ErrorKind, Read};

/// Stands for what cannot be decoded.
const UNDECODABLE: u8 = 0xFF;
/// One read of the encoded bytes.
const BLOCK_BYTES: usize = 64 << 10;

/// Why a stream cannot be of its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// `utf-16` without a byte order mark.
    NoByteOrderMark,
    /// A byte order mark of another encoding.
    OtherByteOrderMark,
}

/// Whether every byte of the encoding is one character, and ASCII is ASCII: files of such an encoding can be cut at any record.
pub(super) fn is_single_byte(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Latin1 | Encoding::Windows1252 | Encoding::Cp850)
}

/// The code of a record that is no text of its encoding.
pub(super) fn undecodable_code(encoding: Encoding) -> &'static str {
    if encoding == Encoding::Utf8 { "invalid-utf8" } else { "invalid-encoding" }
}

/// How many bytes of the start are a byte order mark, and which byte order `utf-16` has.
///
/// # Errors
/// The start contradicts the encoding.
pub(super) fn settle(encoding: Encoding, start: &[u8]) -> Result<(Encoding, usize), Mismatch> {
    let mark = [(Encoding::Utf8, b"\xef\xbb\xbf".as_slice()), (Encoding::Utf16Le, b"\xff\xfe"), (Encoding::Utf16Be, b"\xfe\xff")]
        .into_iter()
        .find(|(_, mark)| start.starts_with(mark))
        .map(|(of, mark)| (of, mark.len()));
    match (encoding, mark) {
        (Encoding::Utf16, Some((Encoding::Utf8, _))) => Err(Mismatch::OtherByteOrderMark),
        (Encoding::Utf16, Some(found)) => Ok(found),
        (Encoding::Utf16, None) => Err(Mismatch::NoByteOrderMark),
        // UTF-16 marks in a UTF-8 file: the refusal by file format names them.
        (Encoding::Utf8, Some((Encoding::Utf8, length))) => Ok((Encoding::Utf8, length)),
        (Encoding::Utf8, _) => Ok((Encoding::Utf8, 0)),
        (encoding, Some((of, length))) if of == encoding => Ok((encoding, length)),
        // In code pages the bytes of a UTF-16 mark are letters; those of UTF-8's never begin a text of theirs.
        (encoding, Some((of, _))) if !is_single_byte(encoding) || of == Encoding::Utf8 => Err(Mismatch::OtherByteOrderMark),
        (encoding, _) => Ok((encoding, 0)),
    }
}

/// A stream of UTF-8 over one of another encoding. `encoding` as [`settle`] says.
pub(super) struct Transcoded<R> {
    inner: R,
    from: From,
    input: Vec<u8>,
    out: Vec<u8>,
    at: usize,
    ended: bool,
}

enum From {
    /// UTF-8 of the bytes from 0x80 on.
    Table(Box<[[u8; 4]; 128]>),
    Utf16(Decoder),
}

impl<R: Read> Transcoded<R> {
    /// `None`: the stream is UTF-8 already.
    pub(super) fn new(inner: R, encoding: Encoding) -> Result<Self, R> {
        let from = match encoding {
            Encoding::Utf8 => return Err(inner),
            Encoding::Utf16 | Encoding::Utf16Le => From::Utf16(UTF_16LE.new_decoder_without_bom_handling()),
            Encoding::Utf16Be => From::Utf16(UTF_16BE.new_decoder_without_bom_handling()),
            Encoding::Latin1 => From::Table(table(|byte| Some(char::from(byte)))),
            Encoding::Windows1252 => From::Table(table(windows_1252)),
            Encoding::Cp850 => From::Table(table(|byte| oem_cp::code_table::DECODING_TABLE_CP850.get(usize::from(byte) - 128).copied())),
        };
        Ok(Self { inner, from, input: vec![0; BLOCK_BYTES], out: Vec::new(), at: 0, ended: false })
    }

    fn fill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.at = 0;
        while self.out.is_empty() && !self.ended {
            let got = loop {
                match self.inner.read(&mut self.input) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    other => break other?,
                }
            };
            self.ended = got == 0;
            let mut bytes = self.input.get(..got).unwrap_or_default();
            match &mut self.from {
                From::Table(table) => {
                    for &byte in bytes {
                        match table.get(usize::from(byte).wrapping_sub(128)) {
                            None => self.out.push(byte),
                            Some([UNDECODABLE, ..]) => self.out.push(UNDECODABLE),
                            Some(utf8) => self.out.extend(utf8.iter().take_while(|byte| **byte != 0)),
                        }
                    }
                }
                From::Utf16(decoder) => loop {
                    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(4 * BLOCK_BYTES);
                    let written = self.out.len();
                    self.out.resize(written + room, 0);
                    let target = self.out.get_mut(written..).unwrap_or_default();
                    let (result, read, wrote) = decoder.decode_to_utf8_without_replacement(bytes, target, self.ended);
                    self.out.truncate(written + wrote);
                    bytes = bytes.get(read..).unwrap_or_default();
                    match result {
                        DecoderResult::InputEmpty => break,
                        DecoderResult::OutputFull => {}
                        DecoderResult::Malformed(..) => self.out.push(UNDECODABLE),
                    }
                },
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Transcoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.out.len() {
            self.fill()?;
        }
        let ready = self.out.get(self.at..).unwrap_or_default();
        let count = ready.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), ready.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}

fn table(character: impl Fn(u8) -> Option<char>) -> Box<[[u8; 4]; 128]> {
    let mut table = Box::new([[0; 4]; 128]);
    for (byte, utf8) in (128u8..=255).zip(table.iter_mut()) {
        match character(byte) {
            Some(character) => {
                character.encode_utf8(utf8);
            }
            None => *utf8 = [UNDECODABLE, 0, 0, 0],
        }
    }
    table
}

/// The WHATWG table, which gives the five unassigned bytes to control characters; here they are none.
fn windows_1252(byte: u8) -> Option<char> {
    if matches!(byte, 0x81 | 0x8D | 0x8F | 0x90 | 0x9D) {
        return None;
    }
    WINDOWS_1252.decode_without_bom_handling(&[byte]).0.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf8(encoding: Encoding, bytes: &[u8], step: usize) -> Vec<u8> {
        struct Steps<'a>(&'a [u8], usize);
        impl Read for Steps<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let n = self.0.len().min(self.1).min(out.len());
                out[..n].copy_from_slice(&self.0[..n]);
                self.0 = &self.0[n..];
                Ok(n)
            }
        }
        let mut out = Vec::new();
        let Ok(mut stream) = Transcoded::new(Steps(bytes, step), encoding) else { panic!("UTF-8") };
        stream.read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn code_pages_give_their_letters() {
        for (encoding, bytes, text) in [
            (Encoding::Latin1, b"S\xe3o Jo\xe3o \xa3 \x80".as_slice(), "São João £ \u{80}"),
            (Encoding::Windows1252, b"S\xe3o \x80 \x93x\x94", "São € “x”"),
            (Encoding::Cp850, b"S\xc6o \x87\x84 \x9c", "São çä £"),
        ] {
            for step in [1, 3, 1000] {
                assert_eq!(String::from_utf8(utf8(encoding, bytes, step)).unwrap(), text);
            }
        }
        for byte in [0x81, 0x8D, 0x8F, 0x90, 0x9D] {
            assert_eq!(utf8(Encoding::Windows1252, &[b'a', byte, b'b'], 1), [b'a', 0xFF, b'b']);
        }
        // Every byte is one character: what cutting files relies on.
        let all: Vec<u8> = (0..=255).collect();
        for encoding in [Encoding::Latin1, Encoding::Windows1252, Encoding::Cp850] {
            assert_eq!(utf8(encoding, &all, 7).iter().filter(|b| !(0x80..0xC0).contains(*b)).count(), 256);
        }
    }

    #[test]
    fn utf_16_is_read_in_any_pieces_and_halves_are_undecodable() {
        let text = "id;nome\n1;São 😀\n";
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for step in [1, 2, 3, 1000] {
            assert_eq!(utf8(Encoding::Utf16Le, &le, step), text.as_bytes());
            assert_eq!(utf8(Encoding::Utf16Be, &be, step), text.as_bytes());
        }
        // A high surrogate alone, a low one alone, half a unit at the end.
        assert_eq!(utf8(Encoding::Utf16Be, b"\0a\xd8\x3d\0b", 1), b"a\xffb");
        assert_eq!(utf8(Encoding::Utf16Be, b"\0a\xde\0\0b", 2), b"a\xffb");
        assert_eq!(utf8(Encoding::Utf16Be, b"\0a\0", 3), b"a\xff");
    }

    #[test]
    fn byte_order_marks_decide_or_contradict() {
        use Encoding::{Cp850, Latin1, Utf8, Utf16, Utf16Be, Utf16Le};
        for (encoding, start, settled) in [
            (Utf8, b"\xef\xbb\xbfid".as_slice(), Ok((Utf8, 3))),
            (Utf8, b"id,n", Ok((Utf8, 0))),
            (Utf16, b"\xff\xfei\0", Ok((Utf16Le, 2))),
            (Utf16, b"\xfe\xff\0i", Ok((Utf16Be, 2))),
            (Utf16, b"i\0d\0", Err(Mismatch::NoByteOrderMark)),
            (Utf16, b"\xef\xbb\xbfi", Err(Mismatch::OtherByteOrderMark)),
            (Utf16Le, b"i\0d\0", Ok((Utf16Le, 0))),
            (Utf16Le, b"\xff\xfei\0", Ok((Utf16Le, 2))),
            (Utf16Le, b"\xfe\xff\0i", Err(Mismatch::OtherByteOrderMark)),
            (Latin1, b"\xef\xbb\xbfi", Err(Mismatch::OtherByteOrderMark)),
            (Latin1, b"\xff\xfeid", Ok((Latin1, 0))),
            (Cp850, b"id", Ok((Cp850, 0))),
        ] {
            assert_eq!(settle(encoding, start), settled, "{encoding:?} {start:?}");
        }
    }
}
