//! The rules about rows and sets of a job, compiled once: what a plan holds beside the contract's text.
use super::{expression, query};
use crate::check::Checker;
use crate::check::expression::RowRule;
use crate::check::sets::SetPlan;
use crate::error::{Error, Result};
use perimeter_contract::{Contract, Diagnostics};
use std::sync::Arc;

/// All of them.
#[derive(Debug)]
pub struct JobRules {
    /// By source of the job.
    pub(crate) sources: Vec<SourceRules>,
    pub(crate) sets: SetPlan,
    pub(crate) queries: Vec<query::DatasetQuery>,
}

/// What the rows of one source are held against.
#[derive(Clone, Debug)]
pub struct SourceRules {
    /// Sees the columns that its rules about rows need.
    pub(crate) checker: Arc<Checker>,
    /// Sees those as well that its rules about sets need.
    pub(crate) gathering: Arc<Checker>,
    pub(crate) rows: Arc<[Arc<dyn RowRule>]>,
}

impl JobRules {
    /// Compiles the rules of every source of a contract. Reads nothing.
    ///
    /// # Errors
    /// Exit 2: diagnostics for every rule that cannot be applied; `rule-not-applicable`.
    pub async fn compile(contract: &Contract) -> Result<Self> {
        let sources = &contract.job.sources;
        let mut problems = Vec::new();
        let sets = SetPlan::new(sources).unwrap_or_else(|list| {
            problems.extend(list);
            SetPlan::default()
        });
        let mut compiled = Vec::with_capacity(sources.len());
        for (index, source) in sources.iter().enumerate() {
            let rows = expression::compile(&source.schema).unwrap_or_else(|list| {
                problems.extend(list);
                Vec::new()
            });
            let mut checker = Checker::new(&source.schema)?;
            checker.look_at(rows.iter().flat_map(|rule| rule.columns().iter().copied()));
            let mut gathering = Checker::new(&source.schema)?;
            gathering.look_at(rows.iter().flat_map(|rule| rule.columns().iter().copied()).chain(sets.columns(index)));
            compiled.push(SourceRules { checker: Arc::new(checker), gathering: Arc::new(gathering), rows: rows.into() });
        }
        let queries = query::resolve(sources).await.unwrap_or_else(|list| {
            problems.extend(list);
            Vec::new()
        });
        if problems.is_empty() {
            return Ok(Self { sources: compiled, sets, queries });
        }
        problems.sort_by_key(|problem| (problem.span.file, problem.span.start));
        Err(Error::Contract(Diagnostics { list: problems, sources: Arc::clone(&contract.sources) }))
    }
}

#[cfg(test)]
mod tests;
