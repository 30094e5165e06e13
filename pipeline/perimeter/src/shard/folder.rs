//! Where a dataset version is written: a folder that exists as a whole or not at all.
//!
//! On local disk everything goes to `<root>/.staging-<run id>`, and publishing is one rename to `<root>/<run id>`. In an object store files get their final
//! names at once; there a version exists when its manifest does, and the manifest is the last object, put only if absent. Either way a [`VersionFolder`] that
//! is dropped before [`VersionFolder::keep`] takes back all it wrote.
//!
//! Everything here blocks. Call it from threads that may wait (`spawn_blocking`, rayon), never from an async worker.
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::{InputFile, Place, Ranges, Stores, Writer, is_pattern};
use perimeter_contract::job::Uri;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;

/// Bytes that one range request to an object store asks for at least.
const WINDOW_BYTES: u64 = 8 << 20;

/// One version in the making.
#[derive(Debug)]
pub struct VersionFolder {
    root: Root,
    run_id: String,
    state: Mutex<State>,
}

#[derive(Debug)]
enum Root {
    /// `made`: whether this run made the folder, and takes it back.
    Local {
        folder: PathBuf,
        made: bool,
        syncer: Syncer,
    },
    Objects {
        stores: Stores,
        uri: String,
    },
}

/// A thread that syncs finished files to disk while the run goes on: waiting for the disk at the end would be lost time.
#[derive(Debug)]
struct Syncer {
    send: mpsc::Sender<Option<PathBuf>>,
    thread: Mutex<Option<JoinHandle<Result<()>>>>,
}

impl Syncer {
    fn start() -> Self {
        let (send, receive) = mpsc::channel::<Option<PathBuf>>();
        let thread = std::thread::spawn(move || {
            // Ends with `None`, or when nobody can send any more.
            while let Ok(Some(path)) = receive.recv() {
                // Opened again: files that wait for their turn hold no descriptor.
                File::open(&path).and_then(|file| file.sync_all()).map_err(|error| io_failure("sync", &path, error))?;
            }
            Ok(())
        });
        Self { send, thread: Mutex::new(Some(thread)) }
    }

    /// Waits until everything sent so far is on disk.
    fn finish(&self) -> Result<()> {
        // When the thread is gone already, it has failed, and joining it says how.
        let _ = self.send.send(None);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err(Failure::new(Culprit::Outside, "io", "syncing to disk was given up").into())))
    }
}

#[derive(Debug)]
struct State {
    stage: Stage,
    /// Relative paths of everything created, in order.
    files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Staged,
    Published,
    Kept,
}

