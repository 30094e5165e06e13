//! `type: library`: the metrics of ODCS v3.1, and the names that v3.0 had for them.
use super::super::{Report, pattern};
use super::{Found, Level, bounds, code, decimal, entries, none, refuse, stray, words, wrong};
use crate::Span;
use crate::diagnostic::{list, nearest, shorten};
use crate::schema::{Bound, Check, DataType, Decimal, Metric, MetricUnit, SetCheck, SetRule};
use crate::spanned::{Any, Spanned};
use crate::typed::odcs::Quality;

const METRICS: [&str; 5] = ["nullValues", "missingValues", "invalidValues", "duplicateValues", "rowCount"];
/// What v3.0 called them under `rule`.
const BEFORE: [(&str, &str); 2] = [("duplicateCount", "duplicateValues"), ("validValues", "invalidValues")];

pub(super) fn rules(rule: &Quality, span: Span, level: &Level<'_>, data_type: Option<&DataType>, report: &mut Report) -> Option<Vec<Found>> {
    let keys = [
        ("engine", rule.engine.as_ref().map(|e| e.span)),
        ("implementation", rule.implementation.as_ref().map(|i| i.span)),
        ("query", rule.query.as_ref().map(|q| q.span)),
    ];
    stray(&keys, "library", report)?;
    let metric = metric(rule, span, report)?;
    let mut bounds = bounds(rule, report)?;
    let arguments = match &rule.arguments {
        None => [].as_slice(),
        Some(Spanned { value: Any::Map(pairs), .. }) => pairs,
        Some(other) => return wrong(other.span, "`arguments` is a mapping", "`{validValues: [A, B]}`", report),
    };
    if let Some(values) = rule.valid_values.as_ref().filter(|_| metric != "invalidValues") {
        return wrong(values.span, "`validValues` says nothing about this metric", "remove it", report);
    }
    if bounds.is_empty() && rule.valid_values.is_some() && rule.metric.is_none() {
        // before v3.1 the rule `validValues` took no number: all values are
        bounds.push(Bound::Be(Decimal { unscaled: 0, scale: 0 }));
    }
    if bounds.is_empty() {
        return wrong(span, &format!("the rule does not say what `{metric}` must be"), "`mustBe: 0`, or one of its siblings", report);
    }
    let unit = match &rule.unit {
        None => MetricUnit::Rows,
        Some(unit) => match unit.value.as_str() {
            "rows" => MetricUnit::Rows,
            "percent" if metric == "rowCount" => return wrong(unit.span, "`rowCount` is a number of rows", "`unit: rows`, or none", report),
            "percent" => MetricUnit::Percent,
            other => return wrong(unit.span, &format!("`{}` is not a unit", shorten(other)), "`rows` or `percent`", report),
        },
    };
    let judge = Judge { rule, span, level, bounds, unit };
    match metric {
        "nullValues" => {
            entries(arguments, &[], "`nullValues`", report)?;
            judge.nulls(report)
        }
        "missingValues" => judge.missing(arguments, report),
        "invalidValues" => judge.invalid(arguments, data_type, report),
        "duplicateValues" => judge.duplicates(arguments, report),
        _ => {
            entries(arguments, &[], "`rowCount`", report)?;
            match level {
                Level::Dataset(_) => judge.set("row-count", Metric::RowCount, report),
                _ => wrong(span, "`rowCount` is about the dataset", "move it to the dataset's `quality`", report),
            }
        }
    }
}

fn metric(rule: &Quality, span: Span, report: &mut Report) -> Option<&'static str> {
    let unknown = |written: &Spanned<String>, report: &mut Report| {
        let help = nearest(&written.value, &METRICS).map_or_else(|| format!("one of {}", list(&METRICS)), |near| format!("did you mean `{near}`?"));
        wrong(written.span, &format!("`{}` is not a metric", shorten(&written.value)), &help, report)
    };
    let known = |written: &str| METRICS.into_iter().find(|metric| *metric == written);
    let before = |written: &str| BEFORE.into_iter().find(|(old, _)| *old == written).map(|(_, metric)| metric);
    match (&rule.metric, &rule.rule) {
        (Some(metric), None) => known(&metric.value).or_else(|| unknown(metric, report)),
        (None, Some(old)) => before(&old.value).or_else(|| known(&old.value)).or_else(|| unknown(old, report)),
        (Some(metric), Some(old)) => {
            let found = known(&metric.value).or_else(|| unknown(metric, report))?;
            if before(&old.value).or_else(|| known(&old.value)) == Some(found) {
                return Some(found);
            }
            wrong(old.span, "`rule` and `metric` name different metrics", "remove `rule`, the older of the two", report)
        }
        (None, None) => wrong(span, "the rule has no `metric`", &format!("one of {}", list(&METRICS)), report),
    }
}

