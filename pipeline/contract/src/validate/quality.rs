//! The `quality` rules of ODCS: two kinds run, text describes, all others are refused.
use super::Report;
use crate::diagnostic::{list, nearest, shorten};
use crate::schema::{Check, CheckDigit, DataType, ValueRule};
use crate::spanned::{Any, Spanned};
use crate::typed::odcs::{Quality, QualityType};
use crate::{Diagnostic, Span, codes};

/// A rule about all rows: none of them runs.
pub(crate) fn of_dataset(rule: Spanned<Quality>, report: &mut Report) {
    if kind(&rule.value) != QualityType::Text {
        report.push(codes::not_available(codes::QUALITY_NOT_AVAILABLE, rule.span, "a rule about the dataset"));
    }
}

/// A rule about the values of one column.
pub(crate) fn of_column(rule: Spanned<Quality>, data_type: &DataType, report: &mut Report) -> Option<ValueRule> {
    let Spanned { value: rule, span } = rule;
    if super::touched(report, span) {
        return None;
    }
    let check = match kind(&rule) {
        QualityType::Text => return None,
        QualityType::Sql => return refuse(span, "`type: sql`", report),
        QualityType::Library => library(&rule, span, data_type, report),
        QualityType::Custom => custom(&rule, span, data_type, report),
    };
    check.map(|check| ValueRule { check, each: false, span })
}

fn kind(rule: &Quality) -> QualityType {
    rule.kind.as_ref().map_or(QualityType::Library, |kind| kind.value)
}

fn refuse<T>(span: Span, what: &str, report: &mut Report) -> Option<T> {
    report.push(codes::not_available(codes::QUALITY_NOT_AVAILABLE, span, what));
    None
}

fn wrong<T>(span: Span, message: &str, help: &str, report: &mut Report) -> Option<T> {
    report.push(Diagnostic::new(codes::BAD_QUALITY, span, message).help(help));
    None
}

const METRICS: [&str; 5] = ["nullValues", "missingValues", "invalidValues", "duplicateValues", "rowCount"];

fn library(rule: &Quality, span: Span, data_type: &DataType, report: &mut Report) -> Option<Check> {
    let help = "`{type: library, metric: invalidValues, arguments: {validValues: [A, B]}, mustBe: 0}`";
    if let Some(rule) = &rule.rule {
        return refuse(rule.span, "`rule`, an older name of `metric`", report);
    }
    if let Some(stray) = rule.engine.as_ref().map(|e| e.span).or(rule.implementation.as_ref().map(|i| i.span)).or(rule.query.as_ref().map(|q| q.span)) {
        return wrong(stray, "a library rule has no engine, implementation or query", "add `type: custom` or `type: sql`, or remove it", report);
    }
    let Some(metric) = &rule.metric else { return wrong(span, "the rule has no `metric`", help, report) };
    match metric.value.as_str() {
        "invalidValues" => {}
        "nullValues" => {
            let diagnostic = codes::not_available(codes::QUALITY_NOT_AVAILABLE, metric.span, "`metric: nullValues`");
            report.push(diagnostic.help("`required: true` rejects rows with null"));
            return None;
        }
        known if METRICS.contains(&known) => return refuse(metric.span, &format!("`metric: {known}`"), report),
        other => {
            let help = nearest(other, &METRICS).map_or_else(|| format!("one of {}", list(&METRICS)), |near| format!("did you mean `{near}`?"));
            return wrong(metric.span, &format!("`{}` is not a metric", shorten(other)), &help, report);
        }
    }
    let others = [
        &rule.must_not_be,
        &rule.must_be_greater_than,
        &rule.must_be_greater_or_equal_to,
        &rule.must_be_less_than,
        &rule.must_be_less_or_equal_to,
        &rule.must_be_between,
        &rule.must_not_be_between,
    ];
    if let Some(other) = others.into_iter().flatten().next() {
        return refuse(other.span, "invalid values that are allowed in part", report);
    }
    match &rule.must_be {
        Some(Spanned { value: Any::Text(zero), .. }) if zero == "0" => {}
        Some(other) => return refuse(other.span, "invalid values that are allowed in part", report),
        None => return wrong(span, "the rule does not say how many invalid values there may be", "`mustBe: 0`", report),
    }
    let Some(Spanned { value: Any::Map(arguments), span: at }) = &rule.arguments else {
        return wrong(span, "the rule has no `arguments`", help, report);
    };
    let mut values = None;
    for (name, value) in arguments {
        if name.value == "validValues" {
            values = Some(value);
        } else if name.value == "pattern" {
            let diagnostic = codes::not_available(codes::QUALITY_NOT_AVAILABLE, name.span, "`pattern` as an argument");
            report.push(diagnostic.help("`logicalTypeOptions: {pattern: …}` checks every value"));
        } else {
            let help = nearest(&name.value, &["validValues"]).map_or("`validValues` is taken".to_owned(), |near| format!("did you mean `{near}`?"));
            return wrong(name.span, &format!("`{}` is not an argument of `invalidValues`", shorten(&name.value)), &help, report);
        }
    }
    let Some(values) = values else { return wrong(*at, "the rule has no `validValues`", help, report) };
    valid_values(values, data_type, report)
}

