//! *plan*: job, schema, policy joined into one value that says everything a run will do, before any row is read.
//!
//! [`plan`] lists the input, opens headers and footers, resolves the query, walks its lineage ([`lineage`]), lets the policy
//! decide every output column ([`decide`]) and fixes the number of shards. [`Plan`] holds key *references*, never keys.
//! [`explain`] prints it, as text and as JSON; [`Plan::digest`] is what approvers sign.
pub mod decide;
pub mod explain;
pub mod format;
pub mod lineage;
mod load;
pub mod recall;
mod shape;
#[cfg(test)]
mod tests;
pub mod text;

use crate::engine::rules::JobRules;
use crate::engine::{self, Limits};
use crate::error::{Error, Result};
use crate::prepare::{self, NotAQuery};
use crate::read::{self, InputFile, Unit};
use crate::shape::statistics::Statistics;
use crate::shape::tokenize::Tokenizer;
use crate::store::Stores;
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::datasource::empty::EmptyTable;
use decide::{Decision, JoinDomain};
use format::Format;
use lineage::{ColumnLineage, RowInfluence, SourceColumn};
use perimeter_contract::policy::{Nulls, TimePart, TokenEncoding, Transform};
use perimeter_contract::{Contract, Diagnostic, Diagnostics, Span};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use text::{TextPlan, Texts};

/// Input bytes for each shard where the job names no number of shards.
const SHARD_INPUT_BYTES: u64 = 128 << 20;

/// Everything that a run will do. Made by [`plan`] alone.
#[derive(Debug)]
pub struct Plan {
    /// The validated files.
    pub contract: Contract,
    /// By position in `contract.job.sources`.
    pub inputs: Vec<Input>,
    /// Every column of the prepare query, in its order.
    pub columns: Vec<PlannedColumn>,
    /// What the presence of a row depends on.
    pub rows: BTreeSet<(SourceColumn, RowInfluence)>,
    /// The number of shards, fixed before the first row.
    pub shards: u32,
    /// Rules about rows and sets, compiled.
    pub rules: Arc<JobRules>,
    /// The column of the policy's privacy unit, where the job's statistics count units.
    pub unit: Option<usize>,
    /// By feature.
    pub tokenizers: BTreeMap<String, Arc<Tokenizer>>,
    /// The statistics that the job pins.
    pub statistics: Option<Statistics>,
}

/// A source's listing.
#[derive(Debug, Clone)]
pub struct Input {
    /// Sorted by uri.
    pub files: Vec<InputFile>,
    /// In file order.
    pub units: Vec<Unit>,
    /// Columns that files have and the contract does not (`drift: allowAdded`): they are not read. Sorted.
    pub added: Vec<String>,
}

/// One column of the prepare query and what happens to it.
#[derive(Debug)]
pub struct PlannedColumn {
    /// Its name.
    pub name: String,
    /// Its type as it leaves the query, normalized for the boundary: no views, dictionaries, unsigned integers.
    pub data_type: DataType,
    /// Where it comes from.
    pub lineage: ColumnLineage,
    /// What the policy says.
    pub decision: Decision,
    /// For `dateShift`: the position of the column whose value picks the shift.
    pub context: Option<usize>,
    /// For `cryptoReplaceFfxFpe`: how many values share the column's format, and what follows from that.
    pub format: Option<Format>,
    /// For `deidentifyText`: what becomes of each type that is found.
    pub text: Option<TextPlan>,
    /// True when shape or table use it; what nobody uses is not computed.
    pub needed: bool,
}

impl Plan {
    /// The position of a column by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The key names that the run must open, sorted.
    pub fn key_names(&self) -> BTreeSet<&str> {
        let transforms = self.columns.iter().flat_map(PlannedColumn::keys);
        transforms.chain([self.contract.job.quarantine.key.as_str()]).collect()
    }

    /// The type of a column after *pseudonymize*; `None` for a dropped one. Of a list, what becomes of its values.
    pub fn output_type(column: &PlannedColumn) -> Option<DataType> {
        let becomes = Self::value_output_type(column)?;
        Some(if is_list(&column.data_type) { list_of(becomes) } else { becomes })
    }

