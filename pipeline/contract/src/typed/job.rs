//! Job files as typed.
mod shape;

pub(crate) use shape::{AutoBuckets, Buckets, Encode, Feature, MAX_BUCKET, Overflow, OverflowMode, Sequence, Shape};

use crate::job::{RecordEncoding, SinkFormat};
use crate::spanned::{Entries, Exact, OneOrMany, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// A job: where the data comes from, what shape it takes, where it lands.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Job {
    /// `perimeter/v1`.
    #[schemars(required)]
    #[allow(dead_code, reason = "checked before the structure is")]
    pub(crate) api_version: Option<Spanned<ApiVersion>>,
    /// `Job`.
    #[schemars(required)]
    #[allow(dead_code, reason = "checked before the structure is")]
    pub(crate) kind: Option<Spanned<JobKind>>,
    /// What the job is called.
    #[schemars(required)]
    pub(crate) metadata: Option<Metadata>,
    /// Values given with `--param name=value`: a default here, or the word `required`. Used as `${name}` in uris, key ids and keyring paths.
    pub(crate) parameters: Option<Entries<Spanned<String>>>,
    /// The policy file, relative to this file.
    #[schemars(required)]
    pub(crate) policy: Option<Spanned<String>>,
    /// The data, by the name that SQL uses.
    #[schemars(required)]
    pub(crate) sources: Option<Spanned<Entries<Spanned<Source>>>>,
    /// Where rejected rows go, encrypted; never under the sink or the table.
    #[schemars(required)]
    pub(crate) quarantine: Option<Spanned<Quarantine>>,
    /// One SQL query over the checked sources; optional with one source.
    pub(crate) prepare: Option<Spanned<String>>,
    /// The keyrings, by the names that the policy uses.
    #[schemars(required)]
    pub(crate) keys: Option<Spanned<Entries<Spanned<Key>>>>,
    /// What one example looks like.
    #[schemars(required)]
    pub(crate) shape: Option<Spanned<Shape>>,
    /// Where the shards go.
    #[schemars(required)]
    pub(crate) sink: Option<Spanned<Sink>>,
    /// The pseudonymized rows as a table.
    pub(crate) table: Option<Spanned<Table>>,
}

/// The version of the file's format.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) enum ApiVersion {
    #[serde(rename = "perimeter/v1")]
    V1,
}

/// The kind of file.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) enum JobKind {
    Job,
}

/// What the job is called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Metadata {
    /// The job's name: letters, digits, `-`, `_` and `.`; it begins the shards' file names.
    #[schemars(required)]
    pub(crate) name: Option<Spanned<String>>,
    /// What the job is for, for people.
    #[allow(dead_code, reason = "for people")]
    pub(crate) description: Option<Spanned<String>>,
}

/// One source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "format")]
#[schemars(rename = "Source", tag = "format")]
pub(crate) enum Source {
    /// Delimited text.
    #[serde(rename = "csv")]
    Csv(CsvSource),
    /// JSON objects, one a line or in one array.
    #[serde(rename = "json")]
    Json(JsonSource),
    /// Apache Parquet.
    #[serde(rename = "parquet")]
    Parquet(ParquetSource),
    /// Arrow IPC, file or stream.
    #[serde(rename = "arrow")]
    Arrow(ArrowSource),
    /// Apache Avro object container files.
    #[serde(rename = "avro")]
    Avro(AvroSource),
    /// Records whose columns stand at fixed positions.
    #[serde(rename = "fixedWidth")]
    FixedWidth(FixedWidthSource),
}

macro_rules! source {
    ($(#[$doc:meta])* $name:ident $(, $options:ty)?) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            /// A path relative to this file or `s3://…`, with `*`, `?` and `[…]`; `.gz`, `.zst`, `.bz2` and `.xz` go by file name.
            #[schemars(required)]
            pub(crate) uri: Option<Spanned<String>>,
            /// The schema file (ODCS), relative to this file.
            #[schemars(required)]
            pub(crate) schema: Option<Spanned<String>>,
            /// What happens when the data has a column that the schema does not have.
            pub(crate) drift: Option<Spanned<Drift>>,
            $(
                /// How the text is written.
                pub(crate) options: Option<Spanned<$options>>,
            )?
        }
    };
}

