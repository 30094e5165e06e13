//! A plan as people and machines read it. Key references only; no key, no cell.
mod text;

use super::decide::JoinDomain;
use super::format::Verdict;
use super::shape;
use super::{Plan, PlannedColumn};
use crate::check::metric::wanted;
use crate::read::Part;
use datafusion::arrow::datatypes::DataType;
use perimeter_contract::job::{Provider, SinkFormat};
use perimeter_contract::policy::{Alphabet, BucketRange, Invalid, Nulls, OnSkipped, SampleRows, TokenEncoding, Transform};
use perimeter_contract::schema::{Decimal, Metric, MetricUnit, Schema, SetCheck};
use perimeter_pseudonym::transform::collision_odds;
use serde_json::{Value, json};
use std::fmt::Write;

/// The lineage part: every output column, its sources, the rule that decides it and what happens. What approvers sign.
pub fn columns(plan: &Plan) -> Value {
    let columns: Vec<Value> = plan.columns.iter().map(|column| describe(plan, column)).collect();
    let rows: Vec<Value> = plan.rows.iter().map(|(column, influence)| json!({"column": column, "by": influence})).collect();
    json!({"columns": columns, "rowsDependOn": rows})
}

fn describe(plan: &Plan, column: &PlannedColumn) -> Value {
    let decision = &column.decision;
    json!({
        "name": column.name,
        "type": column.data_type.to_string(),
        "becomes": Plan::output_type(column).map(|data_type| data_type.to_string()),
        "from": column.lineage.from,
        "computed": column.lineage.computed,
        "tiedTo": column.lineage.tied.difference(&column.lineage.from).collect::<Vec<_>>(),
        "semanticTypes": decision.semantic_types,
        "rule": decision.rule,
        "transform": decision.transform.name(),
        "options": options(&decision.transform),
        "collision": collision(&decision.transform),
        "text": column.text.as_ref().map(text::types),
        "format": column.format.as_ref().map(|format| format.explain(&decision.transform)),
        "nulls": nulls(decision.nulls),
        "empty": is_guarded(&decision.transform).then(|| nulls(decision.empty)),
        "invalid": is_guarded(&decision.transform).then_some(decision.invalid),
        "key": decision.transform.key(),
        "joinDomain": decision.transform.key().map(|_| decision.join_domain.label()),
        "context": column.context.map(|context| plan.columns[context].name.clone()),
        "usedBy": used_by(plan, column),
    })
}

/// Rules of a contract about more than one value, and what each says.
fn rules(schema: &Schema) -> impl Iterator<Item = (&str, String)> {
    let name = |column: &usize| schema.columns.get(*column).map_or("?", |column| column.name.as_str());
    let names = move |columns: &[usize]| columns.iter().map(name).collect::<Vec<_>>().join(", ");
    schema.rules.iter().map(move |rule| {
        let says = match &rule.check {
            SetCheck::Unique { columns } => format!("rejects every row that shares {} with another", names(columns)),
            SetCheck::References { columns, dataset, to } => format!("rejects rows whose {} is not among {} of {dataset}", names(columns), to.join(", ")),
            SetCheck::Monotonic { column, per, strict } => {
                let per = if per.is_empty() { String::new() } else { format!(" within {}", names(per)) };
                let back = if *strict { "does not go on" } else { "goes back" };
                format!("rejects rows whose {} {back}{per}", name(column))
            }
            SetCheck::Expression { sql } => format!("rejects rows unless {sql}"),
            SetCheck::Metric { metric, unit, bounds } => {
                let wanted = wanted(bounds, *unit == MetricUnit::Percent && !matches!(metric, Metric::RowCount));
                match metric {
                    Metric::NullValues { column } => format!("nullValues of {} {wanted}", name(column)),
                    Metric::MissingValues { column, .. } => format!("missingValues of {} {wanted}", name(column)),
                    Metric::InvalidValues { column, .. } => format!("invalidValues of {} {wanted}", name(column)),
                    Metric::DuplicateValues { columns } => format!("duplicateValues of {} {wanted}", names(columns)),
                    Metric::RowCount => format!("rowCount {wanted}"),
                }
            }
            SetCheck::Sql { query, bounds } => format!("{} {}", query.split_whitespace().collect::<Vec<_>>().join(" "), wanted(bounds, false)),
        };
        (rule.code.as_str(), says)
    })
}

