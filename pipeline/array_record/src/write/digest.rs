//! CRC-32C and SHA-256 of everything written, in line or beside the writing thread.
use crate::ordered::{Limit, Ordered};
use sha2::{Digest, Sha256};
use std::io;

/// Buffers that wait to be digested, at most.
const LIMIT: Limit = Limit { pieces: 4, bytes: 16 << 20 };

#[derive(Default)]
pub(super) struct Digests {
    crc32c: u32,
    sha256: Sha256,
}

impl Digests {
    fn update(&mut self, bytes: &[u8]) {
        self.crc32c = crc32c::crc32c_append(self.crc32c, bytes);
        self.sha256.update(bytes);
    }

    pub(super) fn finish(self) -> (u32, [u8; 32]) {
        (self.crc32c, self.sha256.finalize().into())
    }
}

/// Where digests are computed. SHA-256 takes about as long as all the rest of writing an uncompressed file.
pub(super) enum Digester {
    InLine(Digests),
    /// Buffers go in and come back to be filled again.
    Beside(Ordered<Digests, Vec<u8>, Vec<u8>>),
}

impl Digester {
    pub(super) fn new(beside: bool) -> Self {
        if beside {
            Self::Beside(Ordered::new(1, 1, LIMIT, |digests: &mut Digests, buffer: Vec<u8>| {
                digests.update(&buffer);
                buffer
            }))
        } else {
            Self::InLine(Digests::default())
        }
    }

    /// Takes the buffer's bytes in; it is empty afterwards, or another empty one.
    pub(super) fn update(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::InLine(digests) => digests.update(buffer),
            Self::Beside(queue) => {
                let spare = match queue.take_ready() {
                    Some(spare) => spare.ok_or_else(lost)?,
                    None => Vec::new(),
                };
                let full = std::mem::replace(buffer, spare);
                let bytes = full.len();
                queue.submit(full, bytes, true);
            }
        }
        buffer.clear();
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<Digests> {
        match self {
            Self::InLine(digests) => Ok(digests),
            Self::Beside(queue) => {
                while let Some(buffer) = queue.take() {
                    buffer.ok_or_else(lost)?;
                }
                queue.into_context().ok_or_else(lost)
            }
        }
    }
}

fn lost() -> io::Error {
    io::Error::other("a digesting thread ended early")
}
