//! `logicalTypeOptions` as rules about values.
use super::super::{Report, decimal};
use super::types::Typed;
use crate::date_format::CompiledFormat;
use crate::diagnostic::{list, nearest, shorten};
use crate::schema::{Check, DataType, Decimal, StringFormat, TimeBound, ValueRule, Zone};
use crate::spanned::{Exact, Spanned};
use crate::typed::odcs::{LogicalType, LogicalTypeOptions};
use crate::{Diagnostic, Span, codes};
use chrono::TimeZone as _;

/// Options that say nothing about such a type.
pub(super) fn not_for_type(logical: LogicalType, options: &LogicalTypeOptions, report: &mut Report) {
    use LogicalType::{Array, Date, Integer, Number, Object, String, Time, Timestamp};
    let bounded: &[LogicalType] = &[Integer, Number, Date, Time, Timestamp];
    let exact = |option: &Option<Spanned<Exact>>| option.as_ref().map(|option| option.span);
    let list: [(&str, Option<Span>, &[LogicalType]); 15] = [
        ("minLength", options.min_length.as_ref().map(|option| option.span), &[String]),
        ("maxLength", options.max_length.as_ref().map(|option| option.span), &[String]),
        ("pattern", options.pattern.as_ref().map(|option| option.span), &[String]),
        ("format", options.format.as_ref().map(|option| option.span), &[String, Integer, Number, Date, Time, Timestamp]),
        ("minimum", exact(&options.minimum), bounded),
        ("maximum", exact(&options.maximum), bounded),
        ("exclusiveMinimum", exact(&options.exclusive_minimum), bounded),
        ("exclusiveMaximum", exact(&options.exclusive_maximum), bounded),
        ("multipleOf", exact(&options.multiple_of), &[Integer, Number]),
        ("timezone", options.timezone.as_ref().map(|option| option.span), &[Time, Timestamp]),
        ("defaultTimezone", options.default_timezone.as_ref().map(|option| option.span), &[Time, Timestamp]),
        ("minItems", options.min_items.as_ref().map(|option| option.span), &[Array]),
        ("maxItems", options.max_items.as_ref().map(|option| option.span), &[Array]),
        ("uniqueItems", options.unique_items.as_ref().map(|option| option.span), &[Array]),
        ("required", options.required.as_ref().map(|option| option.span), &[Object]),
    ];
    for (key, span, types) in list {
        if let Some(span) = span.filter(|_| !types.contains(&logical)) {
            let message = format!("`{key}` says nothing about `logicalType: {}`", name(logical));
            report.push(Diagnostic::new(codes::OPTION_NOT_FOR_TYPE, span, message).help("remove it, or correct the type"));
        }
    }
}

pub(super) fn name(logical: LogicalType) -> &'static str {
    match logical {
        LogicalType::String => "string",
        LogicalType::Date => "date",
        LogicalType::Timestamp => "timestamp",
        LogicalType::Time => "time",
        LogicalType::Number => "number",
        LogicalType::Integer => "integer",
        LogicalType::Boolean => "boolean",
        LogicalType::Object => "object",
        LogicalType::Array => "array",
    }
}

/// The rules about a value of such a type. `flags`: before v3.1, `exclusiveMinimum` was a flag of `minimum`.
pub(super) fn value_rules(options: &LogicalTypeOptions, typed: &Typed, flags: bool, report: &mut Report) -> Vec<ValueRule> {
    let mut rules = Vec::new();
    let mut push = |check: Check, span: Span| rules.push(ValueRule { check, each: false, span });
    match &typed.data_type {
        DataType::String => text_rules(options, &mut push, report),
        DataType::Int32 | DataType::Int64 | DataType::Decimal { .. } | DataType::Float64 => {
            number_rules(&bounds(options, flags), options, typed, &mut push, report);
        }
        DataType::Date { .. } | DataType::Time { .. } | DataType::Timestamp { .. } => {
            let mut limits: [Option<(Decimal, Span)>; 4] = [None; 4];
            let kinds = [TimeBound::Minimum, TimeBound::ExclusiveMinimum, TimeBound::Maximum, TimeBound::ExclusiveMaximum];
            for ((slot, bound), kind) in limits.iter_mut().zip(bounds(options, flags)).zip(kinds) {
                let Some(bound) = bound else { continue };
                if let Some(at) = instant(&bound, &typed.data_type, report) {
                    *slot = Some((Decimal { unscaled: at.into(), scale: 0 }, bound.span));
                    push(Check::TimeRange { bound: kind, at }, bound.span);
                }
            }
            empty_range(limits, report);
        }
        DataType::Boolean | DataType::List(_) => {}
    }
    rules
}

