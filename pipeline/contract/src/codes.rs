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
    BAD_ENCODING = "bad-encoding",
    BAD_FIELD = "bad-field",
    FIELD_COLUMNS = "field-columns",
    FLAT_FORMAT = "flat-format",
    DRIFT_BY_POSITION = "drift-by-position",
    BAD_RECORD_TYPES = "bad-record-types",
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
    ENCODE_OPTION = "encode-option",
    SCALE_DTYPE = "scale-dtype",
    BAD_MISSING = "bad-missing",
    TENSOR_BYTES = "tensor-bytes",
    BAD_TOKENIZER = "bad-tokenizer",
    BAD_PACKING = "bad-packing",
    BAD_LAYOUT = "bad-layout",
    PARTIAL_BATCH_NOT_AVAILABLE = "partial-batch-not-available",
    SPLIT_NOT_AVAILABLE = "split-not-available",
    SHUFFLE_NOT_AVAILABLE = "shuffle-not-available",
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
    UNKNOWN_RULE = "unknown-rule",
    NOT_FOR_TEXT = "not-for-text",
    BAD_DETECTOR = "bad-detector",
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
    RULE_NAME = "rule-name",
    BAD_KEY = "bad-key",
    BAD_RELATIONSHIP = "bad-relationship",
    UNKNOWN_COLUMN = "unknown-column",
    UNKNOWN_DATASET = "unknown-dataset",
    REFERENCE_TYPE = "reference-type",
    QUALITY_NOT_AVAILABLE = "quality-not-available",
    NESTED_NOT_AVAILABLE = "nested-not-available",
    ENUM_NOT_AVAILABLE = "enum-not-available",
    MEASURE_NOT_AVAILABLE = "measure-not-available",
    RELATIONSHIPS_NOT_AVAILABLE = "relationships-not-available",
    STRING_FORMAT_NOT_AVAILABLE = "string-format-not-available",
    NUMBER_FORMAT_NOT_AVAILABLE = "number-format-not-available",
}

/// The code as the constant that it is.
pub(crate) fn find(code: &str) -> Option<&'static str> {
    ALL.iter().find(|known| **known == code).copied()
}

/// Refuses something that the design or ODCS knows and this version does not run: silence would look like consent.
pub(crate) fn not_available(code: &'static str, span: Span, what: &str) -> Diagnostic {
    let (why, help) = match code {
        QUALITY_NOT_AVAILABLE => ("this version cannot run this rule about the data", "remove it, or state it otherwise"),
        NESTED_NOT_AVAILABLE => (
            "this version cannot read or check it",
            "objects, arrays of values and arrays of objects are taken; flatten the data first, or leave it out of the file",
        ),
        ENUM_NOT_AVAILABLE => (
            "this version does not read enumerations and so cannot check them",
            "`quality: [{metric: invalidValues, arguments: {validValues: [A, B]}, mustBe: 0}]` says the same",
        ),
        MEASURE_NOT_AVAILABLE => ("a measure is computed from the data and not in it", "leave it out of the file, or say `column`"),
        RELATIONSHIPS_NOT_AVAILABLE => ("this version reads references by name", "`dataset.column`: `customers.customer_id`"),
        STRING_FORMAT_NOT_AVAILABLE => ("this version cannot check this format of text", "state it as a `pattern`, or remove it"),
        NUMBER_FORMAT_NOT_AVAILABLE => {
            ("this version has no such number", "integers are `i8` to `i64` and `u8` to `u64`, numbers `f32` or `f64`; or `physicalType: decimal(p,s)`")
        }
        GATE_NOT_AVAILABLE => {
            ("this version cannot run this gate and so refuses the policy", "use a version that runs it; removing the gate is the policy owner's decision")
        }
        COMPRESSION_NOT_AVAILABLE => ("this version does not read this compression", "`.gz`, `.zst`, `.bz2`, `.xz`, or none"),
        PARTIAL_BATCH_NOT_AVAILABLE => ("this version writes examples and no batches", "remove it: the loader pads or drops the last batch"),
        SPLIT_NOT_AVAILABLE => ("this version does not split datasets", "remove it and run one job per split, filtered in `prepare`"),
        SHUFFLE_NOT_AVAILABLE => ("this version does not shuffle", "remove it and shuffle in the data loader"),
        _ => ("not available in this version", "remove it"),
    };
    Diagnostic::new(code, span, format!("{what}: {why}")).help(help)
}
