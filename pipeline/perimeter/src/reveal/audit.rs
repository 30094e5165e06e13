//! The record of who revealed what and why: append-only, written before and after.
//!
//! On disk it is a file of JSON lines that is only ever appended to, mode 0600, every record synced before anything else happens. On S3 it is
//! one object per record, `<prefix>/<date>/<time>-<id>-<event>.json`, put only where none is; under a bucket's Object Lock nobody can
//! remove or replace it ([`locked`]).
mod locked;

use super::{Counts, Request, facts};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::Writer;
use chrono::{DateTime, SecondsFormat, Utc};
use perimeter_contract::job::Uri;
use perimeter_pseudonym::KeyringFile;
use rand::TryRngCore;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where records go.
#[derive(Debug)]
pub struct Audit {
    uri: Uri,
    place: Kept,
}

#[derive(Debug)]
enum Kept {
    File(PathBuf),
    Objects(locked::Bucket),
}

impl Audit {
    /// Records go to a file, or below an `s3://bucket/prefix/`; there `retain_days` asks for Object Lock in compliance mode for so many days.
    ///
    /// # Errors
    /// Exit 2: `retain_days` beside a file, a uri that is neither.
    pub fn new(uri: &Uri, retain_days: Option<u32>) -> Result<Self> {
        let wrong = |code, message: &str, help: &str| Err(Failure::new(Culprit::File, code, message).help(help).into());
        let place = match uri.0.split_once("://") {
            Some(("s3", rest)) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                if bucket.is_empty() {
                    return wrong("invalid-uri", "an `s3://` uri without a bucket", "write `s3://bucket/prefix/`");
                }
                Kept::Objects(locked::Bucket { name: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned(), retain_days })
            }
            Some(_) => return wrong("unknown-scheme", "the records cannot be written there", "use a local path or `s3://bucket/prefix/`"),
            None if retain_days.is_some() => {
                return wrong("audit-retain", "--audit-retain needs an `s3://` place: a file has no Object Lock", "leave it out, or keep the records on S3");
            }
            None => Kept::File(PathBuf::from(&uri.0)),
        };
        Ok(Self { uri: uri.clone(), place })
    }

    /// Returns when the record is where it stays.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as disk or store say; then nothing may be revealed.
    pub(super) async fn append(&self, entry: &Entry) -> Result<()> {
        match &self.place {
            Kept::File(path) => {
                let (path, line) = (path.clone(), format!("{}\n", entry.record));
                let appended = tokio::task::spawn_blocking(move || append(&path, line.as_bytes())).await;
                match appended {
                    Ok(Ok(true)) => Ok(()),
                    Ok(Ok(false)) => {
                        Err(Failure::new(Culprit::File, "audit-file", format!("{} holds something else, or is no file, or others may write it", self.uri.0))
                            .help("records go to a file of their own that only its owner writes (chmod go-w)")
                            .into())
                    }
                    Ok(Err(error)) => Err(unwritten(Writer::failure(&self.uri.0, error))),
                    Err(_) => Err(Failure::new(Culprit::Outside, "stopped", "the work was stopped").into()),
                }
            }
            Kept::Objects(bucket) => bucket.put(&self.uri.0, &entry.name, &entry.record).await.map_err(unwritten),
        }
    }
}

/// Says what a failure of the audit place means for the one who waits for values.
fn unwritten(error: Error) -> Error {
    match error {
        Error::Failed(mut failure) => {
            failure.message = format!("the audit record cannot be written: {}", failure.message);
            Error::Failed(failure)
        }
        other => other,
    }
}

/// How every record begins, and so every file of them: a keyring that is named by mistake would be lost to an appended line.
const BEGINNING: &[u8] = br#"{"apiVersion":"perimeter/v1","kind":"RevealRecord""#;

