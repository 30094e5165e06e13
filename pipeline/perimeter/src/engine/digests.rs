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
    sorted: Mutex<Option<Arc<SortExec>>>,
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
            sorted: Mutex::default(),
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
        let streams = receivers
            .into_iter()
            .map(|receiver| Arc::new(Incoming { schema: Arc::clone(&self.schema), batches: Mutex::new(Some(receiver)) }) as Arc<dyn PartitionStream>);
        let source = StreamingTableExec::try_new(Arc::clone(&self.schema), streams.collect(), None, None, false, None)?;
        let ascending = SortOptions { descending: false, nulls_first: false };
        let order = LexOrdering::from([PhysicalSortExpr { expr: Arc::new(Column::new("record", 0)), options: ascending }]);
        let sorted = Arc::new(SortExec::new(order, Arc::new(source)).with_preserve_partitioning(true));
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
        *self.sorted.lock().unwrap_or_else(PoisonError::into_inner) = Some(sorted);
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

    /// Files that the sorts have spilled.
    fn spills(&self) -> usize {
        let sorted = self.sorted.lock().unwrap_or_else(PoisonError::into_inner);
        sorted.as_ref().and_then(|sorted| sorted.metrics()).and_then(|metrics| metrics.spill_count()).unwrap_or(0)
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
        tracing::debug!(spills = self.spills(), "digests are sorted");
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
        (0..self.buffers.len())
            .filter(|at| self.buffers.get(*at).is_some_and(|b| !b.is_empty()))
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|at| self.send(at))
    }
}

impl DigestSink for Records {
    fn push(&mut self, digest: u128, record: &[u8]) -> Result<()> {
        // The high half, as a fraction of the partitions.
        let partition = usize::try_from(((digest >> 64) * self.buffers.len() as u128) >> 64).unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::sets::SetPlan;
    use crate::engine::session;
    use perimeter_contract::Span;
    use perimeter_contract::job::{Drift, Format, Source, Uri};
    use perimeter_contract::schema::{Column, DataType as ContractType, Schema as ContractSchema, SetCheck, SetRule};

    /// The rules of one source with `count` unique columns.
    fn rules(count: usize) -> Arc<JobRules> {
        let mut schema = ContractSchema::new("t", (0..count).map(|at| Column::new(format!("c{at}"), ContractType::Int64)).collect());
        schema.rules =
            (0..count).map(|at| SetRule { code: format!("c{at}.unique"), check: SetCheck::Unique { columns: vec![at] }, span: Span::default() }).collect();
        let source = Source { name: "t".into(), uri: Uri("/x".into()), format: Format::Parquet, schema, drift: Drift::Refuse, span: Span::default() };
        Arc::new(JobRules { sources: Vec::new(), sets: SetPlan::new(&[source]).unwrap(), queries: Vec::new() })
    }

    /// A record as an observer makes it: `copies` rows of one key each.
    fn push(records: &mut Records, key: u64, copies: u64, bytes: usize) {
        // Spread like digests.
        let digest = (u128::from(key.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 64) | u128::from(key);
        for copy in 0..copies {
            let mut record = digest.to_be_bytes().to_vec();
            record.extend_from_slice(&0u32.to_be_bytes());
            record.push(1);
            record.extend_from_slice(&0u32.to_be_bytes());
            record.extend_from_slice(&(key * 2 + copy).to_be_bytes());
            record.push(0);
            record.resize(bytes, 0);
            records.push(digest, &record).unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_small_limit_spills_and_finds_the_same() {
        const KEYS: u64 = 600_000;
        let mut found = Vec::new();
        for memory_bytes in [64 << 20, 4 << 30] {
            let limits = Limits::new(memory_bytes, Some(2));
            let context = session(&limits).unwrap();
            let gather = Gather::start(&context, &rules(1), &limits).unwrap();
            let pushing = Arc::clone(&gather);
            let pushed = tokio::task::spawn_blocking(move || {
                let (mut records, bytes) = (pushing.sink(), pushing.rules.sets.record_bytes());
                // Every thousandth key is there twice.
                (1..=KEYS).for_each(|key| push(&mut records, key, 1 + u64::from(key % 1000 == 0), bytes));
                records.flush()
            });
            pushed.await.unwrap().unwrap();
            let gathered = gather.finish().await.unwrap();
            assert_eq!(gather.spills() > 0, memory_bytes < 1 << 30, "{} spills under {memory_bytes} bytes", gather.spills());
            let file = gathered.violations.of_file(0, 0).unwrap();
            let by_rule: Vec<_> = file.by_rule(3).collect();
            assert_eq!(by_rule, [(0, KEYS / 1000 * 2, vec![2000, 2001, 4000])]);
            found.push(by_rule);
        }
        assert_eq!(found[0], found[1]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn more_violations_than_fit_end_the_pass() {
        // A violation in each of so many pieces: more than 32 MiB of them.
        let limits = Limits::new(128 << 20, Some(1));
        let context = session(&limits).unwrap();
        let gather = Gather::start(&context, &rules(1), &limits).unwrap();
        let pushing = Arc::clone(&gather);
        let pushed = tokio::task::spawn_blocking(move || {
            let (mut records, bytes) = (pushing.sink(), pushing.rules.sets.record_bytes());
            (0..250_000).for_each(|piece| {
                let digest: u128 = 7;
                let mut record = digest.to_be_bytes().to_vec();
                record.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0, 0]);
                record.extend_from_slice(&(piece * 1024u64).to_be_bytes());
                record.resize(bytes, 0);
                let _ = records.push(digest, &record);
            });
            let _ = records.flush();
        });
        pushed.await.unwrap();
        let Err(Error::Failed(failure)) = gather.finish().await else { panic!("it went on") };
        assert_eq!((failure.code, failure.culprit.exit_code()), ("too-many-violations", 1));
    }
}