fn nulls(nulls: Nulls) -> &'static str {
    match nulls {
        Nulls::Keep => "keep",
        Nulls::Token => "token",
        Nulls::Reject => "reject",
    }
}

/// Transforms that refuse values, and say what becomes of them.
fn is_guarded(transform: &Transform) -> bool {
    matches!(transform, Transform::CryptoHash { .. } | Transform::CryptoDeterministic { .. } | Transform::CryptoReplaceFfxFpe { .. })
}

/// The number of distinct values that odds are stated for: how many there will be is not known before rows are read.
const REFERENCE_VALUES: u64 = 1_000_000_000;

/// How likely tokens that were shortened collide. Rounded, so that the plan's digest is the same on every machine.
fn collision(transform: &Transform) -> Option<Value> {
    let Transform::CryptoHash { encoding, bytes, .. } = transform else { return None };
    let bits = match encoding {
        TokenEncoding::Int64 => 63,
        TokenEncoding::Uuid => 122,
        TokenEncoding::Hex | TokenEncoding::Base64url if *bytes < 32 => u32::from(*bytes) * 8,
        TokenEncoding::Hex | TokenEncoding::Base64url => return None,
    };
    let odds = format!("{:.1e}", collision_odds(REFERENCE_VALUES, bits));
    Some(json!({"bits": bits, "distinctValues": REFERENCE_VALUES, "odds": odds}))
}

