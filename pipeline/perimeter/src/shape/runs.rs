//! Where a sorted batch changes shard or entity.
use super::layout::SHARD_COLUMN;
use crate::error::{Culprit, Failure, Result};
use crate::shard::plain;
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, make_comparator};
use arrow::compute::{SortOptions, partition, take};
use arrow::datatypes::Int32Type;
use std::cmp::Ordering;

/// A range of a batch's rows that belong to one entity (in row jobs: to one shard).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) shard: u32,
    /// The entity is the one that the batch before ended with.
    pub(super) continues: bool,
}

/// Cuts batches into [`Run`]s, remembering how the last one ended.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The last row's shard, and its entity as a column of one row.
    last: Option<(u32, Option<ArrayRef>)>,
}

impl Runs {
    /// The runs of the next batch: never empty, in order, gapless. `entity` has no nulls.
    pub(super) fn cut(&mut self, shards: &ArrayRef, entity: Option<&ArrayRef>, out: &mut Vec<Run>) -> Result<()> {
        out.clear();
        let bug = || Failure::new(Culprit::Data, "shard-order", format!("rows without a usable `{SHARD_COLUMN}`")).help("this is a bug: report it");
        let numbers = shards.as_primitive_opt::<Int32Type>().filter(|numbers| numbers.null_count() == 0).ok_or_else(bug)?;
        if numbers.is_empty() {
            return Ok(());
        }
        let entity = entity.map(plain).transpose()?;
        if entity.as_ref().is_some_and(|entity| entity.null_count() > 0) {
            return Err(Failure::new(Culprit::Data, "missing-entity", "a row has no entity: the column that `sequence.by` names is null")
                .help("make the column `required` in the schema, or leave such rows out in `prepare`")
                .into());
        }
        let mut keys = vec![shards.clone()];
        keys.extend(entity.clone());
        let ranges = partition(&keys).map_err(|_| bug())?.ranges();
        let order = entity.as_ref().map(|entity| make_comparator(entity, entity, SortOptions::default())).transpose().map_err(|_| bug())?;
        for range in ranges {
            let shard = u32::try_from(numbers.value(range.start)).map_err(|_| bug())?;
            let to_last = if range.start == 0 { self.to_last(shard, entity.as_ref())? } else { None };
            // Entities ascend within a shard. An unsorted stream would show one entity twice, as two sequences that look whole.
            let before = match (out.last(), &order) {
                (Some(Run { start, shard: before, .. }), Some(order)) if *before == shard => Some(order(*start, range.start)),
                _ => to_last,
            };
            if before == Some(Ordering::Greater) {
                return Err(Failure::new(Culprit::Data, "shard-order", "rows arrived in another order than their entities")
                    .help("this is a bug: report it")
                    .into());
            }
            out.push(Run { start: range.start, end: range.end, shard, continues: to_last == Some(Ordering::Equal) });
        }
        let row = numbers.len() - 1;
        let last = entity.map(|entity| take(&entity, &UInt32Array::from(vec![u32::try_from(row).map_err(|_| bug())?]), None).map_err(|_| bug())).transpose()?;
        self.last = out.last().map(|run| (run.shard, last));
        Ok(())
    }

    /// How the last row's entity compares to that of the first row; `None` in another shard.
    fn to_last(&self, shard: u32, entity: Option<&ArrayRef>) -> Result<Option<Ordering>> {
        match (&self.last, entity) {
            (Some((last_shard, Some(last))), Some(entity)) if *last_shard == shard => {
                let order = make_comparator(last, entity, SortOptions::default());
                let order =
                    order.map_err(|_| Failure::new(Culprit::Data, "column-type", "the entity column changed its type").help("this is a bug: report it"))?;
                Ok(Some(order(0, 0)))
            }
            (Some((last_shard, None)), None) if *last_shard == shard => Ok(Some(Ordering::Equal)),
            _ => Ok(None),
        }
    }
}
