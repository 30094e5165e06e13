//! Every diagnostic code, in one place. `CODES.md` beside this crate has a heading for each.
use crate::{Diagnostic, Span};

macro_rules! codes {
    ($($(#[$section:meta])* $name:ident = $code:literal,)*) => {
        $($(#[$section])* #[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)*
        /// All of them.
        pub const ALL: &[&str] = &[$($code),*];
    };
}

codes! {
    // the file
    UNREADABLE_FILE = "unreadable-file",
    NOT_UTF8 = "not-utf8",
    FILE_TOO_LARGE = "file-too-large",
    EMPTY_FILE = "empty-file",
    YAML_SYNTAX = "yaml-syntax",
    YAML_ALIAS = "yaml-alias",
    YAML_TAG = "yaml-tag",
    HIDDEN_CHARACTER = "hidden-character",
    SECOND_DOCUMENT = "second-document",
    TOO_DEEP = "too-deep",
    DUPLICATE_KEY = "duplicate-key",
    COMPLEX_KEY = "complex-key",
    WRONG_API_VERSION = "wrong-api-version",
    WRONG_KIND = "wrong-kind",
    // its structure
    UNKNOWN_KEY = "unknown-key",
    MISSING_KEY = "missing-key",
    MISSING_VALUE = "missing-value",
    WRONG_TYPE = "wrong-type",
    UNKNOWN_VALUE = "unknown-value",
    OUT_OF_RANGE = "out-of-range",
    BAD_NAME = "bad-name",
    BAD_DURATION = "bad-duration",
    DUPLICATE_NAME = "duplicate-name",
    EMPTY_LIST = "empty-list",
    TOO_MANY_MISTAKES = "too-many-mistakes",
    INTERNAL = "internal",
    // jobs: parameters and places
    UNKNOWN_PARAMETER = "unknown-parameter",
    MISSING_PARAMETER = "missing-parameter",
    BAD_PARAMETER = "bad-parameter",
    PARAMETER_NOT_HERE = "parameter-not-here",
    LOCAL_OR_S3 = "local-or-s3",
    LOCAL_ONLY = "local-only",
    BAD_URI = "bad-uri",
    PLACES_OVERLAP = "places-overlap",
    COMPRESSION_NOT_AVAILABLE = "compression-not-available",
    BAD_OPTION = "bad-option",
    PREPARE_NEEDED = "prepare-needed",
    UNKNOWN_KEY_NAME = "unknown-key-name",
    MISSING_VERSION = "missing-version",
    // jobs: shape and sink
    RESERVED_NAME = "reserved-name",
    BUCKETS_ORDER = "buckets-order",
    BUCKETS_NEEDED = "buckets-needed",
    SEQUENCE_NEEDED = "sequence-needed",
    BYTES_IN_SEQUENCE = "bytes-in-sequence",
    ENCODE_DTYPE = "encode-dtype",
    SCALE_DTYPE = "scale-dtype",
    BAD_MISSING = "bad-missing",
    FORMAT_NOT_AVAILABLE = "format-not-available",
    LAYOUT_NOT_AVAILABLE = "layout-not-available",
    TOKENIZER_NOT_AVAILABLE = "tokenizer-not-available",
    SPLIT_NOT_AVAILABLE = "split-not-available",
    STATISTICS_NOT_AVAILABLE = "statistics-not-available",
    SHUFFLE_NOT_AVAILABLE = "shuffle-not-available",
    PACKING_NOT_AVAILABLE = "packing-not-available",
    DTYPE_NOT_AVAILABLE = "dtype-not-available",
    AUTO_BUCKETS_NOT_AVAILABLE = "auto-buckets-not-available",
    OVERFLOW_NOT_AVAILABLE = "overflow-not-available",
    SINK_FORMAT_NOT_AVAILABLE = "sink-format-not-available",
    ENCODING_NOT_AVAILABLE = "encoding-not-available",
    // policies
    EMPTY_MATCH = "empty-match",
    NULLS_TOKEN = "nulls-token",
    CANONICALIZE_CONFLICT = "canonicalize-conflict",
    ENCODING_BYTES = "encoding-bytes",
    TOO_FEW_DIGITS = "too-few-digits",
    BAD_ALPHABET = "bad-alphabet",
    BAD_LENGTHS = "bad-lengths",
    BAD_CHARACTER = "bad-character",
    BAD_SIZE = "bad-size",
    BAD_BUCKETS = "bad-buckets",
    BAD_DESTINATION = "bad-destination",
    TRANSFORM_NOT_AVAILABLE = "transform-not-available",
    GATE_NOT_AVAILABLE = "gate-not-available",
    // schemas
    ONE_SCHEMA_OBJECT = "one-schema-object",
    OPTION_NOT_FOR_TYPE = "option-not-for-type",
    PHYSICAL_TYPE = "physical-type",
    BAD_PATTERN = "bad-pattern",
    BAD_DATE_FORMAT = "bad-date-format",
    BAD_BOUND = "bad-bound",
    EMPTY_RANGE = "empty-range",
    UNKNOWN_TIMEZONE = "unknown-timezone",
    TIMEZONE_CONFLICT = "timezone-conflict",
    YEAR_BASE = "year-base",
    UNKNOWN_CUSTOM_PROPERTY = "unknown-custom-property",
    BAD_CUSTOM_PROPERTY = "bad-custom-property",
    BAD_QUALITY = "bad-quality",
    UNIQUE_NOT_AVAILABLE = "unique-not-available",
    QUALITY_NOT_AVAILABLE = "quality-not-available",
    NESTED_NOT_AVAILABLE = "nested-not-available",
    LOGICAL_TYPE_NOT_AVAILABLE = "logical-type-not-available",
    RELATIONSHIPS_NOT_AVAILABLE = "relationships-not-available",
    MULTIPLE_OF_NOT_AVAILABLE = "multiple-of-not-available",
    STRING_FORMAT_NOT_AVAILABLE = "string-format-not-available",
    NUMBER_FORMAT_NOT_AVAILABLE = "number-format-not-available",
    DATE_RANGE_NOT_AVAILABLE = "date-range-not-available",
}

/// The code as the constant that it is.
pub(crate) fn find(code: &str) -> Option<&'static str> {
    ALL.iter().find(|known| **known == code).copied()
}

/// Refuses something that the design or ODCS knows and this version does not run: silence would look like consent.
pub(crate) fn not_available(code: &'static str, span: Span, what: &str) -> Diagnostic {
    let (why, help) = match code {
        UNIQUE_NOT_AVAILABLE => ("this version cannot check uniqueness across rows", "remove it, or check uniqueness before the data gets here"),
        QUALITY_NOT_AVAILABLE => (
            "this version cannot run this rule about the data",
            "remove it; runnable are `metric: invalidValues` with `validValues` and `mustBe: 0`, and `engine: perimeter` with `checkDigit`",
        ),
        NESTED_NOT_AVAILABLE => ("this version reads flat columns only", "flatten the data first, or leave the column out of the file"),
        LOGICAL_TYPE_NOT_AVAILABLE => ("this version cannot type such a column", "declare it `string`, or leave it out of the file"),
        RELATIONSHIPS_NOT_AVAILABLE => ("this version cannot check references between tables", "remove it; a JOIN in `prepare` drops rows without a partner"),
        MULTIPLE_OF_NOT_AVAILABLE => ("this version cannot check multiples", "remove it"),
        STRING_FORMAT_NOT_AVAILABLE => ("this version cannot check the format of text", "state it as a `pattern`, or remove it"),
        NUMBER_FORMAT_NOT_AVAILABLE => ("this version has no such number", "integers are `i32` or `i64`, numbers `f64`; or `physicalType: decimal(p,s)`"),
        DATE_RANGE_NOT_AVAILABLE => ("this version cannot check bounds of dates and timestamps", "remove it; filter in `prepare`"),
        GATE_NOT_AVAILABLE => {
            ("this version cannot run this gate and so refuses the policy", "use a version that runs it; removing the gate is the policy owner's decision")
        }
        TRANSFORM_NOT_AVAILABLE => (
            "this version cannot run this transform and so refuses the policy",
            "drop the column (`transform: drop`), replace the text whole (`redact`, `replace`, `replaceWithInfoType`) or `encrypt` it",
        ),
        FORMAT_NOT_AVAILABLE => ("this version does not read this format", "`csv`, `json` or `parquet`"),
        COMPRESSION_NOT_AVAILABLE => ("this version does not read this compression", "`.gz`, `.zst`, or none"),
        LAYOUT_NOT_AVAILABLE => ("this version does not write this layout", "`layout: static`"),
        TOKENIZER_NOT_AVAILABLE => ("this version does not tokenize text", "remove the feature, or tokenize upstream"),
        SPLIT_NOT_AVAILABLE => ("this version does not split datasets", "remove it and run one job per split, filtered in `prepare`"),
        STATISTICS_NOT_AVAILABLE => ("this version computes no statistics", "remove it"),
        SHUFFLE_NOT_AVAILABLE => ("this version does not shuffle", "remove it and shuffle in the data loader"),
        PACKING_NOT_AVAILABLE => ("this version pads and does not pack", "remove it"),
        DTYPE_NOT_AVAILABLE => ("this version does not write this dtype", "`float32`, `int64` or `bytes`"),
        AUTO_BUCKETS_NOT_AVAILABLE => ("this version does not choose buckets", "list them: `buckets: [16, 32, 64]`"),
        OVERFLOW_NOT_AVAILABLE => ("this version only splits long sequences", "`overflow: split`"),
        SINK_FORMAT_NOT_AVAILABLE => ("this version does not write this format", "`arrayRecord` for the sink, `parquet` for the table"),
        ENCODING_NOT_AVAILABLE => ("this version does not write this encoding", "`encoding: tfExample`"),
        _ => ("not available in this version", "remove it"),
    };
    Diagnostic::new(code, span, format!("{what}: {why}")).help(help)
}
