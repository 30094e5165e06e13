//! Where rejected records go: one sealed file per unit that has any, inside the perimeter.
//!
//! ```text
//! <quarantine uri>/<run id>/<source>-<unit>.sealed = seal( zstd( lines of {"file", "record", "codes", "raw"} ) )
//! ```
//! `raw` is the record as it stands in the file, base64. The seal is [`perimeter_pseudonym::seal`] under the quarantine's own key, bound to run id and file name, so
//! that a file does not open under another name. Names hold numbers, never values.
//!
//! [`QuarantineWriter`] writes; [`list`] finds files and [`open`] reads one back. Memory: one zstd window, one sealed chunk, one part of the store.
use crate::error::{Culprit, Error, Failure, Result};
use crate::read::Rejected;
use crate::store::{InputFile, Stores, Writer, is_pattern, read_failure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use perimeter_contract::job::Uri;
use perimeter_pseudonym::RootKey;
use perimeter_pseudonym::seal::{SealError, Sealer};
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read, Write};

/// One rejected record as it is kept.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record<'a> {
    /// The file's uri.
    pub file: Cow<'a, str>,
    /// 1-based, over the file's data records.
    pub record: u64,
    /// All of what it breaks.
    pub codes: Vec<Cow<'a, str>>,
    /// Base64 of the record's bytes.
    pub raw: String,
}

impl Record<'_> {
    /// The record's bytes; `None` when they are not base64.
    pub fn raw_bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.raw).ok()
    }
}

impl std::fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("record", &self.record).field("codes", &self.codes).finish_non_exhaustive()
    }
}

/// A finished quarantine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Where it is.
    pub uri: Uri,
    /// Records in it.
    pub records: u64,
}

/// Writes the rejected records of one unit. Nothing exists before the first record, and nothing is visible before [`QuarantineWriter::finish`].
pub struct QuarantineWriter<'a> {
    stores: &'a Stores,
    root: &'a RootKey,
    uri: Uri,
    binding: Vec<u8>,
    stream: Option<zstd::stream::write::Encoder<'static, Sealer<Writer>>>,
    line: Vec<u8>,
    records: u64,
}

impl std::fmt::Debug for QuarantineWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuarantineWriter").field("uri", &self.uri).field("records", &self.records).finish_non_exhaustive()
    }
}

impl<'a> QuarantineWriter<'a> {
    /// For unit number `unit` of a source. A retry of the unit replaces what an earlier attempt of the same run wrote.
    pub fn new(stores: &'a Stores, root: &'a RootKey, folder: &Uri, run_id: &str, source: &str, unit: usize) -> Self {
        let name = format!("{}-{unit:06}{SUFFIX}", plain(source));
        let run_id = plain(run_id);
        let uri = Uri(format!("{}/{run_id}/{name}", folder.0.trim_end_matches('/')));
        Self { stores, root, uri, binding: binding(&run_id, &name), stream: None, line: Vec::new(), records: 0 }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says.
    pub fn push(&mut self, rejected: &Rejected<'_>) -> Result<()> {
        let record = Record {
            file: Cow::Borrowed(rejected.file),
            record: rejected.record_number,
            codes: rejected.codes.iter().map(|code| Cow::Borrowed(*code)).collect(),
            raw: STANDARD.encode(&rejected.raw),
        };
        self.line.clear();
        serde_json::to_writer(&mut self.line, &record).map_err(|_| Failure::new(Culprit::Data, "internal", "a rejected record cannot be written down"))?;
        self.line.push(b'\n');
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.begin()?,
        };
        stream.write_all(&self.line).map_err(|e| Writer::failure(&self.uri.0, e))?;
        self.stream = Some(stream);
        self.records += 1;
        Ok(())
    }

    fn begin(&self) -> Result<zstd::stream::write::Encoder<'static, Sealer<Writer>>> {
        let fail = |e| Writer::failure(&self.uri.0, e);
        let sealer = Sealer::new(self.root, &self.binding, self.stores.writer(&self.uri)?).map_err(fail)?;
        zstd::stream::write::Encoder::new(sealer, 3).map_err(fail)
    }

    /// Makes the file visible; `None` when no record was rejected.
    ///
    /// # Errors
    /// Exit 2, 3 or 4 as the store says.
    pub fn finish(self) -> Result<Option<Sealed>> {
        let Some(stream) = self.stream else { return Ok(None) };
        let writer = stream.finish().and_then(Sealer::finish).map_err(|e| Writer::failure(&self.uri.0, e))?;
        writer.finish()?;
        Ok(Some(Sealed { uri: self.uri, records: self.records }))
    }
}

