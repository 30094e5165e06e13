//! What changed from one schema to another, and whom it breaks: [`diff`].
//!
//! | breaks | whom | examples |
//! |---|---|---|
//! | [`Breaks::Data`] | who delivers: data that passed may be refused | a column more, a tighter bound, `required` |
//! | [`Breaks::Consumers`] | who trains: the output has another type, lacks a column, has nulls, or rows that do not join | a type, a column less, `unique`, a reference, a check digit or `rowCount` less |
//! | [`Breaks::Protection`] | who answers for what leaves: the policy decides by it | `classification`, `semanticType`, `tags` |
//! | [`Breaks::Tokens`] | who joins with earlier datasets: the same value gets another token | `joinDomain` |
//!
//! A bound, pattern or list of values that lets more through is reported and breaks no one; neither does a rule that only has another name. Messages hold names, types, bounds and patterns of the contracts; lists of
//! values are counted, not shown. A renamed column is one less and one more: nothing in a contract says that they are the same.
mod rules;
mod sets;

use crate::Span;
use crate::schema::{Column, DataType, DateFormat, Schema, Zone};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What kind of difference.
    pub kind: ChangeKind,
    /// The column, or the object; none for the dataset as a whole.
    pub column: Option<String>,
    /// The code of the rule, where it is about one.
    pub rule: Option<String>,
    /// One sentence.
    pub message: String,
    /// Whom it breaks, ascending; empty for no one.
    pub breaks: Vec<Breaks>,
    /// Where the old file says it; a place in that file's own [`crate::SourceMap`].
    pub old: Option<Span>,
    /// Where the new file says it.
    pub new: Option<Span>,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The dataset has another name.
    DatasetRenamed,
    /// The columns that both have stand in another order.
    ColumnsReordered,
    /// A column more.
    ColumnAdded,
    /// A column less.
    ColumnRemoved,
    /// A column has another type.
    TypeChanged,
    /// Dates or times are written otherwise.
    FormatChanged,
    /// `required` of a column, an object or the elements of an array.
    RequiredChanged,
    /// `semanticType`.
    SemanticTypeChanged,
    /// `joinDomain`.
    JoinDomainChanged,
    /// `classification`.
    ClassificationChanged,
    /// `tags`.
    TagsChanged,
    /// A rule more.
    RuleAdded,
    /// A rule less.
    RuleRemoved,
    /// A rule says something else.
    RuleChanged,
}

impl ChangeKind {
    /// In kebab-case: `column-added`.
    pub fn name(self) -> &'static str {
        match self {
            Self::DatasetRenamed => "dataset-renamed",
            Self::ColumnsReordered => "columns-reordered",
            Self::ColumnAdded => "column-added",
            Self::ColumnRemoved => "column-removed",
            Self::TypeChanged => "type-changed",
            Self::FormatChanged => "format-changed",
            Self::RequiredChanged => "required-changed",
            Self::SemanticTypeChanged => "semantic-type-changed",
            Self::JoinDomainChanged => "join-domain-changed",
            Self::ClassificationChanged => "classification-changed",
            Self::TagsChanged => "tags-changed",
            Self::RuleAdded => "rule-added",
            Self::RuleRemoved => "rule-removed",
            Self::RuleChanged => "rule-changed",
        }
    }
}

/// Whom a difference breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breaks {
    /// Data that passed before may be refused.
    Data,
    /// The output has another type, lacks a column, has nulls or values that it had not, or keys and counts that do not hold.
    Consumers,
    /// What the policy decides by is another; something may leave that did not.
    Protection,
    /// Tokens differ from those of earlier datasets.
    Tokens,
}

impl Breaks {
    /// `data`, `consumers`, `protection` or `tokens`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Consumers => "consumers",
            Self::Protection => "protection",
            Self::Tokens => "tokens",
        }
    }
}

