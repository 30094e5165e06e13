//! The node of the physical plan that turns raw batches into pseudonymized ones.
//!
//! It is put on top of the optimized physical plan of the prepare query, after the last optimizer rule has run: no filter,
//! limit, sort or exchange can move across it, because nothing that moves them ever sees it.
use super::columns::{ColumnSpec, Workers};
use crate::engine::failure::FirstFailure;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::ExecutionPlanProperties;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
pub struct PseudonymizeExec {
    input: Arc<dyn ExecutionPlan>,
    spec: Arc<Spec>,
    failure: FirstFailure,
    rows: Arc<AtomicU64>,
    properties: Arc<PlanProperties>,
}

/// What every partition does.
pub struct Spec {
    /// By output position.
    pub columns: Vec<ColumnSpec>,
    /// Of the output; hidden columns last: contexts, tie (where there is one), order, shard.
    pub schema: SchemaRef,
    /// The same without tie, order and shard.
    pub unplaced: SchemaRef,
    /// The position of the entity in the output, if rows belong to one.
    pub entity: Option<usize>,
    /// Positions of the columns that a row is placed by where there is no entity.
    pub visible: Vec<usize>,
    /// Positions of the columns that no sort column stands for: rows that are otherwise equal are ordered by their digest.
    pub tied: Vec<usize>,
    /// The number of shards.
    pub shards: u32,
    /// For the token caches of one partition.
    pub cache_bytes: usize,
}

impl PseudonymizeExec {
    /// A node over `input`, which counts in `rows` what goes through it.
    pub fn new(input: Arc<dyn ExecutionPlan>, spec: Spec, failure: FirstFailure, rows: Arc<AtomicU64>) -> Self {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&spec.schema)),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, spec: Arc::new(spec), failure, rows, properties: Arc::new(properties) }
    }
}

// The specification holds keyed transforms: it has no Debug of its own, and this one names columns and transforms only.
impl fmt::Debug for PseudonymizeExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PseudonymizeExec").field("columns", &self.spec.schema.fields().len()).finish_non_exhaustive()
    }
}

impl DisplayAs for PseudonymizeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PseudonymizeExec")
    }
}

impl ExecutionPlan for PseudonymizeExec {
    fn name(&self) -> &'static str {
        "PseudonymizeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>) -> EngineResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let [input] = <[_; 1]>::try_from(children).map_err(|_| datafusion::common::DataFusionError::Internal("PseudonymizeExec has one input".to_owned()))?;
        Ok(Arc::new(Self {
            input,
            spec: Arc::clone(&self.spec),
            failure: self.failure.clone(),
            rows: Arc::clone(&self.rows),
            properties: Arc::clone(&self.properties),
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> EngineResult<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let mut workers = Workers::new(Arc::clone(&self.spec));
        let (failure, rows) = (self.failure.clone(), Arc::clone(&self.rows));
        let output = input.map(move |batch| {
            let batch = workers.push(&batch?).map_err(|error| failure.put(error))?;
            rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.spec.schema), output)))
    }
}
