//! What happens to each column of a batch: the transforms of the policy, applied column by column.
//!
//! A batch goes through in three steps. Columns that keyed transforms read are numbered by their distinct values ([`Distinct`]); the values
//! that no batch has brought before go through every transform that reads them, together; then each column is put together from what was
//! made. `encrypt` is the exception: its token belongs to a row, so nothing of it is kept.
use super::distinct::{Distinct, NULL};
use super::exec::Spec;
use super::nested::nested;
use super::text::{TextFault, TextWork};
use crate::error::{Culprit, Failure, Result};
use crate::plan::boundary_type;
use crate::shard::{shard_column, tie_column};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::arrow::util::display::FormatOptions;
use perimeter_pseudonym::transform::{
    Bucketing, Canonicalizer, Context, DateShift, Encrypt, FixedSizeBucketing, Guarded, RowDigest, TextTransform, TimePart, Tokens, ValueRefused,
};
use std::sync::Arc;

/// A value that does not fit the boundary's type is refused, never made null.
const STRICT: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

const NULL_REFUSED: &str = "is null where the policy says `nulls: reject`";

/// One column of the output: where it comes from and what is done to it.
pub struct ColumnSpec {
    /// The name, for messages.
    pub name: String,
    /// The policy rule, for messages.
    pub rule: String,
    /// The position in the input.
    pub input: usize,
    /// The type of the input, normalized for the boundary.
    pub data_type: DataType,
    /// What is done.
    pub work: Work,
    /// What null becomes.
    pub nulls: NullWork,
}

/// What is done to the values of a column. Keyed variants are cloned into each partition.
#[derive(Clone)]
pub enum Work {
    /// Nothing.
    Keep,
    /// A keyed transform, once per distinct value, under the rules for empty and refused values.
    Tokens {
        /// The transform with its rules.
        transform: Box<Guarded>,
        /// What its tokens are written as.
        output: Output,
    },
    /// A transform of text without a key: cheaper than a look-up.
    Plain(Box<TextTransform>),
    /// One text, whatever the value.
    Constant(String),
    /// A token for each row.
    Encrypt(Box<Encrypt>),
    /// Whole days, by the value of another input column.
    Shift {
        /// The position of the context in the input.
        context: usize,
        /// The keyed shift.
        shift: DateShift,
        /// What happens to the context before it picks a shift.
        canonical: Canonicalizer,
    },
    /// The keyed hash of a column: a hidden column that lets *shape* see that a sequence has one context.
    ContextHash {
        /// The keyed hash.
        hash: Context,
        /// What happens to the value before.
        canonical: Canonicalizer,
    },
    /// The lower bound of the bucket, in units of the column's own scale.
    FixedSize(FixedSizeBucketing),
    /// The label of the bucket, or its lower bound in units of the column's own scale.
    Buckets {
        /// The ranges.
        buckets: Bucketing,
        /// Whether labels stand for them.
        labels: bool,
    },
    /// One part of a date or time.
    TimePart(TimePart),
    /// What is found inside text becomes something else.
    Text(Box<TextWork>),
}

/// What tokens are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Text.
    Text,
    /// 64-bit integers.
    Int64,
}

impl Work {
    /// The input column whose distinct values the work is done on, where it is.
    fn reads(&self, input: usize) -> Option<usize> {
        match self {
            Self::Tokens { .. } | Self::ContextHash { .. } => Some(input),
            Self::Shift { context, .. } => Some(*context),
            Self::Keep
            | Self::Plain(_)
            | Self::Constant(_)
            | Self::Encrypt(_)
            | Self::FixedSize(_)
            | Self::Buckets { .. }
            | Self::TimePart(_)
            | Self::Text(_) => None,
        }
    }
}

/// What null becomes.
#[derive(Clone)]
pub enum NullWork {
    /// Null.
    Keep,
    /// The token of null.
    Token(String),
    /// The end of the job: a null that the contract let through and the policy does not.
    Refuse,
}

/// The state of one partition: transforms, and what they made of the values seen so far.
pub struct Workers {
    spec: Arc<Spec>,
    columns: Vec<Worker>,
    sources: Vec<Source>,
    rows: Option<RowConverter>,
}

/// An input column that keyed work reads.
struct Source {
    input: usize,
    distinct: Distinct,
}

struct Worker {
    work: Work,
    /// The position in [`Workers::sources`].
    source: Option<usize>,
    made: Made,
}

