//! Where bytes come from and go to: local paths and `s3://` objects behind one blocking door.
//!
//! [`Stores`] is made once, inside a tokio runtime, and cloned freely; everything here may be called from any thread that is allowed to block.
//! - [`Stores::list`] expands a glob into [`InputFile`]s; [`Stores::reader`] streams one, [`Stores::ranges`] reads pieces of one.
//! - [`Stores::read_all`] reads a small file; [`Stores::put`], [`Stores::put_if_absent`] and [`Stores::writer`] write.
//! - [`Stores::place`] gives the object store itself to those who speak it.
//!
//! S3 is configured as the AWS SDK is: credentials and region from the environment, profiles, SSO, web identity or the instance;
//! `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` name another endpoint, which is addressed path-style, and over plain http only when they say `http://`.
//!
//! Error texts of object stores hold whole keys, and a key may hold a Hive partition value (a cell value): they are never shown.
//! Messages name an input by [`InputFile::label`], which has such values taken out.
mod aws;
mod error;
mod list;
mod read;
mod write;

pub use list::{InputFile, is_pattern};
pub use read::{Ranges, read_failure};
pub use write::Writer;

use crate::error::{Culprit, Failure, Result};
use error::{Action, io_failure, store_failure};
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use perimeter_contract::job::Uri;
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// All stores that a run touches: one client per bucket, made when it is first needed.
#[derive(Clone)]
pub struct Stores {
    inner: Arc<Inner>,
    /// KMS key for objects that are written; empty: the bucket's default.
    sse_kms: Option<Arc<str>>,
}

/// A bucket, and the KMS key for what is written there.
type ClientKey = (String, Option<Arc<str>>);

struct Inner {
    handle: tokio::runtime::Handle,
    clients: Mutex<HashMap<ClientKey, Arc<dyn ObjectStore>>>,
    aws: tokio::sync::OnceCell<aws_config::SdkConfig>,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").field("sse_kms", &self.sse_kms).finish_non_exhaustive()
    }
}

/// Where a [`Uri`] points.
#[derive(Clone, Debug)]
pub enum Place {
    /// A path on this machine.
    Local(PathBuf),
    /// An object.
    Object {
        /// The bucket's client.
        store: Arc<dyn ObjectStore>,
        /// The key.
        path: Key,
        /// The whole uri.
        uri: String,
    },
}

impl Stores {
    /// Makes the set; no request is sent before the first use. `handle` is the runtime that drives the requests.
    pub fn new(handle: tokio::runtime::Handle) -> Self {
        Self { inner: Arc::new(Inner { handle, clients: Mutex::default(), aws: tokio::sync::OnceCell::new() }), sse_kms: None }
    }

    /// The same stores, writing objects under server-side encryption with this KMS key (`sink.sseKms`).
    #[must_use]
    pub fn with_sse_kms(&self, key_id: Option<&str>) -> Self {
        Self { inner: Arc::clone(&self.inner), sse_kms: key_id.map(Arc::from) }
    }

    /// Where `uri` points. A pattern is not expanded.
    ///
    /// # Errors
    /// Exit 2 for a scheme that is not known or a malformed uri, 4 when no credentials can be found.
    pub fn place(&self, uri: &Uri) -> Result<Place> {
        match split_s3(uri)? {
            None => Ok(Place::Local(PathBuf::from(&uri.0))),
            Some((bucket, key)) => {
                let path = Key::parse(key.trim_end_matches('/')).map_err(|_| {
                    Failure::new(Culprit::File, "invalid-uri", format!("`s3://{bucket}/…` has a key that cannot be used"))
                        .help("Use keys without empty, `.` or `..` segments")
                })?;
                Ok(Place::Object { store: self.client(bucket)?, path, uri: uri.0.clone() })
            }
        }
    }

    /// The files that `pattern` (a path or glob) names, sorted by uri.
    ///
    /// # Errors
    /// Exit 2 `input-not-found` when there is none; 3 and 4 as the store says.
    pub fn list(&self, pattern: &Uri) -> Result<Vec<InputFile>> {
        list::list(self, pattern)
    }

    /// Every file below a folder or prefix, at any depth, sorted by uri; none is no mistake.
    ///
    /// # Errors
    /// Exit 3 and 4 as the store says.
    pub fn list_under(&self, folder: &Uri) -> Result<Vec<InputFile>> {
        list::list_under(self, folder)
    }

    /// Reads a whole small file.
    ///
    /// # Errors
    /// Exit 2 when it is absent or longer than `max_bytes`; 3 and 4 as the store says.
    pub fn read_all(&self, uri: &Uri, max_bytes: u64) -> Result<Vec<u8>> {
        let too_long = || Failure::new(Culprit::File, "file-too-long", format!("{} is longer than {max_bytes} bytes", uri.0)).help("Is it the right file?");
        match self.place(uri)? {
            Place::Local(path) => {
                let fail = |e| io_failure(Action::Read, &uri.0, e);
                let mut bytes = Vec::new();
                std::fs::File::open(path).map_err(fail)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
                if bytes.len() as u64 > max_bytes {
                    return Err(too_long().into());
                }
                Ok(bytes)
            }
            Place::Object { store, path, uri: name } => {
                let answer = self.wait(async move {
                    let found = store.get(&path).await?;
                    if found.meta.size > max_bytes {
                        return Ok(None);
                    }
                    found.bytes().await.map(Some)
                })?;
                match answer.map_err(|e| store_failure(Action::Read, &name, &e))? {
                    Some(bytes) => Ok(bytes.to_vec()),
                    None => Err(too_long().into()),
                }
            }
        }
    }