/// The rules about an array as a whole.
pub(super) fn list_rules(options: &LogicalTypeOptions, report: &mut Report) -> Vec<ValueRule> {
    if let (Some(min), Some(max)) = (&options.min_items, &options.max_items)
        && min.value > max.value
    {
        report.push(Diagnostic::new(codes::EMPTY_RANGE, min.span, "`minItems` is more than `maxItems`").help("no array is both"));
    }
    let min = options.min_items.as_ref().map(|min| (Check::MinItems(min.value), min.span));
    let max = options.max_items.as_ref().map(|max| (Check::MaxItems(max.value), max.span));
    let unique = options.unique_items.as_ref().filter(|unique| unique.value).map(|unique| (Check::UniqueItems, unique.span));
    [min, max, unique].into_iter().flatten().map(|(check, span)| ValueRule { check, each: false, span }).collect()
}

fn text_rules(options: &LogicalTypeOptions, push: &mut impl FnMut(Check, Span), report: &mut Report) {
    if let (Some(min), Some(max)) = (&options.min_length, &options.max_length)
        && min.value > max.value
    {
        report.push(Diagnostic::new(codes::EMPTY_RANGE, min.span, "`minLength` is more than `maxLength`").help("no value is both"));
    }
    if let Some(min) = &options.min_length {
        push(Check::MinLength(min.value), min.span);
    }
    if let Some(max) = &options.max_length {
        push(Check::MaxLength(max.value), max.span);
    }
    if let Some(pattern) = &options.pattern
        && let Some(check) = super::super::pattern(&pattern.value, pattern.span, report)
    {
        push(check, pattern.span);
    }
    if let Some(format) = &options.format
        && let Some(check) = string_format(format, report)
    {
        push(Check::Format(check), format.span);
    }
}

fn string_format(format: &Spanned<String>, report: &mut Report) -> Option<StringFormat> {
    const FORMATS: [(&str, StringFormat); 6] = [
        ("email", StringFormat::Email),
        ("uuid", StringFormat::Uuid),
        ("uri", StringFormat::Uri),
        ("hostname", StringFormat::Hostname),
        ("ipv4", StringFormat::Ipv4),
        ("ipv6", StringFormat::Ipv6),
    ];
    let written = format.value.as_str();
    if let Some((_, known)) = FORMATS.iter().find(|(name, _)| *name == written) {
        return Some(*known);
    }
    let names = FORMATS.map(|(name, _)| name);
    let help = match written {
        "password" => "remove it: what a password looks like nobody knows; that it is secret says `classification`".to_owned(),
        "byte" => "remove it: text stays text; `pattern: '[A-Za-z0-9+/]*={0,2}'` checks the characters of base64".to_owned(),
        "binary" => "leave the column out: this version reads no binary data".to_owned(),
        other => nearest(other, &names).map_or_else(|| format!("{}; anything else as a `pattern`", list(&names)), |near| format!("did you mean `{near}`?")),
    };
    report.push(codes::not_available(codes::STRING_FORMAT_NOT_AVAILABLE, format.span, &format!("`format: {}`", shorten(written))).help(help));
    None
}

/// `[minimum, exclusiveMinimum, maximum, exclusiveMaximum]`.
fn bounds(options: &LogicalTypeOptions, flags: bool) -> [Option<Spanned<String>>; 4] {
    let text = |bound: &Option<Spanned<Exact>>| bound.as_ref().map(|bound| Spanned { value: bound.value.0.clone(), span: bound.span });
    let pair = |inclusive: Option<Spanned<String>>, exclusive: Option<Spanned<String>>| match exclusive.as_ref().map(|flag| flag.value.as_str()) {
        Some("true") if flags => (None, inclusive),
        Some("false") if flags => (inclusive, None),
        _ => (inclusive, exclusive),
    };
    let (minimum, above) = pair(text(&options.minimum), text(&options.exclusive_minimum));
    let (maximum, below) = pair(text(&options.maximum), text(&options.exclusive_maximum));
    [minimum, above, maximum, below]
}

