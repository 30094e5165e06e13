//! Random access and sequential reading: [`Reader`] over anything that reads at an offset, [`ReadAt`].
mod records;

use crate::decode::{Decoded, Decoder};
use crate::index::Index;
use crate::layout::{At, chunk_data, parse_header};
use crate::{Fault, ReadAt};
use rayon::prelude::*;
pub use records::Records;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

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

/// A request to the file asks for no more than this, unless one chunk is larger.
const REQUEST_BYTES: u64 = 256 << 10;

/// Chunks with no more than this between them are read in one request.
const GAP_BYTES: u64 = 4 << 10;

/// Below this many decoded bytes, waking other threads costs more than they save.
const SHARED_BYTES: u64 = 128 << 10;

/// What a chunk may decode to unless the caller says otherwise: 8 GiB.
pub(crate) const MAX_CHUNK_BYTES: u64 = 8 << 30;

/// Buffers of one reading thread.
struct Scratch {
    decoder: Decoder,
    raw: Vec<u8>,
    joined: Vec<u8>,
}

impl Scratch {
    fn new(max_chunk_bytes: u64) -> Self {
        Self { decoder: Decoder::new(max_chunk_bytes), raw: Vec::new(), joined: Vec::new() }
    }
}

/// A scratch that goes back to its reader.
struct Borrowed<'a> {
    pool: &'a Mutex<Vec<Scratch>>,
    scratch: Option<Scratch>,
}

impl Borrowed<'_> {
    fn scratch(&mut self, max_chunk_bytes: u64) -> &mut Scratch {
        self.scratch.get_or_insert_with(|| Scratch::new(max_chunk_bytes))
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(mut scratch) = self.scratch.take() {
            for buffer in [&mut scratch.raw, &mut scratch.joined] {
                buffer.truncate(KEPT_SCRATCH_BYTES);
                buffer.shrink_to(KEPT_SCRATCH_BYTES);
            }
            scratch.decoder.shrink(KEPT_SCRATCH_BYTES);
            self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        }
    }
}

/// Memory that one large chunk left behind is given back above this size.
const KEPT_SCRATCH_BYTES: usize = 16 << 20;

/// A record that was asked for: its chunk, its place in the chunk, and its place in the answer.
type Wanted = (usize, usize, usize);

/// Chunks that are read at once, the records wanted of them, and where those go.
struct Request<'a> {
    span: Range<u64>,
    wanted: &'a [Wanted],
    found: &'a mut [Vec<u8>],
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
    index: Arc<Index>,
    max_chunk_bytes: u64,
    threads: NonZeroUsize,
    scratch: Mutex<Vec<Scratch>>,
}

impl<R: ReadAt> Reader<R> {
    /// Reads the index of a file.
    ///
    /// A file that is cut, even to whole blocks, that was never closed, or that has a wrong signature or magic number is refused.
    pub fn open(file: R) -> Result<Self, ReadError> {
        let index = Arc::new(Index::open(&file, file.size_bytes()?)?);
        Ok(Self::of(file, index, MAX_CHUNK_BYTES))
    }

