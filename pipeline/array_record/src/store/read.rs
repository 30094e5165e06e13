//! [`StoreReader`]: footer and needed chunks only, in few requests.
use crate::index::Index;
use crate::layout::{BLOCK_BYTES, SIGNATURE};
use crate::read::{MAX_CHUNK_BYTES, Reader};
use crate::{ReadAt, ReadError};
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt};
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Read with the first request: postscript, and the whole footer of files of up to some ten thousand chunks.
const TAIL_BYTES: u64 = 256 << 10;

/// What lies between two wanted chunks is read along up to this size: cheaper than a request.
const GAP_BYTES: u64 = 256 << 10;

/// A request asks for no more than this, unless one chunk is larger.
const REQUEST_BYTES: u64 = 4 << 20;

/// What [`StoreReader::records`] decodes at once, unless one chunk is larger.
const DECODED_BYTES: u64 = 16 << 20;

/// What a record costs beside its bytes.
const RECORD_BYTES: u64 = 48;

/// Requests under way at once.
const REQUESTS: usize = 8;

/// Requests of [`StoreReader::records`] under way, or waiting decoded, while the caller is at an earlier one.
const AHEAD: usize = 3;

/// A record that was asked for: its chunk, its number, its place in the answer.
type Wanted = (usize, u64, usize);

/// What is fetched at once, and which of the wanted records are in it.
type Request<'a> = (Range<u64>, &'a [Wanted]);

/// Stretches of an object that were fetched, in order.
struct Pieces {
    size_bytes: u64,
    pieces: Vec<(u64, Bytes)>,
    /// What was asked for last and is not there.
    missing: Mutex<Option<Range<u64>>>,
}

impl ReadAt for Pieces {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.size_bytes)
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(out.len() as u64);
        let mut filled = 0;
        let mut from = self.pieces.partition_point(|(begin, _)| *begin <= offset).saturating_sub(1);
        // Pieces may follow on each other.
        while filled < out.len() {
            let position = offset + filled as u64;
            let stretch = self.pieces.get(from).and_then(|(begin, bytes)| bytes.get(usize::try_from(position.checked_sub(*begin)?).ok()?..));
            let Some(stretch) = stretch.filter(|stretch| !stretch.is_empty()) else {
                *self.missing.lock().unwrap_or_else(PoisonError::into_inner) = Some(offset..end);
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let n = stretch.len().min(out.len() - filled);
            out[filled..filled + n].copy_from_slice(&stretch[..n]);
            filled += n;
            from += 1;
        }
        Ok(())
    }
}

/// One version of an object.
#[derive(Clone)]
struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// Requests name it, so that an object which is replaced meanwhile is not read as half one and half the other.
    etag: Option<String>,
    size_bytes: u64,
}