/// What became of distinct values, by their number.
#[derive(Default)]
struct Made {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Token, shift or hash; `None` is a null token or a value that picks nothing.
    numbers: Vec<Option<i64>>,
    tokens: Tokens,
}

impl Made {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.numbers.clear();
    }

    fn used_bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>() + self.numbers.len() * size_of::<Option<i64>>()
    }
}

impl Workers {
    /// The state for one partition.
    pub fn new(spec: Arc<Spec>) -> Self {
        let mut sources: Vec<Source> = Vec::new();
        let mut columns = Vec::with_capacity(spec.columns.len());
        for column in &spec.columns {
            let source = column.work.reads(column.input).map(|input| {
                sources.iter().position(|source| source.input == input).unwrap_or_else(|| {
                    sources.push(Source { input, distinct: Distinct::default() });
                    sources.len() - 1
                })
            });
            columns.push(Worker { work: column.work.clone(), source, made: Made::default() });
        }
        Self { spec, columns, sources, rows: None }
    }

    /// One raw batch in, one pseudonymized batch out, hidden columns last.
    ///
    /// # Errors
    /// A value that its transform refuses, a null that the policy refuses, a date that leaves the calendar (exit 1).
    pub fn push(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let fault = |_| Failure::new(Culprit::Outside, "pseudonymize-failed", "a pseudonymized batch does not have the planned types");
        for (spec, worker) in self.spec.columns.iter().zip(&self.columns) {
            if matches!(spec.nulls, NullWork::Refuse) && batch.column(spec.input).null_count() > 0 {
                return Err(refused(spec, NULL_REFUSED));
            }
            if let Some(source) = worker.source
                && batch.column(self.sources[source].input).data_type().is_nested()
                && matches!(worker.work, Work::Shift { .. } | Work::ContextHash { .. })
            {
                return Err(refused(spec, "has a nested column for its context"));
            }
        }
        self.take(batch)?;
        let digests = if self.columns.iter().any(|worker| matches!(worker.work, Work::Encrypt(_))) { self.row_digests(batch)? } else { Vec::new() };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len() + 3);
        for (spec, worker) in self.spec.columns.iter().zip(&mut self.columns) {
            let raw = batch.column(spec.input);
            let source = worker.source.map(|source| &self.sources[source].distinct);
            columns.push(if raw.data_type().is_nested() {
                let raw = if spec.data_type.is_nested() { normalized(spec, raw)? } else { Arc::clone(raw) };
                let leaf = &mut |leaf: &ArrayRef, row: &dyn Fn(usize) -> usize| worker.inside(spec, leaf, row, source, &digests);
                nested(&raw, &|row| row, leaf).map_err(|error| error.unwrap_or_else(|| nesting(spec)))?
            } else {
                worker.flat(spec, &normalized(spec, raw)?, source, &digests)?
            });
        }
        let unplaced = RecordBatch::try_new(Arc::clone(&self.spec.unplaced), columns).map_err(fault)?;
        let shard = shard_column(&unplaced, self.spec.entity, &self.spec.visible, self.spec.shards)?;
        let order = order_column(&shard, self.spec.entity.map(|entity| unplaced.column(entity)));
        let tie = if self.spec.tied.is_empty() { None } else { Some(tie_column(&unplaced, &self.spec.tied)?) };
        let (_, mut columns, _) = unplaced.into_parts();
        columns.extend(tie.map(|tie| Arc::new(tie) as ArrayRef));
        columns.push(Arc::new(order));
        columns.push(Arc::new(shard));
        Ok(RecordBatch::try_new(Arc::clone(&self.spec.schema), columns).map_err(fault)?)
    }

    /// Numbers the values of the batch, and has every transform make what it makes of those that are new.
    fn take(&mut self, batch: &RecordBatch) -> Result<()> {
        let budget = self.spec.cache_bytes / self.sources.len().max(1);
        for (index, source) in self.sources.iter_mut().enumerate() {
            let readers = || self.spec.columns.iter().zip(&self.columns).filter(|(_, worker)| worker.source == Some(index));
            let Some((spec, _)) = readers().next() else { continue };
            let used = source.distinct.used_bytes() + readers().map(|(_, worker)| worker.made.used_bytes()).sum::<usize>();
            if used > budget {
                source.distinct.clear();
                self.columns.iter_mut().filter(|worker| worker.source == Some(index)).for_each(|worker| worker.made.clear());
            }
            let raw = batch.column(source.input);
            // Values inside lists and structs are numbered where they are met.
            if raw.data_type().is_nested() {
                continue;
            }
            source.distinct.take(&as_text(raw, spec)?);
            let values: Vec<Option<&str>> = source.distinct.new_values().map(Some).collect();
            for (spec, worker) in self.spec.columns.iter().zip(&mut self.columns).filter(|(_, worker)| worker.source == Some(index)) {
                make(&mut worker.work, spec, &values, &mut worker.made)?;
            }
        }
        Ok(())
    }

    /// A digest of all cells of each row.
    fn row_digests(&mut self, batch: &RecordBatch) -> Result<Vec<RowDigest>> {
        let fault = |_| Failure::new(Culprit::Outside, "pseudonymize-failed", "the rows of a batch cannot be told apart");
        let converter = match &mut self.rows {
            Some(converter) => converter,
            none => {
                let fields = batch.schema().fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
                none.insert(RowConverter::new(fields).map_err(fault)?)
            }
        };
        let rows = converter.convert_columns(batch.columns()).map_err(fault)?;
        Ok(rows.iter().map(|row| RowDigest::of([Some(row.as_ref())])).collect())
    }
}

