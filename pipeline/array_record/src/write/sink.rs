//! Chunks into blocks: block headers, padding, position and digests.
use super::digest::Digester;
use crate::layout::{CHUNK_HEADER_BYTES, ChunkHeader, chunk_end, kind, lay_out, padding_data_bytes};
use std::io::{self, Write};

/// Bytes gathered before they are hashed and written: they are still in the processor's cache then.
const BUFFER_BYTES: usize = 256 << 10;

/// Memory that one large chunk left behind is given back above this size.
const KEPT_BUFFER_BYTES: usize = 16 << 20;

pub(crate) struct Sink<W> {
    inner: W,
    position: u64,
    buffer: Vec<u8>,
    digester: Digester,
}

/// What passed through a sink.
pub(crate) struct Passed {
    pub(crate) bytes: u64,
    pub(crate) crc32c: u32,
    pub(crate) sha256: [u8; 32],
}

impl<W: Write> Sink<W> {
    /// `digests_beside`: digests are computed by another thread when one is free.
    pub(crate) fn new(inner: W, digests_beside: bool) -> Self {
        Self { inner, position: 0, buffer: Vec::with_capacity(BUFFER_BYTES + (BUFFER_BYTES >> 2)), digester: Digester::new(digests_beside) }
    }

    pub(crate) fn inner(&self) -> &W {
        &self.inner
    }

    #[cfg(feature = "object_store")]
    pub(crate) fn inner_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    fn drain(&mut self) -> io::Result<()> {
        self.inner.write_all(&self.buffer)?;
        self.digester.update(&mut self.buffer)?;
        self.buffer.shrink_to(KEPT_BUFFER_BYTES);
        Ok(())
    }

    /// Writes the chunk that `encode` appends (header and data in one piece, returning the number of data bytes) where it stands in
    /// the file; returns where it begins. After an error the sink is of no use.
    pub(crate) fn chunk(&mut self, records: u64, encode: impl FnOnce(&mut Vec<u8>) -> io::Result<u64>) -> io::Result<u64> {
        let from = self.buffer.len();
        let data_bytes = encode(&mut self.buffer)?;
        let begin = self.position;
        let end = chunk_end(begin, data_bytes, records).ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        lay_out(&mut self.buffer, from, begin, end);
        self.position = end;
        if self.buffer.len() >= BUFFER_BYTES {
            self.drain()?;
        }
        Ok(begin)
    }

    /// Writes a padding chunk up to the next block edge, unless the sink stands on one.
    pub(crate) fn pad_to_block(&mut self) -> io::Result<()> {
        let Some(data_bytes) = padding_data_bytes(self.position) else { return Ok(()) };
        self.chunk(0, |buffer| {
            let header = buffer.len();
            buffer.resize(header + CHUNK_HEADER_BYTES + usize::try_from(data_bytes).unwrap_or(usize::MAX), 0);
            let encoded = ChunkHeader::of(kind::PADDING, &buffer[header + CHUNK_HEADER_BYTES..], 0, 0).encode();
            buffer[header..header + CHUNK_HEADER_BYTES].copy_from_slice(&encoded);
            Ok(data_bytes)
        })
        .map(drop)
    }

    pub(crate) fn finish(mut self) -> io::Result<(Passed, W)> {
        self.drain()?;
        self.inner.flush()?;
        let (crc32c, sha256) = self.digester.finish()?.finish();
        Ok((Passed { bytes: self.position, crc32c, sha256 }, self.inner))
    }
}