source!(
    /// Delimited text.
    CsvSource,
    CsvOptions
);
source!(
    /// JSON objects, one a line or in one array.
    JsonSource,
    JsonOptions
);
source!(
    /// Apache Parquet.
    ParquetSource
);
source!(
    /// Arrow IPC, file or stream.
    ArrowSource
);
source!(
    /// Apache Avro object container files.
    AvroSource
);
source!(
    /// Records whose columns stand at fixed positions.
    FixedWidthSource,
    FixedWidthOptions
);

/// What happens when the data has a column that the schema does not have. Missing and retyped columns end the job in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Drift {
    /// The job ends before anything is read.
    Refuse,
    /// The column is not read, and its name is reported.
    AllowAdded,
}

macro_rules! text_options {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$attribute])* pub(crate) $field: Option<$type>,)*
            /// `utf-8` (by default), `utf-16`, `utf-16le`, `utf-16be`, `iso-8859-1`, `windows-1252` or `cp850`.
            pub(crate) encoding: Option<Spanned<String>>,
            /// Texts that mean null; in csv beside the bare empty cell.
            pub(crate) null_markers: Option<OneOrMany<Spanned<String>>>,
            /// Text in front of numbers that is dropped, e.g. `$`.
            pub(crate) decimal_prefix: Option<Spanned<String>>,
            /// `.` (by default) or `,`.
            pub(crate) decimal_separator: Option<Spanned<String>>,
            /// `.`, `,`, `'` or a blank between groups of three digits; none by default.
            pub(crate) thousands_separator: Option<Spanned<String>>,
        }

        impl $name {
            /// What text formats share.
            pub(crate) fn text(&self) -> TextOptions<'_> {
                TextOptions {
                    encoding: self.encoding.as_ref(),
                    null_markers: self.null_markers.as_ref(),
                    decimal_prefix: self.decimal_prefix.as_ref(),
                    decimal_separator: self.decimal_separator.as_ref(),
                    thousands_separator: self.thousands_separator.as_ref(),
                }
            }
        }
    };
}

/// What text formats share.
#[derive(Clone, Copy)]
pub(crate) struct TextOptions<'a> {
    pub(crate) encoding: Option<&'a Spanned<String>>,
    pub(crate) null_markers: Option<&'a OneOrMany<Spanned<String>>>,
    pub(crate) decimal_prefix: Option<&'a Spanned<String>>,
    pub(crate) decimal_separator: Option<&'a Spanned<String>>,
    pub(crate) thousands_separator: Option<&'a Spanned<String>>,
}

text_options! {
    /// How delimited text is written.
    CsvOptions {
        /// One ASCII character between cells; `,` by default.
        delimiter: Spanned<String>,
        /// One ASCII character around cells, `"` by default; `none` for files that do not quote.
        quote: Spanned<String>,
        /// The ASCII character in front of a quote inside quotes; by default the quote is doubled.
        escape: Spanned<String>,
        /// The ASCII character that lines which are no records start with; none by default.
        comment: Spanned<String>,
        /// Whether the first line names the columns; true by default. Without one, columns are taken by position.
        header: bool,
    }
}

text_options! {
    /// How JSON is laid out.
    JsonOptions {
        /// `lines` by default.
        layout: Spanned<JsonLayout>,
    }
}

/// How the objects of a JSON file stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum JsonLayout {
    /// One object a line.
    Lines,
    /// The file is one array of objects.
    Array,
}

/// No record of a fixed width is longer.
pub(crate) const MAX_RECORD_LENGTH: u32 = 1 << 20;

text_options! {
    /// Where the columns stand.
    FixedWidthOptions {
        /// Characters of every record, without the line end.
        #[schemars(required, range(min = 1, max = MAX_RECORD_LENGTH))]
        record_length: Spanned<u32>,
        /// Whether LF or CR LF ends a record; true by default. Else records follow each other.
        line_ends: bool,
        /// One for each column of the schema.
        #[schemars(required)]
        fields: Spanned<Vec<Spanned<Field>>>,
        /// Of which records the rows are; all without it.
        record_types: Spanned<RecordTypes>,
    }
}

/// Where a column stands.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Field {
    /// The column of the schema.
    #[schemars(required)]
    pub(crate) column: Option<Spanned<String>>,
    /// Its first character, from 1.
    #[schemars(required, range(min = 1, max = MAX_RECORD_LENGTH))]
    pub(crate) start: Option<Spanned<u32>>,
    /// Its characters.
    #[schemars(required, range(min = 1, max = MAX_RECORD_LENGTH))]
    pub(crate) width: Option<Spanned<u32>>,
    /// So many of its last digits stand after the decimal point that is not written.
    #[schemars(range(max = 38))]
    pub(crate) implied_decimals: Option<Spanned<u8>>,
    /// Which blanks around the value are filling; `both` by default.
    pub(crate) trim: Option<Spanned<Trim>>,
}

