//! Schemas.
use super::{Report, decimal, join_domain, not_blank, quality, semantic_type, touched, unique};
use crate::date_format::{CompiledFormat, Offset};
use crate::diagnostic::{nearest, shorten};
use crate::schema::{Check, Column, DataType, DateFormat, Decimal, Schema, ValueRule, Zone};
use crate::spanned::{Any, Exact, Spanned};
use crate::typed::odcs::{Contract, CustomProperty, LogicalType, LogicalTypeOptions, Property};
use crate::{Diagnostic, Span, codes};

pub(crate) fn schema(typed: Contract, report: &mut Report) -> Option<Schema> {
    misplaced(typed.custom_properties.as_deref(), report);
    let objects = typed.schema?;
    let count = objects.value.len();
    if count != 1 && !touched(report, objects.span) {
        let message = format!("`schema` has {count} objects");
        report.push(
            Diagnostic::new(codes::ONE_SCHEMA_OBJECT, objects.span, message).help("one file describes one dataset: one object, other objects in other files"),
        );
    }
    let Spanned { value: object, span } = objects.value.into_iter().next()?;
    misplaced(object.custom_properties.as_deref(), report);
    for rule in object.quality.into_iter().flatten() {
        quality::of_dataset(rule, report);
    }
    let name = object.name.and_then(|name| not_blank(name, "name", report));
    let properties = object.properties?;
    if properties.value.is_empty() && !touched(report, properties.span) {
        report.push(Diagnostic::new(codes::EMPTY_LIST, properties.span, "`properties` is empty").help("a dataset has at least one column"));
    }
    unique(properties.value.iter().filter_map(|p| p.value.name.as_ref()).map(|name| (name.value.as_str(), name.span)), "the column", report);
    let columns: Vec<Option<Column>> = properties.value.into_iter().map(|property| column(property, report)).collect();
    Some(Schema { name: name?, columns: columns.into_iter().collect::<Option<_>>()?, required_objects: Vec::new(), rules: Vec::new(), span })
}

fn column(typed: Spanned<Property>, report: &mut Report) -> Option<Column> {
    let Spanned { value: typed, span } = typed;
    let name = typed.name.and_then(|name| column_name(name, report));
    for (key, flag) in [("primaryKey", &typed.primary_key), ("unique", &typed.unique)] {
        if let Some(flag) = flag.as_ref().filter(|flag| flag.value) {
            report.push(codes::not_available(codes::UNIQUE_NOT_AVAILABLE, flag.span, &format!("`{key}: true`")));
        }
    }
    let properties = custom_properties(typed.custom_properties.unwrap_or_default(), report);
    let options = typed.logical_type_options.map(|options| options.value);
    let mut rules = Vec::new();
    let before = report.len();
    let data_type = typed.logical_type.and_then(|logical| {
        let options = options.unwrap_or_default();
        not_for_type(logical.value, &options, report);
        rules.extend(value_rules(&options, logical.value, report));
        if let Some(base) = &properties.year_base
            && !matches!(logical.value, LogicalType::Date | LogicalType::Timestamp)
        {
            let help = "it says what the `yy` of a date counts from: remove it";
            report.push(Diagnostic::new(codes::YEAR_BASE, base.span, "`yearBase` is for dates and timestamps").help(help));
        }
        let data_type = data_type(logical.value, typed.physical_type.as_ref(), &options, properties.year_base.as_ref(), logical.span, report)?;
        for rule in typed.quality.into_iter().flatten() {
            rules.extend(quality::of_column(rule, &data_type, report));
        }
        Some(data_type)
    });
    let wrong = report.len() > before;
    let classification = typed.classification.map(|classification| classification.value);
    let tags = typed.tags.into_iter().flat_map(|tags| tags.0).map(|tag| tag.value).collect();
    let column = Column {
        path: vec![name.clone()?],
        name: name?,
        list_at: None,
        data_type: data_type?,
        required: typed.required.unwrap_or(false),
        item_required: false,
        semantic_type: properties.semantic_type,
        join_domain: properties.join_domain,
        classification,
        tags,
        rules,
        span,
    };
    (!wrong).then_some(column)
}

fn column_name(name: Spanned<String>, report: &mut Report) -> Option<String> {
    if !name.value.trim().is_empty() && !name.value.chars().any(char::is_control) {
        return Some(name.value);
    }
    report.push(Diagnostic::new(codes::BAD_NAME, name.span, "a column's name is blank or has control characters").help("write the name as the file has it"));
    None
}

/// What `customProperties` says about a column.
#[derive(Default)]
struct Custom {
    semantic_type: Option<String>,
    join_domain: Option<String>,
    year_base: Option<Spanned<i32>>,
}

