//! Compression by file name, and what it means when a stream breaks off.
//!
//! | name | several members, frames or streams | padding behind the last | memory |
//! |---|---|---|---|
//! | `.gz`, `.gzip` | all are read, empty ones too | zeros, as gzip itself does | 32 KiB window |
//! | `.zst`, `.zstd` | all are read, skippable frames are passed over | none | window up to 128 MiB |
//! | `.bz2` | all are read | none | 4 MB |
//! | `.xz` | all are read | zeros, four at a time (the format's stream padding) | up to 128 MiB |
//!
//! Anything else behind the end is a damaged file, an end inside of a member a truncated one: both end the unit with exit 1, whatever rows came before. What a
//! file expands to is never held: it streams through, so a bomb costs time, and memory no more than the table says.
use super::encoding::{self, Decoding, MARK_BYTES};
use super::{Part, corrupt, truncated};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::{InputFile, Stores, read_failure};
use flate2::bufread::GzDecoder;
use perimeter_contract::job::Encoding;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// By the last extension of the file's name.
pub(super) fn of(file: &InputFile) -> Result<Compression> {
    let name = file.uri.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "gz" | "gzip" => Ok(Compression::Gzip),
        "zst" | "zstd" => Ok(Compression::Zstd),
        "bz2" => Ok(Compression::Bzip2),
        "xz" => Ok(Compression::Xz),
        "lz4" | "lzma" | "snappy" | "br" | "zip" | "Z" | "lzo" => {
            Err(Failure::new(Culprit::File, "unsupported-compression", format!("{} is compressed in a way that is not read", file.label))
                .help("Use .gz, .zst, .bz2 or .xz")
                .into())
        }
        _ => Ok(Compression::None),
    }
}

/// A stream of the decompressed bytes as text, and a count of those that came from the store.
pub(super) struct Opened {
    pub(super) bytes: Box<dyn Read + Send>,
    pub(super) taken: Arc<AtomicU64>,
    pub(super) decoding: Decoding,
}

/// Opens a part of a file as it is, decompressed.
///
/// # Errors
/// As the store says, and for a file without a byte.
pub(super) fn open(stores: &Stores, file: &InputFile, part: &Part) -> Result<Opened> {
    let taken = Arc::new(AtomicU64::new(0));
    let bytes: Box<dyn Read + Send> = match part {
        Part::Bytes { start, end, .. } => Box::new(Counted { inner: stores.reader_range(file, *start..*end)?, taken: Arc::clone(&taken) }),
        _ if file.size_bytes == 0 => return Err(empty(file)),
        _ => decompressed(file, Box::new(Counted { inner: stores.reader(file)?, taken: Arc::clone(&taken) }))?,
    };
    Ok(Opened { bytes, taken, decoding: Decoding::Utf8 })
}

/// Opens a part of a text file. A byte order mark at the start of the file is dropped; a part that is not the whole file has none.
///
/// # Errors
/// As [`open`] and [`encoding::begin`] say.
pub(super) fn open_text(stores: &Stores, file: &InputFile, part: &Part, encoding: Encoding) -> Result<Opened> {
    let opened = open(stores, file, part)?;
    let (decoding, bytes) = match part {
        Part::Bytes { .. } => (encoding::begin(file, encoding, &[])?.0, opened.bytes),
        _ => encoding::decoded(file, encoding, opened.bytes)?,
    };
    Ok(Opened { bytes, decoding, ..opened })
}

/// Opens an uncompressed file behind its byte order mark, and says where that is.
pub(super) fn open_after_mark(stores: &Stores, file: &InputFile, encoding: Encoding) -> Result<(u64, Opened)> {
    let mut start = Vec::with_capacity(MARK_BYTES);
    stores.reader_range(file, 0..file.size_bytes.min(MARK_BYTES as u64))?.read_to_end(&mut start).map_err(|e| failure(file, e))?;
    let byte = encoding::begin(file, encoding, &start)?.1 as u64;
    Ok((byte, open_text(stores, file, &Part::Bytes { start: byte, end: file.size_bytes, first_record: 0 }, encoding)?))
}

/// Whether a file can be read from any record on: as it stands in the store, and a character is a character wherever the reading starts.
pub(super) fn can_be_cut(file: &InputFile, encoding: Encoding) -> Result<bool> {
    Ok(of(file)? == Compression::None && !matches!(encoding, Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf16Be))
}

