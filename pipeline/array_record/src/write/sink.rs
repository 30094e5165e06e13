//! Chunks into blocks: block headers, padding, position and digests.
use crate::layout::{BLOCK_BYTES, ChunkHeader, block_header, chunk_end, kind, padding_data_bytes};
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Bytes gathered before they are hashed and written: they are still in the processor's cache then.
const BUFFER_BYTES: usize = 256 << 10;

pub(crate) struct Sink<W> {
    inner: W,
    position: u64,
    buffer: Vec<u8>,
    crc32c: u32,
    sha256: Sha256,
}

/// What passed through a sink.
pub(crate) struct Passed {
    pub(crate) bytes: u64,
    pub(crate) crc32c: u32,
    pub(crate) sha256: [u8; 32],
}

impl<W: Write> Sink<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, position: 0, buffer: Vec::with_capacity(BUFFER_BYTES + (BUFFER_BYTES >> 2)), crc32c: 0, sha256: Sha256::new() }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    fn drain(&mut self) -> io::Result<()> {
        self.crc32c = crc32c::crc32c_append(self.crc32c, &self.buffer);
        self.sha256.update(&self.buffer);
        self.inner.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
        if self.buffer.len() >= BUFFER_BYTES { self.drain() } else { Ok(()) }
    }

    /// Writes a chunk (header and data in one slice); returns where it begins.
    pub(crate) fn chunk(&mut self, chunk: &[u8], data_bytes: u64, records: u64) -> io::Result<u64> {
        let begin = self.position;
        let end = chunk_end(begin, data_bytes, records).ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        // Most chunks lie inside one block.
        if !begin.is_multiple_of(BLOCK_BYTES) && begin / BLOCK_BYTES == (end - 1) / BLOCK_BYTES {
            self.put(chunk)?;
        } else {
            let mut rest = chunk;
            while !rest.is_empty() {
                let room = self.enter_block(begin, end)?;
                let (part, after) = rest.split_at(room.min(rest.len()));
                self.put(part)?;
                rest = after;
            }
        }
        const ZEROS: [u8; 4096] = [0; 4096];
        while self.position < end {
            let room = self.enter_block(begin, end)?;
            let left = usize::try_from(end - self.position).unwrap_or(usize::MAX);
            self.put(&ZEROS[..room.min(left).min(ZEROS.len())])?;
        }
        Ok(begin)
    }

    /// Writes the block header when one is due; returns the room left in the block.
    fn enter_block(&mut self, begin: u64, end: u64) -> io::Result<usize> {
        if self.position.is_multiple_of(BLOCK_BYTES) {
            let header = block_header(self.position - begin, end - self.position);
            self.put(&header)?;
        }
        Ok((BLOCK_BYTES - self.position % BLOCK_BYTES) as usize)
    }

    /// Writes a padding chunk up to the next block edge, unless the sink stands on one.
    pub(crate) fn pad_to_block(&mut self) -> io::Result<()> {
        let Some(data_bytes) = padding_data_bytes(self.position) else { return Ok(()) };
        let data = vec![0; usize::try_from(data_bytes).unwrap_or(usize::MAX)];
        let mut chunk = ChunkHeader::of(kind::PADDING, &data, 0, 0).encode().to_vec();
        chunk.extend_from_slice(&data);
        self.chunk(&chunk, data_bytes, 0).map(drop)
    }

    pub(crate) fn finish(mut self) -> io::Result<(Passed, W)> {
        self.drain()?;
        self.inner.flush()?;
        Ok((Passed { bytes: self.position, crc32c: self.crc32c, sha256: self.sha256.finalize().into() }, self.inner))
    }
}
