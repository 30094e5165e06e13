//! What happens to each column of a batch: the transforms of the policy, applied column by column.
use super::cache::TokenCache;
use super::exec::Spec;
use crate::error::{Culprit, Failure, Result};
use crate::shard::{shard_column, tie_column};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::FormatOptions;
use perimeter_pseudonym::transform::{Canonicalizer, Context, DateShift, TextTransform};
use std::sync::Arc;

/// A value that does not fit the boundary's type is refused, never made null.
const STRICT: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

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
    /// Text to text, once per distinct value.
    Text(Box<TextTransform>),
    /// Whole days, by the value of another input column.
    Shift {
        /// The position of the context in the input.
        context: usize,
        /// The keyed shift.
        shift: DateShift,
        /// What happens to the context before it picks a shift.
        canonical: Canonicalizer,
    },
    /// The keyed hash of another input column: a hidden column that lets *shape* see that a sequence has one context.
    ContextHash {
        /// The keyed hash.
        hash: Context,
        /// What happens to the value before.
        canonical: Canonicalizer,
    },
    /// The lower bound of the bucket, in units of the column's own scale.
    Bucket {
        /// The bucket's width, unscaled.
        size: i128,
    },
}

impl Work {
    /// A transform of text.
    pub fn text(transform: TextTransform) -> Self {
        Self::Text(Box::new(transform))
    }