    fn value_output_type(column: &PlannedColumn) -> Option<DataType> {
        let value_type = || value_type(&column.data_type).clone();
        match &column.decision.transform {
            Transform::Drop => None,
            Transform::CryptoHash { encoding: TokenEncoding::Int64, .. } => Some(DataType::Int64),
            Transform::TimePart { .. } => Some(DataType::Int32),
            Transform::Bucketing { buckets } if buckets.iter().all(|bucket| bucket.label.is_none()) => Some(value_type()),
            Transform::CryptoHash { .. }
            | Transform::CryptoDeterministic { .. }
            | Transform::Encrypt { .. }
            | Transform::CryptoReplaceFfxFpe { .. }
            | Transform::CharacterMask { .. }
            | Transform::Truncate { .. }
            | Transform::Bucketing { .. }
            | Transform::Redact
            | Transform::Replace { .. }
            | Transform::ReplaceWithInfoType
            | Transform::DeidentifyText(_) => Some(DataType::Utf8),
            Transform::DateShift { .. } | Transform::FixedSizeBucketing { .. } | Transform::Keep => Some(value_type()),
        }
    }

    /// SHA-256 of the policy and schema files, of the query's text and of this lineage: what approvers sign. The text is in it because
    /// lineage says *which* columns a column is made of and not *how*: an age in years and a full date of birth have one lineage.
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for file in self.contract.sources.files.iter().filter(|file| file.kind != "Job") {
            digest.update(file.sha256);
        }
        let lineage = serde_json::to_vec(&explain::columns(self)).unwrap_or_default();
        for part in [prepare::text(&self.contract.job).as_bytes(), &lineage] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        digest.finalize().into()
    }
}

/// The type that a query's column has at the boundary, or `None` for one that cannot cross it.
pub fn boundary_type(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Int32 => DataType::Int32,
        DataType::Int8 | DataType::Int16 | DataType::Int64 | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => DataType::Decimal128(*p, *s),
        DataType::Boolean => DataType::Boolean,
        DataType::Date32 | DataType::Date64 => DataType::Date32,
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "UTC".into())),
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Dictionary(_, value) => return boundary_type(value),
        DataType::List(item) | DataType::LargeList(item) if !item.data_type().is_nested() => list_of(boundary_type(item.data_type())?),
        _ => return None,
    })
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_))
}

/// The type of the values: those of a list are inside of it.
pub(crate) fn value_type(data_type: &DataType) -> &DataType {
    if let DataType::List(item) = data_type { item.data_type() } else { data_type }
}

/// Makes the plan of a contract. Reads listings, headers and footers; no rows.
///
/// # Errors
/// Diagnostics (exit 2) for everything that job, schema, policy and input disagree on; store failures.
pub async fn plan(mut contract: Contract, stores: &Arc<Stores>) -> Result<Plan> {
    let query = resolve(&contract).await?;
    let columns = query.columns;
    require_where_nulls_are_rejected(&mut contract, &columns);
    let rules = Arc::new(JobRules::compile(&contract).await?);
    let mut inputs = Vec::with_capacity(contract.job.sources.len());
    for (index, source) in contract.job.sources.iter().enumerate() {
        let (stores, source) = (Arc::clone(stores), source.clone());
        let listing = tokio::task::spawn_blocking(move || read::plan_source(&stores, index, &source)).await;
        let planned = listing.map_err(|_| crate::error::Failure::new(crate::error::Culprit::Outside, "planning-stopped", "listing the input was stopped"))?;
        // Whoever reads files knows where in the contract a mistake is, and does not hold its texts.
        let read::PlannedSource { files, units, added } = planned.map_err(|error| match error {
            Error::Contract(found) => Error::Contract(Diagnostics { sources: Arc::clone(&contract.sources), ..found }),
            other => other,
        })?;
        inputs.push(Input { files, units, added });
    }
    let input_bytes: u64 = inputs.iter().flat_map(|input| &input.files).map(|file| file.size_bytes).sum();
    let computed = u32::try_from(input_bytes.div_ceil(SHARD_INPUT_BYTES)).unwrap_or(u32::MAX).clamp(1, 65_536);
    let shards = contract.job.sink.shards.unwrap_or(computed);
    let (tokenizers, statistics) = load::frozen(&contract, stores).await?;
    let unit = query.unit.filter(|_| statistics.is_none());
    Ok(Plan { contract, inputs, columns, rows: query.rows, shards, rules, unit, tokenizers, statistics })
}

