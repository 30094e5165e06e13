//! Schema files (`schemas/*.odcs.yaml`, Open Data Contract Standard v3.1): what each column is.
use crate::Span;
pub use crate::date_format::{CompiledFormat, FormatError, Offset};

/// One dataset's columns, in file order.
#[derive(Clone, Debug)]
pub struct Schema {
    /// `schema[0].name`.
    pub name: String,
    /// Columns in contract order.
    pub columns: Vec<Column>,
    /// Where the schema object stands.
    pub span: Span,
}

/// One column: its type, its rules, and what it is.
#[derive(Clone, Debug)]
pub struct Column {
    /// `name`.
    pub name: String,
    /// From `logicalType`, `physicalType` and `logicalTypeOptions`.
    pub data_type: DataType,
    /// `required`: null breaks rule `required`.
    pub required: bool,
    /// `customProperties.semanticType`, e.g. `BR_CPF`; an open vocabulary shared with the policy (`[A-Z][A-Z0-9_]*`).
    pub semantic_type: Option<String>,
    /// `customProperties.joinDomain`.
    pub join_domain: Option<String>,
    /// `classification`.
    pub classification: Option<String>,
    /// `tags`.
    pub tags: Vec<String>,
    /// Value rules beside type and `required`, in file order.
    pub rules: Vec<ValueRule>,
    /// Where the column stands.
    pub span: Span,
}

/// A value's type after *check*.
#[derive(Clone, Debug, PartialEq)]
pub enum DataType {
    /// `string`: UTF-8, as written; leading zeros kept.
    String,
    /// `integer`, with `physicalType` int/int32/integer.
    Int32,
    /// `integer`, by default.
    Int64,
    /// `number` with `physicalType: decimal(p,s)`; exact.
    Decimal {
        /// 1 to 38.
        precision: u8,
        /// 0 to `precision`.
        scale: u8,
    },
    /// `number` with `physicalType` double/float, or none.
    Float64,
    /// `boolean`.
    Boolean,
    /// `date`, written as `format` says (JDK DateTimeFormatter pattern, default `yyyy-MM-dd`).
    Date {
        /// How text files write it.
        format: DateFormat,
    },
    /// `timestamp`, microseconds.
    Timestamp {
        /// How text files write it. Default: `yyyy-MM-dd HH:mm:ss[.SSSSSS]` and ISO 8601 with `T`.
        format: DateFormat,
        /// How a value without an offset is read, and whether offsets are allowed.
        zone: Zone,
    },
}

/// What a timestamp without an offset means.
#[derive(Clone, Debug, PartialEq)]
pub enum Zone {
    /// `timezone: false`: local date-times without a zone; a value with an offset is rejected.
    None,
    /// `timezone: true`: stored as UTC; naive values are read in `default` (from `defaultTimezone`, an IANA name), or rejected when it is absent.
    Utc {
        /// IANA zone for naive values.
        default: Option<chrono_tz::Tz>,
    },
}

/// A compiled JDK DateTimeFormatter pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct DateFormat {
    /// As written in the contract; `None` means the default of the type.
    pub pattern: Option<String>,
    /// What `yy` counts from (`customProperties.yearBase`, e.g. 1900 gives 1900 to 1999); 2000 by default as in the JDK.
    pub year_base: i32,
    /// Ready to run on cells.
    pub compiled: CompiledFormat,
}

impl DateFormat {
    /// What `yy` counts from in the JDK.
    pub const JDK_YEAR_BASE: i32 = 2000;

    /// Compiles a pattern; see [`CompiledFormat::compile`].
    ///
    /// # Errors
    /// The pattern is not in the subset.
    pub fn compile(pattern: &str, year_base: i32) -> Result<CompiledFormat, FormatError> {
        CompiledFormat::compile(pattern, year_base)
    }

    /// A pattern of the contract, `yy` counting from [`DateFormat::JDK_YEAR_BASE`].
    ///
    /// # Errors
    /// The pattern is not in the subset.
    pub fn new(pattern: &str) -> Result<Self, FormatError> {
        let compiled = Self::compile(pattern, Self::JDK_YEAR_BASE)?;
        Ok(Self { pattern: Some(pattern.to_owned()), year_base: Self::JDK_YEAR_BASE, compiled })
    }

    /// The default of dates, [`CompiledFormat::iso_date`].
    pub fn iso_date() -> Self {
        Self { pattern: None, year_base: Self::JDK_YEAR_BASE, compiled: CompiledFormat::iso_date() }
    }

    /// The default of timestamps, [`CompiledFormat::iso_timestamp`].
    pub fn iso_timestamp() -> Self {
        Self { pattern: None, year_base: Self::JDK_YEAR_BASE, compiled: CompiledFormat::iso_timestamp() }
    }
}

/// A rule about a single value. Null breaks only `required`.
#[derive(Clone, Debug)]
pub struct ValueRule {
    /// What must hold.
    pub check: Check,
    /// Where the rule stands.
    pub span: Span,
}

/// What must hold of a value that is there.
#[derive(Clone, Debug)]
pub enum Check {
    /// `minLength`, in characters.
    MinLength(u32),
    /// `maxLength`, in characters.
    MaxLength(u32),
    /// `pattern`: the whole value must match (the regex is anchored already).
    Pattern(regex::Regex),
    /// `minimum`, exact decimal text.
    Minimum(Decimal),
    /// `maximum`.
    Maximum(Decimal),
    /// `exclusiveMinimum`.
    ExclusiveMinimum(Decimal),
    /// `exclusiveMaximum`.
    ExclusiveMaximum(Decimal),
    /// `quality: [{type: custom, engine: perimeter, implementation: {checkDigit: cpf}}]`.
    CheckDigit(CheckDigit),
    /// `quality: [{type: library, metric: invalidValues, arguments: {validValues: [...]}, mustBe: 0}]`.
    ValidValues(Vec<String>),
}

impl Check {
    /// The kebab-case rule code that reports and the manifest use: `min-length`, `check-digit`, …
    pub fn code(&self) -> &'static str {
        match self {
            Self::MinLength(_) => "min-length",
            Self::MaxLength(_) => "max-length",
            Self::Pattern(_) => "pattern",
            Self::Minimum(_) => "minimum",
            Self::Maximum(_) => "maximum",
            Self::ExclusiveMinimum(_) => "exclusive-minimum",
            Self::ExclusiveMaximum(_) => "exclusive-maximum",
            Self::CheckDigit(_) => "check-digit",
            Self::ValidValues(_) => "valid-values",
        }
    }
}

/// An exact decimal: `unscaled * 10^-scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// All digits, with sign.
    pub unscaled: i128,
    /// Digits after the point.
    pub scale: u8,
}

/// Check digits that contract and policy can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckDigit {
    /// ISO/IEC 7812 (cards).
    Luhn,
    /// Brazilian taxpayer number of a person, 11 digits.
    Cpf,
    /// Brazilian taxpayer number of a company, 14 characters, numeric or alphanumeric.
    Cnpj,
}
