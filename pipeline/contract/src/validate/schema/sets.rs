//! Rules about more than one value that columns and datasets state: keys and references, and what all such rules are called.
use super::super::{Report, touched};
use crate::diagnostic::{list, nearest, shorten};
use crate::job::Source;
use crate::schema::{Column, DataType, SetCheck, SetRule, Zone};
use crate::spanned::Spanned;
use crate::typed::odcs::Relationship;
use crate::{Diagnostic, Span, codes};
use std::collections::{HashMap, HashSet};

/// `primaryKey: true`.
pub(super) struct KeyColumn {
    pub(super) column: usize,
    pub(super) position: Option<Spanned<i32>>,
    pub(super) span: Span,
}

/// The columns of a dataset by name.
pub(crate) struct Names<'a> {
    /// Of all columns, valid or not.
    pub(super) names: &'a [String],
    pub(super) columns: &'a [Option<Column>],
    /// Whether no column was cut out of the file.
    pub(super) whole: bool,
}

impl Names<'_> {
    pub(crate) fn find(&self, name: &Spanned<String>, report: &mut Report) -> Option<usize> {
        let found = self.names.iter().position(|known| *known == name.value);
        if found.is_none() && self.whole {
            let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let help = match nearest(&name.value, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.len() <= 12 => format!("there are {}", list(&known)),
                None => "the name of a property of this file; inside objects `object.value`".to_owned(),
            };
            let message = format!("there is no column `{}`", shorten(&name.value));
            report.push(Diagnostic::new(codes::UNKNOWN_COLUMN, name.span, message).help(help));
        }
        found
    }

    /// As [`Names::find`]; a value that a row has many of is not such a column.
    pub(crate) fn find_plain(&self, name: &Spanned<String>, report: &mut Report) -> Option<usize> {
        let found = self.find(name, report)?;
        if self.column(found).is_some_and(|column| column.list_at.is_some()) {
            let message = format!("a row has many `{}`", shorten(&name.value));
            report.push(Diagnostic::new(codes::BAD_KEY, name.span, message).help("keys are values that a row has once"));
            return None;
        }
        Some(found)
    }

    pub(crate) fn column(&self, index: usize) -> Option<&Column> {
        self.columns.get(index)?.as_ref()
    }
}

/// The columns of the primary key in their order, if there is one.
pub(super) fn primary_key(mut keys: Vec<KeyColumn>, report: &mut Report) -> Option<Vec<usize>> {
    let before = report.len();
    let with_position = keys.iter().filter(|key| key.position.is_some()).count();
    if with_position > 0 && with_position < keys.len() {
        for key in keys.iter().filter(|key| key.position.is_none()) {
            let message = "this column of the primary key has no `primaryKeyPosition` and others have";
            report.push(Diagnostic::new(codes::BAD_KEY, key.span, message).help("number all of them from 1, or none"));
        }
    }
    let mut seen = HashSet::new();
    for position in keys.iter().filter_map(|key| key.position.as_ref()) {
        if position.value < 1 || !seen.insert(position.value) {
            let message = "`primaryKeyPosition` counts from 1, each number once";
            report.push(Diagnostic::new(codes::BAD_KEY, position.span, message).help("1, 2, 3 in the order of the key"));
        }
    }
    let last = i32::try_from(keys.len()).unwrap_or(i32::MAX);
    if report.is_empty()
        && let Some(position) = keys.iter().filter_map(|key| key.position.as_ref()).find(|position| position.value > last)
    {
        let message = format!("`primaryKeyPosition` leaves out a number: the key has {last} column{}", if last == 1 { "" } else { "s" });
        report.push(Diagnostic::new(codes::BAD_KEY, position.span, message).help("1, 2, 3 in the order of the key"));
    }
    keys.sort_by_key(|key| key.position.as_ref().map_or(i32::MAX, |position| position.value));
    let columns: Vec<usize> = keys.iter().map(|key| key.column).collect();
    (report.len() == before && !columns.is_empty()).then_some(columns)
}

/// Puts the key first, and leaves out what it says already: that its only column is unique.
pub(super) fn with_key(rules: &mut Vec<SetRule>, key: Option<Vec<usize>>, span: Span) {
    let Some(key) = key else { return };
    rules.retain(|rule| !(rule.code.ends_with(".unique") && matches!(&rule.check, SetCheck::Unique { columns } if *columns == key)));
    rules.insert(0, SetRule { code: "primary-key".to_owned(), check: SetCheck::Unique { columns: key }, span });
}

