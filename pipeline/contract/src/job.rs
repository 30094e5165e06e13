//! Job files (`pipeline/jobs/*.yaml`): where data comes from, what shape it takes, where it lands.
use crate::Span;
use crate::schema::Schema;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

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

/// `shape`.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How examples are laid out.
    pub layout: Layout,
    /// Absent: one example per row.
    pub sequence: Option<Sequence>,
    /// In file order.
    pub features: Vec<Feature>,
    /// Lengths that examples are padded to; none where they have no length.
    pub buckets: Buckets,
    /// What happens to sequences longer than the largest bucket.
    pub overflow: Overflow,
    /// Several examples in one window of the one bucket's length, in place of one each.
    pub packing: Option<Packing>,
    /// Frozen statistics of an earlier run.
    pub statistics: Option<Pinned>,
    /// Where the shape stands.
    pub span: Span,
}

impl Shape {
    /// Whether something is chosen by the data: buckets, scales or vocabularies.
    pub fn leaves_to_data(&self) -> bool {
        matches!(self.buckets, Buckets::Auto(_)) || self.features.iter().any(Feature::is_frozen)
    }
}

/// `shape.layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Layout {
    /// Every feature has a fixed shape per bucket.
    #[default]
    Static,
    /// One feature and nothing beside it: int64 of any length, or a text. MaxText packs such examples itself.
    Maxtext,
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

/// `shape.buckets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Buckets {
    /// Ascending; empty where examples have no length.
    Fixed(Vec<u32>),
    /// Chosen by the data, and frozen.
    Auto(AutoBuckets),
}

impl Buckets {
    /// Those that the job file lists.
    pub fn listed(&self) -> &[u32] {
        match self {
            Self::Fixed(buckets) => buckets,
            Self::Auto(_) => &[],
        }
    }

    /// Whether examples have no length.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Fixed(buckets) if buckets.is_empty())
    }
}

/// `buckets: {auto: 4, multipleOf: 8, max: 512}`: the boundaries that pad least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoBuckets {
    /// How many at most.
    pub auto: NonZeroU32,
    /// Every boundary is a multiple of it.
    pub multiple_of: NonZeroU32,
    /// No boundary is beyond it: longer examples overflow.
    pub max: NonZeroU32,
}

/// `shape.packing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// `maxSegments`: examples in a window at most.
    pub max_segments: NonZeroU32,
    /// `openWindows`: windows that are filled at a time.
    pub open_windows: NonZeroU32,
}

/// `shape.statistics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// A `statistics.json`.
    pub uri: Uri,
    /// Where it is named.
    pub span: Span,
}

/// `shape.overflow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Cut into chunks of the largest bucket; the last one may be shorter.
    Split {
        /// Events that two neighbouring chunks share (bucket less `stride`); 0 unless the job says otherwise.
        overlap: u32,
    },
    /// One chunk of the largest bucket.
    Truncate(Side),
    /// The sequence is left out, and counted.
    Reject,
}

/// `overflow.side`: the end at which a longer sequence is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// The oldest events go, the newest stay.
    Left,
    /// The newest events go, the oldest stay.
    #[default]
    Right,
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
    /// `tokenizer`: the column's text as token ids.
    pub tokenizer: Option<Tokenizer>,
    /// `missing`: what null becomes; absent: a null is a mistake of the data (rule `missing-feature`).
    pub missing: Option<f64>,
    /// Where the feature stands.
    pub span: Span,
}

/// `tokenizer`, and the keys that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokenizer {
    /// A Hugging Face `tokenizer.json`.
    pub uri: Uri,
    /// `maxTokens`: tokens of a text at most, marks included.
    pub max_tokens: Option<NonZeroU32>,
    /// `bos`: the token that begins every text, by its name.
    pub bos: Option<String>,
    /// `eos`: the token that ends every text.
    pub eos: Option<String>,
    /// `truncate`: the end at which longer texts are cut.
    pub truncate: Side,
    /// Where it stands.
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
    /// Signed 32 bit.
    Int32,
    /// The upper half of a binary32, rounded to the nearest, ties to even.
    Bfloat16,
    /// IEEE 754 binary16, rounded to the nearest, ties to even.
    Float16,
    /// Unsigned 8 bit.
    Uint8,
    /// 0 or 1.
    Bool,
    /// UTF-8 text of a row or of an entity (never padded): not allowed inside sequences except for the entity itself.
    Bytes,
}

impl Dtype {
    /// Whether it holds fractions.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Bfloat16 | Self::Float16)
    }
}

/// `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scale {
    /// As it is.
    #[default]
    None,
    /// ln(1 + x) in float64, rounded to the dtype.
    Log1p,
    /// Clipped, less the mean, by the standard deviation.
    Standard,
    /// Clipped, to 0 to 1.
    MinMax,
    /// The share of train values below, 0 to 1.
    Quantile,
}

impl Scale {
    /// Whether its numbers come from the data.
    pub fn is_frozen(self) -> bool {
        matches!(self, Self::Standard | Self::MinMax | Self::Quantile)
    }
}

/// `encode`, with the keys that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Encode {
    /// The value.
    #[default]
    Value,
    /// Whole seconds since the previous event of the entity (floor), across splits; 0 for the first.
    SecondsSincePrevious,
    /// 0 for Monday to 6 for Sunday.
    DayOfWeek,
    /// The value's id in a frozen vocabulary: 0 padding, 1 out of vocabulary, 2 null, from 3 on by count.
    Vocabulary {
        /// `minCount`: rarer values are out of the vocabulary.
        min_count: u64,
        /// `maxSize`: values at most.
        max_size: Option<NonZeroU32>,
    },
    /// The same id as a vector of `maxSize` + 3: 1 at its place, 0 elsewhere.
    OneHot {
        /// `minCount`.
        min_count: u64,
        /// `maxSize`.
        max_size: NonZeroU32,
    },
    /// An id by hash, from 3 on; 2 for null.
    Hash {
        /// `hashBuckets`: ids at most.
        buckets: NonZeroU32,
    },
}

impl Encode {
    /// Whether it is the place of a value among others, and no number.
    pub fn is_category(self) -> bool {
        matches!(self, Self::Vocabulary { .. } | Self::OneHot { .. } | Self::Hash { .. })
    }

    /// The rarest value and the size of its frozen vocabulary.
    pub fn vocabulary(self) -> Option<(u64, Option<NonZeroU32>)> {
        match self {
            Self::Vocabulary { min_count, max_size } => Some((min_count, max_size)),
            Self::OneHot { min_count, max_size } => Some((min_count, Some(max_size))),
            Self::Value | Self::SecondsSincePrevious | Self::DayOfWeek | Self::Hash { .. } => None,
        }
    }
}

impl Feature {
    /// Whether it needs statistics of the data.
    pub fn is_frozen(&self) -> bool {
        self.scale.is_frozen() || self.encode.vocabulary().is_some()
    }
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
