//! Compression by file name, and what it means when a stream breaks off.
use super::{Part, corrupt, truncated};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::{InputFile, Stores, read_failure};
use std::io::{self, BufReader, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// By the last extension of the file's name.
pub(super) fn of(file: &InputFile) -> Result<Compression> {
    let name = file.uri.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "gz" | "gzip" => Ok(Compression::Gzip),
        "zst" | "zstd" => Ok(Compression::Zstd),
        "bz2" | "xz" | "lz4" | "snappy" | "br" | "zip" | "Z" | "lzo" => {
            Err(Failure::new(Culprit::File, "unsupported-compression", format!("{} is compressed in a way that is not read", file.label))
                .help("Use .gz or .zst")
                .into())
        }
        _ => Ok(Compression::None),
    }
}

/// A stream of the decompressed bytes and a count of those that came from the store.
pub(super) struct Opened {
    pub(super) bytes: Box<dyn Read + Send>,
    pub(super) taken: Arc<AtomicU64>,
}

/// Opens a part of a text file. A byte order mark at the start of the file is dropped.
pub(super) fn open(stores: &Stores, file: &InputFile, part: &Part) -> Result<Opened> {
    let taken = Arc::new(AtomicU64::new(0));
    let stored: Box<dyn Read + Send> = match part {
        Part::Bytes { start, end, .. } => {
            let counted = Counted { inner: stores.reader_range(file, *start..*end)?, taken: Arc::clone(&taken) };
            return Ok(Opened { bytes: Box::new(counted), taken });
        }
        _ if file.size_bytes == 0 => return Err(empty(file)),
        _ => Box::new(Counted { inner: stores.reader(file)?, taken: Arc::clone(&taken) }),
    };
    let mut bytes: Box<dyn Read + Send> = match of(file)? {
        Compression::None => stored,
        // A member after the last one is read too, whatever follows it is an error.
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 17, stored))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(1 << 17, stored)).map_err(|e| failure(file, e))?),
    };
    let mut start = Vec::with_capacity(3);
    (&mut bytes).take(3).read_to_end(&mut start).map_err(|e| failure(file, e))?;
    if start == BOM {
        start.clear();
    }
    Ok(Opened { bytes: Box::new(io::Cursor::new(start).chain(bytes)), taken })
}

/// Opens an uncompressed file behind its byte order mark, and says where that is.
pub(super) fn open_after_bom(stores: &Stores, file: &InputFile) -> Result<(u64, Opened)> {
    let mut start = Vec::with_capacity(BOM.len());
    stores.reader_range(file, 0..file.size_bytes.min(BOM.len() as u64))?.read_to_end(&mut start).map_err(|e| failure(file, e))?;
    let byte = if start == BOM { BOM.len() as u64 } else { 0 };
    Ok((byte, open(stores, file, &Part::Bytes { start: byte, end: file.size_bytes, first_record: 0 })?))
}

/// U+FEFF in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What an error of such a stream means.
pub(super) fn failure(file: &InputFile, error: io::Error) -> Error {
    let kind = error.kind();
    match read_failure(file, error) {
        Some(store) => store,
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
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
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
