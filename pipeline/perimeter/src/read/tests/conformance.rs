//! `../shared/corpora/conformance`: which of its files belongs to which walk, and what every walk does. A file belongs to exactly one.
use super::*;
use std::collections::BTreeMap as Map;
use std::sync::mpsc;
use std::time::Duration;

/// A walk: `columnar_suites` has the first four, `text_suites` the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suite {
    /// Arrow's integration files, with their values beside them.
    ArrowIntegration,
    /// Arrow files that crashed others.
    ArrowDamaged,
    Avro,
    Parquet,
    Delimited,
    /// Texts that are JSON or should be, but for the next.
    Json,
    JsonParsing,
    /// Texts of known encodings.
    Encodings,
    /// Everything else: licences, notes, values of single cells, schemas of other tools. They are read in every format all the same.
    Others,
}

/// The walk of a file, by its path below the folder.
pub(super) fn suite_of(path: &str) -> Suite {
    let (top, name) = (path.split('/').next().unwrap_or_default(), path.rsplit('/').next().unwrap_or_default());
    let ends = |with: &[&str]| with.iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    match top {
        _ if ends(&[".parquet", ".parquet.encrypted"]) => Suite::Parquet,
        "avro" | "arrow-testing" | "arrow-rs" if ends(&[".avro", ".avro12", ".avro.gz", ".avro.raw"]) => Suite::Avro,
        "arrow-testing" if path.contains("/integration/") && ends(&[".arrow_file", ".stream"]) => Suite::ArrowIntegration,
        "arrow-testing" if name.contains("fuzz") || name.starts_with("crash-") || ends(&[".arrow"]) => Suite::ArrowDamaged,
        "JSONTestSuite" if ends(&[".json"]) => Suite::JsonParsing,
        "encodings-chardet" => Suite::Encodings,
        _ if ends(&[".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".csv.gzz", ".tbl.gz", ".tbl.zst", "bgzf.gz", "concat.gz", ".csv.txt"]) => {
            Suite::Delimited
        }
        _ if ends(&[".json", ".json.gz", ".ndjson", ".ndjson.gz", ".jsonl", ".geojson", ".geojsonl", ".avsc", ".avpr"]) => Suite::Json,
        _ => Suite::Others,
    }
}

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/conformance")
}

/// All files below, sorted.
fn below(root: &Path) -> Option<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Some(found)
}

pub(super) fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_str().unwrap().to_owned()
}

/// A walk's files, or none and a word about it.
pub(super) fn files(suite: Suite) -> Vec<PathBuf> {
    let Some(found) = below(&root()) else {
        say("skipped: ../shared/corpora/conformance is not there");
        return Vec::new();
    };
    found.into_iter().filter(|path| suite_of(&relative(path)) == suite).collect()
}

#[expect(clippy::print_stderr, reason = "the tally of a suite, or that it was skipped")]
pub(super) fn say(text: &str) {
    eprintln!("{text}");
}

/// Longest that a file may take: they are small, and a machine may be busy.
const SECONDS: u64 = 60;

/// Most that the process of these tests may take.
const MEMORY_KIB: u64 = 2 << 20;

/// What `work` gives, in bounded time; a hang or a panic names the file.
pub(super) fn in_time<T: Send + 'static>(path: &Path, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    receive.recv_timeout(Duration::from_secs(SECONDS)).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The code of a refusal, which must name the file and be the file's or the data's fault, with something to do about it.
pub(super) fn refused(error: &Error, path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    match error {
        Error::Failed(failure) => {
            assert!(failure.message.contains(name), "{name}: {}", failure.message);
            assert!(failure.message.len() > name.len() + 10, "{name}: {} gives no reason", failure.message);
            assert!(!failure.message.contains(|c: char| c.is_control() && c != '\n'), "{}", failure.message);
            assert!(matches!(failure.culprit, Culprit::Data | Culprit::File), "{failure:?}");
            failure.code.to_owned()
        }
        Error::Contract(mistakes) => {
            assert!(mistakes.list.iter().all(|mistake| mistake.message.contains(name)), "{mistakes:?}");
            mistakes.list[0].code.to_owned()
        }
    }
}

/// What happened to the files of a suite.
#[derive(Default)]
pub(super) struct Tally {
    verdicts: Map<String, Vec<String>>,
    files: usize,
}

impl Tally {
    pub(super) fn add(&mut self, path: &Path, verdict: impl Into<String>) {
        self.verdicts.entry(verdict.into()).or_default().push(relative(path));
        self.files += 1;
    }

    /// Prints how many files got which verdict, and their names where they are few.
    pub(super) fn tell(&self, suite: &str) {
        // Of the whole process, all tests that ran before or beside it included.
        let peak_kib = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"))?.to_owned();
            line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
        });
        assert!(peak_kib.is_none_or(|peak| peak < MEMORY_KIB), "{suite}: {peak_kib:?} KiB");
        say(&format!("{suite}: {} files, peak of the process {} MiB", self.files, peak_kib.unwrap_or_default() >> 10));
        for (verdict, paths) in &self.verdicts {
            let names = if paths.len() <= 6 && !verdict.contains("all ") { paths.join(", ") } else { String::new() };
            say(&format!("  {:4} {verdict}  {names}", paths.len()));
        }
    }
}

/// Every file belongs to a walk, every walk has files, and each folder is there that the walks think of.
#[test]
fn every_file_belongs_to_exactly_one_walk() {
    let Some(found) = below(&root()) else { return say("skipped: ../shared/corpora/conformance is not there") };
    let mut counts = Map::<Suite, usize>::new();
    for path in &found {
        *counts.entry(suite_of(&relative(path))).or_default() += 1;
    }
    say(&format!("conformance: {} files, {counts:?}", found.len()));
    assert_eq!(counts.len(), 9, "{counts:?}");
    assert_eq!(counts.values().sum::<usize>(), found.len());
    // What has no format has no format's name.
    for path in found.iter().filter(|path| suite_of(&relative(path)) == Suite::Others) {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let known = ["", "md", "txt", "bin", "value", "metadata", "yaml", "avdl", "proto", "data"];
        assert!(known.contains(&extension), "{} belongs to a walk", relative(path));
    }
}
