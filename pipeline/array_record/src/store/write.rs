//! [`StoreWriter`]: a file uploaded in parts while it is written.
use crate::{Closed, Options, WriteError, Writer};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use std::fmt;
use std::io;
use std::sync::Arc;
use tokio::task::JoinSet;

/// S3 wants at least 5 MiB a part and at most 10,000 parts: files up to 80 GiB.
const PART_BYTES: usize = 8 << 20;

/// Parts under way while the next one fills.
const PARTS: usize = 4;

/// An upload and its parts under way.
struct Upload {
    upload: Box<dyn MultipartUpload>,
    parts: JoinSet<object_store::Result<()>>,
}

impl Upload {
    /// Waits until fewer than `most` parts are under way.
    async fn wait(&mut self, most: usize) -> io::Result<()> {
        while self.parts.len() >= most.max(1) {
            match self.parts.join_next().await {
                Some(part) => part.map_err(io::Error::other)??,
                None => break,
            }
        }
        Ok(())
    }

    fn put(&mut self, part: Vec<u8>) {
        self.parts.spawn(self.upload.put_part(PutPayload::from(part)));
    }

    async fn complete(&mut self, rest: Vec<u8>) -> io::Result<()> {
        self.wait(PARTS).await?;
        self.put(rest);
        self.wait(1).await?;
        self.upload.complete().await?;
        Ok(())
    }

    async fn abort(mut self) -> io::Result<()> {
        self.parts.shutdown().await;
        Ok(self.upload.abort().await?)
    }
}

/// Writes a file to an object store in a multipart upload, without a local copy.
///
/// The object appears when [`close`](Self::close) has returned, not before; a writer that is dropped or fails leaves no object (parts that
/// the store has taken are removed by [`abort`](Self::abort), or by the bucket's lifecycle rule). Memory: as [`Writer`], and five parts of
/// 8 MiB; all parts have one size but the last, which also takes what was held back until the end. Records are compressed by the calling task, or by rayon's pool with `max_parallelism`.
pub struct StoreWriter {
    writer: Writer<Vec<u8>>,
    upload: Upload,
    part_bytes: usize,
}

impl StoreWriter {
    /// Starts an upload to `path`. An object that is there is replaced when the upload is complete.
    ///
    /// # Errors
    /// What the store says ([`WriteError::Io`]); options that are not for writing.
    pub async fn create(store: Arc<dyn ObjectStore>, path: Path, options: &Options) -> Result<Self, WriteError> {
        // Options first: a mistake starts no upload.
        let writer = Writer::new(Vec::new(), options)?;
        let upload = store.put_multipart(&path).await.map_err(io::Error::from)?;
        Ok(Self { writer, upload: Upload { upload, parts: JoinSet::new() }, part_bytes: PART_BYTES })
    }

    /// Parts of another size than 8 MiB. Stores refuse uploads of too many or too small ones: S3 takes 10,000 of at least 5 MiB.
    ///
    /// To be called before the first record.
    #[must_use]
    pub fn with_part_bytes(mut self, part_bytes: usize) -> Self {
        self.part_bytes = part_bytes.max(1);
        self
    }

    /// Appends a record; waits while too many parts are under way.
    ///
    /// A caller that drops the future while it waits (a timeout, a `select`) has the record written all the same, once.
    ///
    /// # Errors
    /// As [`Writer::write_record`], and what the store says of earlier parts.
    pub async fn write_record(&mut self, record: &[u8]) -> Result<(), WriteError> {
        self.writer.write_record(record)?;
        self.send_full_parts().await
    }

    async fn send_full_parts(&mut self) -> Result<(), WriteError> {
        while self.writer.sink().len() >= self.part_bytes {
            if let Err(error) = self.upload.wait(PARTS).await {
                self.writer.fail();
                return Err(error.into());
            }
            // Nothing is awaited while a part is out of the sink: a caller that drops the future loses nothing.
            let mut part = std::mem::take(self.writer.sink_mut());
            // All parts but the last have one size: some stores ask for that.
            *self.writer.sink_mut() = part.split_off(self.part_bytes);
            self.upload.put(part);
        }
        Ok(())
    }

    /// Records written so far.
    pub fn records(&self) -> u64 {
        self.writer.records()
    }

    /// Ends file and upload: the object is there.
    ///
    /// # Errors
    /// What the store says; there is no object then, and the upload is given up.
    pub async fn close(self) -> Result<Closed, WriteError> {
        let Self { writer, mut upload, .. } = self;
        let ended = match writer.close() {
            Ok((closed, rest)) => upload.complete(rest).await.map(|()| closed).map_err(WriteError::from),
            Err(error) => Err(error),
        };
        if ended.is_err() {
            // The failure that is told is the first one.
            let _ = upload.abort().await;
        }
        ended
    }

    /// Gives the upload up and has the store forget its parts.
    ///
    /// # Errors
    /// What the store says.
    pub async fn abort(self) -> Result<(), WriteError> {
        Ok(self.upload.abort().await?)
    }
}

impl fmt::Debug for StoreWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWriter").field("writer", &self.writer).finish_non_exhaustive()
    }
}
