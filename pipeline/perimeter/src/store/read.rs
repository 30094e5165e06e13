//! Streams and ranges of one listed file.
use super::error::{Action, io_failure, store_failure};
use super::{InputFile, Place, Stores};
use crate::error::{Culprit, Error, Failure, Result};
use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectStore};
use perimeter_contract::job::Uri;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, mpsc};
use std::time::UNIX_EPOCH;

/// The first range request: enough for a header. Nothing is read ahead then.
const FIRST_PIECE_BYTES: u64 = 256 << 10;
/// One range request of a stream that goes on.
const PIECE_BYTES: u64 = 8 << 20;

/// An answer that is on its way. Works on every thread, also where blocking on the runtime itself would panic.
pub(super) struct Pending<T>(mpsc::Receiver<T>);

impl<T: Send + 'static> Pending<T> {
    pub(super) fn spawn(handle: &tokio::runtime::Handle, request: impl Future<Output = T> + Send + 'static) -> Self {
        let (send, receive) = mpsc::sync_channel(1);
        handle.spawn(async move {
            // The asker may be gone already.
            let _ = send.send(request.await);
        });
        Self(receive)
    }

    pub(super) fn take(&self) -> Result<T> {
        self.0.recv().map_err(|_| Failure::new(Culprit::Outside, "interrupted", "a request was given up because the process is ending").into())
    }
}

/// Puts an error of a reader made by [`Stores::reader`] back into the form that it had, or names the file that the disk could not give.
/// `None`: the error is not the store's, a decoder between store and caller made it.
pub fn read_failure(file: &InputFile, error: io::Error) -> Option<Error> {
    if error.raw_os_error().is_some() {
        return Some(io_failure(Action::Read, &file.label, error));
    }
    error.into_inner()?.downcast::<Error>().ok().map(|e| *e)
}

pub(super) fn reader(stores: &Stores, file: &InputFile, range: Range<u64>) -> Result<Box<dyn Read + Send>> {
    match stores.place(&Uri(file.uri.clone()))? {
        Place::Local(path) => {
            let mut opened = open_unchanged(&path, file)?;
            opened.seek(SeekFrom::Start(range.start)).map_err(|e| io_failure(Action::Read, &file.label, e))?;
            Ok(Box::new(opened.take(range.end.saturating_sub(range.start))))
        }
        Place::Object { store, path, .. } => {
            let object = Object { handle: stores.inner.handle.clone(), store, path, etag: file.etag.clone(), label: file.label.clone() };
            Ok(Box::new(ObjectReader { object, next: range.start, end: range.end, piece_bytes: FIRST_PIECE_BYTES, current: Bytes::new(), pending: None }))
        }
    }
}

/// Opens a local file and makes sure that it still is what was listed.
fn open_unchanged(path: &std::path::Path, file: &InputFile) -> Result<File> {
    let opened = File::open(path).map_err(|e| io_failure(Action::Read, &file.label, e))?;
    let meta = opened.metadata().map_err(|e| io_failure(Action::Read, &file.label, e))?;
    let modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).and_then(|d| i64::try_from(d.as_micros()).ok());
    if meta.len() != file.size_bytes || modified != file.modified_us {
        return Err(changed(file).into());
    }
    Ok(opened)
}

fn changed(file: &InputFile) -> Failure {
    Failure::new(Culprit::Outside, "input-changed", format!("{} changed while it was read", file.label)).help("Run again when nobody writes the input")
}

struct Object {
    handle: tokio::runtime::Handle,
    store: Arc<dyn ObjectStore>,
    path: Key,
    etag: Option<String>,
    label: String,
}

impl Object {
    fn request(&self, range: Range<u64>) -> Pending<object_store::Result<Bytes>> {
        let (store, path, etag) = (Arc::clone(&self.store), self.path.clone(), self.etag.clone());
        Pending::spawn(&self.handle, async move {
            let options = GetOptions { range: Some(GetRange::Bounded(range)), if_match: etag, ..GetOptions::default() };
            store.get_opts(&path, options).await?.bytes().await
        })
    }

