//! What the checked rows must be like for anything to be published.
use crate::check::metric::Verdict;
use crate::check::report::{self, SourceRows};
use crate::engine::tally::Tally;
use crate::error::{Culprit, Failure, Result};
use crate::plan::Plan;

/// The rules about datasets.
///
/// # Errors
/// Some of them fail (exit 1), with the place of each in its contract.
pub(super) fn quality(plan: &Plan, verdicts: &[Verdict]) -> Result<()> {
    let failed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.holds).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let mut message = format!("{} of {} rules about datasets do not hold:", failed.len(), verdicts.len());
    for verdict in failed {
        let place = plan.contract.sources.file(verdict.span).map(|file| {
            let start = usize::try_from(verdict.span.start).unwrap_or(usize::MAX).min(file.text.len());
            let line = file.text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count() + 1;
            format!(" ({}:{line})", file.path.display())
        });
        let counted = report::counted(verdict);
        message.push_str(&format!("\n  {}{}: {} {}{counted}", verdict.rule, place.unwrap_or_default(), verdict.metric, verdict.wanted));
    }
    Err(Failure::new(Culprit::Data, "quality-failed", message).help("nothing was published; correct the data, or agree on other bounds in the contract").into())
}

/// `maxRejectedFraction`, of every source by itself, and the rules about datasets. What holds for each source holds for their sum; the other way round it does
/// not: a large reference source would hide that all of a small one was rejected.
///
/// # Errors
/// Too many rows of a source were rejected (exit 1), with the rules that most of them broke; `quality-failed` (exit 1), with every rule that fails.
pub fn gate(plan: &Plan, tally: &Tally) -> Result<()> {
    let allowed = plan.contract.policy.gates.max_rejected_fraction;
    let above: Vec<String> = tally
        .by_source(plan)
        .enumerate()
        .filter(|(_, rows)| rows.rejected_fraction() > allowed)
        .map(|(source, rows)| {
            let SourceRows { source: name, read, rejected } = &rows;
            let share = rows.rejected_fraction();
            format!(
                "source `{name}`: {rejected} of {read} rows were rejected, a share of {share:.4}, more than the policy's maxRejectedFraction {allowed}: {}",
                tally.most_broken(name, source, 5)
            )
        })
        .collect();
    if above.is_empty() {
        return quality(plan, &tally.verdicts);
    }
    let lengths: String = tally.ragged(plan).iter().map(|ragged| format!("; {ragged}")).collect();
    Err(Failure::new(Culprit::Data, "too-many-rejected", above.join("; "))
        .help(format!(
            "nothing was published; `perimeter run` and `perimeter check --quarantine` put the rejected rows into quarantine, `perimeter quarantine show` opens it for who has the key{lengths}"
        ))
        .into())
}

/// A dataset without a record, because a source lost all of its rows to its rules. A query that keeps nothing and sources without rows are allowed.
///
/// # Errors
/// `no-records` (exit 1), with the sources.
pub(super) fn some_records(plan: &Plan, tally: &Tally, rows_written: u64) -> Result<()> {
    if rows_written > 0 {
        return Ok(());
    }
    let lost = tally.by_source(plan).filter(|rows| rows.read > 0 && rows.rejected == rows.read);
    let lost: Vec<String> = lost.map(|rows| format!("all {} rows of source `{}` were rejected", rows.read, rows.source)).collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Culprit::Data, "no-records", format!("there is no record to publish: {}", lost.join("; ")))
        .help("nothing was published; `perimeter check` says which rules they break, `perimeter quarantine show` opens them for who has the key")
        .into())
}