impl Object {
    async fn fetch(&self, range: Range<u64>) -> io::Result<(u64, Bytes)> {
        let begin = range.start;
        let bytes = range.end - range.start;
        let options = GetOptions { if_match: self.etag.clone(), range: Some(range.into()), ..GetOptions::default() };
        let found = self.store.get_opts(&self.path, options).await?.bytes().await?;
        // A store that answers with less would shift everything behind.
        if found.len() as u64 == bytes { Ok((begin, found)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    async fn fetch_all(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> io::Result<Pieces> {
        let ranges = ranges.into_iter().filter(|range| !range.is_empty());
        let fetches = futures::stream::iter(ranges).map(|range| self.fetch(range));
        let pieces = fetches.buffered(REQUESTS).try_collect().await?;
        Ok(Pieces { size_bytes: self.size_bytes, pieces, missing: Mutex::default() })
    }
}

/// Reads a file by record number from an object store.
///
/// [`open`](Self::open) costs a HEAD and one or two range requests, whatever the size of the file. What is checked, and when, is as with
/// [`Reader`]. An object that is replaced while it is read is an error ([`ReadError::Io`]), where the store has ETags. Decoding
/// happens on tokio's threads for blocking work.
pub struct StoreReader {
    object: Object,
    index: Arc<Index>,
    max_chunk_bytes: u64,
}

impl StoreReader {
    /// Reads the index of the object at `path`.
    ///
    /// # Errors
    /// As [`Reader::open`]; an object that is not there is [`ReadError::Io`] of the kind [`io::ErrorKind::NotFound`].
    pub async fn open(store: Arc<dyn ObjectStore>, path: Path) -> Result<Self, ReadError> {
        let head = store.head(&path).await.map_err(io::Error::from)?;
        let object = Object { store, path, etag: head.e_tag, size_bytes: head.size };
        let tail = object.size_bytes.saturating_sub(TAIL_BYTES);
        let signature = (SIGNATURE.len() as u64).min(object.size_bytes);
        // A small file comes whole.
        let first = if tail <= signature { [0..0, 0..object.size_bytes] } else { [0..signature, tail..object.size_bytes] };
        let mut pieces = object.fetch_all(first).await?;
        let size_bytes = object.size_bytes;
        let index = loop {
            let opened;
            (opened, pieces) = off_runtime(move || (Index::open(&pieces, size_bytes), pieces)).await?;
            let missing = pieces.missing.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut missing) = missing else { break opened? };
            // The footer begins before the tail. Its header comes first: only that is proof of its length.
            missing.end = missing.end.max(missing.start.saturating_add(BLOCK_BYTES)).min(size_bytes);
            let piece = object.fetch(missing).await?;
            let at = pieces.pieces.partition_point(|(begin, _)| *begin < piece.0);
            // The same place again means longer this time.
            match pieces.pieces.get_mut(at).filter(|(begin, _)| *begin == piece.0) {
                Some(shorter) => *shorter = piece,
                None => pieces.pieces.insert(at, piece),
            }
        };
        Ok(Self { object, index: Arc::new(index), max_chunk_bytes: MAX_CHUNK_BYTES })
    }

    /// As [`Reader::with_max_chunk_bytes`].
    #[must_use]
    pub fn with_max_chunk_bytes(mut self, max_chunk_bytes: u64) -> Self {
        self.max_chunk_bytes = max_chunk_bytes;
        self
    }

    /// Records in the file.
    pub fn num_records(&self) -> u64 {
        self.index.records()
    }

    /// The option string that the writer left in the footer, if it did.
    pub fn options(&self) -> Option<&str> {
        self.index.writer_options()
    }

    /// One record, in one request.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn record(&self, index: u64) -> Result<Vec<u8>, ReadError> {
        Ok(self.records_at(&[index]).await?.pop().unwrap_or_default())
    }

    /// Records in any order, as asked for. Chunks that stand close together are fetched in one request, several requests at once.
    ///
    /// Memory: eight requests of at most 4 MiB, unless a chunk is larger, and the records.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn records_at(&self, indexes: &[u64]) -> Result<Vec<Vec<u8>>, ReadError> {
        let mut wanted: Vec<Wanted> = Vec::with_capacity(indexes.len());
        for (answer, &index) in indexes.iter().enumerate() {
            let (chunk, _) = self.index.locate(index).ok_or(ReadError::NoSuchRecord { index, records: self.num_records() })?;
            wanted.push((chunk, index, answer));
        }
        wanted.sort_unstable();
        let requests = self.requests(&wanted)?;
        let answer = |(range, wanted): Request<'_>| {
            let numbers: Vec<u64> = wanted.iter().map(|(_, index, _)| *index).collect();
            let places: Vec<usize> = wanted.iter().map(|(.., answer)| *answer).collect();
            async move {
                let pieces = self.object.fetch_all(std::iter::once(range)).await?;
                let found = self.decode(pieces, move |reader| reader.records_at(&numbers)).await?;
                Ok::<_, ReadError>((places, found))
            }
        };
        let mut answers = vec![Vec::new(); indexes.len()];
        let mut found = futures::stream::iter(requests.into_iter().map(answer).collect::<Vec<_>>()).buffered(REQUESTS);
        while let Some((places, records)) = found.try_next().await? {
            for (place, record) in places.into_iter().zip(records) {
                answers[place] = record;
            }
        }
        Ok(answers)
    }

