//! What a pass over sorted rows finds out before any example is written: how long examples are, on what scale numbers lie, which categories there are.
//!
//! A [`Measurer`] per partition takes the batches that an [`Emitter`](super::Emitter) would take; [`Measured`] merges in any order to the same statistics.
use super::column::{Converter, Values};
use super::layout::Layout;
use super::lengths::LengthHistogram;
use super::runs::{Run, Runs};
use super::scale::{ScaleError, ScaleKind, Sketch};
use super::statistics::{FeatureStatistics, Statistics};
use super::vocabulary::{CategoryError, Counter};
use crate::error::{Culprit, Failure, Result};
use crate::shard::plain;
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use perimeter_contract::job::{AutoBuckets, Buckets, Scale, Shape};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Events of every entity, or tokens of every row.
    pub lengths: LengthHistogram,
    /// Rows seen.
    pub rows: u64,
    /// By feature: its numbers.
    sketches: BTreeMap<String, Sketch>,
    /// By feature: its categories.
    counters: BTreeMap<String, Counter>,
}

/// What the values of a vocabulary may take while they are counted.
const COUNTER_BYTES: usize = 64 << 20;

/// Steps of a quantile scale at most.
const QUANTILE_STEPS: NonZeroU32 = NonZeroU32::MIN.saturating_add(255);

impl Measured {
    /// Adds what another partition measured.
    ///
    /// # Errors
    /// `too-many-categories`, `too-many-values` (exit 1).
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.lengths.merge(&other.lengths);
        self.rows = self.rows.saturating_add(other.rows);
        for (feature, sketch) in other.sketches {
            match self.sketches.entry(feature) {
                Entry::Vacant(place) => {
                    place.insert(sketch);
                }
                Entry::Occupied(mut mine) => mine.get_mut().merge(&sketch).map_err(|_| too_many_values(mine.key()))?,
            }
        }
        for (feature, counter) in other.counters {
            match self.counters.entry(feature) {
                Entry::Vacant(place) => {
                    place.insert(counter);
                }
                Entry::Occupied(mut mine) => mine.get_mut().merge(&counter).map_err(|_| too_many_categories(mine.key()))?,
            }
        }
        Ok(())
    }

    /// What a job leaves to the data, frozen: numbers and categories of at least `min_units` privacy units, and the buckets.
    ///
    /// # Errors
    /// `too-few-units` (exit 1): a scale would show single units.
    pub fn freeze(&self, shape: &Shape, min_units: NonZeroUsize) -> Result<Statistics> {
        let mut statistics = Statistics::new(min_units);
        if let Buckets::Auto(auto) = &shape.buckets {
            statistics.buckets = Some(self.buckets(auto, super::job_overflow(shape.overflow)));
        }
        for feature in &shape.features {
            let mut frozen = FeatureStatistics::default();
            let kind = match feature.scale {
                Scale::None | Scale::Log1p => None,
                Scale::Standard => Some(ScaleKind::Standard),
                Scale::MinMax => Some(ScaleKind::MinMax),
                Scale::Quantile => Some(ScaleKind::Quantile { steps: QUANTILE_STEPS }),
            };
            if let Some(kind) = kind {
                let none = Sketch::new(min_units);
                let scaler = self.sketches.get(&feature.name).unwrap_or(&none).freeze(kind);
                frozen.scale = Some(scaler.map_err(|error| {
                    Failure::new(Culprit::Data, "too-few-units", format!("feature `{}`: {error}", feature.name))
                        .help(format!("{min_units} are needed at least"))
                })?);
            }
            if let Some((min_count, max_size)) = feature.encode.vocabulary() {
                let max_size = max_size.and_then(|size| NonZeroUsize::new(size.get() as usize));
                let counter = self.counters.get(&feature.name);
                frozen.vocabulary = Some(counter.map(|counter| counter.freeze(min_count, max_size)).unwrap_or_default());
            }
            if frozen != FeatureStatistics::default() {
                statistics.features.insert(feature.name.clone(), frozen);
            }
        }
        Ok(statistics)
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
    /// Features whose numbers or categories are counted.
    counted: Vec<Counted>,
    units: Vec<u64>,
    /// Events of the open entity.
    open: u64,
    measured: Measured,
}

