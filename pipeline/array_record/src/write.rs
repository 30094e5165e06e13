//! Writing a file: [`Writer`] and the proof that it was closed, [`Closed`].
mod digest;
mod encode;
mod parallel;
pub(crate) mod sink;

use crate::footer::{Entry, Metadata, Postscript};
use crate::layout::{ChunkHeader, put_varint};
use crate::read::MAX_CHUNK_BYTES;
use crate::{Compression, Options};
use encode::ChunkEncoder;
use parallel::Parallel;
use sink::Sink;
use std::fmt;
use std::io::{self, Write};

/// The longest record that is written: 1 GiB.
pub const MAX_RECORD_BYTES: usize = 1 << 30;

/// The largest group of records that is written, and what a reader decodes at once unless told otherwise: 8 GiB.
pub const MAX_GROUP_BYTES: u64 = MAX_CHUNK_BYTES;

/// Why writing ended. A [`Writer`] that failed once takes no further record and cannot be closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The sink, or the compressor for want of memory, said no.
    #[error("the file cannot be written")]
    Io(#[from] io::Error),
    /// The caller's record is longer than [`MAX_RECORD_BYTES`].
    #[error("a record of {0} bytes is longer than {MAX_RECORD_BYTES}")]
    RecordTooLong(usize),
    /// The caller's group would be larger than [`MAX_GROUP_BYTES`]: no reader could take it. Lower `group_size`.
    #[error("a group of {0} bytes is larger than {MAX_GROUP_BYTES}: lower `group_size`")]
    GroupTooLong(usize),
    /// The options ask for what is only read.
    #[error("option `{option}` is not supported for writing; {fix}")]
    Unsupported {
        /// The option's name.
        option: &'static str,
        /// What to write instead.
        fix: &'static str,
    },
    /// An earlier call failed: what is in the sink is not a file.
    #[error("an earlier write failed; the file is incomplete")]
    Failed,
}

/// Proof that a file is complete: only [`Writer::close`] makes it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Closed {
    records: u64,
    bytes: u64,
    crc32c: u32,
    sha256: [u8; 32],
}

impl Closed {
    /// Records in the file.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// CRC-32C (Castagnoli) of the file, as object stores report it (there in base64 of the big-endian bytes).
    pub fn crc32c(&self) -> u32 {
        self.crc32c
    }

    /// SHA-256 of the file.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }
}

impl fmt::Debug for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Closed {{ records: {}, bytes: {}, crc32c: {:08x}, sha256: ", self.records, self.bytes, self.crc32c)?;
        self.sha256.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(" }")
    }
}

/// Writes a file to any sink.
///
/// A file is a file once [`close`](Self::close) has returned; a writer that is dropped leaves bytes that no reader takes. The sink is
/// written in pieces of about 256 KiB, so it need not be buffered. The writer is `Send` when the sink is.
///
/// ```
/// use array_record::{Options, Writer};
/// let mut writer = Writer::new(Vec::new(), &"group_size:1,zstd:3".parse::<Options>()?)?;
/// writer.write_record(b"first")?;
/// writer.write_record(b"")?;
/// let (closed, file) = writer.close()?;
/// assert_eq!((closed.records(), closed.bytes()), (2, file.len() as u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W: Write> {
    output: Output<W>,
    options: Options,
    encoder: ChunkEncoder,
    /// Set when more than one thread encodes.
    parallel: Option<Parallel>,
    /// The records of the chunk in the making: sizes as varints, values one after another.
    sizes: Vec<u8>,
    values: Vec<u8>,
    grouped: u32,
    records: u64,
    failed: bool,
}

/// Where chunks go, and the index of those that went.
struct Output<W> {
    sink: Sink<W>,
    index: Index,
    pads: bool,
}

/// The footer's entries, already encoded: about a dozen bytes a chunk.
#[derive(Default)]
struct Index {
    sizes: Vec<u8>,
    values: Vec<u8>,
    chunks: u64,
}

impl<W: Write> Output<W> {
    /// Writes the chunk that `encode` appends; see [`Sink::chunk`].
    fn chunk(&mut self, records: u64, decoded_bytes: u64, encode: impl FnOnce(&mut Vec<u8>) -> io::Result<u64>) -> io::Result<()> {
        let offset_bytes = self.sink.chunk(records, encode)?;
        if self.pads {
            self.sink.pad_to_block()?;
        }
        let entry = Entry { offset_bytes, decoded_bytes, records };
        put_varint(&mut self.index.sizes, entry.encoded_bytes() as u64);
        entry.encode(&mut self.index.values);
        self.index.chunks += 1;
        Ok(())
    }
}

/// Memory that one large group left behind is given back above this size.
const KEPT_GROUP_BYTES: usize = 16 << 20;

impl<W: Write> Writer<W> {
    /// Starts a file. `transpose` is refused: such files are read, never written.
    pub fn new(sink: W, options: &Options) -> Result<Self, WriteError> {
        if options.transpose() {
            return Err(WriteError::Unsupported { option: "transpose", fix: "leave it out, or raise `group_size` for a denser file" });
        }
        let mut sink = Sink::new(sink, !options.is_single_threaded());
        sink.chunk(0, |buffer| {
            buffer.extend_from_slice(&ChunkHeader::of(crate::layout::kind::SIGNATURE, &[], 0, 0).encode());
            Ok(0)
        })?;
        // Without compression, handing records to other threads costs more than encoding them.
        let encodes_beside = options.max_parallelism().get() > 1 && options.compression() != Compression::Uncompressed;
        Ok(Self {
            output: Output { sink, index: Index::default(), pads: options.pad_to_block_boundary() },
            options: options.clone(),
            encoder: ChunkEncoder::new(options)?,
            parallel: encodes_beside.then(|| Parallel::new(options)),
            sizes: Vec::new(),
            values: Vec::new(),
            grouped: 0,
            records: 0,
            failed: false,
        })
    }