const OURS: [&str; 3] = ["semanticType", "joinDomain", "yearBase"];

fn custom_properties(list: Vec<CustomProperty>, report: &mut Report) -> Custom {
    let mut custom = Custom::default();
    unique(list.iter().filter_map(|p| p.property.as_ref()).map(|name| (name.value.as_str(), name.span)), "the custom property", report);
    for CustomProperty { property, value, .. } in list {
        let Some(property) = property else { continue };
        let Some(value) = value else { continue };
        let text = match value.value {
            Any::Text(text) => Spanned { value: text, span: value.span },
            _ if OURS.contains(&property.value.as_str()) => {
                let message = format!("`{}` is one word", property.value);
                report.push(Diagnostic::new(codes::BAD_CUSTOM_PROPERTY, value.span, message).help("write one value"));
                continue;
            }
            _ => continue,
        };
        match property.value.as_str() {
            "semanticType" => custom.semantic_type = semantic_type(text, report),
            "joinDomain" => custom.join_domain = join_domain(text, report),
            "yearBase" => match text.value.parse::<i32>() {
                Ok(base) if (0..=9900).contains(&base) => custom.year_base = Some(Spanned { value: base, span: text.span }),
                _ => {
                    let message = "`yearBase` is not a year";
                    report.push(
                        Diagnostic::new(codes::YEAR_BASE, text.span, message)
                            .help("the first year that two digits can mean, 0 to 9900: `1900` gives 1900 to 1999"),
                    );
                }
            },
            other => {
                // other tools have properties of their own; a typo in one of ours must not unclassify a column
                if let Some(near) = nearest(other, &OURS) {
                    let message = format!("there is no custom property `{}`", shorten(other));
                    report.push(Diagnostic::new(codes::UNKNOWN_CUSTOM_PROPERTY, property.span, message).help(format!("did you mean `{near}`?")));
                }
            }
        }
    }
    custom
}

/// Our properties say something about columns only.
fn misplaced(list: Option<&[CustomProperty]>, report: &mut Report) {
    for property in list.into_iter().flatten().filter_map(|property| property.property.as_ref()) {
        if OURS.contains(&property.value.as_str()) {
            let message = format!("`{}` is about a column", property.value);
            report.push(Diagnostic::new(codes::UNKNOWN_CUSTOM_PROPERTY, property.span, message).help("move it to the column's own `customProperties`"));
        }
    }
}

/// Options that say nothing about such a type.
fn not_for_type(logical: LogicalType, options: &LogicalTypeOptions, report: &mut Report) {
    use LogicalType::{Boolean, Date, Integer, Number, String, Timestamp};
    let numbers: &[LogicalType] = &[Integer, Number, Date, Timestamp];
    let of = |option: &Option<Spanned<Exact>>| option.as_ref().map(|option| option.span);
    let list: [(&str, Option<Span>, &[LogicalType]); 10] = [
        ("minLength", options.min_length.as_ref().map(|option| option.span), &[String]),
        ("maxLength", options.max_length.as_ref().map(|option| option.span), &[String]),
        ("pattern", options.pattern.as_ref().map(|option| option.span), &[String]),
        ("format", options.format.as_ref().map(|option| option.span), &[String, Integer, Number, Date, Timestamp]),
        ("minimum", of(&options.minimum), numbers),
        ("maximum", of(&options.maximum), numbers),
        ("exclusiveMinimum", of(&options.exclusive_minimum), numbers),
        ("exclusiveMaximum", of(&options.exclusive_maximum), numbers),
        ("timezone", options.timezone.as_ref().map(|option| option.span), &[Timestamp]),
        ("defaultTimezone", options.default_timezone.as_ref().map(|option| option.span), &[Timestamp]),
    ];
    let name = match logical {
        String => "string",
        Date => "date",
        Timestamp => "timestamp",
        Number => "number",
        Integer => "integer",
        Boolean => "boolean",
    };
    for (key, span, types) in list {
        if let Some(span) = span.filter(|_| !types.contains(&logical)) {
            let message = format!("`{key}` says nothing about `logicalType: {name}`");
            report.push(Diagnostic::new(codes::OPTION_NOT_FOR_TYPE, span, message).help("remove it, or correct the type"));
        }
    }
}