/// One feature that is counted.
struct Counted {
    converter: Converter,
    by: By,
}

enum By {
    Sketch(Sketch),
    Counter(Counter),
}

impl fmt::Debug for Measurer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measurer").field("rows", &self.measured.rows).finish_non_exhaustive()
    }
}

impl Measurer {
    /// For batches of this layout, whatever its buckets. Privacy units are counted exactly up to `min_units`.
    pub fn new(layout: Arc<Layout>, min_units: NonZeroUsize) -> Self {
        let tokens = if layout.sequences() { None } else { layout.axis.first().and_then(|&axis| layout.numbers.get(axis)) };
        let tokens = tokens.map(|number| (Converter::new(number.clone()), Values::of(number)));
        let counted = layout.numbers.iter().filter_map(|number| {
            let by = if number.scale.is_frozen() {
                By::Sketch(Sketch::new(min_units))
            } else {
                number.encode.vocabulary().map(|_| By::Counter(Counter::new(min_units, COUNTER_BYTES)))?
            };
            Some(Counted { converter: Converter::new(number.clone()), by })
        });
        let counted = counted.collect();
        Self { runs: Runs::default(), batch_runs: Vec::new(), tokens, counted, units: Vec::new(), open: 0, measured: Measured::default(), layout }
    }

    /// Takes the next batch.
    ///
    /// # Errors
    /// The data's (exit 1): `missing-entity`, `not-finite`, `too-many-categories`, `too-many-values`, and those of tokenizing.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let bug = || Failure::new(Culprit::Data, "column-type", "a batch has fewer columns than the layout").help("this is a bug: report it");
        let column = |index: usize| batch.columns().get(index).ok_or_else(bug);
        let entity = self.layout.entity.map(column).transpose()?.map(plain).transpose()?;
        self.runs.cut(column(self.layout.shard)?, entity.as_ref(), &mut self.batch_runs)?;
        self.measured.rows += batch.num_rows() as u64;
        if !self.counted.is_empty() {
            let units = self.layout.unit.ok_or_else(bug)?;
            let units = column(units)?.as_primitive_opt::<Int64Type>().ok_or_else(bug)?;
            self.units.clear();
            // Rows without a unit count as one together: fewer units, not more.
            self.units.extend(units.iter().map(|unit| unit.unwrap_or_default().cast_unsigned()));
        }
        for Counted { converter, by } in &mut self.counted {
            let values = column(converter.column())?;
            match by {
                By::Counter(counter) => counter.add(values, &self.units).map_err(|error| match error {
                    CategoryError::TooManyValues => too_many_categories(converter.feature()),
                    _ => bug(),
                })?,
                By::Sketch(sketch) => {
                    let (numbers, nulls) = converter.read_doubles(values)?;
                    match sketch.add(numbers, nulls.as_ref(), &self.units) {
                        Ok(()) => {}
                        Err(ScaleError::NotFinite { .. }) => {
                            let failure = converter.refuse("not-finite", "a value is not finite");
                            return Err(failure.help("bound the column with `minimum` and `maximum`").into());
                        }
                        Err(_) => return Err(too_many_values(converter.feature()).into()),
                    }
                }
            }
        }
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
        for Counted { converter, by } in self.counted {
            let feature = converter.feature().to_owned();
            match by {
                By::Sketch(sketch) => drop(self.measured.sketches.insert(feature, sketch)),
                By::Counter(counter) => drop(self.measured.counters.insert(feature, counter)),
            }
        }
        self.measured
    }
}

fn too_many_categories(feature: &str) -> Failure {
    Failure::new(Culprit::Data, "too-many-categories", format!("feature `{feature}`: the column has too many values for a vocabulary"))
        .help("use `encode: hash`, or make fewer of them in `prepare`")
}

