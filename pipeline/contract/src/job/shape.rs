//! What one example looks like.
use super::Uri;
use crate::Span;
use std::num::NonZeroU32;

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
