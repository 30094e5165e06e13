//! What every Example of a job looks like, settled before the first row: which columns feed which features, and how.
mod number;

pub(crate) use number::{How, Number, Out, Source, narrow};

use super::column::Values;
use super::overflow::{Overflow, Side};
use super::statistics::FeatureStatistics;
use super::tokenize::Tokenizer;
use super::vocabulary::HashEncoder;
use super::{dtype, pack};
use crate::seal::Unit;
use crate::shard::Text;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use number::whole;
use perimeter_contract::Diagnostic;
use perimeter_contract::job::{self, Buckets, Dtype, Encode, Feature, Scale, Shape};
use std::collections::{BTreeMap, HashMap};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

/// The hidden Int32 column that holds a row's shard; see [`shard_column`](crate::shard::shard_column).
pub const SHARD_COLUMN: &str = "__shard";
/// The hidden Int64 column that holds a digest of a row's privacy unit, where statistics count units.
pub const UNIT_COLUMN: &str = "__unit";
/// Columns whose name starts so are the pipeline's own: they reach neither Examples nor the table.
pub const HIDDEN_PREFIX: &str = "__";
/// Every sequence Example carries its number of events under this name.
pub const LENGTH: &str = "length";
/// Every sequence Example carries the number of the chunk in its entity, from 0, under this name.
pub const CHUNK: &str = "chunk";
/// A dimension of any length in [`FeatureShape::shape`]: of `layout: maxtext`, and of nothing else.
pub const ANY_LENGTH: u32 = 0;
/// After a feature's name: which example of a packed window a place belongs to, from 1.
pub const SEGMENTATION: &str = "_segmentation";
/// After a feature's name: the number of a place in its example, from 0.
pub const POSITION: &str = "_position";

/// A job's shape, resolved against the columns of the sorted, pseudonymized batches.
#[derive(Debug)]
pub struct Layout {
    pub(crate) shard: usize,
    /// The digests of privacy units.
    pub(crate) unit: Option<usize>,
    /// The sequence's entity column.
    pub(crate) entity: Option<usize>,
    pub(crate) contexts: Vec<Context>,
    /// Numeric columns that are converted batch by batch.
    pub(crate) numbers: Vec<Number>,
    /// Text columns of row jobs.
    pub(crate) texts: Vec<TextColumn>,
    /// Which of [`Layout::numbers`] lie along the bucketed axis: all of a sequence's, or a row's tokens.
    pub(crate) axis: Vec<usize>,
    /// What an Example holds, in byte order of the names.
    pub(crate) slots: Vec<Slot>,
    /// What happens to examples longer than the largest bucket.
    pub(crate) overflow: Overflow,
    /// Several examples in one window.
    pub(crate) packing: Option<pack::Limits>,
    buckets: Vec<u32>,
    /// One feature of any length and nothing beside it: where it is cut, if anywhere.
    unpadded: Option<Option<u32>>,
    table: Vec<usize>,
    table_schema: SchemaRef,
}

/// A column in which every event of an entity must agree.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) index: usize,
    pub(crate) name: String,
}

/// One feature of an Example.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) content: Content,
    /// Its last dimension, where one event or row has several values.
    pub(crate) inner: Option<u32>,
}

impl Slot {
    /// Values of one event or row.
    pub(crate) fn width(&self) -> usize {
        self.inner.map_or(1, |inner| inner as usize)
    }

    /// Values of a record with `padded` places along the axis.
    pub(crate) fn places(&self, padded: usize) -> usize {
        if self.content.on_axis() { padded * self.width() } else { self.width() }
    }
}

/// Where a feature's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The n-th series of values along the bucketed axis.
    Axis(usize),
    /// The n-th of [`Layout::numbers`], once per row.
    Scalar(usize),
    /// The n-th of [`Layout::texts`].
    Text(usize),
    /// The entity's token.
    Entity,
    /// Events in the chunk.
    Length,
    /// Number of the chunk.
    Chunk,
    /// Of a window, for each place: the number of its example, from 1; 0 for padding.
    Segmentation,
    /// Of a window, for each place: its number in its example, from 0.
    Position,
}

impl Content {
    /// Whether it has a value for each place along the bucketed axis.
    pub(crate) fn on_axis(self) -> bool {
        matches!(self, Self::Axis(_) | Self::Segmentation | Self::Position)
    }
}

/// A text feature of a row job.
#[derive(Debug)]
pub(crate) struct TextColumn {
    pub(crate) feature: String,
    pub(crate) column: String,
    pub(crate) index: usize,
}