fn valid_values(values: &Spanned<Any>, data_type: &DataType, report: &mut Report) -> Option<Check> {
    let Any::List(list) = &values.value else { return wrong(values.span, "`validValues` is a list", "`[A, B]`", report) };
    if list.is_empty() {
        return wrong(values.span, "`validValues` is empty: no value would pass", "list the values", report);
    }
    if !matches!(data_type, DataType::String | DataType::Int32 | DataType::Int64) {
        return wrong(values.span, "`validValues` is for text and integers", "remove it; bounds are `minimum` and `maximum`", report);
    }
    let mut texts = Vec::with_capacity(list.len());
    for item in list {
        match &item.value {
            Any::Text(text) if *data_type == DataType::String || text.parse::<i64>().is_ok_and(|number| number.to_string() == *text) => {
                texts.push(text.clone())
            }
            Any::Text(_) => return wrong(item.span, "this is not an integer as it is written", "decimal digits without leading zeros", report),
            _ => return wrong(item.span, "a valid value is one value", "`[A, B]`", report),
        }
    }
    Some(Check::ValidValues(texts))
}

fn custom(rule: &Quality, span: Span, data_type: &DataType, report: &mut Report) -> Option<Check> {
    let help = "`{type: custom, engine: perimeter, implementation: {checkDigit: cpf}}`";
    let Some(engine) = &rule.engine else { return wrong(span, "the rule has no `engine`", help, report) };
    if engine.value != "perimeter" {
        return match nearest(&engine.value, &["perimeter"]) {
            Some(near) => wrong(engine.span, &format!("there is no engine `{}`", shorten(&engine.value)), &format!("did you mean `{near}`?"), report),
            None => refuse(engine.span, &format!("`engine: {}`", shorten(&engine.value)), report),
        };
    }
    let Some(Spanned { value: Any::Map(pairs), span: at }) = &rule.implementation else {
        return wrong(span, "the rule has no `implementation` that is a mapping", help, report);
    };
    let mut digit = None;
    for (name, value) in pairs {
        if name.value != "checkDigit" {
            let help = nearest(&name.value, &["checkDigit"]).map_or("`checkDigit` is taken".to_owned(), |near| format!("did you mean `{near}`?"));
            return wrong(name.span, &format!("the engine has no rule `{}`", shorten(&name.value)), &help, report);
        }
        digit = Some(value);
    }
    let Some(digit) = digit else { return wrong(*at, "the rule has no `checkDigit`", help, report) };
    let kinds = [("luhn", CheckDigit::Luhn), ("cpf", CheckDigit::Cpf), ("cnpj", CheckDigit::Cnpj)];
    let word = match &digit.value {
        Any::Text(word) => word.as_str(),
        _ => "",
    };
    let Some((_, kind)) = kinds.iter().find(|(name, _)| *name == word) else {
        let names = kinds.map(|(name, _)| name);
        let help = nearest(word, &names).map_or_else(|| format!("one of {}", list(&names)), |near| format!("did you mean `{near}`?"));
        return wrong(digit.span, "there is no such check digit", &help, report);
    };
    if *data_type != DataType::String {
        return wrong(digit.span, "check digits are of text", "`logicalType: string`: leading zeros are digits too", report);
    }
    Some(Check::CheckDigit(*kind))
}
