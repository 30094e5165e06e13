//! What made the tokens of a column, as the job's files say.
use crate::engine::{self, Limits};
use crate::error::{Culprit, Error, Failure, Result};
use crate::plan::decide::{self, Decision};
use crate::{prepare, read};
use datafusion::common::TableReference;
use datafusion::datasource::empty::EmptyTable;
use perimeter_contract::job::Key;
use perimeter_contract::policy::{self, Transform};
use perimeter_contract::schema::CheckDigit;
use perimeter_contract::{Contract, Diagnostics};
use perimeter_pseudonym::reveal::Reversible;
use perimeter_pseudonym::transform::{self, Canonicalize, FpeOptions};
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
    let Some((_, decision)) = decisions.iter().find(|(column, _)| column == name) else {
        let names: Vec<&str> = decisions.iter().filter(|(_, decision)| is_reversible(&decision.transform)).map(|(name, _)| name.as_str()).collect();
        let help =
            if names.is_empty() { "no column of this job can be revealed".to_owned() } else { format!("those that can be revealed: {}", names.join(", ")) };
        return Err(Failure::new(Culprit::File, "unknown-column", "the job's query gives no column of this name").help(help).into());
    };
    let rule = decision.rule.clone().unwrap_or_else(|| "computed from kept columns".to_owned());
    let (Some(reversible), Some(key_name)) = (reversible(&decision.transform)?, decision.transform.key()) else {
        return Err(Failure::new(
            Culprit::File,
            "not-reversible",
            format!("`{name}` is made by {} (rule \"{rule}\"), which has no way back", decision.transform.name()),
        )
        .help(why_not(&decision.transform))
        .into());
    };
    let Some(key) = contract.job.keys.get(key_name) else {
        return Err(Failure::new(Culprit::File, "key-missing", format!("the job names no key `{key_name}`")).into());
    };
    Ok(Column {
        name: name.to_owned(),
        rule,
        transform: decision.transform.name(),
        key_name: key_name.to_owned(),
        key: key.clone(),
        join_domain: decision.join_domain.label(),
        reversible,
    })
}

/// What the policy decides for every column of the query.
async fn decisions(contract: &Contract) -> Result<Vec<(String, Decision)>> {
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
        decisions.push((field.name().clone(), decision));
    }
    Ok(decisions)
}

fn is_reversible(transform: &Transform) -> bool {
    matches!(transform, Transform::CryptoDeterministic { .. } | Transform::CryptoReplaceFfxFpe { .. })
}

/// The way back of a transform with the options that a run gives it; `None` when there is none. Every option is named here: one that is
/// added to the policy and not to this would open tokens to wrong values. A policy transform `encrypt` joins as [`Reversible::Encrypt`],
/// with the dataset and column that the run binds.
fn reversible(transform: &Transform) -> Result<Option<Reversible>> {
    Ok(match transform {
        Transform::CryptoDeterministic { key: _, canonicalize } => Some(Reversible::CryptoDeterministic { canonicalize: steps(canonicalize)? }),
        Transform::CryptoReplaceFfxFpe { key: _, keep_first, keep_last, check_digit, canonicalize } => Some(Reversible::CryptoReplaceFfxFpe(FpeOptions {
            canonicalize: steps(canonicalize)?,
            alphabet: None,
            keep_first: *keep_first,
            keep_last: *keep_last,
            check_digit: check_digit.map(|digit| match digit {
                CheckDigit::Luhn => transform::CheckDigit::Luhn,
                CheckDigit::Cpf => transform::CheckDigit::Cpf,
                CheckDigit::Cnpj => transform::CheckDigit::Cnpj,
            }),
            lengths: None,
        })),
        _ => None,
    })
}

/// Both sides write a step as the policy does.
fn steps(steps: &[policy::Canonicalize]) -> Result<Vec<Canonicalize>> {
    let step = |step: &policy::Canonicalize| {
        let name = serde_json::to_value(step).ok()?;
        name.as_str()?.parse().ok()
    };
    let all: Option<Vec<Canonicalize>> = steps.iter().map(step).collect();
    all.ok_or_else(|| Failure::new(Culprit::File, "not-reversible", "the policy names a canonicalization that this version cannot take").into())
}

fn why_not(transform: &Transform) -> &'static str {
    match transform {
        Transform::CryptoHash { .. } => "a hash cannot be turned back by anyone; look the person up by making the token of a known value",
        Transform::DateShift { .. } => "a shifted date goes back by its person's shift, which this version does not give out",
        Transform::Keep => "it leaves as it is: there is nothing to reveal",
        _ => "what it loses is lost for good",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_keep_their_names() {
        use policy::Canonicalize as P;
        let all = [P::Trim, P::Nfc, P::Upper, P::Lower, P::Digits, P::StripPunctuation];
        let wanted =
            vec![Canonicalize::Trim, Canonicalize::Nfc, Canonicalize::Upper, Canonicalize::Lower, Canonicalize::Digits, Canonicalize::StripPunctuation];
        assert_eq!(steps(&all).unwrap(), wanted);
    }
}