/// What a shape needs beside its job file: what was loaded, chosen or frozen.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// By feature.
    pub tokenizers: BTreeMap<String, Arc<Tokenizer>>,
    /// The buckets, where the job file leaves them to the data.
    pub buckets: Vec<u32>,
    /// Scales and vocabularies, by feature; `None` for the pass that finds them out.
    pub features: Option<BTreeMap<String, FeatureStatistics>>,
}

/// What a consumer has to know of one feature; the entries of `shapes.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureShape {
    /// Its name in the Example.
    pub name: String,
    /// Its type.
    pub dtype: Dtype,
    /// Empty for a single value; [`ANY_LENGTH`] where it is not static.
    pub shape: Vec<u32>,
}

impl Layout {
    /// Joins a job's `shape` with the columns of the batches that will be pushed. `contexts` names the hidden Int64 columns in which all events of one
    /// entity must agree (shift contexts of dates); they count only in sequence jobs. `frozen` holds what the job file only names.
    ///
    /// # Errors
    /// Every mistake, each at the place in the job file that caused it.
    pub fn resolve(shape: &Shape, schema: &Schema, contexts: &[&str], frozen: &Frozen) -> Result<Self, Vec<Diagnostic>> {
        let mut mistakes = Vec::new();
        let find = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        let visible = || {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).filter(|name| !name.starts_with(HIDDEN_PREFIX)).collect();
            format!("the rows after `prepare` have: {}", names.join(", "))
        };
        let shard = find(SHARD_COLUMN).filter(|&index| *schema.field(index).data_type() == DataType::Int32);
        if shard.is_none() {
            mistakes.push(
                Diagnostic::new("no-shard-column", shape.span, format!("the rows have no Int32 column `{SHARD_COLUMN}`")).help("this is a bug: report it"),
            );
        }
        let buckets = match &shape.buckets {
            Buckets::Fixed(buckets) => buckets,
            Buckets::Auto(_) => &frozen.buckets,
        };
        let mut entity = None;
        if let Some(sequence) = &shape.sequence {
            entity = find(&sequence.by);
            match entity.map(|index| schema.field(index)) {
                None => {
                    mistakes.push(Diagnostic::new("unknown-column", sequence.span, format!("`by` names `{}`, which is no column", sequence.by)).help(visible()))
                }
                Some(field) if !groups(field.data_type()) => mistakes.push(
                    Diagnostic::new("entity-type", sequence.span, format!("`{}` is of type {}, which names no entity", sequence.by, field.data_type()))
                        .help("group by a text, integer, date, decimal or boolean column"),
                ),
                Some(_) => {}
            }
            if buckets.is_empty() || buckets.windows(2).any(|pair| pair[0] >= pair[1]) || buckets[0] == 0 {
                mistakes.push(Diagnostic::new("buckets", shape.span, "`buckets` of a sequence job are positive and ascend").help("for example [16, 32, 64]"));
            }
        }
        let table: Vec<usize> = (0..schema.fields().len()).filter(|&index| !schema.field(index).name().starts_with(HIDDEN_PREFIX)).collect();
        // Metadata of the sources is nobody's business downstream.
        let fields: Vec<Field> = table.iter().map(|&index| schema.field(index).clone().with_metadata(HashMap::new())).collect();
        let mut this = Self {
            shard: shard.unwrap_or_default(),
            unit: find(UNIT_COLUMN).filter(|&index| *schema.field(index).data_type() == DataType::Int64),
            entity,
            contexts: Vec::new(),
            numbers: Vec::new(),
            texts: Vec::new(),
            slots: Vec::new(),
            overflow: overflow(shape.overflow),
            packing: shape.packing.map(|packing| limits(packing, buckets)),
            axis: Vec::new(),
            buckets: buckets.clone(),
            unpadded: None,
            table,
            table_schema: Arc::new(Schema::new(fields)),
        };
        if shape.sequence.is_some() {
            for &name in contexts {
                match find(name).filter(|&index| *schema.field(index).data_type() == DataType::Int64) {
                    Some(index) => this.contexts.push(Context { index, name: name.to_owned() }),
                    None => mistakes.push(
                        Diagnostic::new("no-context-column", shape.span, format!("the rows have no Int64 column `{name}`")).help("this is a bug: report it"),
                    ),
                }
            }
        }
        let tokenized = shape.features.iter().any(|feature| feature.tokenizer.is_some());
        if shape.layout == job::Layout::Maxtext && (shape.sequence.is_some() || tokenized) {
            this.unpadded = Some(std::mem::take(&mut this.buckets).last().copied());
        } else if !buckets.is_empty() {
            this.slots.push(Slot { name: LENGTH.to_owned(), dtype: Dtype::Int64, content: Content::Length, inner: None });
            if shape.packing.is_none() {
                this.slots.push(Slot { name: CHUNK.to_owned(), dtype: Dtype::Int64, content: Content::Chunk, inner: None });
            }
        }
        for feature in &shape.features {
            let Some(index) = find(&feature.column).filter(|_| !feature.column.starts_with(HIDDEN_PREFIX)) else {
                let message = format!("feature `{}` takes column `{}`, which is not there", feature.name, feature.column);
                mistakes.push(Diagnostic::new("unknown-column", feature.span, message).help(visible()));
                continue;
            };
            if this.slots.iter().any(|slot| slot.name == feature.name) {
                let message = format!("an Example can hold one feature `{}`", feature.name);
                mistakes.push(
                    Diagnostic::new("duplicate-feature", feature.span, message)
                        .help(format!("rename it; sequences carry `{LENGTH}` and `{CHUNK}` of their own")),
                );
                continue;
            }
            match this.content(feature, index, schema.field(index), shape.sequence.is_some(), frozen) {
                Ok((content, inner)) => {
                    this.slots.push(Slot { name: feature.name.clone(), dtype: feature.dtype, content, inner });
                    if this.packing.is_some() && content.on_axis() {
                        let slot = |suffix: &str, content| Slot { name: format!("{}{suffix}", feature.name), dtype: Dtype::Int32, content, inner: None };
                        this.slots.push(slot(SEGMENTATION, Content::Segmentation));
                        this.slots.push(slot(POSITION, Content::Position));
                    }
                }
                Err(mistake) => mistakes.push(mistake),
            }
        }
        if shape.features.is_empty() {
            mistakes.push(Diagnostic::new("no-features", shape.span, "an Example needs at least one feature").help("list columns under `features`"));
        }
        this.slots.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        if mistakes.is_empty() { Ok(this) } else { Err(mistakes) }
    }

    /// How one feature gets its values.
    fn content(&mut self, feature: &Feature, index: usize, field: &Field, sequence: bool, frozen: &Frozen) -> Result<(Content, Option<u32>), Diagnostic> {
        let refuse = |message: String, help: &str| Err(Diagnostic::new("feature-type", feature.span, message).help(help));
        let (name, column) = (&feature.name, &feature.column);
        if feature.encode == Encode::SecondsSincePrevious && !sequence {
            return refuse(format!("feature `{name}`: `secondsSincePrevious` needs a sequence"), "add `sequence`, or leave `encode` out");
        }
        let out = match (feature.dtype, dtype::Dtype::of(feature.dtype)) {
            (Dtype::Bytes, _) | (_, None) => {
                if feature.scale != Scale::None || feature.encode != Encode::Value || feature.missing.is_some() {
                    return refuse(format!("feature `{name}`: bytes take no `scale`, `encode` or `missing`"), "leave them out");
                }
                if !Text::holds(plain_type(field.data_type())) {
                    return refuse(format!("feature `{name}`: column `{column}` of type {} gives no bytes", field.data_type()), "use float32 or int64");
                }
                if !sequence {
                    self.texts.push(TextColumn { feature: name.clone(), column: column.clone(), index });
                    return Ok((Content::Text(self.texts.len() - 1), None));
                }
                if self.entity == Some(index) {
                    return Ok((Content::Entity, None));
                }
                return refuse(format!("feature `{name}`: text has no static shape inside a sequence"), "only the entity's own column may be `bytes` there");
            }
            (_, Some(dtype)) if dtype.is_float() => Out::Float { dtype, missing: feature.missing },
            (_, Some(dtype)) => Out::Int { dtype, missing: feature.missing.and_then(whole) },
        };
        if let Some(wanted) = &feature.tokenizer {
            let Some(tokenizer) = frozen.tokenizers.get(name) else {
                return refuse(format!("feature `{name}`: its tokenizer was not loaded"), "this is a bug: report it");
            };
            if !Text::holds(plain_type(field.data_type())) {
                return refuse(format!("feature `{name}`: column `{column}` of type {} is no text", field.data_type()), "tokenize a text column");
            }
            let on_axis = !sequence && (!self.buckets.is_empty() || self.unpadded.is_some());
            let inner = if on_axis { None } else { wanted.max_tokens.map(NonZeroU32::get) };
            let (encode, scale) = (Encode::Value, Scale::None);
            let tokenizer = Some(Arc::clone(tokenizer));
            let how = How { tokenizer, ..How::default() };
            let number = Number { feature: name.clone(), column: column.clone(), index, source: Source::Text, encode, scale, out, how, inner };
            return Ok((self.number(number, sequence || on_axis), inner));
        }
        let how = self::how(feature, frozen)?;
        if feature.encode.is_category() {
            let data_type = plain_type(field.data_type());
            if !(Text::holds(data_type) && !data_type.is_binary() || *data_type == DataType::Boolean || data_type.is_integer()) {
                return refuse(
                    format!("feature `{name}`: column `{column}` of type {} is no category", field.data_type()),
                    "take text, an integer or a boolean",
                );
            }
            let inner = if let Encode::OneHot { max_size, .. } = feature.encode { Some(max_size.get().saturating_add(3)) } else { None };
            let (encode, scale) = (feature.encode, Scale::None);
            let number = Number { feature: name.clone(), column: column.clone(), index, source: Source::Text, encode, scale, out, how, inner };
            return Ok((self.number(number, sequence), inner));
        }
        let Some(source) = Source::of(plain_type(field.data_type())) else {
            return refuse(
                format!("feature `{name}`: column `{column}` of type {} is no number", field.data_type()),
                "cast it in `prepare`, or use dtype bytes",
            );
        };
        match (feature.missing, out) {
            (Some(_), Out::Int { dtype, missing }) if missing.is_none_or(|missing| !dtype.holds(missing)) => {
                return refuse(format!("feature `{name}`: `missing` is no {}", dtype.name()), "give a whole number that the dtype holds");
            }
            (Some(missing), Out::Float { dtype, .. }) if !missing.is_finite() || dtype.append_doubles(&[missing], &mut Vec::new()).is_err() => {
                return refuse(format!("feature `{name}`: `missing` is not a finite {}", dtype.name()), "give a finite number");
            }
            _ => {}
        }
        if matches!(feature.encode, Encode::SecondsSincePrevious | Encode::DayOfWeek) && !matches!(source, Source::Date | Source::Timestamp { .. }) {
            let word = if feature.encode == Encode::DayOfWeek { "dayOfWeek" } else { "secondsSincePrevious" };
            return refuse(format!("feature `{name}`: `{word}` needs a date or a timestamp; `{column}` is {}", field.data_type()), "take the event's time");
        }
        if let Out::Int { dtype, .. } = out {
            if feature.scale != Scale::None {
                return refuse(format!("feature `{name}`: a scaled number is no {}", dtype.name()), "use float32");
            }
            let exact = match source {
                Source::Decimal { scale } => scale == 0,
                Source::Float | Source::Text => false,
                Source::Boolean | Source::Integer | Source::Date | Source::Timestamp { .. } => true,
            };
            if !exact {
                return refuse(
                    format!("feature `{name}`: column `{column}` of type {} is not exact as {}", field.data_type(), dtype.name()),
                    "use float32, or round it in `prepare`",
                );
            }
        }
        let (encode, scale) = (feature.encode, feature.scale);
        let number = Number { feature: name.clone(), column: column.clone(), index, source, encode, scale, out, how, inner: None };
        Ok((self.number(number, sequence), None))
    }

    fn number(&mut self, number: Number, on_axis: bool) -> Content {
        self.numbers.push(number);
        if !on_axis {
            return Content::Scalar(self.numbers.len() - 1);
        }
        self.axis.push(self.numbers.len() - 1);
        Content::Axis(self.axis.len() - 1)
    }

    /// Whether Examples are sequences; else each is a row.
    pub fn sequences(&self) -> bool {
        self.entity.is_some()
    }

    /// The bucket sizes, ascending; empty in row jobs.
    pub fn buckets(&self) -> &[u32] {
        &self.buckets
    }

    /// The largest bucket: where longer sequences are cut. 1 in row jobs.
    pub(crate) fn chunk_events(&self) -> usize {
        match self.unpadded {
            Some(cut) => cut.map_or(usize::MAX, |cut| cut as usize),
            None => self.buckets.last().map_or(1, |&bucket| bucket as usize),
        }
    }

    /// Whether examples are one feature of any length and nothing beside it.
    pub fn is_unpadded(&self) -> bool {
        self.unpadded.is_some()
    }

    /// The same, as a window that is never empty.
    pub(crate) fn window(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.chunk_events()).unwrap_or(NonZeroUsize::MIN)
    }

    /// Whether long sequences are whole chunks one after the other, with nothing left out and nothing twice.
    pub(crate) fn whole_chunks(&self) -> bool {
        matches!(self.overflow, Overflow::Split { overlap: 0 })
    }

    /// What lies along the bucketed axis; `None` in row jobs.
    pub fn axis_unit(&self) -> Option<Unit> {
        match (self.sequences(), self.buckets.is_empty() && self.unpadded.is_none()) {
            (true, _) => Some(Unit::Events),
            (false, false) => Some(Unit::Tokens),
            (false, true) => None,
        }
    }

    /// The buckets, or the one place of row jobs.
    pub fn bins(&self) -> Vec<Option<u32>> {
        if self.buckets.is_empty() { vec![None] } else { self.buckets.iter().copied().map(Some).collect() }
    }

    /// Per series along the axis: its values, none yet.
    pub(crate) fn axis_values(&self) -> Vec<Values> {
        self.axis.iter().filter_map(|&index| self.numbers.get(index)).map(Values::of).collect()
    }

    /// Per series along the axis: values of one place.
    pub(crate) fn axis_widths(&self) -> impl Iterator<Item = usize> + '_ {
        self.axis.iter().filter_map(|&index| self.numbers.get(index)).map(Number::width)
    }

    /// Columns of the table, as indexes into a batch.
    pub fn table_columns(&self) -> &[usize] {
        &self.table
    }

    /// The table's columns.
    pub fn table_schema(&self) -> SchemaRef {
        Arc::clone(&self.table_schema)
    }

    /// What an Example of `bucket` (`None`: a row) holds, in the order of its bytes.
    pub fn features(&self, bucket: Option<u32>) -> Vec<FeatureShape> {
        let any = self.unpadded.map(|_| ANY_LENGTH);
        let shape = |slot: &Slot| any.or(bucket).filter(|_| slot.content.on_axis()).into_iter().chain(slot.inner).collect();
        self.slots.iter().map(|slot| FeatureShape { name: slot.name.clone(), dtype: slot.dtype, shape: shape(slot) }).collect()
    }
}