/// `dataset.column`, where the column can be inside objects.
fn split(reference: &Spanned<String>, report: &mut Report) -> Option<(String, String)> {
    if reference.value.contains('/') {
        let what = "a reference by id";
        report.push(codes::not_available(codes::RELATIONSHIPS_NOT_AVAILABLE, reference.span, what));
        return None;
    }
    match reference.value.split_once('.') {
        Some((dataset, column)) if !dataset.trim().is_empty() && !column.trim().is_empty() => Some((dataset.to_owned(), column.to_owned())),
        _ => {
            let message = format!("`{}` does not name a column of a dataset", shorten(&reference.value));
            report.push(Diagnostic::new(codes::BAD_RELATIONSHIP, reference.span, message).help("`dataset.column`: `customers.customer_id`"));
            None
        }
    }
}

/// The dataset that all of `to` name, and its columns.
fn target(to: Vec<Spanned<String>>, span: Span, report: &mut Report) -> Option<(String, Vec<String>)> {
    let mut dataset: Option<String> = None;
    let mut columns = Vec::with_capacity(to.len());
    for reference in to {
        let (its, column) = split(&reference, report)?;
        if dataset.as_ref().is_some_and(|dataset| *dataset != its) {
            let message = "a reference goes to one dataset";
            report.push(Diagnostic::new(codes::BAD_RELATIONSHIP, reference.span, message).help("write one relationship for each dataset"));
            return None;
        }
        dataset = Some(its);
        columns.push(column);
    }
    if dataset.is_none() && !touched(report, span) {
        report.push(Diagnostic::new(codes::EMPTY_LIST, span, "`to` is empty").help("`customers.customer_id`"));
    }
    Some((dataset?, columns))
}

/// A relationship under a column.
pub(super) fn of_column(typed: Spanned<Relationship>, column: usize, name: &str, report: &mut Report) -> Option<SetRule> {
    let Spanned { value: typed, span } = typed;
    if let Some(from) = typed.from {
        let message = "`from` under a column: it is that column";
        report.push(Diagnostic::new(codes::BAD_RELATIONSHIP, from.span, message).help("remove it, or move the relationship to the dataset"));
    }
    let to = typed.to?;
    if to.value.0.len() > 1 {
        let message = "one column refers to one column";
        let help = "for a key of several columns write `from` and `to` at the dataset's `relationships`; else one relationship each";
        report.push(Diagnostic::new(codes::BAD_RELATIONSHIP, to.span, message).help(help));
        return None;
    }
    let (dataset, to) = target(to.value.0, to.span, report)?;
    Some(SetRule { code: format!("{name}.references"), check: SetCheck::References { columns: vec![column], dataset, to }, span })
}

/// A relationship at the dataset.
pub(super) fn of_dataset(typed: Spanned<Relationship>, own: &str, names: &Names<'_>, report: &mut Report) -> Option<SetRule> {
    let Spanned { value: typed, span } = typed;
    let Some(from) = typed.from else {
        if !touched(report, span) {
            let message = "the relationship lacks the key `from`";
            report.push(Diagnostic::new(codes::MISSING_KEY, span, message).help(format!("`from: {own}.column`, or a list of them")));
        }
        return None;
    };
    let to = typed.to?;
    let (froms, tos) = (from.value.0.len(), to.value.0.len());
    if froms != tos && !touched(report, span) {
        let message = format!("`from` has {froms} columns and `to` has {tos}");
        report.push(Diagnostic::new(codes::BAD_RELATIONSHIP, to.span, message).help("the same number, in the same order"));
        return None;
    }
    let mut columns = Vec::with_capacity(froms);
    let mut written = Vec::with_capacity(froms);
    for reference in from.value.0 {
        let (dataset, column) = split(&reference, report)?;
        if dataset != own {
            let message = format!("`from` names the dataset `{}` and this is `{}`", shorten(&dataset), shorten(own));
            report.push(Diagnostic::new(codes::BAD_RELATIONSHIP, reference.span, message).help(format!("`{own}.column`")));
            return None;
        }
        let index = names.find_plain(&Spanned { value: column.clone(), span: reference.span }, report)?;
        if columns.contains(&index) {
            report.push(Diagnostic::new(codes::DUPLICATE_NAME, reference.span, "the column is here twice").help("name each once"));
            return None;
        }
        columns.push(index);
        written.push(column);
    }
    let (dataset, to) = target(to.value.0, to.span, report)?;
    Some(SetRule { code: format!("{}.references", written.join("+")), check: SetCheck::References { columns, dataset, to }, span })
}