    /// Whether a value costs cryptography: then tokens are kept. A mask is cheaper than a look-up.
    fn is_keyed(&self) -> bool {
        match self {
            Self::Text(transform) => !matches!(**transform, TextTransform::CharacterMask(_) | TextTransform::Truncate(_)),
            Self::Keep | Self::Bucket { .. } => false,
            Self::Shift { .. } | Self::ContextHash { .. } => true,
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

/// The state of one partition: transforms and their caches.
pub struct Workers {
    spec: Arc<Spec>,
    columns: Vec<Worker>,
}

struct Worker {
    work: Work,
    cache: TokenCache,
}

impl Workers {
    /// The state for one partition.
    pub fn new(spec: Arc<Spec>) -> Self {
        let cached = spec.columns.iter().filter(|column| column.work.is_keyed()).count();
        let budget = spec.cache_bytes / cached.max(1);
        let columns = spec.columns.iter().map(|column| Worker { work: column.work.clone(), cache: TokenCache::new(budget) }).collect();
        Self { spec, columns }
    }

    /// One raw batch in, one pseudonymized batch out, hidden columns last.
    ///
    /// # Errors
    /// A value that its transform refuses, a null that the policy refuses, a date that leaves the calendar (exit 1).
    pub fn push(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len() + 1);
        for (spec, worker) in self.spec.columns.iter().zip(&mut self.columns) {
            let raw = batch.column(spec.input);
            if let NullWork::Refuse = spec.nulls
                && raw.null_count() > 0
            {
                return Err(refused(spec, "is null where the policy says `nulls: reject`"));
            }
            let raw = if raw.data_type() == &spec.data_type {
                Arc::clone(raw)
            } else {
                cast_with_options(raw, &spec.data_type, &STRICT).map_err(|_| refused(spec, "does not fit its type"))?
            };
            columns.push(worker.apply(spec, &raw, batch)?);
        }
        let fault = |_| Failure::new(Culprit::Outside, "pseudonymize-failed", "a pseudonymized batch does not have the planned types");
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

impl Worker {
    fn apply(&mut self, spec: &ColumnSpec, raw: &ArrayRef, batch: &RecordBatch) -> Result<ArrayRef> {
        match &mut self.work {
            Work::Keep => Ok(Arc::clone(raw)),
            work @ Work::Text(_) => {
                let keyed = work.is_keyed();
                let Work::Text(transform) = work else { return Ok(Arc::clone(raw)) };
                text(transform, keyed.then_some(&mut self.cache), spec, &as_text(raw, spec)?)
            }
            Work::Shift { context, shift, canonical } => {
                let contexts = as_text(batch.column(*context), spec)?;
                let mut days = |row: usize| -> Result<Option<i32>> {
                    if contexts.is_null(row) {
                        return Err(refused(spec, "has no context to pick its shift"));
                    }
                    let value = contexts.value(row);
                    let token = self.cache.token(value.as_bytes(), |out| {
                        let canonical = canonical.run(value).map_err(|_| ())?;
                        out.extend_from_slice(&shift.days(canonical.as_bytes()).to_le_bytes());
                        Ok::<_, ()>(())
                    });
                    let token = token.map_err(|()| refused(spec, "has a context that cannot be canonicalized"))?;
                    Ok(token.try_into().ok().map(i32::from_le_bytes))
                };
                shift_dates(raw, spec, &mut days)
            }
            Work::ContextHash { hash, canonical } => {
                let contexts = as_text(raw, spec)?;
                let mut hashes = Vec::with_capacity(contexts.len());
                for row in 0..contexts.len() {
                    if contexts.is_null(row) {
                        hashes.push(0);
                        continue;
                    }
                    let value = contexts.value(row);
                    let token = self.cache.token(value.as_bytes(), |out| {
                        let canonical = canonical.run(value).map_err(|_| ())?;
                        out.extend_from_slice(&hash.hash64(canonical.as_bytes()).to_le_bytes());
                        Ok::<_, ()>(())
                    });
                    let token = token.map_err(|()| refused(spec, "cannot be canonicalized"))?;
                    hashes.push(token.try_into().map_or(0, i64::from_le_bytes));
                }
                Ok(Arc::new(Int64Array::from(hashes)))
            }
            Work::Bucket { size } => bucket(raw, *size, spec),
        }
    }
}

/// Text as it is; integers and dates in their canonical spelling.
fn as_text(raw: &ArrayRef, spec: &ColumnSpec) -> Result<StringArray> {
    match raw.as_string_opt::<i32>() {
        Some(text) => Ok(text.clone()),
        None => cast(raw, &DataType::Utf8).ok().and_then(|text| text.as_string_opt::<i32>().cloned()).ok_or_else(|| refused(spec, "cannot be written as text")),
    }
}

fn text(transform: &mut TextTransform, mut cache: Option<&mut TokenCache>, spec: &ColumnSpec, raw: &StringArray) -> Result<ArrayRef> {
    let outside = || refused(spec, "makes the batch too long");
    let mut bytes = Vec::with_capacity(raw.len() * 32);
    let mut ends = Vec::with_capacity(raw.len() + 1);
    ends.push(0_i32);
    for row in 0..raw.len() {
        if raw.is_valid(row) {
            let value = raw.value(row);
            let refuse = |why| refused(spec, &format!("is refused: {why}"));
            match &mut cache {
                Some(cache) => bytes.extend_from_slice(cache.token(value.as_bytes(), |out| transform.apply(value, out)).map_err(refuse)?),
                None => transform.apply(value, &mut bytes).map_err(refuse)?,
            }
        } else if let NullWork::Token(token) = &spec.nulls {
            bytes.extend_from_slice(token.as_bytes());
        }
        ends.push(i32::try_from(bytes.len()).map_err(|_| outside())?);
    }
    let nulls = if let NullWork::Token(_) = spec.nulls { None } else { raw.nulls().cloned() };
    // Transforms append UTF-8; a fault there must not become a panic here. One look over all bytes is cheaper than one for each token.
    let output = StringArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), nulls);
    Ok(Arc::new(output.map_err(|_| refused(spec, "became bytes that are no text"))?))
}

fn shift_dates(raw: &ArrayRef, spec: &ColumnSpec, days: &mut dyn FnMut(usize) -> Result<Option<i32>>) -> Result<ArrayRef> {
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
                let by = if dates.is_null(row) { None } else { days(row)? };
                shifted.push(by.map(|by| dates.value(row).checked_add(by).filter(|day| FIRST_DAY <= *day && *day <= LAST_DAY).ok_or_else(leaves)).transpose()?);
            }
            Ok(Arc::new(Date32Array::from(shifted)))
        }
        DataType::Timestamp(_, zone) => {
            let times = raw.as_primitive::<TimestampMicrosecondType>();
            let mut shifted = Vec::with_capacity(times.len());
            for row in 0..times.len() {
                let by = if times.is_null(row) { None } else { days(row)? };
                shifted.push(
                    by.map(|by| {
                        i64::from(by)
                            .checked_mul(DAY_MICROS)
                            .and_then(|by| times.value(row).checked_add(by))
                            .filter(|time| (i64::from(FIRST_DAY)..=i64::from(LAST_DAY)).contains(&time.div_euclid(DAY_MICROS)))
                            .ok_or_else(leaves)
                    })
                    .transpose()?,
                );
            }
            Ok(Arc::new(TimestampMicrosecondArray::from(shifted).with_timezone_opt(zone.clone())))
        }
        _ => Err(refused(spec, "is neither a date nor a timestamp")),
    }
}

fn bucket(raw: &ArrayRef, size: i128, spec: &ColumnSpec) -> Result<ArrayRef> {
    let floor = |value: i128| value.div_euclid(size).checked_mul(size);
    let outside = || refused(spec, "has a bucket outside its type");
    match raw.data_type() {
        DataType::Int32 => {
            let floored = raw
                .as_primitive::<Int32Type>()
                .try_unary::<_, Int32Type, _>(|value| floor(value.into()).and_then(|value| i32::try_from(value).ok()).ok_or_else(outside))?;
            Ok(Arc::new(floored))
        }
        DataType::Int64 => {
            let floored = raw
                .as_primitive::<Int64Type>()
                .try_unary::<_, Int64Type, _>(|value| floor(value.into()).and_then(|value| i64::try_from(value).ok()).ok_or_else(outside))?;
            Ok(Arc::new(floored))
        }
        DataType::Decimal128(precision, scale) => {
            let floored = raw.as_primitive::<Decimal128Type>().try_unary::<_, Decimal128Type, _>(|value| floor(value).ok_or_else(outside))?;
            Ok(Arc::new(floored.with_precision_and_scale(*precision, *scale).map_err(|_| outside())?))
        }
        _ => Err(refused(spec, "is neither an integer nor a decimal")),
    }
}