    /// What to fetch at once for which of the wanted records.
    fn requests<'a>(&self, mut wanted: &'a [Wanted]) -> Result<Vec<Request<'a>>, ReadError> {
        let mut requests = Vec::new();
        while let Some(&(first, ..)) = wanted.first() {
            let mut range = self.index.span(first);
            let mut taken = 0;
            for &(chunk, ..) in wanted {
                self.index.is_readable(chunk, self.max_chunk_bytes)?;
                let span = self.index.span(chunk);
                if chunk != first && (span.start > range.end.saturating_add(GAP_BYTES) || span.end - range.start > REQUEST_BYTES) {
                    break;
                }
                range.end = range.end.max(span.end);
                taken += 1;
            }
            let (now, later) = wanted.split_at(taken);
            requests.push((range, now));
            wanted = later;
        }
        Ok(requests)
    }

    /// The records of a range, in order; three requests of about 4 MiB are under way or decoded ahead. The stream ends at the first
    /// error; a range that reaches beyond the file ends with [`ReadError::NoSuchRecord`].
    pub fn records(&self, range: Range<u64>) -> impl Stream<Item = Result<Vec<u8>, ReadError>> + Send + '_ {
        let records = self.num_records();
        let end = range.end.min(records);
        let beyond = (range.start < range.end && range.end > records).then(|| Err(ReadError::NoSuchRecord { index: records.max(range.start), records }));
        let mut next = range.start;
        let windows = std::iter::from_fn(move || {
            let window = self.window(next, end)?;
            next = window.end;
            Some(window)
        });
        let read = move |window: Range<u64>| async move {
            let span = |record: u64| self.index.locate(record).map_or(0..0, |(chunk, _)| self.index.span(chunk));
            let chunk = |record: u64| self.index.locate(record).map_or(0, |(chunk, _)| chunk);
            (chunk(window.start)..=chunk(window.end - 1)).try_for_each(|chunk| self.index.is_readable(chunk, self.max_chunk_bytes))?;
            let pieces = self.object.fetch_all(std::iter::once(span(window.start).start..span(window.end - 1).end)).await?;
            // What was read before a damaged chunk is worth having.
            let decoded = self.decode(pieces, move |reader| Ok(reader.records(window).collect::<Vec<_>>())).await?;
            Ok::<_, ReadError>(futures::stream::iter(decoded))
        };
        let all = futures::stream::iter(windows).map(read).buffered(AHEAD).try_flatten().chain(futures::stream::iter(beyond));
        all.scan(false, |failed, record| {
            let ended = std::mem::replace(failed, record.is_err());
            std::future::ready((!ended).then_some(record))
        })
    }

    /// The records from `next` to `end` that are fetched and decoded at once.
    fn window(&self, next: u64, end: u64) -> Option<Range<u64>> {
        if next >= end {
            return None;
        }
        let (first, _) = self.index.locate(next)?;
        let mut chunks = first..first + 1;
        let mut decoded_bytes = self.index.decoded_bytes(first);
        while chunks.end < self.index.chunks() && self.index.records_of(chunks.end).start < end {
            let records = self.index.records_of(chunks.end);
            decoded_bytes = decoded_bytes.saturating_add(self.index.decoded_bytes(chunks.end)).saturating_add((records.end - records.start) * RECORD_BYTES);
            if decoded_bytes > DECODED_BYTES || self.index.span(chunks.end).end - self.index.offset_bytes(first) > REQUEST_BYTES {
                break;
            }
            chunks.end += 1;
        }
        Some(next..self.index.records_of(chunks.end - 1).end.min(end))
    }

    /// Decodes what was fetched, on one thread: several requests are under way at once.
    async fn decode<T: Send + 'static>(
        &self,
        pieces: Pieces,
        work: impl FnOnce(&Reader<Pieces>) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        let reader = Reader::of(pieces, Arc::clone(&self.index), self.max_chunk_bytes).with_max_parallelism(NonZeroUsize::MIN);
        off_runtime(move || work(&reader)).await?
    }
}

/// Does work on tokio's threads for blocking work: not on the runtime's own, and not on rayon's, which may all be waiting for this one.
async fn off_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| io::Error::other("a decoding thread ended early"))
}

impl fmt::Debug for StoreReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReader").field("path", &self.object.path).field("records", &self.num_records()).finish_non_exhaustive()
    }
}