impl VersionFolder {
    /// Starts the version `run_id` (`[A-Za-z0-9._-]`, not starting with a dot) below `root`. A local root is made when it is absent.
    ///
    /// # Errors
    /// An unwritable root ends with exit 4, a full disk with 3; `version-exists` when the version or its staging folder is there already.
    pub fn create(stores: &Stores, root: &Uri, run_id: &str) -> Result<Self> {
        let plain = !run_id.is_empty() && !run_id.starts_with('.') && run_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if !plain {
            return Err(Failure::new(Culprit::File, "run-id", "a run id is made of letters, digits, `.`, `_` and `-`, and does not start with `.`").into());
        }
        let root = match stores.place(root)? {
            Place::Local(folder) => {
                let made = !folder.exists();
                fs::create_dir_all(&folder).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => io_failure("create", &folder, io::ErrorKind::NotADirectory.into()),
                    _ => io_failure("create", &folder, error),
                })?;
                if folder.join(run_id).exists() {
                    return Err(version_exists(&folder.join(run_id).display().to_string()));
                }
                let staging = folder.join(format!(".staging-{run_id}"));
                fs::create_dir(&staging).map_err(|error| io_failure("create", &staging, error))?;
                Root::Local { folder, made, syncer: Syncer::start() }
            }
            Place::Object { uri, .. } => {
                let uri = uri.trim_end_matches('/').to_owned();
                // Files get their final names at once: they must not be another run's.
                let version = Uri(format!("{uri}/{run_id}"));
                if !stores.list_under(&version)?.is_empty() {
                    return Err(version_exists(&version.0));
                }
                Root::Objects { stores: stores.clone(), uri }
            }
        };
        Ok(Self { root, run_id: run_id.to_owned(), state: Mutex::new(State { stage: Stage::Staged, files: Vec::new() }) })
    }

    /// The version's name.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Where the version will be found.
    pub fn uri(&self) -> Uri {
        match &self.root {
            Root::Local { folder, .. } => Uri(folder.join(&self.run_id).display().to_string()),
            Root::Objects { uri, .. } => Uri(format!("{uri}/{}", self.run_id)),
        }
    }

    /// Opens a new file at `relative` (slash-separated, below the version).
    ///
    /// # Errors
    /// As for [`VersionFolder::create`].
    pub fn file(&self, relative: &str) -> Result<NewFile> {
        self.state().files.push(relative.to_owned());
        match &self.root {
            Root::Local { syncer, .. } => {
                let path = self.local_path(relative);
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(|error| io_failure("create", parent, error))?;
                }
                let file = File::create_new(&path).map_err(|error| io_failure("create", &path, error))?;
                Ok(NewFile { target: Target::Local { file: BufWriter::with_capacity(1 << 17, file), path, sync: syncer.send.clone() } })
            }
            Root::Objects { stores, .. } => {
                let uri = self.object(relative);
                Ok(NewFile { target: Target::Object { writer: stores.writer(&uri)?, uri } })
            }
        }
    }

    /// Writes a small file whole, only if it is absent.
    ///
    /// # Errors
    /// As for [`VersionFolder::create`]; `version-exists` when another file is there.
    pub fn put_new(&self, relative: &str, bytes: &[u8]) -> Result<()> {
        match &self.root {
            Root::Local { .. } => {
                let mut file = self.file(relative)?;
                file.write_all(bytes).map_err(|error| io_failure("write", &self.local_path(relative), error))?;
                file.finish()
            }
            Root::Objects { stores, .. } => {
                let uri = self.object(relative);
                // A retry after a lost answer finds our own bytes.
                if !stores.put_if_absent(&uri, bytes.to_vec())? && stores.read_all(&uri, bytes.len() as u64).ok().as_deref() != Some(bytes) {
                    return Err(version_exists(&uri.0));
                }
                // Only now: another run's file is not ours to take back.
                self.state().files.push(relative.to_owned());
                Ok(())
            }
        }
    }

    /// A file of this version, for reading back what was written.
    ///
    /// # Errors
    /// `missing-file` (exit 1) when it is not there; 3 or 4 as disk or store say.
    pub fn open(&self, relative: &str) -> Result<StoredFile> {
        match &self.root {
            Root::Local { .. } => StoredFile::local(&self.local_path(relative)),
            Root::Objects { stores, .. } => {
                let uri = self.object(relative);
                StoredFile::open(stores, &uri).map_err(|error| match error {
                    // The user did not name it: we wrote it.
                    Error::Failed(failure) if failure.culprit == Culprit::File => {
                        Failure::new(Culprit::Data, "missing-file", format!("`{}` is not there any more", uri.0))
                            .help("another process removed it: run again elsewhere")
                            .into()
                    }
                    error => error,
                })
            }
        }
    }

    /// Makes the version visible under its name, once local files are synced to disk. In an object store they are there already.
    ///
    /// # Errors
    /// As for [`VersionFolder::create`].
    pub fn publish(&self) -> Result<()> {
        if let Root::Local { folder, syncer, .. } = &self.root {
            let (staging, target) = (self.local_path(""), folder.join(&self.run_id));
            syncer.finish()?;
            let files = self.state().files.clone();
            sync_folders(&staging, &files)?;
            fs::rename(&staging, &target).map_err(|error| match error.kind() {
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => version_exists(&target.display().to_string()),
                _ => io_failure("publish", &target, error),
            })?;
            self.state().stage = Stage::Published;
            return sync_folder(folder);
        }
        self.state().stage = Stage::Published;
        Ok(())
    }

    /// From here on, dropping this leaves the version where it is.
    pub fn keep(&self) {
        self.state().stage = Stage::Kept;
    }

    /// Points `<root>/latest` at this version.
    ///
    /// # Errors
    /// Exit 3 or 4; the version stands all the same.
    pub fn point_latest(&self) -> Result<()> {
        let line = format!("{}\n", self.run_id);
        match &self.root {
            Root::Local { folder, .. } => {
                let (fresh, latest) = (folder.join(format!(".latest-{}", self.run_id)), folder.join("latest"));
                fs::write(&fresh, line).map_err(|error| io_failure("write", &fresh, error))?;
                fs::rename(&fresh, &latest).map_err(|error| io_failure("write", &latest, error))
            }
            Root::Objects { stores, uri } => stores.put(&Uri(format!("{uri}/latest")), line),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn local_path(&self, relative: &str) -> PathBuf {
        let Root::Local { folder, .. } = &self.root else { return PathBuf::new() };
        let version = match self.state().stage {
            Stage::Staged => folder.join(format!(".staging-{}", self.run_id)),
            Stage::Published | Stage::Kept => folder.join(&self.run_id),
        };
        if relative.is_empty() { version } else { version.join(relative) }
    }

    fn object(&self, relative: &str) -> Uri {
        Uri(format!("{}/{relative}", self.uri().0))
    }
}

impl Drop for VersionFolder {
    /// Takes back an unpublished version. What cannot be removed stays: there is nobody left to tell.
    fn drop(&mut self) {
        if self.state().stage == Stage::Kept {
            return;
        }
        match &self.root {
            Root::Local { folder, made, .. } => {
                let _ = fs::remove_dir_all(self.local_path(""));
                if *made {
                    let _ = fs::remove_dir(folder);
                }
            }
            Root::Objects { stores, .. } => {
                let files = std::mem::take(&mut self.state().files);
                for relative in files {
                    let _ = stores.delete(&self.object(&relative));
                }
            }
        }
    }
}

/// A file being written. Dropped before [`NewFile::finish`], an upload is abandoned.
pub struct NewFile {
    target: Target,
}

enum Target {
    Local { file: BufWriter<File>, path: PathBuf, sync: mpsc::Sender<Option<PathBuf>> },
    Object { writer: Writer, uri: Uri },
}

impl NewFile {
    /// Ends the file. Local bytes are on disk at the latest when the version is published.
    ///
    /// # Errors
    /// Exit 3 or 4, as disk or store say.
    pub fn finish(self) -> Result<()> {
        match self.target {
            Target::Local { file, path, sync } => {
                drop(file.into_inner().map_err(|error| io_failure("write", &path, error.into_error()))?);
                // When the thread is gone, publishing says why.
                let _ = sync.send(Some(path));
                Ok(())
            }
            Target::Object { writer, .. } => writer.finish(),
        }
    }
}

impl Write for NewFile {
    /// Errors hold a [`crate::error::Error`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Local { file, path, .. } => file.write(bytes).map_err(|error| io::Error::other(io_failure("write", path, error))),
            Target::Object { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Local { file, path, .. } => file.flush().map_err(|error| io::Error::other(io_failure("write", path, error))),
            Target::Object { writer, .. } => writer.flush(),
        }
    }
}