fn value_rules(options: &LogicalTypeOptions, logical: LogicalType, report: &mut Report) -> Vec<ValueRule> {
    let mut rules = Vec::new();
    let mut push = |check: Check, span: Span| rules.push(ValueRule { check, each: false, span });
    if logical == LogicalType::String {
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
        if let Some(pattern) = &options.pattern {
            match crate::pattern::compile(&pattern.value) {
                Ok(regex) => push(Check::Pattern(regex), pattern.span),
                Err(reason) => {
                    let message = format!("the pattern cannot be used: {reason}");
                    let help = "ECMA-262 syntax without look-around and back-references; the whole value must match";
                    report.push(Diagnostic::new(codes::BAD_PATTERN, pattern.span, message).help(help));
                }
            }
        }
    }
    let bounds = [
        (&options.minimum, Check::Minimum as fn(Decimal) -> Check),
        (&options.exclusive_minimum, Check::ExclusiveMinimum),
        (&options.maximum, Check::Maximum),
        (&options.exclusive_maximum, Check::ExclusiveMaximum),
    ];
    match logical {
        LogicalType::Integer | LogicalType::Number => {
            let mut limits: [Option<(Decimal, Span)>; 4] = [None; 4];
            for (slot, (bound, check)) in limits.iter_mut().zip(bounds) {
                let Some(bound) = bound else { continue };
                match decimal(&bound.value.0) {
                    Some(number) => {
                        *slot = Some((number, bound.span));
                        push(check(number), bound.span);
                    }
                    None => {
                        let message = "the bound is not a number of 38 digits at most";
                        report.push(Diagnostic::new(codes::BAD_BOUND, bound.span, message).help("`0`, `-1`, `99.95`"));
                    }
                }
            }
            empty_range(limits, report);
        }
        LogicalType::Date | LogicalType::Timestamp => {
            for bound in bounds.iter().filter_map(|(bound, _)| bound.as_ref()) {
                report.push(codes::not_available(codes::DATE_RANGE_NOT_AVAILABLE, bound.span, "bounds of dates"));
            }
        }
        LogicalType::String | LogicalType::Boolean => {}
    }
    rules
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

fn compare(a: Decimal, b: Decimal) -> Option<std::cmp::Ordering> {
    let scale = a.scale.max(b.scale);
    let at = |number: Decimal| number.unscaled.checked_mul(10i128.checked_pow(u32::from(scale - number.scale))?);
    Some(at(a)?.cmp(&at(b)?))
}

fn data_type(
    logical: LogicalType,
    physical: Option<&Spanned<String>>,
    options: &LogicalTypeOptions,
    year_base: Option<&Spanned<i32>>,
    at: Span,
    report: &mut Report,
) -> Option<DataType> {
    match logical {
        LogicalType::String => {
            if let Some(format) = &options.format {
                let what = format!("`format: {}`", shorten(&format.value));
                report.push(codes::not_available(codes::STRING_FORMAT_NOT_AVAILABLE, format.span, &what));
            }
            Some(DataType::String)
        }
        LogicalType::Boolean => Some(DataType::Boolean),
        LogicalType::Integer => integer(physical, options.format.as_ref(), report),
        LogicalType::Number => number(physical, options.format.as_ref(), report),
        LogicalType::Date => {
            let format = date_format(options.format.as_ref(), year_base, CompiledFormat::iso_date, report)?;
            if format.compiled.has_time() {
                let span = options.format.as_ref().map_or(at, |format| format.span);
                report.push(Diagnostic::new(codes::BAD_DATE_FORMAT, span, "a date has no time").help("remove the time, or declare `logicalType: timestamp`"));
            }
            Some(DataType::Date { format })
        }
        LogicalType::Timestamp => timestamp(options, year_base, report),
    }
}

fn integer(physical: Option<&Spanned<String>>, format: Option<&Spanned<String>>, report: &mut Report) -> Option<DataType> {
    let named = physical.map(|physical| physical.value.to_ascii_lowercase());
    let by_physical = match named.as_deref() {
        Some("int" | "int32" | "integer" | "int4") => DataType::Int32,
        _ => DataType::Int64,
    };
    let Some(format) = format else { return Some(by_physical) };
    match format.value.as_str() {
        "i32" => Some(DataType::Int32),
        "i64" => Some(DataType::Int64),
        other => {
            report.push(codes::not_available(codes::NUMBER_FORMAT_NOT_AVAILABLE, format.span, &format!("`format: {}`", shorten(other))));
            None
        }
    }
}

fn number(physical: Option<&Spanned<String>>, format: Option<&Spanned<String>>, report: &mut Report) -> Option<DataType> {
    if let Some(format) = format
        && format.value != "f64"
    {
        report.push(codes::not_available(codes::NUMBER_FORMAT_NOT_AVAILABLE, format.span, &format!("`format: {}`", shorten(&format.value))));
        return None;
    }
    let Some(physical) = physical else { return Some(DataType::Float64) };
    let text = physical.value.to_ascii_lowercase();
    let (name, arguments) = match text.trim().strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, arguments)) => (name.trim(), Some(arguments)),
        None => (text.trim(), None),
    };
    let wrong = |report: &mut Report, message: String| {
        let help = "`decimal(18,2)` for exact decimals, `double` for floating point";
        report.push(Diagnostic::new(codes::PHYSICAL_TYPE, physical.span, message).help(help));
        None
    };
    match (name, arguments) {
        ("double" | "double precision" | "float" | "float8" | "float64" | "real", None) => Some(DataType::Float64),
        ("decimal" | "numeric" | "number", Some(arguments)) => {
            let (precision, scale) = arguments.split_once(',').unwrap_or((arguments, "0"));
            let parsed = precision.trim().parse::<u8>().ok().zip(scale.trim().parse::<u8>().ok());
            match parsed {
                Some((precision @ 1..=38, scale)) if scale <= precision => {
                    if format.is_some() {
                        return wrong(report, "an exact decimal and `format: f64` exclude each other".to_owned());
                    }
                    Some(DataType::Decimal { precision, scale })
                }
                _ => wrong(report, "precision is 1 to 38, scale 0 to the precision".to_owned()),
            }
        }
        _ => wrong(report, format!("`{}` does not say how exact the number is", shorten(&physical.value))),
    }
}

