//! What one example looks like.
use super::super::places::{Places, Use};
use super::super::{Report, is_identifier, touched, unique};
use crate::diagnostic::shorten;
use crate::job::{AutoBuckets, Buckets, Dtype, Encode, Feature, Layout, Overflow, Packing, Pinned, RecordEncoding, Scale, Sequence, Shape, Sink, Tokenizer};
use crate::spanned::{OneOrMany, ShortOr, Spanned};
use crate::typed::job as typed;
use crate::{Diagnostic, Span, codes};
use std::num::NonZeroU32;

pub(crate) fn shape(typed: Spanned<typed::Shape>, places: &Places<'_>, report: &mut Report) -> Option<Shape> {
    let Spanned { value: typed, span } = typed;
    let cut = touched(report, span);
    let has_sequence = typed.sequence.is_some();
    let (layout, layout_span) = typed.layout.map_or((Layout::Static, span), |layout| (layout.value, layout.span));
    let tokens = if layout == Layout::Maxtext { Dtype::Int64 } else { Dtype::Int32 };
    let sequence = typed.sequence.map(|sequence| self::sequence(sequence, report));
    let by = sequence.as_ref().and_then(|sequence| sequence.as_ref()).map(|sequence| sequence.by.clone());
    let keys: Vec<(&str, Span)> = [
        ("buckets", typed.buckets.as_ref().map(|buckets| buckets.span)),
        ("overflow", typed.overflow.as_ref().map(|overflow| overflow.span)),
        ("packing", typed.packing.as_ref().map(|packing| packing.span)),
    ]
    .into_iter()
    .filter_map(|(key, span)| Some((key, span?)))
    .collect();
    let (no_buckets, packing_span) = (typed.buckets.is_none(), typed.packing.as_ref().map(|packing| packing.span));
    let buckets = typed.buckets.map(|buckets| self::buckets(buckets, report));
    let overflow =
        typed.overflow.map_or(Some(Overflow::Split { overlap: 0 }), |overflow| self::overflow(overflow, buckets.as_ref().and_then(Option::as_ref), report));
    let packing = typed.packing.map(|packing| Packing {
        max_segments: packing.value.max_segments.and_then(NonZeroU32::new).unwrap_or(DEFAULT_SEGMENTS),
        open_windows: packing.value.open_windows.and_then(NonZeroU32::new).unwrap_or(DEFAULT_WINDOWS),
    });
    let statistics = typed.statistics.map(|statistics| Some(Pinned { uri: places.uri(&statistics, Use::File, report)?, span: statistics.span }));
    let features = typed.features.and_then(|features| {
        if features.value.is_empty() && !touched(report, features.span) {
            report.push(Diagnostic::new(codes::EMPTY_LIST, features.span, "`features` is empty").help("an example holds at least one feature"));
        }
        unique(features.value.iter().filter_map(|f| f.value.name.as_ref()).map(|name| (name.value.as_str(), name.span)), "the feature", report);
        let count = features.value.len();
        let features: Vec<Feature> = features.value.into_iter().filter_map(|f| feature(f, has_sequence, by.as_deref(), tokens, places, report)).collect();
        (features.len() == count).then_some(features)
    });
    let tokenized = features.iter().flatten().filter(|feature| feature.tokenizer.is_some()).count();
    if has_sequence && no_buckets && !cut {
        let help = "`buckets: [16, 32, 64]`: the lengths that sequences are padded to";
        report.push(Diagnostic::new(codes::BUCKETS_NEEDED, span, "sequences need `buckets`").help(help));
    }
    if !has_sequence && !cut && features.is_some() {
        for (key, span) in keys {
            if tokenized == 0 {
                let message = format!("`{key}` without `sequence`");
                let help = "add `sequence` or a tokenized feature, or remove it: an example per row has no length";
                report.push(Diagnostic::new(codes::SEQUENCE_NEEDED, span, message).help(help));
            } else if no_buckets {
                report.push(
                    Diagnostic::new(codes::BUCKETS_NEEDED, span, format!("`{key}` without `buckets`")).help("`buckets: [16, 32, 64]`: numbers of tokens"),
                );
            }
        }
    }
    let sequence = match sequence {
        Some(sequence) => Some(sequence?),
        None => None,
    };
    let statistics = match statistics {
        Some(pinned) => Some(pinned?),
        None => None,
    };
    let buckets = buckets.unwrap_or(Some(Buckets::Fixed(Vec::new())))?;
    let shape = Shape { layout, sequence, features: features?, buckets, overflow: overflow?, packing, statistics, span };
    let before = report.len();
    match layout {
        Layout::Static => tokens_have_a_shape(&shape, report),
        Layout::Maxtext => one_column(&shape, layout_span, report),
    }
    if let Some(at) = packing_span {
        can_be_packed(&shape, at, report);
    }
    (report.len() == before).then_some(shape)
}