/// Every rule has a code of its own. Several references from the same columns say where to; two other rules need a `name`.
pub(super) fn name(rules: &mut [SetRule], columns: &[Column], report: &mut Report) {
    let mut count: HashMap<String, usize> = HashMap::new();
    for rule in rules.iter() {
        *count.entry(rule.code.clone()).or_default() += 1;
    }
    let mut taken: HashSet<String> = HashSet::new();
    for column in columns {
        taken.extend(column.rules.iter().map(|rule| format!("{}.{}", column.name, rule.check.code())));
        taken.extend(["required", "item-required"].map(|code| format!("{}.{code}", column.name)));
    }
    for rule in rules {
        if let SetCheck::References { dataset, .. } = &rule.check
            && count.get(&rule.code).is_some_and(|count| *count > 1)
        {
            rule.code = format!("{}-{}", rule.code, dataset);
        }
        if !taken.insert(rule.code.clone()) {
            let message = format!("two rules are called `{}`", shorten(&rule.code));
            let help = match rule.check {
                SetCheck::References { .. } => "remove one of them",
                _ => "give one of them a `name`: it becomes its code in reports",
            };
            report.push(Diagnostic::new(codes::RULE_NAME, rule.span, message).help(help));
        }
    }
}

/// Whether values of the two types can be the same: `format` is how text files write them, not what they are.
fn comparable(a: &DataType, b: &DataType) -> bool {
    use DataType::{Boolean, Date, Decimal, Float64, Int32, Int64, List, String, Time, Timestamp};
    match (a, b) {
        (String, String)
        | (Int32 | Int64, Int32 | Int64)
        | (Float64, Float64)
        | (Boolean, Boolean)
        | (Date { .. }, Date { .. })
        | (Time { .. }, Time { .. }) => true,
        (Decimal { scale: a, .. }, Decimal { scale: b, .. }) => a == b,
        (Timestamp { zone: a, .. }, Timestamp { zone: b, .. }) => matches!(a, Zone::None) == matches!(b, Zone::None),
        (List(a), List(b)) => comparable(a, b),
        _ => false,
    }
}

/// Every reference goes to a column of the job's sources.
pub(crate) fn references(sources: &[Source], report: &mut Report) {
    let names: Vec<&str> = sources.iter().map(|source| source.schema.name.as_str()).collect();
    for source in sources {
        for rule in &source.schema.rules {
            if let SetCheck::References { columns, dataset, to } = &rule.check {
                reference(source, rule.span, columns, dataset, to, sources, &names, report);
            }
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "one rule taken apart")]
fn reference(source: &Source, span: Span, columns: &[usize], dataset: &str, to: &[String], sources: &[Source], names: &[&str], report: &mut Report) {
    let mut found = sources.iter().filter(|source| source.schema.name == dataset);
    let (Some(target), other) = (found.next(), found.next()) else {
        let help = match nearest(dataset, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("add a source with that contract to the job; its sources are {}", list(names)),
        };
        let message = format!("no source of the job has the dataset `{}`", shorten(dataset));
        report.push(Diagnostic::new(codes::UNKNOWN_DATASET, span, message).help(help));
        return;
    };
    if other.is_some() {
        let message = format!("several sources of the job have the dataset `{}`", shorten(dataset));
        report.push(Diagnostic::new(codes::UNKNOWN_DATASET, span, message).help("one source for each dataset that is referred to; its uri can be a pattern"));
        return;
    }
    let known: Vec<&str> = target.schema.columns.iter().map(|column| column.name.as_str()).collect();
    for (from, to) in columns.iter().filter_map(|column| source.schema.columns.get(*column)).zip(to) {
        let Some(column) = target.schema.columns.iter().find(|column| column.name == *to) else {
            let help = nearest(to, &known).map_or_else(|| "name a column of that contract".to_owned(), |near| format!("did you mean `{near}`?"));
            let message = format!("`{}` has no column `{}`", shorten(dataset), shorten(to));
            report.push(Diagnostic::new(codes::UNKNOWN_COLUMN, span, message).help(help));
            continue;
        };
        if column.list_at.is_some() {
            let message = format!("a row of `{}` has many `{}`", shorten(dataset), shorten(to));
            report.push(Diagnostic::new(codes::BAD_KEY, span, message).help("refer to a value that a row has once"));
        } else if !comparable(&from.data_type, &column.data_type) {
            let message = format!("`{}` and `{}.{}` have different types", shorten(&from.name), shorten(dataset), shorten(to));
            report.push(Diagnostic::new(codes::REFERENCE_TYPE, span, message).help("give both the same `logicalType`, scale and `timezone`"));
        }
    }
}
