//! The engine that hosts the stages: Apache DataFusion, set up so that nothing raw leaks and nothing depends on the run.
//!
//! - [`session`]: one session per job: the user's memory limit, encrypted spills, sort-merge joins, no dynamic filters.
//! - [`scan`]: a source as a table: *read* and *check* fused, every unit read whatever the query skips.
//! - [`rules`]: rules about rows, sets and datasets, compiled: [`expression`]s, [`query`]s, sorted [`digests`]; [`tally`]: what a pass has counted.
//! - [`checked`]: whole numbers in rules that fail where the engine would wrap.
//! - [`pool`]: the memory that sorts and joins share; [`spill`]: spill files encrypted with a key that lives as long as the process.
//! - [`failure`]: engine errors carry cell values in their texts, so they are sorted by kind and never shown.
pub mod checked;
pub mod digests;
pub mod emit;
pub mod expression;
pub mod failure;
pub mod measure;
pub mod order;
pub mod pool;
pub mod query;
pub mod rules;
pub mod scan;
pub mod spill;
pub mod tally;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// What the process takes beside the pool and the token caches: read buffers, open shards and table parts, what spilling and the
/// allocator hold. Measured on workload W at 5 million rows: about 320 MB under a small limit; under a large one sorts leave a
/// part of their reservations unused, and less will do.
const RESERVE_BYTES: usize = 384 << 20;
const LEAST_RESERVE_BYTES: usize = 256 << 20;

/// A sort below this much memory spills into files too small to merge.
const SORT_BYTES: usize = 128 << 20;

/// How much of the machine a job may use. None of it changes a byte of the output.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `--memory-limit`: the process stays under it.
    pub memory_bytes: usize,
    /// `--threads`.
    pub threads: usize,
    /// Rows per batch.
    pub batch_rows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(2 << 30, None)
    }
}

impl Limits {
    /// Limits for a memory limit and, if given, a number of threads (else the processor's).
    pub fn new(memory_bytes: usize, threads: Option<usize>) -> Self {
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get));
        // Large batches make merges cheaper; with little memory they would make them impossible.
        let batch_rows = if memory_bytes >= 2 << 30 { 32_768 } else { 8_192 };
        Self { memory_bytes, threads, batch_rows }
    }

    /// Tokens of values seen before, in all partitions together.
    pub fn cache_bytes(&self) -> usize {
        self.memory_bytes / 32
    }

    /// The pool that sorts, joins and exchanges share.
    pub fn pool_bytes(&self) -> usize {
        let reserve = RESERVE_BYTES.saturating_sub(self.memory_bytes / 8).max(LEAST_RESERVE_BYTES);
        self.memory_bytes.saturating_sub(reserve + self.cache_bytes()).max(self.memory_bytes / 8)
    }

    /// Sorted partitions at a time: as many as threads and memory allow, never more than shards.
    pub fn partitions(&self, shards: u32) -> usize {
        (self.pool_bytes() / SORT_BYTES).clamp(1, self.threads.max(1)).min(shards.max(1) as usize)
    }
}

/// A session for one job.
///
/// # Errors
/// The runtime cannot be built (no temporary directory).
pub fn session(limits: &Limits) -> datafusion::common::Result<SessionContext> {
    let mut config = SessionConfig::new()
        .with_target_partitions(limits.threads.max(1))
        .with_batch_size(limits.batch_rows)
        .with_information_schema(false)
        .with_collect_statistics(false);
    let options = config.options_mut();
    // A hash join cannot spill; a sort-merge join can.
    options.optimizer.prefer_hash_join = false;
    // Dynamic filters would skip units on what another source holds; every unit is checked anyway.
    options.optimizer.enable_dynamic_filter_pushdown = false;
    // Partitions come from the units of work, not from shuffling single batches.
    options.optimizer.enable_round_robin_repartition = false;
    // `0.1` in SQL is a decimal: floats would make sums depend on the order of rows.
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.map_string_types_to_utf8view = false;
    let pool = pool::SortPool::new(limits.pool_bytes());
    let disk = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(spill::EncryptedSpills::new()?));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(pool)).with_disk_manager_builder(disk).build_arc()?;
    let state = SessionStateBuilder::new().with_config(config).with_runtime_env(runtime).with_default_features().build();
    Ok(SessionContext::new_with_state(state))
}
