//! What a classification says: names, types, shares and counts; never a value.
use super::findings::Place;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What was found, what the contract says, and whether they agree. Written by `classify --json`; of a run, the manifest's `findings`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Classification {
    /// Drew units and values.
    pub seed: u64,
    /// Rows of a source that were asked for: a number, or `all`.
    pub sample_rows: String,
    /// By source, in the job's order.
    pub sources: Vec<ClassifiedSource>,
    /// What Amazon Macie says, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub macie: Option<MacieSummary>,
}

/// One source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClassifiedSource {
    /// The job's name for it.
    pub name: String,
    /// Files in its listing.
    pub files: u64,
    /// Rows that the detectors looked at.
    pub rows: u64,
    /// Whether those were all rows.
    pub complete: bool,
    /// Records that are no rows of the contract's types, by code: not looked at. A run rejects them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub unreadable: BTreeMap<String, u64>,
    /// By column. In a manifest, those where something was found or contradicted.
    pub columns: Vec<ClassifiedColumn>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClassifiedColumn {
    /// Its name in the contract.
    pub name: String,
    /// What the contract says of it.
    pub contract: ContractSays,
    /// What the values look like, whatever they mean: `NUMBER`, `FREE_TEXT`, …
    pub shape: String,
    /// Distinct values looked at.
    pub distinct: u64,
    /// The worst of its findings'.
    pub agreement: Agreement,
    /// The likeliest first; Amazon Macie's after the detectors'.
    pub findings: Vec<Finding>,
}

/// What a contract says of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContractSays {
    /// `semanticType`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub semantic_type: Option<String>,
    /// `joinDomain`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub join_domain: Option<String>,
    /// `classification`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub classification: Option<String>,
}

/// One type in one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// In the contract's words: `BR_CPF`.
    #[serde(rename = "type")]
    pub semantic_type: String,
    /// The finder's own name for it, where that is another.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub found_as: Option<String>,
    /// Who found it.
    pub source: Finder,
    /// Where.
    pub place: Place,
    /// Share of the distinct values looked at; absent for Amazon Macie, and where zeros in front are lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<f64>,
    /// Its interval at 99 %.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<(f64, f64)>,
    /// `LIKELY` or `VERY_LIKELY`; absent for Amazon Macie.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub confidence: Option<String>,
    /// Occurrences; Amazon Macie's alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u64>,
    /// Against the contract.
    pub agreement: Agreement,
    /// Why it needs no answer; `unresolved`: it does, and a run is refused.
    pub resolution: Resolution,
    /// Of an accepted one: the contract's reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Of an unresolved one: the place, and what to write there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write: Option<String>,
}

/// Who found something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Finder {
    /// The detectors of this program.
    Local,
    /// Amazon Macie.
    Macie,
}

impl Finder {
    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Macie => "macie",
        }
    }
}

/// A finding against what the contract says, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Agreement {
    /// There is nothing to agree on: nothing was found, and the contract says nothing that detectors could see.
    Silent,
    /// The contract says the same.
    Agrees,
    /// The contract says that a person has looked and it is something else.
    Accepted,
    /// The contract says a type that detectors know, and they do not see it.
    NotFound,
    /// The contract says nothing.
    Missing,
    /// The contract says something else.
    Contradicts,
}

impl Agreement {
    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Agrees => "agrees",
            Self::Accepted => "accepted",
            Self::NotFound => "notFound",
            Self::Missing => "missing",
            Self::Contradicts => "contradicts",
        }
    }
}

/// Why a finding needs no answer, or that it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resolution {
    /// The contract says so, and the policy has decided.
    Contract,
    /// The contract accepts it as something else.
    Accepted,
    /// What the policy does with the column lets no value leave.
    Hidden,
    /// The policy looks into the texts of the column itself (`deidentifyText`).
    Deidentified,
    /// Nothing that leaves is made of it.
    NotUsed,
    /// A form that says nothing of a person.
    Form,
    /// Nobody has said anything.
    Unresolved,
    /// There is no contract and no policy to ask.
    NotAsked,
}

impl Resolution {
    /// As reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Accepted => "accepted",
            Self::Hidden => "hidden",
            Self::Deidentified => "deidentified",
            Self::NotUsed => "notUsed",
            Self::Form => "form",
            Self::Unresolved => "unresolved",
            Self::NotAsked => "notAsked",
        }
    }
}

/// What Amazon Macie says beside its findings in columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MacieSummary {
    /// The jobs.
    pub jobs: Vec<MacieJob>,
    /// Why its findings are not the whole truth; empty: clean.
    pub not_clean: Vec<MacieNotClean>,
    /// Findings that are in no column that can be named, by type.
    pub without_column: BTreeMap<String, u64>,
    /// Findings and results about objects that the job does not read.
    pub reports_outside_of_the_plan: u64,
}

