//! Authenticated encryption of files as a stream: what the quarantine is written with.
//!
//! The STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár 2015) as the age format uses it, over AES-256-GCM: chunks of 64 KiB,
//! each under a nonce of its number (88 bit, big-endian) and a byte that is 1 for the last chunk only. A file that was cut, extended,
//! reordered, spliced with another or altered does not open, and a reader gets no byte of a chunk before it is authenticated.
//!
//! ```text
//! magic "perimSL" and format version 1 (8 bytes) | key version (4, big-endian) | salt (32) | commitment (32) | chunks
//! ```
//!
//! The file key and the commitment come from the root key by HKDF-SHA256 with the random salt; the additional data of the caller
//! (which dataset, run, file) and the header are bound into them. So a file key encrypts one file, and the limits of 96-bit nonces do
//! not matter.
use crate::Secret;
use crate::derive::{Label, RootKey, expand, push};
use crate::secret::fill_random;
use aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use std::fmt;
use std::io::{self, Read, Write};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

const MAGIC: [u8; 8] = *b"perimSL\x01";
const SALT_BYTES: usize = 32;
const COMMITMENT_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
const CHUNK_BYTES: usize = 64 << 10;
const SALT_AT: usize = MAGIC.len() + 4;
const COMMITMENT_AT: usize = SALT_AT + SALT_BYTES;

/// Bytes in front of the first chunk.
pub const HEADER_BYTES: usize = COMMITMENT_AT + COMMITMENT_BYTES;

/// Why a sealed file does not open. Reading gives an [`io::Error`] of kind `InvalidData` around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Not a sealed file, or of a format version that is not known here.
    #[error("this is no sealed file")]
    NotSealed,
    /// Sealed under another version of the key.
    #[error("the file was sealed with version {version} of the key")]
    OtherVersion {
        /// The one it names.
        version: u32,
    },
    /// Another key or other additional data, or the file was altered or cut.
    #[error("the sealed file does not open")]
    Rejected,
    /// More chunks than numbers for them: 2^88.
    #[error("the file is too long to seal")]
    TooLong,
}

