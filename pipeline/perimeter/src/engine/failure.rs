//! Engine errors by kind. Their texts quote cells (a failed cast prints the value), so none of them is ever shown.
use crate::error::{Culprit, Error, Failure};
use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use std::sync::{Arc, Mutex};

/// Carries the first of our own errors across the engine, which only passes its own.
#[derive(Clone, Debug, Default)]
pub struct FirstFailure(Arc<Mutex<Option<Error>>>);

/// What the engine sees of an error that a stage has put into [`FirstFailure`].
#[derive(Debug, thiserror::Error)]
#[error("a stage failed")]
struct StageFailed;

impl FirstFailure {
    /// Keeps `error` if it is the first, and gives what to hand to the engine.
    pub fn put(&self, error: Error) -> DataFusionError {
        let mut slot = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        slot.get_or_insert(error);
        DataFusionError::External(Box::new(StageFailed))
    }

    /// The stage's own error where there was one, else the engine's by kind.
    pub fn explain(&self, error: &DataFusionError) -> Error {
        let mut slot = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        slot.take().unwrap_or_else(|| sort(error))
    }

    /// The stage's own error, if there was one.
    pub fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

fn sort(error: &DataFusionError) -> Error {
    let failure = match error.find_root() {
        DataFusionError::ResourcesExhausted(_) => Failure::new(Culprit::File, "memory-limit-too-small", "the job does not fit into its memory limit, even with spilling")
            .help("raise --memory-limit or lower --threads; nothing was published"),
        DataFusionError::IoError(error) => {
            Failure::new(Culprit::Outside, "spill-failed", format!("a spill file could not be written or read ({})", error.kind())).help("check the free space under the temporary directory (TMPDIR)")
        }
        DataFusionError::ArrowError(error, _) if matches!(**error, ArrowError::IoError(..)) => {
            Failure::new(Culprit::Outside, "spill-failed", "a spill file could not be written or read").help("check the free space under the temporary directory (TMPDIR)")
        }
        DataFusionError::ArrowError(_, _) | DataFusionError::Execution(_) => {
            Failure::new(Culprit::Data, "prepare-failed", "the `prepare` query failed on a row: a cast, an overflow or a division that the data does not allow")
                .help("use TRY_CAST or a CASE around it, or add a rule to the contract so that such rows go to quarantine; the engine's own message quotes cell values and is not shown")
        }
        DataFusionError::Plan(_) | DataFusionError::SchemaError(_, _) | DataFusionError::NotImplemented(_) => {
            Failure::new(Culprit::File, "prepare-not-plannable", "the engine cannot plan the `prepare` query").help("simplify the query: joins on equal columns, plain filters, expressions")
        }
        _ => Failure::new(Culprit::Outside, "engine-failed", "the engine failed; its message may quote cell values and is not shown").help("run again with fewer threads; if it stays, report it with the plan (`perimeter plan`)"),
    };
    failure.into()
}
