//! The exchange and the sort: pseudonymized rows, each shard in one partition, in their total order.
//!
//! Rows sort by (shard, entity, orderBy, a digest of every other column; nulls last): total up to identical rows, so the bytes
//! do not depend on how many partitions there are, how rows arrive or whether the sort spills. The digest stands for the other
//! columns because a sort key over all of them was half of the time and memory of a job with a table. A partition holds a range of
//! consecutive shards and is sorted without a merge across partitions.
use super::Limits;
use super::failure::FirstFailure;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::pseudonymize::{ORDER_COLUMN, Pseudonymized, TIE_COLUMN, sort_columns};
use crate::shape::{Frozen, Layout, SHARD_COLUMN};
use datafusion::arrow::compute::SortOptions;
use datafusion::common::{Result as EngineResult, ScalarValue, SplitPoint};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr, RangePartitioning};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use datafusion::prelude::SessionContext;
use perimeter_contract::Diagnostics;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Sorted partitions and the layout of the examples to make of them: what *shard* takes.
pub struct Shaped {
    pub(crate) context: SessionContext,
    pub(crate) rows: Arc<dyn ExecutionPlan>,
    pub(crate) layout: Arc<Layout>,
    /// The shards of each partition.
    pub(crate) shards: Vec<Range<u32>>,
    /// Rows that *pseudonymize* counted.
    pub(crate) counted: Arc<AtomicU64>,
    pub(crate) checked: super::scan::Checked,
}

/// Sorted partitions: what *shape* and a pass that measures take.
pub struct Sorted {
    pub(crate) context: SessionContext,
    pub(crate) rows: Arc<dyn ExecutionPlan>,
    pub(crate) contexts: Vec<String>,
    pub(crate) shards: Vec<Range<u32>>,
    pub(crate) counted: Arc<AtomicU64>,
    pub(crate) checked: super::scan::Checked,
}

/// Exchanges and sorts pseudonymized rows.
///
/// # Errors
/// The engine cannot plan it.
pub fn sort(pseudonymized: Pseudonymized, plan: &Plan, limits: &Limits) -> Result<Sorted> {
    let Pseudonymized { context, rows, contexts, counted, checked } = pseudonymized;
    let shards = ranges(plan.shards, limits.partitions(plan.shards));
    let rows = exchange_and_sort(rows, plan, &shards).map_err(|error| FirstFailure::default().explain(&error))?;
    Ok(Sorted { context, rows, contexts, shards, counted, checked })
}

impl Sorted {
    /// What examples look like, given what was frozen.
    ///
    /// # Errors
    /// Diagnostics where the shape does not fit the columns (exit 2).
    pub fn layout(&self, plan: &Plan, frozen: &Frozen) -> Result<Layout> {
        let contexts: Vec<&str> = self.contexts.iter().map(String::as_str).collect();
        Layout::resolve(&plan.contract.job.shape, &self.rows.schema(), &contexts, frozen)
            .map_err(|list| Error::Contract(Diagnostics { list, sources: Arc::clone(&plan.contract.sources) }))
    }

    /// With the layout of the examples to make.
    ///
    /// # Errors
    /// As [`Sorted::layout`].
    pub fn shape(self, plan: &Plan, frozen: &Frozen) -> Result<Shaped> {
        let layout = Arc::new(self.layout(plan, frozen)?);
        let Self { context, rows, shards, counted, checked, .. } = self;
        Ok(Shaped { context, rows, layout, shards, counted, checked })
    }
}

/// `shards` cut into `partitions` ranges of nearly equal size.
fn ranges(shards: u32, partitions: usize) -> Vec<Range<u32>> {
    let partitions = u32::try_from(partitions).unwrap_or(u32::MAX).clamp(1, shards.max(1));
    let cut = |partition: u32| u32::try_from(u64::from(shards) * u64::from(partition) / u64::from(partitions)).unwrap_or(shards);
    (0..partitions).map(|partition| cut(partition)..cut(partition + 1)).collect()
}

fn exchange_and_sort(rows: Arc<dyn ExecutionPlan>, plan: &Plan, shards: &[Range<u32>]) -> EngineResult<Arc<dyn ExecutionPlan>> {
    let schema = rows.schema();
    let ascending = |name: &str| -> EngineResult<PhysicalSortExpr> {
        Ok(PhysicalSortExpr { expr: Arc::new(Column::new_with_schema(name, &schema)?), options: SortOptions { descending: false, nulls_first: false } })
    };
    let shard = ascending(SHARD_COLUMN)?;
    let tie = schema.column_with_name(TIE_COLUMN).map(|_| TIE_COLUMN);
    let names = std::iter::once(ORDER_COLUMN).chain(sort_columns(plan)).chain(tie);
    let order = names.map(ascending).collect::<EngineResult<Vec<_>>>()?;
    let exchanged: Arc<dyn ExecutionPlan> = if let Some(key) = LexOrdering::new([shard])
        && (shards.len() > 1 || rows.properties().partitioning.partition_count() > 1)
    {
        let splits = shards.iter().skip(1).map(|range| SplitPoint::new(vec![ScalarValue::Int32(i32::try_from(range.start).ok())])).collect();
        Arc::new(RepartitionExec::try_new(rows, Partitioning::Range(RangePartitioning::try_new(key, splits)?))?)
    } else {
        rows
    };
    let Some(order) = LexOrdering::new(order) else { return Ok(exchanged) };
    Ok(Arc::new(SortExec::new(order, exchanged).with_preserve_partitioning(true)))
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn every_shard_is_in_one_range() {
        for shards in 1..40 {
            for partitions in 1..9 {
                let ranges = ranges(shards, partitions);
                let all: Vec<u32> = ranges.iter().cloned().flatten().collect();
                assert_eq!(all, (0..shards).collect::<Vec<_>>());
                assert!(ranges.iter().all(|range| !range.is_empty()));
            }
        }
    }
}
