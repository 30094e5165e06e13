//! Rules about more than one row: `unique`, references, monotonic columns, and the metrics of the dataset.
//!
//! | need | is |
//! |---|---|
//! | what a job's contracts ask of sets of rows | [`SetPlan`] |
//! | rows of a unit, looked at while they are read | [`UnitObserver`], an [`Observe`] |
//! | sorted digests to violations | [`Walk`] |
//! | which records break which of these rules | [`Violations`] |
//!
//! All of it looks at *clean* rows: those that break no rule of their own (type, `required`, value rules, expressions). Whether a row breaks another set rule
//! changes nothing, so the order of rules does not matter, and references may go in circles.
//!
//! Values never leave the unit that reads them. A row's key becomes a 128-bit digest under a key that is drawn for the run and forgotten with it
//! ([`digest`]); what is sorted, and may be spilled, is `digest, group, side, file, record number`. Two different keys share a digest with a
//! probability of about n²/2^129: 10^-21 for a billion rows.
//!
//! Nulls: a row with a null in one of a rule's columns shares with none and refers to nothing; a null that should be in order is neither before nor after another.
//! Only where rows are grouped (`per`) null is a group, as in SQL.
pub mod digest;
mod observe;
mod plan;
mod violations;
mod walk;

pub use digest::DigestKey;
pub use observe::{Counts, DigestSink, UnitObserver};
pub use plan::SetPlan;
pub use violations::{FileViolations, Violations};
pub use walk::{Finding, Walk};

use super::{Broken, Typed};
use crate::error::Result;
use arrow::array::{ArrayRef, UInt32Array};

/// The rows of a batch without those that break something.
#[derive(Debug)]
pub struct Clean {
    rows: u32,
    /// All rows when absent.
    kept: Option<UInt32Array>,
}

impl Clean {
    /// `broken` is sorted by row.
    pub fn new(rows: usize, broken: &[Broken]) -> Self {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        if broken.is_empty() {
            return Self { rows, kept: None };
        }
        let mut dirty = broken.iter().map(|b| b.row).peekable();
        let kept = (0..rows).filter(|row| {
            let mut is_dirty = false;
            while dirty.next_if_eq(row).is_some() {
                is_dirty = true;
            }
            !is_dirty
        });
        Self { rows, kept: Some(UInt32Array::from_iter_values(kept)) }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.kept.as_ref().map_or(self.rows as usize, |kept| kept.values().len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all rows are.
    pub fn is_all(&self) -> bool {
        self.kept.is_none()
    }

    /// The row of the batch that stands at this place among them.
    pub fn row(&self, at: u32) -> u32 {
        self.kept.as_ref().map_or(at, |kept| kept.values().get(at as usize).copied().unwrap_or(u32::MAX))
    }

    /// Their rows of the batch, ascending.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(|at| self.row(at) as usize)
    }

    /// The first row of the batch of which this does not hold, by halving: it holds of the rows up to there and of none behind.
    pub(crate) fn rows_before(&self, holds: impl Fn(usize) -> bool) -> u32 {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(middle as usize) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// A column of them.
    pub fn take(&self, array: &ArrayRef) -> Option<ArrayRef> {
        match &self.kept {
            None => Some(ArrayRef::clone(array)),
            // The error's text is not looked at.
            Some(kept) => arrow::compute::take(array, kept, None).ok(),
        }
    }
}

/// A batch as it was checked, for who looks on.
pub struct Observed<'a> {
    /// By contract column; none where nobody looks.
    pub columns: &'a [Option<&'a Typed>],
    /// The rows that count.
    pub clean: &'a Clean,
    /// The record number of a row of the batch.
    pub number: &'a dyn Fn(usize) -> u64,
}

/// Looks on while a unit is read.
pub trait Observe {
    /// One batch, in file order.
    ///
    /// # Errors
    /// Whatever keeps the rows from being counted; it ends the unit.
    fn batch(&mut self, observed: &Observed<'_>) -> Result<()>;
}

#[cfg(test)]
mod tests;