/// zstd: the largest window, as a power of two.
const ZSTD_WINDOW_LOG: u32 = 27;
/// xz: dictionary and everything around it.
const XZ_MEMORY_BYTES: u64 = 128 << 20;
/// One read of the stored bytes.
const STORED_BLOCK_BYTES: usize = 1 << 17;

/// The stream inside, to its very end.
fn decompressed(file: &InputFile, stored: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
    let buffered = |stored| BufReader::with_capacity(STORED_BLOCK_BYTES, stored);
    Ok(match of(file)? {
        Compression::None => stored,
        Compression::Gzip => Box::new(Gzip::Member(GzDecoder::new(buffered(stored)))),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(stored)).map_err(|e| failure(file, e))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(|e| failure(file, e))?;
            Box::new(decoder)
        }
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered(stored))),
        Compression::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, liblzma::stream::CONCATENATED);
            let stream = stream.map_err(|_| Failure::new(Culprit::Outside, "internal", "the xz decoder cannot be started"))?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(buffered(stored), stream))
        }
    })
}

/// Members of a gzip file, one after the other, and zeros behind the last.
enum Gzip<R> {
    Member(GzDecoder<R>),
    /// Only here while a member follows another, and at the end.
    Ended,
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Self::Member(member) = self {
            let n = member.read(out)?;
            if n > 0 || out.is_empty() {
                return Ok(n);
            }
            let Self::Member(member) = std::mem::replace(self, Self::Ended) else { return Ok(0) };
            let mut stored = member.into_inner();
            let mut padding = false;
            loop {
                let there = stored.fill_buf()?;
                let zeros = there.iter().take_while(|byte| **byte == 0).count();
                let (all, rest) = (there.is_empty(), there.len() - zeros);
                padding |= zeros > 0;
                stored.consume(zeros);
                if all {
                    return Ok(0);
                }
                if rest > 0 {
                    break;
                }
            }
            if padding {
                return Err(io::Error::new(ErrorKind::InvalidData, "something behind the padding"));
            }
            *self = Self::Member(GzDecoder::new(stored));
        }
        Ok(0)
    }
}

/// What an error of such a stream means.
pub(super) fn failure(file: &InputFile, error: io::Error) -> Error {
    let kind = error.kind();
    // Their words are only looked at.
    let beyond_memory = error.raw_os_error().is_none() && error.get_ref().is_some_and(|e| !e.is::<Error>() && e.to_string().contains("memory"));
    match read_failure(file, error) {
        Some(store) => store,
        None if beyond_memory => Failure::new(Culprit::Data, "decompression-limit", format!("{} needs more memory to decompress than is allowed", file.label))
            .help("Compress it again with a window or dictionary of at most 64 MiB")
            .into(),
        None if kind == ErrorKind::UnexpectedEof => truncated(file).into(),
        None => corrupt(file).into(),
    }
}

/// Refuses a text file that starts like something else.
pub(super) fn refuse_other_formats(file: &InputFile, start: &[u8]) -> Result<()> {
    const MAGIC: [(&[u8], &str); 8] = [
        (b"PAR1", "a Parquet file"),
        (b"\x1f\x8b", "gzip: name it .gz"),
        (b"\x28\xb5\x2f\xfd", "zstd: name it .zst"),
        (b"BZh91AY&", "bzip2: name it .bz2"),
        (b"\xfd7zXZ\0", "xz: name it .xz"),
        (b"ARROW1", "an Arrow file"),
        (b"Obj\x01", "an Avro file"),
        (b"PK\x03\x04", "a zip archive or spreadsheet"),
    ];
    match MAGIC.iter().find(|(magic, _)| start.starts_with(magic)) {
        Some((_, what)) => Err(Failure::new(Culprit::File, "format-mismatch", format!("{} is not what the job says: it starts like {what}", file.label))
            .help("Set the source's `format` to what the file is, or convert it")
            .into()),
        None => Ok(()),
    }
}

/// A file without a byte says nothing, not even that there are no rows.
pub(super) fn empty(file: &InputFile) -> Error {
    Failure::new(Culprit::File, "empty-file", format!("{} is empty", file.label))
        .help("Leave it out of the uri, or find out why nothing was written into it")
        .into()
}

struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(out)?;
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