fn number_rules(bounds: &[Option<Spanned<String>>; 4], options: &LogicalTypeOptions, typed: &Typed, push: &mut impl FnMut(Check, Span), report: &mut Report) {
    let number = |written: &str, span: Span, report: &mut Report| {
        let number = decimal(written);
        if number.is_none() {
            let message = "the bound is not a number of 38 digits at most";
            report.push(Diagnostic::new(codes::BAD_BOUND, span, message).help("`0`, `-1`, `99.95`"));
        }
        number
    };
    let checks: [fn(Decimal) -> Check; 4] = [Check::Minimum, Check::ExclusiveMinimum, Check::Maximum, Check::ExclusiveMaximum];
    let mut limits: [Option<(Decimal, Span)>; 4] = [None; 4];
    for ((slot, bound), check) in limits.iter_mut().zip(bounds).zip(checks) {
        if let Some(bound) = bound
            && let Some(limit) = number(&bound.value, bound.span, report)
        {
            *slot = Some((limit, bound.span));
            push(check(limit), bound.span);
        }
    }
    empty_range(limits, report);
    if let (Some((low, high)), Some(format)) = (typed.range, &options.format) {
        let [minimum, above, maximum, below] = limits.map(|limit| limit.map(|(limit, _)| limit));
        let (low, high) = (Decimal { unscaled: low, scale: 0 }, Decimal { unscaled: high, scale: 0 });
        // a bound of the contract's own that is as tight says it already
        if ![minimum, above].into_iter().flatten().any(|own| compare(own, low).is_some_and(std::cmp::Ordering::is_ge)) {
            push(Check::Minimum(low), format.span);
        }
        if ![maximum, below].into_iter().flatten().any(|own| compare(own, high).is_some_and(std::cmp::Ordering::is_le)) {
            push(Check::Maximum(high), format.span);
        }
    }
    if let Some(multiple) = &options.multiple_of
        && let Some(step) = number(&multiple.value.0, multiple.span, report)
    {
        if step.unscaled <= 0 {
            report.push(Diagnostic::new(codes::BAD_BOUND, multiple.span, "`multipleOf` is more than 0").help("`5`, `0.01`"));
        }
        push(Check::MultipleOf(step), multiple.span);
    }
}

/// A bound of a date, time or timestamp in the type's own unit: as the column's format has it, or ISO 8601.
fn instant(bound: &Spanned<String>, data_type: &DataType, report: &mut Report) -> Option<i64> {
    let text = bound.value.trim();
    let mut wrong = |message: &str, help: &str| {
        report.push(Diagnostic::new(codes::BAD_BOUND, bound.span, message).help(help));
        None
    };
    match data_type {
        DataType::Date { format } => match format.compiled.parse_date(text).or_else(|| CompiledFormat::iso_date().parse_date(text)) {
            Some(day) => Some(day.into()),
            None => wrong("the bound is not a date", "as the column's `format` has it, or `2026-11-30`"),
        },
        DataType::Time { format } => match format.compiled.parse_time(text).or_else(|| CompiledFormat::iso_time().parse_time(text)) {
            Some(at) => Some(at),
            None => wrong("the bound is not a time of day", "as the column's `format` has it, or `23:59:59`"),
        },
        DataType::Timestamp { format, zone } => {
            let day = || CompiledFormat::iso_date().parse_date(text).map(|day| (i64::from(day) * MICROS_PER_DAY, None));
            let parsed = format.compiled.parse_timestamp(text).or_else(|| CompiledFormat::iso_timestamp().parse_timestamp(text)).or_else(day);
            let help = "as the column's `format` has it, `2026-11-30T00:00:00Z`, or a day for its midnight";
            match (parsed, zone) {
                (None, _) => wrong("the bound is not a timestamp", help),
                (Some((at, None)), Zone::None) => Some(at),
                (Some((_, Some(_))), Zone::None) => wrong("the bound has an offset and the column has no zone", "remove the offset, or add `timezone: true`"),
                (Some((at, Some(offset))), Zone::Utc { .. }) => Some(at - i64::from(offset) * 1_000_000),
                (Some((_, None)), Zone::Utc { default: None }) => {
                    wrong("the bound does not say in which zone it is", "add an offset (`2026-11-30T00:00:00Z`), or `defaultTimezone`")
                }
                (Some((at, None)), Zone::Utc { default: Some(zone) }) => match local(at, *zone) {
                    Some(at) => Some(at),
                    None => wrong("in the column's zone the clock shows the bound twice or never", "add an offset: `2026-11-30T00:00:00-03:00`"),
                },
            }
        }
        _ => None,
    }
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The instant at which the clock of a zone shows `wall`, when there is one.
fn local(wall_micros: i64, zone: chrono_tz::Tz) -> Option<i64> {
    let wall = chrono::DateTime::from_timestamp_micros(wall_micros)?.naive_utc();
    Some(zone.from_local_datetime(&wall).single()?.timestamp_micros())
}

/// `[minimum, exclusiveMinimum, maximum, exclusiveMaximum]` that no value satisfies.
fn empty_range([minimum, above, maximum, below]: [Option<(Decimal, Span)>; 4], report: &mut Report) {
    let pairs = [(minimum, maximum, false), (minimum, below, true), (above, maximum, true), (above, below, true)];
    for (low, high, strict) in pairs {
        let (Some((low, span)), Some((high, _))) = (low, high) else { continue };
        let Some(order) = compare(low, high) else { continue };
        if order.is_gt() || (strict && order.is_eq()) {
            report.push(Diagnostic::new(codes::EMPTY_RANGE, span, "the lower bound is above the upper one").help("no value is both"));
        }
    }
}

pub(crate) fn compare(a: Decimal, b: Decimal) -> Option<std::cmp::Ordering> {
    let scale = a.scale.max(b.scale);
    let at = |number: Decimal| number.unscaled.checked_mul(10i128.checked_pow(u32::from(scale - number.scale))?);
    Some(at(a)?.cmp(&at(b)?))
}
