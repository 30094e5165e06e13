//! Jobs.
mod format;

use super::places::{Places, Use, before_pattern, is_inside, refuse_parameters};
use super::{Report, days, file_name, is_identifier, touched, unique};
use crate::diagnostic::{list, nearest, shorten};
use crate::job::{
    Drift, Dtype, Encode, Feature, Format, Key, Overflow, Prepare, Provider, Quarantine, RecordEncoding, Scale, Sequence, Shape, Sink, SinkFormat, Table, Uri,
};
use crate::spanned::{Entries, OneOrMany, ShortOr, Spanned};
use crate::typed::job as typed;
use crate::{Diagnostic, Span, codes};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) use format::{Field, with_schema};

/// What a source's format does not see: everything but the schema, which is another file.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) uri: Option<Uri>,
    pub(crate) format: Option<Format>,
    /// Of a fixed width, in the order of the job; the schema's order is known only with the schema.
    pub(crate) fields: Vec<Field>,
    pub(crate) drift: Drift,
    pub(crate) schema: Option<(PathBuf, Span)>,
    pub(crate) span: Span,
}

pub(crate) fn sources(typed: Spanned<Entries<Spanned<typed::Source>>>, places: &Places<'_>, report: &mut Report) -> Vec<Source> {
    if typed.value.0.is_empty() && !touched(report, typed.span) {
        report.push(Diagnostic::new(codes::EMPTY_LIST, typed.span, "`sources` is empty").help("name at least one source"));
    }
    typed.value.0.into_iter().map(|(name, source)| self::source(name, source.value, places, report)).collect()
}

fn source(name: Spanned<String>, typed: typed::Source, places: &Places<'_>, report: &mut Report) -> Source {
    if !is_identifier(&name.value) || name.value.bytes().any(|b| b.is_ascii_uppercase()) {
        let message = format!("`{}` is not a name of a source", shorten(&name.value));
        report.push(Diagnostic::new(codes::BAD_NAME, name.span, message).help("SQL uses it: lower-case letters, digits and `_`, no digit first"));
    }
    let parts = |uri, schema, drift, format| (uri, schema, drift, format, Vec::new());
    let (uri, schema, drift, format, fields) = match typed {
        typed::Source::Csv(csv) => parts(csv.uri, csv.schema, csv.drift, format::csv(csv.options, report).map(Format::Csv)),
        typed::Source::Json(json) => parts(json.uri, json.schema, json.drift, format::json(json.options, report).map(Format::Json)),
        typed::Source::Parquet(parquet) => parts(parquet.uri, parquet.schema, parquet.drift, Some(Format::Parquet)),
        typed::Source::Arrow(arrow) => parts(arrow.uri, arrow.schema, arrow.drift, Some(Format::Arrow)),
        typed::Source::Avro(avro) => parts(avro.uri, avro.schema, avro.drift, Some(Format::Avro)),
        typed::Source::FixedWidth(fixed) => {
            let (format, fields) = format::fixed_width(fixed.options, name.span, report).unzip();
            (fixed.uri, fixed.schema, fixed.drift, format.map(Format::FixedWidth), fields.unwrap_or_default())
        }
    };
    let drift = format::drift(drift, format.as_ref(), report);
    let written = uri.as_ref().map(|uri| uri.span);
    let uri = uri.and_then(|uri| places.uri(&uri, Use::Source, report));
    if let (Some(uri), Some(span)) = (&uri, written)
        && let Some(suffix) = [".lz4", ".zip", ".Z", ".snappy", ".br", ".lzma", ".7z", ".tar"].iter().find(|suffix| uri.0.ends_with(**suffix))
    {
        report.push(codes::not_available(codes::COMPRESSION_NOT_AVAILABLE, span, &format!("`{suffix}`")));
    }
    let schema = schema.and_then(|schema| Some((places.local_file(&schema, "schema", report)?, schema.span)));
    Source { name: name.value, uri, format, fields, drift, schema, span: name.span }
}

pub(crate) fn prepare(typed: Option<Spanned<String>>, sources: usize, at: Span, report: &mut Report) -> Option<Prepare> {
    let Some(sql) = typed else {
        if sources > 1 {
            let help = "write the query that joins them: `prepare: |` and SQL below";
            report.push(Diagnostic::new(codes::PREPARE_NEEDED, at, "several sources and no `prepare`").help(help));
        }
        return None;
    };
    if sql.value.trim().is_empty() {
        report.push(Diagnostic::new(codes::MISSING_VALUE, sql.span, "`prepare` is blank").help("write one SELECT"));
        return None;
    }
    refuse_parameters(&sql, "prepare", report).then_some(Prepare { sql: sql.value, span: sql.span })
}