/// The shard and the entity's first four bytes in one integer that sorts as (shard, entity) does: most comparisons of the sort end here, before
/// they touch the entity's text.
fn order_column(shards: &Int32Array, entity: Option<&ArrayRef>) -> Int64Array {
    let tokens = entity.and_then(|entity| entity.as_string_opt::<i32>());
    let of_row = |row: usize| {
        let prefix = tokens.filter(|tokens| tokens.is_valid(row)).map_or(0, |tokens| {
            let mut first = [0; 4];
            let token = tokens.value(row).as_bytes();
            let length = token.len().min(4);
            first[..length].copy_from_slice(&token[..length]);
            u32::from_be_bytes(first)
        });
        i64::from(shards.value(row)) << 32 | i64::from(prefix)
    };
    (0..shards.len()).map(of_row).collect::<Vec<_>>().into()
}

/// The end of the job over one cell: which column and rule, never which value.
fn refused(spec: &ColumnSpec, what: &str) -> crate::error::Error {
    Failure::new(Culprit::Data, "value-refused", format!("a value of column `{}` {what} (policy rule \"{}\")", spec.name, spec.rule))
        .help("add a rule to the contract (pattern, length, check digit, required) so that such rows go to quarantine, or change the policy rule")
        .into()
}

fn nesting(spec: &ColumnSpec) -> crate::error::Error {
    refused(spec, "is nested in a way that this version cannot take apart")
}

fn why(spec: &ColumnSpec) -> impl Fn(ValueRefused) -> crate::error::Error {
    move |why| refused(spec, &format!("is refused: {why}"))
}

/// The column in its type for the boundary.
fn normalized(spec: &ColumnSpec, raw: &ArrayRef) -> Result<ArrayRef> {
    if raw.data_type() == &spec.data_type {
        return Ok(Arc::clone(raw));
    }
    cast_with_options(raw, &spec.data_type, &STRICT).map_err(|_| refused(spec, "does not fit its type"))
}

/// Text as it is; what has another type in its canonical spelling at the boundary.
fn as_text(raw: &ArrayRef, spec: &ColumnSpec) -> Result<StringArray> {
    if let Some(text) = raw.as_string_opt::<i32>() {
        return Ok(text.clone());
    }
    let text = boundary_type(raw.data_type()).and_then(|data_type| cast_with_options(raw, &data_type, &STRICT).ok());
    let text = text.and_then(|plain| cast(&plain, &DataType::Utf8).ok());
    text.and_then(|text| text.as_string_opt::<i32>().cloned()).ok_or_else(|| refused(spec, "cannot be written as text"))
}

