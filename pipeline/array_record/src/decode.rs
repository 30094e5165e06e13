//! From the data of a chunk to its records.
use crate::Fault;
use crate::layout::{ChunkHeader, kind, take_varint};
use crate::transpose;
use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use zstd::zstd_safe::{DCtx, find_frame_compressed_size};

/// The contexts and buffers of decompression, reused from chunk to chunk.
pub(crate) struct Decoder {
    zstd: DCtx<'static>,
    sizes: Vec<u8>,
    max_chunk_bytes: u64,
}

/// The records of one chunk: their bytes one after another, and where each ends.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) values: Vec<u8>,
    ends: Vec<usize>,
}

impl Decoded {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn record(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let begin = if index == 0 { 0 } else { self.ends[index - 1] };
        self.values.get(begin..end)
    }

    /// What it holds, filled or not.
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.values.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|index| self.record(index))
    }

    /// A record, moved out instead of copied when it is the only one: nothing is left then.
    pub(crate) fn take_record(&mut self, index: usize) -> Option<Vec<u8>> {
        if self.ends.len() == 1 && index == 0 {
            self.ends.clear();
            return Some(std::mem::take(&mut self.values));
        }
        self.record(index).map(<[u8]>::to_vec)
    }
}

impl Decoder {
    pub(crate) fn new(max_chunk_bytes: u64) -> Self {
        Self { zstd: DCtx::create(), sizes: Vec::new(), max_chunk_bytes }
    }

    /// Gives memory back that one large chunk left behind.
    pub(crate) fn shrink(&mut self, kept_bytes: usize) {
        self.sizes.clear();
        self.sizes.shrink_to(kept_bytes);
    }

    /// Decodes a chunk of records. What is allocated is bounded by the bytes at hand and what they really decompress to.
    pub(crate) fn decode(&mut self, header: &ChunkHeader, data: &[u8], records: &mut Decoded) -> Result<(), Fault> {
        if header.decoded_bytes > self.max_chunk_bytes {
            return Err(Fault::OverLimit(header.decoded_bytes));
        }
        match header.kind {
            kind::SIMPLE => self.simple(header, data, records),
            kind::TRANSPOSED => transpose::decode(&mut self.zstd, header, data, self.max_chunk_bytes, &mut records.values, &mut records.ends),
            other => Err(Fault::ChunkKind(other)),
        }
    }

