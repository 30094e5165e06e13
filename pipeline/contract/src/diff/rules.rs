//! Rules in pairs.
use super::{Breaks, Change, ChangeKind};
use crate::Span;
use crate::schema::{Check, Column, DataType, Decimal, TimeBound, ValueRule, Zone};
use crate::validate::schema::compare;
use std::cmp::Ordering;

/// Rules about the values of a column that both have.
pub(super) fn values(old: &Column, new: &Column, changes: &mut Vec<Change>) {
    let code = |rule: &ValueRule| if rule.each { format!("each {}", rule.check.code()) } else { rule.check.code().to_owned() };
    let left = |of: &Column, other: &Column| -> Vec<ValueRule> {
        let there = |rule: &ValueRule| other.rules.iter().any(|its| code(its) == code(rule) && identity(&its.check) == identity(&rule.check));
        of.rules.iter().filter(|rule| !there(rule)).cloned().collect()
    };
    let (mut gone, fresh) = (left(old, new), left(new, old));
    let mut push = |kind, rule: &ValueRule, message: String, breaks: Vec<Breaks>, spans: (Option<Span>, Option<Span>)| {
        let rule = Some(rule.check.code().to_owned());
        changes.push(Change { kind, column: Some(new.name.clone()), rule, message, breaks, old: spans.0, new: spans.1 });
    };
    for rule in fresh {
        let name = &new.name;
        match gone.iter().position(|was| code(was) == code(&rule)) {
            Some(index) => {
                let was = gone.remove(index);
                let spans = (Some(was.span), Some(rule.span));
                let (from, to) = (shown(&was.check, &old.data_type), shown(&rule.check, &new.data_type));
                match direction(&was.check, &rule.check) {
                    Some(Ordering::Less) => {
                        push(ChangeKind::RuleChanged, &rule, format!("`{name}`: {to} instead of {from}, which is looser"), Vec::new(), spans)
                    }
                    Some(_) => push(ChangeKind::RuleChanged, &rule, format!("`{name}`: {to} instead of {from}, which is tighter"), vec![Breaks::Data], spans),
                    None => {
                        let breaks = Vec::from_iter([Breaks::Data].into_iter().chain(relied_on(&was.check)));
                        push(ChangeKind::RuleChanged, &rule, format!("`{name}`: {to} instead of {from}"), breaks, spans)
                    }
                }
            }
            None => push(
                ChangeKind::RuleAdded,
                &rule,
                format!("`{name}`: {} is new", shown(&rule.check, &new.data_type)),
                vec![Breaks::Data],
                (None, Some(rule.span)),
            ),
        }
    }
    for rule in gone {
        let message = format!("`{}`: {} is gone: values that were rejected pass", new.name, shown(&rule.check, &old.data_type));
        push(ChangeKind::RuleRemoved, &rule, message, relied_on(&rule.check), (Some(rule.span), None));
    }
}

/// Whom it breaks when the rule no longer holds: a check digit says that a value is an identifier, and so that it joins.
fn relied_on(check: &Check) -> Vec<Breaks> {
    if matches!(check, Check::CheckDigit(_)) { vec![Breaks::Consumers] } else { Vec::new() }
}

/// Greater: fewer values pass; less: more do; none: some pass that did not, and the other way round.
fn direction(old: &Check, new: &Check) -> Option<Ordering> {
    let all = |of: &[String], other: &[String]| of.iter().all(|value| other.contains(value));
    match (old, new) {
        (Check::MinLength(a), Check::MinLength(b)) | (Check::MinItems(a), Check::MinItems(b)) => Some(b.cmp(a)),
        (Check::MaxLength(a), Check::MaxLength(b)) | (Check::MaxItems(a), Check::MaxItems(b)) => Some(a.cmp(b)),
        (Check::Minimum(a), Check::Minimum(b)) | (Check::ExclusiveMinimum(a), Check::ExclusiveMinimum(b)) => compare(*b, *a),
        (Check::Maximum(a), Check::Maximum(b)) | (Check::ExclusiveMaximum(a), Check::ExclusiveMaximum(b)) => compare(*a, *b),
        (Check::TimeRange { bound: TimeBound::Minimum | TimeBound::ExclusiveMinimum, at: a }, Check::TimeRange { at: b, .. }) => Some(b.cmp(a)),
        (Check::TimeRange { at: a, .. }, Check::TimeRange { at: b, .. }) => Some(a.cmp(b)),
        (Check::ValidValues(a), Check::ValidValues(b)) | (Check::NotAmong(b), Check::NotAmong(a)) => match (all(a, b), all(b, a)) {
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            _ => None,
        },
        _ => None,
    }
}