/// Examples in a window, where the job does not say: more would seldom fit.
const DEFAULT_SEGMENTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);
/// Windows that are filled at a time, where the job does not say.
const DEFAULT_WINDOWS: NonZeroU32 = NonZeroU32::MIN.saturating_add(15);

/// One axis is bucketed: events, else the tokens of one feature. All other tokens have `maxTokens`.
fn tokens_have_a_shape(shape: &Shape, report: &mut Report) {
    let tokenized: Vec<(&Feature, &Tokenizer)> = shape.features.iter().filter_map(|feature| Some((feature, feature.tokenizer.as_ref()?))).collect();
    let on_axis = shape.sequence.is_none() && !shape.buckets.is_none();
    if on_axis && tokenized.len() > 1 {
        let message = format!("`buckets` are lengths of one text, and {} features are tokenized", tokenized.len());
        report.push(Diagnostic::new(codes::BAD_TOKENIZER, shape.span, message).help("keep one of them, or give each `maxTokens` and remove `buckets`"));
    }
    for (feature, tokenizer) in tokenized.iter().filter(|(_, tokenizer)| tokenizer.max_tokens.is_none() && !on_axis) {
        let message = format!("the feature `{}` has texts of any length", shorten(&feature.name));
        let help = if shape.sequence.is_some() { "`maxTokens: 32`" } else { "`maxTokens: 32`, or `buckets` of tokens" };
        report.push(Diagnostic::new(codes::BAD_TOKENIZER, tokenizer.span, message).help(help));
    }
}

/// `layout: maxtext`.
fn one_column(shape: &Shape, at: Span, report: &mut Report) {
    let mut refuse = |span: Span, message: String, help: &str| report.push(Diagnostic::new(codes::BAD_LAYOUT, span, message).help(help));
    if let Some(extra) = shape.features.get(1) {
        refuse(extra.span, format!("`layout: maxtext` has one feature, and there are {}", shape.features.len()), "keep the one that MaxText reads");
    }
    if shape.packing.is_some() {
        refuse(at, "`layout: maxtext` and `packing`".to_owned(), "MaxText packs by itself: remove `packing`, or `layout: static`");
    }
    if shape.buckets.listed().len() > 1 || matches!(shape.buckets, Buckets::Auto(_)) {
        refuse(at, "`layout: maxtext` does not pad".to_owned(), "`buckets: [2048]`: where longer examples are cut");
    }
    if let Some(feature) = shape.features.first() {
        let fits = match (&shape.sequence, &feature.tokenizer) {
            (Some(_), None) | (None, Some(_)) => feature.dtype == Dtype::Int64,
            (None, None) => feature.dtype == Dtype::Bytes,
            (Some(_), Some(_)) => false,
        };
        if !fits {
            let help = "`int64` of sequences, tokens of rows, or a row's text as `bytes`";
            refuse(feature.span, format!("the feature `{}` is no column that MaxText reads", shorten(&feature.name)), help);
        }
    }
}

fn can_be_packed(shape: &Shape, at: Span, report: &mut Report) {
    let mut refuse = |span: Span, message: String, help: &str| report.push(Diagnostic::new(codes::BAD_PACKING, span, message).help(help));
    if shape.buckets.listed().len() != 1 {
        refuse(at, "windows have one length".to_owned(), "`buckets: [512]`: the length of a window");
    }
    for feature in &shape.features {
        if feature.dtype == Dtype::Bytes {
            let message = format!("the feature `{}` is `bytes`, and a window holds several examples", shorten(&feature.name));
            refuse(feature.span, message, "leave the feature out");
        } else if shape.sequence.is_none() && feature.tokenizer.is_none() {
            let message = format!("the feature `{}` has one value a row, and a window holds several rows", shorten(&feature.name));
            refuse(feature.span, message, "leave the feature out");
        }
    }
}