/// `nulls: reject` of a column that passes through is a rule of the contract: such rows go to quarantine with all others.
fn require_where_nulls_are_rejected(contract: &mut Contract, columns: &[PlannedColumn]) {
    for column in columns.iter().filter(|column| !column.lineage.computed && column.decision.nulls == Nulls::Reject) {
        for from in &column.lineage.from {
            let source = contract.job.sources.iter_mut().find(|source| source.name == from.source);
            if let Some(required) = source.and_then(|source| source.schema.columns.iter_mut().find(|candidate| candidate.name == from.column)) {
                required.required = true;
                required.item_required = matches!(required.data_type, perimeter_contract::schema::DataType::List(_));
            }
        }
    }
}

struct Resolved {
    unit: Option<usize>,
    columns: Vec<PlannedColumn>,
    rows: BTreeSet<(SourceColumn, RowInfluence)>,
}

/// Query, lineage and decisions: what can be said without looking at any input.
async fn resolve(contract: &Contract) -> Result<Resolved> {
    let refuse = |list: Vec<Diagnostic>| Error::Contract(Diagnostics { list, sources: Arc::clone(&contract.sources) });
    let job = &contract.job;
    let place = job.prepare.as_ref().map_or_else(|| job.sources.first().map_or(job.shape.span, |source| source.span), |prepare| prepare.span);
    let fault = |error: datafusion::common::DataFusionError| engine::failure::FirstFailure::default().explain(&error);

    let context = engine::session(&Limits::default()).map_err(fault)?;
    for source in &job.sources {
        let table = EmptyTable::new(read::arrow_schema(&source.schema));
        context.register_table(datafusion::common::TableReference::bare(source.name.as_str()), Arc::new(table)).map_err(fault)?;
    }
    let names: Vec<&str> = job.sources.iter().map(|source| source.name.as_str()).collect();
    let query = prepare::parse(&context, &prepare::text(job), &names, &|a, b| decide::one_domain(contract, a, b)).await.map_err(|error| {
        refuse(vec![match error {
            NotAQuery::Sql(text) => Diagnostic::new("invalid-sql", place, format!("the query cannot be planned: {text}"))
                .help("`prepare` is one SELECT: sources are its tables, contract columns their columns; names with capitals or spaces need double quotes"),
            NotAQuery::Unsupported(unsupported) => {
                Diagnostic::new(unsupported.code, place, format!("{} is not allowed in `prepare`", unsupported.what)).help(unsupported.help)
            }
        }])
    })?;

    let texts = Texts::new(contract).map_err(refuse)?;
    let mut problems = Vec::new();
    let mut columns = Vec::new();
    let fields = query.plan.schema().fields().clone();
    for (field, lineage) in fields.iter().zip(query.lineage.columns) {
        if columns.iter().any(|column: &PlannedColumn| column.name == *field.name()) {
            problems.push(
                Diagnostic::new("duplicate-output", place, format!("the query gives two columns named `{}`", field.name()))
                    .help("select one of them, or give it an alias"),
            );
            continue;
        }
        if field.name().chars().any(is_deceptive) {
            problems.push(
                Diagnostic::new("deceptive-name", place, "the query gives a column whose name has control or invisible characters".to_owned())
                    .help("name it with letters that a reviewer can see"),
            );
            continue;
        }
        if field.name().starts_with("__") {
            problems.push(
                Diagnostic::new("reserved-name", place, format!("the name `{}` is reserved", field.name()))
                    .help("names that begin with two underscores belong to the tool; give it an alias"),
            );
            continue;
        }
        let Some(data_type) = boundary_type(field.data_type()) else {
            problems.push(
                Diagnostic::new("unsupported-type", place, format!("`{}` has the type {}, which no example can hold", field.name(), field.data_type()))
                    .help("cast it in `prepare`"),
            );
            continue;
        };
        match decide::decide(contract, field.name(), &lineage, place) {
            Ok(decision) => {
                let format = Format::of(contract, &lineage, &decision.transform);
                let text = match (&decision.transform, &texts) {
                    (Transform::DeidentifyText(types), Some(texts)) => texts.column(types, &lineage).map_err(|more| problems.extend(more)).ok(),
                    _ => None,
                };
                columns.push(PlannedColumn { name: field.name().clone(), data_type, lineage, decision, context: None, format, text, needed: false });
            }
            Err(more) => problems.extend(more),
        }
    }
    let mut unit = None;
    if problems.is_empty() {
        find_contexts(&mut columns, place, &mut problems);
        check_transforms(contract, &columns, &mut problems);
        mark_needed(contract, &mut columns, &mut problems);
        unit = shape::unit(contract, &columns, &mut problems);
        shape::check(contract, &columns, &mut problems);
    }
    if !problems.is_empty() {
        problems.sort_by_key(|problem: &Diagnostic| (problem.span.file, problem.span.start, problem.message.clone()));
        problems.dedup_by(|a, b| a.code == b.code && a.span == b.span && a.message == b.message);
        return Err(refuse(problems));
    }
    Ok(Resolved { unit, columns, rows: query.lineage.rows })
}

