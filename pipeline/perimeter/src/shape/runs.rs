//! Where a sorted batch changes shard or entity.
use super::layout::SHARD_COLUMN;
use crate::error::{Culprit, Failure, Result};
use crate::shard::plain;
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::kernels::cmp::not_distinct;
use arrow::compute::{partition, take};
use arrow::datatypes::Int32Type;

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
        for range in ranges {
            let shard = u32::try_from(numbers.value(range.start)).map_err(|_| bug())?;
            let continues = range.start == 0 && self.continues(shard, entity.as_ref())?;
            out.push(Run { start: range.start, end: range.end, shard, continues });
        }
        let row = numbers.len() - 1;
        let last = entity.map(|entity| take(&entity, &UInt32Array::from(vec![u32::try_from(row).map_err(|_| bug())?]), None).map_err(|_| bug())).transpose()?;
        self.last = out.last().map(|run| (run.shard, last));
        Ok(())
    }

    fn continues(&self, shard: u32, entity: Option<&ArrayRef>) -> Result<bool> {
        match (&self.last, entity) {
            (Some((last_shard, Some(last))), Some(entity)) if *last_shard == shard => {
                let same = not_distinct(&entity.slice(0, 1), last);
                same.map(|same| same.value(0))
                    .map_err(|_| Failure::new(Culprit::Data, "column-type", "the entity column changed its type").help("this is a bug: report it").into())
            }
            (Some((last_shard, None)), None) => Ok(*last_shard == shard),
            _ => Ok(false),
        }
    }
}
