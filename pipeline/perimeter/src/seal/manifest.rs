//! `manifest.json` and `shapes.json`: what a sealed version says about itself.
use crate::classify::Classification;
use crate::error::{Culprit, Failure, Result};
use crate::shape::overflow::Conservation;
use crate::shape::pack::Packed;
use perimeter_contract::job::{Dtype, RecordEncoding, SinkFormat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `apiVersion` of every file of ours.
pub const API_VERSION: &str = "perimeter/v1";
/// The manifest's name in its version's folder.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The name of the file of frozen statistics beside it.
pub const STATISTICS_FILE: &str = "statistics.json";
/// The name of the file of shapes beside it.
pub const SHAPES_FILE: &str = "shapes.json";

/// All that is known of a sealed version. Paths are relative to the manifest. A version exists when its manifest does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// [`API_VERSION`].
    pub api_version: String,
    /// `Manifest`.
    pub kind: String,
    /// The job's name.
    pub dataset: String,
    /// Made without a trust file or with local keys: not to be replicated.
    pub development: bool,
    /// Which run made it.
    pub run: Run,
    /// The files that allowed it.
    pub contract: ContractFiles,
    /// The key versions that its tokens were made with.
    pub keys: Vec<KeyVersion>,
    /// What was read.
    pub inputs: Vec<Input>,
    /// Rows on their way.
    pub rows: RowCounts,
    /// Rows that broke each rule; a row that broke several counts under each.
    pub rejections: BTreeMap<String, u64>,
    /// How the shards are written.
    pub format: ShardFormat,
    /// Where the elements along the bucketed axis went; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conservation: Option<Conserved>,
    /// By feature: what made its tokens.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub tokenizers: BTreeMap<String, TokenizerFile>,
    /// Per split and bucket: records and features.
    pub splits: Vec<Split>,
    /// Every shard.
    pub shards: Vec<Shard>,
    /// Every other file of the version but the manifest itself.
    pub files: Vec<SideFile>,
    /// The pseudonymized rows as Parquet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub table: Option<TableFiles>,
    /// By gate: the verdict and the figures behind it.
    pub gates: BTreeMap<String, Gate>,
    /// What detectors and Amazon Macie found in the raw sources, against what the contracts say: every column in which something was found or contradicted, and who
    /// answers for it. Absent in versions of before there was such a look.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub findings: Option<Classification>,
    /// What a copy of the shards moves.
    pub egress: Egress,
}

/// Which run made a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Run {
    /// The run id: also the version's folder name.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// RFC 3339, UTC; [`seal`](super::seal()) sets it.
    pub finished: String,
    /// Version of this program.
    pub tool_version: String,
    /// The job's parameters.
    pub parameters: BTreeMap<String, String>,
}

/// The files that allowed a version: digests are SHA-256, hex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContractFiles {
    /// The job file.
    pub job_sha256: String,
    /// By source name: its schema file.
    pub schemas_sha256: BTreeMap<String, String>,
    /// What `perimeter plan` showed as the digest: policy, schemas, query and lineage.
    pub plan_digest: String,
    /// The policy file.
    pub policy: PolicyFile,
}

/// The policy that allowed a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyFile {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.version`.
    pub version: u32,
    /// `metadata.purpose`.
    pub purpose: String,
    /// `metadata.legalBasis`.
    pub legal_basis: Vec<String>,
    /// `retention`, in days; recorded for whoever deletes, not enforced here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retention_days: Option<u32>,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Who approved it.
    pub approvals: Vec<String>,
}

/// A key version that tokens were made with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyVersion {
    /// The job's name for the key.
    pub name: String,
    /// The keyring's id.
    pub keyring: String,
    /// Its version.
    pub version: u32,
}

/// One input file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// The job's name for the source.
    pub source: String,
    /// Its uri, or a digest where the uri holds a value that is not public.
    pub uri: String,
    /// Its length.
    pub bytes: u64,
    /// The object's entity tag.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub etag: Option<String>,
    /// SHA-256, hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
    /// Rows in it, rejected ones included.
    pub rows: u64,
    /// Rows that break a rule, by `<column>.<rule>`, `<rule>` or record code; only those that some row breaks.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub rejections: BTreeMap<String, u64>,
}