pub(crate) fn quarantine(typed: Spanned<typed::Quarantine>, keys: Option<&[(String, Span)]>, places: &Places<'_>, report: &mut Report) -> Option<Quarantine> {
    let Spanned { value: typed, span } = typed;
    let uri = typed.uri.and_then(|uri| places.uri(&uri, Use::Folder, report));
    let key = typed.key.map(|key| {
        if let Some(keys) = keys {
            let known: Vec<&str> = keys.iter().map(|(name, _)| name.as_str()).collect();
            if !known.contains(&key.value.as_str()) {
                let help = match nearest(&key.value, &known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => "name it under `keys`".to_owned(),
                    None => format!("name it under `keys`; there are {}", list(&known)),
                };
                let message = format!("there is no key `{}`", shorten(&key.value));
                report.push(Diagnostic::new(codes::UNKNOWN_KEY_NAME, key.span, message).help(help));
            }
        }
        key.value
    });
    let retention = typed.retention.map(|text| days(text, report));
    Some(Quarantine { uri: uri?, key: key?, retention_days: retention.flatten(), span })
}

/// The names of all keys, valid or not: a wrong key must not make its uses wrong too.
pub(crate) fn key_names(typed: &Entries<Spanned<typed::Key>>) -> Vec<(String, Span)> {
    typed.0.iter().map(|(name, _)| (name.value.clone(), name.span)).collect()
}

pub(crate) fn keys(typed: Spanned<Entries<Spanned<typed::Key>>>, places: &Places<'_>, report: &mut Report) -> BTreeMap<String, Key> {
    let mut keys = BTreeMap::new();
    for (name, Spanned { value, span }) in typed.value.0 {
        let at = name.span;
        let name = file_name(name, "key", report);
        let key = match value {
            typed::Key::AwsKms(key) => {
                let key_id = key.key_id.and_then(|id| {
                    let substituted = places.substitute(&id, report)?;
                    super::not_blank(Spanned { value: substituted, span: id.span }, "keyId", report)
                });
                let keyring = key.keyring.and_then(|keyring| places.uri(&keyring, Use::File, report));
                key_id.zip(keyring).zip(key.version).map(|((key_id, keyring), version)| Key {
                    provider: Provider::AwsKms { key_id },
                    keyring,
                    version: Some(version),
                    create: false,
                    span,
                })
            }
            typed::Key::Local(key) => {
                let create = key.create.unwrap_or(false);
                if key.version.is_none() && !create && !touched(report, span) {
                    let message = "the key has no `version`";
                    let help = "pin it (`version: 1`), so that a rotation does not change tokens unseen; `create: true` needs none";
                    report.push(Diagnostic::new(codes::MISSING_VERSION, at, message).help(help));
                }
                let keyring = key.keyring.and_then(|keyring| {
                    let span = keyring.span;
                    places.uri(&keyring, Use::File, report).filter(|uri| {
                        let local = !uri.0.starts_with("s3://");
                        if !local {
                            let message = "the key file of a local keyring lies beside it";
                            report.push(Diagnostic::new(codes::LOCAL_ONLY, span, message).help("a local path, or `provider: awsKms`"));
                        }
                        local
                    })
                });
                keyring.map(|keyring| Key { provider: Provider::Local, keyring, version: key.version, create, span })
            }
        };
        if let (Some(name), Some(key)) = (name, key) {
            keys.insert(name, key);
        }
    }
    keys
}

