//! Reading the files and putting them together.
use crate::diagnostic::{list, nearest};
use crate::job::{Job, Source};
use crate::policy::Policy;
use crate::schema::Schema;
use crate::spanned::from_node;
use crate::validate::places::{Places, normalize};
use crate::validate::{self, Report};
use crate::yaml::{Node, Value};
use crate::{Contract, Diagnostic, Diagnostics, Kind, ReadFile, SourceFile, SourceMap, Span, codes, structure, typed, yaml};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// More mistakes than this are counted, not listed.
const MAX_DIAGNOSTICS: usize = 100;
/// No contract file is larger.
const MAX_FILE_BYTES: u64 = 4 << 20;

pub(crate) fn load(path: &Path, parameters: &BTreeMap<String, String>, open: ReadFile<'_>) -> Result<Contract, Diagnostics> {
    let mut loader = Loader { open, files: Vec::new(), report: Vec::new() };
    let loaded = loader.job(path, parameters);
    let Loader { files, report, .. } = loader;
    let sources = Arc::new(SourceMap { files });
    match loaded {
        Some((job, policy)) if report.is_empty() => Ok(Contract { job, policy, sources }),
        _ => Err(finish(report, sources)),
    }
}

/// Loads one policy on its own.
pub(crate) fn load_policy(path: &Path, open: ReadFile<'_>) -> Result<(Policy, Arc<SourceMap>), Diagnostics> {
    one(open, |loader| loader.policy(path, None))
}

/// Loads one schema on its own.
pub(crate) fn load_schema(path: &Path, open: ReadFile<'_>) -> Result<(Schema, Arc<SourceMap>), Diagnostics> {
    one(open, |loader| loader.schema(path, None))
}

fn one<T>(open: ReadFile<'_>, read: impl FnOnce(&mut Loader<'_>) -> Option<T>) -> Result<(T, Arc<SourceMap>), Diagnostics> {
    let mut loader = Loader { open, files: Vec::new(), report: Vec::new() };
    let loaded = read(&mut loader);
    let Loader { files, report, .. } = loader;
    let sources = Arc::new(SourceMap { files });
    match loaded {
        Some(value) if report.is_empty() => Ok((value, sources)),
        _ => Err(finish(report, sources)),
    }
}

/// Sorted by place, each once, capped.
fn finish(mut list: Report, sources: Arc<SourceMap>) -> Diagnostics {
    if list.is_empty() {
        // nothing may be refused without a reason; this is a fault of ours, and still a refusal
        let message = "the file was refused and nothing says why: this is a fault of the program";
        list.push(Diagnostic::new(codes::INTERNAL, Span::default(), message).help("report it with the file"));
    }
    list.sort_by(|a, b| (a.span.file, a.span.start, a.code).cmp(&(b.span.file, b.span.start, b.code)));
    list.dedup_by(|a, b| a.span == b.span && a.code == b.code && a.message == b.message);
    if list.len() > MAX_DIAGNOSTICS {
        let more = list.len() - MAX_DIAGNOSTICS;
        list.truncate(MAX_DIAGNOSTICS);
        let span = list.last().map_or_else(Span::default, |last| last.span);
        list.push(Diagnostic::new(codes::TOO_MANY_MISTAKES, span, format!("{more} more mistakes are not shown")).help("fix these first"));
    }
    Diagnostics { list, sources }
}

struct Loader<'a> {
    open: ReadFile<'a>,
    files: Vec<SourceFile>,
    report: Report,
}

