//! *pseudonymize*: the policy's transforms, on top of the prepared query and below everything else.
//!
//! [`pseudonymize`] takes [`Prepared`] and gives [`Pseudonymized`], the only thing that *shape* accepts. The query is planned
//! and optimized on its own; [`exec::PseudonymizeExec`] goes on top afterwards, so no optimizer rule can move anything across
//! it. Then the plan is walked once more: every leaf must be a checked scan.
//!
//! [`stage`] makes the transforms of a plan without any engine around them: raw batches go into [`columns::Workers::push`], pseudonymized
//! ones come out. [`columns`] applies the transforms; [`distinct`] makes cryptography run once per distinct value; [`text`] replaces what
//! detectors find inside text; `specify` turns the policy's words into transforms.
pub mod columns;
pub mod distinct;
pub mod exec;
mod nested;
mod specify;
#[cfg(test)]
mod tests;
pub mod text;

pub(crate) use specify::{buckets, canonical, fixed_buckets, fpe_options};

use crate::engine::Limits;
use crate::engine::scan::{Checked, CheckedScan};
use crate::error::{Culprit, Failure, Result};
use crate::keys::Keys;
use crate::plan::Plan;
use crate::prepare::Prepared;
use crate::shape::{HIDDEN_PREFIX, SHARD_COLUMN, UNIT_COLUMN};
use columns::Work;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::prelude::SessionContext;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A physical plan whose rows hold nothing raw: what *shape* takes.
pub struct Pseudonymized {
    pub(crate) context: SessionContext,
    pub(crate) rows: Arc<dyn ExecutionPlan>,
    /// Names of the hidden context columns.
    pub(crate) contexts: Vec<String>,
    /// Rows that went through, counted here so that what is sealed is held against it.
    pub(crate) counted: Arc<AtomicU64>,
    pub(crate) checked: Checked,
}

/// The transforms of a plan, and which columns of its query they read.
pub struct Stage {
    /// Positions among the query's columns, in the order in which raw batches have them.
    pub inputs: Vec<usize>,
    /// What is done to a batch of these; see [`columns::Workers`].
    pub spec: exec::Spec,
    /// Names of the hidden context columns.
    pub contexts: Vec<String>,
}

/// Makes the transforms of a plan for one run. `run_id` tells the tokens of `encrypt` of one run from those of another.
///
/// # Errors
/// A key's transform cannot be made.
pub fn stage(plan: &Plan, keys: &Keys, limits: &Limits, run_id: &str) -> Result<Stage> {
    // Only what shape and table use is computed; contexts come along because shifts read them.
    let sequence = plan.contract.job.shape.sequence.is_some();
    let mut inputs: Vec<usize> = (0..plan.columns.len()).filter(|&index| plan.columns[index].needed).collect();
    let context_columns: Vec<usize> = {
        let mut used: Vec<usize> = inputs.iter().filter_map(|&index| plan.columns[index].context).collect();
        used.sort_unstable();
        used.dedup();
        used
    };
    for &context in &context_columns {
        if !inputs.contains(&context) {
            inputs.push(context);
        }
    }
    inputs.extend(plan.unit.filter(|unit| !inputs.contains(unit)));
    let position = |column: usize| inputs.iter().position(|&input| input == column).unwrap_or(usize::MAX);
    let mut specs = Vec::new();
    let mut fields = Vec::new();
    for (input, &index) in inputs.iter().enumerate() {
        let column = &plan.columns[index];
        let Some(data_type) = Plan::output_type(column).filter(|_| column.needed) else { continue };
        fields.push(Field::new(&column.name, data_type, true));
        specs.push(specify::column(plan, column, input, column.context.map(position), keys, run_id)?);
    }
    // What an encrypted column holds is another thing in every run: it places and orders nothing.
    let visible: Vec<usize> = (0..specs.len()).filter(|&index| !matches!(specs[index].work, Work::Encrypt(_))).collect();
    let entity = plan.contract.job.shape.sequence.as_ref().and_then(|sequence| specs.iter().position(|spec| spec.name == sequence.by));
    let mut contexts = Vec::new();
    if sequence {
        for &column in &context_columns {
            let name = format!("{HIDDEN_PREFIX}context_{}", contexts.len());
            fields.push(Field::new(&name, DataType::Int64, true));
            specs.push(specify::context(plan, column, position(column), keys)?);
            contexts.push(name);
        }
    }
    if let Some(unit) = plan.unit {
        fields.push(Field::new(UNIT_COLUMN, DataType::Int64, true));
        specs.push(specify::unit(plan, unit, position(unit), keys)?);
    }
    let unplaced = Arc::new(Schema::new(fields.clone()));
    let sorted = sort_columns(plan);
    let tied: Vec<usize> = visible.iter().copied().filter(|&index| !sorted.contains(&specs[index].name.as_str())).collect();
    if !tied.is_empty() {
        fields.push(Field::new(TIE_COLUMN, DataType::Int64, false));
    }
    fields.push(Field::new(ORDER_COLUMN, DataType::Int64, false));
    fields.push(Field::new(SHARD_COLUMN, DataType::Int32, false));
    let schema = Arc::new(Schema::new(fields));
    let cache_bytes = limits.cache_bytes() / limits.threads.max(1);
    let spec = exec::Spec { columns: specs, schema, unplaced, entity, visible, tied, shards: plan.shards, cache_bytes };
    Ok(Stage { inputs, spec, contexts })
}

