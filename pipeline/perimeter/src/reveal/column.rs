//! What made the tokens of a column, as the job's files say.
use crate::engine::{self, Limits};
use crate::error::{Culprit, Error, Failure, Result};
use crate::plan::decide::{self, Decision};
use crate::plan::format::{Format, Verdict};
use crate::pseudonymize::{canonical, fpe_options};
use crate::{prepare, read};
use datafusion::common::TableReference;
use datafusion::datasource::empty::EmptyTable;
use perimeter_contract::job::Key;
use perimeter_contract::policy::Transform;
use perimeter_contract::{Contract, Diagnostics};
use perimeter_pseudonym::reveal::Reversible;
use std::sync::Arc;

/// A column whose tokens can be revealed.
#[derive(Debug)]
pub struct Column {
    /// Its name in the query.
    pub name: String,
    /// The policy's rule.
    pub rule: String,
    /// The transform's name in the policy.
    pub transform: &'static str,
    /// The key's name in the job.
    pub key_name: String,
    /// The keyring and who wraps it.
    pub key: Key,
    pub(super) join_domain: String,
    pub(super) reversible: Reversible,
}

/// Finds a column of the job's query and what the policy does to it. Lists and reads no data.
///
/// # Errors
/// Exit 2: there is no such column, its transform has no way back, or the job cannot be planned.
pub async fn column(contract: &Contract, name: &str) -> Result<Column> {
    let decisions = decisions(contract).await?;
    let Some((_, decided)) = decisions.iter().find(|(column, _)| column == name) else {
        let is_reversible = |decided: &Decided| decided.transform().is_ok_and(is_reversible);
        let names: Vec<&str> = decisions.iter().filter(|(_, decided)| is_reversible(decided)).map(|(name, _)| name.as_str()).collect();
        let help =
            if names.is_empty() { "no column of this job can be revealed".to_owned() } else { format!("those that can be revealed: {}", names.join(", ")) };
        return Err(Failure::new(Culprit::File, "unknown-column", "the job's query gives no column of this name").help(help).into());
    };
    let decision = &decided.decision;
    let rule = decision.rule.clone().unwrap_or_else(|| "computed from kept columns".to_owned());
    let transform = decided.transform()?;
    let (Some(reversible), Some(key_name)) = (reversible(contract, name, transform)?, transform.key()) else {
        return Err(Failure::new(
            Culprit::File,
            "not-reversible",
            format!("`{name}` is made by {} (rule \"{rule}\"), which has no way back", transform.name()),
        )
        .help(why_not(transform))
        .into());
    };
    let Some(key) = contract.job.keys.get(key_name) else {
        return Err(Failure::new(Culprit::File, "key-missing", format!("the job names no key `{key_name}`")).into());
    };
    Ok(Column {
        name: name.to_owned(),
        rule,
        transform: transform.name(),
        key_name: key_name.to_owned(),
        key: key.clone(),
        join_domain: decision.join_domain.label(),
        reversible,
    })
}

/// What the policy decides for a column, and what follows from the lengths of its values.
struct Decided {
    decision: Decision,
    format: Option<Format>,
}

impl Decided {
    /// What made the column's tokens: the rule's transform, or its fallback where that made them all.
    fn transform(&self) -> Result<&Transform> {
        let transform = &self.decision.transform;
        let Transform::CryptoReplaceFfxFpe { fallback: Some(fallback), alphabet, .. } = transform else { return Ok(transform) };
        match self.format.as_ref().map(|format| format.verdict) {
            Some(Verdict::LargeEnough) => Ok(transform),
            Some(Verdict::AllFallBack) => Ok(fallback),
            // Those of the fallback begin with a letter: no digits, so they are refused and never opened to something else.
            _ if alphabet.is_none() && matches!(**fallback, Transform::CryptoDeterministic { .. }) => Ok(transform),
            _ => Err(Failure::new(
                Culprit::File,
                "not-reversible",
                "some values of the column took the rule's fallback, whose tokens cannot be told from the others",
            )
            .help("say the values' `lengths` in the rule, so that all of them or none do")
            .into()),
        }
    }
}

/// What the policy decides for every column of the query.
async fn decisions(contract: &Contract) -> Result<Vec<(String, Decided)>> {
    let job = &contract.job;
    let fault = || Failure::new(Culprit::File, "invalid-job", "the job's query cannot be planned").help("`perimeter plan` says what is wrong with it");
    let context = engine::session(&Limits::default()).map_err(|_| fault())?;
    for source in &job.sources {
        let table = EmptyTable::new(read::arrow_schema(&source.schema));
        context.register_table(TableReference::bare(source.name.as_str()), Arc::new(table)).map_err(|_| fault())?;
    }
    let names: Vec<&str> = job.sources.iter().map(|source| source.name.as_str()).collect();
    let query = prepare::parse(&context, &prepare::text(job), &names, &|a, b| decide::one_domain(contract, a, b)).await.map_err(|_| fault())?;
    let span = job.prepare.as_ref().map_or(job.shape.span, |prepare| prepare.span);
    let mut decisions = Vec::new();
    for (field, lineage) in query.plan.schema().fields().iter().zip(&query.lineage.columns) {
        let decision = decide::decide(contract, field.name(), lineage, span)
            .map_err(|list| Error::Contract(Diagnostics { list, sources: Arc::clone(&contract.sources) }))?;
        let format = Format::of(contract, lineage, &decision.transform);
        decisions.push((field.name().clone(), Decided { decision, format }));
    }
    Ok(decisions)
}

fn is_reversible(transform: &Transform) -> bool {
    matches!(transform, Transform::CryptoDeterministic { .. } | Transform::CryptoReplaceFfxFpe { .. } | Transform::Encrypt { .. })
}

/// The way back of a transform with the options that a run gives it; `None` when there is none.
fn reversible(contract: &Contract, column: &str, transform: &Transform) -> Result<Option<Reversible>> {
    Ok(match transform {
        Transform::CryptoDeterministic { canonicalize, .. } => Some(Reversible::CryptoDeterministic { canonicalize: canonical(canonicalize) }),
        Transform::CryptoReplaceFfxFpe { .. } => {
            let options = fpe_options(transform).ok_or_else(|| Failure::new(Culprit::File, "transform-options", "the rule's alphabet is none"))?;
            Some(Reversible::CryptoReplaceFfxFpe(options))
        }
        Transform::Encrypt { .. } => Some(Reversible::Encrypt { dataset: contract.job.name.clone(), column: column.to_owned() }),
        _ => None,
    })
}

fn why_not(transform: &Transform) -> &'static str {
    match transform {
        Transform::CryptoHash { .. } => "a hash cannot be turned back by anyone; look the person up by making the token of a known value",
        Transform::DateShift { .. } => "a shifted date goes back by its person's shift, which this version does not give out",
        Transform::Keep => "it leaves as it is: there is nothing to reveal",
        _ => "what it loses is lost for good",
    }
}
