//! Files that appear whole or not at all.
use super::error::{Action, io_failure, store_failure};
use super::{Place, Stores};
use crate::error::{Error, Result};
use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use perimeter_contract::job::Uri;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// One part of a multipart upload; S3 wants at least 5 MiB and at most 10,000 parts.
const PART_BYTES: usize = 8 << 20;

fn staged(path: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    // The umask still applies.
    tempfile::Builder::new().prefix(".staged-").permissions(std::fs::Permissions::from_mode(0o666)).tempfile_in(folder)
}

/// True when the file was written, false when `only_if_absent` found one.
pub(super) fn put_local(path: &Path, bytes: &[u8], only_if_absent: bool) -> io::Result<bool> {
    let mut file = staged(path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    if only_if_absent {
        match file.persist_noclobber(path) {
            Ok(_) => Ok(true),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(e.error),
        }
    } else {
        file.persist(path).map(|_| true).map_err(|e| e.error)
    }
}

/// Streams one file to local disk or S3; see [`Stores::writer`]. Memory: one part of 8 MiB.
pub struct Writer {
    name: String,
    target: Target,
}

enum Target {
    Local(NamedTempFile, PathBuf),
    Object(Upload),
}

struct Upload {
    stores: Stores,
    store: Arc<dyn ObjectStore>,
    path: Key,
    part: Vec<u8>,
    /// Begun with the first full part.
    running: Option<Box<dyn MultipartUpload>>,
}

impl Writer {
    pub(super) fn new(stores: &Stores, uri: &Uri) -> Result<Self> {
        let target = match stores.place(uri)? {
            Place::Local(path) => Target::Local(staged(&path).map_err(|e| io_failure(Action::Write, &uri.0, e))?, path),
            Place::Object { store, path, .. } => Target::Object(Upload { stores: stores.clone(), store, path, part: Vec::new(), running: None }),
        };
        Ok(Self { name: uri.0.clone(), target })
    }

    /// Makes the file visible.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says; nothing is visible then.
    pub fn finish(self) -> Result<()> {
        let name = self.name;
        match self.target {
            Target::Local(file, path) => {
                let fail = |e| io_failure(Action::Write, &name, e);
                file.as_file().sync_all().map_err(fail)?;
                file.persist(path).map(|_| ()).map_err(|e| fail(e.error))
            }
            Target::Object(upload) => upload.finish(&name),
        }
    }

    /// The error that [`Write::write`] wrapped, as it was.
    pub fn failure(name: &str, error: io::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(inner) => inner,
            Err(other) => io_failure(Action::Write, name, other),
        }
    }
}

impl Write for Writer {
    /// Errors hold a [`crate::error::Error`]; get it back with [`Writer::failure`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Local(file, _) => file.write(bytes).map_err(|e| io::Error::other(io_failure(Action::Write, &self.name, e))),
            Target::Object(upload) => {
                let n = bytes.len().min(PART_BYTES.saturating_sub(upload.part.len()));
                upload.part.extend_from_slice(&bytes[..n]);
                if upload.part.len() >= PART_BYTES {
                    upload.flush_part(&self.name).map_err(io::Error::other)?;
                }
                Ok(n)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Upload {
    fn flush_part(&mut self, name: &str) -> Result<()> {
        let payload = PutPayload::from(Bytes::from(std::mem::take(&mut self.part)));
        let (store, path, running) = (Arc::clone(&self.store), self.path.clone(), self.running.take());
        let (running, done) = self.stores.wait(async move {
            let mut running = match running {
                Some(running) => running,
                None => match store.put_multipart(&path).await {
                    Ok(begun) => begun,
                    Err(e) => return (None, Err(e)),
                },
            };
            let done = running.put_part(payload).await;
            (Some(running), done)
        })?;
        self.running = running;
        done.map_err(|e| store_failure(Action::Write, name, &e))
    }

    fn finish(mut self, name: &str) -> Result<()> {
        let done = if self.running.is_none() {
            let (store, path, payload) = (Arc::clone(&self.store), self.path.clone(), PutPayload::from(std::mem::take(&mut self.part)));
            self.stores.wait(async move { store.put(&path, payload).await.map(|_| ()) })?
        } else {
            if !self.part.is_empty() {
                self.flush_part(name)?;
            }
            let Some(mut running) = self.running.take() else { return Ok(()) };
            self.stores.wait(async move {
                let done = running.complete().await.map(|_| ());
                if done.is_err() {
                    let _ = running.abort().await;
                }
                done
            })?
        };
        done.map_err(|e| store_failure(Action::Write, name, &e))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // Best effort: what is left is removed by the bucket's lifecycle rule.
            let _ = self.stores.wait(async move { running.abort().await });
        }
    }
}
