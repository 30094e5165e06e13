//! Contract and policy against findings: does somebody answer for each of them?
use super::findings::{Found, Place};
use super::report::{Agreement, Finder, Finding, Resolution};
use super::scan::value_type;
use super::words::{is_form, is_harmless, says};
use crate::plan::lineage::SourceColumn;
use crate::plan::{Plan, PlannedColumn};
use perimeter_contract::Span;
use perimeter_contract::policy::{TextDetector, Transform};
use perimeter_contract::schema::{Column, DataType};
use perimeter_detect::InfoType;
use std::fmt::Write as _;

/// A finding of either finder, before it is held against anything.
pub(super) struct Claim<'a> {
    /// In the contract's words.
    pub(super) semantic_type: &'a str,
    /// The finder's own name.
    pub(super) name: &'a str,
    pub(super) place: Place,
    /// How a value is written, and not whom it is about.
    pub(super) form: bool,
    pub(super) harmless: bool,
}

impl<'a> Claim<'a> {
    /// `detectors` are the policy's own: a contract says their names.
    pub(super) fn local(found: &Found, detectors: &'a [TextDetector]) -> Self {
        let info_type = found.info_type;
        let own = match info_type {
            InfoType::Custom(at) => detectors.get(usize::from(at)).map(|detector| detector.name.as_str()),
            _ => None,
        };
        Self {
            semantic_type: own.unwrap_or(info_type.semantic_type()),
            name: own.unwrap_or(info_type.name()),
            place: found.place,
            form: is_form(info_type),
            harmless: is_harmless(info_type),
        }
    }

    pub(super) fn macie(semantic_type: Option<&'a str>, name: &'a str, place: Place) -> Self {
        Self { semantic_type: semantic_type.unwrap_or(name), name, place, form: false, harmless: false }
    }

    /// What the contract of the column says to it.
    pub(super) fn agreement(&self, column: &Column) -> Agreement {
        if column.accepted_findings.iter().any(|accepted| accepted.info_type == self.semantic_type || accepted.info_type == self.name) {
            return Agreement::Accepted;
        }
        let calendar = matches!(value_type(&column.data_type), DataType::Date { .. } | DataType::Timestamp { .. } | DataType::Time { .. });
        match column.semantic_type.as_deref() {
            // Free text can hold anything; that is what it says.
            Some("FREE_TEXT") if self.place == Place::Texts => Agreement::Agrees,
            Some(_) if self.form => Agreement::Agrees,
            Some(contract) if says(contract, self.semantic_type) && self.place != Place::Header => Agreement::Agrees,
            None if self.form && calendar => Agreement::Agrees,
            None => Agreement::Missing,
            Some(_) => Agreement::Contradicts,
        }
    }
}

/// What a plan does with a source column.
pub(super) struct Answers<'a> {
    pub(super) plan: &'a Plan,
    pub(super) source: &'a str,
    pub(super) column: &'a Column,
}

impl Answers<'_> {
    /// The columns of the query that are made of it, or tied to it.
    fn made(&self) -> impl Iterator<Item = &PlannedColumn> {
        let column = SourceColumn { source: self.source.to_owned(), column: self.column.name.clone() };
        self.plan.columns.iter().filter(move |planned| planned.lineage.from.contains(&column) || planned.lineage.tied.contains(&column))
    }

    /// Those of them that leave, and show something of a value.
    fn shown(&self) -> impl Iterator<Item = &PlannedColumn> {
        self.made().filter(|planned| planned.needed && !is_hidden(&planned.decision.transform))
    }

    pub(super) fn resolution(&self, claim: &Claim<'_>, agreement: Agreement) -> Resolution {
        // What free text holds is not decided by calling it free text.
        let decided = agreement == Agreement::Agrees && !(claim.place == Place::Texts && self.column.semantic_type.as_deref() == Some("FREE_TEXT"));
        if agreement == Agreement::Accepted {
            Resolution::Accepted
        } else if decided {
            Resolution::Contract
        } else if claim.harmless {
            Resolution::Form
        } else if self.shown().next().is_none() {
            if self.made().any(|planned| is_hidden(&planned.decision.transform)) { Resolution::Hidden } else { Resolution::NotUsed }
        } else if claim.place == Place::Texts && self.shown().all(is_deidentified) {
            Resolution::Deidentified
        } else {
            Resolution::Unresolved
        }
    }

    /// What a person has to write, and where.
    pub(super) fn write(&self, claim: &Claim<'_>) -> String {
        let mut text = String::new();
        let place = place(self.plan, self.column.span).map(|place| format!(" ({place})")).unwrap_or_default();
        let kept = self.shown().next();
        let accept = format!("{{property: acceptedFindings, value: [{{type: {}, reason: \"…\"}}]}}", claim.semantic_type);
        if claim.place == Place::Texts && kept.is_some_and(is_free_text) {
            let _ = write!(text, "{{match: {{semanticType: FREE_TEXT}}, transform: deidentifyText}} or `drop` in the policy");
        } else if claim.place == Place::Texts {
            let _ = write!(text, "{{property: semanticType, value: FREE_TEXT}} in the contract{place}, or, where it is something else, {accept}");
        } else {
            let _ = write!(text, "{{property: semanticType, value: {}}} in the contract{place}, or, where it is something else, {accept}", claim.semantic_type);
        }
        if let Some(kept) = kept {
            let rule = kept.decision.rule.as_deref().map(|rule| format!(", rule \"{rule}\"")).unwrap_or_default();
            let _ = write!(text, "; now `{}` is made of it ({}{rule})", super::report::shown(&kept.name), kept.decision.transform.name());
        }
        text
    }
}

fn is_free_text(planned: &PlannedColumn) -> bool {
    planned.decision.semantic_types.contains("FREE_TEXT")
}

/// By name: the transform belongs to the policy.
fn is_deidentified(planned: &PlannedColumn) -> bool {
    planned.decision.transform.name() == "deidentifyText"
}

/// Whether nothing of a value leaves, whatever the value is. What leaves a part of it, or moves it, was decided for the type that the contract states, and is right for
/// that type alone: a mask that keeps the last four digits of a telephone number keeps those of a CPF.
fn is_hidden(transform: &Transform) -> bool {
    match transform {
        Transform::Drop
        | Transform::CryptoHash { .. }
        | Transform::CryptoDeterministic { .. }
        | Transform::Encrypt { .. }
        | Transform::Redact
        | Transform::Replace { .. }
        | Transform::ReplaceWithInfoType => true,
        Transform::CryptoReplaceFfxFpe { keep_first, keep_last, fallback, .. } => {
            *keep_first == 0 && *keep_last == 0 && fallback.as_ref().is_none_or(|fallback| is_hidden(fallback))
        }
        _ => false,
    }
}

/// `schemas/tx.odcs.yaml:24`.
fn place(plan: &Plan, span: Span) -> Option<String> {
    let file = plan.contract.sources.file(span)?;
    let start = usize::try_from(span.start).unwrap_or(usize::MAX).min(file.text.len());
    let line = file.text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count() + 1;
    Some(format!("{}:{line}", file.path.display()))
}

/// Both as a line of the report.
pub(super) fn finding(claim: &Claim<'_>, source: Finder, agreement: Agreement, resolution: Resolution) -> Finding {
    Finding {
        semantic_type: claim.semantic_type.to_owned(),
        found_as: (claim.name != claim.semantic_type).then(|| claim.name.to_owned()),
        source,
        place: claim.place,
        share: None,
        interval: None,
        confidence: None,
        count: None,
        agreement,
        resolution,
        reason: None,
        write: None,
    }
}
