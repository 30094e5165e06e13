//! Some rows of a unit: reading ends when there are enough.
use super::{Accept, Ingest, Part, Rejected, Unit, UnitRules, ingest_unit_with};
use crate::check::sets::{Observe, Observed};
use crate::error::{Culprit, Failure, Result};
use arrow::array::RecordBatch;
use std::cell::Cell;
use std::ops::ControlFlow;

/// Who looks at them.
pub(crate) trait Look {
    /// Rows that break no rule: the first so many of a batch.
    fn rows(&mut self, batch: &RecordBatch, rows: usize);

    /// A record that breaks some.
    fn rejected(&mut self, record: &Rejected<'_>);
}

/// Reads a unit until `left` records, good or bad, have been shown, and counts them off. True: there is more in it.
///
/// # Errors
/// As [`super::ingest_unit`].
pub(crate) fn ingest_some(ingest: &Ingest<'_>, unit: &Unit, left: &mut u64, look: &mut dyn Look) -> Result<bool> {
    let (counted, stopped) = (Cell::new(*left), Cell::new(false));
    let mut enough = Enough { left: &counted, stopped: &stopped };
    let last_record = matches!(unit.part, Part::Whole).then_some(*left);
    let mut taking = Taking { left: &counted, stopped: &stopped, last_record, batch_rows: ingest.batch_rows as u64, look };
    let rules = UnitRules { observer: Some(&mut enough), ..UnitRules::default() };
    let done = ingest_unit_with(ingest, unit, rules, &mut taking);
    *left = counted.get();
    match done {
        Err(_) if stopped.get() => Ok(true),
        done => done.map(|_| stopped.get()),
    }
}

/// Ends the reading of a unit when there are enough records.
struct Enough<'a> {
    left: &'a Cell<u64>,
    stopped: &'a Cell<bool>,
}

fn enough() -> crate::error::Error {
    Failure::new(Culprit::File, "enough-records", "as many records as were asked for have been read").into()
}

impl Observe for Enough<'_> {
    fn batch(&mut self, _: &Observed<'_>) -> Result<()> {
        if self.left.get() > 0 {
            return Ok(());
        }
        self.stopped.set(true);
        Err(enough())
    }
}

/// Takes records up to the last that is wanted. Rejected records of a batch come before the others, so they are told by their numbers where these count
/// from the start of the unit.
struct Taking<'a> {
    left: &'a Cell<u64>,
    stopped: &'a Cell<bool>,
    last_record: Option<u64>,
    batch_rows: u64,
    look: &'a mut dyn Look,
}

impl Accept for Taking<'_> {
    fn batch(&mut self, batch: RecordBatch) -> ControlFlow<()> {
        let rows = batch.num_rows().min(usize::try_from(self.left.get()).unwrap_or(usize::MAX));
        self.left.set(self.left.get() - rows as u64);
        // There is more, though not wanted.
        self.stopped.set(self.stopped.get() || rows < batch.num_rows());
        self.look.rows(&batch, rows);
        ControlFlow::Continue(())
    }

    fn rejected(&mut self, record: &Rejected<'_>) -> Result<()> {
        let beyond = self.last_record.map(|last| record.record_number.saturating_sub(last));
        if self.left.get() == 0 || beyond.is_some_and(|beyond| beyond > 0) {
            self.stopped.set(true);
            // What comes before may still be on its way, as a batch.
            let surely_over = self.left.get() == 0 || beyond.is_some_and(|beyond| beyond > self.batch_rows);
            return if surely_over { Err(enough()) } else { Ok(()) };
        }
        self.left.set(self.left.get() - 1);
        self.look.rejected(record);
        Ok(())
    }
}
