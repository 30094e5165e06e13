//! The `quality` rules of ODCS. Library metrics that let no row be wrong are rules about values, the others count; queries give one number; of
//! custom rules only our own run; text describes.
mod custom;
mod library;

use super::schema::Names;
use super::{Report, decimal};
use crate::diagnostic::{nearest, shorten};
use crate::schema::{Bound, Check, DataType, Decimal, SetCheck, SetRule};
use crate::spanned::{Any, Spanned};
use crate::typed::odcs::{Quality, QualityType};
use crate::{Diagnostic, Span, codes};

/// What a rule stands under.
pub(crate) enum Level<'a> {
    /// A column.
    Column { column: usize, name: &'a str },
    /// The elements of an array, or a value of its objects.
    Elements,
    /// An array of values, as a whole.
    List { column: usize, name: &'a str },
    /// An object, or an array of objects.
    Group,
    /// The dataset.
    Dataset(&'a Names<'a>),
}

/// What a rule comes to.
pub(crate) enum Found {
    /// Null is wrong.
    Required,
    /// A rule about each value.
    Value(Check),
    /// A rule about more than one value.
    Set(SetRule),
}

/// What the rule comes to; nothing when it describes, or is refused.
pub(crate) fn rules(rule: Spanned<Quality>, level: &Level<'_>, data_type: Option<&DataType>, report: &mut Report) -> Vec<Found> {
    let Spanned { value: rule, span } = rule;
    if super::touched(report, span) {
        return Vec::new();
    }
    let kind = rule.kind.as_ref().map_or(QualityType::Library, |kind| kind.value);
    let found = match kind {
        QualityType::Text => Some(Vec::new()),
        QualityType::Library => library::rules(&rule, span, level, data_type, report),
        QualityType::Sql => sql(&rule, span, level, report).map(|rule| vec![Found::Set(rule)]),
        QualityType::Custom => custom::rule(&rule, span, level, data_type, report).map(|found| vec![found]),
    };
    found.unwrap_or_default()
}

fn refuse<T>(span: Span, what: &str, help: &str, report: &mut Report) -> Option<T> {
    report.push(codes::not_available(codes::QUALITY_NOT_AVAILABLE, span, what).help(help));
    None
}

fn wrong<T>(span: Span, message: &str, help: &str, report: &mut Report) -> Option<T> {
    report.push(Diagnostic::new(codes::BAD_QUALITY, span, message).help(help));
    None
}

/// Keys that say nothing in a rule of this type.
fn stray(keys: &[(&str, Option<Span>)], kind: &str, report: &mut Report) -> Option<()> {
    for (key, span) in keys {
        if let Some(span) = span {
            return wrong(*span, &format!("`{key}` says nothing in a rule of `type: {kind}`"), "remove it, or correct the `type`", report);
        }
    }
    Some(())
}

/// The code of a rule: its `name`, or what it counts.
fn code(rule: &Quality, level: &Level<'_>, default: &str, report: &mut Report) -> Option<String> {
    if let Some(name) = &rule.name {
        let code = kebab(&name.value);
        if code.is_empty() || code.len() > 100 {
            let message = "the `name` has no letters or digits, or more than 100 characters";
            report.push(Diagnostic::new(codes::RULE_NAME, name.span, message).help("its letters and digits become the rule's code: `amount-is-positive`"));
            return None;
        }
        return Some(code);
    }
    Some(match level {
        Level::Column { name, .. } | Level::List { name, .. } => format!("{name}.{default}"),
        Level::Elements | Level::Group | Level::Dataset(_) => default.to_owned(),
    })
}

/// `Fewer than 10 names`, `fewerThan10Names` as `fewer-than-10-names`.
fn kebab(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut lower = false;
    for character in name.chars() {
        if character.is_alphanumeric() {
            if character.is_uppercase() && lower && !out.ends_with('-') {
                out.push('-');
            }
            out.extend(character.to_lowercase());
            lower = character.is_lowercase() || character.is_numeric();
        } else {
            if !out.is_empty() && !out.ends_with('-') {
                out.push('-');
            }
            lower = false;
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// `mustBe` and its siblings, in this order; all of them hold.
fn bounds(rule: &Quality, report: &mut Report) -> Option<Vec<Bound>> {
    type Written<'a, F> = (&'a str, &'a Option<Spanned<Any>>, F);
    type OfOne = fn(Decimal) -> Bound;
    type OfTwo = fn(Decimal, Decimal) -> Bound;
    let single: [Written<'_, OfOne>; 6] = [
        ("mustBe", &rule.must_be, Bound::Be),
        ("mustNotBe", &rule.must_not_be, Bound::NotBe),
        ("mustBeGreaterThan", &rule.must_be_greater_than, Bound::GreaterThan),
        ("mustBeGreaterOrEqualTo", &rule.must_be_greater_or_equal_to, Bound::GreaterOrEqualTo),
        ("mustBeLessThan", &rule.must_be_less_than, Bound::LessThan),
        ("mustBeLessOrEqualTo", &rule.must_be_less_or_equal_to, Bound::LessOrEqualTo),
    ];
    let mut found = Vec::new();
    for (key, value, bound) in single {
        if let Some(value) = value {
            found.push(bound(number(value, key, report)?));
        }
    }
    let pairs: [Written<'_, OfTwo>; 2] =
        [("mustBeBetween", &rule.must_be_between, Bound::Between), ("mustNotBeBetween", &rule.must_not_be_between, Bound::NotBetween)];
    for (key, value, bound) in pairs {
        let Some(value) = value else { continue };
        let Any::List(pair) = &value.value else { return wrong(value.span, &format!("`{key}` takes two numbers"), "`[0, 100]`", report) };
        let [low, high] = pair.as_slice() else { return wrong(value.span, &format!("`{key}` takes two numbers"), "`[0, 100]`", report) };
        let (low, high) = (number(low, key, report)?, number(high, key, report)?);
        if super::schema::compare(low, high).is_some_and(std::cmp::Ordering::is_gt) {
            report.push(Diagnostic::new(codes::EMPTY_RANGE, value.span, "the lower bound is above the upper one").help("the smaller number first"));
            return None;
        }
        found.push(bound(low, high));
    }
    Some(found)
}

fn number(value: &Spanned<Any>, key: &str, report: &mut Report) -> Option<Decimal> {
    match &value.value {
        Any::Text(text) if matches!(text.as_str(), "true" | "false") => {
            wrong(value.span, &format!("`{key}` takes a number"), "let the query give one: `CASE WHEN … THEN 1 ELSE 0 END` and `mustBe: 1`", report)
        }
        Any::Text(text) => match decimal(text) {
            Some(number) => Some(number),
            None => wrong(value.span, &format!("`{key}` takes a number"), "`0`, `99.5`; 38 digits at most", report),
        },
        _ => wrong(value.span, &format!("`{key}` takes a number"), "`0`, `99.5`; 38 digits at most", report),
    }
}

/// Whether nothing may be counted.
fn none(bounds: &[Bound]) -> bool {
    matches!(bounds, [Bound::Be(number)] if number.unscaled == 0)
}

fn sql(rule: &Quality, span: Span, level: &Level<'_>, report: &mut Report) -> Option<SetRule> {
    let keys = [
        ("metric", rule.metric.as_ref().map(|m| m.span)),
        ("rule", rule.rule.as_ref().map(|r| r.span)),
        ("arguments", rule.arguments.as_ref().map(|a| a.span)),
        ("validValues", rule.valid_values.as_ref().map(|v| v.span)),
        ("implementation", rule.implementation.as_ref().map(|i| i.span)),
    ];
    stray(&keys, "sql", report)?;
    if let Some(engine) = rule.engine.as_ref().filter(|engine| engine.value != "perimeter") {
        return refuse(
            engine.span,
            &format!("SQL for `engine: {}`", shorten(&engine.value)),
            "`engine: perimeter`, or none: the query runs in DataFusion's SQL",
            report,
        );
    }
    if let Some(unit) = rule.unit.as_ref().filter(|unit| unit.value == "percent") {
        return wrong(unit.span, "a query gives its own number", "remove `unit`, or compute the percentage in the query", report);
    }
    let Some(query) = &rule.query else { return wrong(span, "the rule has no `query`", "`SELECT count(*) FROM {object} WHERE …`", report) };
    let found = bounds(rule, report)?;
    if found.is_empty() {
        return wrong(span, "the rule does not say what the number must be", "`mustBe: 0`, or one of its siblings", report);
    }
    let text = one_statement(&query.value, query.span, report)?;
    if !["select", "with"].iter().any(|word| first_word(text).eq_ignore_ascii_case(word)) {
        return wrong(query.span, "the query is not a SELECT", "`SELECT count(*) FROM {object} WHERE …`", report);
    }
    let names_column = ["{property}", "{column}"].iter().any(|place| text.contains(place));
    if names_column && !matches!(level, Level::Column { .. } | Level::List { .. }) {
        return wrong(query.span, "`{property}` stands for the column above, and there is none", "write the column's name, or move the rule under it", report);
    }
    if matches!(level, Level::Elements | Level::Group) {
        return refuse(span, "a query under a value that a row has many of, or an object", "move it to the dataset's `quality`", report);
    }
    Some(SetRule { code: code(rule, level, "sql", report)?, check: SetCheck::Sql { query: text.to_owned(), bounds: found }, span })
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
}

/// The text without blanks and the `;` at its end; a `;` anywhere else but in quotes and comments is the start of another statement.
fn one_statement<'t>(text: &'t str, span: Span, report: &mut Report) -> Option<&'t str> {
    let bytes = text.as_bytes();
    let (mut at, mut end, mut any) = (0, None, false);
    let until = |from: usize, stop: &str| text.get(from..).and_then(|rest| rest.find(stop)).map(|found| from + found + stop.len());
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let next = match byte {
            b'\'' => until(at + 1, "'"),
            b'"' => until(at + 1, "\""),
            b'-' if rest.starts_with(b"--") => Some(until(at, "\n").unwrap_or(bytes.len())),
            b'/' if rest.starts_with(b"/*") => until(at + 2, "*/"),
            _ => Some(at + 1),
        };
        let comment = rest.starts_with(b"--") || rest.starts_with(b"/*");
        let Some(next) = next else { return wrong(span, "a quote or comment in the query has no end", "close it", report) };
        if *byte == b';' {
            end = end.or(Some(at));
        } else if !byte.is_ascii_whitespace() && !comment {
            if end.is_some() {
                return wrong(span, "several statements", "one statement a rule", report);
            }
            any = true;
        }
        at = next;
    }
    if !any {
        return wrong(span, "the SQL is blank", "write it", report);
    }
    Some(text.get(..end.unwrap_or(text.len())).unwrap_or(text).trim())
}

/// An entry of `arguments` or `implementation` by name; unknown ones are refused.
fn entries<'a>(
    pairs: &'a [(Spanned<String>, Spanned<Any>)],
    known: &[&str],
    whose: &str,
    report: &mut Report,
) -> Option<Vec<(&'a str, Span, &'a Spanned<Any>)>> {
    let mut found = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        if !known.contains(&name.value.as_str()) {
            let help = match nearest(&name.value, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "remove it".to_owned(),
                None => format!("taken: {}", crate::diagnostic::list(known)),
            };
            return wrong(name.span, &format!("{whose} has no `{}`", shorten(&name.value)), &help, report);
        }
        found.push((name.value.as_str(), name.span, value));
    }
    Some(found)
}