/// Which blanks around the value are filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Trim {
    /// On both sides.
    Both,
    /// In front.
    Left,
    /// At the end.
    Right,
    /// None: all of them are the value's.
    None,
}

/// Of which records the rows are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RecordTypes {
    /// The first character of the type, from 1.
    #[schemars(required, range(min = 1, max = MAX_RECORD_LENGTH))]
    pub(crate) start: Option<Spanned<u32>>,
    /// Its characters.
    #[schemars(required, range(min = 1, max = MAX_RECORD_LENGTH))]
    pub(crate) width: Option<Spanned<u32>>,
    /// The types of records that are read.
    #[schemars(required)]
    pub(crate) values: Option<Spanned<OneOrMany<Spanned<String>>>>,
    /// The types of records that are passed over; records of any further type are rejected. All others without it.
    pub(crate) others: Option<Spanned<OneOrMany<Spanned<String>>>>,
}

/// Where rejected rows go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Quarantine {
    /// A folder relative to this file, or `s3://…`.
    #[schemars(required)]
    pub(crate) uri: Option<Spanned<String>>,
    /// The name of the key that encrypts.
    #[schemars(required)]
    pub(crate) key: Option<Spanned<String>>,
    /// How long rejected rows are kept: `30d`.
    #[schemars(regex(pattern = r"^[1-9][0-9]*d$"))]
    pub(crate) retention: Option<Spanned<String>>,
}

/// One keyring.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "provider")]
#[schemars(rename = "Key", tag = "provider")]
pub(crate) enum Key {
    /// The root key is wrapped by AWS KMS.
    #[serde(rename = "awsKms")]
    AwsKms(AwsKmsKey),
    /// The root key is wrapped by a key file beside the keyring: for development and tests.
    #[serde(rename = "local")]
    Local(LocalKey),
}

/// A keyring wrapped by AWS KMS.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AwsKmsKey {
    /// Key id, ARN or alias.
    #[schemars(required)]
    pub(crate) key_id: Option<Spanned<String>>,
    /// The keyring file: a path relative to this file, or `s3://…`.
    #[schemars(required)]
    pub(crate) keyring: Option<Spanned<String>>,
    /// The key version that this job uses; tokens change with it.
    #[schemars(required, range(min = 1))]
    pub(crate) version: Option<u32>,
}

/// A keyring wrapped by a key file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LocalKey {
    /// The keyring file, relative to this file.
    #[schemars(required)]
    pub(crate) keyring: Option<Spanned<String>>,
    /// The key version that this job uses; optional with `create: true`.
    #[schemars(range(min = 1))]
    pub(crate) version: Option<u32>,
    /// Make the keyring when it is absent; marks the dataset `development`.
    pub(crate) create: Option<bool>,
}

/// A number as written.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Number(pub(crate) Exact);

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "number"})
    }
}

/// Where the shards go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-not-available" = {"shuffle": "shuffle-not-available"}))]
pub(crate) struct Sink {
    /// A folder relative to this file, or `s3://…`; versions go below it.
    #[schemars(required)]
    pub(crate) uri: Option<Spanned<String>>,
    /// The file format; `arrayRecord` by default.
    pub(crate) format: Option<Spanned<SinkFormat>>,
    /// ArrayRecord's option string; `group_size:1,zstd:3` by default.
    pub(crate) options: Option<Spanned<String>>,
    /// How an example is written; `tfExample` by default.
    pub(crate) encoding: Option<Spanned<RecordEncoding>>,
    /// The number of shards; from the input's bytes by default.
    #[schemars(range(min = 1, max = 65536))]
    pub(crate) shards: Option<u32>,
    /// The KMS key that S3 encrypts with.
    pub(crate) sse_kms: Option<Spanned<String>>,
}

/// The pseudonymized rows as a table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Table {
    /// A folder relative to this file, or `s3://…`.
    #[schemars(required)]
    pub(crate) uri: Option<Spanned<String>>,
    /// The file format.
    #[allow(dead_code, reason = "there is one value")]
    pub(crate) format: Option<Spanned<TableFormat>>,
}

/// The file format of the table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TableFormat {
    /// Apache Parquet.
    Parquet,
}