impl From<SealError> for io::Error {
    fn from(error: SealError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// The key version that a sealed file names, from its first [`HEADER_BYTES`], to find the root key that opens it.
///
/// # Errors
/// [`SealError::NotSealed`].
pub fn sealed_version(header: &[u8]) -> Result<u32, SealError> {
    let header: &[u8; HEADER_BYTES] = header.get(..HEADER_BYTES).and_then(|header| header.try_into().ok()).ok_or(SealError::NotSealed)?;
    match *header {
        [m0, m1, m2, m3, m4, m5, m6, m7, a, b, c, d, ..] if [m0, m1, m2, m3, m4, m5, m6, m7] == MAGIC => Ok(u32::from_be_bytes([a, b, c, d])),
        _ => Err(SealError::NotSealed),
    }
}

/// The keys of one file, and the number of the next chunk.
struct Chunks {
    cipher: Aes256Gcm,
    next: u128,
}

impl Chunks {
    /// The cipher of the file that `head` (magic, version, salt) begins, and its commitment.
    fn new(root: &RootKey, aad: &[u8], head: &[u8; COMMITMENT_AT]) -> (Self, [u8; COMMITMENT_BYTES]) {
        let seal_key: Secret<32> = root.derive("", Label::Seal);
        let mut info = Vec::with_capacity(128);
        push(&mut info, &head[..SALT_AT]);
        push(&mut info, aad);
        let keys: Secret<64> = expand(Some(&head[SALT_AT..]), seal_key.expose(), &info);
        let (file_key, commitment) = keys.expose().split_at(32);
        let (mut key, mut committed) = (Zeroizing::new([0; 32]), [0; COMMITMENT_BYTES]);
        key.copy_from_slice(file_key);
        committed.copy_from_slice(commitment);
        (Self { cipher: Aes256Gcm::new((&*key).into()), next: 0 }, committed)
    }

    fn nonce(&mut self, last: bool) -> Result<Nonce<aead::consts::U12>, SealError> {
        let number = self.next;
        if number >> 88 != 0 {
            return Err(SealError::TooLong);
        }
        self.next = number + 1;
        let mut nonce = [0; 12];
        nonce[..11].copy_from_slice(&number.to_be_bytes()[5..]);
        nonce[11] = last.into();
        Ok(nonce.into())
    }
}

/// Encrypts what is written to it.
///
/// [`Sealer::finish`] must be called: without it the last chunk is missing, and a file without its last chunk does not open.
pub struct Sealer<W: Write> {
    writer: W,
    chunks: Chunks,
    /// Plaintext of the chunk in the making; a full one waits until it is known whether it is the last.
    buffer: Zeroizing<Vec<u8>>,
    failed: bool,
}

impl<W: Write> Sealer<W> {
    /// Writes the header to `writer`. `aad` is what the reader must know and give as well; it is not stored.
    ///
    /// # Errors
    /// I/O errors of `writer`, or no entropy for the salt.
    pub fn new(root: &RootKey, aad: &[u8], mut writer: W) -> io::Result<Self> {
        let mut head = [0; COMMITMENT_AT];
        head[..MAGIC.len()].copy_from_slice(&MAGIC);
        head[MAGIC.len()..SALT_AT].copy_from_slice(&root.version().to_be_bytes());
        fill_random(&mut head[SALT_AT..]).map_err(io::Error::other)?;
        let (chunks, commitment) = Chunks::new(root, aad, &head);
        writer.write_all(&head)?;
        writer.write_all(&commitment)?;
        Ok(Self { writer, chunks, buffer: Zeroizing::new(Vec::with_capacity(CHUNK_BYTES)), failed: false })
    }

    /// Writes the last chunk, flushes, and gives the writer back.
    ///
    /// # Errors
    /// I/O errors of the writer, also those of an earlier write.
    pub fn finish(mut self) -> io::Result<W> {
        self.emit(true)?;
        self.writer.flush()?;
        Ok(self.writer)
    }

    fn emit(&mut self, last: bool) -> io::Result<()> {
        if self.failed {
            // A chunk may have been written in part: whatever follows would not open.
            return Err(io::Error::other("an earlier write of this sealed file failed"));
        }
        self.failed = true;
        let nonce = self.chunks.nonce(last)?;
        let tag = self.chunks.cipher.encrypt_inout_detached(&nonce, b"", self.buffer.as_mut_slice().into()).map_err(|_| SealError::TooLong)?;
        self.writer.write_all(&self.buffer)?;
        self.writer.write_all(&tag)?;
        self.buffer.clear();
        self.failed = false;
        Ok(())
    }
}

impl<W: Write> Write for Sealer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() == CHUNK_BYTES && !bytes.is_empty() {
            self.emit(false)?;
        }
        let taken = bytes.len().min(CHUNK_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Flushes the writer below. The chunk in the making stays: only full chunks can be written before the end.
    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl<W: Write> fmt::Debug for Sealer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("chunk", &self.chunks.next).finish_non_exhaustive()
    }
}

/// Reads the header of a sealed file and gives a reader of what was sealed.
///
/// # Errors
/// I/O errors of `reader`, and [`SealError`] within an [`io::Error`].
pub fn open<R: Read>(root: &RootKey, aad: &[u8], mut reader: R) -> io::Result<Opener<R>> {
    let mut header = [0; HEADER_BYTES];
    reader.read_exact(&mut header).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => SealError::NotSealed.into(),
        _ => error,
    })?;
    let version = sealed_version(&header)?;
    if version != root.version() {
        return Err(SealError::OtherVersion { version }.into());
    }
    let (head, stored) = header.split_first_chunk::<COMMITMENT_AT>().ok_or(SealError::NotSealed)?;
    let (chunks, commitment) = Chunks::new(root, aad, head);
    if !bool::from(commitment.ct_eq(stored)) {
        return Err(SealError::Rejected.into());
    }
    Ok(Opener { reader, chunks, buffer: Zeroizing::new(vec![0; CHUNK_BYTES + TAG_BYTES + 1]), ahead: 0, plain: 0..0, state: OpenState::Reading })
}