/// All that a check says.
pub(super) fn identity(check: &Check) -> String {
    match check {
        Check::ValidValues(values) | Check::NotAmong(values) => {
            let mut values = values.clone();
            values.sort();
            format!("{values:?}")
        }
        Check::TimeRange { at, .. } => at.to_string(),
        other => shown(other, &DataType::String),
    }
}

/// What a check says, for people: lists of values are counted.
fn shown(check: &Check, data_type: &DataType) -> String {
    match check {
        Check::MinLength(n) => format!("`minLength: {n}`"),
        Check::MaxLength(n) => format!("`maxLength: {n}`"),
        Check::MinItems(n) => format!("`minItems: {n}`"),
        Check::MaxItems(n) => format!("`maxItems: {n}`"),
        Check::UniqueItems => "`uniqueItems`".to_owned(),
        Check::Pattern(regex) => {
            let pattern = regex.as_str();
            format!("the pattern `{}`", pattern.strip_prefix(r"\A(?:").and_then(|pattern| pattern.strip_suffix(r")\z")).unwrap_or(pattern))
        }
        Check::Minimum(number) => format!("`minimum: {}`", text(*number)),
        Check::Maximum(number) => format!("`maximum: {}`", text(*number)),
        Check::ExclusiveMinimum(number) => format!("`exclusiveMinimum: {}`", text(*number)),
        Check::ExclusiveMaximum(number) => format!("`exclusiveMaximum: {}`", text(*number)),
        Check::MultipleOf(number) => format!("`multipleOf: {}`", text(*number)),
        Check::TimeRange { at, .. } => {
            let key = match check.code() {
                "exclusive-minimum" => "exclusiveMinimum",
                "exclusive-maximum" => "exclusiveMaximum",
                code => code,
            };
            format!("`{key}: {}`", instant(*at, data_type))
        }
        Check::Format(format) => format!("`format: {format:?}`").to_lowercase(),
        Check::CheckDigit(digit) => format!("the check digit {}", format!("{digit:?}").to_lowercase()),
        Check::ValidValues(values) => format!("the list of {} valid values", values.len()),
        Check::NotAmong(values) => format!("the list of {} missing values", values.len()),
    }
}

/// A bound of dates and times as ISO 8601.
fn instant(at: i64, data_type: &DataType) -> String {
    let (micros, format) = match data_type {
        DataType::Date { .. } => (at.saturating_mul(86_400_000_000), "%Y-%m-%d"),
        DataType::Time { .. } => (at, "%H:%M:%S%.f"),
        DataType::Timestamp { zone: Zone::Utc { .. }, .. } => (at, "%Y-%m-%dT%H:%M:%S%.fZ"),
        DataType::List(inner) => return instant(at, inner),
        _ => (at, "%Y-%m-%dT%H:%M:%S%.f"),
    };
    chrono::DateTime::from_timestamp_micros(micros).map_or_else(|| at.to_string(), |time| time.format(format).to_string())
}

/// The number as a decimal.
fn text(number: Decimal) -> String {
    let digits = number.unscaled.unsigned_abs().to_string();
    let scale = usize::from(number.scale);
    let sign = if number.unscaled < 0 { "-" } else { "" };
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}
