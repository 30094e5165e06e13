//! Rules about rows and datasets in pairs.
use super::rules::identity;
use super::{Breaks, Change, ChangeKind};
use crate::Span;
use crate::schema::{Bound, Decimal, Metric, MetricUnit, Schema, SetCheck, SetRule};
use crate::validate::schema::compare;
use std::cmp::Ordering;

/// By what they say, then by their codes: a rule that only has another name breaks no one.
pub(super) fn sets(old: &Schema, new: &Schema, changes: &mut Vec<Change>) {
    let mut push = |kind, rule: &SetRule, message: String, breaks: Vec<Breaks>, spans: (Option<Span>, Option<Span>)| {
        changes.push(Change { kind, column: None, rule: Some(rule.code.clone()), message, breaks, old: spans.0, new: spans.1 });
    };
    let mut gone: Vec<&SetRule> = old.rules.iter().collect();
    let mut fresh = Vec::new();
    for rule in &new.rules {
        match gone.iter().position(|was| was.code == rule.code && meaning(was, old) == meaning(rule, new)) {
            Some(same) => drop(gone.remove(same)),
            None => fresh.push(rule),
        }
    }
    let mut unknown = Vec::new();
    for rule in fresh {
        let renamed = |was: &&SetRule| meaning(was, old) == meaning(rule, new);
        let Some(was) = gone.iter().position(renamed).or_else(|| gone.iter().position(|was| was.code == rule.code)).map(|at| gone.remove(at)) else {
            unknown.push(rule);
            continue;
        };
        let spans = (Some(was.span), Some(rule.span));
        if renamed(&was) {
            let message = format!("the rule `{}` is called `{}` and says the same: reports and manifests count it under the new name", was.code, rule.code);
            push(ChangeKind::RuleChanged, rule, message, Vec::new(), spans);
            continue;
        }
        let (message, breaks) = match direction(was, old, rule, new) {
            Some(Ordering::Less) => ("is looser", vec![Breaks::Consumers]),
            Some(_) => ("is tighter", vec![Breaks::Data]),
            None => ("says something else", Vec::from_iter([Breaks::Data].into_iter().chain(relied_on(&was.check)))),
        };
        push(ChangeKind::RuleChanged, rule, format!("the rule `{}` {message}", rule.code), breaks, spans);
    }
    for rule in unknown {
        push(ChangeKind::RuleAdded, rule, format!("the rule `{}` is new", rule.code), vec![Breaks::Data], (None, Some(rule.span)));
    }
    for rule in gone {
        let breaks = Vec::from_iter(relied_on(&rule.check));
        let message = format!("the rule `{}` is gone: what it refused passes", rule.code);
        push(ChangeKind::RuleRemoved, rule, message, breaks, (Some(rule.span), None));
    }
}

/// Whom it breaks when the rule no longer holds: joins and counts rely on keys, references and the shape of a dataset. A rule about the values of one row is as
/// a bound of a column.
fn relied_on(check: &SetCheck) -> Option<Breaks> {
    match check {
        SetCheck::Unique { .. } | SetCheck::References { .. } | SetCheck::Monotonic { .. } | SetCheck::Metric { .. } | SetCheck::Sql { .. } => {
            Some(Breaks::Consumers)
        }
        SetCheck::Expression { .. } => None,
    }
}

/// Of rules that measure the same: less when the threshold is looser, greater when it is tighter, none when it is neither.
fn direction(was: &SetRule, old: &Schema, is: &SetRule, new: &Schema) -> Option<Ordering> {
    let (old_bounds, new_bounds) = match (&was.check, &is.check) {
        (SetCheck::Metric { bounds: a, .. }, SetCheck::Metric { bounds: b, .. }) | (SetCheck::Sql { bounds: a, .. }, SetCheck::Sql { bounds: b, .. }) => (a, b),
        _ => return None,
    };
    if measured(was, old) != measured(is, new) {
        return None;
    }
    let (old_range, new_range) = (Range::of(old_bounds)?, Range::of(new_bounds)?);
    match (old_range.within(&new_range)?, new_range.within(&old_range)?) {
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
        _ => None,
    }
}

