//! The type of a column: `logicalType`, `physicalType` and `logicalTypeOptions`.
use super::super::Report;
use crate::date_format::{CompiledFormat, FormatError, Offset};
use crate::diagnostic::{nearest, shorten};
use crate::schema::{DataType, DateFormat, Zone};
use crate::spanned::Spanned;
use crate::typed::odcs::{LogicalType, LogicalTypeOptions};
use crate::{Diagnostic, Span, codes};

/// A type, and the range of the integer format where the type itself holds more.
pub(super) struct Typed {
    pub(super) data_type: DataType,
    pub(super) range: Option<(i128, i128)>,
}

impl From<DataType> for Typed {
    fn from(data_type: DataType) -> Self {
        Self { data_type, range: None }
    }
}

pub(super) fn data_type(
    logical: LogicalType,
    physical: Option<&Spanned<String>>,
    options: &LogicalTypeOptions,
    year_base: Option<&Spanned<i32>>,
    at: Span,
    report: &mut Report,
) -> Option<Typed> {
    match logical {
        LogicalType::String => Some(DataType::String.into()),
        LogicalType::Boolean => Some(DataType::Boolean.into()),
        // the caller takes these apart
        LogicalType::Object | LogicalType::Array => None,
        LogicalType::Integer => integer(physical, options.format.as_ref(), report),
        LogicalType::Number => number(physical, options.format.as_ref(), report).map(Typed::from),
        LogicalType::Time => time(options, report).map(Typed::from),
        LogicalType::Date => {
            let format = date_format(options.format.as_ref(), year_base, CompiledFormat::iso_date, report)?;
            if format.compiled.has_time() {
                let span = options.format.as_ref().map_or(at, |format| format.span);
                report.push(Diagnostic::new(codes::BAD_DATE_FORMAT, span, "a date has no time").help("remove the time, or declare `logicalType: timestamp`"));
            }
            Some(DataType::Date { format }.into())
        }
        LogicalType::Timestamp => timestamp(options, year_base, report).map(Typed::from),
    }
}

fn integer(physical: Option<&Spanned<String>>, format: Option<&Spanned<String>>, report: &mut Report) -> Option<Typed> {
    let named = physical.map(|physical| physical.value.trim().to_ascii_lowercase());
    let by_physical = match named.as_deref() {
        Some("int" | "int32" | "integer" | "int4") => DataType::Int32,
        _ => DataType::Int64,
    };
    let Some(format) = format else { return Some(by_physical.into()) };
    let ranged = |data_type, low: i128, high: i128| Some(Typed { data_type, range: Some((low, high)) });
    match format.value.as_str() {
        "i8" => ranged(DataType::Int32, i8::MIN.into(), i8::MAX.into()),
        "i16" => ranged(DataType::Int32, i16::MIN.into(), i16::MAX.into()),
        "i32" => Some(DataType::Int32.into()),
        "i64" => Some(DataType::Int64.into()),
        "u8" => ranged(DataType::Int32, 0, u8::MAX.into()),
        "u16" => ranged(DataType::Int32, 0, u16::MAX.into()),
        "u32" => ranged(DataType::Int64, 0, u32::MAX.into()),
        // no signed 64 bits hold them
        "u64" => ranged(DataType::Decimal { precision: 20, scale: 0 }, 0, u64::MAX.into()),
        other => {
            report.push(codes::not_available(codes::NUMBER_FORMAT_NOT_AVAILABLE, format.span, &format!("`format: {}`", shorten(other))));
            None
        }
    }
}

fn number(physical: Option<&Spanned<String>>, format: Option<&Spanned<String>>, report: &mut Report) -> Option<DataType> {
    // every 32-bit float is a 64-bit one
    if let Some(format) = format
        && !matches!(format.value.as_str(), "f64" | "f32")
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
                        return wrong(report, "an exact decimal and a floating-point `format` exclude each other".to_owned());
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
        Some(format) => compiled(format, |pattern| CompiledFormat::compile(pattern, base), report)?,
    };
    if let Some(base) = year_base
        && !compiled.has_year_of_base()
    {
        report.push(Diagnostic::new(codes::YEAR_BASE, base.span, "`yearBase` without `yy` in the format").help("remove it"));
    }
    Some(DateFormat { pattern: format.map(|format| format.value.clone()), year_base: base, compiled })
}

fn compiled(format: &Spanned<String>, compile: impl Fn(&str) -> Result<CompiledFormat, FormatError>, report: &mut Report) -> Option<CompiledFormat> {
    match compile(&format.value) {
        Ok(compiled) => Some(compiled),
        Err(error) => {
            let message = format!("the format cannot be used: {error}");
            let help = "a JDK DateTimeFormatter pattern, e.g. `dd/MM/yyyy`, `HH:mm:ss` or `yyyy-MM-dd'T'HH:mm:ssXXX`";
            report.push(Diagnostic::new(codes::BAD_DATE_FORMAT, format.span, message).help(help));
            None
        }
    }
}

fn time(options: &LogicalTypeOptions, report: &mut Report) -> Option<DataType> {
    let zoned = options.timezone.as_ref().filter(|zone| zone.value).map(|zone| zone.span).or(options.default_timezone.as_ref().map(|zone| zone.span));
    if let Some(span) = zoned {
        let help = "remove it, or declare `logicalType: timestamp`: without a day an offset says nothing";
        report.push(Diagnostic::new(codes::TIMEZONE_CONFLICT, span, "a time of day has no zone here").help(help));
    }
    let format = match &options.format {
        None => DateFormat::iso_time(),
        Some(format) => {
            let compiled = compiled(format, CompiledFormat::compile_time, report)?;
            DateFormat { pattern: Some(format.value.clone()), year_base: DateFormat::JDK_YEAR_BASE, compiled }
        }
    };
    Some(DataType::Time { format })
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
