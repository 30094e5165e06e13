//! From the records of a group to a chunk.
use crate::layout::{CHUNK_HEADER_BYTES, ChunkHeader, kind, put_varint, varint_bytes};
use crate::{Compression, Options};
use std::io::{self, Cursor, Write};
use zstd::zstd_safe::{CCtx, CParameter, compress_bound, get_error_name};

/// The compressor of one thread, reused from chunk to chunk.
pub(crate) struct ChunkEncoder {
    codec: Codec,
    scratch: Vec<u8>,
}

enum Codec {
    Uncompressed,
    Zstd(CCtx<'static>),
    Brotli { level: u8, window_log: u8 },
    Snappy(Box<snap::raw::Encoder>),
}

/// Scratch memory that one large record left behind is given back above this size.
const KEPT_SCRATCH_BYTES: usize = 4 << 20;

/// Blocks shorter than this zstd itself always stores: writing the frame by hand gives the same bytes and skips the compressor,
/// which costs more for one byte of sizes than for the record's first hundred.
const ZSTD_STORED_BYTES: usize = 6;

/// Up to here brotli's encoder, made anew for each buffer, costs thousands of times what it could save.
const BROTLI_STORED_BYTES: usize = 16;

fn zstd_error(code: usize) -> io::Error {
    // Names of parameters and conditions, never data.
    io::Error::other(format!("zstd: {}", get_error_name(code)))
}

impl ChunkEncoder {
    pub(crate) fn new(options: &Options) -> io::Result<Self> {
        let codec = match options.compression() {
            Compression::Uncompressed => Codec::Uncompressed,
            Compression::Zstd { level } => {
                let mut context = CCtx::try_create().ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
                context.set_parameter(CParameter::CompressionLevel(level)).map_err(zstd_error)?;
                if let Some(window_log) = options.window_log() {
                    context.set_parameter(CParameter::WindowLog(u32::from(window_log))).map_err(zstd_error)?;
                }
                Codec::Zstd(context)
            }
            Compression::Brotli { level } => Codec::Brotli { level, window_log: options.window_log().unwrap_or(22) },
            Compression::Snappy => Codec::Snappy(Box::new(snap::raw::Encoder::new())),
        };
        Ok(Self { codec, scratch: Vec::new() })
    }

    /// Appends the chunk, header first, to `out`; returns the number of its data bytes. `sizes` are varints.
    pub(crate) fn encode(&mut self, sizes: &[u8], values: &[u8], records: u64, out: &mut Vec<u8>) -> io::Result<u64> {
        let begin = out.len();
        let data = begin + CHUNK_HEADER_BYTES;
        out.resize(data, 0);
        out.push(match self.codec {
            Codec::Uncompressed => 0,
            Codec::Zstd(_) => b'z',
            Codec::Brotli { .. } => b'b',
            Codec::Snappy(_) => b's',
        });
        self.put(sizes, true, out)?;
        self.put(values, false, out)?;
        let header = ChunkHeader::of(kind::SIMPLE, &out[data..], records, values.len() as u64);
        out[begin..data].copy_from_slice(&header.encode());
        Ok(header.data_bytes)
    }

    /// Appends one compressed buffer: `[varint length if length_prefixed] [varint decompressed size unless uncompressed] bytes`.
    fn put(&mut self, source: &[u8], length_prefixed: bool, out: &mut Vec<u8>) -> io::Result<()> {
        let source_bytes = source.len() as u64;
        if let (Codec::Zstd(_), ..=ZSTD_STORED_BYTES) = (&self.codec, source.len()) {
            if length_prefixed {
                put_varint(out, 1 + 9 + source_bytes);
            }
            // Decompressed size; then RFC 8878: magic, a descriptor of one segment with a one-byte size, and one last raw block.
            let n = source.len() as u8;
            out.extend_from_slice(&[n, 0x28, 0xb5, 0x2f, 0xfd, 0x20, n, n << 3 | 1, 0, 0]);
            out.extend_from_slice(source);
            return Ok(());
        }
        if let (Codec::Brotli { .. }, 1..=BROTLI_STORED_BYTES) = (&self.codec, source.len()) {
            if length_prefixed {
                put_varint(out, 1 + 3 + source_bytes + 1);
            }
            // Decompressed size; then RFC 7932: a window of 16 bits, one meta-block of 16 bits of length, uncompressed, and the empty last one.
            let length = source.len() as u32 - 1;
            let header = length << 4 | 1 << 20;
            out.push(source.len() as u8);
            out.extend_from_slice(&header.to_le_bytes()[..3]);
            out.extend_from_slice(source);
            out.push(0x03);
            return Ok(());
        }
        let Self { codec, scratch } = self;
        // The values, most of the chunk, are compressed into their place; the length of the sizes stands before them.
        if let (Codec::Zstd(context), false) = (&mut *codec, length_prefixed) {
            put_varint(out, source_bytes);
            let from = out.len();
            out.reserve(compress_bound(source.len()));
            let mut target = Cursor::new(std::mem::take(out));
            target.set_position(from as u64);
            let compressed = context.compress2(&mut target, source);
            *out = target.into_inner();
            return compressed.map(drop).map_err(zstd_error);
        }
        let compressed: &[u8] = match codec {
            Codec::Uncompressed => {
                if length_prefixed {
                    put_varint(out, source_bytes);
                }
                out.extend_from_slice(source);
                return Ok(());
            }
            Codec::Zstd(context) => {
                scratch.clear();
                scratch.reserve(compress_bound(source.len()));
                context.compress2(scratch, source).map_err(zstd_error)?;
                scratch
            }
            Codec::Brotli { level, window_log } => {
                scratch.clear();
                let mut writer = brotli::CompressorWriter::new(&mut *scratch, 4096, u32::from(*level), u32::from(*window_log));
                writer.write_all(source)?;
                drop(writer);
                scratch
            }
            Codec::Snappy(encoder) => {
                scratch.resize(snap::raw::max_compress_len(source.len()), 0);
                let n = encoder.compress(source, scratch).map_err(|_| io::Error::other("snappy takes at most 4 GiB"))?;
                &scratch[..n]
            }
        };
        if length_prefixed {
            put_varint(out, (varint_bytes(source_bytes) + compressed.len()) as u64);
        }
        put_varint(out, source_bytes);
        out.extend_from_slice(compressed);
        if scratch.capacity() > KEPT_SCRATCH_BYTES {
            *scratch = Vec::new();
        }
        Ok(())
    }
}
