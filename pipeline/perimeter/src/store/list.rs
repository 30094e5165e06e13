//! From a path or glob to the files that it names.
use super::error::{Action, io_failure, store_failure};
use super::{Place, Stores, split_s3};
use crate::error::{Culprit, Failure, Result};
use futures::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStoreExt};
use perimeter_contract::job::Uri;
use std::fmt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// One input file as it was listed: what it is called, and what tells whether it has changed since.
#[derive(Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Path or `s3://` uri. A Hive partition value in it can be a cell value: show [`InputFile::label`] instead.
    pub uri: String,
    /// The uri with every `key=value` segment that the job file does not spell out itself reduced to `key=*`.
    pub label: String,
    /// Length.
    pub size_bytes: u64,
    /// The object's entity tag; `None` on local disk.
    pub etag: Option<String>,
    /// Last change, microseconds since 1970.
    pub modified_us: Option<i64>,
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile").field("label", &self.label).field("size_bytes", &self.size_bytes).field("etag", &self.etag).finish_non_exhaustive()
    }
}

/// Whether a uri holds `*`, `?` or `[`.
pub fn is_pattern(uri: &str) -> bool {
    uri.contains(['*', '?', '['])
}

const MATCH: glob::MatchOptions = glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

pub(super) fn list(stores: &Stores, pattern: &Uri) -> Result<Vec<InputFile>> {
    let mut files = match split_s3(pattern)? {
        None => local(&pattern.0)?,
        Some((bucket, key)) => objects(stores, pattern, bucket, key)?,
    };
    if files.is_empty() {
        return Err(Failure::new(Culprit::File, "input-not-found", format!("no file matches {}", pattern.0))
            .help("Look at the uri and its parameters in the job file")
            .into());
    }
    files.sort_by(|a, b| a.uri.cmp(&b.uri));
    Ok(files)
}

pub(super) fn list_under(stores: &Stores, folder: &Uri) -> Result<Vec<InputFile>> {
    let mut files = Vec::new();
    match stores.place(folder)? {
        Place::Local(path) => walk(&path, &folder.0, &mut files)?,
        Place::Object { store, path, uri } => {
            let found = stores.wait(async move { store.list(Some(&path)).try_collect::<Vec<_>>().await })?;
            let bucket = split_s3(folder)?.map_or("", |(bucket, _)| bucket);
            for meta in found.map_err(|e| store_failure(Action::Read, &uri, &e))? {
                files.push(object(bucket, &folder.0, &meta));
            }
        }
    }
    files.sort_by(|a, b| a.uri.cmp(&b.uri));
    Ok(files)
}

fn walk(folder: &Path, pattern: &str, files: &mut Vec<InputFile>) -> Result<()> {
    let fail = |e| io_failure(Action::Read, pattern, e);
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(fail)?,
    };
    for entry in entries {
        let entry = entry.map_err(fail)?;
        let kind = entry.file_type().map_err(fail)?;
        if kind.is_dir() {
            walk(&entry.path(), pattern, files)?;
        } else if let Some(file) = local_file(&entry.path(), pattern)? {
            files.push(file);
        }
    }
    Ok(())
}

fn local(pattern: &str) -> Result<Vec<InputFile>> {
    // A path that exists is itself, whatever it is made of.
    if !is_pattern(pattern) || Path::new(pattern).exists() {
        return match local_file(Path::new(pattern), pattern)? {
            Some(file) => Ok(vec![file]),
            None => Err(Failure::new(Culprit::File, "input-not-a-file", format!("{pattern} is not a file"))
                .help("Name files, for example with `/*.csv` at the end")
                .into()),
        };
    }
    let found = glob::glob_with(pattern, MATCH).map_err(|e| {
        Failure::new(Culprit::File, "invalid-glob", format!("{pattern} is not a pattern: {} at byte {}", e.msg, e.pos)).help("Use `*`, `?`, `**` and `[…]`")
    })?;
    let mut files = Vec::new();
    for path in found {
        let path = path.map_err(|e| io_failure(Action::Read, pattern, e.into()))?;
        files.extend(local_file(&path, pattern)?);
    }
    Ok(files)
}

fn local_file(path: &Path, pattern: &str) -> Result<Option<InputFile>> {
    let Some(uri) = path.to_str() else {
        return Err(Failure::new(Culprit::File, "invalid-file-name", format!("a file that {pattern} names has a name that is not UTF-8"))
            .help("Rename the file")
            .into());
    };
    let label = label(uri, pattern);
    let meta = std::fs::metadata(path).map_err(|e| io_failure(Action::Read, &label, e))?;
    if !meta.is_file() {
        return Ok(None);
    }
    let modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).and_then(|d| i64::try_from(d.as_micros()).ok());
    Ok(Some(InputFile { uri: uri.to_owned(), label, size_bytes: meta.len(), etag: None, modified_us: modified }))
}

fn objects(stores: &Stores, pattern: &Uri, bucket: &str, key: &str) -> Result<Vec<InputFile>> {
    if !is_pattern(key) {
        let Place::Object { store, path, uri } = stores.place(pattern)? else { return Ok(Vec::new()) };
        let meta = stores.wait(async move { store.head(&path).await })?.map_err(|e| store_failure(Action::Read, &uri, &e))?;
        return Ok(vec![object(bucket, &pattern.0, &meta)]);
    }
    let wanted = glob::Pattern::new(key)
        .map_err(|e| Failure::new(Culprit::File, "invalid-glob", format!("{} is not a pattern: {}", pattern.0, e.msg)).help("Use `*`, `?`, `**` and `[…]`"))?;
    let literal = key.split(['*', '?', '[']).next().unwrap_or_default();
    let folder = literal.rsplit_once('/').map_or("", |(folder, _)| folder);
    let prefix = Key::parse(folder).map_err(|_| {
        Failure::new(Culprit::File, "invalid-uri", format!("{} has an empty, `.` or `..` segment", pattern.0)).help("Look at the uri in the job file")
    })?;
    let store = stores.client(bucket)?;
    let found = stores.wait(async move { store.list(Some(&prefix)).try_collect::<Vec<_>>().await })?;
    let found = found.map_err(|e| store_failure(Action::Read, &pattern.0, &e))?;
    Ok(found.iter().filter(|meta| wanted.matches_with(meta.location.as_ref(), MATCH)).map(|meta| object(bucket, &pattern.0, meta)).collect())
}

fn object(bucket: &str, pattern: &str, meta: &ObjectMeta) -> InputFile {
    let uri = format!("s3://{bucket}/{}", meta.location);
    InputFile { label: label(&uri, pattern), uri, size_bytes: meta.size, etag: meta.e_tag.clone(), modified_us: Some(meta.last_modified.timestamp_micros()) }
}

/// Takes out the Hive partition values that a wildcard found; those in the job file are no secret.
fn label(uri: &str, pattern: &str) -> String {
    let shown = |segment: &str| match segment.split_once('=') {
        Some((key, _)) if !pattern.split('/').any(|literal| literal == segment) => format!("{key}=*"),
        _ => segment.to_owned(),
    };
    uri.split('/').map(shown).collect::<Vec<_>>().join("/")
}