/// Characters that would make a printed plan say something else than what runs.
pub(crate) fn is_deceptive(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// `dateShift` needs the column whose value picks the shift among the query's columns, untouched.
fn find_contexts(columns: &mut [PlannedColumn], place: Span, problems: &mut Vec<Diagnostic>) {
    for index in 0..columns.len() {
        let Transform::DateShift { context_join_domain, .. } = &columns[index].decision.transform else { continue };
        let wanted = JoinDomain::Named(context_join_domain.clone());
        let picks = |other: &PlannedColumn| !other.lineage.computed && !is_list(&other.data_type) && other.decision.join_domain == wanted;
        let found: Vec<usize> = (0..columns.len()).filter(|&other| picks(&columns[other])).collect();
        let name = &columns[index].name;
        match found.as_slice() {
            [context] if matches!(columns[*context].decision.transform, Transform::Encrypt { .. }) => problems.push(
                Diagnostic::new(
                    "encrypted-context",
                    columns[*context].decision.span,
                    format!("`{}` picks the shift of `{name}`, and is encrypted", columns[*context].name),
                )
                .help("an encrypted column says nothing about which rows belong together: use cryptoHash or cryptoDeterministic for it, or drop it"),
            ),
            [context] => columns[index].context = Some(*context),
            [] => problems.push(
                Diagnostic::new(
                    "context-missing",
                    place,
                    format!("`{name}` is shifted by the value of join domain {context_join_domain}, but the query selects no column of it"),
                )
                .help("select the column as it is; a drop or cryptoHash rule keeps it from leaving"),
            ),
            several => {
                let names = several.iter().map(|&other| format!("`{}`", columns[other].name)).collect::<Vec<_>>().join(", ");
                problems.push(
                    Diagnostic::new(
                        "context-ambiguous",
                        place,
                        format!("`{name}` is shifted by the value of join domain {context_join_domain}, but the query selects several columns of it: {names}"),
                    )
                    .help("select only the one that the shift belongs to"),
                );
            }
        }
    }
}

/// A transform must fit the column's type and name a key of the job.
fn check_transforms(contract: &Contract, columns: &[PlannedColumn], problems: &mut Vec<Diagnostic>) {
    for column in columns {
        let (transform, name, span) = (&column.decision.transform, &column.name, column.decision.span);
        for key in column.keys().filter(|key| !contract.job.keys.contains_key(*key)) {
            problems.push(
                Diagnostic::new("key-missing", span, format!("the rule needs the key `{key}`, which the job does not name"))
                    .help(format!("add `{key}: {{provider: …, keyring: …}}` to the job's keys")),
            );
        }
        let data_type = value_type(&column.data_type);
        let (fits, wants) = match transform {
            Transform::CryptoHash { .. } | Transform::CryptoDeterministic { .. } => {
                (matches!(data_type, DataType::Utf8 | DataType::Int32 | DataType::Int64 | DataType::Date32), "text, an integer or a date")
            }
            Transform::Encrypt { .. } => (
                matches!(data_type, DataType::Utf8 | DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Boolean | DataType::Decimal128(..)),
                "text, an integer, a decimal, a boolean or a date",
            ),
            Transform::CryptoReplaceFfxFpe { .. } | Transform::CharacterMask { .. } | Transform::Truncate { .. } | Transform::DeidentifyText(_) => {
                (*data_type == DataType::Utf8, "text")
            }
            Transform::DateShift { .. } | Transform::TimePart { .. } => {
                (matches!(data_type, DataType::Date32 | DataType::Timestamp(..)), "a date or a timestamp")
            }
            Transform::FixedSizeBucketing { .. } | Transform::Bucketing { .. } => {
                (matches!(data_type, DataType::Int32 | DataType::Int64 | DataType::Decimal128(..)), "an integer or a decimal")
            }
            Transform::Redact | Transform::Replace { .. } | Transform::ReplaceWithInfoType | Transform::Drop | Transform::Keep => (true, ""),
        };
        if !fits {
            problems.push(Diagnostic::new("transform-type", span, format!("{} takes {wants}, but `{name}` is {}", transform.name(), column.data_type)).help(
                match transform {
                    Transform::FixedSizeBucketing { .. } | Transform::Bucketing { .. } => {
                        "cast it in `prepare` (a year, an age, a rounded decimal), or choose another transform for this rule"
                    }
                    Transform::DateShift { .. } | Transform::TimePart { .. } => {
                        "declare the column as a date or timestamp in the contract, or choose another transform for this rule"
                    }
                    _ => "declare the column as text in the contract, or choose another transform for this rule",
                },
            ));
        } else {
            check_options(column, problems);
        }
        if column.decision.nulls == Nulls::Token && !transform.has_null_token() {
            problems.push(
                Diagnostic::new("nulls-token", span, format!("`nulls: token` needs a transform that makes tokens, not {}", transform.name()))
                    .help("use `nulls: keep` or `nulls: reject`"),
            );
        }
    }
}

/// Options that only the column's type, lengths or semantic type can judge.
fn check_options(column: &PlannedColumn, problems: &mut Vec<Diagnostic>) {
    let (transform, name, span) = (&column.decision.transform, &column.name, column.decision.span);
    let data_type = value_type(&column.data_type);
    if let Some(domain) = column.format.as_ref().and_then(Format::too_small) {
        problems.push(
            Diagnostic::new(
                "fpe-domain",
                span,
                format!("{} needs 10^6 values that share the format of `{name}`, but there are fewer: {domain}", transform.name()),
            )
            .help("keep fewer characters, or state what such values get instead: `fallback: {transform: cryptoHash}`"),
        );
    }
    match transform {
        Transform::FixedSizeBucketing { .. } if crate::pseudonymize::fixed_buckets(transform, data_type).is_none() => problems.push(
            Diagnostic::new("bucket-size", span, format!("`{name}` is {data_type}, which cannot express a bucket of this size or its bounds"))
                .help("use numbers with no more fraction digits than the column has"),
        ),
        Transform::Bucketing { .. } if crate::pseudonymize::buckets(transform, data_type).is_none() => problems.push(
            Diagnostic::new("bucket-size", span, format!("`{name}` is {data_type}, which cannot express these bounds"))
                .help("use numbers with no more digits than the column has"),
        ),
        Transform::TimePart { part: TimePart::HourOfDay } if *data_type == DataType::Date32 => problems.push(
            Diagnostic::new("time-part", span, format!("`{name}` is a date, which has no hour"))
                .help("take `year`, `month`, `dayOfMonth`, `dayOfWeek` or `weekOfYear`, or use a timestamp"),
        ),
        Transform::DeidentifyText(_) if column.lineage.computed => problems.push(
            Diagnostic::new("text-computed", span, format!("`{name}` is computed, and detectors look for values as people write them"))
                .help("select the text as it is: what a query cuts, joins or replaces in it can hide a value from them"),
        ),
        Transform::ReplaceWithInfoType if column.decision.semantic_types.len() != 1 => problems.push(
            Diagnostic::new(
                "info-type",
                span,
                format!("`{name}` has {} semantic types, and replaceWithInfoType writes one", column.decision.semantic_types.len()),
            )
            .help("give the column a semanticType in its contract, or use `replace` with a text"),
        ),
        _ => {}
    }
}

/// Shape and table name columns of the query; they must be there and must not be dropped.
fn mark_needed(contract: &Contract, columns: &mut [PlannedColumn], problems: &mut Vec<Diagnostic>) {
    let shape = &contract.job.shape;
    let mut uses: Vec<(&str, Span, String, bool)> = Vec::new();
    if let Some(sequence) = &shape.sequence {
        uses.push((&sequence.by, sequence.span, "the entity of the sequences".to_owned(), true));
        uses.extend(sequence.order_by.iter().map(|column| (column.as_str(), sequence.span, "the order of the sequences".to_owned(), true)));
    }
    uses.extend(shape.features.iter().map(|feature| (feature.column.as_str(), feature.span, format!("the feature `{}`", feature.name), false)));
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    for (name, span, what, sorts) in uses {
        match columns.iter_mut().find(|column| column.name == name) {
            None => problems.push(
                Diagnostic::new("unknown-column", span, format!("{what} is `{name}`, which the query does not give"))
                    .help(format!("the query gives {}", names.join(", "))),
            ),
            Some(column) if column.decision.transform == Transform::Drop => {
                let rule = column.decision.rule.as_deref().unwrap_or_default();
                problems.push(
                    Diagnostic::new("dropped-column", span, format!("{what} is `{name}`, which the policy drops (rule \"{rule}\")"))
                        .help("use another column, or have the policy changed"),
                );
            }
            Some(column) if sorts && matches!(column.decision.transform, Transform::Encrypt { .. }) => {
                let rule = column.decision.rule.as_deref().unwrap_or_default();
                problems.push(
                    Diagnostic::new("encrypted-order", span, format!("{what} is `{name}`, which the policy encrypts (rule \"{rule}\")"))
                        .help("equal values of an encrypted column have different tokens, and other ones in the next run: use cryptoHash, cryptoDeterministic or another column"),
                );
            }
            Some(column) if is_list(&column.data_type) => {
                problems.push(Diagnostic::new("list-column", span, format!("{what} is `{name}`, which holds a list in each row")).help(if sorts {
                    "a list is no key and no order: use a column of plain values"
                } else {
                    "a list has no static shape: leave the feature out (the `table` can hold the list), or store a plain value per row"
                }))
            }
            Some(column) => column.needed = true,
        }
    }
    if contract.job.table.is_some() {
        for column in columns.iter_mut().filter(|column| column.decision.transform != Transform::Drop) {
            column.needed = true;
        }
    }
    let encrypted = |column: &PlannedColumn| matches!(column.decision.transform, Transform::Encrypt { .. });
    if shape.sequence.is_none() && columns.iter().any(encrypted) && columns.iter().filter(|column| column.needed).all(encrypted) {
        problems.push(
            Diagnostic::new("encrypted-order", shape.span, "every column that leaves is encrypted, and nothing is left to place and order rows by")
                .help("add a column that is not encrypted: a cryptoHash token of an id will do"),
        );
    }
}