/// Puts the policy's transforms on top of a prepared query.
///
/// # Errors
/// The query cannot be planned; a key's transform cannot be made; a leaf of the plan is not a checked scan.
pub async fn pseudonymize(prepared: Prepared, plan: &Plan, keys: &Keys, limits: &Limits, run_id: &str) -> Result<Pseudonymized> {
    let Prepared { context, query, checked } = prepared;
    let failure = checked.failure.clone();
    let engine_failed = |error| failure.explain(&error);
    let Stage { inputs, spec, contexts } = stage(plan, keys, limits, run_id)?;
    let expressions: Vec<Expr> = inputs.iter().map(|&index| Expr::Column(Column::from(query.schema().qualified_field(index)))).collect();
    let projected = LogicalPlanBuilder::from(query).project(expressions).and_then(LogicalPlanBuilder::build).map_err(engine_failed)?;
    let raw = context.state().create_physical_plan(&projected).await.map_err(engine_failed)?;
    only_checked_leaves(&raw)?;
    let counted = Arc::new(AtomicU64::new(0));
    let rows = Arc::new(exec::PseudonymizeExec::new(raw, spec, failure.clone(), Arc::clone(&counted)));
    Ok(Pseudonymized { context, rows, contexts, counted, checked })
}

/// The hidden column that rows sort by first: shard and the entity's first bytes.
pub const ORDER_COLUMN: &str = "__order";

/// The hidden column that orders rows whose sort columns are equal; absent when the sort columns are all there are.
pub const TIE_COLUMN: &str = "__tie";

/// The columns that rows of a shard are sorted by, before the tie: entity, then the sequence's order.
pub fn sort_columns(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    if let Some(sequence) = &plan.contract.job.shape.sequence {
        for name in std::iter::once(&sequence.by).chain(&sequence.order_by) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}

/// Every path from a source begins with a checked scan, whatever the optimizer made of the query.
fn only_checked_leaves(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let children = plan.children();
    let node: &dyn std::any::Any = plan.as_ref();
    if children.is_empty() && !(node.is::<CheckedScan>() || node.is::<EmptyExec>() || node.is::<PlaceholderRowExec>()) {
        return Err(Failure::new(Culprit::File, "unchecked-leaf", format!("the query reads from {}, which is not a checked source", plan.name()))
            .help("select from the job's sources only")
            .into());
    }
    children.into_iter().try_for_each(only_checked_leaves)
}