impl std::fmt::Debug for NewFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = match &self.target {
            Target::Local { path, .. } => path.display().to_string(),
            Target::Object { uri, .. } => uri.0.clone(),
        };
        f.debug_struct("NewFile").field("place", &place).finish()
    }
}

/// The [`Error`] that a [`NewFile`] put into an [`io::Error`]; any other is a failure to write `name`.
pub(crate) fn write_failure(name: &str, error: io::Error) -> Error {
    io_failure("write", Path::new(name), error)
}

/// A file to read at any offset.
pub struct StoredFile {
    source: Source,
    bytes: u64,
}

enum Source {
    Local(File),
    Object { ranges: Ranges, window: Mutex<Window> },
}

/// The last range fetched: readers go forward in small steps.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: bytes::Bytes,
}

impl StoredFile {
    /// Opens the file that a user names.
    ///
    /// # Errors
    /// Exit 2 when it is not there; 3 or 4 as disk or store say.
    pub fn open(stores: &Stores, uri: &Uri) -> Result<Self> {
        // Not a pattern, whatever it is made of.
        let literal = if is_pattern(&uri.0) && !Path::new(&uri.0).exists() { Uri(glob::Pattern::escape(&uri.0)) } else { uri.clone() };
        match stores.list(&literal)?.first() {
            Some(file) => Self::listed(stores, file),
            None => Err(Failure::new(Culprit::File, "input-not-found", format!("{} does not exist", uri.0)).into()),
        }
    }