/// Has a keyed transform make what it makes of distinct values, behind what it has made before.
fn make(work: &mut Work, spec: &ColumnSpec, values: &[Option<&str>], made: &mut Made) -> Result<()> {
    match work {
        Work::Tokens { transform, output } => {
            transform.apply_many(values, &mut made.tokens);
            if let Some((_, refusal)) = made.tokens.refused().first() {
                return Err(why(spec)(*refusal));
            }
            match output {
                Output::Text => {
                    let start = made.bytes.len();
                    made.bytes.extend_from_slice(made.tokens.bytes());
                    made.ends.extend(made.tokens.ends().iter().map(|end| start + end));
                }
                Output::Int64 => {
                    for index in 0..made.tokens.len() {
                        made.numbers.push(match made.tokens.get(index).unwrap_or_default() {
                            // An empty value that stays empty: of integers, null.
                            b"" => None,
                            digits => Some(number(digits).ok_or_else(|| refused(spec, "became no integer"))?),
                        });
                    }
                }
            }
        }
        Work::Shift { shift, canonical, .. } => {
            let days = |value: &str| canonical.run(value).ok().map(|context| i64::from(shift.days(context.as_bytes())));
            made.numbers.extend(values.iter().flatten().copied().map(days));
        }
        Work::ContextHash { hash, canonical } => {
            let hashed = |value: &str| canonical.run(value).ok().map(|context| hash.hash64(context.as_bytes()));
            made.numbers.extend(values.iter().flatten().copied().map(hashed));
        }
        _ => {}
    }
    Ok(())
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

impl Worker {
    /// A column that is not nested. `distinct` numbers the values that the work reads.
    fn flat(&mut self, spec: &ColumnSpec, raw: &ArrayRef, distinct: Option<&Distinct>, digests: &[RowDigest]) -> Result<ArrayRef> {
        match (&mut self.work, distinct) {
            (Work::Shift { .. }, Some(distinct)) => shift_dates(raw, spec, &mut |row| self.days(spec, distinct, row)),
            (Work::ContextHash { .. }, Some(distinct)) => {
                let hash = |&number: &u32| match number {
                    NULL => Ok(0),
                    number => self.made.numbers.get(number as usize).copied().flatten().ok_or_else(|| refused(spec, "cannot be canonicalized")),
                };
                Ok(Arc::new(Int64Array::from(distinct.rows().iter().map(hash).collect::<Result<Vec<_>>>()?)))
            }
            (Work::Tokens { output, .. }, Some(distinct)) => gather(&self.made, *output, distinct.rows(), raw.nulls(), spec),
            _ => self.leaf(spec, raw, &|row| row, digests),
        }
    }

    /// The shift of a row.
    fn days(&self, spec: &ColumnSpec, distinct: &Distinct, row: usize) -> Result<i32> {
        let number = match distinct.rows().get(row) {
            None | Some(&NULL) => return Err(refused(spec, "has no context to pick its shift")),
            Some(number) => *number as usize,
        };
        let days = self.made.numbers.get(number).copied().flatten().and_then(|days| i32::try_from(days).ok());
        days.ok_or_else(|| refused(spec, "has a context that cannot be canonicalized"))
    }

    /// The values inside a nested column. `distinct` numbers the values of the rows that a shift is picked by.
    fn inside(
        &mut self,
        spec: &ColumnSpec,
        raw: &ArrayRef,
        row_of: &dyn Fn(usize) -> usize,
        distinct: Option<&Distinct>,
        digests: &[RowDigest],
    ) -> Result<ArrayRef> {
        match (&self.work, distinct) {
            (Work::Shift { .. }, Some(_)) if matches!(spec.nulls, NullWork::Refuse) && raw.null_count() > 0 => Err(refused(spec, NULL_REFUSED)),
            (Work::Shift { .. }, Some(distinct)) => shift_dates(raw, spec, &mut |value| self.days(spec, distinct, row_of(value))),
            _ => self.leaf(spec, raw, row_of, digests),
        }
    }

    /// A column, or the values inside a nested one; `row_of` says in which row a value stands.
    fn leaf(&mut self, spec: &ColumnSpec, raw: &ArrayRef, row_of: &dyn Fn(usize) -> usize, digests: &[RowDigest]) -> Result<ArrayRef> {
        if matches!(spec.nulls, NullWork::Refuse) && raw.null_count() > 0 {
            return Err(refused(spec, NULL_REFUSED));
        }
        match &mut self.work {
            Work::Keep => Ok(Arc::clone(raw)),
            work @ Work::Tokens { .. } => {
                let (mut distinct, mut made) = (Distinct::default(), Made::default());
                distinct.take(&as_text(raw, spec)?);
                make(work, spec, &distinct.new_values().map(Some).collect::<Vec<_>>(), &mut made)?;
                let Work::Tokens { output, .. } = work else { return Err(nesting(spec)) };
                gather(&made, *output, distinct.rows(), raw.nulls(), spec)
            }
            Work::Plain(transform) => {
                let raw = as_text(raw, spec)?;
                text(raw.len(), raw.nulls(), spec, raw.value_data().len(), |row, bytes| transform.apply(raw.value(row), bytes).map_err(why(spec)))
            }
            Work::Text(work) => {
                let raw = as_text(raw, spec)?;
                let fault = |_: TextFault| refused(spec, "was found to hold something that has no place in the plan");
                let taken = work.take(raw.len(), |row| raw.is_valid(row).then(|| raw.value(row))).map_err(fault)?;
                text(raw.len(), raw.nulls(), spec, raw.value_data().len(), |row, bytes| work.write(&taken, row, raw.value(row), bytes).map_err(fault))
            }
            Work::Constant(value) => text(raw.len(), raw.nulls(), spec, raw.len() * value.len(), |_, bytes| {
                bytes.extend_from_slice(value.as_bytes());
                Ok(())
            }),
            Work::Encrypt(transform) => {
                let raw = as_text(raw, spec)?;
                text(raw.len(), raw.nulls(), spec, raw.value_data().len() * 2 + raw.len() * 60, |row, bytes| {
                    let digest = digests.get(row_of(row)).ok_or_else(|| refused(spec, "stands in no row"))?;
                    transform.apply(raw.value(row), digest, bytes).map_err(why(spec))
                })
            }
            Work::Shift { .. } | Work::ContextHash { .. } => Err(nesting(spec)),
            Work::FixedSize(buckets) => bucket(raw, &|value| buckets.lower_bound(value), spec),
            Work::Buckets { buckets, labels: false } => bucket(raw, &|value| buckets.lower_bound(value), spec),
            Work::Buckets { buckets, labels: true } => {
                let values = integers(raw, spec)?;
                text(raw.len(), raw.nulls(), spec, raw.len() * 8, |row, bytes| {
                    bytes.extend_from_slice(buckets.bucket(values(row)).map_err(why(spec))?.as_bytes());
                    Ok(())
                })
            }
            Work::TimePart(part) => match raw.data_type() {
                DataType::Date32 => {
                    let parts = raw.as_primitive::<Date32Type>().try_unary::<_, Int32Type, _>(|days| part.of_days(days).map_err(why(spec)))?;
                    Ok(Arc::new(parts))
                }
                DataType::Timestamp(_, _) => {
                    let times = raw.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(|| refused(spec, "is not in microseconds"))?;
                    Ok(Arc::new(times.try_unary::<_, Int32Type, _>(|time| part.of_micros(time).map_err(why(spec)))?))
                }
                _ => Err(refused(spec, "is neither a date nor a timestamp")),
            },
        }
    }
}

/// Puts a column together from what was made of its distinct values.
fn gather(made: &Made, output: Output, rows: &[u32], nulls: Option<&NullBuffer>, spec: &ColumnSpec) -> Result<ArrayRef> {
    match output {
        Output::Text => {
            let mean = made.bytes.len() / made.ends.len().max(1) + 1;
            text(rows.len(), nulls, spec, rows.len() * mean, |row, bytes| {
                let number = rows[row] as usize;
                let start = if number == 0 { Some(&0) } else { made.ends.get(number - 1) };
                // Every number that a row has was made something of.
                let token = start.zip(made.ends.get(number)).and_then(|(start, end)| made.bytes.get(*start..*end));
                bytes.extend_from_slice(token.ok_or_else(|| refused(spec, "got no token"))?);
                Ok(())
            })
        }
        Output::Int64 => {
            let null = match &spec.nulls {
                NullWork::Token(token) => Some(number(token.as_bytes()).ok_or_else(|| refused(spec, "became no integer"))?),
                NullWork::Keep | NullWork::Refuse => None,
            };
            let token = |&number: &u32| if number == NULL { null } else { made.numbers.get(number as usize).copied().flatten() };
            Ok(Arc::new(rows.iter().map(token).collect::<Int64Array>()))
        }
    }
}

/// A column of text: `write` appends the text of each row that is not null.
fn text(
    rows: usize,
    nulls: Option<&NullBuffer>,
    spec: &ColumnSpec,
    capacity: usize,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<ArrayRef> {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    let null = if let NullWork::Token(token) = &spec.nulls { Some(token.as_bytes()) } else { None };
    let mut bytes = Vec::with_capacity(capacity);
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0_i32);
    for row in 0..rows {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            write(row, &mut bytes)?;
        } else if let Some(null) = null {
            bytes.extend_from_slice(null);
        }
        ends.push(i32::try_from(bytes.len()).map_err(|_| refused(spec, "makes the batch too long"))?);
    }
    let nulls = if null.is_some() { None } else { nulls.cloned() };
    // Transforms append UTF-8; a fault there must not become a panic here. One look over all bytes is cheaper than one for each token.
    let output = StringArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), nulls);
    Ok(Arc::new(output.map_err(|_| refused(spec, "became bytes that are no text"))?))
}

