//! [`StoreReader`]: footer and needed chunks only, in few requests.
use crate::index::Index;
use crate::layout::{BLOCK_BYTES, SIGNATURE};
use crate::read::{MAX_CHUNK_BYTES, Reader};
use crate::{ReadAt, ReadError};
use bytes::Bytes;
use futures::channel::oneshot;
use futures::{Stream, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt};
use std::fmt;
use std::io;
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

/// [`StoreReader::records_at`] holds no more than this of the file at once, unless one request is larger.
const HELD_BYTES: u64 = 64 << 20;

/// Requests under way at once.
const REQUESTS: usize = 8;

/// Requests of [`StoreReader::records`] under way, or waiting decoded, while the caller is at an earlier one.
const AHEAD: usize = 3;

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
/// happens on rayon's pool, never on the async runtime.
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
        let index = loop {
            let opened = Index::open(&pieces, MAX_CHUNK_BYTES);
            let missing = pieces.missing.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut missing) = missing else { break opened? };
            // The footer begins before the tail. Its header comes first: only that is proof of its length.
            missing.end = missing.end.max(missing.start.saturating_add(BLOCK_BYTES)).min(object.size_bytes);
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
    /// Memory: 64 MiB of the file at most, unless one request is larger, and the records.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn records_at(&self, indexes: &[u64]) -> Result<Vec<Vec<u8>>, ReadError> {
        let mut wanted = Vec::with_capacity(indexes.len());
        for (answer, &index) in indexes.iter().enumerate() {
            let (chunk, _) = self.index.locate(index).ok_or(ReadError::NoSuchRecord { index, records: self.num_records() })?;
            wanted.push((chunk, index, answer));
        }
        wanted.sort_unstable();
        let mut answers = vec![Vec::new(); indexes.len()];
        let mut rest = wanted.as_slice();
        while !rest.is_empty() {
            let (ranges, taken) = self.requests(rest);
            let (now, later) = rest.split_at(taken);
            rest = later;
            let pieces = self.object.fetch_all(ranges).await?;
            let numbers: Vec<u64> = now.iter().map(|(_, index, _)| *index).collect();
            let found = self.on_pool(pieces, move |reader| reader.records_at(&numbers)).await?;
            for ((.., answer), record) in now.iter().zip(found) {
                answers[*answer] = record;
            }
        }
        Ok(answers)
    }

    /// Ranges to fetch for the first of the wanted records, as many as may be held at once.
    fn requests(&self, wanted: &[(usize, u64, usize)]) -> (Vec<Range<u64>>, usize) {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut held_bytes = 0;
        for (at, &(chunk, ..)) in wanted.iter().enumerate() {
            let span = self.index.span(chunk);
            match ranges.last_mut() {
                Some(last) if span.end <= last.end => {}
                Some(last) if span.start <= last.end.saturating_add(GAP_BYTES) && span.end - last.start <= REQUEST_BYTES => {
                    held_bytes += span.end - last.end;
                    last.end = span.end;
                }
                Some(_) if held_bytes.saturating_add(span.end - span.start) > HELD_BYTES => return (ranges, at),
                last => {
                    // The reader of the pieces joins what stands close together: a small gap is fetched, though by the next request.
                    let begin = last.map(|last| last.end).filter(|end| span.start - end <= GAP_BYTES).unwrap_or(span.start);
                    held_bytes += span.end - begin;
                    ranges.push(begin..span.end);
                }
            }
        }
        (ranges, wanted.len())
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
            let pieces = self.object.fetch_all(std::iter::once(span(window.start).start..span(window.end - 1).end)).await?;
            // What was read before a damaged chunk is worth having.
            let decoded = self.on_pool(pieces, move |reader| Ok(reader.records(window).collect::<Vec<_>>())).await?;
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
            decoded_bytes = decoded_bytes.saturating_add(self.index.decoded_bytes(chunks.end));
            if decoded_bytes > DECODED_BYTES || self.index.span(chunks.end).end - self.index.offset_bytes(first) > REQUEST_BYTES {
                break;
            }
            chunks.end += 1;
        }
        Some(next..self.index.records_of(chunks.end - 1).end.min(end))
    }

    /// Decodes what was fetched on rayon's pool.
    async fn on_pool<T: Send + 'static>(
        &self,
        pieces: Pieces,
        work: impl FnOnce(&Reader<Pieces>) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        let reader = Reader::of(pieces, Arc::clone(&self.index), self.max_chunk_bytes);
        let (send, receive) = oneshot::channel();
        rayon::spawn(move || {
            // Nobody waits any more: the caller dropped its future.
            let _ = send.send(work(&reader));
        });
        receive.await.map_err(|_| io::Error::other("a decoding thread ended early"))?
    }
}

impl fmt::Debug for StoreReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReader").field("path", &self.object.path).field("records", &self.num_records()).finish_non_exhaustive()
    }
}
