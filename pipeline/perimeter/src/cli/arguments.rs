//! Arguments as typed, and as usable.
use crate::engine::Limits;
use clap::{Args, Parser, Subcommand, ValueEnum};
use perimeter_contract::job::Encoding;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use tracing_subscriber::filter::LevelFilter;

/// Prepares raw financial records for model training outside the cloud that owns them.
#[derive(Debug, Parser)]
#[command(name = "perimeter", version, about, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 the data or a gate said no, nothing was published; 2 a file or the command line is wrong; \
3 something outside failed for now, run again; 4 something outside denied us";

#[derive(Debug, Args)]
pub(super) struct Global {
    /// Memory that the process stays under, e.g. 512MiB or 4GiB
    #[arg(long, global = true, default_value = "2GiB", value_parser = bytes, value_name = "BYTES")]
    memory_limit: usize,
    /// Threads that read, pseudonymize and write [default: the processor's]
    #[arg(long, global = true, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    threads: Option<u16>,
    /// A job parameter; may be given several times
    #[arg(long = "param", global = true, value_parser = parameter, value_name = "NAME=VALUE")]
    parameters: Vec<(String, String)>,
    /// Messages to show on stderr
    #[arg(long, global = true, value_enum, default_value_t = LogLevel::Warn, value_name = "LEVEL")]
    log_level: LogLevel,
    /// Results and failures as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Rows per batch; changes nothing but speed and memory
    #[arg(long, global = true, hide = true, env = "PERIMETER_BATCH_ROWS", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    batch_rows: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a job: read, check, pseudonymize, shape, shard, seal
    Run {
        /// The job file
        job: PathBuf,
        #[command(flatten)]
        macie: MacieJobs,
    },
    /// Show what a run would do, without reading rows
    Plan {
        /// The job file
        job: PathBuf,
    },
    /// Show what is sensitive in raw files, and whether contract and policy know; never a value
    #[command(after_help = CLASSIFY)]
    Classify(Classify),
    /// Check contract and data; writes nothing but, if asked, quarantine
    Check {
        /// The job file
        job: PathBuf,
        /// Put rejected rows into the job's quarantine, as a run would
        #[arg(long)]
        quarantine: bool,
    },
    /// Show how long the examples of a job are, and which buckets pad them least; writes nothing
    Profile(Profile),
    /// Show how a shard is built, without its values
    Inspect {
        /// A shard: a path or an s3:// uri
        shard: String,
    },
    /// Read a sealed dataset again and compare it with its manifest
    Verify {
        /// The manifest: a path or an s3:// uri
        manifest: String,
    },
    /// Make, list and change keyrings
    #[command(subcommand)]
    Keys(Keys),
    /// Show the values behind tokens of one column; every request is recorded first
    #[command(after_help = REVEAL)]
    Reveal(Reveal),
    /// Open what was rejected
    #[command(subcommand)]
    Quarantine(Quarantine),
    /// Schemas of the file formats
    #[command(subcommand)]
    Schema(Schema),
}

const CLASSIFY: &str = "Of a job: exit 1 when a finding is answered for by neither contract nor policy, or Amazon Macie's look is not clean. Of files without a \
contract: what their columns are. The same files, seed and number of rows give the same result.";

#[derive(Debug, Args)]
pub(super) struct Classify {
    /// A job file (.yaml), or files: a path or an s3:// uri, patterns allowed
    #[arg(value_name = "JOB|FILES")]
    pub(super) target: String,
    #[command(flatten)]
    pub(super) read: ReadAs,
    /// Rows of each source to look at [default: of a job, what its policy says; else 100000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), value_name = "N", conflicts_with = "full")]
    pub(super) sample_rows: Option<u64>,
    /// Look at every row
    #[arg(long)]
    pub(super) full: bool,
    /// Draws the rows and values that are looked at
    #[arg(long, default_value_t = crate::classify::SEED, value_name = "N")]
    pub(super) seed: u64,
    /// Write the report as JSON here too
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Make an Amazon Macie job over the sources on S3, wait for it and take its findings; costs money by the gigabyte
    #[arg(long, conflicts_with = "ids")]
    pub(super) macie: bool,
    #[command(flatten)]
    pub(super) jobs: MacieJobs,
}

