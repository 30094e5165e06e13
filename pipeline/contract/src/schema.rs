//! Schema files (`schemas/*.odcs.yaml`, Open Data Contract Standard v3.1): what each column is.
use crate::Span;
pub use crate::date_format::{CompiledFormat, FormatError, Offset};

/// One dataset's columns, in file order.
#[derive(Clone, Debug)]
pub struct Schema {
    /// `schema[0].name`.
    pub name: String,
    /// Columns in contract order. Nested objects are taken apart: each value inside is a column of its own.
    pub columns: Vec<Column>,
    /// Objects and arrays of objects that must be there (`required`), by the names that lead to them.
    pub required_objects: Vec<RequiredObject>,
    /// Rules about more than one value.
    pub rules: Vec<SetRule>,
    /// Where the schema object stands.
    pub span: Span,
}

/// A nested object, or an array of objects, that must not be null. It breaks `<path>.required`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredObject {
    /// Names from the top of the record to the object.
    pub path: Vec<String>,
    /// Where it stands.
    pub span: Span,
}

/// One column: its type, its rules, and what it is.
#[derive(Clone, Debug)]
pub struct Column {
    /// `name`; of a value inside objects, all names joined by points: `customer.address.zip`. SQL quotes it.
    pub name: String,
    /// Names from the top of the record to the value; the name alone for a plain column.
    pub path: Vec<String>,
    /// For a [`DataType::List`]: how many names of `path` lead to the array. `tags` has path `[tags]` and 1; `parties[].cpf` has `[parties, cpf]` and 1;
    /// `customer.phones` has `[customer, phones]` and 2.
    pub list_at: Option<usize>,
    /// From `logicalType`, `physicalType` and `logicalTypeOptions`.
    pub data_type: DataType,
    /// `required`: null breaks rule `required`.
    pub required: bool,
    /// For lists: `items.required`, or `required` of the property inside the array's objects; a null element breaks rule `item-required`.
    pub item_required: bool,
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
    /// `customProperties.acceptedFindings`: what detectors find here and a person has found to be something else.
    pub accepted_findings: Vec<AcceptedFinding>,
    /// Where the column stands.
    pub span: Span,
}

/// A finding that a person has looked at: the column is not what it looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedFinding {
    /// `type`: the detectors' name of it, e.g. `BR_CEP`.
    pub info_type: String,
    /// `reason`, in a sentence: the reports show it.
    pub reason: String,
    /// Where it stands.
    pub span: Span,
}

impl Schema {
    /// A dataset of these columns, without rules about more than one value.
    pub fn new(name: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { name: name.into(), columns, required_objects: Vec::new(), rules: Vec::new(), span: Span::default() }
    }
}

impl Column {
    /// A plain column without rules and without a meaning.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        let name = name.into();
        Self {
            path: vec![name.clone()],
            name,
            list_at: None,
            data_type,
            required: false,
            item_required: false,
            semantic_type: None,
            join_domain: None,
            classification: None,
            tags: Vec::new(),
            rules: Vec::new(),
            accepted_findings: Vec::new(),
            span: Span::default(),
        }
    }
}

impl From<Check> for ValueRule {
    fn from(check: Check) -> Self {
        Self { check, each: false, span: Span::default() }
    }
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
    /// `time`: a time of day, microseconds since midnight.
    Time {
        /// How text files write it. Default: `HH:mm:ss[.SSSSSS]`.
        format: DateFormat,
    },
    /// An array of such values, or one property of an array of objects. Never of lists.
    List(Box<DataType>),
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

    /// A pattern of times of day; see [`CompiledFormat::compile_time`].
    ///
    /// # Errors
    /// The pattern is not in the subset, or says something of a date.
    pub fn new_time(pattern: &str) -> Result<Self, FormatError> {
        let compiled = CompiledFormat::compile_time(pattern)?;
        Ok(Self { pattern: Some(pattern.to_owned()), year_base: Self::JDK_YEAR_BASE, compiled })
    }

    /// The default of times of day, [`CompiledFormat::iso_time`].
    pub fn iso_time() -> Self {
        Self { pattern: None, year_base: Self::JDK_YEAR_BASE, compiled: CompiledFormat::iso_time() }
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
    /// Of a list: whether it holds of each element rather than of the list.
    pub each: bool,
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
    /// `quality: [{type: library, metric: missingValues, arguments: {missingValues: [...]}, mustBe: 0}]`: a value that says that there is none.
    NotAmong(Vec<String>),
    /// `multipleOf`, of numbers.
    MultipleOf(Decimal),
    /// Bounds of dates, times and timestamps, by what the type counts in: days since 1970-01-01, or microseconds since then or since midnight.
    TimeRange {
        /// The bound.
        bound: TimeBound,
        /// In the type's own unit.
        at: i64,
    },
    /// `format` of a string: `email`, `uuid`, `uri`, `hostname`, `ipv4`, `ipv6`.
    Format(StringFormat),
    /// `minItems` of an array.
    MinItems(u32),
    /// `maxItems` of an array.
    MaxItems(u32),
    /// `uniqueItems` of an array.
    UniqueItems,
}

/// Which bound a [`Check::TimeRange`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBound {
    /// At or after.
    Minimum,
    /// After.
    ExclusiveMinimum,
    /// At or before.
    Maximum,
    /// Before.
    ExclusiveMaximum,
}