fn shift_dates(raw: &ArrayRef, spec: &ColumnSpec, days: &mut dyn FnMut(usize) -> Result<i32>) -> Result<ArrayRef> {
    const DAY_MICROS: i64 = 86_400_000_000;
    /// 0001-01-01 and 9999-12-31, in days since 1970: what every reader can express.
    const FIRST_DAY: i32 = -719_162;
    const LAST_DAY: i32 = 2_932_896;
    let leaves = || refused(spec, "leaves the calendar when it is shifted");
    match raw.data_type() {
        DataType::Date32 => {
            let dates = raw.as_primitive::<Date32Type>();
            let mut shifted = Vec::with_capacity(dates.len());
            for row in 0..dates.len() {
                shifted.push(if dates.is_null(row) {
                    None
                } else {
                    let day = dates.value(row).checked_add(days(row)?);
                    Some(day.filter(|day| FIRST_DAY <= *day && *day <= LAST_DAY).ok_or_else(leaves)?)
                });
            }
            Ok(Arc::new(Date32Array::from(shifted)))
        }
        DataType::Timestamp(_, zone) => {
            let times = raw.as_primitive_opt::<TimestampMicrosecondType>().ok_or_else(|| refused(spec, "is not in microseconds"))?;
            let mut shifted = Vec::with_capacity(times.len());
            for row in 0..times.len() {
                shifted.push(if times.is_null(row) {
                    None
                } else {
                    let time = i64::from(days(row)?).checked_mul(DAY_MICROS).and_then(|by| times.value(row).checked_add(by));
                    let inside = |time: &i64| (i64::from(FIRST_DAY)..=i64::from(LAST_DAY)).contains(&time.div_euclid(DAY_MICROS));
                    Some(time.filter(inside).ok_or_else(leaves)?)
                });
            }
            Ok(Arc::new(TimestampMicrosecondArray::from(shifted).with_timezone_opt(zone.clone())))
        }
        _ => Err(refused(spec, "is neither a date nor a timestamp")),
    }
}

