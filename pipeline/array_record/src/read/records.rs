//! The records of a range in order, decoded ahead.
use super::{KEPT_SCRATCH_BYTES, Reader, Scratch, decode_chunk, fill};
use crate::decode::Decoded;
use crate::index::Index;
use crate::ordered::{Limit, Ordered};
use crate::{ReadAt, ReadError};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A window has no more bytes of the file than this, unless one chunk is larger; the first ones have less, since not every caller reads on.
const MOST_WINDOW_BYTES: u64 = 256 << 10;
const FIRST_WINDOW_BYTES: u64 = 16 << 10;

/// Nor does it decode to more than this, unless one chunk does.
const DECODED_WINDOW_BYTES: u64 = 4 << 20;

/// Chunks that are read at once and decoded by one thread. Its buffers go round.
#[derive(Default)]
struct Window {
    chunks: Range<usize>,
    raw: Vec<u8>,
    /// One for each chunk and, from earlier windows, perhaps more.
    decoded: Vec<Decoded>,
    /// Set when a chunk is damaged: `chunks` ends before it.
    failed: Option<ReadError>,
}

impl Window {
    fn decode(&mut self, index: &Index, scratch: &mut Scratch) {
        let begin = index.offset_bytes(self.chunks.start);
        if self.decoded.len() < self.chunks.len() {
            self.decoded.resize_with(self.chunks.len(), Decoded::default);
        }
        for (chunk, decoded) in self.chunks.clone().zip(&mut self.decoded) {
            let span = index.span(chunk);
            let raw = &self.raw[(span.start - begin) as usize..(span.end - begin) as usize];
            if let Err(error) = decode_chunk(index, chunk, raw, &mut scratch.decoder, &mut scratch.joined, decoded) {
                self.chunks.end = chunk;
                self.failed = Some(error);
                return;
            }
        }
    }
}

/// The records of a range, in order; see [`Reader::records`].
pub struct Records<'a, R: ReadAt> {
    reader: &'a Reader<R>,
    next: u64,
    end: u64,
    ahead: Ordered<Option<Scratch>, Window, Window>,
    /// Chunks that are in no window yet.
    unread: Range<usize>,
    window_bytes: u64,
    /// Why no further window could be read; told after the windows before it.
    unreadable: Option<ReadError>,
    window: Window,
    /// The chunk that `next` is in, counted in the window, and its records.
    at: usize,
    loaded: Range<u64>,
}

impl<'a, R: ReadAt> Records<'a, R> {
    pub(super) fn new(reader: &'a Reader<R>, range: Range<u64>) -> Self {
        let end = range.end.max(range.start);
        let chunk_of = |record: u64| reader.index.locate(record).map(|(chunk, _)| chunk);
        let unread = match (chunk_of(range.start), range.start < end) {
            (Some(first), true) => first..chunk_of(end - 1).map_or(reader.index.chunks(), |last| last + 1),
            _ => 0..0,
        };
        let threads = reader.threads();
        let (index, max_chunk_bytes) = (Arc::clone(&reader.index), reader.max_chunk_bytes);
        let decode = move |scratch: &mut Option<Scratch>, mut window: Window| {
            window.decode(&index, scratch.get_or_insert_with(|| Scratch::new(max_chunk_bytes)));
            window
        };
        // The caller decodes too while it waits. With one thread there is nobody to read ahead for.
        let pieces = if threads == 1 { 1 } else { threads.saturating_mul(2) };
        let limit = Limit { pieces, bytes: threads.saturating_mul(DECODED_WINDOW_BYTES as usize) };
        Self {
            reader,
            next: range.start,
            end,
            ahead: Ordered::new(threads, if threads == 1 { 0 } else { threads }, limit, decode),
            unread,
            window_bytes: FIRST_WINDOW_BYTES,
            unreadable: None,
            window: Window::default(),
            at: 0,
            loaded: 0..0,
        }
    }

    /// The next record, borrowed until the call after: no allocation per record. Otherwise as [`Iterator::next`].
    pub fn next_borrowed(&mut self) -> Option<Result<&[u8], ReadError>> {
        if self.next >= self.end {
            return None;
        }
        while !self.loaded.contains(&self.next) {
            if let Err(error) = self.load() {
                self.end = self.next;
                return Some(Err(error));
            }
        }
        let within = usize::try_from(self.next - self.loaded.start).unwrap_or(usize::MAX);
        self.next += 1;
        self.window.decoded.get(self.at)?.record(within).map(Ok)
    }

    /// Goes to the next chunk.
    fn load(&mut self) -> Result<(), ReadError> {
        let index = &self.reader.index;
        if !self.loaded.is_empty() {
            self.at += 1;
        }
        if self.at >= self.window.chunks.len() {
            self.loaded = 0..0;
            if let Some(error) = self.window.failed.take() {
                return Err(error);
            }
            let spare = std::mem::take(&mut self.window);
            self.read_ahead(spare);
            self.window = match (self.ahead.take(), self.unreadable.take()) {
                (Some(window), unreadable) => {
                    self.unreadable = unreadable;
                    window.ok_or_else(|| io::Error::other("a decoding thread ended early"))?
                }
                (None, Some(error)) => return Err(error),
                (None, None) => return Err(ReadError::NoSuchRecord { index: self.next, records: index.records() }),
            };
            self.at = 0;
            if self.window.chunks.is_empty() {
                return Ok(());
            }
        }
        self.loaded = index.records_of(self.window.chunks.start + self.at);
        Ok(())
    }

    /// Reads windows and hands them over until enough are in flight.
    fn read_ahead(&mut self, spare: Window) {
        let index = &self.reader.index;
        let mut spare = Some(spare);
        // Each slot keeps the size of the largest chunk it ever held: together they must not keep many times what a window may have.
        if let Some(window) = &mut spare {
            let kept_bytes: usize = window.decoded.iter().map(Decoded::capacity_bytes).sum();
            if kept_bytes as u64 > 2 * DECODED_WINDOW_BYTES {
                window.decoded = Vec::new();
            }
            window.raw.truncate(KEPT_SCRATCH_BYTES);
            window.raw.shrink_to(KEPT_SCRATCH_BYTES);
        }
        while self.unreadable.is_none() && !self.unread.is_empty() && self.ahead.has_room() {
            let mut window = spare.take().unwrap_or_default();
            let begin = index.offset_bytes(self.unread.start);
            let mut chunks = self.unread.start..self.unread.start + 1;
            let mut decoded_bytes = index.decoded_bytes(chunks.start);
            while chunks.end < self.unread.end && index.span(chunks.end).end - begin <= self.window_bytes {
                decoded_bytes = decoded_bytes.saturating_add(index.decoded_bytes(chunks.end));
                if decoded_bytes > DECODED_WINDOW_BYTES {
                    break;
                }
                chunks.end += 1;
            }
            self.unread.start = chunks.end;
            self.window_bytes = (2 * self.window_bytes).min(MOST_WINDOW_BYTES);
            let readable = chunks.clone().try_for_each(|chunk| index.is_readable(chunk, self.reader.max_chunk_bytes));
            let filled =
                readable.map_err(ReadError::from).and_then(|()| fill(&self.reader.file, &(begin..index.offset_bytes(chunks.end)), &mut window.raw).map(drop));
            if let Err(error) = filled {
                self.unreadable = Some(error);
                return;
            }
            window.chunks = chunks;
            // The last window is not worth waking a thread: the caller is about to wait for it.
            let is_alone = self.unread.is_empty() && self.ahead.is_empty();
            self.ahead.submit(window, usize::try_from(decoded_bytes).unwrap_or(usize::MAX), !is_alone);
        }
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