/// All differences, sorted by column (the dataset first), kind and rule.
pub fn diff(old: &Schema, new: &Schema) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut dataset = |kind, message, breaks| {
        changes.push(Change { kind, column: None, rule: None, message, breaks, old: Some(old.span), new: Some(new.span) });
    };
    if old.name != new.name {
        let message = format!("the dataset `{}` is called `{}`: other contracts refer to it by name", old.name, new.name);
        dataset(ChangeKind::DatasetRenamed, message, vec![Breaks::Data]);
    }
    let common = |of: &Schema, other: &Schema| -> Vec<String> {
        of.columns.iter().map(|column| column.name.clone()).filter(|name| other.columns.iter().any(|column| column.name == *name)).collect()
    };
    if common(old, new) != common(new, old) {
        let message = "the columns stand in another order: csv without a header has nothing else to tell them apart".to_owned();
        dataset(ChangeKind::ColumnsReordered, message, vec![Breaks::Data]);
    }
    for column in &new.columns {
        match old.columns.iter().find(|before| before.name == column.name) {
            Some(before) => self::column(before, column, &mut changes),
            None => {
                let message = format!("`{}` is new ({}): data without it is refused", column.name, shown(&column.data_type));
                changes.push(of(column, ChangeKind::ColumnAdded, message, vec![Breaks::Data], None, Some(column.span)));
            }
        }
    }
    for column in old.columns.iter().filter(|column| !new.columns.iter().any(|after| after.name == column.name)) {
        let message = format!("`{}` is gone: it leaves the output, and data that has it is refused unless the job says `drift: allowAdded`", column.name);
        changes.push(of(column, ChangeKind::ColumnRemoved, message, vec![Breaks::Data, Breaks::Consumers], Some(column.span), None));
    }
    objects(old, new, &mut changes);
    sets::sets(old, new, &mut changes);
    changes.sort_by(|a, b| (&a.column, a.kind, &a.rule, &a.message).cmp(&(&b.column, b.kind, &b.rule, &b.message)));
    changes
}

fn of(column: &Column, kind: ChangeKind, message: String, breaks: Vec<Breaks>, old: Option<Span>, new: Option<Span>) -> Change {
    Change { kind, column: Some(column.name.clone()), rule: None, message, breaks, old, new }
}

/// Objects that must be there.
fn objects(old: &Schema, new: &Schema, changes: &mut Vec<Change>) {
    let pairs = [
        (new, old, "must be there now: data without it is refused", Breaks::Data),
        (old, new, "need not be there any more: its values can be null", Breaks::Consumers),
    ];
    for (has, other, what, breaks) in pairs {
        for object in has.required_objects.iter().filter(|object| !other.required_objects.iter().any(|its| its.path == object.path)) {
            // an object of which nothing is left is reported with its columns
            let inside = |column: &Column| column.path.starts_with(&object.path);
            if !other.columns.iter().any(inside) {
                continue;
            }
            let name = object.path.join(".");
            let (old, new) = if breaks == Breaks::Data { (None, Some(object.span)) } else { (Some(object.span), None) };
            let message = format!("the object `{name}` {what}");
            changes.push(Change { kind: ChangeKind::RequiredChanged, column: Some(name), rule: None, message, breaks: vec![breaks], old, new });
        }
    }
}

fn column(old: &Column, new: &Column, changes: &mut Vec<Change>) {
    let mut push = |kind, message: String, breaks: Vec<Breaks>| changes.push(of(new, kind, message, breaks, Some(old.span), Some(new.span)));
    let name = &new.name;
    if old.list_at != new.list_at || !same_type(&old.data_type, &new.data_type) {
        let (from, to) = (shown(&old.data_type), shown(&new.data_type));
        let breaks = if widens(&old.data_type, &new.data_type) { vec![Breaks::Consumers] } else { vec![Breaks::Data, Breaks::Consumers] };
        let message = if from == to { format!("`{name}` lies in another array") } else { format!("`{name}` was {from} and is {to}") };
        push(ChangeKind::TypeChanged, message, breaks);
    } else if let Some(message) = reading(name, &old.data_type, &new.data_type) {
        push(ChangeKind::FormatChanged, message, vec![Breaks::Data, Breaks::Consumers]);
    }
    for (was, is, whose) in [(old.required, new.required, ""), (old.item_required, new.item_required, " inside its array")] {
        match (was, is) {
            (false, true) => push(ChangeKind::RequiredChanged, format!("`{name}`{whose} must not be null any more"), vec![Breaks::Data]),
            (true, false) => push(ChangeKind::RequiredChanged, format!("`{name}`{whose} can be null now"), vec![Breaks::Consumers]),
            _ => {}
        }
    }
    let properties = [
        (ChangeKind::SemanticTypeChanged, "semanticType", &old.semantic_type, &new.semantic_type, Breaks::Protection),
        (ChangeKind::ClassificationChanged, "classification", &old.classification, &new.classification, Breaks::Protection),
        (ChangeKind::JoinDomainChanged, "joinDomain", &old.join_domain, &new.join_domain, Breaks::Tokens),
    ];
    for (kind, key, was, is, breaks) in properties {
        if was != is {
            let because = if kind == ChangeKind::ClassificationChanged { classified(was.as_deref(), is.as_deref()) } else { because(breaks) };
            push(kind, format!("`{key}` of `{name}` {}: {because}", from_to(was.as_deref(), is.as_deref())), vec![breaks]);
        }
    }
    let (mut was, mut is) = (old.tags.clone(), new.tags.clone());
    was.sort();
    is.sort();
    if was != is {
        let message = format!("`tags` of `{name}` {}: {}", from_to(Some(&was.join(", ")), Some(&is.join(", "))), because(Breaks::Protection));
        push(ChangeKind::TagsChanged, message, vec![Breaks::Protection]);
    }
    rules::values(old, new, changes);
}