/// The numbers of a column in units of its last digit; zero for null.
fn integers<'a>(raw: &'a ArrayRef, spec: &ColumnSpec) -> Result<Box<dyn Fn(usize) -> i128 + 'a>> {
    Ok(match raw.data_type() {
        DataType::Int32 => {
            let values = raw.as_primitive::<Int32Type>();
            Box::new(|row| values.value(row).into())
        }
        DataType::Int64 => {
            let values = raw.as_primitive::<Int64Type>();
            Box::new(|row| values.value(row).into())
        }
        DataType::Decimal128(..) => {
            let values = raw.as_primitive::<Decimal128Type>();
            Box::new(|row| values.value(row))
        }
        _ => return Err(refused(spec, "is neither an integer nor a decimal")),
    })
}

/// Numbers to numbers of the same type.
fn bucket(raw: &ArrayRef, floor: &dyn Fn(i128) -> std::result::Result<i128, ValueRefused>, spec: &ColumnSpec) -> Result<ArrayRef> {
    let floor = |value: i128| floor(value).map_err(why(spec));
    let outside = || refused(spec, "has a bucket outside its type");
    match raw.data_type() {
        DataType::Int32 => {
            let of = |value: i32| i32::try_from(floor(value.into())?).map_err(|_| outside());
            Ok(Arc::new(raw.as_primitive::<Int32Type>().try_unary::<_, Int32Type, _>(of)?))
        }
        DataType::Int64 => {
            let of = |value: i64| i64::try_from(floor(value.into())?).map_err(|_| outside());
            Ok(Arc::new(raw.as_primitive::<Int64Type>().try_unary::<_, Int64Type, _>(of)?))
        }
        DataType::Decimal128(precision, scale) => {
            let floored = raw.as_primitive::<Decimal128Type>().try_unary::<_, Decimal128Type, _>(floor)?;
            // The type first: only then are numbers held against its precision.
            let floored = floored.with_precision_and_scale(*precision, *scale).map_err(|_| outside())?;
            floored.validate_decimal_precision(*precision).map_err(|_| outside())?;
            Ok(Arc::new(floored))
        }
        _ => Err(refused(spec, "is neither an integer nor a decimal")),
    }
}
