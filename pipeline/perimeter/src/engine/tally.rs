//! What a pass over a job's rows has counted.
use crate::check::metric::Verdict;
use crate::check::report::{POSITIONS, Position, Ragged, RaggedRows, Report, RuleRows, SourceRows, fraction};
use crate::check::sets::Violations;
use crate::plan::Plan;
use perimeter_contract::job::Format;
use std::collections::BTreeMap;

/// What reading and checking found, over all sources.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Rows of every file of every source, by source and file.
    pub file_rows: Vec<Vec<u64>>,
    /// All rows.
    pub rows_read: u64,
    /// Rows that broke a rule.
    pub rows_rejected: u64,
    /// The same by source.
    pub source_rejected: Vec<u64>,
    /// Fixed width: records of types that are no rows; not among `rows_read`.
    pub rows_passed_over: u64,
    /// Rows with keys that the contract does not have, where `drift: allowAdded` lets them pass unread.
    pub rows_with_added_fields: u64,
    /// By source: how long `ragged` records are, and how many are.
    pub source_ragged: Vec<BTreeMap<Ragged, u64>>,
    /// By `source.column.rule`; a row counts once for each rule that it breaks.
    pub rejections: BTreeMap<String, u64>,
    /// By source, file and `column.rule`.
    pub file_rejections: Vec<Vec<BTreeMap<String, u64>>>,
    /// By `source.column.rule`: source, file and record of the first, ascending.
    pub first: BTreeMap<String, Vec<(usize, usize, u64)>>,
    /// What the rules about datasets say.
    pub verdicts: Vec<Verdict>,
}

impl Tally {
    /// The share of rows that broke a rule; 0 without rows.
    pub fn rejected_fraction(&self) -> f64 {
        fraction(self.rows_rejected, self.rows_read)
    }

    /// By source, in the order of the job. The share of all rows is never above the greatest of these.
    pub fn by_source<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = SourceRows> + 'a {
        let sources = plan.contract.job.sources.iter().zip(&self.file_rows).enumerate();
        sources.map(|(index, (source, files))| SourceRows {
            source: source.name.clone(),
            read: files.iter().sum(),
            rejected: self.source_rejected.get(index).copied().unwrap_or_default(),
        })
    }

    /// The rules that most rows of a source break: `tx.amount.type (12), …`.
    pub(crate) fn most_broken(&self, name: &str, source: usize, most: usize) -> String {
        let mut rules: BTreeMap<&str, u64> = BTreeMap::new();
        for (rule, rows) in self.file_rejections.get(source).into_iter().flatten().flatten() {
            *rules.entry(rule).or_default() += rows;
        }
        let mut rules: Vec<_> = rules.into_iter().collect();
        rules.sort_by_key(|(rule, rows)| (std::cmp::Reverse(*rows), *rule));
        rules.iter().take(most).map(|(rule, rows)| format!("{name}.{rule} ({rows})")).collect::<Vec<_>>().join(", ")
    }

    /// What is known of the lengths of `ragged` records, by source.
    pub fn ragged(&self, plan: &Plan) -> Vec<RaggedRows> {
        let sources = plan.contract.job.sources.iter().zip(&self.source_ragged);
        let rows = sources.filter_map(|(source, lengths)| {
            let (most, rows) = lengths.iter().max_by_key(|(ragged, rows)| (**rows, std::cmp::Reverse(**ragged)))?;
            let of = self.rejections.get(&format!("{}.ragged", source.name)).copied().unwrap_or(*rows);
            let unit = if matches!(source.format, Format::FixedWidth(_)) { "characters" } else { "cells" };
            Some(RaggedRows { source: source.name.clone(), unit, most: *most, rows: *rows, of })
        });
        rows.collect()
    }

    /// Counts rows of a source that broke a rule, once each.
    pub(super) fn reject(&mut self, source: usize, rows: u64) {
        if self.source_rejected.len() <= source {
            self.source_rejected.resize(source + 1, 0);
        }
        if let Some(rejected) = self.source_rejected.get_mut(source) {
            *rejected += rows;
        }
        self.rows_rejected += rows;
    }

    pub(super) fn count(&mut self, source: &str, place: (usize, usize), code: &str, rows: u64, first: &[u64]) {
        let full = format!("{source}.{code}");
        if let Some(file) = self.file_rejections.get_mut(place.0).and_then(|files| files.get_mut(place.1)) {
            *file.entry(code.to_owned()).or_default() += rows;
        }
        let positions = self.first.entry(full.clone()).or_default();
        positions.extend(first.iter().map(|record| (place.0, place.1, *record)));
        positions.sort_unstable();
        positions.truncate(POSITIONS);
        *self.rejections.entry(full).or_default() += rows;
    }

    /// Adds what a pass has found about sets to what the same pass has counted.
    pub(crate) fn add_violations(&mut self, plan: &Plan, violations: &Violations) {
        for (source, file, broken) in violations.files() {
            let Some(of) = plan.contract.job.sources.get(source) else { continue };
            for (rule, rows, first) in broken.by_rule(POSITIONS) {
                if let Some(rule) = of.schema.rules.get(rule) {
                    self.count(&of.name, (source, file), &rule.code, rows, &first);
                }
            }
            self.reject(source, broken.rejected());
        }
    }

    /// For people and machines.
    pub fn report(&self, plan: &Plan) -> Report {
        let position = |(source, file, record): &(usize, usize, u64)| {
            let file = plan.inputs.get(*source).and_then(|input| input.files.get(*file));
            Position { file: file.map(|file| file.label.clone()).unwrap_or_default(), record: *record }
        };
        let sources: Vec<SourceRows> = self.by_source(plan).collect();
        // Whose rule it is: every broken one has a first record.
        let of = |rule| self.first.get(rule).and_then(|first| sources.get(first.first()?.0)).map_or(self.rows_read, |rows| rows.read);
        let rules = self.rejections.iter().map(|(rule, rows)| RuleRows {
            rule: rule.clone(),
            rows: *rows,
            of: of(rule),
            first: self.first.get(rule).map(|first| first.iter().map(position).collect()).unwrap_or_default(),
        });
        let rules = rules.collect();
        Report {
            rules,
            sources,
            ragged: self.ragged(plan),
            rows_read: self.rows_read,
            rows_rejected: self.rows_rejected,
            rows_passed_over: self.rows_passed_over,
            rows_with_added_fields: self.rows_with_added_fields,
            verdicts: self.verdicts.clone(),
        }
    }
}
