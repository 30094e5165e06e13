//! What a person sees while a job runs: counters that the stages raise and the command line draws.
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Files are joined and listed.
    Plan,
    /// A sample of the raw rows is looked at for sensitive values.
    Classify,
    /// Root keys are unwrapped.
    Keys,
    /// Rows are read, checked, prepared, pseudonymized and exchanged.
    Read,
    /// Partitions are sorted, examples are written.
    Shard,
    /// What was written is read again.
    Seal,
    /// The manifest is there.
    Done,
}

impl Stage {
    const ALL: [Self; 7] = [Self::Plan, Self::Classify, Self::Keys, Self::Read, Self::Shard, Self::Seal, Self::Done];

    /// A word for a progress line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Classify => "classify",
            Self::Keys => "keys",
            Self::Read => "read",
            Self::Shard => "shard",
            Self::Seal => "seal",
            Self::Done => "done",
        }
    }
}

/// Counters of one run; reading them costs nothing.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicU8,
    bytes: AtomicU64,
    total_bytes: AtomicU64,
    rows: AtomicU64,
    rejected: AtomicU64,
}

impl Progress {
    /// Moves to a stage.
    pub fn enter(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::Relaxed);
    }

    /// The stage.
    pub fn stage(&self) -> Stage {
        Stage::ALL[usize::from(self.stage.load(Ordering::Relaxed)).min(Stage::ALL.len() - 1)]
    }

    /// The input's bytes, once it is listed.
    pub fn expect_bytes(&self, bytes: u64) {
        self.total_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Input bytes of a unit that was read.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Rows that passed the checks.
    pub fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Rows that did not.
    pub fn add_rejected(&self, rows: u64) {
        self.rejected.fetch_add(rows, Ordering::Relaxed);
    }

    /// Bytes read so far, and in all.
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.total_bytes.load(Ordering::Relaxed))
    }

    /// Rows passed and rejected so far.
    pub fn rows(&self) -> (u64, u64) {
        (self.rows.load(Ordering::Relaxed), self.rejected.load(Ordering::Relaxed))
    }
}
