//! Rules about one row: what *check* asks of whoever compiles an expression.
//!
//! The engine compiles SQL expressions; *read* and *check* see a [`RowRule`] and no engine.
use super::sets::Clean;
use super::{Broken, Checker, Typed};
use crate::error::{Culprit, Failure, Result};
use arrow::array::ArrayRef;
use std::sync::Arc;

/// A boolean expression over the columns of one row.
///
/// It looks at the rows in which every cell that it reads is a value of its column's type, whatever else they break. False breaks the rule; null passes. A row for
/// which it has no value at all (a division by zero, an overflow, a failing cast) breaks it too: nothing goes on that was not shown to hold.
pub trait RowRule: Send + Sync + std::fmt::Debug {
    /// Which rule of the contract's `rules` it is.
    fn rule(&self) -> usize;

    /// The contract columns that it looks at, in the order in which [`RowRule::evaluate`] gets them.
    fn columns(&self) -> &[usize];

    /// Calls `broken` with every row for which it does not hold, ascending. The answer for a row does not depend on the rows beside it.
    fn evaluate(&self, rows: usize, columns: Vec<ArrayRef>, broken: &mut dyn FnMut(u32));
}

/// Appends what the rows of a batch break. A row with a cell that a rule reads and that is no value says nothing about that rule.
pub(crate) fn evaluate(rules: &[Arc<dyn RowRule>], checker: &Checker, columns: &[Option<&Typed>], rows: usize, broken: &mut Vec<Broken>) -> Result<()> {
    for rule in rules {
        let Some(code) = checker.set_code(rule.rule()) else { continue };
        let seen: Vec<&Typed> = rule.columns().iter().map(|column| columns.get(*column).copied().flatten()).collect::<Option<_>>().ok_or_else(not_read)?;
        let mut unread: Vec<Broken> = seen.iter().flat_map(|typed| &typed.untyped).map(|row| Broken { row: *row, code }).collect();
        unread.sort_unstable();
        let readable = Clean::new(rows, &unread);
        if readable.is_empty() {
            continue;
        }
        let arrays: Option<Vec<ArrayRef>> = seen.iter().map(|typed| readable.take(&typed.array)).collect();
        rule.evaluate(readable.len(), arrays.ok_or_else(not_read)?, &mut |at| broken.push(Broken { row: readable.row(at), code }));
    }
    Ok(())
}

/// A rule wants a column that nobody has read.
pub(super) fn not_read() -> Failure {
    Failure::new(Culprit::Outside, "internal", "a rule about rows looks at a column that was not read").help("Report this as a bug")
}