fn date_format(format: Option<&Spanned<String>>, year_base: Option<&Spanned<i32>>, default: fn() -> CompiledFormat, report: &mut Report) -> Option<DateFormat> {
    let base = year_base.map_or(DateFormat::JDK_YEAR_BASE, |base| base.value);
    let compiled = match format {
        None => default(),
        Some(format) => match CompiledFormat::compile(&format.value, base) {
            Ok(compiled) => compiled,
            Err(error) => {
                let message = format!("the format cannot be used: {error}");
                let help = "a JDK DateTimeFormatter pattern, e.g. `dd/MM/yyyy` or `yyyy-MM-dd'T'HH:mm:ssXXX`";
                report.push(Diagnostic::new(codes::BAD_DATE_FORMAT, format.span, message).help(help));
                return None;
            }
        },
    };
    if let Some(base) = year_base
        && !compiled.has_year_of_base()
    {
        report.push(Diagnostic::new(codes::YEAR_BASE, base.span, "`yearBase` without `yy` in the format").help("remove it"));
    }
    Some(DateFormat { pattern: format.map(|format| format.value.clone()), year_base: base, compiled })
}

fn timestamp(options: &LogicalTypeOptions, year_base: Option<&Spanned<i32>>, report: &mut Report) -> Option<DataType> {
    let format = date_format(options.format.as_ref(), year_base, CompiledFormat::iso_timestamp, report)?;
    let format_span = options.format.as_ref().map(|format| format.span);
    if let (Some(span), false) = (format_span, format.compiled.has_time()) {
        report.push(Diagnostic::new(codes::BAD_DATE_FORMAT, span, "a timestamp has a time").help("add it, or declare `logicalType: date`"));
    }
    let conflict = |report: &mut Report, span: Span, message: &str, help: &str| {
        report.push(Diagnostic::new(codes::TIMEZONE_CONFLICT, span, message).help(help));
    };
    let has_zone = options.timezone.as_ref().is_some_and(|zone| zone.value);
    if !has_zone {
        if let Some(zone) = &options.default_timezone {
            conflict(report, zone.span, "`defaultTimezone` without `timezone: true`", "add `timezone: true`, or remove it");
        }
        if let (Some(span), Offset::Always) = (format_span, format.compiled.offset()) {
            conflict(report, span, "the format has an offset and the column has no zone: every value would be rejected", "add `timezone: true`");
        }
        return Some(DataType::Timestamp { format, zone: Zone::None });
    }
    let default = options.default_timezone.as_ref().map(|zone| time_zone(zone, report));
    if let (Some(zone), None, Offset::Never) = (&options.timezone, &default, format.compiled.offset()) {
        let message = "no value has an offset and there is no `defaultTimezone`: every value would be rejected";
        conflict(report, zone.span, message, "add `defaultTimezone: America/Sao_Paulo`, or an offset to the format");
    }
    let default = match default {
        Some(zone) => Some(zone?),
        None => None,
    };
    Some(DataType::Timestamp { format, zone: Zone::Utc { default } })
}

fn time_zone(zone: &Spanned<String>, report: &mut Report) -> Option<chrono_tz::Tz> {
    let found = zone.value.parse::<chrono_tz::Tz>().ok();
    if found.is_none() {
        let names: Vec<&str> = chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()).collect();
        let help = match nearest(&zone.value, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "an IANA name: `America/Sao_Paulo`, `Etc/UTC`".to_owned(),
        };
        let message = format!("`{}` is not a time zone", shorten(&zone.value));
        report.push(Diagnostic::new(codes::UNKNOWN_TIMEZONE, zone.span, message).help(help));
    }
    found
}