/// `format` of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringFormat {
    /// An e-mail address, RFC 5321 without comments and quoted local parts.
    Email,
    /// RFC 9562, with hyphens.
    Uuid,
    /// An absolute URI, RFC 3986.
    Uri,
    /// RFC 1123.
    Hostname,
    /// Four decimal numbers.
    Ipv4,
    /// RFC 4291.
    Ipv6,
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
            Self::NotAmong(_) => "missing-values",
            Self::MultipleOf(_) => "multiple-of",
            Self::TimeRange { bound: TimeBound::Minimum, .. } => "minimum",
            Self::TimeRange { bound: TimeBound::Maximum, .. } => "maximum",
            Self::TimeRange { bound: TimeBound::ExclusiveMinimum, .. } => "exclusive-minimum",
            Self::TimeRange { bound: TimeBound::ExclusiveMaximum, .. } => "exclusive-maximum",
            Self::Format(_) => "format",
            Self::MinItems(_) => "min-items",
            Self::MaxItems(_) => "max-items",
            Self::UniqueItems => "unique-items",
        }
    }
}

/// A rule about more than one value.
#[derive(Clone, Debug)]
pub struct SetRule {
    /// Its code in reports, after the source's name: `tx_id.unique`, `primary-key`, or the `name` of a quality rule.
    pub code: String,
    /// What must hold.
    pub check: SetCheck,
    /// Where the rule stands.
    pub span: Span,
}

/// What must hold of rows or of the dataset. Columns are indices into [`Schema::columns`].
///
/// The first four say which rows are wrong, and reject those; the last two give one verdict about the dataset. An expression looks at every row whose cells it can
/// read; the others look at the rows that break no rule of their own (no [`Check`], no type, no `required`, no expression).
#[derive(Clone, Debug)]
pub enum SetCheck {
    /// `unique: true` (one column) or `primaryKey: true` (all such columns together, in `primaryKeyPosition`). Every row that shares its values with another row is
    /// rejected: which of them is right is not ours to say. A row with a null in one of the columns shares with none.
    Unique {
        /// The columns.
        columns: Vec<usize>,
    },
    /// `relationships: [{to: customers.customer_id}]`: the values are there in another source of the job. A row with a null in one of the columns passes.
    References {
        /// The columns.
        columns: Vec<usize>,
        /// `schema[0].name` of the other source's contract.
        dataset: String,
        /// Its columns, one for each of `columns`.
        to: Vec<String>,
    },
    /// `implementation: {monotonic: {column: booked_at, per: [account_id], strict: false}}`: in the order of files and records, the column does not go back within
    /// rows of equal `per`. The row that goes back is rejected; the next one is held against the latest that was not.
    Monotonic {
        /// A number, date, time or timestamp.
        column: usize,
        /// The key; empty for the whole source.
        per: Vec<usize>,
        /// Whether equal is wrong too.
        strict: bool,
    },
    /// `implementation: {expression: "…"}`: a boolean SQL expression over the columns of one row. False rejects the row; null passes, as in SQL's `CHECK`.
    Expression {
        /// The expression.
        sql: String,
    },
    /// A library metric with a threshold that lets some rows be wrong, or `rowCount`.
    Metric {
        /// What is counted.
        metric: Metric,
        /// Whether the count is taken as rows or as percent of all rows.
        unit: MetricUnit,
        /// What the count must be; all of them.
        bounds: Vec<Bound>,
    },
    /// `type: sql`: a query that gives one number.
    Sql {
        /// The query; `{object}`, `${object}`, `${table}` stand for the source, `{property}` and `${column}` for the column under which the rule stands.
        query: String,
        /// What the number must be; all of them.
        bounds: Vec<Bound>,
    },
}

impl SetCheck {
    /// Whether it says which rows are wrong.
    pub fn rejects_rows(&self) -> bool {
        matches!(self, Self::Unique { .. } | Self::References { .. } | Self::Monotonic { .. } | Self::Expression { .. })
    }
}

/// What a library metric counts.
#[derive(Clone, Debug)]
pub enum Metric {
    /// `nullValues`.
    NullValues {
        /// The column.
        column: usize,
    },
    /// `missingValues`: null, or one of `arguments.missingValues`.
    MissingValues {
        /// The column.
        column: usize,
        /// As text files write them; null itself counts only if the contract lists it.
        values: Vec<String>,
        /// Whether null is among them.
        null: bool,
    },
    /// `invalidValues`: breaks one of these; null breaks none.
    InvalidValues {
        /// The column.
        column: usize,
        /// [`Check::ValidValues`], [`Check::Pattern`].
        checks: Vec<Check>,
    },
    /// `duplicateValues`: rows beyond the first of each value.
    DuplicateValues {
        /// The columns.
        columns: Vec<usize>,
    },
    /// `rowCount`.
    RowCount,
}

/// `unit` of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// A number of rows, the default.
    Rows,
    /// 0 to 100.
    Percent,
}

/// `mustBe` and its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `mustBe`.
    Be(Decimal),
    /// `mustNotBe`.
    NotBe(Decimal),
    /// `mustBeGreaterThan`.
    GreaterThan(Decimal),
    /// `mustBeGreaterOrEqualTo`.
    GreaterOrEqualTo(Decimal),
    /// `mustBeLessThan`.
    LessThan(Decimal),
    /// `mustBeLessOrEqualTo`.
    LessOrEqualTo(Decimal),
    /// `mustBeBetween`, both ends included.
    Between(Decimal, Decimal),
    /// `mustNotBeBetween`.
    NotBetween(Decimal, Decimal),
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
    /// ISO 13616, with the country's length.
    Iban,
}