fn too_many_values(feature: &str) -> Failure {
    Failure::new(Culprit::Data, "too-many-values", format!("feature `{feature}`: too many values to add exactly")).help("pin statistics of less data")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Event, batch, cases, events, feature, shape};
    use super::super::overflow::Overflow;
    use super::super::{Frozen, UNIT_COLUMN, buckets};
    use super::*;
    use arrow::array::{ArrayRef, Int32Array, Int64Array};
    use perimeter_contract::job::{Dtype, Encode, Feature};
    use proptest::prelude::*;
    use std::num::NonZeroU64;

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
                let mut measurer = Measurer::new(Arc::clone(&layout), NonZeroUsize::MIN);
                let mut start = 0;
                for end in ends {
                    measurer.push(&batch(&mine[start..end])).unwrap();
                    start = end;
                }
                all.merge(measurer.finish()).unwrap();
            }
            let expected: LengthHistogram = lengths.iter().map(|&length| length as u64).collect();
            prop_assert_eq!((all.lengths, all.rows), (expected, events.len() as u64));
        }
    }

    #[test]
    fn buckets_are_the_best_for_what_overflow_leaves() {
        let measured = Measured { lengths: [3, 3, 9, 40].into_iter().collect(), rows: 55, ..Measured::default() };
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

    fn statistics(entities: usize, partitions: u32, min_units: usize) -> Result<Statistics> {
        let category = Encode::Vocabulary { min_count: 1, max_size: None };
        let features = vec![
            Feature { scale: Scale::Standard, ..feature("amount", "amount", Dtype::Float32) },
            Feature { scale: Scale::Quantile, ..feature("rank", "amount", Dtype::Float32) },
            Feature { encode: category, ..feature("account", "account", Dtype::Int64) },
            Feature { encode: category, ..feature("mcc", "mcc", Dtype::Int64) },
        ];
        let shape = Shape { features, ..shape(&[]) };
        let events = events(&vec![6; entities], 4, 9);
        let with_units = |events: &[Event]| {
            let batch = batch(events);
            let units: Int64Array = events.iter().map(|event| Some(event.entity.trim_start_matches("entity-").parse::<i64>().unwrap() + 1)).collect();
            // Common and rare categories.
            let kinds: Int32Array = events.iter().map(|event| Some(if event.cents % 50 == 7 { 999 } else { i32::try_from(event.time % 3).unwrap() })).collect();
            let mut columns: Vec<(String, ArrayRef)> =
                batch.schema().fields().iter().zip(batch.columns()).map(|(field, column)| (field.name().clone(), column.clone())).collect();
            columns[4].1 = Arc::new(kinds);
            columns.push((UNIT_COLUMN.to_owned(), Arc::new(units)));
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
        };
        let layout = Arc::new(Layout::resolve(&shape, &with_units(&[]).schema(), &[], &Frozen::default()).unwrap());
        let min_units = NonZeroUsize::new(min_units).unwrap();
        let mut all = Measured::default();
        for partition in 0..partitions {
            let mine: Vec<Event> = events.iter().filter(|event| event.shard % partitions == partition).cloned().collect();
            let mut measurer = Measurer::new(Arc::clone(&layout), min_units);
            mine.chunks(7 + partition as usize).for_each(|events| measurer.push(&with_units(events)).unwrap());
            all.merge(measurer.finish())?;
        }
        all.freeze(&shape, min_units)
    }

    #[test]
    fn statistics_do_not_depend_on_partitions_and_hide_single_units() {
        let one = statistics(40, 1, 10).unwrap();
        for partitions in [2, 3, 4] {
            assert_eq!(statistics(40, partitions, 10).unwrap().to_json(), one.to_json());
        }
        let values = |feature: &str, statistics: &Statistics| -> Vec<String> {
            statistics.features[feature].vocabulary.iter().flat_map(|vocabulary| vocabulary.values().map(str::to_owned)).collect()
        };
        assert!(values("account", &one).is_empty(), "an account is one unit");
        assert!(!values("mcc", &one).contains(&"999".to_owned()) && values("mcc", &one).len() == 3, "{:?}", values("mcc", &one));
        assert!(values("mcc", &statistics(40, 3, 1).unwrap()).contains(&"999".to_owned()), "with one unit enough, it is there");
        assert!(one.features["amount"].scale.is_some() && one.features["rank"].scale.is_some());
        let Err(crate::error::Error::Failed(failure)) = statistics(3, 2, 10) else { panic!("froze a scale of three units") };
        assert_eq!(failure.code, "too-few-units");
    }
}