    /// Opens a file that was listed.
    ///
    /// # Errors
    /// Exit 3 or 4 as disk or store say.
    pub fn listed(stores: &Stores, file: &InputFile) -> Result<Self> {
        if let Place::Local(path) = stores.place(&Uri(file.uri.clone()))? {
            return Self::local(&path);
        }
        let ranges = stores.ranges(file)?;
        Ok(Self { bytes: ranges.size_bytes(), source: Source::Object { ranges, window: Mutex::default() } })
    }

    fn local(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| io_failure("open", path, error))?;
        let bytes = file.metadata().map_err(|error| io_failure("open", path, error))?.len();
        Ok(Self { source: Source::Local(file), bytes })
    }

    /// The file's length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` past the end; else what disk or store say.
    pub fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64).filter(|&end| end <= self.bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
        match &self.source {
            Source::Local(file) => file.read_exact_at(out, offset),
            Source::Object { ranges, window } => {
                let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
                let held = window.start..window.start + window.bytes.len() as u64;
                if !(held.start <= offset && end <= held.end) {
                    let ahead = end.max(offset.saturating_add(WINDOW_BYTES)).min(self.bytes);
                    *window = Window { start: offset, bytes: ranges.read(offset..ahead).map_err(io::Error::other)? };
                }
                let from = usize::try_from(offset - window.start).map_err(io::Error::other)?;
                let bytes = window.bytes.get(from..from + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
                out.copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The whole file, when it is at most `limit_bytes` long.
    ///
    /// # Errors
    /// `FileTooLarge`; else as for [`StoredFile::read_exact_at`].
    pub fn read_all(&self, limit_bytes: u64) -> io::Result<Vec<u8>> {
        if self.bytes > limit_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut out = vec![0; usize::try_from(self.bytes).map_err(io::Error::other)?];
        self.read_exact_at(0, &mut out)?;
        Ok(out)
    }
}

impl array_record::ReadAt for StoredFile {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        Self::read_exact_at(self, offset, out)
    }
}

/// Syncs the folders that hold files: a name is on disk when its folder is.
fn sync_folders(version: &Path, files: &[String]) -> Result<()> {
    let mut folders: Vec<&Path> = files.iter().filter_map(|relative| Path::new(relative).parent()).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.into_iter().try_for_each(|folder| sync_folder(&version.join(folder)))?;
    sync_folder(version)
}

fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(|error| io_failure("sync", folder, error))
}

fn version_exists(place: &str) -> Error {
    Failure::new(Culprit::Outside, "version-exists", format!("`{place}` exists already: another run has this id"))
        .help("run again: a new run takes a new id")
        .into()
}

/// Who has to act on a disk's refusal. Keeps an [`Error`] that is inside the [`io::Error`].
pub(crate) fn io_failure(action: &str, path: &Path, error: io::Error) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    let message = format!("cannot {action} `{}`", path.display());
    let failure = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            Failure::new(Culprit::Denied, "access-denied", message).help("give this process the right to it, or name another place")
        }
        io::ErrorKind::NotADirectory => {
            Failure::new(Culprit::Denied, "not-a-folder", message).help("a file stands where the folder should be: remove it or name another place")
        }
        io::ErrorKind::NotFound if action == "read" => {
            Failure::new(Culprit::Data, "missing-file", message).help("it was there when it was written: something removed it")
        }
        io::ErrorKind::NotFound => Failure::new(Culprit::Denied, "unusable-path", message).help("no folder can be made there: name another place"),
        io::ErrorKind::AlreadyExists => Failure::new(Culprit::Outside, "version-exists", message).help("run again: a new run takes a new id"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::new(Culprit::Outside, "disk-full", message).help("free some space and run again"),
        _ => Failure::new(Culprit::Outside, "io", message),
    };
    // The text of an error number holds no data; other errors may.
    match error.raw_os_error() {
        Some(number) => failure.because(io::Error::from_raw_os_error(number)).into(),
        None => failure.into(),
    }
}
