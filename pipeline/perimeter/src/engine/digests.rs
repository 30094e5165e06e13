//! Digests of rows, sorted: where rules about sets are decided.
//!
//! Readers hand their records to [`Gather::sink`]; they are spread over partitions by digest, sorted by the engine under the job's memory limit, spilling through the
//! encrypted temp files like every sort, and walked. What is sorted holds no value (see [`crate::check::sets`]).
use super::failure::FirstFailure;
use super::rules::JobRules;
use super::{Limits, SORT_BYTES};
use crate::check::metric::Verdict;
use crate::check::sets::{Counts, DigestKey, DigestSink, Finding, Violations, Walk};
use crate::error::{Culprit, Error, Failure, Result};
use crate::plan::Plan;
use datafusion::arrow::array::{AsArray, FixedSizeBinaryArray, RecordBatch};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result as EngineResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::prelude::SessionContext;
use futures::{StreamExt, stream};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

type Batches = EngineResult<RecordBatch>;

/// Records of one batch on its way to a sort.
const BATCH_RECORDS: usize = 4096;

/// One pass over a job's rows that counts metrics and, where rules ask for it, sorts digests.
pub struct Gather {
    pub(crate) rules: Arc<JobRules>,
    pub(crate) key: Arc<DigestKey>,
    schema: SchemaRef,
    record_bytes: i32,
    senders: Mutex<Option<Vec<Sender<Batches>>>>,
    walks: Mutex<Vec<JoinHandle<Result<Vec<u64>>>>>,
    violations: Arc<Mutex<Violations>>,
    /// By source.
    counts: Mutex<Vec<Counts>>,
    stop: Arc<AtomicBool>,
}

impl fmt::Debug for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather").finish_non_exhaustive()
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What a pass has found.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Records that break rules about sets.
    pub violations: Violations,
    /// By source.
    pub counts: Vec<Counts>,
    /// Rows beyond the first of each key, by group.
    pub duplicates: Vec<u64>,
}

