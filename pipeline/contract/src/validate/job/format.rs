//! `format`, `options` and `drift` of a source, alone and with its schema.
use super::super::{Report, touched};
use crate::diagnostic::{list, nearest, shorten};
use crate::job::{CsvOptions, Drift, Encoding, FixedField, FixedWidthOptions, Format, JsonOptions, RecordTypes, TextOptions, Trim};
use crate::schema::{Column, DataType, Schema};
use crate::spanned::{OneOrMany, Spanned};
use crate::typed::job as typed;
use crate::{Diagnostic, Span, codes};

/// One entry of `fields`, before the schema is known.
pub(crate) struct Field {
    column: Spanned<String>,
    place: FixedField,
    implied: Option<Span>,
}

fn bad(span: Span, message: impl Into<String>, help: impl Into<String>, report: &mut Report) {
    report.push(Diagnostic::new(codes::BAD_OPTION, span, message).help(help));
}

pub(super) fn csv(typed: Option<Spanned<typed::CsvOptions>>, report: &mut Report) -> Option<CsvOptions> {
    let before = report.len();
    let typed = typed.map(|options| options.value).unwrap_or_default();
    let delimiter = ascii(typed.delimiter.as_ref(), Some(b','), "delimiter", report);
    let quotes = typed.quote.as_ref().is_none_or(|quote| quote.value != "none");
    let quote = if quotes { ascii(typed.quote.as_ref(), Some(b'"'), "quote", report) } else { None };
    let escape = ascii(typed.escape.as_ref(), None, "escape", report);
    let comment = ascii(typed.comment.as_ref(), None, "comment", report);
    if let Some(span) = typed.escape.as_ref().map(|escape| escape.span) {
        if !quotes {
            bad(span, "`escape` without quotes", "it stands in front of a quote inside quotes: remove it, or name the `quote`", report);
        } else if escape.is_some() && escape == quote {
            bad(span, "`escape` and `quote` are the same", "remove `escape`: by default the quote is doubled", report);
        }
    }
    let span = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.span);
    let characters = [
        ("delimiter", delimiter, span(&typed.delimiter)),
        ("quote", quote, span(&typed.quote)),
        ("escape", escape, span(&typed.escape)),
        ("comment", comment, span(&typed.comment)),
    ];
    for (index, (name, character, at)) in characters.iter().enumerate() {
        for (other, its, its_at) in characters.iter().take(index) {
            let doubled = *name == "escape" && *other == "quote";
            if character.is_some()
                && character == its
                && !doubled
                && let Some(at) = at.or(*its_at)
            {
                bad(at, format!("`{other}` and `{name}` are the same"), "choose different characters", report);
            }
        }
    }
    let text = text(typed.text(), report);
    if let (false, Some(delimiter), Some(text)) = (quotes, delimiter, &text) {
        let same = [
            ("decimalSeparator", Some(char::from(text.decimal_separator)), span(&typed.decimal_separator)),
            ("thousandsSeparator", text.thousands_separator, span(&typed.thousands_separator)),
        ];
        for (name, separator, at) in same {
            if let Some(at) = at
                && separator == Some(char::from(delimiter))
            {
                bad(at, format!("`{name}` is the delimiter, and nothing is quoted"), "a number would be two cells: choose another `delimiter`", report);
            }
        }
    }
    if report.len() > before {
        return None;
    }
    Some(CsvOptions { delimiter: delimiter?, quote, escape, comment, header: typed.header.unwrap_or(true), text: text? })
}

fn ascii(text: Option<&Spanned<String>>, default: Option<u8>, key: &str, report: &mut Report) -> Option<u8> {
    let Some(text) = text else { return default };
    match text.value.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n' | 0) && !byte.is_ascii_alphanumeric() => Some(*byte),
        _ => {
            let message = format!("`{key}` is one ASCII character that is no letter, digit or line end");
            let help = if key == "quote" { "`\"'\"`, or `none`" } else { "`\";\"`, `\"|\"`, `\"\\t\"`" };
            bad(text.span, message, help, report);
            None
        }
    }
}