fn sequence(typed: Spanned<typed::Sequence>, report: &mut Report) -> Option<Sequence> {
    let Spanned { value: typed, span } = typed;
    let order_by = typed.order_by.map(|order_by| {
        let OneOrMany(columns) = order_by.value;
        if columns.is_empty() {
            report.push(Diagnostic::new(codes::EMPTY_LIST, order_by.span, "`orderBy` is empty").help("name the column that orders the events"));
        }
        unique(columns.iter().map(|column| (column.value.as_str(), column.span)), "the column", report);
        columns.into_iter().map(|column| column.value).collect()
    });
    Some(Sequence { by: typed.by?.value, order_by: order_by?, span })
}

fn buckets(typed: Spanned<ShortOr<typed::Buckets, typed::AutoBuckets>>, report: &mut Report) -> Option<Buckets> {
    let list = match typed.value {
        ShortOr::Short(list) => list.0,
        ShortOr::Map(auto) => return auto_buckets(auto, report),
    };
    if list.is_empty() {
        if touched(report, typed.span) {
            return None;
        }
        report.push(Diagnostic::new(codes::EMPTY_LIST, typed.span, "`buckets` is empty").help("`[16, 32, 64]`"));
        return None;
    }
    let mut fine = true;
    for (before, bucket) in list.iter().zip(list.iter().skip(1)) {
        if bucket.value <= before.value {
            fine = false;
            let message = format!("{} after {}: buckets ascend", bucket.value, before.value);
            report.push(Diagnostic::new(codes::BUCKETS_ORDER, bucket.span, message).help("each bucket is longer than the one before"));
        }
    }
    fine.then(|| Buckets::Fixed(list.iter().map(|bucket| bucket.value).collect()))
}

fn auto_buckets(typed: typed::AutoBuckets, report: &mut Report) -> Option<Buckets> {
    let number = |typed: &Option<Spanned<u32>>, or: u32| NonZeroU32::new(typed.as_ref().map_or(or, |typed| typed.value));
    let multiple_of = number(&typed.multiple_of, 1)?;
    if let Some(max) = typed.max.as_ref().filter(|max| max.value < multiple_of.get()) {
        let message = format!("no multiple of {multiple_of} is at most {}", max.value);
        report.push(Diagnostic::new(codes::BAD_OPTION, max.span, message).help("raise `max`, or lower `multipleOf`"));
        return None;
    }
    let max = number(&typed.max, typed::MAX_BUCKET)?;
    // The largest boundary that there can be.
    let max = NonZeroU32::new(max.get() - max.get() % multiple_of)?;
    Some(Buckets::Auto(AutoBuckets { auto: NonZeroU32::new(typed.auto?.value)?, multiple_of, max }))
}

fn overflow(typed: Spanned<ShortOr<typed::OverflowMode, typed::Overflow>>, buckets: Option<&Buckets>, report: &mut Report) -> Option<Overflow> {
    let typed = match typed.value {
        ShortOr::Short(mode) => typed::Overflow { mode: Some(Spanned { value: mode, span: typed.span }), stride: None, overlap: None, side: None },
        ShortOr::Map(typed) => typed,
    };
    let mode = typed.mode?;
    let mut fine = true;
    let mut foreign = |span: Option<Span>, key: &str, belongs: &str| {
        if let Some(span) = span {
            fine = false;
            report.push(Diagnostic::new(codes::BAD_OPTION, span, format!("`{key}` is an option of `mode: {belongs}`")).help("remove it"));
        }
    };
    if mode.value != typed::OverflowMode::Split {
        foreign(typed.stride.as_ref().map(|stride| stride.span), "stride", "split");
        foreign(typed.overlap.as_ref().map(|overlap| overlap.span), "overlap", "split");
    }
    if mode.value != typed::OverflowMode::Truncate {
        foreign(typed.side.as_ref().map(|side| side.span), "side", "truncate");
    }
    if !fine {
        return None;
    }
    let largest = buckets.and_then(|buckets| buckets.listed().last().copied());
    if let (Some(stride), Some(Buckets::Auto(_))) = (&typed.stride, buckets) {
        report.push(Diagnostic::new(codes::BAD_OPTION, stride.span, "`stride` and buckets that the data choose").help("`overlap` does not depend on them"));
        return None;
    }
    let overlap = match (&typed.stride, &typed.overlap) {
        (Some(_), Some(overlap)) => {
            report.push(Diagnostic::new(codes::BAD_OPTION, overlap.span, "`stride` and `overlap` say the same").help("keep one of them"));
            return None;
        }
        (Some(stride), None) => largest.map_or(Some(0), |largest| largest.checked_sub(stride.value)),
        (None, Some(overlap)) => Some(overlap.value).filter(|&overlap| largest.is_none_or(|largest| overlap < largest)),
        (None, None) => Some(0),
    };
    let Some(overlap) = overlap else {
        let span = typed.stride.map_or(mode.span, |stride| stride.span);
        let span = typed.overlap.map_or(span, |overlap| overlap.span);
        let help = "`stride` is at most the largest bucket, `overlap` less than it";
        report.push(Diagnostic::new(codes::BAD_OPTION, span, "chunks of the largest bucket cannot lie so").help(help));
        return None;
    };
    Some(match mode.value {
        typed::OverflowMode::Split => Overflow::Split { overlap },
        typed::OverflowMode::Truncate => Overflow::Truncate(typed.side.map(|side| side.value).unwrap_or_default()),
        typed::OverflowMode::Reject => Overflow::Reject,
    })
}