/// Earlier jobs of Amazon Macie.
#[derive(Debug, Args)]
pub(super) struct MacieJobs {
    /// Take the findings of this Amazon Macie job; may be given several times
    #[arg(long = "macie-job", value_name = "ID")]
    pub(super) ids: Vec<String>,
    /// The account that owns the buckets, where it is not the caller's
    #[arg(long = "macie-account", value_name = "ACCOUNT")]
    pub(super) account: Option<String>,
    /// A copy of the bucket of Macie's detailed results to read instead of the bucket itself
    #[arg(long = "macie-results", value_name = "URI")]
    pub(super) results: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Profile {
    /// The job file
    pub(super) job: PathBuf,
    /// Examples per step
    #[arg(long, value_name = "N", default_value = "32")]
    pub(super) batch_size: NonZeroU64,
    /// Compare the best 1 to N buckets
    #[arg(long, value_name = "N", default_value = "8")]
    pub(super) most: NonZeroU32,
    /// Every bucket a multiple of N [default: the job's, or 1]
    #[arg(long, value_name = "N")]
    pub(super) multiple_of: Option<NonZeroU32>,
    /// No bucket beyond N: longer examples overflow as the job says [default: the job's, or its largest bucket]
    #[arg(long, value_name = "N")]
    pub(super) max: Option<NonZeroU32>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// Make a keyring with one version; prints no key
    #[command(group = clap::ArgGroup::new("provider").required(true).args(["kms_key", "local"]))]
    Create {
        /// Where: a path or an s3:// uri, by custom NAME.keyring.json
        keyring: String,
        /// The AWS KMS key (id, ARN or alias) that wraps the root key
        #[arg(long, value_name = "KEY")]
        kms_key: Option<String>,
        /// Wrap with a key file beside the keyring instead: development and tests only
        #[arg(long)]
        local: bool,
    },
    /// List the versions of a keyring; prints no key
    List {
        /// A path or an s3:// uri
        keyring: String,
        /// A later copy of the same keyring: says which of its destroyed versions this one brings back (exit 1)
        #[arg(long, value_name = "KEYRING")]
        known: Option<String>,
    },
    /// Add a version with a fresh key; older ones stay, jobs go on with the version that they pin
    Rotate {
        /// A path or an s3:// uri
        keyring: String,
    },
    /// Wrap every key of a keyring anew; tokens stay as they are
    Rewrap {
        /// A path or an s3:// uri
        keyring: String,
        /// By this AWS KMS key from now on (id, ARN or alias)
        #[arg(long, value_name = "KEY")]
        kms_key: Option<String>,
    },
    /// End the making of tokens with a version; old ones still reveal
    Retire {
        /// A path or an s3:// uri
        keyring: String,
        /// Its number
        version: u32,
    },
    /// Destroy a retired version: nothing that it made can be revealed, or made again, by anyone
    Destroy {
        /// A path or an s3:// uri
        keyring: String,
        /// Its number
        version: u32,
        /// The keyring's id, typed back; on a terminal there is a second question
        #[arg(long, value_name = "ID")]
        confirm: String,
        /// Why, in a sentence; the keyring file keeps it
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Give a keyring of an earlier version of this tool the key that decides splits; it never changes
    AddSplitKey {
        /// A path or an s3:// uri
        keyring: String,
    },
}

const REVEAL: &str = "Only for cryptoDeterministic, cryptoReplaceFfxFpe and encrypt, as the job's policy uses them for the column. A value a line on stdout, an empty \
line for a token that does not open: its number goes to stderr, and the exit code is 1. The records hold who, when, which column, which keys, how \
many tokens and why; never a token or a value.";

#[derive(Debug, Args)]
pub(super) struct Reveal {
    /// The job file that made the tokens; its input is not needed
    pub(super) job: PathBuf,
    /// A file of tokens, one a line
    #[arg(default_value = "-")]
    pub(super) file: PathBuf,
    /// A column of the job's query
    #[arg(long, value_name = "NAME")]
    pub(super) column: String,
    /// Why, in a sentence; the record keeps it
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: String,
    /// Where the record goes first: a file that is appended to, or s3://bucket/prefix/
    #[arg(long, value_name = "URI")]
    pub(super) audit: String,
    /// Lock records on S3 for so many days (Object Lock, compliance mode)
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36500))]
    pub(super) audit_retain: Option<u32>,
    /// The key version that made the tokens, where they do not name it
    #[arg(long, value_name = "N")]
    pub(super) key_version: Option<u32>,
    /// Refuse more tokens than this
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(super) max: usize,
    /// At most so many tokens a second
    #[arg(long, value_name = "N")]
    pub(super) rate: Option<NonZeroU32>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Quarantine {
    /// List rejected records, one JSON line each: where each stood and which rules it broke
    Show {
        /// The job file: names the key that opens it
        job: PathBuf,
        /// Files of the quarantine, or folders of them: paths or s3:// uris
        #[arg(required = true)]
        files: Vec<String>,
        /// Show the records themselves too, as `raw`, or `rawBase64` where they are no UTF-8: raw personal data
        #[arg(long)]
        raw: bool,
        /// Write the records alone, byte for byte as their file has them, each with its line end: raw personal data
        #[arg(long, conflicts_with = "raw")]
        bytes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Schema {
    /// The JSON Schema of a file kind, for editors
    Json {
        /// Which file
        kind: FileKind,
    },
    /// Propose a contract for files that have none; shows names, types and counts, never a value
    #[command(after_help = INFER)]
    Infer(Infer),
    /// Say what a change of a contract means for those who read the data; exit 1 when something breaks
    Diff {
        /// The contract as it was
        old: PathBuf,
        /// The contract as it would be
        new: PathBuf,
    },
}

const INFER: &str = "The contract goes to stdout. It has been tried on the same records; what a person must decide is marked `decide:`. A first line that looks \
like data is not shown: columns are then taken by position.";

#[derive(Debug, Args)]
pub(super) struct Infer {
    /// Paths or s3:// uris, patterns allowed: files with the same columns
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// The contract's name [default: the first file's]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) read: ReadAs,
    /// Look at so many records, from the start
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..), value_name = "N")]
    pub(super) rows: u64,
}