/// Rows on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowCounts {
    /// Read from all inputs.
    pub read: u64,
    /// Rejected by *check*.
    pub rejected: u64,
    /// Fixed width: records of types that are no rows; not among `read`. Not written when there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub passed_over: u64,
    /// Rows with fields that the contract does not have and `drift: allowAdded` let pass unread. Not written when there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub with_added_fields: u64,
    /// That came out of `prepare`: each is one event of one sequence, or one record.
    pub written: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Where the elements along the bucketed axis went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conserved {
    /// What an element is.
    pub unit: Unit,
    /// What became of them: `elementsIn` = `kept` + `truncated` + `rejected`, and the shards hold `kept` + `duplicated`.
    pub elements: Conservation,
    /// How examples were packed into windows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packing: Option<Packed>,
}

/// The tokenizer of a feature, and what it made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenizerFile {
    /// SHA-256 of its `tokenizer.json`, hex.
    pub sha256: String,
    /// One more than the largest id.
    pub size: u32,
    /// Tokens of all texts, marks included, before the job's overflow.
    pub tokens: u64,
    /// Tokens that `maxTokens` cut off.
    pub truncated: u64,
}

/// What lies along the bucketed axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// Events of sequences: each is a row.
    Events,
    /// Tokens of texts: each text is a row.
    Tokens,
}

impl Conserved {
    /// Whether no element is unaccounted for, given the rows that came and the elements that were found in the shards.
    pub fn explains(&self, rows: u64, found: u64) -> bool {
        let came = match self.unit {
            Unit::Events => self.elements.elements_in,
            Unit::Tokens => self.elements.examples_in,
        };
        let packed = self.packing.is_none_or(|packing| packing.elements == self.elements.elements_out());
        self.elements.balances() && came == rows && self.elements.elements_out() == found && packed
    }
}

/// How the shards are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShardFormat {
    /// The file format.
    pub container: SinkFormat,
    /// ArrayRecord's option string; empty for other formats.
    pub options: String,
    /// What a record is.
    pub encoding: RecordEncoding,
}

/// One split in one bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Split {
    /// `train`.
    pub name: String,
    /// Events that an example holds; absent in row jobs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bucket: Option<u32>,
    /// Examples.
    pub records: u64,
    /// Events in them, padding not counted; in row jobs the same as `records`.
    pub events: u64,
    /// Records of the fullest shard.
    pub largest_shard_records: u64,
    /// Records of the emptiest shard.
    pub smallest_shard_records: u64,
    /// What each example holds, in the order of its bytes.
    pub features: Vec<Feature>,
}

/// One feature of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Its type.
    pub dtype: Dtype,
    /// Its static shape; empty for a single value, `[0]` for one of any length (`layout: maxtext`).
    pub shape: Vec<u32>,
}

/// One shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shard {
    /// Where it is.
    pub path: String,
    /// As in [`Split::bucket`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bucket: Option<u32>,
    /// As in [`Split::name`].
    pub split: String,
    /// Records in it.
    pub records: u64,
    /// Its length.
    pub bytes: u64,
    /// CRC-32C, base64 of the big-endian bytes, as object stores show it.
    pub crc32c: String,
    /// SHA-256, hex.
    pub sha256: String,
}

/// A file beside the shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SideFile {
    /// Where it is.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256, hex.
    pub sha256: String,
}

/// The pseudonymized rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TableFiles {
    /// The folder that holds the parts, and nothing else.
    pub uri: String,
    /// Rows in all parts.
    pub rows: u64,
    /// One per shard.
    pub parts: Vec<TablePart>,
}

/// One Parquet file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TablePart {
    /// Relative to the table's uri.
    pub path: String,
    /// Rows in it.
    pub rows: u64,
    /// Its length.
    pub bytes: u64,
    /// SHA-256, hex.
    pub sha256: String,
}

