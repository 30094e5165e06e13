//! Job files (`pipeline/jobs/*.yaml`): where data comes from, what shape it takes, where it lands.
mod shape;

pub use shape::{AutoBuckets, Buckets, Dtype, Encode, Feature, Layout, Overflow, Packing, Pinned, Scale, Sequence, Shape, Side, Tokenizer};

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
    /// What happens when the data has a column that the contract does not have.
    pub drift: Drift,
    /// Where the source stands.
    pub span: Span,
}

/// `drift`. A column that is missing, has another type or (where position is all there is) another place is refused in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Drift {
    /// `refuse`, the default: a column that the contract does not have ends the job before anything is read.
    #[default]
    Refuse,
    /// `allowAdded`: such a column is not read, and its name is reported.
    AllowAdded,
}

/// How the bytes of a source are read. Compression goes by file name (`.gz`, `.zst`, `.bz2`, `.xz`).
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// Delimited text.
    Csv(CsvOptions),
    /// One JSON object a line, or one array of them.
    Json(JsonOptions),
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream; which of the two the bytes say.
    Arrow,
    /// Apache Avro object container files.
    Avro,
    /// Records whose columns stand at fixed positions.
    FixedWidth(FixedWidthOptions),
}

/// `options` that text formats share.
#[derive(Clone, Debug, PartialEq)]
pub struct TextOptions {
    /// `nullMarkers`: cells that mean null beside the bare empty one.
    pub null_markers: Vec<String>,
    /// `decimalPrefix`: text in front of numbers that is dropped (`$`).
    pub number_prefix: Option<String>,
    /// `decimalSeparator`: `.` (by default) or `,`.
    pub decimal_separator: u8,
    /// `thousandsSeparator`: `.`, `,`, `'`, a space, or none. Groups of three; a number that is grouped otherwise is no number.
    pub thousands_separator: Option<char>,
    /// `encoding`.
    pub encoding: Encoding,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { null_markers: Vec::new(), number_prefix: None, decimal_separator: b'.', thousands_separator: None, encoding: Encoding::Utf8 }
    }
}

/// `encoding` of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// `utf-8`, the default; a byte order mark is passed over.
    #[default]
    Utf8,
    /// `utf-16`: the byte order mark says which; a file without one is refused.
    Utf16,
    /// `utf-16le`; a byte order mark is passed over, the other one refused.
    Utf16Le,
    /// `utf-16be`.
    Utf16Be,
    /// `iso-8859-1`, `latin-1`: all 256 bytes are characters.
    Latin1,
    /// `windows-1252`, `cp1252`; its five unassigned bytes are undecodable.
    Windows1252,
    /// `cp850`, the OEM code page of Western Europe and Brazil.
    Cp850,
}

/// `options` of csv.
#[derive(Clone, Debug, PartialEq)]
pub struct CsvOptions {
    /// `delimiter`, `,` by default.
    pub delimiter: u8,
    /// `quote`, `"` by default; `none` for files that do not quote.
    pub quote: Option<u8>,
    /// `escape`: the character in front of a quote inside quotes; by default the quote is doubled.
    pub escape: Option<u8>,
    /// `comment`: lines that start with it are no records.
    pub comment: Option<u8>,
    /// `header`, true by default; without one, columns are taken by position.
    pub header: bool,
    /// What text formats share.
    pub text: TextOptions,
}

/// `options` of JSON.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct JsonOptions {
    /// `layout: array`: the file is one array of objects. `lines` by default.
    pub array: bool,
    /// What text formats share.
    pub text: TextOptions,
}

/// `options` of fixed-width records (CNAB 240 and 400, mainframe extracts).
#[derive(Clone, Debug, PartialEq)]
pub struct FixedWidthOptions {
    /// `recordLength`, characters; every record has exactly so many. With `lineEnds: false` it is what separates records.
    pub record_length: u32,
    /// `lineEnds`: whether LF or CR LF ends a record; true by default.
    pub line_ends: bool,
    /// `fields`, one for each column of the contract, in contract order.
    pub fields: Vec<FixedField>,
    /// `recordTypes`: of which records the rows are; all without it. Others are counted and passed over.
    pub record_types: Option<RecordTypes>,
    /// What text formats share.
    pub text: TextOptions,
}

/// One entry of `fields`: where a column stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedField {
    /// Characters before it: `start` less one.
    pub offset: u32,
    /// Characters.
    pub width: u32,
    /// `impliedDecimals`: so many of its last digits stand after the decimal point that is not written.
    pub implied_decimals: Option<u8>,
    /// `trim`: which blanks around the value are filling; all blank is null unless the trim is none.
    pub trim: Trim,
}

/// `trim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Trim {
    /// `both`, the default.
    #[default]
    Both,
    /// `left`.
    Left,
    /// `right`.
    Right,
    /// `none`.
    None,
}

/// `recordTypes: {start: 8, width: 1, values: ["3"]}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordTypes {
    /// Characters before it.
    pub offset: u32,
    /// Characters.
    pub width: u32,
    /// What stands there in the records that are read.
    pub values: Vec<String>,
    /// `others`: what may stand there in records that are passed over; a record of any other type is rejected as `unknown-record-type`. Absent: any.
    pub others: Option<Vec<String>>,
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

/// `sink`.
#[derive(Clone, Debug)]
pub struct Sink {
    /// A folder or prefix; versions go below it.
    pub uri: Uri,
    /// The container of the records.
    pub format: SinkFormat,
    /// What a record is.
    pub encoding: RecordEncoding,
    /// The official option string, e.g. `group_size:1,zstd:3` (validated by the `array_record` crate later); of ArrayRecord.
    pub options: String,
    /// `shards`; absent: from the input's bytes.
    pub shards: Option<u32>,
    /// `sseKms`: KMS key id for S3 server-side encryption.
    pub sse_kms: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// `sink.format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SinkFormat {
    /// Google's ArrayRecord: random access.
    #[default]
    ArrayRecord,
    /// TensorFlow's TFRecord: in order only, uncompressed.
    TfRecord,
}

/// `sink.encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RecordEncoding {
    /// One `tf.train.Example` per record.
    #[default]
    TfExample,
    /// The raw little-endian static tensors, one after the other, in the order of `shapes.json`.
    Tensor,
}

/// `table`: the pseudonymized rows as Parquet.
#[derive(Clone, Debug)]
pub struct Table {
    /// A folder or prefix.
    pub uri: Uri,
    /// Where it stands.
    pub span: Span,
}