    fn answer(&self, pending: &Pending<object_store::Result<Bytes>>, length: u64) -> Result<Bytes> {
        let bytes = pending.take()?.map_err(|e| store_failure(Action::Read, &self.label, &e))?;
        if bytes.len() as u64 == length {
            Ok(bytes)
        } else {
            Err(Failure::new(Culprit::Outside, "short-answer", format!("{}: the store sent {} of {length} bytes", self.label, bytes.len())).into())
        }
    }
}

struct ObjectReader {
    object: Object,
    next: u64,
    end: u64,
    piece_bytes: u64,
    current: Bytes,
    pending: Option<(Pending<object_store::Result<Bytes>>, u64)>,
}

impl ObjectReader {
    fn ask(&mut self) {
        let length = self.piece_bytes.min(self.end.saturating_sub(self.next));
        if length > 0 {
            self.pending = Some((self.object.request(self.next..self.next + length), length));
            self.next += length;
        }
    }
}

impl Read for ObjectReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            if self.pending.is_none() {
                self.ask();
            }
            let Some((pending, length)) = self.pending.take() else { return Ok(0) };
            self.current = self.object.answer(&pending, length).map_err(io::Error::other)?;
            if self.piece_bytes > FIRST_PIECE_BYTES {
                self.ask();
            }
            self.piece_bytes = PIECE_BYTES;
        }
        let n = out.len().min(self.current.len());
        out[..n].copy_from_slice(&self.current.split_to(n));
        Ok(n)
    }
}

/// Random access to one listed file.
pub struct Ranges {
    inner: Inner,
    size_bytes: u64,
}

enum Inner {
    Local(File, InputFile),
    Object(Object),
}

impl Ranges {
    pub(super) fn open(stores: &Stores, file: &InputFile) -> Result<Self> {
        let inner = match stores.place(&Uri(file.uri.clone()))? {
            Place::Local(path) => Inner::Local(open_unchanged(&path, file)?, file.clone()),
            Place::Object { store, path, .. } => {
                Inner::Object(Object { handle: stores.inner.handle.clone(), store, path, etag: file.etag.clone(), label: file.label.clone() })
            }
        };
        Ok(Self { inner, size_bytes: file.size_bytes })
    }

    /// Length of the file.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The bytes of `range`.
    ///
    /// # Errors
    /// Exit 1 `truncated-input` when the range reaches past the end; 3 and 4 as the store says.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.read_many(std::slice::from_ref(&range)).map(|mut all| all.pop().unwrap_or_default())
    }

    /// The bytes of every range; objects are asked for all of them at once.
    ///
    /// # Errors
    /// As [`Ranges::read`].
    pub fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let length = |r: &Range<u64>| match r.end.checked_sub(r.start) {
            Some(length) if r.end <= self.size_bytes => Ok(length),
            _ => Err(Error::from(
                Failure::new(Culprit::Data, "truncated-input", format!("{} ends before its own index says", self.label()))
                    .help("Get the file again from its source"),
            )),
        };
        match &self.inner {
            Inner::Local(opened, file) => ranges
                .iter()
                .map(|range| {
                    let mut bytes = vec![0; usize::try_from(length(range)?).map_err(|_| changed(file))?];
                    opened.read_exact_at(&mut bytes, range.start).map_err(|e| match e.kind() {
                        io::ErrorKind::UnexpectedEof => changed(file).into(),
                        _ => io_failure(Action::Read, &file.label, e),
                    })?;
                    Ok(bytes.into())
                })
                .collect(),
            Inner::Object(object) => {
                let mut asked = Vec::with_capacity(ranges.len());
                for range in ranges {
                    let length = length(range)?;
                    // S3 has no empty range.
                    asked.push((length > 0).then(|| (object.request(range.clone()), length)));
                }
                asked.iter().map(|ask| ask.as_ref().map_or_else(|| Ok(Bytes::new()), |(pending, length)| object.answer(pending, *length))).collect()
            }
        }
    }

    fn label(&self) -> &str {
        match &self.inner {
            Inner::Local(_, file) => &file.label,
            Inner::Object(object) => &object.label,
        }
    }
}