impl Gather {
    /// Starts the sorts, if there is anything to sort. Called inside the runtime.
    ///
    /// # Errors
    /// No randomness; the engine cannot plan a sort.
    pub fn start(context: &SessionContext, rules: &Arc<JobRules>, limits: &Limits) -> Result<Arc<Self>> {
        let record_bytes = i32::try_from(rules.sets.record_bytes()).unwrap_or(i32::MAX);
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("record", DataType::FixedSizeBinary(record_bytes), false)]));
        let gather = Self {
            rules: Arc::clone(rules),
            key: Arc::new(DigestKey::random()?),
            schema,
            record_bytes,
            senders: Mutex::new(Some(Vec::new())),
            walks: Mutex::default(),
            violations: Arc::default(),
            counts: Mutex::new(vec![Counts::default(); rules.sources.len()]),
            stop: Arc::default(),
        };
        if rules.sets.sorts_digests() {
            gather.sort(context, limits).map_err(|error| FirstFailure::default().explain(&error))?;
        }
        Ok(Arc::new(gather))
    }

    fn sort(&self, context: &SessionContext, limits: &Limits) -> EngineResult<()> {
        let partitions = (limits.pool_bytes() / SORT_BYTES).clamp(1, limits.threads.max(1));
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..partitions).map(|_| channel(4)).unzip();
        let streams = receivers.into_iter().map(|receiver| {
            Arc::new(Incoming { schema: Arc::clone(&self.schema), batches: Mutex::new(Some(receiver)) }) as Arc<dyn PartitionStream>
        });
        let source = StreamingTableExec::try_new(Arc::clone(&self.schema), streams.collect(), None, None, false, None)?;
        let ascending = SortOptions { descending: false, nulls_first: false };
        let order = LexOrdering::from([PhysicalSortExpr { expr: Arc::new(Column::new("record", 0)), options: ascending }]);
        let sorted = SortExec::new(order, Arc::new(source)).with_preserve_partitioning(true);
        // Small batches, and a small part kept for the merge: a limit that is enough to read by is enough to sort digests in.
        let kept = (limits.pool_bytes() / partitions / 4).clamp(256 << 10, 10 << 20);
        let config = context.copied_config().with_batch_size(BATCH_RECORDS).with_sort_spill_reservation_bytes(kept);
        let task = Arc::new(TaskContext::from(context).with_session_config(config));
        // A byte in eight of the user's limit for what is wrong: half a million violations that lie far apart in every 80 MiB, or all of them in every sixth.
        let most_bytes = (limits.memory_bytes / 8).max(32 << 20);
        let mut walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        for partition in 0..partitions {
            let mut stream = sorted.execute(partition, Arc::clone(&task))?;
            let (rules, key, violations, stop) = (Arc::clone(&self.rules), Arc::clone(&self.key), Arc::clone(&self.violations), Arc::clone(&self.stop));
            let handle = Handle::current();
            walks.push(tokio::task::spawn_blocking(move || {
                let mut walk = Walk::new(&rules.sets, &key);
                let mut found: Vec<Finding> = Vec::new();
                while let Some(batch) = handle.block_on(stream.next()) {
                    if stop.load(Ordering::Relaxed) {
                        return Err(stopped());
                    }
                    let batch = batch.map_err(|error| FirstFailure::default().explain(&error))?;
                    let records = batch.column(0).as_fixed_size_binary_opt().ok_or_else(broken)?;
                    for record in records.iter().flatten() {
                        walk.push(record, &mut |finding| found.push(finding)).ok_or_else(broken)?;
                    }
                    if !found.is_empty() {
                        let mut violations = violations.lock().unwrap_or_else(PoisonError::into_inner);
                        found.drain(..).for_each(|finding| violations.insert(&rules.sets, finding));
                        if violations.bytes() > most_bytes {
                            return Err(too_many(most_bytes));
                        }
                    }
                }
                Ok(walk.finish())
            }));
        }
        *self.senders.lock().unwrap_or_else(PoisonError::into_inner) = Some(senders);
        Ok(())
    }

    /// Where a reader's records go. [`Records::flush`] hands the last of them on.
    pub fn sink(&self) -> Records {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
        Records { buffers: vec![Vec::new(); senders.len()], senders, schema: Arc::clone(&self.schema), record_bytes: self.record_bytes }
    }

    /// Adds what a unit counted.
    pub fn add(&self, source: usize, counts: &Counts) {
        if let Some(all) = self.counts.lock().unwrap_or_else(PoisonError::into_inner).get_mut(source) {
            all.add(counts);
        }
    }

    /// Waits for the sorts, once every unit has been read.
    ///
    /// # Errors
    /// The memory limit is too small even for spilling; a spill file cannot be written; more violations than fit.
    pub async fn finish(&self) -> Result<Gathered> {
        drop(self.senders.lock().unwrap_or_else(PoisonError::into_inner).take());
        let walks = std::mem::take(&mut *self.walks.lock().unwrap_or_else(PoisonError::into_inner));
        let mut duplicates: Vec<u64> = Vec::new();
        let mut failed = None;
        for walk in walks {
            match walk.await.unwrap_or_else(|_| Err(broken().into())) {
                Ok(counted) => {
                    duplicates.resize(counted.len().max(duplicates.len()), 0);
                    duplicates.iter_mut().zip(counted).for_each(|(all, some)| *all += some);
                }
                Err(error) => _ = failed.get_or_insert(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let violations = std::mem::take(&mut *self.violations.lock().unwrap_or_else(PoisonError::into_inner));
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Gathered { violations, counts, duplicates })
    }
}

impl Gathered {
    /// The verdicts of metrics, with source and number of the rule.
    pub(crate) fn verdicts(&self, plan: &Plan) -> Vec<((usize, usize), Verdict)> {
        let mut verdicts = Vec::new();
        for (index, source) in plan.contract.job.sources.iter().enumerate() {
            let none = Counts::default();
            let counts = self.counts.get(index).unwrap_or(&none);
            for (at, metric) in plan.rules.sets.metrics(index).iter().enumerate() {
                if let Some(rule) = source.schema.rules.get(metric.rule) {
                    verdicts.push(((index, metric.rule), metric.verdict(&source.name, rule, at, counts, &self.duplicates)));
                }
            }
        }
        verdicts
    }
}

/// One reader's records.
pub struct Records {
    senders: Vec<Sender<Batches>>,
    buffers: Vec<Vec<u8>>,
    schema: SchemaRef,
    record_bytes: i32,
}

impl Records {
    fn send(&mut self, partition: usize) -> Result<()> {
        let Some((sender, buffer)) = self.senders.get(partition).zip(self.buffers.get_mut(partition)) else { return Ok(()) };
        let capacity = buffer.capacity();
        let bytes = std::mem::replace(buffer, Vec::with_capacity(capacity));
        let records = FixedSizeBinaryArray::try_new(self.record_bytes, Buffer::from_vec(bytes), None).map_err(|_| broken())?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![Arc::new(records)]).map_err(|_| broken())?;
        // The sort that has gone says why.
        sender.blocking_send(Ok(batch)).map_err(|_| stopped())
    }

    /// Hands on what is left.
    ///
    /// # Errors
    /// The sort has failed; [`Gather::finish`] says why.
    pub fn flush(&mut self) -> Result<()> {
        (0..self.buffers.len()).filter(|at| self.buffers.get(*at).is_some_and(|b| !b.is_empty())).collect::<Vec<_>>().into_iter().try_for_each(|at| self.send(at))
    }
}

impl DigestSink for Records {
    fn push(&mut self, digest: u128, record: &[u8]) -> Result<()> {
        // The high half, as a fraction of the partitions.
        let partition = usize::try_from((digest >> 64) * self.buffers.len() as u128 >> 64).unwrap_or(0);
        let Some(buffer) = self.buffers.get_mut(partition) else { return Ok(()) };
        buffer.extend_from_slice(record);
        if buffer.len() >= BATCH_RECORDS * record.len() { self.send(partition) } else { Ok(()) }
    }
}

/// One partition's batches as they come.
#[derive(Debug)]
struct Incoming {
    schema: SchemaRef,
    batches: Mutex<Option<Receiver<Batches>>>,
}

impl PartitionStream for Incoming {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let receiver = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batches = stream::unfold(receiver, |receiver| async {
            let mut receiver = receiver?;
            receiver.recv().await.map(|batch| (batch, Some(receiver)))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

fn stopped() -> Error {
    Failure::new(Culprit::Outside, "stopped", "the work was stopped").into()
}

/// Whether an error only says that another one has ended the work.
pub(crate) fn is_stopped(error: &Error) -> bool {
    matches!(error, Error::Failed(failure) if failure.code == "stopped")
}

fn broken() -> Failure {
    Failure::new(Culprit::Outside, "internal", "sorted digests are not what was handed in").help("Report this as a bug")
}

fn too_many(most_bytes: usize) -> Error {
    let message = format!("more rows break rules about sets (`unique`, references, monotonic) than {} MiB can hold", most_bytes >> 20);
    Failure::new(Culprit::Data, "too-many-violations", message)
        .help("look at the keys that the contract names: nearly every row breaks one of them; or raise --memory-limit, of which an eighth may be used for this")
        .into()
}