/// How files without a contract are read; what is not said is found out.
#[derive(Debug, Args)]
pub(super) struct ReadAs {
    /// What the files are [default: what their bytes and names say]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(super) format: Option<crate::infer::FormatName>,
    /// csv: the character between cells [default: the one that fits]
    #[arg(long, value_parser = ascii, value_name = "CHAR")]
    pub(super) delimiter: Option<u8>,
    /// csv: the character around cells, or `none`
    #[arg(long, default_value = "\"", value_parser = quote, value_name = "CHAR")]
    pub(super) quote: Quote,
    /// csv: the character in front of lines that are no records
    #[arg(long, value_parser = ascii, value_name = "CHAR")]
    pub(super) comment: Option<u8>,
    /// csv: whether the first line names the columns [default: unless it looks like data]
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub(super) header: Option<Answer>,
    /// Of text: utf-8, utf-16, utf-16le, utf-16be, latin-1, cp1252, cp850 [default: utf-8, or what a byte order mark says]
    #[arg(long, value_parser = encoding, value_name = "NAME")]
    pub(super) encoding: Option<Encoding>,
}

impl ReadAs {
    /// Nothing was said.
    pub(super) fn is_default(&self) -> bool {
        self.format.is_none()
            && self.delimiter.is_none()
            && self.quote == Quote(Some(b'"'))
            && self.comment.is_none()
            && self.header.is_none()
            && self.encoding.is_none()
    }
}

/// `"`, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote(pub(super) Option<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Answer {
    Yes,
    No,
}

fn ascii(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("one ASCII character; `tab` for the tabulator".to_owned()),
    }
}

fn quote(text: &str) -> Result<Quote, String> {
    if text == "none" { Ok(Quote(None)) } else { ascii(text).map(|byte| Quote(Some(byte))) }
}

fn encoding(text: &str) -> Result<Encoding, String> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => Encoding::Utf8,
        "utf-16" | "utf16" => Encoding::Utf16,
        "utf-16le" => Encoding::Utf16Le,
        "utf-16be" => Encoding::Utf16Be,
        "latin-1" | "latin1" | "iso-8859-1" => Encoding::Latin1,
        "cp1252" | "windows-1252" => Encoding::Windows1252,
        "cp850" => Encoding::Cp850,
        _ => return Err("one of utf-8, utf-16, utf-16le, utf-16be, latin-1, cp1252, cp850".to_owned()),
    })
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FileKind {
    Policy,
    Job,
}

impl Global {
    pub(super) fn limits(&self) -> Limits {
        let limits = Limits::new(self.memory_limit, self.threads.map(usize::from));
        Limits { batch_rows: self.batch_rows.map_or(limits.batch_rows, |rows| rows as usize), ..limits }
    }

    pub(super) fn parameters(&self) -> BTreeMap<String, String> {
        self.parameters.iter().cloned().collect()
    }
}

/// Only our own messages, at any level: the SDK's at `trace` hold key material, the engine's hold cells.
pub(super) fn log(global: &Global) {
    let level = match global.log_level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let filter = tracing_subscriber::filter::Targets::new().with_target("perimeter", level);
    use tracing_subscriber::prelude::*;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_filter(filter);
    // A second initialization (tests) keeps the first.
    let _ = tracing_subscriber::registry().with(lines).try_init();
}

/// `2GiB`, `512MiB`, `1500MB`, `1073741824`.
fn bytes(text: &str) -> Result<usize, String> {
    /// Below this, sorts of ordinary rows have too little to merge with.
    const LEAST: usize = 512 << 20;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: usize = match &text[digits.len()..] {
        "" | "B" => 1,
        "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return Err("the unit is one of MiB, GiB, MB, GB".to_owned()),
    };
    let bytes = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(unit)).ok_or("write a whole number and a unit, e.g. 2GiB")?;
    if bytes < LEAST { Err("at least 512MiB".to_owned()) } else { Ok(bytes) }
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn memory_limits() {
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!(bytes("1500MB"), Ok(1_500_000_000));
        for wrong in ["", "x", "2TiB", "-1GiB", "1.5GiB", "1MiB", "99999999999999GiB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