struct Judge<'a> {
    rule: &'a Quality,
    span: Span,
    level: &'a Level<'a>,
    bounds: Vec<Bound>,
    unit: MetricUnit,
}

impl Judge<'_> {
    fn set(self, default: &str, metric: Metric, report: &mut Report) -> Option<Vec<Found>> {
        let code = code(self.rule, self.level, default, report)?;
        let check = SetCheck::Metric { metric, unit: self.unit, bounds: self.bounds };
        Some(vec![Found::Set(SetRule { code, check, span: self.span })])
    }

    fn under_a_column(&self, metric: &str, report: &mut Report) -> Option<Vec<Found>> {
        wrong(self.span, &format!("`{metric}` is about a column"), "move it under the column", report)
    }

    /// Values that a row has many of are not counted.
    fn none_only(&self, report: &mut Report) -> Option<Vec<Found>> {
        refuse(self.span, "a count over the values of arrays and objects", "`mustBe: 0` checks each of them", report)
    }

    fn nulls(self, report: &mut Report) -> Option<Vec<Found>> {
        match self.level {
            Level::Dataset(_) => self.under_a_column("nullValues", report),
            _ if none(&self.bounds) => Some(vec![Found::Required]),
            Level::Column { column, .. } | Level::List { column, .. } => {
                let column = *column;
                self.set("null-values", Metric::NullValues { column }, report)
            }
            Level::Elements | Level::Group => self.none_only(report),
        }
    }

    fn missing(self, arguments: &[(Spanned<String>, Spanned<Any>)], report: &mut Report) -> Option<Vec<Found>> {
        let help = "`arguments: {missingValues: [null, '', N/A]}`";
        let found = entries(arguments, &["missingValues"], "`missingValues`", report)?;
        let Some((_, _, list)) = found.first() else { return wrong(self.span, "the rule has no `arguments.missingValues`", help, report) };
        let Any::List(items) = &list.value else { return wrong(list.span, "`missingValues` is a list", help, report) };
        if items.is_empty() {
            return wrong(list.span, "`missingValues` is empty: nothing would count", help, report);
        }
        let (mut values, mut null) = (Vec::new(), false);
        for item in items {
            match &item.value {
                Any::Null => null = true,
                Any::Text(text) => values.push(text.clone()),
                _ => return wrong(item.span, "a missing value is one value", help, report),
            }
        }
        match self.level {
            Level::Dataset(_) => self.under_a_column("missingValues", report),
            Level::Group => self.none_only(report),
            Level::List { .. } => refuse(self.span, "`missingValues` of an array as a whole", "move it under `items`", report),
            _ if none(&self.bounds) => {
                let required = null.then_some(Found::Required);
                let values = (!values.is_empty()).then_some(Found::Value(Check::NotAmong(values)));
                Some(required.into_iter().chain(values).collect())
            }
            Level::Column { column, .. } => {
                let column = *column;
                self.set("missing-values", Metric::MissingValues { column, values, null }, report)
            }
            Level::Elements => self.none_only(report),
        }
    }

    fn invalid(self, arguments: &[(Spanned<String>, Spanned<Any>)], data_type: Option<&DataType>, report: &mut Report) -> Option<Vec<Found>> {
        let help = "`arguments: {validValues: [A, B]}`, or `pattern`";
        let found = entries(arguments, &["validValues", "pattern"], "`invalidValues`", report)?;
        match self.level {
            Level::Dataset(_) => return self.under_a_column("invalidValues", report),
            Level::Group => return self.none_only(report),
            Level::List { .. } => return refuse(self.span, "`invalidValues` of an array as a whole", "move it under `items`", report),
            Level::Column { .. } | Level::Elements => {}
        }
        let data_type = data_type?;
        let mut checks = Vec::new();
        for (name, _, value) in found {
            checks.push(if name == "pattern" {
                let Any::Text(text) = &value.value else { return wrong(value.span, "`pattern` is one expression", help, report) };
                if *data_type != DataType::String {
                    return wrong(value.span, "patterns are of text", "`logicalType: string`, or remove it", report);
                }
                pattern(text, value.span, report)?
            } else {
                valid_values(value, data_type, report)?
            });
        }
        if let Some(values) = &self.rule.valid_values {
            checks.push(valid_values(values, data_type, report)?);
        }
        if checks.is_empty() {
            return wrong(self.span, "the rule does not say which values are valid", help, report);
        }
        match self.level {
            _ if none(&self.bounds) => Some(checks.into_iter().map(Found::Value).collect()),
            Level::Column { column, .. } => {
                let column = *column;
                self.set("invalid-values", Metric::InvalidValues { column, checks }, report)
            }
            _ => self.none_only(report),
        }
    }

    fn duplicates(self, arguments: &[(Spanned<String>, Spanned<Any>)], report: &mut Report) -> Option<Vec<Found>> {
        let columns = match self.level {
            Level::Column { column, .. } => {
                entries(arguments, &[], "`duplicateValues` of a column", report)?;
                vec![*column]
            }
            Level::Elements | Level::List { .. } | Level::Group => {
                return refuse(
                    self.span,
                    "`duplicateValues` of arrays and objects",
                    "`logicalTypeOptions: {uniqueItems: true}` compares the elements of an array",
                    report,
                );
            }
            Level::Dataset(names) => {
                let help = "`arguments: {properties: [tenant_id, order_id]}`";
                let found = entries(arguments, &["properties"], "`duplicateValues`", report)?;
                let Some((_, _, value)) = found.first() else { return wrong(self.span, "the rule has no `arguments.properties`", help, report) };
                let written = words(value, "properties", report)?;
                if written.is_empty() {
                    return wrong(value.span, "`properties` is empty", help, report);
                }
                let mut columns = Vec::with_capacity(written.len());
                for name in &written {
                    let column = names.find_plain(name, report)?;
                    if columns.contains(&column) {
                        return wrong(name.span, "the column is here twice", "name each once", report);
                    }
                    columns.push(column);
                }
                columns
            }
        };
        if none(&self.bounds) {
            let code = code(self.rule, self.level, "duplicate-values", report)?;
            return Some(vec![Found::Set(SetRule { code, check: SetCheck::Unique { columns }, span: self.span })]);
        }
        self.set("duplicate-values", Metric::DuplicateValues { columns }, report)
    }
}