/// Names that packed windows and sequences need for themselves.
fn is_reserved(name: &str) -> bool {
    matches!(name, "length" | "chunk") || ["_segmentation", "_position", "_mask"].iter().any(|suffix| name.ends_with(suffix))
}

fn feature(
    typed: Spanned<typed::Feature>,
    in_sequence: bool,
    entity: Option<&str>,
    tokens: Dtype,
    places: &Places<'_>,
    report: &mut Report,
) -> Option<Feature> {
    let Spanned { value: typed, span } = typed;
    if let Some(name) = &typed.name {
        if !is_identifier(&name.value) {
            let message = format!("`{}` is not a name of a feature", shorten(&name.value));
            report.push(Diagnostic::new(codes::BAD_NAME, name.span, message).help("letters, digits and `_`, no digit first"));
        } else if is_reserved(&name.value) {
            let help = "`length`, `chunk`, `…_segmentation`, `…_position` and `…_mask` are written beside features";
            report.push(Diagnostic::new(codes::RESERVED_NAME, name.span, format!("the name `{}` is reserved", shorten(&name.value))).help(help));
        }
    }
    let dtype = typed.dtype.as_ref().map(|dtype| dtype.value).or_else(|| typed.tokenizer.as_ref().map(|_| tokens));
    if dtype.is_none() && !touched(report, span) {
        let at = typed.name.as_ref().map_or(span, |name| name.span);
        report.push(Diagnostic::new(codes::MISSING_KEY, at, "the feature lacks the key `dtype`").help("the type of its elements: `dtype: float32`"));
    }
    let dtype_span = typed.dtype.as_ref().map_or(span, |dtype| dtype.span);
    if let (Some(Dtype::Bytes), true, Some(entity), Some(column)) = (dtype, in_sequence, entity, &typed.column)
        && column.value != entity
    {
        let help = format!("only the entity itself (`{}`) may be bytes: text has no static shape", shorten(entity));
        report.push(Diagnostic::new(codes::BYTES_IN_SEQUENCE, dtype_span, "`dtype: bytes` inside a sequence").help(help));
    }
    let encode = self::encode(&typed, dtype, in_sequence, report);
    let scale = typed.scale.as_ref().map(|scale| scale.value).unwrap_or_default();
    if let Some(at) = typed.scale.as_ref().filter(|scale| scale.value != Scale::None).map(|scale| scale.span) {
        if dtype.is_some_and(|dtype| !dtype.is_float()) {
            report.push(Diagnostic::new(codes::SCALE_DTYPE, at, "a scaled number is a fraction").help("`dtype: float32`, `bfloat16` or `float16`"));
        }
        if encode.is_some_and(|encode| encode != Encode::Value) {
            report.push(Diagnostic::new(codes::ENCODE_OPTION, at, "`scale` and `encode`").help("keep one of them"));
        }
    }
    let before = report.len();
    let tokenizer = tokenizer(&typed, dtype, places, report);
    if report.len() > before {
        return None;
    }
    let missing = typed.missing.map(|missing| self::missing(&missing, dtype, report));
    let missing = match missing {
        Some(missing) => Some(missing?),
        None => None,
    };
    Some(Feature { name: typed.name?.value, column: typed.column?.value, dtype: dtype?, scale, encode: encode?, tokenizer, missing, span })
}

