//! Job files (`pipeline/jobs/*.yaml`): where data comes from, what shape it takes, where it lands.
use crate::Span;
use crate::schema::Schema;
use std::collections::BTreeMap;

/// A validated job: parameters substituted, paths absolute, schemas loaded.
#[derive(Clone, Debug)]
pub struct Job {
    /// `metadata.name`.
    pub name: String,
    /// Every parameter with its value in this run.
    pub parameters: BTreeMap<String, String>,
    /// In file order.
    pub sources: Vec<Source>,
    /// Where rejected rows go, encrypted.
    pub quarantine: Quarantine,
    /// The SQL text and where it stands; absent with one source means `SELECT * FROM it`.
    pub prepare: Option<Prepare>,
    /// By key name.
    pub keys: BTreeMap<String, Key>,
    /// `shape`.
    pub shape: Shape,
    /// `sink`.
    pub sink: Sink,
    /// `table`.
    pub table: Option<Table>,
}

/// A local absolute path, or `s3://bucket/key`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uri(pub String);

/// `prepare`.
#[derive(Clone, Debug)]
pub struct Prepare {
    /// The query.
    pub sql: String,
    /// Where it stands.
    pub span: Span,
}

/// One entry of `sources`.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name that SQL uses.
    pub name: String,
    /// May hold `*`, `?` and `[…]`.
    pub uri: Uri,
    /// How the bytes are read.
    pub format: Format,
    /// What the columns are.
    pub schema: Schema,
    /// Where the source stands.
    pub span: Span,
}

/// How the bytes of a source are read. Compression goes by file name (`.gz`, `.zst`).
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// Delimited text.
    Csv(CsvOptions),
    /// One JSON object a line.
    Json(TextOptions),
    /// Apache Parquet.
    Parquet,
}

/// `options` that text formats share.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TextOptions {
    /// `nullMarkers`: cells that mean null beside the bare empty one.
    pub null_markers: Vec<String>,
    /// `decimalPrefix`: text in front of numbers that is dropped (`$`).
    pub number_prefix: Option<String>,
}

/// `options` of csv.
#[derive(Clone, Debug, PartialEq)]
pub struct CsvOptions {
    /// `delimiter`, `,` by default.
    pub delimiter: u8,
    /// `quote`, `"` by default.
    pub quote: u8,
    /// `header`, true by default; without one, columns are taken by position.
    pub header: bool,
    /// What text formats share.
    pub text: TextOptions,
}

/// `quarantine`.
#[derive(Clone, Debug)]
pub struct Quarantine {
    /// A folder or prefix, never under the sink.
    pub uri: Uri,
    /// A key name of the job's `keys`.
    pub key: String,
    /// `retention`, days.
    pub retention_days: Option<u32>,
    /// Where it stands.
    pub span: Span,
}

/// One entry of `keys`.
#[derive(Clone, Debug)]
pub struct Key {
    /// Who wraps the root key.
    pub provider: Provider,
    /// Where the keyring file is.
    pub keyring: Uri,
    /// `version`: pinned; the newest active one when absent is a mistake outside `create: true`.
    pub version: Option<u32>,
    /// `create`: make the keyring when it is absent (local provider only; marks the dataset `development`).
    pub create: bool,
    /// Where the key stands.
    pub span: Span,
}

/// `provider`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// AWS KMS.
    AwsKms {
        /// Key id, ARN or alias.
        key_id: String,
    },
    /// A key file beside the keyring, mode 0600; for development and tests.
    Local,
}

/// `shape`.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Absent: one example per row.
    pub sequence: Option<Sequence>,
    /// In file order.
    pub features: Vec<Feature>,
    /// Ascending; empty without `sequence`.
    pub buckets: Vec<u32>,
    /// What happens to sequences longer than the largest bucket (only `split` in this version).
    pub overflow: Overflow,
    /// Where the shape stands.
    pub span: Span,
}

/// `shape.sequence`.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The entity column of the prepared output.
    pub by: String,
    /// Columns of the prepared output.
    pub order_by: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// `shape.overflow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Cut into chunks of the largest bucket; the last one is shorter.
    Split,
}

/// One feature.
#[derive(Clone, Debug)]
pub struct Feature {
    /// The name in the Example.
    pub name: String,
    /// A column of the prepared output.
    pub column: String,
    /// `dtype`.
    pub dtype: Dtype,
    /// `scale`.
    pub scale: Scale,
    /// `encode`.
    pub encode: Encode,
    /// `missing`: what null becomes; absent: a null is a mistake of the data (rule `missing-feature`).
    pub missing: Option<f64>,
    /// Where the feature stands.
    pub span: Span,
}

/// `dtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Dtype {
    /// IEEE 754 binary32.
    Float32,
    /// Signed 64 bit.
    Int64,
    /// UTF-8 text of a row or of an entity (never padded): not allowed inside sequences except for the entity itself.
    Bytes,
}

/// `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scale {
    /// As it is.
    #[default]
    None,
    /// ln(1 + x) in float64, rounded to float32.
    Log1p,
}

/// `encode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Encode {
    /// The value.
    #[default]
    Value,
    /// Whole seconds since the previous event of the entity (floor), across splits; 0 for the first.
    SecondsSincePrevious,
}

/// `sink`.
#[derive(Clone, Debug)]
pub struct Sink {
    /// A folder or prefix; versions go below it.
    pub uri: Uri,
    /// The official option string, e.g. `group_size:1,zstd:3` (validated by the `array_record` crate later).
    pub options: String,
    /// `shards`; absent: from the input's bytes.
    pub shards: Option<u32>,
    /// `sseKms`: KMS key id for S3 server-side encryption.
    pub sse_kms: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// `table`: the pseudonymized rows as Parquet.
#[derive(Clone, Debug)]
pub struct Table {
    /// A folder or prefix.
    pub uri: Uri,
    /// Where it stands.
    pub span: Span,
}