impl MacieSummary {
    /// Reasons that no local scan stands in for.
    pub fn remaining(&self) -> impl Iterator<Item = &MacieNotClean> {
        self.not_clean.iter().filter(|reason| !reason.scanned_locally)
    }
}

/// One Macie job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MacieJob {
    /// Its id.
    pub id: String,
    /// When it started: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started: Option<String>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MacieNotClean {
    /// Kebab-case: `skipped`.
    pub why: String,
    /// The file's label, or the job.
    pub label: String,
    /// Macie's own reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detail: Option<String>,
    /// Every row of the file went through the local detectors instead (`onSkipped: localScan`).
    pub scanned_locally: bool,
}

impl Classification {
    /// Findings that nobody has answered for, with source and column.
    pub fn unresolved(&self) -> impl Iterator<Item = (&ClassifiedSource, &ClassifiedColumn, &Finding)> {
        let all = self.sources.iter().flat_map(|source| source.columns.iter().map(move |column| (source, column)));
        all.flat_map(|(source, column)| {
            column.findings.iter().filter(|finding| finding.resolution == Resolution::Unresolved).map(move |finding| (source, column, finding))
        })
    }

    /// Without the columns that have nothing to say.
    #[must_use]
    pub fn disagreements_and_findings(mut self) -> Self {
        for source in &mut self.sources {
            source.columns.retain(|column| column.agreement != Agreement::Silent);
        }
        self
    }

    /// A table for a person.
    pub fn text(&self) -> String {
        let mut rows = vec![["column", "contract", "found", "share", "confidence", "by", "agreement", "answer"].map(str::to_owned)];
        for (source, column) in self.sources.iter().flat_map(|source| source.columns.iter().map(move |column| (source, column))) {
            let name = shown(&format!("{}.{}", source.name, column.name));
            let says = column.contract.semantic_type.clone().or_else(|| column.contract.classification.clone()).unwrap_or_else(|| "-".to_owned());
            if column.findings.is_empty() {
                let dash = || "-".to_owned();
                rows.push([name, shown(&says), dash(), dash(), dash(), dash(), column.agreement.name().to_owned(), dash()]);
                continue;
            }
            for finding in &column.findings {
                rows.push([
                    name.clone(),
                    shown(&says),
                    format!("{}{}", finding.semantic_type, where_found(finding.place)),
                    amount(finding),
                    finding.confidence.clone().unwrap_or_else(|| "-".to_owned()),
                    finding.source.name().to_owned(),
                    finding.agreement.name().to_owned(),
                    finding.resolution.name().to_owned(),
                ]);
            }
        }
        let mut out = table(&rows);
        for source in &self.sources {
            let complete = if source.complete { "all of them" } else { "a sample" };
            let _ = writeln!(out, "{}: {} row(s) of {} file(s) looked at, {complete}", source.name, source.rows, source.files);
            for (code, count) in &source.unreadable {
                let _ = writeln!(out, "  not looked at: {count} record(s), {}", shown(code));
            }
        }
        if let Some(macie) = &self.macie {
            for job in &macie.jobs {
                let _ = writeln!(out, "macie: job {}, started {}", job.id, job.started.as_deref().unwrap_or("at an unknown time"));
            }
            for (info_type, count) in &macie.without_column {
                let _ = writeln!(out, "macie: {info_type} in no column that can be named: {count}");
            }
            for reason in &macie.not_clean {
                let _ = writeln!(out, "macie: not clean: {}", reason.text());
            }
            if macie.reports_outside_of_the_plan > 0 {
                let _ = writeln!(out, "macie: {} report(s) about objects that this job does not read", macie.reports_outside_of_the_plan);
            }
            if macie.not_clean.is_empty() {
                let _ = writeln!(out, "macie: clean");
            }
        }
        out
    }
}

impl MacieNotClean {
    /// In a line.
    pub fn text(&self) -> String {
        let detail = self.detail.as_deref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let instead = if self.scanned_locally { ", every row looked at locally instead" } else { "" };
        shown(&format!("{}: {}{detail}{instead}", self.why, self.label))
    }
}

/// `93.1 %`, rounded down below all and up above nothing; of Macie, a count.
pub(super) fn amount(finding: &Finding) -> String {
    match (finding.share, finding.count) {
        (Some(share), _) if share >= 1.0 => "100 %".to_owned(),
        (Some(share), _) if share < 0.001 => "< 0.1 %".to_owned(),
        (Some(share), _) => format!("{:.1} %", (share * 1000.0).floor() / 10.0),
        (None, Some(count)) => format!("{count} times"),
        (None, None) => "zeros lost".to_owned(),
    }
}

fn where_found(place: Place) -> &'static str {
    match place {
        Place::Values => "",
        Place::Texts => " in texts",
        Place::Header => " in the header",
    }
}

/// Names that show as what they are.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if crate::plan::is_deceptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn table(rows: &[[String; 8]]) -> String {
    let mut widths = [0; 8];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        let line: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(out, "{}", line.join("  ").trim_end());
    }
    out
}