    /// Writes a whole small file, replacing what was there. Readers see the old or the new one, never a part.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says.
    pub fn put(&self, uri: &Uri, bytes: impl Into<bytes::Bytes>) -> Result<()> {
        self.put_mode(uri, bytes.into(), PutMode::Overwrite).map(|_| ())
    }

    /// Writes a whole small file if none is there: true when this call made it, false when there was one (its content is left alone).
    /// After a lost answer of S3 a retry can find the caller's own object: compare its content before calling it a stranger's.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says.
    #[must_use = "false means that somebody else's file is there"]
    pub fn put_if_absent(&self, uri: &Uri, bytes: impl Into<bytes::Bytes>) -> Result<bool> {
        self.put_mode(uri, bytes.into(), PutMode::Create)
    }

    fn put_mode(&self, uri: &Uri, bytes: bytes::Bytes, mode: PutMode) -> Result<bool> {
        match self.place(uri)? {
            Place::Local(path) => write::put_local(&path, &bytes, matches!(mode, PutMode::Create)).map_err(|e| io_failure(Action::Write, &uri.0, e)),
            Place::Object { store, path, uri } => {
                let options = PutOptions { mode, ..PutOptions::default() };
                match self.wait(async move { store.put_opts(&path, PutPayload::from_bytes(bytes), options).await })? {
                    Ok(_) => Ok(true),
                    Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(false),
                    Err(e) => Err(store_failure(Action::Write, &uri, &e)),
                }
            }
        }
    }

    /// Writes a file of any length as a stream: a part becomes visible only with [`Writer::finish`]; dropping the writer leaves nothing.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says.
    pub fn writer(&self, uri: &Uri) -> Result<Writer> {
        Writer::new(self, uri)
    }

    /// Streams the bytes of a listed file. Objects come in range requests of 8 MiB, one of them read ahead.
    /// Errors of the returned reader go through [`read_failure`].
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says.
    pub fn reader(&self, file: &InputFile) -> Result<Box<dyn Read + Send>> {
        self.reader_range(file, 0..file.size_bytes)
    }

    /// As [`Stores::reader`], for a byte range of the file.
    ///
    /// # Errors
    /// As [`Stores::reader`].
    pub fn reader_range(&self, file: &InputFile, range: std::ops::Range<u64>) -> Result<Box<dyn Read + Send>> {
        read::reader(self, file, range)
    }

    /// Random access to a listed file.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says.
    pub fn ranges(&self, file: &InputFile) -> Result<Ranges> {
        Ranges::open(self, file)
    }

    /// Removes a file; an absent one is no mistake.
    ///
    /// # Errors
    /// Exit 3 or 4 as the store says.
    pub fn delete(&self, uri: &Uri) -> Result<()> {
        match self.place(uri)? {
            Place::Local(path) => match std::fs::remove_file(path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io_failure(Action::Write, &uri.0, e)),
                _ => Ok(()),
            },
            Place::Object { store, path, uri } => match self.wait(async move { store.delete(&path).await })? {
                Err(e) if !matches!(e, object_store::Error::NotFound { .. }) => Err(store_failure(Action::Write, &uri, &e)),
                _ => Ok(()),
            },
        }
    }

    /// Runs a request on the runtime and blocks until it is done, from any thread.
    fn wait<T: Send + 'static>(&self, request: impl Future<Output = T> + Send + 'static) -> Result<T> {
        read::Pending::spawn(&self.inner.handle, request).take()
    }

    fn client(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
        let key = (bucket.to_owned(), self.sse_kms.clone());
        if let Some(client) = self.inner.clients.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(client));
        }
        let inner = Arc::clone(&self.inner);
        let aws = self.wait(async move { inner.aws.get_or_init(|| aws_config::defaults(aws_config::BehaviorVersion::latest()).load()).await.clone() })?;
        let client: Arc<dyn ObjectStore> = Arc::new(aws::s3(bucket, self.sse_kms.as_deref(), &aws, aws::endpoint(&aws))?);
        self.inner.clients.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&client));
        Ok(client)
    }
}

/// Bucket and key of an `s3://` uri; `None` for a local path.
fn split_s3(uri: &Uri) -> Result<Option<(&str, &str)>> {
    let Some((scheme, rest)) = uri.0.split_once("://") else { return Ok(None) };
    if scheme != "s3" {
        return Err(Failure::new(Culprit::File, "unknown-scheme", format!("`{scheme}://` cannot be read or written"))
            .help("Use a local path or `s3://bucket/key`")
            .into());
    }
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(Failure::new(Culprit::File, "invalid-uri", "an `s3://` uri without a bucket").help("Write `s3://bucket/key`").into());
    }
    Ok(Some((bucket, key)))
}

#[cfg(test)]
mod tests;
