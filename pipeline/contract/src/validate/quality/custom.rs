//! `type: custom, engine: perimeter`: check digits, expressions over the columns of a row, and columns that do not go back.
use super::super::Report;
use super::{Found, Level, code, entries, one_statement, refuse, stray, words, wrong};
use crate::Span;
use crate::diagnostic::{list, nearest, shorten};
use crate::schema::{Check, CheckDigit, DataType, SetCheck, SetRule};
use crate::spanned::{Any, Spanned};
use crate::typed::odcs::Quality;

const RULES: [&str; 3] = ["checkDigit", "expression", "monotonic"];

pub(super) fn rule(rule: &Quality, span: Span, level: &Level<'_>, data_type: Option<&DataType>, report: &mut Report) -> Option<Found> {
    let help = "`{type: custom, engine: perimeter, implementation: {checkDigit: cpf}}`";
    let Some(engine) = &rule.engine else { return wrong(span, "the rule has no `engine`", help, report) };
    if engine.value != "perimeter" {
        return match nearest(&engine.value, &["perimeter"]) {
            Some(near) => wrong(engine.span, &format!("there is no engine `{}`", shorten(&engine.value)), &format!("did you mean `{near}`?"), report),
            None => refuse(
                engine.span,
                &format!("`engine: {}`", shorten(&engine.value)),
                "remove it and let its engine run it, or state it as a metric, as `type: sql` or for `engine: perimeter`",
                report,
            ),
        };
    }
    let operators = [
        &rule.must_be,
        &rule.must_not_be,
        &rule.must_be_greater_than,
        &rule.must_be_greater_or_equal_to,
        &rule.must_be_less_than,
        &rule.must_be_less_or_equal_to,
        &rule.must_be_between,
        &rule.must_not_be_between,
    ];
    let keys = [
        ("metric", rule.metric.as_ref().map(|m| m.span)),
        ("rule", rule.rule.as_ref().map(|r| r.span)),
        ("arguments", rule.arguments.as_ref().map(|a| a.span)),
        ("validValues", rule.valid_values.as_ref().map(|v| v.span)),
        ("query", rule.query.as_ref().map(|q| q.span)),
        ("mustBe…", operators.into_iter().flatten().next().map(|o| o.span)),
        ("unit", rule.unit.as_ref().map(|u| u.span)),
    ];
    stray(&keys, "custom", report)?;
    let Some(Spanned { value: Any::Map(pairs), span: at }) = &rule.implementation else {
        return wrong(span, "the rule has no `implementation` that is a mapping", help, report);
    };
    let found = entries(pairs, &RULES, "the engine", report)?;
    match found.as_slice() {
        [("checkDigit", at, value)] => check_digit(value, *at, level, data_type, report),
        [("expression", at, value)] => expression(rule, value, (*at, span), level, report),
        [("monotonic", at, value)] => monotonic(rule, value, (*at, span), level, report),
        [] => wrong(*at, "the rule has no `checkDigit`, `expression` or `monotonic`", help, report),
        _ => wrong(*at, "one rule states one thing", "write a rule for each", report),
    }
}

fn check_digit(digit: &Spanned<Any>, at: Span, level: &Level<'_>, data_type: Option<&DataType>, report: &mut Report) -> Option<Found> {
    if !matches!(level, Level::Column { .. } | Level::Elements) {
        return wrong(at, "a check digit is of a column's values", "move it under the column, or under `items`", report);
    }
    let kinds = [("luhn", CheckDigit::Luhn), ("cpf", CheckDigit::Cpf), ("cnpj", CheckDigit::Cnpj), ("iban", CheckDigit::Iban)];
    let word = match &digit.value {
        Any::Text(word) => word.as_str(),
        _ => "",
    };
    let Some((_, kind)) = kinds.iter().find(|(name, _)| *name == word) else {
        let names = kinds.map(|(name, _)| name);
        let help = nearest(word, &names).map_or_else(|| format!("one of {}", list(&names)), |near| format!("did you mean `{near}`?"));
        return wrong(digit.span, "there is no such check digit", &help, report);
    };
    if data_type.is_some_and(|data_type| *data_type != DataType::String) {
        return wrong(digit.span, "check digits are of text", "`logicalType: string`: leading zeros are digits too", report);
    }
    Some(Found::Value(Check::CheckDigit(*kind)))
}

fn expression(rule: &Quality, value: &Spanned<Any>, (at, span): (Span, Span), level: &Level<'_>, report: &mut Report) -> Option<Found> {
    if !matches!(level, Level::Dataset(_)) {
        return wrong(at, "an expression is about the columns of a row", "move it to the dataset's `quality`", report);
    }
    let Any::Text(text) = &value.value else { return wrong(value.span, "an expression is text", "`booked_at <= settled_at`", report) };
    let sql = one_statement(text, value.span, report)?.to_owned();
    let code = code(rule, level, "expression", report)?;
    Some(Found::Set(SetRule { code, check: SetCheck::Expression { sql }, span }))
}

fn monotonic(rule: &Quality, value: &Spanned<Any>, (at, span): (Span, Span), level: &Level<'_>, report: &mut Report) -> Option<Found> {
    let Level::Dataset(names) = level else {
        return wrong(at, "`monotonic` is about the order of rows", "move it to the dataset's `quality`", report);
    };
    let help = "`monotonic: {column: booked_at, per: [account_id], strict: false}`";
    let Any::Map(pairs) = &value.value else { return wrong(value.span, "`monotonic` is a mapping", help, report) };
    let (mut column, mut per, mut strict) = (None, Vec::new(), false);
    for (key, span, value) in entries(pairs, &["column", "per", "strict"], "`monotonic`", report)? {
        match (key, &value.value) {
            ("column", Any::Text(name)) => column = Some(Spanned { value: name.clone(), span: value.span }),
            ("per", _) => per = words(value, "per", report)?,
            ("strict", Any::Text(flag)) if matches!(flag.as_str(), "true" | "false") => strict = flag == "true",
            _ => return wrong(span, &format!("`{key}` is not written as it must be"), help, report),
        }
    }
    let Some(column) = column else { return wrong(value.span, "`monotonic` lacks the key `column`", help, report) };
    let index = names.find_plain(&column, report)?;
    let ordered = |data_type: &DataType| !matches!(data_type, DataType::String | DataType::Boolean | DataType::List(_));
    if names.column(index).is_some_and(|column| !ordered(&column.data_type)) {
        return wrong(column.span, "what goes forward is a number, a date, a time or a timestamp", "name such a column", report);
    }
    let mut key = Vec::with_capacity(per.len());
    for name in &per {
        let found = names.find_plain(name, report)?;
        if found == index || key.contains(&found) {
            return wrong(name.span, "the column is here twice", "name each once", report);
        }
        key.push(found);
    }
    let default = format!("{}.monotonic", column.value);
    let code = code(rule, level, &default, report)?;
    Some(Found::Set(SetRule { code, check: SetCheck::Monotonic { column: index, per: key, strict }, span }))
}