/// What was frozen for a feature.
fn how(feature: &Feature, frozen: &Frozen) -> Result<How, Diagnostic> {
    let mut how = How::default();
    if let Encode::Hash { buckets } = feature.encode {
        how.hash = Some(HashEncoder::new(buckets, None));
    }
    let Some(features) = frozen.features.as_ref().filter(|_| feature.is_frozen()) else { return Ok(how) };
    let statistics = features.get(&feature.name);
    how.scaler = statistics.and_then(|statistics| statistics.scale.clone()).map(Arc::new);
    how.vocabulary = statistics.and_then(|statistics| statistics.vocabulary.clone()).map(Arc::new);
    let there = if feature.scale.is_frozen() { how.scaler.is_some() } else { how.vocabulary.is_some() };
    if there {
        return Ok(how);
    }
    let message = format!("the statistics hold nothing for the feature `{}`", feature.name);
    Err(Diagnostic::new("statistics", feature.span, message).help("pin statistics of a run with this feature, or remove `statistics`"))
}

fn limits(packing: job::Packing, buckets: &[u32]) -> pack::Limits {
    let size = |number: u32| NonZeroUsize::new(number as usize).unwrap_or(NonZeroUsize::MIN);
    pack::Limits { window: size(buckets.last().copied().unwrap_or(1)), segments: size(packing.max_segments.get()), open: size(packing.open_windows.get()) }
}

/// How examples longer than the largest bucket are cut.
pub(crate) fn overflow(overflow: job::Overflow) -> Overflow {
    match overflow {
        job::Overflow::Split { overlap } => Overflow::Split { overlap: overlap as usize },
        job::Overflow::Truncate(job::Side::Left) => Overflow::Truncate(Side::Left),
        job::Overflow::Truncate(job::Side::Right) => Overflow::Truncate(Side::Right),
        job::Overflow::Reject => Overflow::Reject,
    }
}

/// Types that compare by value and can name an entity.
fn groups(data_type: &DataType) -> bool {
    let plain = plain_type(data_type);
    Text::holds(plain) || plain.is_integer() || matches!(plain, DataType::Boolean | DataType::Date32 | DataType::Decimal128(..))
}

/// The type of a dictionary's values.
fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}
