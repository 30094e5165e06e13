//! `deidentifyText` in a plan: what becomes of each type, and how much the detectors find.
use super::{collision, listed, options};
use crate::plan::decide::JoinDomain;
use crate::plan::recall::{self, MEASURED, MEASURED_ON};
use crate::plan::text::{Becomes, TextPlan};
use perimeter_contract::policy::Transform;
use serde_json::{Value, json};
use std::fmt::Write;

/// By type, in the policy's order; part of what approvers sign.
pub(super) fn types(plan: &TextPlan) -> Value {
    let types: Vec<Value> = plan
        .listed
        .iter()
        .map(|listed| {
            let mut says = becomes(&listed.becomes);
            says["type"] = json!(listed.name);
            says
        })
        .collect();
    json!({"types": types, "default": becomes(&plan.default)})
}

fn becomes(becomes: &Becomes) -> Value {
    json!({
        "transform": becomes.transform.name(),
        "options": options(&becomes.transform),
        "collision": collision(&becomes.transform),
        "rule": becomes.rule,
        "key": becomes.transform.key(),
        "joinDomain": becomes.join_domain.as_ref().map(JoinDomain::label),
    })
}

/// What was measured, whatever the plan: it changes with the detectors, and is no part of the digest.
pub(super) fn recall() -> Value {
    json!({"measuredOn": MEASURED_ON, "types": MEASURED, "missed": "what detectors miss stays in the text, and is for the gates"})
}

/// Lines below the column's own.
pub(super) fn lines(plan: &TextPlan, out: &mut String) {
    let width = plan.listed.iter().map(|listed| listed.name.len()).chain([ALL_OTHERS.len()]).max().unwrap_or_default();
    for listed in &plan.listed {
        let _ = writeln!(out, "        {:width$}  {}", listed.name, treatment(&listed.becomes));
    }
    let _ = writeln!(out, "        {ALL_OTHERS:width$}  {}", treatment(&plan.default));
    let mut measured = Vec::new();
    let mut unknown = Vec::new();
    for listed in plan.listed.iter().filter(|listed| listed.becomes.transform != Transform::Keep) {
        let says: Vec<String> = recall::of(&listed.name).map(recall::Recall::says).collect();
        if says.is_empty() { unknown.push(listed.name.as_str()) } else { measured.push(format!("{} {}", listed.name, says.join(" and "))) }
    }
    if !measured.is_empty() {
        let _ = writeln!(out, "        found, as measured on {MEASURED_ON}: {}", measured.join(", "));
    }
    if !unknown.is_empty() {
        let _ = writeln!(out, "        not measured: {}", unknown.join(", "));
    }
    let _ = writeln!(out, "        what detectors miss stays in the text, and is for the gates");
}

const ALL_OTHERS: &str = "all others";

/// `cryptoHash, key person, join domain person, as rule "taxpayer ids", bytes 32 …`.
fn treatment(becomes: &Becomes) -> String {
    let transform = &becomes.transform;
    let mut text = transform.name().to_owned();
    if let (Some(key), Some(JoinDomain::Named(domain))) = (transform.key(), &becomes.join_domain) {
        let _ = write!(text, ", key {key}, join domain {domain}");
    }
    if let Some(rule) = &becomes.rule {
        let _ = write!(text, ", as rule \"{rule}\"");
    }
    text.push_str(&listed(transform, |_| false));
    if let Transform::CryptoReplaceFfxFpe { fallback: Some(fallback), .. } = transform {
        let _ = write!(text, ", fallback {}{}", fallback.name(), listed(fallback, |_| false));
    }
    text
}