/// The numbers that all bounds of a rule let through, where that is one stretch. Ends with whether they belong to it.
#[derive(Clone, Copy, Default)]
struct Range {
    from: Option<(Decimal, bool)>,
    to: Option<(Decimal, bool)>,
}

impl Range {
    fn of(bounds: &[Bound]) -> Option<Self> {
        bounds.iter().try_fold(Self::default(), |range, bound| match bound {
            Bound::Be(at) => range.above(*at, true)?.below(*at, true),
            Bound::GreaterThan(at) => range.above(*at, false),
            Bound::GreaterOrEqualTo(at) => range.above(*at, true),
            Bound::LessThan(at) => range.below(*at, false),
            Bound::LessOrEqualTo(at) => range.below(*at, true),
            Bound::Between(from, to) => range.above(*from, true)?.below(*to, true),
            Bound::NotBe(_) | Bound::NotBetween(..) => None,
        })
    }

    fn above(self, at: Decimal, closed: bool) -> Option<Self> {
        let tighter = starts_within((at, closed), self.from)?;
        Some(if tighter { Self { from: Some((at, closed)), ..self } } else { self })
    }

    fn below(self, at: Decimal, closed: bool) -> Option<Self> {
        let tighter = ends_within((at, closed), self.to)?;
        Some(if tighter { Self { to: Some((at, closed)), ..self } } else { self })
    }

    /// Whether the other one has all of it.
    fn within(&self, other: &Self) -> Option<bool> {
        let from = self.from.map_or(Some(other.from.is_none()), |from| starts_within(from, other.from))?;
        let to = self.to.map_or(Some(other.to.is_none()), |to| ends_within(to, other.to))?;
        Some(from && to)
    }
}

/// Whether a range that starts here starts in one that starts there.
fn starts_within(at: (Decimal, bool), outer: Option<(Decimal, bool)>) -> Option<bool> {
    let Some((outer, closed)) = outer else { return Some(true) };
    let order = compare(at.0, outer)?;
    Some(order == Ordering::Greater || (order == Ordering::Equal && (closed || !at.1)))
}

/// Whether a range that ends here ends in one that ends there.
fn ends_within(at: (Decimal, bool), outer: Option<(Decimal, bool)>) -> Option<bool> {
    let Some((outer, closed)) = outer else { return Some(true) };
    let order = compare(at.0, outer)?;
    Some(order == Ordering::Less || (order == Ordering::Equal && (closed || !at.1)))
}

/// All that a rule says, columns by name.
fn meaning(rule: &SetRule, schema: &Schema) -> String {
    match &rule.check {
        SetCheck::Sql { bounds, .. } | SetCheck::Metric { bounds, .. } => format!("{} {bounds:?}", measured(rule, schema)),
        _ => measured(rule, schema),
    }
}

/// All but the threshold.
fn measured(rule: &SetRule, schema: &Schema) -> String {
    let name = |column: &usize| schema.columns.get(*column).map_or("", |column| column.name.as_str());
    let names = |columns: &[usize]| columns.iter().map(name).collect::<Vec<_>>();
    match &rule.check {
        // keys are sets: their order decides nothing
        SetCheck::Unique { columns } => {
            let mut names = names(columns);
            names.sort_unstable();
            format!("unique {names:?}")
        }
        SetCheck::References { columns, dataset, to } => format!("references {:?} {dataset:?} {to:?}", names(columns)),
        SetCheck::Monotonic { column, per, strict } => format!("monotonic {:?} {:?} {strict}", name(column), names(per)),
        SetCheck::Expression { sql } => format!("expression {sql:?}"),
        SetCheck::Sql { query, .. } => format!("sql {query:?}"),
        SetCheck::Metric { metric, unit, .. } => {
            let what = match metric {
                Metric::NullValues { column } => format!("nulls {:?}", name(column)),
                Metric::MissingValues { column, values, null } => format!("missing {:?} {values:?} {null}", name(column)),
                Metric::InvalidValues { column, checks } => format!("invalid {:?} {:?}", name(column), checks.iter().map(identity).collect::<Vec<_>>()),
                Metric::DuplicateValues { columns } => format!("duplicates {:?}", names(columns)),
                Metric::RowCount => "rows".to_owned(),
            };
            format!("{what} {}", if *unit == MetricUnit::Percent { "percent" } else { "rows" })
        }
    }
}
