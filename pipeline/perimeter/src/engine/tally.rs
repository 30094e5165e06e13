//! What a pass over a job's rows has counted.
use crate::check::metric::Verdict;
use crate::check::report::{POSITIONS, Position, Report, RuleRows};
use crate::check::sets::Violations;
use crate::plan::Plan;
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
    /// Fixed width: records of types that are no rows; not among `rows_read`.
    pub rows_passed_over: u64,
    /// Rows with keys that the contract does not have, where `drift: allowAdded` lets them pass unread.
    pub rows_with_added_fields: u64,
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
        if self.rows_read == 0 { 0.0 } else { self.rows_rejected as f64 / self.rows_read as f64 }
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
            self.rows_rejected += broken.rejected();
        }
    }

    /// For people and machines.
    pub fn report(&self, plan: &Plan) -> Report {
        let position = |(source, file, record): &(usize, usize, u64)| {
            let file = plan.inputs.get(*source).and_then(|input| input.files.get(*file));
            Position { file: file.map(|file| file.label.clone()).unwrap_or_default(), record: *record }
        };
        let rules = self.rejections.iter().map(|(rule, rows)| RuleRows {
            rule: rule.clone(),
            rows: *rows,
            first: self.first.get(rule).map(|first| first.iter().map(position).collect()).unwrap_or_default(),
        });
        Report {
            rules: rules.collect(),
            rows_read: self.rows_read,
            rows_rejected: self.rows_rejected,
            rows_passed_over: self.rows_passed_over,
            rows_with_added_fields: self.rows_with_added_fields,
            verdicts: self.verdicts.clone(),
        }
    }
}
