//! Random access and sequential reading: [`Reader`] over anything that reads at an offset, [`ReadAt`].
use crate::decode::{Decoded, Decoder};
use crate::index::Index;
use crate::layout::{At, chunk_data, parse_header};
use crate::{Fault, ReadAt};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Why a file or a record cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file system, or whatever stands behind [`ReadAt`], said no.
    #[error("the file cannot be read")]
    Io(#[from] io::Error),
    /// The bytes are not those that a writer wrote.
    #[error("damaged at bytes {} to {}: {fault}", bytes.start, bytes.end)]
    Damaged {
        /// Where in the file.
        bytes: Range<u64>,
        /// What is wrong there.
        fault: Fault,
    },
    /// The caller asked for a record that the file does not have.
    #[error("there is no record {index}: the file has {records}")]
    NoSuchRecord {
        /// Asked for.
        index: u64,
        /// Records in the file.
        records: u64,
    },
}

impl From<At> for ReadError {
    fn from(At { bytes, fault }: At) -> Self {
        Self::Damaged { bytes, fault }
    }
}

/// How much a sequential reader asks the file for at once, at least.
const READ_AHEAD_BYTES: u64 = 1 << 20;

/// Chunks with no more than this between them are read in one request.
const GAP_BYTES: u64 = 16 << 10;

/// What a chunk may decode to unless the caller says otherwise: 8 GiB.
const MAX_CHUNK_BYTES: u64 = 8 << 30;

/// Buffers of one reading thread.
struct Scratch {
    decoder: Decoder,
    raw: Vec<u8>,
    joined: Vec<u8>,
}

/// Reads a file by record number.
///
/// [`open`](Self::open) reads postscript and footer and checks that they agree; it does not look at the data. Every chunk that is read
/// later has its block headers, hashes and numbers checked. To know that a whole file is sound, use [`verify`](crate::verify()).
///
/// All methods take `&self`: a reader can be shared by threads when the file can.
///
/// ```
/// # use array_record::{Options, Reader, Writer};
/// # let mut writer = Writer::new(Vec::new(), &Options::default())?;
/// # writer.write_record(b"first")?;
/// # writer.write_record(b"second")?;
/// # let file = writer.close()?.1;
/// let reader = Reader::open(file)?;
/// assert_eq!(reader.num_records(), 2);
/// assert_eq!(reader.record(1)?, b"second");
/// for record in reader.records(0..reader.num_records()) {
///     assert!(!record?.is_empty());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<R> {
    file: R,
    index: Index,
    max_chunk_bytes: u64,
    scratch: Mutex<Vec<Scratch>>,
}

impl<R: ReadAt> Reader<R> {
    /// Reads the index of a file.
    ///
    /// A file that is cut, even to whole blocks, that was never closed, or that has a wrong signature or magic number is refused.
    pub fn open(file: R) -> Result<Self, ReadError> {
        let index = Index::open(&file, MAX_CHUNK_BYTES)?;
        Ok(Self { file, index, max_chunk_bytes: MAX_CHUNK_BYTES, scratch: Mutex::default() })
    }

    /// Refuses chunks that decode to more than this (8 GiB unless set): a file of a few kilobytes can hold gigabytes of zeros.
    #[must_use]
    pub fn with_max_chunk_bytes(mut self, max_chunk_bytes: u64) -> Self {
        self.max_chunk_bytes = max_chunk_bytes;
        self.scratch = Mutex::default();
        self
    }

    /// Records in the file.
    pub fn num_records(&self) -> u64 {
        self.index.records()
    }

    /// The option string that the writer left in the footer, if it did. It informs; reading does not depend on it.
    pub fn options(&self) -> Option<&str> {
        self.index.writer_options()
    }

    /// One record.
    pub fn record(&self, index: u64) -> Result<Vec<u8>, ReadError> {
        let (chunk, within) = self.index.locate(index).ok_or(ReadError::NoSuchRecord { index, records: self.num_records() })?;
        let mut decoded = Decoded::default();
        let mut scratch = self.borrow_scratch();
        let span = self.index.span(chunk);
        let Scratch { decoder, raw, joined } = &mut scratch;
        let read = fill(&self.file, &span, raw).and_then(|raw| decode_chunk(&self.index, chunk, raw, decoder, joined, &mut decoded));
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        read?;
        decoded.into_record(within).ok_or(ReadError::NoSuchRecord { index, records: self.num_records() })
    }

    /// Records in any order, as asked for; a record may be asked for more than once.
    ///
    /// Every chunk is read and decoded once, and chunks that stand close together are read in one request: for many records this costs less
    /// than [`record`](Self::record) one by one, above all in files with a `group_size` over 1 and on object stores.
    pub fn records_at(&self, indexes: &[u64]) -> Result<Vec<Vec<u8>>, ReadError> {
        // (chunk, place in the chunk, place in the answer)
        let mut wanted = Vec::with_capacity(indexes.len());
        for (answer, &index) in indexes.iter().enumerate() {
            let (chunk, within) = self.index.locate(index).ok_or(ReadError::NoSuchRecord { index, records: self.num_records() })?;
            wanted.push((chunk, within, answer));
        }
        wanted.sort_unstable();
        let mut answers = vec![Vec::new(); indexes.len()];
        let mut scratch = self.borrow_scratch();
        let outcome = self.fill_answers(&wanted, &mut scratch, &mut answers);
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        outcome.map(|()| answers)
    }