/// `encode` and what belongs to it; `None` after a mistake, which is in the report.
fn encode(typed: &typed::Feature, dtype: Option<Dtype>, in_sequence: bool, report: &mut Report) -> Option<Encode> {
    use typed::Encode as Word;
    let word = typed.encode.as_ref().map(|encode| encode.value).unwrap_or_default();
    let before = report.len();
    let options = [
        ("minCount", typed.min_count.as_ref().map(|key| key.span), "vocabulary", matches!(word, Word::Vocabulary | Word::OneHot)),
        ("maxSize", typed.max_size.as_ref().map(|key| key.span), "vocabulary", matches!(word, Word::Vocabulary | Word::OneHot)),
        ("hashBuckets", typed.hash_buckets.as_ref().map(|key| key.span), "hash", word == Word::Hash),
    ];
    for (key, span, owner, fits) in options {
        if let (Some(span), false) = (span, fits) {
            let message = format!("`{key}` belongs to `encode: {owner}`");
            report.push(Diagnostic::new(codes::ENCODE_OPTION, span, message).help(format!("`encode: {owner}`, or remove it")));
        }
    }
    let Some(at) = typed.encode.as_ref().map(|encode| encode.span) else { return (report.len() == before).then_some(Encode::Value) };
    if word == Word::SecondsSincePrevious && !in_sequence {
        let message = "`secondsSincePrevious` without `sequence`";
        report.push(Diagnostic::new(codes::SEQUENCE_NEEDED, at, message).help("add `sequence`: a row alone has no previous one"));
    }
    let (fits, what, help) = match word {
        Word::Value => (&[][..], "", ""),
        Word::SecondsSincePrevious => (&[Dtype::Int64, Dtype::Int32][..], "`secondsSincePrevious` is a whole number", "`dtype: int64`, or `int32`"),
        Word::DayOfWeek | Word::Vocabulary | Word::Hash => {
            (&[Dtype::Int64, Dtype::Int32, Dtype::Uint8][..], "the feature is a small whole number", "`dtype: int32`, `int64` or `uint8`")
        }
        Word::OneHot => {
            (&[Dtype::Int64, Dtype::Int32, Dtype::Uint8, Dtype::Bool][..], "`oneHot` is a vector of 0 and 1", "`dtype: uint8`, `bool`, `int32` or `int64`")
        }
    };
    if let Some(dtype) = dtype
        && word != Word::Value
        && !fits.contains(&dtype)
    {
        report.push(Diagnostic::new(codes::ENCODE_DTYPE, at, what).help(help));
    }
    if let (Some(missing), Word::Vocabulary | Word::OneHot | Word::Hash) = (&typed.missing, word) {
        report.push(Diagnostic::new(codes::ENCODE_OPTION, missing.span, "a category has an id for null, which is 2").help("remove `missing`"));
    }
    let min_count = typed.min_count.as_ref().map_or(1, |count| u64::from(count.value));
    let max_size = typed.max_size.as_ref().and_then(|size| NonZeroU32::new(size.value));
    let lacks = |report: &mut Report, message: &str, help: &str| report.push(Diagnostic::new(codes::ENCODE_OPTION, at, message.to_owned()).help(help));
    let encode = match word {
        Word::Value => Some(Encode::Value),
        Word::SecondsSincePrevious => Some(Encode::SecondsSincePrevious),
        Word::DayOfWeek => Some(Encode::DayOfWeek),
        Word::Vocabulary => Some(Encode::Vocabulary { min_count, max_size }),
        Word::OneHot => {
            if max_size.is_none() {
                lacks(report, "`oneHot` without `maxSize`", "`maxSize: 64`: a vector has one length in every run");
            }
            max_size.map(|max_size| Encode::OneHot { min_count, max_size })
        }
        Word::Hash => {
            let buckets = typed.hash_buckets.as_ref().and_then(|buckets| NonZeroU32::new(buckets.value));
            if buckets.is_none() {
                lacks(report, "`hash` without `hashBuckets`", "`hashBuckets: 1024`");
            }
            buckets.map(|buckets| Encode::Hash { buckets })
        }
    };
    encode.filter(|_| report.len() == before)
}

