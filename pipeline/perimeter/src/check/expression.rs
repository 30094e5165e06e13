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
/// It looks at rows that break no rule of their own. False breaks the rule; null passes. A row for which it has no value at all (a division by zero, an overflow, a
/// failing cast) breaks it too: nothing goes on that was not shown to hold.
pub trait RowRule: Send + Sync + std::fmt::Debug {
    /// Which rule of the contract's `rules` it is.
    fn rule(&self) -> usize;

    /// The contract columns that it looks at, in the order in which [`RowRule::evaluate`] gets them.
    fn columns(&self) -> &[usize];

    /// Calls `broken` with every row for which it does not hold, ascending. The answer for a row does not depend on the rows beside it.
    fn evaluate(&self, rows: usize, columns: Vec<ArrayRef>, broken: &mut dyn FnMut(u32));
}

/// Appends what the clean rows of a batch break.
pub(crate) fn evaluate(rules: &[Arc<dyn RowRule>], checker: &Checker, columns: &[Option<&Typed>], clean: &Clean, broken: &mut Vec<Broken>) -> Result<()> {
    if clean.is_empty() {
        return Ok(());
    }
    for rule in rules {
        let Some(code) = checker.set_code(rule.rule()) else { continue };
        let arrays: Option<Vec<ArrayRef>> = rule.columns().iter().map(|column| clean.take(&columns.get(*column)?.as_ref()?.array)).collect();
        rule.evaluate(clean.len(), arrays.ok_or_else(not_read)?, &mut |at| broken.push(Broken { row: clean.row(at), code }));
    }
    Ok(())
}

/// A rule wants a column that nobody has read.
pub(super) fn not_read() -> Failure {
    Failure::new(Culprit::Outside, "internal", "a rule about rows looks at a column that was not read").help("Report this as a bug")
}
