//! What one example looks like, as typed.
use super::Number;
use crate::job::{Dtype, Layout, Scale, Side};
use crate::spanned::{OneOrMany, ShortOr, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// What one example looks like.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-not-available" = {
    "split": "split-not-available", "shuffle": "shuffle-not-available", "partialBatch": "partial-batch-not-available"
}))]
pub(crate) struct Shape {
    /// `static` by default.
    pub(crate) layout: Option<Spanned<Layout>>,
    /// One example per entity; without it one per row.
    pub(crate) sequence: Option<Spanned<Sequence>>,
    /// The tensors of an example.
    #[schemars(required)]
    pub(crate) features: Option<Spanned<Vec<Spanned<Feature>>>>,
    /// Lengths that examples are padded to, ascending; or how many the data may choose.
    pub(crate) buckets: Option<Spanned<ShortOr<Buckets, AutoBuckets>>>,
    /// What happens to sequences longer than the largest bucket.
    pub(crate) overflow: Option<Spanned<ShortOr<OverflowMode, Overflow>>>,
    /// Several examples in one window, in place of padding each.
    pub(crate) packing: Option<Spanned<Packing>>,
    /// A `statistics.json` of an earlier run: its buckets, scales and vocabularies are taken as they are.
    pub(crate) statistics: Option<Spanned<String>>,
}

/// How events become one example.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Sequence {
    /// The column whose value is the entity.
    #[schemars(required)]
    pub(crate) by: Option<Spanned<String>>,
    /// The columns that order its events.
    #[schemars(required)]
    pub(crate) order_by: Option<Spanned<OneOrMany<Spanned<String>>>>,
}

/// One tensor of an example.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Feature {
    /// Its name in the example.
    #[schemars(required)]
    pub(crate) name: Option<Spanned<String>>,
    /// The column of the prepared output that it holds.
    #[schemars(required)]
    pub(crate) column: Option<Spanned<String>>,
    /// The type of its elements; `int32` by default for tokens, and else required.
    pub(crate) dtype: Option<Spanned<Dtype>>,
    /// A fixed function of the value.
    pub(crate) scale: Option<Spanned<Scale>>,
    /// What of the value is taken.
    pub(crate) encode: Option<Spanned<Encode>>,
    /// `vocabulary`, `oneHot`: rarer values are out of the vocabulary; 1 by default.
    #[schemars(range(min = 1))]
    pub(crate) min_count: Option<Spanned<u32>>,
    /// `vocabulary`, `oneHot`: values at most; an `oneHot` vector has 3 places more.
    #[schemars(range(min = 1, max = MAX_BUCKET))]
    pub(crate) max_size: Option<Spanned<u32>>,
    /// `hash`: ids at most.
    #[schemars(range(min = 1))]
    pub(crate) hash_buckets: Option<Spanned<u32>>,
    /// A Hugging Face `tokenizer.json`, relative to this file or `s3://…`: the text as token ids.
    pub(crate) tokenizer: Option<Spanned<String>>,
    /// Tokens of a text at most, marks included; needed beside events.
    #[schemars(range(min = 1, max = MAX_BUCKET))]
    pub(crate) max_tokens: Option<Spanned<u32>>,
    /// The token that begins every text, by its name in the tokenizer.
    pub(crate) bos: Option<Spanned<String>>,
    /// The token that ends every text.
    pub(crate) eos: Option<Spanned<String>>,
    /// The end at which texts of more than `maxTokens` are cut; `right` by default.
    pub(crate) truncate: Option<Spanned<Side>>,
    /// What null becomes; without it a null rejects the row.
    pub(crate) missing: Option<Spanned<Number>>,
}

/// What of a value is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Encode {
    /// The value.
    #[default]
    Value,
    /// Whole seconds since the previous event of the entity; 0 for the first.
    SecondsSincePrevious,
    /// 0 for Monday to 6 for Sunday; never of shifted dates.
    DayOfWeek,
    /// The value's id in a vocabulary of the train split, frozen in `statistics.json`.
    Vocabulary,
    /// The same id as a vector of 0 and 1.
    OneHot,
    /// An id by hash.
    Hash,
}

/// Lengths that sequences are padded to.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Buckets(pub(crate) Vec<Spanned<u32>>);

impl JsonSchema for Buckets {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Buckets".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": MAX_BUCKET}})
    }
}

/// Buckets that the data choose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AutoBuckets {
    /// How many at most: the boundaries that waste least padding.
    #[schemars(required, range(min = 1, max = 64))]
    pub(crate) auto: Option<Spanned<u32>>,
    /// Every boundary is a multiple of it; 1 by default.
    #[schemars(range(min = 1, max = MAX_BUCKET))]
    pub(crate) multiple_of: Option<Spanned<u32>>,
    /// No boundary is beyond it: longer examples overflow.
    #[schemars(range(min = 1, max = MAX_BUCKET))]
    pub(crate) max: Option<Spanned<u32>>,
}

/// Several examples in one window.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Packing {
    /// Examples in a window at most; 64 by default.
    #[schemars(range(min = 1, max = MAX_BUCKET))]
    pub(crate) max_segments: Option<u32>,
    /// Windows that are filled at a time; 16 by default.
    #[schemars(range(min = 1, max = 1024))]
    pub(crate) open_windows: Option<u32>,
}

/// Longer static shapes than this are a typing mistake.
pub(crate) const MAX_BUCKET: u32 = 1 << 20;

/// What happens to sequences longer than the largest bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum OverflowMode {
    /// Cut into chunks of the largest bucket; the last one may be shorter.
    Split,
    /// Cut to one chunk of the largest bucket.
    Truncate,
    /// Leave the sequence out, and count it.
    Reject,
}

/// What happens to sequences longer than the largest bucket, with its options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Overflow {
    /// `split`, `truncate` or `reject`.
    #[schemars(required)]
    pub(crate) mode: Option<Spanned<OverflowMode>>,
    /// `split`: events between the starts of two neighbouring chunks; the largest bucket by default.
    #[schemars(range(min = 1, max = MAX_BUCKET))]
    pub(crate) stride: Option<Spanned<u32>>,
    /// `split`: events that two neighbouring chunks share, in place of `stride`; 0 by default.
    #[schemars(range(min = 0, max = MAX_BUCKET))]
    pub(crate) overlap: Option<Spanned<u32>>,
    /// `truncate`: the end at which events go, `right` (the newest) by default.
    pub(crate) side: Option<Spanned<Side>>,
}