/// Reads what was sealed; made by [`open`]. An error is final, and so is the end: it is reached only behind an authentic last chunk.
pub struct Opener<R: Read> {
    reader: R,
    chunks: Chunks,
    /// A chunk with its tag, and one byte more, which tells whether it is the last.
    buffer: Zeroizing<Vec<u8>>,
    /// Bytes of the next chunk that are in the last place of the buffer: 0 or 1.
    ahead: usize,
    /// Authenticated plaintext that was not handed out yet.
    plain: std::ops::Range<usize>,
    state: OpenState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenState {
    Reading,
    Finished,
    Failed,
}

impl<R: Read> Opener<R> {
    /// Reads and authenticates one chunk.
    fn fill(&mut self) -> io::Result<()> {
        let full = CHUNK_BYTES + TAG_BYTES;
        let mut length = self.ahead;
        if self.ahead == 1 {
            self.buffer[0] = self.buffer[full];
        }
        while length <= full {
            match self.reader.read(&mut self.buffer[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let last = length <= full;
        self.ahead = usize::from(!last);
        let chunk = length.min(full);
        let plain = chunk.checked_sub(TAG_BYTES).ok_or(SealError::Rejected)?;
        // An empty chunk is written for an empty file only.
        if plain == 0 && self.chunks.next != 0 {
            return Err(SealError::Rejected.into());
        }
        let nonce = self.chunks.nonce(last)?;
        let (text, tag) = self.buffer[..chunk].split_at_mut(plain);
        let tag = Tag::try_from(&*tag).map_err(|_| SealError::Rejected)?;
        self.chunks.cipher.decrypt_inout_detached(&nonce, b"", text.into(), &tag).map_err(|_| SealError::Rejected)?;
        self.plain = 0..plain;
        if last {
            self.state = OpenState::Finished;
        }
        Ok(())
    }
}

impl<R: Read> Read for Opener<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if self.plain.is_empty() {
            match self.state {
                OpenState::Finished => return Ok(0),
                OpenState::Failed => return Err(SealError::Rejected.into()),
                OpenState::Reading => self.fill().inspect_err(|_| {
                    self.state = OpenState::Failed;
                    self.buffer.zeroize();
                })?,
            }
        }
        let taken = out.len().min(self.plain.len());
        out[..taken].copy_from_slice(&self.buffer[self.plain.start..self.plain.start + taken]);
        self.plain.start += taken;
        Ok(taken)
    }
}

impl<R: Read> fmt::Debug for Opener<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("chunk", &self.chunks.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(version: u32) -> RootKey {
        RootKey::new(Secret::from_slice(&[9; 32]).unwrap(), "person", version)
    }

    fn sealed(plain: &[u8]) -> Vec<u8> {
        let mut sealer = Sealer::new(&root(1), b"run 1", Vec::new()).unwrap();
        sealer.write_all(plain).unwrap();
        sealer.finish().unwrap()
    }

    fn opened(root: &RootKey, aad: &[u8], bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        open(root, aad, bytes)?.read_to_end(&mut plain)?;
        Ok(plain)
    }

    fn why(error: &io::Error) -> SealError {
        *error.get_ref().unwrap().downcast_ref().unwrap()
    }

    fn plain(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
    }

    #[test]
    fn every_length_around_a_chunk() {
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 3 * CHUNK_BYTES + 17] {
            let bytes = sealed(&plain(length));
            assert_eq!(bytes.len(), HEADER_BYTES + length + length.div_ceil(CHUNK_BYTES).max(1) * TAG_BYTES);
            assert_eq!(opened(&root(1), b"run 1", &bytes).unwrap(), plain(length));
            // A reader that gives one byte at a time.
            struct Slow<'a>(&'a [u8]);
            impl Read for Slow<'_> {
                fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                    let wanted = out.len().min(1);
                    self.0.read(&mut out[..wanted])
                }
            }
            let mut slow = Vec::new();
            open(&root(1), b"run 1", Slow(&bytes)).unwrap().read_to_end(&mut slow).unwrap();
            assert_eq!(slow, plain(length));
        }
    }

    #[test]
    fn small_writes_make_the_same_plaintext() {
        let mut sealer = Sealer::new(&root(1), b"", Vec::new()).unwrap();
        for piece in plain(200_000).chunks(977) {
            sealer.write_all(piece).unwrap();
            sealer.flush().unwrap();
        }
        assert_eq!(opened(&root(1), b"", &sealer.finish().unwrap()).unwrap(), plain(200_000));
    }

    #[test]
    fn no_cut_opens() {
        let bytes = sealed(&plain(2 * CHUNK_BYTES + 5));
        let chunk = CHUNK_BYTES + TAG_BYTES;
        let boundaries = [0, 1, 7, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 1, HEADER_BYTES + TAG_BYTES, HEADER_BYTES + chunk, HEADER_BYTES + 2 * chunk];
        for cut in boundaries.into_iter().chain((HEADER_BYTES..bytes.len()).step_by(4099)).chain([bytes.len() - 1]) {
            assert!(opened(&root(1), b"run 1", &bytes[..cut]).is_err(), "cut at {cut}");
        }
        // Dropped without `finish`.
        let mut unfinished = Vec::new();
        let mut sealer = Sealer::new(&root(1), b"run 1", &mut unfinished).unwrap();
        sealer.write_all(&plain(3 * CHUNK_BYTES)).unwrap();
        drop(sealer);
        assert!(opened(&root(1), b"run 1", &unfinished).is_err());
    }

    #[test]
    fn nothing_altered_reordered_or_extended_opens() {
        let bytes = sealed(&plain(3 * CHUNK_BYTES));
        let chunk = CHUNK_BYTES + TAG_BYTES;
        for index in (0..HEADER_BYTES).chain((HEADER_BYTES..bytes.len()).step_by(1021)).chain([bytes.len() - 1]) {
            let mut altered = bytes.clone();
            altered[index] ^= 1;
            assert!(opened(&root(1), b"run 1", &altered).is_err(), "flipped at {index}");
        }
        let part = |index: usize| &bytes[HEADER_BYTES + index * chunk..HEADER_BYTES + (index + 1) * chunk];
        let header = &bytes[..HEADER_BYTES];
        let other = sealed(&plain(3 * CHUNK_BYTES));
        for altered in [
            [header, part(1), part(0), part(2)].concat(),
            [header, part(0), part(2)].concat(),
            [header, part(2)].concat(),
            [header, part(0), part(1), part(2), part(2)].concat(),
            [&bytes[..], b"x"].concat(),
            [&bytes[..], &[0; TAG_BYTES]].concat(),
            [header, part(0), &other[HEADER_BYTES + chunk..]].concat(),
            [&other[..HEADER_BYTES], part(0), part(1), part(2)].concat(),
        ] {
            assert_eq!(why(&opened(&root(1), b"run 1", &altered).unwrap_err()), SealError::Rejected);
        }
    }

    #[test]
    fn a_chunk_is_authentic_before_it_is_read() {
        let mut bytes = sealed(&plain(2 * CHUNK_BYTES));
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let mut reader = open(&root(1), b"run 1", &bytes[..]).unwrap();
        let mut first = vec![0; CHUNK_BYTES];
        reader.read_exact(&mut first).unwrap();
        assert_eq!(first, plain(2 * CHUNK_BYTES)[..CHUNK_BYTES]);
        let mut rest = [0xEE; 16];
        for _ in 0..2 {
            assert_eq!(why(&reader.read(&mut rest).unwrap_err()), SealError::Rejected, "and stays so");
            assert_eq!(rest, [0xEE; 16]);
        }
    }

    #[test]
    fn other_keys_and_contexts_do_not_open() {
        let bytes = sealed(b"rows");
        assert_eq!(sealed_version(&bytes), Ok(1));
        assert_eq!(why(&opened(&root(2), b"run 1", &bytes).unwrap_err()), SealError::OtherVersion { version: 1 });
        assert_eq!(why(&opened(&root(1), b"run 2", &bytes).unwrap_err()), SealError::Rejected);
        let stranger = RootKey::new(Secret::from_slice(&[8; 32]).unwrap(), "person", 1);
        assert_eq!(why(&opened(&stranger, b"run 1", &bytes).unwrap_err()), SealError::Rejected);
        assert_eq!(why(&opened(&root(1), b"run 1", b"PAR1").unwrap_err()), SealError::NotSealed);
        assert_eq!(why(&opened(&root(1), b"run 1", &[0; 200]).unwrap_err()), SealError::NotSealed);
        assert_ne!(sealed(b"rows"), bytes, "a fresh salt every time");
    }

    #[test]
    fn a_failed_write_is_never_forgotten() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let taken = bytes.len().min(self.0);
                self.0 -= taken;
                if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut sealer = Sealer::new(&root(1), b"", Full(HEADER_BYTES + 100)).unwrap();
        assert!(sealer.write_all(&plain(3 * CHUNK_BYTES)).is_err());
        assert!(sealer.finish().is_err());
    }
}
