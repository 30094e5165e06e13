//! Spill files: encrypted with an ephemeral key, because a sort or join below *pseudonymize* spills raw rows.
//!
//! Each file is a sequence of frames, `length (u32, little-endian) | AES-256-GCM ciphertext and tag`. The key is drawn
//! when the factory is made and never leaves the process, so a file that outlives a crash cannot be read by anyone. The
//! nonce is `file number (u32) | frame number (u64)`: unique under the key as long as the factory lives. The last frame of
//! a finished file is empty, so a cut file is noticed.
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::Stream;
use rand::TryRngCore;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tempfile::{NamedTempFile, TempDir};
use zeroize::Zeroizing;

const FRAME_BYTES: usize = 256 << 10;
const TAG_BYTES: usize = 16;

/// Makes spill files for one session.
pub struct EncryptedSpills {
    cipher: Arc<Aes256Gcm>,
    directory: Arc<TempDir>,
    files: AtomicU32,
}

impl std::fmt::Debug for EncryptedSpills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EncryptedSpills([secret])")
    }
}

impl EncryptedSpills {
    /// A factory with a fresh key and a fresh directory under the system's temporary directory (`TMPDIR`).
    ///
    /// # Errors
    /// No randomness, or no temporary directory.
    pub fn new() -> Result<Self> {
        let mut key = Zeroizing::new([0u8; 32]);
        rand::rngs::OsRng.try_fill_bytes(key.as_mut()).map_err(|error| DataFusionError::IoError(io::Error::other(error)))?;
        let cipher = Arc::new(Aes256Gcm::new_from_slice(key.as_ref()).map_err(|_| DataFusionError::Internal("key length".to_owned()))?);
        let directory = Arc::new(tempfile::Builder::new().prefix("perimeter-spill-").tempdir()?);
        Ok(Self { cipher, directory, files: AtomicU32::new(0) })
    }
}

impl TempFileFactory for EncryptedSpills {
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        if number == u32::MAX {
            return Err(DataFusionError::ResourcesExhausted("too many spill files for one key".to_owned()));
        }
        let file = NamedTempFile::new_in(self.directory.path())?;
        Ok(Arc::new(EncryptedSpill {
            cipher: Arc::clone(&self.cipher),
            number,
            file,
            _directory: Arc::clone(&self.directory),
            size_bytes: Arc::new(AtomicU64::new(0)),
        }))
    }
}

struct EncryptedSpill {
    cipher: Arc<Aes256Gcm>,
    number: u32,
    file: NamedTempFile,
    _directory: Arc<TempDir>,
    size_bytes: Arc<AtomicU64>,
}

fn nonce(file: u32, frame: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&file.to_be_bytes());
    nonce[4..].copy_from_slice(&frame.to_be_bytes());
    nonce
}