/// A gate's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gate {
    /// What it said.
    pub verdict: Verdict,
    /// The figures behind it.
    pub figures: BTreeMap<String, serde_json::Value>,
}

/// What a gate said. One that failed leaves no manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It let the version through.
    Pass,
    /// The policy does not ask for it.
    NotAsked,
}

/// What a copy of the shards moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Egress {
    /// Bytes of all shards.
    pub bytes: u64,
    /// At the trust file's tariff; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usd: Option<f64>,
}

/// `shapes.json`: what a loader needs to build its input, and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Shapes {
    /// [`API_VERSION`].
    pub api_version: String,
    /// `Shapes`.
    pub kind: String,
    /// What a record is.
    pub encoding: RecordEncoding,
    /// One per split and bucket.
    pub splits: Vec<SplitShape>,
}

/// One split in one bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SplitShape {
    /// `train`.
    pub name: String,
    /// As in [`Split::bucket`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bucket: Option<u32>,
    /// Examples.
    pub records: u64,
    /// What each holds.
    pub features: Vec<Feature>,
}

impl Shapes {
    /// What a manifest's splits say about shapes.
    pub fn of(encoding: RecordEncoding, splits: &[Split]) -> Self {
        let splits = splits
            .iter()
            .map(|split| SplitShape { name: split.name.clone(), bucket: split.bucket, records: split.records, features: split.features.clone() })
            .collect();
        Self { api_version: API_VERSION.to_owned(), kind: "Shapes".to_owned(), encoding, splits }
    }
}

impl Manifest {
    /// Reads a manifest strictly: unknown keys, another `apiVersion` or `kind`, and paths that leave the manifest's folder are refused.
    ///
    /// # Errors
    /// `manifest` or `manifest-path` (exit 1), with line and column, never with what stands there.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| malformed(MANIFEST_FILE, &error))?;
        if manifest.api_version != API_VERSION || manifest.kind != "Manifest" {
            let message = format!("the file is no `{API_VERSION}` manifest");
            return Err(Failure::new(Culprit::Data, "manifest", message).help("give the path of a `manifest.json`").into());
        }
        let paths = manifest.shards.iter().map(|shard| &shard.path).chain(manifest.files.iter().map(|file| &file.path));
        let parts = manifest.table.iter().flat_map(|table| table.parts.iter().map(|part| &part.path));
        if paths.chain(parts).any(|path| !stays_inside(path)) {
            return Err(Failure::new(Culprit::Data, "manifest-path", "a path in the manifest leaves its folder")
                .help("the manifest was tampered with: do not use this version")
                .into());
        }
        Ok(manifest)
    }
}

/// A serde_json error without its text, which quotes what it found.
pub(super) fn malformed(name: &str, error: &serde_json::Error) -> Failure {
    let what = match error.classify() {
        serde_json::error::Category::Io => "cannot be read",
        serde_json::error::Category::Syntax => "is not JSON",
        serde_json::error::Category::Eof => "ends too early",
        serde_json::error::Category::Data => "has an unknown, missing or wrong key",
    };
    Failure::new(Culprit::Data, "manifest", format!("{name}, line {} column {}: it {what}", error.line(), error.column()))
        .help("it was changed after sealing, or written by another version of this program")
}

/// Whether a relative path names something below its folder, on any system.
fn stays_inside(path: &str) -> bool {
    !path.is_empty() && !path.contains(['\\', '\0', ':']) && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_manifest_pass() {
        for inside in ["a", "b16/x.array_record-00000-of-00001", "..a/b..", "a b"] {
            assert!(stays_inside(inside), "{inside}");
        }
        for outside in ["", "/a", "../a", "a/../b", "a/..", ".", "a//b", "a/", "a\\..\\b", "C:/a", "s3://a/b", "a\0"] {
            assert!(!stays_inside(outside), "{outside:?}");
        }
    }
}