pub(crate) fn shape(typed: Spanned<typed::Shape>, report: &mut Report) -> Option<Shape> {
    let Spanned { value: typed, span } = typed;
    let cut = touched(report, span);
    let has_sequence = typed.sequence.is_some();
    let sequence = typed.sequence.map(|sequence| self::sequence(sequence, report));
    let by = sequence.as_ref().and_then(|sequence| sequence.as_ref()).map(|sequence| sequence.by.clone());
    let buckets = typed.buckets.as_ref().map(|buckets| self::buckets(buckets, report));
    let largest = buckets.as_ref().and_then(|buckets| buckets.as_ref()).and_then(|buckets| buckets.last().copied());
    let overflow_span = typed.overflow.as_ref().map(|overflow| overflow.span);
    let overflow = typed.overflow.map_or(Some(Overflow::Split { overlap: 0 }), |overflow| self::overflow(overflow, largest, report));
    if has_sequence && typed.buckets.is_none() && !cut {
        let help = "`buckets: [16, 32, 64]`: the lengths that sequences are padded to";
        report.push(Diagnostic::new(codes::BUCKETS_NEEDED, span, "sequences need `buckets`").help(help));
    }
    if !has_sequence && !cut {
        for (key, span) in [("buckets", typed.buckets.as_ref().map(|b| b.span)), ("overflow", overflow_span)] {
            if let Some(span) = span {
                let message = format!("`{key}` without `sequence`");
                report.push(Diagnostic::new(codes::SEQUENCE_NEEDED, span, message).help("add `sequence`, or remove it: an example per row has no length"));
            }
        }
    }
    let features = typed.features.and_then(|features| {
        if features.value.is_empty() && !touched(report, features.span) {
            report.push(Diagnostic::new(codes::EMPTY_LIST, features.span, "`features` is empty").help("an example holds at least one feature"));
        }
        unique(features.value.iter().filter_map(|f| f.value.name.as_ref()).map(|name| (name.value.as_str(), name.span)), "the feature", report);
        let count = features.value.len();
        let features: Vec<Feature> = features.value.into_iter().filter_map(|f| feature(f, has_sequence, by.as_deref(), report)).collect();
        (features.len() == count).then_some(features)
    });
    let sequence = match sequence {
        Some(sequence) => Some(sequence?),
        None => None,
    };
    Some(Shape { sequence, features: features?, buckets: buckets.unwrap_or(Some(Vec::new()))?, overflow: overflow?, span })
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

fn buckets(typed: &Spanned<typed::Buckets>, report: &mut Report) -> Option<Vec<u32>> {
    let list = &typed.value.0;
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
    fine.then(|| list.iter().map(|bucket| bucket.value).collect())
}

fn overflow(typed: Spanned<ShortOr<typed::OverflowMode, typed::Overflow>>, largest: Option<u32>, report: &mut Report) -> Option<Overflow> {
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

fn feature(typed: Spanned<typed::Feature>, in_sequence: bool, entity: Option<&str>, report: &mut Report) -> Option<Feature> {
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
    let dtype = typed.dtype.as_ref().map(|dtype| dtype.value);
    let dtype_span = typed.dtype.as_ref().map_or(span, |dtype| dtype.span);
    if let (Some(Dtype::Bytes), true, Some(entity), Some(column)) = (dtype, in_sequence, entity, &typed.column)
        && column.value != entity
    {
        let help = format!("only the entity itself (`{}`) may be bytes: text has no static shape", shorten(entity));
        report.push(Diagnostic::new(codes::BYTES_IN_SEQUENCE, dtype_span, "`dtype: bytes` inside a sequence").help(help));
    }
    let encode = typed.encode.as_ref().map(|encode| encode.value).unwrap_or_default();
    if let (Encode::SecondsSincePrevious, Some(at)) = (encode, typed.encode.as_ref().map(|encode| encode.span)) {
        if !in_sequence {
            let message = "`secondsSincePrevious` without `sequence`";
            report.push(Diagnostic::new(codes::SEQUENCE_NEEDED, at, message).help("add `sequence`: a row alone has no previous one"));
        }
        if dtype.is_some_and(|dtype| !matches!(dtype, Dtype::Int64 | Dtype::Int32)) {
            report.push(Diagnostic::new(codes::ENCODE_DTYPE, at, "`secondsSincePrevious` is a whole number").help("`dtype: int64`, or `int32`"));
        }
    }
    let scale = typed.scale.as_ref().map(|scale| scale.value).unwrap_or_default();
    if let (Scale::Log1p, Some(at)) = (scale, typed.scale.as_ref().map(|scale| scale.span))
        && dtype.is_some_and(|dtype| !dtype.is_float())
    {
        report.push(Diagnostic::new(codes::SCALE_DTYPE, at, "`log1p` is a fraction").help("`dtype: float32`, `bfloat16` or `float16`"));
    }
    let missing = typed.missing.map(|missing| self::missing(&missing, dtype, report));
    let missing = match missing {
        Some(missing) => Some(missing?),
        None => None,
    };
    Some(Feature { name: typed.name?.value, column: typed.column?.value, dtype: dtype?, scale, encode, missing, span })
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

pub(crate) fn sink(typed: Spanned<typed::Sink>, places: &Places<'_>, report: &mut Report) -> Option<Sink> {
    let Spanned { value: typed, span } = typed;
    let uri = typed.uri.and_then(|uri| places.uri(&uri, Use::Folder, report));
    let sse_kms = typed.sse_kms.map(|key| {
        if uri.as_ref().is_some_and(|uri| !uri.0.starts_with("s3://")) {
            report.push(Diagnostic::new(codes::BAD_OPTION, key.span, "`sseKms` is for sinks on S3").help("remove it"));
        }
        places.substitute(&key, report)
    });
    let sse_kms = match sse_kms {
        Some(key) => Some(key?),
        None => None,
    };
    let format = typed.format.map(|format| format.value).unwrap_or_default();
    let encoding = typed.encoding.map(|encoding| encoding.value).unwrap_or_default();
    if let (Some(options), SinkFormat::TfRecord) = (&typed.options, format) {
        report.push(Diagnostic::new(codes::BAD_OPTION, options.span, "`options` are those of ArrayRecord").help("remove it, or `format: arrayRecord`"));
    }
    let options = typed.options.map_or_else(|| DEFAULT_OPTIONS.to_owned(), |options| options.value);
    Some(Sink { uri: uri?, format, encoding, options, shards: typed.shards, sse_kms, span })
}

/// What a record can hold depends on how it is encoded.
pub(crate) fn encodable(shape: &Shape, sink: &Sink, report: &mut Report) {
    if sink.encoding == RecordEncoding::Tensor {
        for feature in shape.features.iter().filter(|feature| feature.dtype == Dtype::Bytes) {
            let message = format!("the feature `{}` is `bytes`, and `encoding: tensor` writes numbers alone", shorten(&feature.name));
            report.push(Diagnostic::new(codes::TENSOR_BYTES, feature.span, message).help("leave the feature out, or `encoding: tfExample`"));
        }
    }
}

/// One record a chunk, for random access as Grain wants it.
pub(crate) const DEFAULT_OPTIONS: &str = "group_size:1,zstd:3";

pub(crate) fn table(typed: Spanned<typed::Table>, places: &Places<'_>, report: &mut Report) -> Option<Table> {
    let uri = typed.value.uri.and_then(|uri| places.uri(&uri, Use::Folder, report));
    Some(Table { uri: uri?, span: typed.span })
}

/// What leaves must not hold what must not leave.
pub(crate) fn apart(
    sources: &[Source],
    quarantine: Option<&Quarantine>,
    keys: &BTreeMap<String, Key>,
    sink: Option<&Sink>,
    table: Option<&Table>,
    report: &mut Report,
) {
    let mut refuse = |span: Span, message: String, help: &str| report.push(Diagnostic::new(codes::PLACES_OVERLAP, span, message).help(help));
    let leaving: Vec<(&str, &Uri)> = sink.iter().map(|sink| ("the sink", &sink.uri)).chain(table.iter().map(|table| ("the table", &table.uri))).collect();
    for (name, place) in &leaving {
        if let Some(quarantine) = quarantine
            && (is_inside(&quarantine.uri, place) || is_inside(place, &quarantine.uri))
        {
            refuse(quarantine.span, format!("quarantine and {name} lie in each other"), "rejected rows are raw: keep them in a place of their own");
        }
        for key in keys.values().filter(|key| is_inside(&key.keyring, place)) {
            refuse(key.span, format!("the keyring lies in {name}"), "what is replicated must not hold keys: move the keyring");
        }
        for source in sources {
            if let Some(uri) = &source.uri
                && is_inside(&before_pattern(uri), place)
            {
                refuse(source.span, format!("the source reads from {name}"), "read and write in different places");
            }
        }
    }
    if let (Some(sink), Some(table)) = (sink, table)
        && (is_inside(&sink.uri, &table.uri) || is_inside(&table.uri, &sink.uri))
    {
        refuse(table.span, "sink and table lie in each other".to_owned(), "give each its own folder");
    }
}