/// The tokenizer and what belongs to it; mistakes are in the report.
fn tokenizer(typed: &typed::Feature, dtype: Option<Dtype>, places: &Places<'_>, report: &mut Report) -> Option<Tokenizer> {
    let mut refuse = |span: Span, message: String, help: &str| report.push(Diagnostic::new(codes::BAD_TOKENIZER, span, message).help(help));
    let Some(file) = &typed.tokenizer else {
        let spans = [
            ("maxTokens", typed.max_tokens.as_ref().map(|key| key.span)),
            ("bos", typed.bos.as_ref().map(|key| key.span)),
            ("eos", typed.eos.as_ref().map(|key| key.span)),
            ("truncate", typed.truncate.as_ref().map(|key| key.span)),
        ];
        for (key, span) in spans {
            if let Some(span) = span {
                refuse(span, format!("`{key}` without `tokenizer`"), "add `tokenizer: tokenizer.json`, or remove it");
            }
        }
        return None;
    };
    if dtype.is_some_and(|dtype| !matches!(dtype, Dtype::Int32 | Dtype::Int64)) {
        refuse(typed.dtype.as_ref().map_or(file.span, |dtype| dtype.span), "tokens are `int32` or `int64`".to_owned(), "`dtype: int32`");
    }
    let spans = [
        ("scale", typed.scale.as_ref().map(|key| key.span)),
        ("encode", typed.encode.as_ref().map(|key| key.span)),
        ("missing", typed.missing.as_ref().map(|key| key.span)),
    ];
    for (key, span) in spans {
        if let Some(span) = span {
            refuse(span, format!("`{key}` and `tokenizer`"), "tokens are ids, and a text that is null is rejected: remove it");
        }
    }
    if let (Some(truncate), None) = (&typed.truncate, &typed.max_tokens) {
        refuse(truncate.span, "`truncate` without `maxTokens`".to_owned(), "`maxTokens: 32`, or remove it");
    }
    Some(Tokenizer {
        uri: places.uri(file, Use::File, report)?,
        max_tokens: typed.max_tokens.as_ref().and_then(|most| NonZeroU32::new(most.value)),
        bos: typed.bos.as_ref().map(|token| token.value.clone()),
        eos: typed.eos.as_ref().map(|token| token.value.clone()),
        truncate: typed.truncate.as_ref().map(|side| side.value).unwrap_or_default(),
        span: file.span,
    })
}

fn missing(typed: &Spanned<typed::Number>, dtype: Option<Dtype>, report: &mut Report) -> Option<f64> {
    let text = &typed.value.0.0;
    let number = text.parse::<f64>().ok()?;
    let fits = match dtype {
        Some(Dtype::Bytes) => false,
        // exact in both: larger integers would change on their way through float64
        Some(Dtype::Int64) => number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0,
        Some(Dtype::Int32) => number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number),
        Some(Dtype::Uint8) => number.fract() == 0.0 && (0.0..=255.0).contains(&number),
        Some(Dtype::Bool) => number == 0.0 || number == 1.0,
        Some(Dtype::Float32) => number.abs() <= f64::from(f32::MAX),
        // the largest finite ones
        Some(Dtype::Bfloat16) => number.abs() <= 3.389_531_389_251_535_5e38,
        Some(Dtype::Float16) => number.abs() <= 65_504.0,
        None => true,
    };
    if !fits {
        let help = "a number that the dtype holds: whole for integers (up to 2^53 for `int64`), 0 or 1 for `bool`, finite for floats; `bytes` has none";
        report.push(Diagnostic::new(codes::BAD_MISSING, typed.span, "`missing` does not fit the dtype").help(help));
    }
    fits.then_some(number)
}

/// What a record can hold depends on how it is encoded.
pub(crate) fn encodable(shape: &Shape, sink: &Sink, report: &mut Report) {
    if sink.encoding == RecordEncoding::Tensor && shape.layout == Layout::Maxtext {
        let message = "`layout: maxtext` and `encoding: tensor`";
        report.push(Diagnostic::new(codes::BAD_LAYOUT, sink.span, message).help("MaxText reads `tfExample`"));
    } else if sink.encoding == RecordEncoding::Tensor {
        for feature in shape.features.iter().filter(|feature| feature.dtype == Dtype::Bytes) {
            let message = format!("the feature `{}` is `bytes`, and `encoding: tensor` writes numbers alone", shorten(&feature.name));
            report.push(Diagnostic::new(codes::TENSOR_BYTES, feature.span, message).help("leave the feature out, or `encoding: tfExample`"));
        }
    }
}
