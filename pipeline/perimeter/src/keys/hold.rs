//! A keyring file that is going to be changed: written back only where nobody else has written since it was read.
//!
//! On S3 that is a conditional put on the entity tag that was read. On disk the file is locked, compared with what was read, and replaced
//! by a rename of a synced file, so that a crash leaves the old one or the new one, whole.
use super::{KEYRING_BYTES, stopped, store_failure};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::{Place, Stores, Writer};
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use perimeter_contract::job::Uri;
use perimeter_pseudonym::KeyringFile;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A keyring and the state of its file when it was read.
#[derive(Debug)]
pub struct Held {
    file: KeyringFile,
    uri: Uri,
    revision: Revision,
}

enum Revision {
    /// Links are resolved, so that the rename replaces the file and not a link to it.
    Local {
        path: PathBuf,
        bytes: Vec<u8>,
    },
    Object {
        store: Arc<dyn ObjectStore>,
        path: Key,
        version: UpdateVersion,
    },
}

impl std::fmt::Debug for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Revision")
    }
}

/// Reads a keyring to change it.
///
/// # Errors
/// There is none, or it is none (exit 2); what the store says.
pub async fn hold(uri: &Uri, stores: &Arc<Stores>) -> Result<Held> {
    let (blocking, wanted) = (Arc::clone(stores), uri.clone());
    let place = tokio::task::spawn_blocking(move || blocking.place(&wanted)).await.map_err(|_| stopped())??;
    let missing = || {
        Error::from(
            Failure::new(Culprit::File, "keyring-not-found", format!("there is no keyring at {}", uri.0))
                .help("check the path, or make it with `perimeter keys create`"),
        )
    };
    let (bytes, revision) = match place {
        Place::Local(path) => {
            // The usual way first: it has the messages for everything that can be wrong with a file.
            let (blocking, place) = (Arc::clone(stores), uri.clone());
            let read = tokio::task::spawn_blocking(move || blocking.read_all(&place, KEYRING_BYTES)).await.map_err(|_| stopped())?;
            let bytes = match read {
                Err(Error::Failed(failure)) if failure.code == "input-not-found" => return Err(missing()),
                read => read?,
            };
            let path = fs::canonicalize(path).map_err(|error| Writer::failure(&uri.0, error))?;
            (bytes.clone(), Revision::Local { path, bytes })
        }
        Place::Object { store, path, .. } => {
            let found = store.get(&path).await.map_err(|error| match error {
                object_store::Error::NotFound { .. } => missing(),
                error => store_failure(&uri.0, &error),
            })?;
            if found.meta.size > KEYRING_BYTES {
                return Err(Failure::new(Culprit::File, "file-too-long", format!("{} is longer than {KEYRING_BYTES} bytes", uri.0))
                    .help("Is it the right file?")
                    .into());
            }
            let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            let bytes = found.bytes().await.map_err(|error| store_failure(&uri.0, &error))?.to_vec();
            (bytes, Revision::Object { store, path, version })
        }
    };
    let file = super::parse(&bytes, uri)?;
    Ok(Held { file, uri: uri.clone(), revision })
}

impl Held {
    /// The keyring as it was read.
    pub fn file(&self) -> &KeyringFile {
        &self.file
    }

    /// Where it is.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Puts `next` in its place.
    ///
    /// # Errors
    /// Exit 3 `keyring-changed` when somebody else has written since, and nothing is written; what disk or store say.
    pub(super) async fn replace(self, next: &KeyringFile) -> Result<()> {
        let bytes = next.to_bytes();
        let replaced = match self.revision {
            Revision::Local { path, bytes: old } => {
                let replaced = tokio::task::spawn_blocking(move || replace_local(&path, &old, &bytes)).await.map_err(|_| stopped())?;
                replaced.map_err(|error| Writer::failure(&self.uri.0, error))?
            }
            Revision::Object { store, path, version } => {
                let options = PutOptions { mode: PutMode::Update(version), ..PutOptions::default() };
                match store.put_opts(&path, PutPayload::from(bytes.clone()), options).await {
                    Ok(_) => true,
                    Err(error) => {
                        // After a lost answer a retry meets our own object.
                        let ours = match store.get(&path).await {
                            Ok(found) => found.bytes().await.is_ok_and(|found| found == bytes),
                            Err(_) => false,
                        };
                        match error {
                            _ if ours => true,
                            object_store::Error::Precondition { .. } | object_store::Error::AlreadyExists { .. } => false,
                            error => return Err(store_failure(&self.uri.0, &error)),
                        }
                    }
                }
            }
        };
        if replaced {
            return Ok(());
        }
        Err(Failure::new(Culprit::Outside, "keyring-changed", format!("{} was changed by somebody else since it was read; nothing was written", self.uri.0))
            .help("look at it with `perimeter keys list` and run again if it is still needed")
            .into())
    }
}

/// False when the file is not what it was.
fn replace_local(path: &Path, old: &[u8], new: &[u8]) -> io::Result<bool> {
    let held = File::open(path)?;
    match held.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(false),
        // A file system without locks still has the comparison.
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
        _ => {}
    }
    // The lock is on the file, not on its name: whoever held it before us may have put another file there.
    let mut current = File::open(path)?;
    let (mine, theirs) = (held.metadata()?, current.metadata()?);
    let mut bytes = Vec::new();
    Read::by_ref(&mut current).take(KEYRING_BYTES + 1).read_to_end(&mut bytes)?;
    if (mine.dev(), mine.ino()) != (theirs.dev(), theirs.ino()) || bytes != old {
        return Ok(false);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut staged = tempfile::Builder::new().prefix(".staged-").tempfile_in(folder)?;
    staged.as_file().set_permissions(mine.permissions())?;
    staged.write_all(new)?;
    staged.as_file().sync_all()?;
    staged.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_replaced_only_while_it_is_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("person.keyring.json");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(replace_local(&path, b"one", b"two").unwrap());
        assert!(!replace_local(&path, b"one", b"three").unwrap(), "somebody wrote since");
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        assert!(!replace_local(&path, b"two", b"three").unwrap(), "somebody is writing");
        drop(other);
        assert!(replace_local(&path, b"two", b"three").unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn of_many_writers_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("person.keyring.json");
        fs::write(&path, "old").unwrap();
        let won: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..16)
                .map(|number: u8| {
                    let path = path.clone();
                    scope.spawn(move || replace_local(&path, b"old", &[b'0' + number]).unwrap())
                })
                .collect();
            writers.into_iter().map(|writer| usize::from(writer.join().unwrap())).sum()
        });
        assert_eq!(won, 1);
    }
}