fn valid_values(values: &Spanned<Any>, data_type: &DataType, report: &mut Report) -> Option<Check> {
    let Any::List(items) = &values.value else { return wrong(values.span, "`validValues` is a list", "`[A, B]`", report) };
    if items.is_empty() {
        return wrong(values.span, "`validValues` is empty: no value would pass", "list the values", report);
    }
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        let text = match &item.value {
            Any::Text(text) => text,
            Any::Null => {
                return wrong(item.span, "null is no value: it breaks `required` and nothing else", "remove it, or quote it if the text is meant", report);
            }
            _ => return wrong(item.span, "a valid value is one value", "`[A, B]`", report),
        };
        if let Some(help) = not_of(text, data_type) {
            return wrong(item.span, "this is not a value of the column's type as it is written", help, report);
        }
        texts.push(text.clone());
    }
    Some(Check::ValidValues(texts))
}

/// How to write it, when the text is not a value of the type.
fn not_of(text: &str, data_type: &DataType) -> Option<&'static str> {
    let (is, help) = match data_type {
        DataType::String => (true, ""),
        DataType::Int32 => (text.parse::<i32>().is_ok_and(|number| number.to_string() == text), "decimal digits without leading zeros"),
        DataType::Int64 => (text.parse::<i64>().is_ok_and(|number| number.to_string() == text), "decimal digits without leading zeros"),
        DataType::Decimal { precision, scale } => {
            let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'.');
            let fits = decimal(text).is_some_and(|number| {
                let whole = u32::from(precision - scale) + u32::from(number.scale);
                number.scale <= *scale && 10i128.checked_pow(whole).is_none_or(|limit| number.unscaled.abs() < limit)
            });
            (plain && fits, "a number with no more digits than the column has")
        }
        DataType::Float64 => (text.parse::<f64>().is_ok_and(f64::is_finite) && decimal(text).is_some(), "a number: `0.5`"),
        DataType::Boolean => (matches!(text, "true" | "false"), "`true` or `false`"),
        DataType::Date { format } => (format.compiled.parse_date(text).is_some(), "a date as the column's format has it"),
        DataType::Time { format } => (format.compiled.parse_time(text).is_some(), "a time as the column's format has it"),
        DataType::Timestamp { .. } | DataType::List(_) => (false, "timestamps have no list of valid values: state bounds"),
    };
    (!is).then_some(help)
}