    /// `compression, varint sizes_bytes, sizes, values`; sizes are varints.
    fn simple(&mut self, header: &ChunkHeader, data: &[u8], records: &mut Decoded) -> Result<(), Fault> {
        let (&compression, mut rest) = data.split_first().ok_or(Fault::Chunk("it is empty"))?;
        let sizes_bytes = take_varint(&mut rest).and_then(|n| usize::try_from(n).ok()).ok_or(Fault::Chunk("the length of its sizes is torn"))?;
        let (sizes, values) = rest.split_at_checked(sizes_bytes).ok_or(Fault::Chunk("its sizes are torn"))?;
        // A size takes one to ten bytes, so the header's count bounds the buffer; the count itself is bounded by the chunk's
        // length in the file.
        let sizes = decompress(&mut self.zstd, compression, sizes, header.records.saturating_mul(10), "sizes", &mut self.sizes)?;
        if header.records > sizes as u64 {
            return Err(Fault::Chunk("it has fewer sizes than records"));
        }
        decompress(&mut self.zstd, compression, values, header.decoded_bytes, "values", &mut records.values)?;
        if records.values.len() as u64 != header.decoded_bytes {
            return Err(Fault::Chunk("its values have another length than its header says"));
        }
        let mut sizes = &self.sizes[..sizes];
        records.ends.clear();
        let mut end = 0usize;
        for _ in 0..header.records {
            let size = take_varint(&mut sizes).and_then(|n| usize::try_from(n).ok()).ok_or(Fault::Chunk("a size is torn"))?;
            end = end.checked_add(size).filter(|end| *end <= records.values.len()).ok_or(Fault::Chunk("its sizes exceed its values"))?;
            records.ends.push(end);
        }
        if !sizes.is_empty() || end != records.values.len() {
            return Err(Fault::Chunk("its sizes and values disagree"));
        }
        Ok(())
    }
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Decompresses one brotli stream of at most `limit_bytes` that ends where `source` does; `None` when it does not.
fn unbrotli(source: &[u8], limit_bytes: usize, out: &mut Vec<u8>) -> Option<usize> {
    const STEP_BYTES: usize = 64 << 10;
    let mut state = BrotliState::new(StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default());
    let (mut available_in, mut input_offset, mut written, mut total) = (source.len(), 0, 0, 0);
    loop {
        // In steps that double, so that memory follows what really comes out.
        let room = limit_bytes.min(written + written.max(STEP_BYTES));
        out.try_reserve(room - out.len()).ok()?;
        out.resize(room, 0);
        let mut available_out = room - written;
        let outcome = BrotliDecompressStream(&mut available_in, &mut input_offset, source, &mut available_out, &mut written, out, &mut total, &mut state);
        match outcome {
            BrotliResult::ResultSuccess => {
                out.truncate(written);
                return (available_in == 0).then_some(written);
            }
            BrotliResult::NeedsMoreOutput if room < limit_bytes => {}
            _ => return None,
        }
    }
}

/// Decompresses into `out`, replacing what was there, at most `limit_bytes`; returns the length.
///
/// No compressor can expand n bytes beyond a known factor, so a declared size above it is refused before anything is allocated.
pub(crate) fn decompress(
    zstd: &mut DCtx<'static>,
    compression: u8,
    mut source: &[u8],
    limit_bytes: u64,
    what: &'static str,
    out: &mut Vec<u8>,
) -> Result<usize, Fault> {
    let wrong = Fault::Decompress(what);
    out.clear();
    if compression == 0 {
        if source.len() as u64 > limit_bytes {
            return Err(Fault::Chunk("it holds more than its header says"));
        }
        out.try_reserve(source.len()).map_err(|_| wrong)?;
        out.extend_from_slice(source);
        return Ok(out.len());
    }
    let declared = take_varint(&mut source).ok_or(Fault::Chunk("a decompressed size is torn"))?;
    if declared > limit_bytes {
        return Err(Fault::Chunk("it holds more than its header says"));
    }
    let declared_bytes = usize::try_from(declared).map_err(|_| Fault::OverLimit(declared))?;
    let source_bytes = source.len() as u64;
    match compression {
        b'z' => {
            // A zstd block takes at least 4 bytes and yields at most 128 KiB.
            if declared > (source_bytes / 4).saturating_mul(128 << 10) {
                return Err(wrong);
            }
            // One frame and nothing behind it: the official reader takes no more.
            if !source.starts_with(&ZSTD_MAGIC) || find_frame_compressed_size(source) != Ok(source.len()) {
                return Err(wrong);
            }
            out.try_reserve_exact(declared_bytes).map_err(|_| wrong.clone())?;
            if zstd.decompress(out, source) != Ok(declared_bytes) {
                out.clear();
                return Err(wrong);
            }
        }
        b's' => {
            // A snappy copy takes 3 bytes and yields at most 64.
            let len = snap::raw::decompress_len(source).map_err(|_| wrong.clone())?;
            if len != declared_bytes || declared > source_bytes.saturating_mul(22).saturating_add(64) {
                return Err(wrong);
            }
            out.resize(declared_bytes, 0);
            match snap::raw::Decoder::new().decompress(source, out) {
                Ok(n) if n == declared_bytes => {}
                _ => return Err(wrong),
            }
        }
        b'b' => {
            // Brotli has no useful bound: the buffer grows with what really comes out.
            if unbrotli(source, declared_bytes, out) != Some(declared_bytes) {
                out.clear();
                return Err(wrong);
            }
        }
        other => return Err(Fault::Compression(other)),
    }
    Ok(out.len())
}