/// `-0.25`.
fn exact(number: Decimal) -> String {
    let digits = format!("{:0>width$}", number.unscaled.unsigned_abs(), width = usize::from(number.scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(number.scale));
    format!("{}{whole}{}{fraction}", if number.unscaled < 0 { "-" } else { "" }, if fraction.is_empty() { "" } else { "." })
}

/// `0 to 18 as "minor"`; a bucket holds its lower bound and not its upper one.
fn range(bucket: &BucketRange) -> String {
    let bound = |bound: Option<Decimal>| bound.map_or_else(|| "…".to_owned(), exact);
    let label = bucket.label.as_ref().map(|label| format!(" as {label:?}")).unwrap_or_default();
    format!("{} to {}{label}", bound(bucket.min), bound(bucket.max))
}

/// What a reviewer has to know of a transform beside its name.
fn options(transform: &Transform) -> Value {
    match transform {
        Transform::CryptoHash { canonicalize, encoding, bytes, .. } => json!({"canonicalize": canonicalize, "encoding": encoding, "bytes": bytes}),
        Transform::CryptoDeterministic { canonicalize, .. } => json!({"canonicalize": canonicalize, "reversible": true}),
        Transform::Encrypt { .. } => json!({"reversible": true, "joins": false}),
        Transform::CryptoReplaceFfxFpe { alphabet, keep_first, keep_last, check_digit, canonicalize, fallback, .. } => {
            let alphabet = alphabet.as_ref().map(|alphabet| match alphabet {
                Alphabet::Named(name) => name.as_str().to_owned(),
                Alphabet::Custom(characters) => characters.clone(),
            });
            let fallback = fallback.as_ref().map(|fallback| json!({"transform": fallback.name(), "options": options(fallback)}));
            json!({"alphabet": alphabet, "keepFirst": keep_first, "keepLast": keep_last, "checkDigit": check_digit, "canonicalize": canonicalize, "fallback": fallback, "reversible": true})
        }
        Transform::DateShift { max_days, context_join_domain, .. } => json!({"maxDays": max_days, "contextJoinDomain": context_join_domain}),
        Transform::CharacterMask { masking_character, keep_first, keep_last, mask_length } => {
            json!({"maskingCharacter": masking_character, "keepFirst": keep_first, "keepLast": keep_last, "maskLength": mask_length})
        }
        Transform::Truncate { length } => json!({"length": length}),
        Transform::FixedSizeBucketing { size, lower_bound, upper_bound } => json!({
            "size": {"unscaled": size.unscaled.to_string(), "scale": size.scale},
            "lowerBound": lower_bound.map(exact),
            "upperBound": upper_bound.map(exact),
        }),
        Transform::Bucketing { buckets } => json!({"buckets": buckets.iter().map(range).collect::<Vec<_>>()}),
        Transform::TimePart { part } => json!({"part": part}),
        Transform::Replace { new_value } => json!({"newValue": new_value}),
        Transform::Redact | Transform::ReplaceWithInfoType | Transform::DeidentifyText(_) | Transform::Drop | Transform::Keep => json!({}),
    }
}

fn used_by(plan: &Plan, column: &PlannedColumn) -> Vec<String> {
    let job = &plan.contract.job;
    let mut uses = Vec::new();
    if let Some(sequence) = &job.shape.sequence {
        if sequence.by == column.name {
            uses.push("sequence entity".to_owned());
        }
        if sequence.order_by.contains(&column.name) {
            uses.push("sequence order".to_owned());
        }
    }
    uses.extend(job.shape.features.iter().filter(|feature| feature.column == column.name).map(|feature| format!("feature {}", feature.name)));
    if job.table.is_some() && column.decision.transform != Transform::Drop {
        uses.push("table".to_owned());
    }
    uses
}

/// The transform with everything that a reviewer has to weigh: `cryptoHash, key person, join domain account, bytes 16`.
fn treatment(plan: &Plan, column: &PlannedColumn) -> String {
    let transform = &column.decision.transform;
    let mut text = transform.name().to_owned();
    if let Some(key) = transform.key() {
        let domain = match &column.decision.join_domain {
            JoinDomain::Named(name) => format!("join domain {name}"),
            JoinDomain::Own(_) => "alone in its join domain".to_owned(),
        };
        let _ = write!(text, ", key {key}, {domain}");
    }
    if let Some(context) = column.context {
        let _ = write!(text, ", one shift for each `{}`", plan.columns[context].name);
    }
    match transform {
        Transform::FixedSizeBucketing { size, lower_bound, upper_bound } => {
            let _ = write!(text, ", size {}", exact(*size));
            for (name, bound) in [("from", lower_bound), ("to", upper_bound)] {
                let _ = bound.map(|bound| write!(text, ", {name} {}", exact(bound)));
            }
        }
        Transform::Bucketing { buckets } => {
            let _ = write!(text, ", {}", buckets.iter().map(range).collect::<Vec<_>>().join(", "));
        }
        Transform::ReplaceWithInfoType => {
            let _ = write!(text, " [{}]", column.decision.semantic_types.iter().cloned().collect::<Vec<_>>().join(", "));
        }
        Transform::TimePart { .. } if matches!(column.data_type, DataType::Timestamp(_, Some(_))) => {
            let _ = write!(text, ", of the time in UTC");
        }
        _ => {}
    }
    // Where the fallback makes every token, what it is counts, and FF1 does not run.
    let all_fall_back = column.format.as_ref().is_some_and(|format| format.verdict == Verdict::AllFallBack);
    text.push_str(&listed(transform, |name| name == "reversible" && all_fall_back));
    if let Transform::CryptoReplaceFfxFpe { fallback: Some(fallback), .. } = transform {
        let _ = write!(text, ", fallback {}{}", fallback.name(), listed(fallback, |_| false));
    }
    if let Some(collision) = collision(transform) {
        let odds = collision["odds"].as_str().unwrap_or_default();
        let _ = write!(text, ", {} bits: odds of any collision {odds} at 10^9 distinct values", collision["bits"]);
    }
    if let Some(format) = &column.format {
        let _ = write!(text, ", {}", format.explain(transform));
    }
    if column.decision.nulls != Nulls::Keep {
        let _ = write!(text, ", nulls {}", nulls(column.decision.nulls));
    }
    if is_guarded(transform) {
        if column.decision.empty != column.decision.nulls {
            let _ = write!(text, ", empty {}", nulls(column.decision.empty));
        }
        if column.decision.invalid == Invalid::Token {
            text.push_str(", invalid token");
        }
    }
    text
}

/// `, bytes 16, encoding hex`: the options that are no sentence of their own, but for those left out.
fn listed(transform: &Transform, leaves_out: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    if let Value::Object(options) = options(transform) {
        let said = |name: &str| matches!(name, "contextJoinDomain" | "fallback" | "buckets" | "size" | "lowerBound" | "upperBound");
        for (name, value) in options.iter().filter(|(name, value)| !value.is_null() && !said(name) && !leaves_out(name)) {
            let _ = write!(text, ", {name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// The whole plan.
pub fn json(plan: &Plan) -> Value {
    let job = &plan.contract.job;
    let files: Vec<Value> = plan.contract.sources.files.iter().map(|file| json!({"kind": file.kind, "path": file.path, "sha256": hex(&file.sha256)})).collect();
    let sources: Vec<Value> = job
        .sources
        .iter()
        .zip(&plan.inputs)
        .map(|(source, input)| {
            json!({
                "name": source.name,
                "uri": source.uri.0,
                "schema": source.schema.name,
                "files": input.files.len(),
                "bytes": input.files.iter().map(|file| file.size_bytes).sum::<u64>(),
                "units": input.units.len(),
                "addedColumns": input.added,
                "rules": rules(&source.schema).map(|(rule, says)| json!({"rule": rule, "says": says})).collect::<Vec<_>>(),
                "wholeFileUnits": input.units.iter().filter(|unit| matches!(unit.part, Part::Whole)).count(),
            })
        })
        .collect();
    let keys: Vec<Value> = plan
        .key_names()
        .into_iter()
        .filter_map(|name| job.keys.get(name).map(|key| (name, key)))
        .map(|(name, key)| {
            let provider = match &key.provider {
                Provider::AwsKms { key_id } => json!({"awsKms": key_id}),
                Provider::Local => json!("local"),
            };
            json!({"name": name, "provider": provider, "keyring": key.keyring.0, "version": key.version, "create": key.create})
        })
        .collect();
    let shape = &job.shape;
    let features: Vec<Value> = shape
        .features
        .iter()
        .map(|feature| json!({"name": feature.name, "column": feature.column, "dtype": feature.dtype, "scale": feature.scale, "encode": feature.encode, "missing": feature.missing}))
        .collect();
    json!({
        "apiVersion": "perimeter/v1",
        "kind": "Plan",
        "dataset": job.name,
        "development": true,
        "digest": hex(&plan.digest()),
        "policy": {"name": plan.contract.policy.name, "version": plan.contract.policy.version},
        "files": files,
        "parameters": job.parameters,
        "sources": sources,
        "prepare": crate::prepare::text(job),
        "lineage": columns(plan),
        "recall": plan.columns.iter().any(|column| column.text.is_some()).then(text::recall),
        "keys": keys,
        "quarantine": {"uri": job.quarantine.uri.0, "key": job.quarantine.key},
        "gates": gates(plan),
        "shape": {
            "layout": shape.layout,
            "sequence": shape.sequence.as_ref().map(|sequence| json!({"by": sequence.by, "orderBy": sequence.order_by})),
            "buckets": shape::buckets(&shape.buckets),
            "overflow": shape::overflow(shape.overflow),
            "packing": shape.packing.map(|packing| json!({"maxSegments": packing.max_segments, "openWindows": packing.open_windows})),
            "statistics": shape.statistics.as_ref().map(|pinned| &pinned.uri.0),
            "tokenizers": plan.tokenizers.iter().map(|(feature, tokenizer)| (feature, tokenizer.sha256())).collect::<std::collections::BTreeMap<_, _>>(),
            "features": features,
        },
        "sink": {"uri": job.sink.uri.0, "format": job.sink.format, "encoding": job.sink.encoding, "options": job.sink.options, "shards": plan.shards},
        "table": job.table.as_ref().map(|table| &table.uri.0),
    })
}

fn gates(plan: &Plan) -> Value {
    let gates = &plan.contract.policy.gates;
    let rows = match gates.sample_rows {
        SampleRows::AtMost(rows) => json!(rows),
        SampleRows::All => json!("all"),
    };
    let macie = gates.macie.map(|macie| json!({"maxAge": format!("{}d", macie.max_age_days), "onSkipped": macie.on_skipped}));
    json!({"maxRejectedFraction": gates.max_rejected_fraction, "findings": {"sampleRows": rows}, "macie": macie})
}

/// What a run does before it reads for good.
fn first_look(plan: &Plan) -> String {
    let gates = &plan.contract.policy.gates;
    let rows = match gates.sample_rows {
        SampleRows::AtMost(rows) => format!("{rows} rows"),
        SampleRows::All => "all rows".to_owned(),
    };
    let mut text =
        format!("first     {rows} of each source go through the detectors; a finding that neither contract nor policy answers for refuses the run\n");
    if let Some(macie) = gates.macie {
        let skipped = match macie.on_skipped {
            OnSkipped::Refuse => "what it did not look at refuses the run",
            OnSkipped::LocalScan => "what it did not look at goes through the detectors, whole",
        };
        let _ = writeln!(text, "          so do findings of an Amazon Macie job (--macie-job) of the last {} days; {skipped}", macie.max_age_days);
    }
    text
}

/// The whole plan for a person.
pub fn text(plan: &Plan) -> String {
    let job = &plan.contract.job;
    let mut out = String::new();
    let _ = writeln!(out, "dataset   {} (development: no trust file says which policies and keys count)", job.name);
    let _ = writeln!(out, "policy    {} version {}", plan.contract.policy.name, plan.contract.policy.version);
    let _ = writeln!(out, "digest    {}", hex(&plan.digest()));
    for (source, input) in job.sources.iter().zip(&plan.inputs) {
        let bytes: u64 = input.files.iter().map(|file| file.size_bytes).sum();
        let _ =
            writeln!(out, "source    {}: {} file(s), {bytes} bytes, {} unit(s) of work, {}", source.name, input.files.len(), input.units.len(), source.uri.0);
        if !input.added.is_empty() {
            let names: String = input.added.join(", ").chars().map(|c| if super::is_deceptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect();
            let _ = writeln!(out, "          drift: not in the contract, and not read: {names}");
        }
    }
    for source in &job.sources {
        for (rule, says) in rules(&source.schema) {
            let shown: String =
                format!("{}.{rule}: {says}", source.name).chars().map(|c| if super::is_deceptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect();
            let _ = writeln!(out, "rule      {shown}");
        }
    }
    for name in plan.key_names() {
        if let Some(key) = job.keys.get(name) {
            let version = key.version.map_or_else(|| "newest version".to_owned(), |version| format!("version {version}"));
            let provider = match &key.provider {
                Provider::AwsKms { key_id } => format!("AWS KMS {key_id}"),
                Provider::Local => "a local key file: development only".to_owned(),
            };
            let create = if key.create { ", made if it is absent" } else { "" };
            let _ = writeln!(out, "key       {name}: {version} of {} ({provider}{create})", key.keyring.0);
        }
    }
    out.push_str(&first_look(plan));
    let _ = writeln!(out, "\nprepare:");
    for line in crate::prepare::text(job).trim_end().lines() {
        let shown: String = line.chars().map(|c| if super::is_deceptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect();
        let _ = writeln!(out, "  {shown}");
    }
    let _ = writeln!(out, "\nits columns, what they are made of, and what happens to them:");
    for column in &plan.columns {
        let names = |columns: Vec<String>| columns.join(", ");
        let from = names(column.lineage.from.iter().map(ToString::to_string).collect());
        let tied = names(column.lineage.tied.difference(&column.lineage.from).map(ToString::to_string).collect());
        let from = match (column.lineage.computed, from.is_empty()) {
            (_, true) => "no source column".to_owned(),
            (true, false) => format!("computed from {from}"),
            (false, false) => from,
        };
        let tied = if tied.is_empty() { String::new() } else { format!(", tied by a comparison to {tied}") };
        let rule = column.decision.rule.as_deref().map_or_else(|| "all its sources are kept".to_owned(), |rule| format!("rule \"{rule}\""));
        let uses = used_by(plan, column);
        let uses = if uses.is_empty() { "nothing".to_owned() } else { names(uses) };
        let _ = writeln!(out, "  {} = {from}{tied}", column.name);
        let _ = writeln!(out, "      {} ({rule}), used by {uses}", treatment(plan, column));
        if let Some(found) = &column.text {
            text::lines(found, &mut out);
        }
    }
    if !plan.rows.is_empty() {
        let _ = writeln!(out, "\nwhich rows are there depends on:");
        for (column, influence) in &plan.rows {
            let _ = writeln!(out, "  {column} ({})", format!("{influence:?}").to_lowercase());
        }
    }
    let _ = writeln!(
        out,
        "\nrejected  at most {} of the rows, else nothing is published; they go encrypted to {}",
        plan.contract.policy.gates.max_rejected_fraction, job.quarantine.uri.0
    );
    let options = if job.sink.format == SinkFormat::ArrayRecord { &job.sink.options } else { "TFRecord" };
    let _ = writeln!(out, "shape     {}, {} shard(s), {options}", shape::words(job), plan.shards);
    let _ = writeln!(out, "sink      {}", job.sink.uri.0);
    if let Some(table) = &job.table {
        let _ = writeln!(out, "table     {}", table.uri.0);
    }
    out
}