impl SpillFile for EncryptedSpill {
    fn size(&self) -> Option<u64> {
        Some(self.size_bytes.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let frames = Frames {
            cipher: Arc::clone(&self.cipher),
            number: self.number,
            frame: 0,
            file: BufReader::with_capacity(FRAME_BYTES, self.file.reopen()?),
            done: false,
        };
        Ok(Box::pin(futures::stream::try_unfold(frames, |mut frames| async move {
            let (frames, bytes) = tokio::task::spawn_blocking(move || {
                let bytes = frames.next();
                (frames, bytes)
            })
            .await
            .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
            Ok(bytes?.map(|bytes| (bytes, frames)))
        })))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let file = self.file.reopen()?;
        Ok(Box::new(SealingWriter {
            cipher: Arc::clone(&self.cipher),
            number: self.number,
            frame: 0,
            file,
            buffer: Vec::with_capacity(FRAME_BYTES + TAG_BYTES),
            size_bytes: Arc::clone(&self.size_bytes),
            finished: false,
        }))
    }
}

struct Frames {
    cipher: Arc<Aes256Gcm>,
    number: u32,
    frame: u64,
    file: BufReader<File>,
    done: bool,
}

impl Frames {
    fn next(&mut self) -> Result<Option<Bytes>> {
        if self.done {
            return Ok(None);
        }
        let mut length = [0; 4];
        self.file.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if !(TAG_BYTES..=FRAME_BYTES + TAG_BYTES).contains(&length) {
            return Err(DataFusionError::IoError(io::Error::new(io::ErrorKind::InvalidData, "a spill file is damaged")));
        }
        let mut frame = vec![0; length];
        self.file.read_exact(&mut frame)?;
        let opened = self.cipher.decrypt_in_place(&Nonce::from(nonce(self.number, self.frame)), b"", &mut frame);
        opened.map_err(|_| DataFusionError::IoError(io::Error::new(io::ErrorKind::InvalidData, "a spill file is damaged")))?;
        self.frame += 1;
        self.done = frame.is_empty();
        Ok(if self.done { None } else { Some(frame.into()) })
    }
}

struct SealingWriter {
    cipher: Arc<Aes256Gcm>,
    number: u32,
    frame: u64,
    file: File,
    buffer: Vec<u8>,
    size_bytes: Arc<AtomicU64>,
    finished: bool,
}

impl SealingWriter {
    fn seal(&mut self) -> io::Result<()> {
        let sealed = self.cipher.encrypt_in_place(&Nonce::from(nonce(self.number, self.frame)), b"", &mut self.buffer);
        sealed.map_err(|_| io::Error::other("a spill frame could not be sealed"))?;
        let length = u32::try_from(self.buffer.len()).map_err(io::Error::other)?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(&self.buffer)?;
        self.size_bytes.fetch_add(4 + u64::from(length), Ordering::Relaxed);
        self.frame += 1;
        self.buffer.clear();
        Ok(())
    }
}

impl Write for SealingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(FRAME_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == FRAME_BYTES {
            self.seal()?;
        }
        Ok(taken)
    }

    // Whoever reads a file that is still written reads up to what was flushed.
    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() { Ok(()) } else { self.seal() }
    }
}

impl SpillWriter for SealingWriter {
    fn finish(&mut self) -> Result<()> {
        if !self.finished {
            if !self.buffer.is_empty() {
                self.seal()?;
            }
            self.seal()?;
            self.finished = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{StreamExt, TryStreamExt};

    fn spilled(bytes: &[u8]) -> (EncryptedSpills, Arc<dyn SpillFile>) {
        let spills = EncryptedSpills::new().unwrap();
        let file = spills.create_temp_file("sort").unwrap();
        let mut writer = file.open_writer().unwrap();
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap();
        (spills, file)
    }

    #[tokio::test]
    async fn what_is_spilled_comes_back_and_is_not_on_disk_in_clear() {
        for size in [0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES + 17] {
            let bytes: Vec<u8> = b"52998224725;".iter().copied().cycle().take(size).collect();
            let (spills, file) = spilled(&bytes);
            let read: Vec<u8> = file.read_stream().unwrap().try_collect::<Vec<_>>().await.unwrap().concat();
            assert_eq!(read, bytes);
            for entry in std::fs::read_dir(spills.directory.path()).unwrap() {
                let raw = std::fs::read(entry.unwrap().path()).unwrap();
                assert!(!raw.windows(11).any(|window| window == b"52998224725"));
            }
        }
    }

    #[tokio::test]
    async fn a_cut_or_changed_file_is_an_error() {
        let (spills, file) = spilled(&[7; FRAME_BYTES + 5]);
        let path = std::fs::read_dir(spills.directory.path()).unwrap().next().unwrap().unwrap().path();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 4 - TAG_BYTES]).unwrap();
        assert!(file.read_stream().unwrap().any(|frame| async move { frame.is_err() }).await);
        let mut changed = whole;
        changed[100] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert!(file.read_stream().unwrap().any(|frame| async move { frame.is_err() }).await);
    }

    #[test]
    fn the_key_is_not_in_debug() {
        assert_eq!(format!("{:?}", EncryptedSpills::new().unwrap()), "EncryptedSpills([secret])");
    }
}