    fn fill_answers(&self, mut wanted: &[(usize, usize, usize)], scratch: &mut Scratch, answers: &mut [Vec<u8>]) -> Result<(), ReadError> {
        let Scratch { decoder, raw, joined } = scratch;
        let mut decoded = Decoded::default();
        while let Some(&(first, ..)) = wanted.first() {
            let mut span = self.index.span(first);
            let joins = |next: &Range<u64>, span: &Range<u64>| next.start <= span.end.saturating_add(GAP_BYTES) && next.end - span.start <= READ_AHEAD_BYTES;
            let mut in_request = 0;
            while let Some(&(chunk, ..)) = wanted.get(in_request) {
                let next = self.index.span(chunk);
                if chunk != first && !joins(&next, &span) {
                    break;
                }
                span.end = span.end.max(next.end);
                in_request += 1;
            }
            let (request, later) = wanted.split_at(in_request);
            wanted = later;
            let raw = fill(&self.file, &span, raw)?;
            let mut loaded = None;
            for &(chunk, within, answer) in request {
                if loaded != Some(chunk) {
                    let part = self.index.span(chunk);
                    let part = &raw[(part.start - span.start) as usize..(part.end - span.start) as usize];
                    decode_chunk(&self.index, chunk, part, decoder, joined, &mut decoded)?;
                    loaded = Some(chunk);
                }
                answers[answer] = decoded.record(within).unwrap_or_default().to_vec();
            }
        }
        Ok(())
    }

    /// The records of a range, in order, with read-ahead of about 1 MiB. The iterator ends at the first error; a range that reaches
    /// beyond the file ends with [`ReadError::NoSuchRecord`].
    pub fn records(&self, range: Range<u64>) -> Records<'_, R> {
        let scratch = self.borrow_scratch();
        Records { reader: self, next: range.start, end: range.end.max(range.start), scratch, window: 0..0, decoded: Decoded::default(), loaded: 0..0 }
    }

    fn borrow_scratch(&self) -> Scratch {
        let kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Scratch { decoder: Decoder::new(self.max_chunk_bytes), raw: Vec::new(), joined: Vec::new() })
    }
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("records", &self.index.records()).field("options", &self.index.writer_options()).finish_non_exhaustive()
    }
}

/// Reads a span of the file into the front of `raw`, which only grows.
fn fill<'a, R: ReadAt>(file: &R, span: &Range<u64>, raw: &'a mut Vec<u8>) -> Result<&'a [u8], ReadError> {
    let bytes = usize::try_from(span.end - span.start).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    if raw.len() < bytes {
        raw.resize(bytes, 0);
    }
    file.read_exact_at(span.start, &mut raw[..bytes])?;
    Ok(&raw[..bytes])
}

/// Checks and decodes chunk number `chunk`; `raw` is its span of the file.
pub(crate) fn decode_chunk(
    index: &Index,
    chunk: usize,
    raw: &[u8],
    decoder: &mut Decoder,
    joined: &mut Vec<u8>,
    decoded: &mut Decoded,
) -> Result<(), ReadError> {
    let span = index.span(chunk);
    let (header, end) = parse_header(raw, span.start, span.end)?;
    let data = chunk_data(raw, span.start, end, &header, joined)?;
    let damaged = |fault| ReadError::Damaged { bytes: span.start..end, fault };
    index.agrees(chunk, &header).map_err(damaged)?;
    decoder.decode(&header, data, decoded).map_err(damaged)
}

/// The records of a range, in order; see [`Reader::records`].
pub struct Records<'a, R: ReadAt> {
    reader: &'a Reader<R>,
    next: u64,
    end: u64,
    scratch: Scratch,
    /// Which bytes of the file stand in `scratch.raw`.
    window: Range<u64>,
    decoded: Decoded,
    /// Which records stand in `decoded`.
    loaded: Range<u64>,
}

impl<R: ReadAt> Records<'_, R> {
    /// The next record, borrowed until the call after: no allocation per record. Otherwise as [`Iterator::next`].
    pub fn next_borrowed(&mut self) -> Option<Result<&[u8], ReadError>> {
        if self.next >= self.end {
            return None;
        }
        if !self.loaded.contains(&self.next)
            && let Err(error) = self.load()
        {
            self.next = self.end;
            return Some(Err(error));
        }
        let within = usize::try_from(self.next - self.loaded.start).unwrap_or(usize::MAX);
        self.next += 1;
        self.decoded.record(within).map(Ok)
    }

    /// Decodes the chunk that holds the next record, reading ahead when it is not in the window.
    fn load(&mut self) -> Result<(), ReadError> {
        let index = &self.reader.index;
        let no_such_record = || ReadError::NoSuchRecord { index: self.next, records: index.records() };
        let (chunk, _) = index.locate(self.next).ok_or_else(no_such_record)?;
        let span = index.span(chunk);
        if !(self.window.start <= span.start && span.end <= self.window.end) {
            let wanted_end = index.end_of_range(self.end, span.start.saturating_add(READ_AHEAD_BYTES)).max(span.end);
            self.window = 0..0;
            fill(&self.reader.file, &(span.start..wanted_end), &mut self.scratch.raw)?;
            self.window = span.start..wanted_end;
        }
        let from = (span.start - self.window.start) as usize;
        let raw = &self.scratch.raw[from..from + (span.end - span.start) as usize];
        self.loaded = 0..0;
        decode_chunk(index, chunk, raw, &mut self.scratch.decoder, &mut self.scratch.joined, &mut self.decoded)?;
        self.loaded = index.records_of(chunk);
        Ok(())
    }
}

impl<R: ReadAt> Iterator for Records<'_, R> {
    type Item = Result<Vec<u8>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_borrowed().map(|record| record.map(<[u8]>::to_vec))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, usize::try_from(self.end - self.next).ok())
    }
}

impl<R: ReadAt> std::iter::FusedIterator for Records<'_, R> {}

impl<R: ReadAt> fmt::Debug for Records<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("next", &self.next).field("end", &self.end).finish_non_exhaustive()
    }
}
