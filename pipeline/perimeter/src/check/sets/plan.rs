//! What the contracts of a job ask of sets of rows, resolved across its sources.
use super::digest::Kind;
use crate::check::metric::MetricPlan;
use perimeter_contract::Diagnostic;
use perimeter_contract::job::Source;
use perimeter_contract::schema::{Metric, Schema, SetCheck, SetRule};
use std::collections::BTreeSet;

/// Everything about sets of rows that a job's contracts ask for.
#[derive(Debug, Default)]
pub struct SetPlan {
    /// What digests are sorted for.
    pub(super) groups: Vec<Group>,
    /// By source of the job.
    pub(super) sources: Vec<SourcePlan>,
}

/// Digests that are compared with each other.
#[derive(Debug)]
pub(super) struct Group {
    /// Whose rule it is.
    pub(super) source: u32,
    /// Which of its `rules`.
    pub(super) rule: u32,
    pub(super) kind: GroupKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupKind {
    Unique,
    References,
    Monotonic {
        strict: bool,
    },
    /// Counts and rejects nothing.
    Duplicates,
}

/// What is taken from the rows of one source.
#[derive(Debug, Default)]
pub(super) struct SourcePlan {
    pub(super) keys: Vec<Key>,
    pub(super) metrics: Vec<MetricPlan>,
}

/// One digest of every clean row.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) group: u32,
    /// Those that others refer to.
    pub(super) parent: bool,
    pub(super) columns: Vec<usize>,
    /// The column that must not go back.
    pub(super) value: Option<usize>,
}

impl SetPlan {
    /// Resolves the rules of all sources.
    ///
    /// # Errors
    /// `rule-not-applicable`: a rule about a column whose type it says nothing about. `unknown-reference`: the other source is not in the job, has no such column, or
    /// one of another kind.
    pub fn new(sources: &[Source]) -> Result<Self, Vec<Diagnostic>> {
        let mut plan = Self { groups: Vec::new(), sources: sources.iter().map(|_| SourcePlan::default()).collect() };
        let mut problems = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            for (number, rule) in source.schema.rules.iter().enumerate() {
                if let Err(problem) = plan.add(sources, index, number, rule) {
                    problems.push(problem);
                }
            }
        }
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    fn add(&mut self, sources: &[Source], source: usize, number: usize, rule: &SetRule) -> Result<(), Diagnostic> {
        let schema = sources.get(source).map(|s| &s.schema).ok_or_else(|| not_applicable(rule, "its source is not there"))?;
        match &rule.check {
            SetCheck::Unique { columns } => {
                comparable(schema, columns, rule)?;
                self.group(source, number, GroupKind::Unique, columns.clone(), None);
            }
            SetCheck::References { columns, dataset, to } => {
                let kinds = comparable(schema, columns, rule)?;
                let parents: Vec<usize> = (0..sources.len()).filter(|at| sources.get(*at).is_some_and(|s| s.schema.name == *dataset)).collect();
                if parents.is_empty() {
                    let message = format!("`{}` refers to `{dataset}`, and no source of the job has a contract of that name", rule.code);
                    return Err(Diagnostic::new("unknown-reference", rule.span, message)
                        .help("add the dataset to the job's sources, or take the reference out of the contract"));
                }
                let group = self.group(source, number, GroupKind::References, columns.clone(), None);
                for parent in parents {
                    let columns = resolve(&sources[parent], to, &kinds, rule)?;
                    self.sources[parent].keys.push(Key { group, parent: true, columns, value: None });
                }
            }
            SetCheck::Monotonic { column, per, strict } => {
                if !per.is_empty() {
                    comparable(schema, per, rule)?;
                }
                if !comparable(schema, &[*column], rule)?.iter().all(|kind| kind.is_ordered()) {
                    return Err(not_applicable(rule, "only numbers, dates, times and timestamps can go back"));
                }
                self.group(source, number, GroupKind::Monotonic { strict: *strict }, per.clone(), Some(*column));
            }
            SetCheck::Metric { metric, unit, bounds } => {
                let duplicates = match metric {
                    Metric::DuplicateValues { columns } => {
                        comparable(schema, columns, rule)?;
                        Some(self.group(source, number, GroupKind::Duplicates, columns.clone(), None))
                    }
                    _ => None,
                };
                let metric = MetricPlan::new(schema, number, metric, *unit, bounds, duplicates)
                    .ok_or_else(|| not_applicable(rule, "the type of its column is another one"))?;
                self.sources[source].metrics.push(metric);
            }
            SetCheck::Expression { .. } | SetCheck::Sql { .. } => {}
        }
        Ok(())
    }