/// A word, or a list of words.
fn words(value: &Spanned<Any>, what: &str, report: &mut Report) -> Option<Vec<Spanned<String>>> {
    let one = |item: &Spanned<Any>| match &item.value {
        Any::Text(text) => Some(Spanned { value: text.clone(), span: item.span }),
        _ => None,
    };
    let found = match &value.value {
        Any::List(items) => items.iter().map(one).collect::<Option<Vec<_>>>(),
        _ => one(value).map(|word| vec![word]),
    };
    match found {
        Some(found) => Some(found),
        None => wrong(value.span, &format!("`{what}` takes names of columns"), "`[account_id, booked_at]`", report),
    }
}

#[cfg(test)]
mod tests {
    use super::{kebab, one_statement};
    use crate::Span;

    #[test]
    fn names_become_codes() {
        for (name, code) in [
            ("Fewer than 10 duplicate names", "fewer-than-10-duplicate-names"),
            ("amountIsPositive", "amount-is-positive"),
            ("HTTP_status", "http-status"),
            (" --a..b-- ", "a-b"),
            ("Ação válida", "ação-válida"),
            ("!?", ""),
        ] {
            assert_eq!(kebab(name), code);
        }
    }

    #[test]
    fn one_statement_and_no_more() {
        let judge = |text: &str| one_statement(text, Span::default(), &mut Vec::new()).map(str::to_owned);
        assert_eq!(judge(" SELECT 1 ; \n").as_deref(), Some("SELECT 1"));
        assert_eq!(judge("SELECT ';' -- ; \n FROM \"a;b\" /* ; */").as_deref(), Some("SELECT ';' -- ; \n FROM \"a;b\" /* ; */"));
        assert_eq!(judge("SELECT 'it''s;'").as_deref(), Some("SELECT 'it''s;'"));
        assert_eq!(judge("SELECT 1; -- the end").as_deref(), Some("SELECT 1"));
        for bad in ["", " ; ", "-- nothing", "SELECT 1; DROP TABLE x", "SELECT 'a", "SELECT /* a", "SELECT 1 /* ';' */; SELECT 2"] {
            assert_eq!(judge(bad), None, "{bad}");
        }
    }
}