impl Loader<'_> {
    fn job(&mut self, path: &Path, given: &BTreeMap<String, String>) -> Option<(Job, Policy)> {
        let (file, typed): (Span, typed::job::Job) = self.read(path, Kind::Job, None)?;
        let absolute = std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| normalize(&path));
        let folder = absolute.parent().unwrap_or(&absolute).to_owned();
        let parameters = validate::places::parameters(typed.parameters, given, file, &mut self.report);
        let places = Places { folder: &folder, parameters: &parameters };
        let report = &mut self.report;

        let name = typed.metadata.and_then(|metadata| metadata.name).and_then(|name| validate::file_name(name, "job", report));
        let policy_path = typed.policy.and_then(|policy| Some((places.local_file(&policy, "policy", report)?, policy.span)));
        let count = typed.sources.as_ref().map_or(0, |sources| sources.value.0.len());
        let sources_span = typed.sources.as_ref().map_or(file, |sources| sources.span);
        let sources = typed.sources.map(|sources| validate::job::sources(sources, &places, report));
        let has_prepare = typed.prepare.is_some();
        let prepare = validate::job::prepare(typed.prepare, count, sources_span, report);
        // a key that was cut out is not unknown
        let key_names = typed.keys.as_ref().filter(|keys| !validate::touched(report, keys.span)).map(|keys| validate::job::key_names(&keys.value));
        let quarantine = typed.quarantine.and_then(|quarantine| validate::job::quarantine(quarantine, key_names.as_deref(), &places, report));
        let keys = typed.keys.map(|keys| validate::job::keys(keys, &places, report));
        let shape = typed.shape.and_then(|shape| validate::job::shape(shape, &places, report));
        let sink = typed.sink.and_then(|sink| validate::job::sink(sink, &places, report));
        if let (Some(shape), Some(sink)) = (&shape, &sink) {
            validate::job::encodable(shape, sink, report);
        }
        let had_table = typed.table.is_some();
        let table = typed.table.and_then(|table| validate::job::table(table, &places, report));
        let (sources, keys) = (sources.unwrap_or_default(), keys.unwrap_or_default());
        validate::job::apart(&sources, quarantine.as_ref(), &keys, sink.as_ref(), table.as_ref(), report);

        // the other files, whatever this one's mistakes
        let base = path.parent().unwrap_or(Path::new(""));
        let shown = |absolute: &Path| shown(absolute, &folder, base);
        let policy = policy_path.and_then(|(path, span)| self.policy(&shown(&path), Some(span)));
        let mut schemas: BTreeMap<PathBuf, Option<Schema>> = BTreeMap::new();
        let mut joined = Vec::new();
        for source in sources {
            let schema = source.schema.and_then(|(path, span)| schemas.entry(path.clone()).or_insert_with(|| self.schema(&shown(&path), Some(span))).clone());
            if let (Some(uri), Some(format), Some(schema)) = (source.uri, source.format, schema)
                && let Some(format) = validate::job::with_schema(format, source.fields, &schema, source.span, &mut self.report)
            {
                joined.push(Source { name: source.name, uri, format, schema, drift: source.drift, span: source.span });
            }
        }
        if joined.len() == count {
            validate::schema::references(&joined, &mut self.report);
        }
        let policy = policy?;
        if joined.len() != count || has_prepare != prepare.is_some() || had_table != table.is_some() {
            return None;
        }
        let job = Job { name: name?, parameters, sources: joined, quarantine: quarantine?, prepare, keys, shape: shape?, sink: sink?, table };
        Some((job, policy))
    }

    fn policy(&mut self, path: &Path, named_at: Option<Span>) -> Option<Policy> {
        let (_, typed) = self.read::<typed::policy::Policy>(path, Kind::Policy, named_at)?;
        validate::policy::policy(typed, &mut self.report)
    }

    fn schema(&mut self, path: &Path, named_at: Option<Span>) -> Option<Schema> {
        let (_, typed) = self.read::<typed::odcs::Contract>(path, Kind::Schema, named_at)?;
        validate::schema::schema(typed, &mut self.report)
    }

    /// The file as typed, and a span at its start. `named_at` is where another file names it.
    fn read<T: for<'de> Deserialize<'de>>(&mut self, path: &Path, kind: Kind, named_at: Option<Span>) -> Option<(Span, T)> {
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let start = Span { file: number, start: 0, end: 0 };
        let at = named_at.unwrap_or(start);
        let bytes = match read_bytes(path, self.open) {
            Ok(bytes) => bytes,
            Err(error) => {
                if named_at.is_none() {
                    self.files.push(SourceFile { path: path.to_owned(), kind: kind.name(), text: String::new(), sha256: Sha256::digest([]).into() });
                }
                self.report.push(error.diagnostic(path, kind, at));
                return None;
            }
        };
        let sha256 = Sha256::digest(&bytes).into();
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default()).into_owned();
                let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
                self.files.push(SourceFile { path: path.to_owned(), kind: kind.name(), text, sha256 });
                let span = Span { file: number, start: end, end };
                self.report.push(Diagnostic::new(codes::NOT_UTF8, span, "the file is not UTF-8 from here on").help("save it as UTF-8"));
                return None;
            }
        };
        let node = yaml::parse(&text, number, &mut self.report);
        self.files.push(SourceFile { path: path.to_owned(), kind: kind.name(), text, sha256 });
        let node = node?;
        check_kind(&node, kind, start, &mut self.report)?;
        let node = structure::fit(kind.structure(), node, &mut self.report)?;
        match from_node(&node) {
            Ok(typed) => Some((start, typed)),
            Err(mismatch) => {
                let message = format!("{mismatch}: this is a fault of the program");
                self.report.push(Diagnostic::new(codes::INTERNAL, start, message).help("report it with the file"));
                None
            }
        }
    }
}