fn because(breaks: Breaks) -> &'static str {
    match breaks {
        Breaks::Tokens => "its values get other tokens than before",
        _ => "the policy decides by it",
    }
}

/// What a column's new classification does. The policy decides what each of them means; that public data is the least protected is the standard's own.
fn classified(was: Option<&str>, is: Option<&str>) -> &'static str {
    let public = |word: Option<&str>| word.is_some_and(|word| word.eq_ignore_ascii_case("public"));
    match (public(was), public(is)) {
        (false, true) => "less protected than before, so values may leave that did not",
        (true, false) => "more protected than before: the policy may drop or refuse what it kept",
        _ => because(Breaks::Protection),
    }
}

fn from_to(was: Option<&str>, is: Option<&str>) -> String {
    let quoted = |word: Option<&str>| word.filter(|word| !word.is_empty()).map_or_else(|| "nothing".to_owned(), |word| format!("`{word}`"));
    format!("was {} and is {}", quoted(was), quoted(is))
}

/// The same for those who read the output; how text files write it is another matter.
fn same_type(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Date { .. }, DataType::Date { .. }) | (DataType::Time { .. }, DataType::Time { .. }) => true,
        (DataType::Timestamp { zone: a, .. }, DataType::Timestamp { zone: b, .. }) => matches!(a, Zone::None) == matches!(b, Zone::None),
        (DataType::List(a), DataType::List(b)) => same_type(a, b),
        _ => a == b,
    }
}

/// Whether every value of the one is one of the other.
fn widens(old: &DataType, new: &DataType) -> bool {
    match (old, new) {
        (DataType::Int32, DataType::Int64) => true,
        (DataType::Decimal { precision: was, scale: a }, DataType::Decimal { precision: is, scale: b }) => a == b && was <= is,
        (DataType::List(a), DataType::List(b)) => widens(a, b),
        _ => false,
    }
}

/// What differs in how dates and times of the same type are read.
fn reading(name: &str, old: &DataType, new: &DataType) -> Option<String> {
    match (old, new) {
        (DataType::Date { format: was }, DataType::Date { format: is }) | (DataType::Time { format: was }, DataType::Time { format: is }) => {
            formats(name, was, is)
        }
        (DataType::Timestamp { format: was, zone: from }, DataType::Timestamp { format: is, zone: to }) => formats(name, was, is).or_else(|| {
            (from != to).then(|| {
                let zone = |zone: &Zone| match zone {
                    Zone::Utc { default: Some(zone) } => format!("`{zone}`"),
                    _ => "nowhere".to_owned(),
                };
                format!("values of `{name}` without an offset were read in {} and are read in {}", zone(from), zone(to))
            })
        }),
        (DataType::List(a), DataType::List(b)) => reading(name, a, b),
        _ => None,
    }
}

fn formats(name: &str, was: &DateFormat, is: &DateFormat) -> Option<String> {
    let written = |format: &DateFormat| format.pattern.as_ref().map_or_else(|| "as ISO 8601".to_owned(), |pattern| format!("as `{pattern}`"));
    if was.pattern != is.pattern {
        return Some(format!("`{name}` was written {} and is written {}", written(was), written(is)));
    }
    (was.year_base != is.year_base).then(|| format!("`yy` of `{name}` counted from {} and counts from {}", was.year_base, is.year_base))
}

fn shown(data_type: &DataType) -> String {
    match data_type {
        DataType::String => "text".to_owned(),
        DataType::Int32 => "a 32-bit integer".to_owned(),
        DataType::Int64 => "a 64-bit integer".to_owned(),
        DataType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        DataType::Float64 => "a 64-bit float".to_owned(),
        DataType::Boolean => "a boolean".to_owned(),
        DataType::Date { .. } => "a date".to_owned(),
        DataType::Timestamp { zone: Zone::None, .. } => "a local timestamp".to_owned(),
        DataType::Timestamp { .. } => "a timestamp in UTC".to_owned(),
        DataType::Time { .. } => "a time of day".to_owned(),
        DataType::List(inner) => format!("an array ({})", shown(inner)),
    }
}
