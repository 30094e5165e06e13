//! What *check* says of a job's data: rules, rows, shares, first positions, verdicts. Never a value: files by their labels, rows by their numbers.
use super::metric::Verdict;
use serde::Serialize;

/// So many positions of a rule are named.
pub const POSITIONS: usize = 3;

/// Where a record stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The file's label.
    pub file: String,
    /// 1-based, over the file's data records.
    pub record: u64,
}

/// One rule that rejects rows, and what it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleRows {
    /// `<source>.<column>.<rule>`, `<source>.<rule>` or `<source>.<record code>`.
    pub rule: String,
    /// Rows that break it.
    pub rows: u64,
    /// Rows of its source.
    pub of: u64,
    /// The first of them, in the order of files and records; [`POSITIONS`] at most.
    pub first: Vec<Position>,
}

/// How long a record is that has another length than all must have: characters in fixed width, cells in csv.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
pub struct Ragged {
    /// Of the record.
    pub found: u64,
    /// Of all others: of the job's `recordLength`, of the header or, without one, of the contract.
    pub expected: u64,
}

/// The `ragged` records of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaggedRows {
    /// The source.
    pub source: String,
    /// `characters` or `cells`.
    pub unit: &'static str,
    /// The length that most of them have.
    pub most: Ragged,
    /// So many have it.
    pub rows: u64,
    /// All ragged records of the source.
    pub of: u64,
}

impl std::fmt::Display for RaggedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { source, unit, most: Ragged { found, expected }, rows, of } = self;
        let said = if *unit == "characters" { "the job's `recordLength` is" } else { "the header, or without one the contract, has" };
        write!(f, "{rows} of {of} ragged records of source `{}` have {found} {unit}: {said} {expected}", shown(source))
    }
}

/// Rows of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRows {
    /// Its name in the job.
    pub source: String,
    /// All of them.
    pub read: u64,
    /// Those that break a rule.
    pub rejected: u64,
}

impl SourceRows {
    /// The share that breaks a rule, from 0 to 1; 0 without rows.
    pub fn rejected_fraction(&self) -> f64 {
        fraction(self.rejected, self.read)
    }
}

/// Everything that *check* says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Rules that rows break, by name.
    pub rules: Vec<RuleRows>,
    /// In the order of the job.
    pub sources: Vec<SourceRows>,
    /// Of sources that have such records.
    pub ragged: Vec<RaggedRows>,
    /// All rows.
    pub rows_read: u64,
    /// Rows that break a rule.
    pub rows_rejected: u64,
    /// Records of types that are no rows; not among `rows_read`.
    pub rows_passed_over: u64,
    /// Rows with keys that the contract does not have and `drift: allowAdded` lets pass unread.
    pub rows_with_added_fields: u64,
    /// Rules about datasets, in the order of sources and rules.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// As a table for people. The share of a rule is of its source's rows: the rows of another source change nothing in it.
    pub fn text(&self) -> String {
        let several = if self.sources.len() > 1 { self.sources.as_slice() } else { &[] };
        let by_source: Vec<(String, &SourceRows)> = several.iter().map(|rows| (format!("rejected of {}", rows.source), rows)).collect();
        let names = self.rules.iter().map(|r| &r.rule).chain(self.verdicts.iter().map(|v| &v.rule)).chain(by_source.iter().map(|(name, _)| name));
        let rule_width = names.map(|name| width(name)).max().unwrap_or(0).max("rejected".len());
        let line = |rule: &str, rows: u64, of: u64, first: &str| {
            let line = format!("{}{}  {rows:>12}  {:>8.4}%  {first}", shown(rule), " ".repeat(rule_width.saturating_sub(width(rule))), percent(rows, of));
            format!("{}\n", line.trim_end())
        };
        let mut text = format!("{:rule_width$}  {:>12}  {:>9}  first records (file:record)\n", "rule", "rows", "share");
        for rule in &self.rules {
            let first: Vec<String> = rule.first.iter().map(|position| format!("{}:{}", shown(&position.file), position.record)).collect();
            text.push_str(&line(&rule.rule, rule.rows, rule.of, &first.join(", ")));
        }
        for (name, rows) in &by_source {
            text.push_str(&line(name, rows.rejected, rows.read, &format!("of {} rows", rows.read)));
        }
        text.push_str(&line("rejected", self.rows_rejected, self.rows_read, ""));
        text.push_str(&format!("{:rule_width$}  {:>12}\n", "read", self.rows_read));
        for ragged in &self.ragged {
            text.push_str(&format!("{ragged}\n"));
        }
        if self.rows_passed_over > 0 {
            text.push_str(&format!("{} records of other types were passed over\n", self.rows_passed_over));
        }
        if self.rows_with_added_fields > 0 {
            text.push_str(&format!("{} rows have fields that the contract does not have: those were not read\n", self.rows_with_added_fields));
        }
        if !self.verdicts.is_empty() {
            text.push('\n');
        }
        for verdict in &self.verdicts {
            let said = if verdict.holds { "holds" } else { "fails" };
            let pad = " ".repeat(rule_width.saturating_sub(width(&verdict.rule)));
            text.push_str(&format!("{}{pad}  {said}  {} {}{}\n", shown(&verdict.rule), verdict.metric, verdict.wanted, counted(verdict)));
        }
        text
    }

    /// `{rows: {read, rejected, passedOver, withAddedFields}, rules: [{rule, rows, share, first: [{file, record}]}], ragged: [{source, unit, found, expected, rows, of}], verdicts: [{rule, metric, holds, wanted, counted, of}]}`; shares from 0 to 1, of the rows of the rule's source.
    pub fn json(&self) -> serde_json::Value {
        let rules = self.rules.iter().map(|r| serde_json::json!({"rule": r.rule, "rows": r.rows, "share": fraction(r.rows, r.of), "first": r.first}));
        let verdicts = self.verdicts.iter().map(|v| {
            let mut json = serde_json::json!({"rule": v.rule, "metric": v.metric, "holds": v.holds, "wanted": v.wanted});
            for (name, number) in [("counted", v.counted), ("of", v.of)] {
                if let Some(number) = number {
                    json[name] = number.into();
                }
            }
            json
        });
        let ragged = self
            .ragged
            .iter()
            .map(|r| serde_json::json!({"source": r.source, "unit": r.unit, "found": r.most.found, "expected": r.most.expected, "rows": r.rows, "of": r.of}));
        serde_json::json!({
            "ragged": ragged.collect::<Vec<_>>(),
            "rows": {"read": self.rows_read, "rejected": self.rows_rejected, "passedOver": self.rows_passed_over, "withAddedFields": self.rows_with_added_fields},
            "rules": rules.collect::<Vec<_>>(),
            "verdicts": verdicts.collect::<Vec<_>>(),
        })
    }
}

/// `, counted 3 of 120 rows`, or nothing for queries.
pub(crate) fn counted(verdict: &Verdict) -> String {
    match (verdict.counted, verdict.of) {
        (Some(counted), Some(of)) => format!(", counted {counted} of {of} rows"),
        (Some(counted), None) => format!(", counted {counted}"),
        (None, _) => String::new(),
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Names from contracts and paths, without what would change how a terminal shows them.
fn shown(text: &str) -> String {
    text.chars().map(|c| if crate::plan::is_deceptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// From 0 to 1; 0 of nothing.
pub(crate) fn fraction(rows: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { rows as f64 / all as f64 }
}

fn percent(rows: u64, all: u64) -> f64 {
    fraction(rows, all) * 100.0
}