pub(super) fn json(typed: Option<Spanned<typed::JsonOptions>>, report: &mut Report) -> Option<JsonOptions> {
    let typed = typed.map(|options| options.value).unwrap_or_default();
    let array = typed.layout.as_ref().is_some_and(|layout| layout.value == typed::JsonLayout::Array);
    Some(JsonOptions { array, text: text(typed.text(), report)? })
}

const ENCODINGS: [(&str, Encoding); 12] = [
    ("utf-8", Encoding::Utf8),
    ("utf8", Encoding::Utf8),
    ("utf-16", Encoding::Utf16),
    ("utf-16le", Encoding::Utf16Le),
    ("utf-16be", Encoding::Utf16Be),
    ("iso-8859-1", Encoding::Latin1),
    ("latin-1", Encoding::Latin1),
    ("latin1", Encoding::Latin1),
    ("windows-1252", Encoding::Windows1252),
    ("cp1252", Encoding::Windows1252),
    ("cp850", Encoding::Cp850),
    ("ibm850", Encoding::Cp850),
];

fn encoding(name: &Spanned<String>, report: &mut Report) -> Option<Encoding> {
    let lower = name.value.to_ascii_lowercase();
    let found = ENCODINGS.iter().find(|(known, _)| *known == lower).map(|(_, encoding)| *encoding);
    if found.is_none() {
        let names = ["utf-8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "windows-1252", "cp850"];
        let all = ENCODINGS.map(|(known, _)| known);
        let help = nearest(&lower, &all).map_or_else(|| format!("one of {}", list(&names)), |near| format!("did you mean `{near}`?"));
        let message = format!("there is no encoding `{}`", shorten(&name.value));
        report.push(Diagnostic::new(codes::BAD_ENCODING, name.span, message).help(help));
    }
    found
}

fn text(typed: typed::TextOptions<'_>, report: &mut Report) -> Option<TextOptions> {
    let before = report.len();
    let encoding = typed.encoding.map_or(Some(Encoding::Utf8), |name| encoding(name, report));
    let decimal_separator = match typed.decimal_separator.map(|separator| (separator.value.as_str(), separator.span)) {
        None | Some((".", _)) => b'.',
        Some((",", _)) => b',',
        Some((_, span)) => {
            bad(span, "`decimalSeparator` is `.` or `,`", "`\",\"`", report);
            b'.'
        }
    };
    let thousands_separator = typed.thousands_separator.and_then(|separator| match separator.value.as_str() {
        "." => Some('.'),
        "," => Some(','),
        "'" => Some('\''),
        " " => Some(' '),
        _ => {
            bad(separator.span, "`thousandsSeparator` is `.`, `,`, `'` or a blank", "`\".\"`; leave it out where there is none", report);
            None
        }
    });
    if let (Some(separator), Some(at)) = (thousands_separator, typed.thousands_separator)
        && separator == char::from(decimal_separator)
    {
        let help = if separator == '.' { "add `decimalSeparator: \",\"`" } else { "choose different characters" };
        bad(at.span, "thousands and decimals have the same separator", help, report);
    }
    if let Some(prefix) = typed.decimal_prefix {
        let part = |b: u8| b.is_ascii_digit() || b == b'+' || b == b'-' || b == b'.' || (b == b',' && decimal_separator == b',');
        if prefix.value.is_empty() || prefix.value.bytes().any(part) {
            bad(prefix.span, "`decimalPrefix` is text that is no part of a number", "`\"$\"`, `\"R$ \"`", report);
        }
    }
    if report.len() > before {
        return None;
    }
    let null_markers = typed.null_markers.into_iter().flat_map(|list| &list.0).map(|marker| marker.value.clone()).collect();
    let number_prefix = typed.decimal_prefix.map(|prefix| prefix.value.clone());
    Some(TextOptions { null_markers, number_prefix, decimal_separator, thousands_separator, encoding: encoding? })
}

pub(super) fn drift(typed: Option<Spanned<typed::Drift>>, format: Option<&Format>, report: &mut Report) -> Drift {
    let Some(Spanned { value: typed::Drift::AllowAdded, span }) = typed else { return Drift::Refuse };
    let positional = match format {
        Some(Format::FixedWidth(_)) => Some("fixed width"),
        Some(Format::Csv(csv)) if !csv.header => Some("csv without a header"),
        _ => None,
    };
    if let Some(what) = positional {
        let message = format!("`drift: allowAdded` and {what}: columns are told apart by position alone");
        report.push(Diagnostic::new(codes::DRIFT_BY_POSITION, span, message).help("`drift: refuse`"));
    }
    Drift::AllowAdded
}

pub(super) fn fixed_width(typed: Option<Spanned<typed::FixedWidthOptions>>, source: Span, report: &mut Report) -> Option<(FixedWidthOptions, Vec<Field>)> {
    let Some(Spanned { value: typed, span }) = typed else {
        if !touched(report, source) {
            let message = "`format: fixedWidth` lacks the key `options`";
            report.push(
                Diagnostic::new(codes::MISSING_KEY, source, message).help("`options: {recordLength: 240, fields: [{column: agency, start: 1, width: 4}]}`"),
            );
        }
        return None;
    };
    let before = report.len();
    let text = text(typed.text(), report);
    let whole = !touched(report, span);
    let length = typed.record_length.as_ref().map(|length| length.value);
    let fields = typed.fields.map(|fields| {
        if fields.value.is_empty() && whole {
            report.push(Diagnostic::new(codes::EMPTY_LIST, fields.span, "`fields` is empty").help("one for each column of the schema"));
        }
        let names = fields.value.iter().filter_map(|field| field.value.column.as_ref()).map(|name| (name.value.as_str(), name.span));
        super::unique(names, "the column", report);
        fields.value.into_iter().map(|field| self::field(field.value, length, report)).collect::<Option<Vec<_>>>()
    });
    let record_types = typed.record_types.map(|types| self::record_types(types.value, length, report));
    let record_types = match record_types {
        Some(types) => Some(types?),
        None => None,
    };
    if report.len() > before {
        return None;
    }
    let options = FixedWidthOptions { record_length: length?, line_ends: typed.line_ends.unwrap_or(true), fields: Vec::new(), record_types, text: text? };
    Some((options, fields??))
}

/// The characters before it and its width, inside a record.
fn place(start: Spanned<u32>, width: Spanned<u32>, length: Option<u32>, what: &str, report: &mut Report) -> Option<(u32, u32)> {
    let offset = start.value.checked_sub(1)?;
    let end = offset.checked_add(width.value)?;
    if let Some(length) = length
        && end > length
    {
        let message = format!("{what} ends at character {end} and a record has {length}");
        report.push(Diagnostic::new(codes::BAD_FIELD, start.span, message).help("`start` counts from 1; correct it, `width` or `recordLength`"));
        return None;
    }
    Some((offset, width.value))
}

fn field(typed: typed::Field, length: Option<u32>, report: &mut Report) -> Option<Field> {
    let column = typed.column?;
    let what = format!("the field of `{}`", shorten(&column.value));
    let (offset, width) = place(typed.start?, typed.width?, length, &what, report)?;
    if let Some(implied) = &typed.implied_decimals
        && u32::from(implied.value) > width
    {
        let message = format!("`impliedDecimals` is more than the {width} characters of the field");
        report.push(Diagnostic::new(codes::BAD_FIELD, implied.span, message).help("so many of its last digits stand after the point"));
    }
    let trim = match typed.trim.map(|trim| trim.value) {
        None | Some(typed::Trim::Both) => Trim::Both,
        Some(typed::Trim::Left) => Trim::Left,
        Some(typed::Trim::Right) => Trim::Right,
        Some(typed::Trim::None) => Trim::None,
    };
    let implied = typed.implied_decimals.as_ref().map(|implied| implied.span);
    let place = FixedField { offset, width, implied_decimals: typed.implied_decimals.map(|implied| implied.value), trim };
    Some(Field { column, place, implied })
}

fn record_types(typed: typed::RecordTypes, length: Option<u32>, report: &mut Report) -> Option<RecordTypes> {
    let (offset, width) = place(typed.start?, typed.width?, length, "the type of a record", report)?;
    let before = report.len();
    let mut seen = std::collections::HashSet::new();
    let mut all = |list: Spanned<OneOrMany<Spanned<String>>>, key: &str, report: &mut Report| {
        if list.value.0.is_empty() {
            let message = format!("`{key}` is empty");
            report.push(Diagnostic::new(codes::EMPTY_LIST, list.span, message).help("name the types, or remove it"));
        }
        for value in &list.value.0 {
            let characters = value.value.chars().count();
            if u32::try_from(characters) != Ok(width) {
                let message = format!("`{}` has {characters} characters and the type of a record has {width}", shorten(&value.value));
                report.push(Diagnostic::new(codes::BAD_RECORD_TYPES, value.span, message).help("write it as the records have it, with blanks and zeros"));
            }
            if !seen.insert(value.value.clone()) {
                let message = format!("the type `{}` is here twice", shorten(&value.value));
                report.push(Diagnostic::new(codes::BAD_RECORD_TYPES, value.span, message).help("records of a type are read, or passed over"));
            }
        }
        list.value.0.into_iter().map(|value| value.value).collect::<Vec<_>>()
    };
    let values = all(typed.values?, "values", report);
    let others = typed.others.map(|others| all(others, "others", report));
    (report.len() == before).then_some(RecordTypes { offset, width, values, others })
}

/// The format, with what it needs of the schema.
pub(crate) fn with_schema(mut format: Format, fields: Vec<Field>, schema: &Schema, source: Span, report: &mut Report) -> Option<Format> {
    let before = report.len();
    if let Format::Csv(_) | Format::FixedWidth(_) = format {
        let nested = |column: &&Column| column.path.len() > 1 || column.list_at.is_some();
        if let Some(column) = schema.columns.iter().find(nested) {
            let what = if matches!(format, Format::Csv(_)) { "csv" } else { "fixed width" };
            let message = format!("the column `{}` of the schema lies in an object or array, and {what} has neither", shorten(&column.name));
            let help = "`json`, `parquet`, `arrow` and `avro` have them; or describe the flat columns in a schema of their own";
            report.push(Diagnostic::new(codes::FLAT_FORMAT, source, message).help(help));
        }
    }
    if let Format::FixedWidth(options) = &mut format {
        options.fields = in_order(&fields, schema, source, report);
    }
    (report.len() == before).then_some(format)
}

/// The fields in the order of the schema.
fn in_order(fields: &[Field], schema: &Schema, source: Span, report: &mut Report) -> Vec<FixedField> {
    let known: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    for field in fields.iter().filter(|field| !known.contains(&field.column.value.as_str())) {
        let help = nearest(&field.column.value, &known)
            .map_or_else(|| "add it to the schema, or remove the field".to_owned(), |near| format!("did you mean `{near}`?"));
        let message = format!("the schema has no column `{}`", shorten(&field.column.value));
        report.push(Diagnostic::new(codes::FIELD_COLUMNS, field.column.span, message).help(help));
    }
    let mut places = Vec::with_capacity(known.len());
    for column in &schema.columns {
        let Some(field) = fields.iter().find(|field| field.column.value == column.name) else {
            let message = format!("the column `{}` of the schema has no field", shorten(&column.name));
            let help = format!("`{{column: {}, start: …, width: …}}`", shorten(&column.name));
            report.push(Diagnostic::new(codes::FIELD_COLUMNS, source, message).help(help));
            continue;
        };
        if let (Some(implied), Some(span)) = (field.place.implied_decimals.filter(|implied| *implied > 0), field.implied) {
            let (message, help) = match column.data_type {
                DataType::Float64 => (None, ""),
                DataType::Decimal { scale, .. } if scale >= implied => (None, ""),
                DataType::Decimal { scale, .. } => {
                    (Some(format!("`{}` has {scale} decimals and the field {implied}", shorten(&column.name))), "give the column that scale")
                }
                _ => (Some(format!("`{}` is no number with decimals", shorten(&column.name))), "`logicalType: number`, or remove `impliedDecimals`"),
            };
            if let Some(message) = message {
                report.push(Diagnostic::new(codes::BAD_FIELD, span, message).help(help));
            }
        }
        places.push(field.place.clone());
    }
    places
}
