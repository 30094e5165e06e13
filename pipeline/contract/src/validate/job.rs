//! Jobs.
mod format;
mod shape;

use super::places::{Places, Use, before_pattern, is_inside, refuse_parameters};
use super::{Report, days, file_name, is_identifier, touched, unique};
use crate::diagnostic::{list, nearest, shorten};
use crate::job::{Drift, Format, Key, Prepare, Provider, Quarantine, Sink, SinkFormat, Table, Uri};
use crate::spanned::{Entries, Spanned};
use crate::typed::job as typed;
use crate::{Diagnostic, Span, codes};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) use format::{Field, with_schema};
pub(crate) use shape::{encodable, shape};

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