    pub(crate) fn of(file: R, index: Arc<Index>, max_chunk_bytes: u64) -> Self {
        let threads = NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN);
        Self { file, index, max_chunk_bytes, threads, scratch: Mutex::default() }
    }

    /// Refuses chunks that decode to more than this (8 GiB unless set): a file of a few kilobytes can hold gigabytes of zeros.
    #[must_use]
    pub fn with_max_chunk_bytes(mut self, max_chunk_bytes: u64) -> Self {
        self.max_chunk_bytes = max_chunk_bytes;
        self.scratch = Mutex::default();
        self
    }

    /// How many threads decode at most (as many as rayon's pool has, unless set). With one, everything happens on the calling thread.
    #[must_use]
    pub fn with_max_parallelism(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// The file that was given to [`open`](Self::open).
    pub fn into_inner(self) -> R {
        self.file
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
        let (chunk, within) = self.locate(index)?;
        let mut found = [Vec::new()];
        let wanted = [(chunk, within, 0)];
        let request = Request { span: self.index.span(chunk), wanted: &wanted, found: &mut found };
        self.answer(request, self.borrow().scratch(self.max_chunk_bytes))?;
        let [record] = found;
        Ok(record)
    }

    /// Records in any order, as asked for; a record may be asked for more than once.
    ///
    /// Every chunk is read and decoded once, and chunks that stand close together are read in one request: for many records this costs less
    /// than [`record`](Self::record) one by one, above all in files with a `group_size` over 1. Several threads share a large batch.
    pub fn records_at(&self, indexes: &[u64]) -> Result<Vec<Vec<u8>>, ReadError> {
        let mut wanted: Vec<Wanted> = Vec::with_capacity(indexes.len());
        for (answer, &index) in indexes.iter().enumerate() {
            let (chunk, within) = self.locate(index)?;
            wanted.push((chunk, within, answer));
        }
        wanted.sort_unstable();
        let mut found = vec![Vec::new(); indexes.len()];
        let (requests, decoded_bytes) = self.requests(&wanted, &mut found);
        let threads = self.threads().min(requests.len());
        if threads > 1 && decoded_bytes >= SHARED_BYTES {
            self.share(requests, threads)?;
        } else {
            let mut borrowed = self.borrow();
            let scratch = borrowed.scratch(self.max_chunk_bytes);
            requests.into_iter().try_for_each(|request| self.answer(request, scratch))?;
        }
        let mut answers = vec![Vec::new(); indexes.len()];
        for ((.., answer), record) in wanted.into_iter().zip(found) {
            answers[answer] = record;
        }
        Ok(answers)
    }

    fn locate(&self, index: u64) -> Result<(usize, usize), ReadError> {
        self.index.locate(index).ok_or(ReadError::NoSuchRecord { index, records: self.num_records() })
    }

    /// Answers requests on several threads, each taking the next one. The error is the first in the file, as with one thread: whatever
    /// stands before it was taken earlier.
    fn share(&self, requests: Vec<Request<'_>>, threads: usize) -> Result<(), ReadError> {
        let queue = Mutex::new(requests.into_iter().enumerate());
        let failed: Mutex<Option<(usize, ReadError)>> = Mutex::default();
        let lock = || failed.lock().unwrap_or_else(PoisonError::into_inner);
        (0..threads).into_par_iter().with_max_len(1).for_each(|_| {
            let mut borrowed = self.borrow();
            loop {
                // In a statement of its own: the queue is not held while a request is answered.
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, request)) = next.filter(|_| lock().is_none()) else { return };
                if let Err(error) = self.answer(request, borrowed.scratch(self.max_chunk_bytes)) {
                    let mut failed = lock();
                    if failed.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
                        *failed = Some((number, error));
                    }
                }
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Joins what stands close together; also returns the bytes that all chunks decode to.
    fn requests<'a>(&self, mut wanted: &'a [Wanted], mut found: &'a mut [Vec<u8>]) -> (Vec<Request<'a>>, u64) {
        let mut requests = Vec::new();
        let mut decoded_bytes = 0u64;
        while let Some(&(first, ..)) = wanted.first() {
            let mut span = self.index.span(first);
            let mut last = None;
            let mut in_request = 0;
            while let Some(&(chunk, ..)) = wanted.get(in_request) {
                if last != Some(chunk) {
                    let next = self.index.span(chunk);
                    let joins = next.start <= span.end.saturating_add(GAP_BYTES) && next.end - span.start <= REQUEST_BYTES;
                    if chunk != first && !joins {
                        break;
                    }
                    decoded_bytes = decoded_bytes.saturating_add(self.index.decoded_bytes(chunk));
                    span.end = next.end;
                    last = Some(chunk);
                }
                in_request += 1;
            }
            let (now, later) = wanted.split_at(in_request);
            let (found_now, found_later) = found.split_at_mut(in_request);
            requests.push(Request { span, wanted: now, found: found_now });
            (wanted, found) = (later, found_later);
        }
        (requests, decoded_bytes)
    }

    fn answer(&self, request: Request<'_>, scratch: &mut Scratch) -> Result<(), ReadError> {
        let Request { span, wanted, found } = request;
        let Scratch { decoder, raw, joined } = scratch;
        wanted.iter().try_for_each(|&(chunk, ..)| self.index.is_readable(chunk, self.max_chunk_bytes))?;
        let raw = fill(&self.file, &span, raw)?;
        let mut decoded = Decoded::default();
        let mut loaded = None;
        for (place, &(chunk, within, _)) in wanted.iter().enumerate() {
            if loaded != Some(chunk) {
                let part = self.index.span(chunk);
                let part = &raw[(part.start - span.start) as usize..(part.end - span.start) as usize];
                decode_chunk(&self.index, chunk, part, decoder, joined, &mut decoded)?;
                loaded = Some(chunk);
            }
            let is_last_of_chunk = wanted.get(place + 1).is_none_or(|(next, ..)| *next != chunk);
            found[place] = if is_last_of_chunk { decoded.take_record(within) } else { decoded.record(within).map(<[u8]>::to_vec) }.unwrap_or_default();
        }
        Ok(())
    }

    /// The records of a range, in order, with read-ahead: while the caller is at one record, other threads decode the chunks that follow
    /// (at most about 1 MiB, or 4 MiB decoded, for each thread). The iterator ends at the first error; a range that reaches beyond the
    /// file ends with [`ReadError::NoSuchRecord`].
    pub fn records(&self, range: Range<u64>) -> Records<'_, R> {
        Records::new(self, range)
    }

    /// Threads that may work: what was asked for, as far as the pool has them.
    fn threads(&self) -> usize {
        self.threads.get().min(rayon::current_num_threads())
    }

    fn borrow(&self) -> Borrowed<'_> {
        let scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Borrowed { pool: &self.scratch, scratch }
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
        raw.try_reserve_exact(bytes - raw.len()).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
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