/// False for a place that is no file of records, or not ours alone.
fn append(path: &Path, line: &[u8]) -> io::Result<bool> {
    let made = !path.exists();
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.mode() & 0o022 != 0 {
        return Ok(false);
    }
    match file.lock() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
        _ => {}
    }
    let mut beginning = Vec::new();
    Read::by_ref(&mut file).take(BEGINNING.len() as u64).read_to_end(&mut beginning)?;
    if !BEGINNING.starts_with(&beginning) {
        return Ok(false);
    }
    // A crash in the middle of a record leaves half a line: the next record begins on its own.
    let length = file.seek(SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    let bytes = if last == [b'\n'] { line.to_vec() } else { [b"\n", line].concat() };
    file.write_all(&bytes)?;
    file.sync_all()?;
    if made && let Some(folder) = path.parent() {
        File::open(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?.sync_all()?;
    }
    Ok(true)
}

/// The two records of one request.
pub(super) struct Record {
    id: String,
    keyring: String,
}

/// A record and its name.
pub(super) struct Entry {
    name: String,
    record: Value,
}

impl Record {
    pub(super) fn new(keyring: &str) -> Result<Self> {
        let mut id = [0_u8; 16];
        let silent = |_| Failure::new(Culprit::Outside, "no-entropy", "the operating system's random generator failed");
        rand::rngs::OsRng.try_fill_bytes(&mut id).map_err(silent)?;
        Ok(Self { id: hex::encode(id), keyring: keyring.to_owned() })
    }

    pub(super) fn intent(&self, request: &Request<'_>, file: &KeyringFile, versions: &BTreeSet<u32>, tokens: usize) -> Entry {
        let column = request.column;
        let key_id = file.view().key_id;
        self.entry(
            "intent",
            json!({
                "who": who(),
                "reason": request.reason,
                "column": column.name,
                "key": column.key_name,
                "transform": column.transform,
                "rule": column.rule,
                "contract": facts(request.contract),
                "keyring": {"id": self.keyring, "uri": column.key.keyring.0, "kmsKey": key_id, "versions": versions},
                "tokens": tokens,
                "perSecond": request.rate,
                "tool": concat!("perimeter ", env!("CARGO_PKG_VERSION")),
            }),
        )
    }

    pub(super) fn outcome(&self, counts: Counts, ended: &str) -> Entry {
        self.entry("outcome", json!({"ended": ended, "revealed": counts.revealed, "unopened": counts.unopened}))
    }

    fn entry(&self, event: &str, more: Value) -> Entry {
        let now: DateTime<Utc> = Utc::now();
        let mut record = json!({"apiVersion": "perimeter/v1", "kind": "RevealRecord", "event": event, "id": self.id, "at": now.to_rfc3339_opts(SecondsFormat::Millis, true)});
        if let (Value::Object(record), Value::Object(more)) = (&mut record, more) {
            record.extend(more);
        }
        Entry { name: format!("{}-{}-{event}.json", now.format("%Y/%m/%d/%H%M%S%3f"), self.id), record }
    }
}

/// The user as the operating system knows it: environment variables can say anything.
fn who() -> Value {
    let uid = tempfile::tempfile().and_then(|file| file.metadata()).map(|metadata| metadata.uid()).ok();
    // The user who logged in, whoever they have become since (Linux audit); 2^32 - 1 when nobody did.
    let login = number("/proc/self/loginuid").filter(|&uid| uid != u32::MAX);
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"].iter().find_map(|path| fs::read_to_string(path).ok());
    json!({
        "uid": uid,
        "user": uid.and_then(user),
        "loginUid": login,
        "loginUser": login.and_then(user),
        "host": host.map(|name| name.trim().to_owned()),
        "process": std::process::id(),
    })
}

fn number(path: &str) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The name behind a user id, where the machine itself knows it.
fn user(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut found = users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id.parse() == Ok(uid)).then(|| name.to_owned())
    });
    found.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn records_are_appended_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let record = |number: u8| [BEGINNING, b",", &[b'0' + number], b"}\n"].concat();
        assert!(append(&path, &record(1)).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::write(&path, [&record(1)[..], b"{hal"].concat()).unwrap();
        assert!(append(&path, &record(2)).unwrap());
        assert_eq!(fs::read(&path).unwrap(), [&record(1)[..], b"{hal\n", &record(2)].concat());
        for other in ["{\n  \"apiVersion\": \"perimeter/v1\",\n  \"kind\": \"Keyring\"\n}\n", "x", "\n"] {
            let place = folder.path().join("other.json");
            fs::write(&place, other).unwrap();
            assert!(!append(&place, &record(3)).unwrap());
            assert_eq!(fs::read_to_string(&place).unwrap(), other, "something else is left as it is");
        }
        let entry = Record::new("person").unwrap().outcome(Counts::default(), "complete");
        assert!(entry.record.to_string().as_bytes().starts_with(BEGINNING));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(!append(&path, b"{3}\n").unwrap(), "the group may write it");
        assert!(append(folder.path(), b"{3}\n").is_err() && append(&folder.path().join("none/audit"), b"{3}\n").is_err());
        assert!(!append(Path::new("/dev/null"), b"{3}\n").unwrap(), "no file");
    }

    #[test]
    fn places() {
        let uri = |text: &str| Uri(text.to_owned());
        assert!(
            matches!(Audit::new(&uri("s3://b/p/"), Some(30)).unwrap().place, Kept::Objects(locked::Bucket { prefix, retain_days: Some(30), .. }) if prefix == "p")
        );
        assert!(Audit::new(&uri("/a"), None).is_ok());
        for (text, days) in [("/a", Some(1)), ("gs://b/p", None), ("s3://", None)] {
            assert_eq!(Audit::new(&uri(text), days).unwrap_err().exit_code(), 2, "{text}");
        }
    }
}