    /// Appends a record.
    ///
    /// After [`WriteError::RecordTooLong`] and [`WriteError::GroupTooLong`] the writer goes on as if the call had not been made; any other
    /// error is final.
    pub fn write_record(&mut self, record: &[u8]) -> Result<(), WriteError> {
        if self.failed {
            return Err(WriteError::Failed);
        }
        if record.len() > MAX_RECORD_BYTES {
            return Err(WriteError::RecordTooLong(record.len()));
        }
        let group_bytes = self.values.len().saturating_add(record.len());
        if group_bytes as u64 > MAX_GROUP_BYTES {
            return Err(WriteError::GroupTooLong(group_bytes));
        }
        put_varint(&mut self.sizes, record.len() as u64);
        self.grouped += 1;
        self.records += 1;
        // A chunk of one record is encoded from the caller's bytes.
        if self.options.group_size() == 1 {
            return self.end_group(Some(record));
        }
        self.values.extend_from_slice(record);
        if self.grouped >= self.options.group_size() { self.end_group(None) } else { Ok(()) }
    }

    /// Encodes and writes the chunk in the making, or hands it to the encoding threads.
    fn end_group(&mut self, record: Option<&[u8]>) -> Result<(), WriteError> {
        let values = record.unwrap_or(&self.values);
        let records = u64::from(self.grouped);
        // Taken back at the end: a failure on the way leaves the writer unusable.
        self.failed = true;
        if let Some(parallel) = &mut self.parallel {
            if parallel.add(&self.sizes, values, records) {
                parallel.submit();
                write_encoded(&mut self.output, parallel, false)?;
            }
        } else {
            let (encoder, sizes) = (&mut self.encoder, &self.sizes);
            self.output.chunk(records, values.len() as u64, |buffer| encoder.encode(sizes, values, records, buffer))?;
        }
        self.sizes.clear();
        self.values.clear();
        self.grouped = 0;
        self.values.shrink_to(KEPT_GROUP_BYTES);
        self.failed = false;
        Ok(())
    }

    /// Records written so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What has reached the sink so far; up to 320 KiB, or a large chunk, are still held back.
    pub fn sink(&self) -> &W {
        self.output.sink.inner()
    }

    #[cfg(feature = "object_store")]
    pub(crate) fn sink_mut(&mut self) -> &mut W {
        self.output.sink.inner_mut()
    }

    /// What was written did not arrive: the writer takes no further record.
    #[cfg(feature = "object_store")]
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    /// Writes footer and postscript, flushes the sink and gives it back with the proof.
    ///
    /// A file without records is a valid file of 128 KiB.
    pub fn close(mut self) -> Result<(Closed, W), WriteError> {
        if self.failed {
            return Err(WriteError::Failed);
        }
        if self.grouped > 0 {
            self.end_group(None)?;
        }
        if let Some(parallel) = &mut self.parallel {
            parallel.submit();
            write_encoded(&mut self.output, parallel, true)?;
        }
        let Output { mut sink, index, .. } = self.output;
        let footer_offset_bytes = sink.position();
        let metadata = Metadata { chunks: index.chunks, records: self.records, writer_options: Some(self.options.as_written()) }.encode();
        let mut sizes = Vec::with_capacity(index.sizes.len() + 2);
        put_varint(&mut sizes, metadata.len() as u64);
        sizes.extend_from_slice(&index.sizes);
        let mut values = metadata;
        values.extend_from_slice(&index.values);
        drop(index.values);
        let encoder = &mut self.encoder;
        sink.chunk(index.chunks + 1, |buffer| encoder.encode(&sizes, &values, index.chunks + 1, buffer))?;
        sink.pad_to_block()?;

        let postscript = Postscript::encode(footer_offset_bytes);
        let size = u8::try_from(postscript.len()).unwrap_or(u8::MAX);
        let mut plain = ChunkEncoder::new(&Options::uncompressed())?;
        sink.chunk(3, |buffer| plain.encode(&[size; 3], &postscript.repeat(3), 3, buffer))?;
        sink.pad_to_block()?;
        let (passed, inner) = sink.finish()?;
        Ok((Closed { records: self.records, bytes: passed.bytes, crc32c: passed.crc32c, sha256: passed.sha256 }, inner))
    }
}

/// Writes the batches that are encoded; see [`Parallel::take`].
fn write_encoded<W: Write>(output: &mut Output<W>, parallel: &mut Parallel, all: bool) -> io::Result<()> {
    while let Some(encoded) = parallel.take(all) {
        let encoded = encoded?;
        let mut from = 0;
        for chunk in &encoded.chunks {
            output.chunk(chunk.records, chunk.decoded_bytes, |buffer| {
                buffer.extend_from_slice(&encoded.bytes[from..chunk.end]);
                Ok(chunk.data_bytes)
            })?;
            from = chunk.end;
        }
        parallel.reuse(encoded);
    }
    Ok(())
}

impl<W: Write> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("options", &self.options).field("records", &self.records()).finish_non_exhaustive()
    }
}
