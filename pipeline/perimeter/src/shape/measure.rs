//! What a pass over sorted rows finds out before any example is written: how long examples are.
//!
//! A [`Measurer`] per partition takes the batches that an [`Emitter`](super::Emitter) would take; [`Measured`] merges in any order. It holds a histogram
//! and no values.
use super::column::{Converter, Values};
use super::layout::Layout;
use super::lengths::LengthHistogram;
use super::runs::{Run, Runs};
use crate::error::{Culprit, Failure, Result};
use crate::shard::plain;
use arrow::array::RecordBatch;
use perimeter_contract::job::AutoBuckets;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Events of every entity, or tokens of every row.
    pub lengths: LengthHistogram,
    /// Rows seen.
    pub rows: u64,
}

impl Measured {
    /// Adds what another partition measured.
    pub fn merge(&mut self, other: &Self) {
        self.lengths.merge(&other.lengths);
        self.rows = self.rows.saturating_add(other.rows);
    }

    /// The buckets that pad least, once `overflow` has cut what is longer than the largest boundary allowed. Without examples, the smallest there is.
    pub fn buckets(&self, auto: &AutoBuckets, overflow: super::overflow::Overflow) -> Vec<u32> {
        let choice = super::buckets::Choice { multiple_of: auto.multiple_of, max: Some(auto.max) };
        let window = NonZeroUsize::new(auto.max.get() as usize).unwrap_or(NonZeroUsize::MIN);
        let best = super::buckets::best(&overflow.histogram(&self.lengths, window), auto.auto, &choice);
        best.ok().and_then(|mut best| best.pop()).unwrap_or_else(|| vec![auto.multiple_of.get()])
    }
}

/// Measures one partition of the sorted stream.
pub struct Measurer {
    layout: Arc<Layout>,
    runs: Runs,
    batch_runs: Vec<Run>,
    tokens: Option<(Converter, Values)>,
    /// Events of the open entity.
    open: u64,
    measured: Measured,
}

impl fmt::Debug for Measurer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measurer").field("rows", &self.measured.rows).finish_non_exhaustive()
    }
}

impl Measurer {
    /// For batches of this layout, whatever its buckets.
    pub fn new(layout: Arc<Layout>) -> Self {
        let tokens = if layout.sequences() { None } else { layout.axis.first().and_then(|&axis| layout.numbers.get(axis)) };
        let tokens = tokens.map(|number| (Converter::new(number.clone()), Values::of(number)));
        Self { runs: Runs::default(), batch_runs: Vec::new(), tokens, open: 0, measured: Measured::default(), layout }
    }

    /// Takes the next batch.
    ///
    /// # Errors
    /// The data's (exit 1): `missing-entity`, and those of tokenizing.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let bug = || Failure::new(Culprit::Data, "column-type", "a batch has fewer columns than the layout").help("this is a bug: report it");
        let column = |index: usize| batch.columns().get(index).ok_or_else(bug);
        let entity = self.layout.entity.map(column).transpose()?.map(plain).transpose()?;
        self.runs.cut(column(self.layout.shard)?, entity.as_ref(), &mut self.batch_runs)?;
        self.measured.rows += batch.num_rows() as u64;
        if let Some((converter, values)) = &mut self.tokens {
            converter.convert(column(converter.column())?, &self.batch_runs, values)?;
            let mut start = 0;
            for &end in converter.ends() {
                self.measured.lengths.add((end - start) as u64);
                start = end;
            }
        } else if entity.is_some() {
            for run in &self.batch_runs {
                if !run.continues && self.open > 0 {
                    self.measured.lengths.add(self.open);
                    self.open = 0;
                }
                self.open += (run.end - run.start) as u64;
            }
        }
        Ok(())
    }

    /// What was measured.
    pub fn finish(mut self) -> Measured {
        if self.open > 0 {
            self.measured.lengths.add(self.open);
        }
        self.measured
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{batch, cases, events, shape};
    use super::super::overflow::Overflow;
    use super::super::{Frozen, buckets};
    use super::*;
    use proptest::prelude::*;
    use std::num::{NonZeroU32, NonZeroU64};

    fn number(value: u32) -> NonZeroU32 {
        NonZeroU32::new(value).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Neither batch borders nor the number of partitions change what is measured.
        #[test]
        fn lengths_are_those_of_the_entities((_, lengths, shards, partitions, seed, cuts) in cases()) {
            let events = events(&lengths, shards, seed);
            let layout = Arc::new(Layout::resolve(&shape(&[4]), &batch(&[]).schema(), &[], &Frozen::default()).unwrap());
            let mut all = Measured::default();
            for partition in 0..partitions {
                let mine: Vec<_> = events.iter().filter(|event| event.shard % partitions == partition).cloned().collect();
                let mut ends: Vec<usize> = cuts.iter().map(|&cut| cut.min(mine.len())).chain([mine.len()]).collect();
                ends.sort_unstable();
                let mut measurer = Measurer::new(Arc::clone(&layout));
                let mut start = 0;
                for end in ends {
                    measurer.push(&batch(&mine[start..end])).unwrap();
                    start = end;
                }
                all.merge(&measurer.finish());
            }
            let expected: LengthHistogram = lengths.iter().map(|&length| length as u64).collect();
            prop_assert_eq!(all, Measured { lengths: expected, rows: events.len() as u64 });
        }
    }

    #[test]
    fn buckets_are_the_best_for_what_overflow_leaves() {
        let measured = Measured { lengths: [3, 3, 9, 40].into_iter().collect(), rows: 55 };
        let auto = AutoBuckets { auto: number(2), multiple_of: number(4), max: number(16) };
        for (overflow, expected) in [
            (Overflow::Split { overlap: 0 }, vec![4, 16]),
            (Overflow::Reject, vec![4, 12]),
            (Overflow::Truncate(super::super::overflow::Side::Left), vec![4, 16]),
        ] {
            let found = measured.buckets(&auto, overflow);
            assert_eq!(found, expected, "{overflow:?}");
            let left = overflow.histogram(&measured.lengths, NonZeroUsize::new(16).unwrap());
            assert!(buckets::BucketPlan::of(&left, &found, NonZeroU64::MIN).is_ok());
        }
        assert_eq!(Measured::default().buckets(&auto, Overflow::Reject), [4], "nothing to choose for");
    }
}
