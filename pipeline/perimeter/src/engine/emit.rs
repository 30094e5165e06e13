//! Sorted partitions into closed shards: one [`Emitter`] per partition, each on a blocking thread of its own.
use super::order::Shaped;
use super::scan::Checked;
use crate::error::{Culprit, Error, Failure, Result};
use crate::plan::Plan;
use crate::progress::{Progress, Stage};
use crate::seal::{Conserved, TokenizerFile};
use crate::shape::overflow::Conservation;
use crate::shape::pack::Packed;
use crate::shape::statistics::Statistics;
use crate::shape::tokenize::Tokenizer;
use crate::shape::{Emitted, Emitter, Layout};
use crate::shard::{ClosedPart, ClosedShard, ShardSink, TableSink};
use futures::StreamExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;

/// Every file of a version, closed and with proof: what *seal* takes once the gates have been asked.
#[derive(Debug)]
pub struct Closed {
    pub(crate) shards: Vec<ClosedShard>,
    pub(crate) parts: Vec<ClosedPart>,
    /// Rows that *pseudonymize* let through: a count that the emitters had no part in.
    pub(crate) rows: u64,
    /// Where the elements along the bucketed axis went, and what was packed.
    pub(crate) account: Conservation,
    pub(crate) packed: Option<Packed>,
    /// By tokenized feature: tokens, and how many more were cut off.
    pub(crate) tokens: BTreeMap<String, [u64; 2]>,
    /// What was frozen for this run.
    pub(crate) statistics: Option<Statistics>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) checked: Checked,
}

impl Closed {
    /// What the manifest says of the tokenizers.
    pub(crate) fn tokenizers(&self, plan: &Plan) -> BTreeMap<String, TokenizerFile> {
        let file = |(feature, tokenizer): (&String, &Arc<Tokenizer>)| {
            let [tokens, truncated] = self.tokens.get(feature).copied().unwrap_or_default();
            (feature.clone(), TokenizerFile { sha256: tokenizer.sha256().to_owned(), size: tokenizer.size(), tokens, truncated })
        };
        plan.tokenizers.iter().map(file).collect()
    }

    /// What the emitters say of the elements along the bucketed axis.
    pub(crate) fn conserved(&self) -> Option<Conserved> {
        self.layout.axis_unit().map(|unit| Conserved { unit, elements: self.account, packing: self.packed })
    }
}

/// Runs the query and writes every shard and, where the job asks for it, every file of the table.
///
/// # Errors
/// Whatever any stage ends with; the first one to fail is told, and the others stop.
pub async fn shard(shaped: Shaped, plan: &Plan, sink: Arc<ShardSink>, table: Option<Arc<TableSink>>, progress: &Arc<Progress>) -> Result<Closed> {
    let Shaped { context, rows, layout, shards, counted, checked } = shaped;
    let failure = checked.failure.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let _stop_when_dropped = Stop(Arc::clone(&stop));
    let task = context.task_ctx();
    // All partitions start before any is read: an exchange feeds them side by side.
    let streams = (0..shards.len()).map(|partition| rows.execute(partition, Arc::clone(&task))).collect::<Result<Vec<_>, _>>();
    let streams = streams.map_err(|error| failure.explain(&error))?;
    let mut partitions = Vec::with_capacity(streams.len());
    for (mut stream, own) in streams.into_iter().zip(shards) {
        let mut emitter = Emitter::new(Arc::clone(&layout), Arc::clone(&sink), table.clone(), own.collect(), plan.shards)?;
        let (stop, failure, progress, handle) = (Arc::clone(&stop), failure.clone(), Arc::clone(progress), Handle::current());
        partitions.push(tokio::task::spawn_blocking(move || {
            let outcome: Result<Emitted> = (|| {
                while let Some(batch) = handle.block_on(stream.next()) {
                    if stop.load(Ordering::Relaxed) {
                        return Err(stopped());
                    }
                    progress.enter(Stage::Shard);
                    emitter.push(&batch.map_err(|error| failure.explain(&error))?)?;
                }
                emitter.finish()
            })();
            if outcome.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            outcome
        }));
    }
    let mut closed = Closed {
        shards: Vec::new(),
        parts: Vec::new(),
        rows: 0,
        account: Conservation::default(),
        packed: None,
        tokens: BTreeMap::new(),
        statistics: None,
        layout,
        checked,
    };
    let mut first_error = None;
    for partition in partitions {
        match partition.await.unwrap_or_else(|_| Err(stopped())) {
            Ok(emitted) => {
                closed.shards.extend(emitted.shards);
                closed.parts.extend(emitted.parts);
                closed.account.merge(&emitted.account);
                for (feature, counts) in emitted.tokens {
                    let sums = closed.tokens.entry(feature).or_default();
                    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
                }
                if let Some(packed) = &emitted.packed {
                    closed.packed.get_or_insert_default().merge(packed);
                }
            }
            // A partition that stopped because another failed has nothing to say.
            Err(error) if is_stopped(&error) => {
                first_error.get_or_insert(error);
            }
            Err(error) => {
                if first_error.as_ref().is_none_or(is_stopped) {
                    first_error = Some(error);
                }
            }
        }
    }
    closed.rows = counted.load(Ordering::Relaxed);
    match first_error {
        None => Ok(closed),
        Some(error) => Err(error),
    }
}

/// Ends the partitions when the run is interrupted: they are threads, which dropping a future does not end.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn stopped() -> Error {
    Failure::new(Culprit::Outside, "stopped", "the run was stopped").into()
}

fn is_stopped(error: &Error) -> bool {
    matches!(error, Error::Failed(failure) if failure.code == "stopped" || failure.code == "engine-failed")
}