    fn group(&mut self, source: usize, rule: usize, kind: GroupKind, columns: Vec<usize>, value: Option<usize>) -> u32 {
        let number = small(self.groups.len());
        self.groups.push(Group { source: small(source), rule: small(rule), kind });
        self.sources[source].keys.push(Key { group: number, parent: false, columns, value });
        number
    }

    /// Whether rules can only be decided once all rows have been seen.
    pub fn sorts_digests(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether rows are rejected for what other rows hold.
    pub fn rejects_rows(&self) -> bool {
        self.groups.iter().any(|group| group.kind != GroupKind::Duplicates)
    }

    /// Whether anything is taken from the rows of this source.
    pub fn looks_at(&self, source: usize) -> bool {
        self.sources.get(source).is_some_and(|plan| !plan.keys.is_empty() || !plan.metrics.is_empty())
    }

    /// The columns of a source that must be read and typed.
    pub fn columns(&self, source: usize) -> BTreeSet<usize> {
        let Some(plan) = self.sources.get(source) else { return BTreeSet::new() };
        let keys = plan.keys.iter().flat_map(|key| key.columns.iter().copied().chain(key.value));
        keys.chain(plan.metrics.iter().filter_map(MetricPlan::column)).collect()
    }

    /// Bytes of one record that is sorted.
    pub fn record_bytes(&self) -> usize {
        let values = self.groups.iter().any(|group| matches!(group.kind, GroupKind::Monotonic { .. }));
        super::walk::ORIGIN_BYTES + if values { super::walk::VALUE_BYTES } else { 0 }
    }

    /// Source and number of the rule of a group.
    pub(crate) fn rule_of(&self, group: u32) -> Option<(u32, u32)> {
        self.groups.get(group as usize).map(|group| (group.source, group.rule))
    }

    /// The metrics of a source.
    pub(crate) fn metrics(&self, source: usize) -> &[MetricPlan] {
        self.sources.get(source).map_or(&[], |plan| &plan.metrics)
    }

    /// Groups that only count.
    pub(crate) fn counting_groups(&self) -> usize {
        self.groups.len()
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn not_applicable(rule: &SetRule, why: &str) -> Diagnostic {
    Diagnostic::new("rule-not-applicable", rule.span, format!("rule `{}` cannot be applied: {why}", rule.code))
        .help("remove the rule, or change the column's logicalType")
}

fn comparable(schema: &Schema, columns: &[usize], rule: &SetRule) -> Result<Vec<Kind>, Diagnostic> {
    if columns.is_empty() {
        return Err(not_applicable(rule, "it names no column"));
    }
    let kind = |column: &usize| schema.columns.get(*column).and_then(|column| Kind::of(&column.data_type));
    columns.iter().map(kind).collect::<Option<_>>().ok_or_else(|| not_applicable(rule, "arrays are not compared with each other"))
}

fn resolve(parent: &Source, to: &[String], kinds: &[Kind], rule: &SetRule) -> Result<Vec<usize>, Diagnostic> {
    let refuse = |message: String| {
        Diagnostic::new("unknown-reference", rule.span, message)
            .help("a reference names columns of the other contract, one for each of its own, of the same kind")
    };
    if to.len() != kinds.len() || to.is_empty() {
        return Err(refuse(format!("`{}` has {} columns and refers to {}", rule.code, kinds.len(), to.len())));
    }
    let find = |(name, kind): (&String, &Kind)| {
        let at = parent.schema.columns.iter().position(|column| column.name == *name);
        let found = at
            .and_then(|at| parent.schema.columns.get(at))
            .ok_or_else(|| refuse(format!("`{}` refers to `{}.{name}`, which is not there", rule.code, parent.schema.name)))?;
        if Kind::of(&found.data_type) != Some(*kind) {
            return Err(refuse(format!("`{}` refers to `{}.{name}`, whose type is another one", rule.code, parent.schema.name)));
        }
        at.ok_or_else(|| refuse(String::new()))
    };
    to.iter().zip(kinds).map(find).collect()
}