/// Letters, digits, `-`, `_` and `.` stay; anything else becomes hexadecimal, so that names are safe in every store and distinct.
fn plain(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && !out.is_empty()) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("={byte:02x}"));
        }
    }
    out
}

/// What the seal is bound to.
fn binding(run_id: &str, name: &str) -> Vec<u8> {
    let mut bytes = b"perimeter quarantine".to_vec();
    for part in [run_id, name] {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part.as_bytes());
    }
    bytes
}

/// The quarantine files that these name, sorted: files, patterns, and folders with all that lies below them.
///
/// # Errors
/// Exit 2 `input-not-found`: a name without a file, a folder without quarantine files. 2, 3 and 4 as the store says.
pub fn list(stores: &Stores, named: &[Uri]) -> Result<Vec<InputFile>> {
    let mut files = Vec::new();
    for uri in named {
        if uri.0.ends_with(SUFFIX) || is_pattern(&uri.0) {
            files.extend(stores.list(uri)?);
            continue;
        }
        let below = stores.list_under(uri).map(|files| files.into_iter().filter(|file| file.uri.ends_with(SUFFIX)).collect::<Vec<_>>())?;
        if below.is_empty() {
            return Err(Failure::new(Culprit::File, "input-not-found", format!("there is no quarantine file in {}", uri.0))
                .help("Name `.sealed` files, the folder of a run, or the job's `quarantine.uri`; nothing is there when no row was rejected")
                .into());
        }
        files.extend(below);
    }
    files.sort_by(|a, b| a.uri.cmp(&b.uri));
    files.dedup_by(|a, b| a.uri == b.uri);
    Ok(files)
}

/// How a quarantine file's name ends.
const SUFFIX: &str = ".sealed";

/// Whether a quarantine file is one of this source.
pub fn is_of(file: &InputFile, source: &str) -> bool {
    let name = file.uri.rsplit('/').next().unwrap_or_default();
    let unit = name.strip_prefix(&plain(source)).and_then(|rest| rest.strip_prefix('-')).and_then(|rest| rest.strip_suffix(SUFFIX));
    unit.is_some_and(|unit| !unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Opens one quarantine file and hands out its records in the order in which they were rejected. A record is handed out only behind authenticated bytes, but the
/// end of the file is known only when the iterator ends without an error.
///
/// # Errors
/// Exit 1 `quarantine-not-opened`: another key, another name, or an altered file. 2, 3 and 4 as the store says.
pub fn open(stores: &Stores, root: &RootKey, file: &InputFile) -> Result<impl Iterator<Item = Result<Record<'static>>> + use<>> {
    let mut names = file.uri.rsplit('/');
    let (name, run_id) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let file = file.clone();
    let opened = perimeter_pseudonym::seal::open(root, &binding(run_id, name), BufReader::new(stores.reader(&file)?)).map_err(|e| not_opened(&file, e))?;
    let plain = zstd::stream::read::Decoder::new(opened).map_err(|e| not_opened(&file, e))?;
    Ok(Records { file, lines: BufReader::new(plain), ended: false })
}

struct Records<R> {
    file: InputFile,
    lines: BufReader<R>,
    ended: bool,
}

impl<R: Read> Iterator for Records<R> {
    type Item = Result<Record<'static>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut line = Vec::new();
        let record = match self.lines.read_until(b'\n', &mut line) {
            Ok(0) => {
                self.ended = true;
                return None;
            }
            Ok(_) => serde_json::from_slice(&line).map_err(|_| unreadable(&self.file)),
            Err(e) => Err(not_opened(&self.file, e)),
        };
        self.ended = record.is_err();
        Some(record)
    }
}

fn unreadable(file: &InputFile) -> Error {
    Failure::new(Culprit::Data, "quarantine-not-opened", format!("{} is no quarantine file of this version", file.label)).into()
}

fn not_opened(file: &InputFile, error: io::Error) -> Error {
    let sealed = error.get_ref().is_some_and(|inner| inner.is::<SealError>());
    if !sealed && let Some(store) = read_failure(file, error) {
        return store;
    }
    Failure::new(
        Culprit::Data,
        "quarantine-not-opened",
        format!("{} does not open: it was sealed with another key, under another name, or was altered", file.label),
    )
    .help("Use the keyring and key version that the run used")
    .into()
}

#[cfg(test)]
mod tests;