/// `apiVersion` and `kind` come first: in a file of another kind, every other key would be a mistake.
fn check_kind(node: &Node, kind: Kind, start: Span, report: &mut Report) -> Option<()> {
    if !matches!(node.value, Value::Map(_)) {
        report.push(Diagnostic::new(codes::WRONG_TYPE, node.span, "the file is not a mapping of keys").help("start with `apiVersion` and `kind`"));
        return None;
    }
    let before = report.len();
    for (key, known, code) in [("apiVersion", kind.api_versions(), codes::WRONG_API_VERSION), ("kind", &[kind.name_in_file()], codes::WRONG_KIND)] {
        let wanted = known[0];
        let Some(entry) = node.entry(key) else {
            let known: Vec<&str> = match &node.value {
                Value::Map(entries) => entries.iter().map(|entry| entry.key.as_str()).collect(),
                _ => Vec::new(),
            };
            let near = nearest(key, &known).map(|near| format!("; it has `{}`", crate::diagnostic::shorten(near))).unwrap_or_default();
            report.push(Diagnostic::new(codes::MISSING_KEY, start, format!("the file lacks the key `{key}`{near}")).help(format!("`{key}: {wanted}`")));
            continue;
        };
        if entry.value.scalar().is_none_or(|scalar| !known.contains(&scalar.text.as_str())) {
            let message = format!("`{key}` of a {} file is {}", kind.name().to_ascii_lowercase(), list(known));
            report.push(Diagnostic::new(code, entry.value.span, message).help(format!("`{key}: {wanted}`")));
        }
    }
    (report.len() == before).then_some(())
}

/// A path as the user would write it: beside the job's own path, when that is relative.
fn shown(absolute: &Path, folder: &Path, base: &Path) -> PathBuf {
    if base.is_absolute() {
        return absolute.to_owned();
    }
    let common = absolute.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let ups = folder.components().count() - common;
    let mut out = base.to_owned();
    out.extend(std::iter::repeat_n("..", ups));
    out.extend(absolute.components().skip(common));
    let short = normalize(&out);
    if short.as_os_str().is_empty() { absolute.to_owned() } else { short }
}

enum Unreadable {
    Io(std::io::Error),
    Large,
}

impl Unreadable {
    fn diagnostic(&self, path: &Path, kind: Kind, at: Span) -> Diagnostic {
        let what = kind.name().to_ascii_lowercase();
        let path = path.display();
        match self {
            Self::Large => {
                let message = format!("the {what} file {path} is larger than {} MiB", MAX_FILE_BYTES >> 20);
                Diagnostic::new(codes::FILE_TOO_LARGE, at, message).help("this is no contract file")
            }
            Self::Io(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
                Diagnostic::new(codes::UNREADABLE_FILE, at, format!("{path} is not a file")).help("name a file")
            }
            Self::Io(error) => {
                let help = match error.kind() {
                    std::io::ErrorKind::NotFound => "check the path; it is relative to the file that holds it",
                    std::io::ErrorKind::PermissionDenied => "let the user who runs this read it",
                    _ => "check the path and the disk",
                };
                // the error's own text differs between systems
                let why = match error.kind() {
                    std::io::ErrorKind::NotFound => "it does not exist".to_owned(),
                    kind => kind.to_string(),
                };
                Diagnostic::new(codes::UNREADABLE_FILE, at, format!("the {what} file {path} cannot be read: {why}")).help(help)
            }
        }
    }
}

fn read_bytes(path: &Path, open: ReadFile<'_>) -> Result<Vec<u8>, Unreadable> {
    let bytes = open(path).map_err(Unreadable::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES { Err(Unreadable::Large) } else { Ok(bytes) }
}

/// The bytes of a file, and not many more than are taken.
pub(crate) fn from_disk(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
