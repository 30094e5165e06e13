//! Which static lengths to pad to: the exact optimum over a histogram, and what a choice costs.
//!
//! [`best`] finds, for every number of buckets up to a limit, the boundaries that pad least. [`BucketPlan::of`] prices any boundaries. [`LengthProfile::of`]
//! puts both beside the unpadded job, with a recommendation in words; it is what `perimeter profile` shows.
use super::lengths::{LengthHistogram, Unpadded, float};
use std::num::{NonZeroU32, NonZeroU64};

/// The rule of thumb: a job whose steps vary in shape for more than this share is worth bucketing.
pub const VARYING_STEPS_LIMIT: f64 = 0.2;

/// One more bucket is recommended while it saves at least this share of all elements after padding.
const WORTHWHILE: f64 = 0.02;

/// What boundaries may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Every boundary is a multiple of it.
    pub multiple_of: NonZeroU32,
    /// No boundary is beyond it.
    pub max: Option<NonZeroU32>,
}

impl Default for Choice {
    fn default() -> Self {
        Self { multiple_of: NonZeroU32::MIN, max: None }
    }
}

/// Why there are no boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketsError {
    /// There is no example to choose boundaries for.
    #[error("there are no examples to choose buckets for")]
    Empty,
    /// `max` is less than `multipleOf`.
    #[error("no multiple of {multiple_of} is at most {max}")]
    NoMultiple {
        /// `multipleOf`.
        multiple_of: u32,
        /// `max`, or the largest number there is.
        max: u32,
    },
    /// An example is longer than the largest boundary allowed: it has to be cut first (see [`Overflow::histogram`](super::overflow::Overflow::histogram)).
    #[error("an example has {longest} elements, and the largest bucket allowed is {largest}")]
    TooLong {
        /// The longest example.
        longest: u64,
        /// The largest boundary allowed.
        largest: u32,
    },
    /// Boundaries do not ascend, or one is 0.
    #[error("buckets are positive and ascend")]
    NotAscending,
}

impl Choice {
    /// The largest boundary allowed: where longer examples are cut.
    ///
    /// # Errors
    /// [`BucketsError::NoMultiple`].
    pub fn largest(&self) -> Result<NonZeroU32, BucketsError> {
        let (multiple_of, max) = (self.multiple_of.get(), self.max.map_or(u32::MAX, NonZeroU32::get));
        NonZeroU32::new(max - max % multiple_of).ok_or(BucketsError::NoMultiple { multiple_of, max })
    }
}

/// The boundaries that pad least, for 1, 2, … `most` buckets: the n-th entry has n + 1 of them, as long as more of them help (never more than there are
/// distinct multiples to pad to). The last boundary is the longest example's, rounded up.
///
/// Dynamic programming over the distinct rounded lengths with divide and conquer (the cost is Monge, so the best last cut moves one way only):
/// O(`most` · n log n) for n of them, exact in integers. Ties go to the smaller boundaries, so the result depends on the histogram alone.
///
/// # Errors
/// [`BucketsError::Empty`], [`BucketsError::NoMultiple`], [`BucketsError::TooLong`].
pub fn best(lengths: &LengthHistogram, most: NonZeroU32, choice: &Choice) -> Result<Vec<Vec<u32>>, BucketsError> {
    let points = Points::of(lengths, choice)?;
    let distinct = points.at.len();
    let layers = usize::try_from(most.get()).unwrap_or(usize::MAX).min(distinct);
    // `waste[j]`: least padding for the first j points in the number of buckets at hand; one bucket to begin with.
    let mut waste: Vec<u128> = (0..=distinct).map(|end| if end == 0 { 0 } else { points.padding(0, end) }).collect();
    // Per number of buckets and end: where the last bucket begins.
    let mut cuts: Vec<Vec<u32>> = vec![vec![0; distinct + 1]];
    let mut out = vec![points.boundaries(&cuts)];
    for layer in 1..layers {
        let mut next = vec![u128::MAX; distinct + 1];
        let mut cut = vec![0_u32; distinct + 1];
        // With `layer` buckets before the last one, at least `layer` points come before it.
        let mut open = vec![(layer + 1, distinct, layer, distinct - 1)];
        while let Some((low, high, from, to)) = open.pop() {
            if low > high {
                continue;
            }
            let middle = low + (high - low) / 2;
            let (mut least, mut at) = (u128::MAX, from);
            let last = to.min(middle - 1);
            for (start, &before) in waste[..=last].iter().enumerate().skip(from) {
                let total = before.saturating_add(points.padding(start, middle));
                if total < least {
                    (least, at) = (total, start);
                }
            }
            next[middle] = least;
            cut[middle] = u32::try_from(at).unwrap_or(u32::MAX);
            open.push((low, middle - 1, from, at));
            open.push((middle + 1, high, at, to));
        }
        waste = next;
        cuts.push(cut);
        out.push(points.boundaries(&cuts));
    }
    Ok(out)
}

/// Distinct lengths rounded up, with sums before each.
struct Points {
    at: Vec<u32>,
    /// Examples, and elements after rounding is not counted, of all points before.
    examples_before: Vec<u128>,
    elements_before: Vec<u128>,
}

impl Points {
    fn of(lengths: &LengthHistogram, choice: &Choice) -> Result<Self, BucketsError> {
        if lengths.is_empty() {
            return Err(BucketsError::Empty);
        }
        let largest = choice.largest()?.get();
        let multiple = u64::from(choice.multiple_of.get());
        let mut this = Self { at: Vec::new(), examples_before: vec![0], elements_before: vec![0] };
        let (mut examples, mut elements) = (0_u128, 0_u128);
        for (length, count) in lengths.iter() {
            if length > u64::from(largest) {
                return Err(BucketsError::TooLong { longest: lengths.longest(), largest });
            }
            let rounded = u32::try_from(length.max(1).div_ceil(multiple) * multiple).unwrap_or(largest);
            if this.at.last() != Some(&rounded) {
                this.at.push(rounded);
                this.examples_before.push(0);
                this.elements_before.push(0);
            }
            examples = examples.saturating_add(u128::from(count));
            elements = elements.saturating_add(u128::from(count) * u128::from(length));
            let last = this.at.len();
            (this.examples_before[last], this.elements_before[last]) = (examples, elements);
        }
        Ok(this)
    }

    /// Elements of padding when the points `start..end` share a bucket.
    fn padding(&self, start: usize, end: usize) -> u128 {
        let examples = self.examples_before[end] - self.examples_before[start];
        let elements = self.elements_before[end] - self.elements_before[start];
        examples * u128::from(self.at[end - 1]) - elements
    }

    fn boundaries(&self, cuts: &[Vec<u32>]) -> Vec<u32> {
        let mut end = self.at.len();
        let mut out = Vec::with_capacity(cuts.len());
        for cut in cuts.iter().rev() {
            out.push(self.at[end - 1]);
            end = cut[end] as usize;
        }
        out.reverse();
        out
    }
}

/// What one bucket holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Occupancy {
    /// The static length.
    pub bucket: u32,
    /// Examples in it.
    pub examples: u64,
    /// Whole and partial batches of them.
    pub batches: u64,
}

/// Boundaries, and what they cost.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BucketPlan {
    /// Static lengths, ascending; as many XLA compilations.
    pub buckets: Vec<u32>,
    /// Elements of padding; saturates.
    pub padding: u64,
    /// Padding as a share (0 to 1) of all elements after padding.
    pub padding_waste: f64,
    /// Per bucket.
    pub occupancy: Vec<Occupancy>,
}

impl BucketPlan {
    /// Prices `buckets` for `lengths`.
    ///
    /// # Errors
    /// [`BucketsError::Empty`] without buckets, [`BucketsError::NotAscending`], [`BucketsError::TooLong`].
    pub fn of(lengths: &LengthHistogram, buckets: &[u32], batch_size: NonZeroU64) -> Result<Self, BucketsError> {
        let largest = *buckets.last().ok_or(BucketsError::Empty)?;
        if buckets[0] == 0 || buckets.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(BucketsError::NotAscending);
        }
        let mut occupancy: Vec<Occupancy> = buckets.iter().map(|&bucket| Occupancy { bucket, examples: 0, batches: 0 }).collect();
        let (mut elements, mut padded) = (0_u128, 0_u128);
        let mut index = 0;
        for (length, count) in lengths.iter() {
            while index < buckets.len() && u64::from(buckets[index]) < length {
                index += 1;
            }
            let entry = occupancy.get_mut(index).ok_or(BucketsError::TooLong { longest: lengths.longest(), largest })?;
            entry.examples = entry.examples.saturating_add(count);
            elements = elements.saturating_add(u128::from(length) * u128::from(count));
            padded = padded.saturating_add(u128::from(entry.bucket) * u128::from(count));
        }
        for entry in &mut occupancy {
            entry.batches = entry.examples.div_ceil(batch_size.get());
        }
        let padding = padded.saturating_sub(elements);
        Ok(Self { buckets: buckets.to_vec(), padding: saturate(padding), padding_waste: share(padding, padded), occupancy })
    }
}

/// What `perimeter profile` says about lengths.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LengthProfile {
    /// Examples, after overflow.
    pub examples: u64,
    /// Their elements; saturates.
    pub elements: u64,
    /// Elements per example.
    pub mean: f64,
    /// The 50th, 90th and 99th percentile and the longest.
    pub percentiles: [u64; 4],
    /// Distinct lengths: compilations of a job that pads nothing at batch size 1.
    pub distinct_lengths: usize,
    /// Examples a step.
    pub batch_size: u64,
    /// Steps padded to their own longest example only.
    pub unpadded: Unpadded,
    /// The job's own buckets, when it names some.
    pub current: Option<BucketPlan>,
    /// The best 1, 2, … buckets.
    pub best: Vec<BucketPlan>,
    /// Index into `best`: the number of buckets that is recommended, less one.
    pub recommended: usize,
}

impl LengthProfile {
    /// Profiles `lengths`, already cut by the job's overflow, against its buckets and the best 1 to `most`.
    ///
    /// # Errors
    /// As for [`best`] and [`BucketPlan::of`].
    pub fn of(lengths: &LengthHistogram, current: &[u32], most: NonZeroU32, choice: &Choice, batch_size: NonZeroU64) -> Result<Self, BucketsError> {
        let best = best(lengths, most, choice)?;
        let best = best.iter().map(|buckets| BucketPlan::of(lengths, buckets, batch_size)).collect::<Result<Vec<_>, _>>()?;
        let current = if current.is_empty() { None } else { Some(BucketPlan::of(lengths, current, batch_size)?) };
        let mut recommended = 0;
        while let Some(next) = best.get(recommended + 1)
            && best[recommended].padding_waste - next.padding_waste >= WORTHWHILE
        {
            recommended += 1;
        }
        Ok(Self {
            examples: lengths.examples(),
            elements: saturate(lengths.elements()),
            mean: share(lengths.elements(), u128::from(lengths.examples())),
            percentiles: [lengths.percentile(50), lengths.percentile(90), lengths.percentile(99), lengths.longest()],
            distinct_lengths: lengths.distinct(),
            batch_size: batch_size.get(),
            unpadded: lengths.unpadded(batch_size),
            current,
            best,
            recommended,
        })
    }

    /// What to do, in a few sentences.
    pub fn recommendation(&self, choice: &Choice) -> String {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let plan = &self.best[self.recommended];
        let varying = percent(self.unpadded.varying_steps);
        let mut out = if self.distinct_lengths == 1 {
            "Every example has the same length: nothing to pad, one compilation.".to_owned()
        } else if self.unpadded.varying_steps > VARYING_STEPS_LIMIT {
            format!(
                "Unpadded, {varying} of the steps at batch size {} would differ in shape from the commonest one, about {:.0} compilations an epoch: pad to buckets.",
                self.batch_size, self.unpadded.expected_shapes
            )
        } else {
            format!(
                "Unpadded, {varying} of the steps at batch size {} would differ in shape from the commonest one: below the {:.0} % from which buckets pay.",
                self.batch_size,
                100.0 * VARYING_STEPS_LIMIT
            )
        };
        let options = [(choice.multiple_of.get() > 1).then(|| format!(", multipleOf: {}", choice.multiple_of)), choice.max.map(|max| format!(", max: {max}"))];
        let options: String = options.into_iter().flatten().collect();
        out.push_str(&format!(
            " `buckets: {{auto: {}{options}}}` gives {:?}: {} compilation{}, {} padding.",
            plan.buckets.len(),
            plan.buckets,
            plan.buckets.len(),
            if plan.buckets.len() == 1 { "" } else { "s" },
            percent(plan.padding_waste)
        ));
        if let Some(next) = self.best.get(self.recommended + 1) {
            out.push_str(&format!(" One more bucket would leave {}.", percent(next.padding_waste)));
        }
        if let Some(current) = &self.current {
            out.push_str(&format!(" The job's own {:?} pad {}.", current.buckets, percent(current.padding_waste)));
            if let Some(thin) = current.occupancy.iter().find(|entry| entry.examples < self.batch_size) {
                out.push_str(&format!(" Its bucket {} has fewer examples than a batch.", thin.bucket));
            }
        }
        out
    }
}

fn saturate(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn share(part: u128, whole: u128) -> f64 {
    // Report figures: the leading 64 bits are plenty.
    let shift = u128::BITS.saturating_sub(whole.leading_zeros()).saturating_sub(u64::BITS);
    let small = |value: u128| float(u64::try_from(value >> shift).unwrap_or(u64::MAX));
    if whole == 0 { 0.0 } else { small(part) / small(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::overflow::Overflow;
    use proptest::prelude::*;
    use std::num::NonZeroUsize;

    fn choice(multiple_of: u32, max: Option<u32>) -> Choice {
        Choice { multiple_of: NonZeroU32::new(multiple_of).unwrap(), max: max.map(|max| NonZeroU32::new(max).unwrap()) }
    }

    fn batch(size: u64) -> NonZeroU64 {
        NonZeroU64::new(size).unwrap()
    }

    fn most(buckets: u32) -> NonZeroU32 {
        NonZeroU32::new(buckets).unwrap()
    }

    /// Padding of the best boundaries, by trying every set of `k` multiples.
    fn brute_force(lengths: &[(u64, u64)], k: usize, multiple_of: u32, longest: u64) -> u128 {
        fn go(lengths: &[(u64, u64)], chosen: &mut Vec<u64>, from: u64, k: usize, multiple_of: u64, top: u64) -> u128 {
            if chosen.len() + 1 == k || from > top {
                chosen.push(top);
                let cost = lengths.iter().map(|&(length, count)| u128::from((chosen.iter().find(|&&at| at >= length).unwrap() - length) * count)).sum();
                chosen.pop();
                return cost;
            }
            let mut least = u128::MAX;
            let mut at = from;
            while at <= top {
                chosen.push(at);
                least = least.min(go(lengths, chosen, at + multiple_of, k, multiple_of, top));
                chosen.pop();
                at += multiple_of;
            }
            least
        }
        let multiple = u64::from(multiple_of);
        let top = longest.max(1).div_ceil(multiple) * multiple;
        go(lengths, &mut Vec::new(), multiple, k, multiple, top)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_other_boundaries_pad_less(lengths in prop::collection::vec((0_u64..24, 1_u64..50), 1..14), multiple_of in 1_u32..6, k in 1_u32..6) {
            let mut histogram = LengthHistogram::default();
            lengths.iter().for_each(|&(length, count)| histogram.add_many(length, count));
            let plans = best(&histogram, most(k), &choice(multiple_of, None)).unwrap();
            for (index, buckets) in plans.iter().enumerate() {
                prop_assert_eq!(buckets.len(), index + 1);
                prop_assert!(buckets.iter().all(|bucket| bucket % multiple_of == 0) && buckets.windows(2).all(|pair| pair[0] < pair[1]));
                let plan = BucketPlan::of(&histogram, buckets, batch(3)).unwrap();
                prop_assert_eq!(u128::from(plan.padding), brute_force(&lengths, index + 1, multiple_of, histogram.longest()));
                prop_assert_eq!(plan.occupancy.iter().map(|entry| entry.examples).sum::<u64>(), histogram.examples());
            }
            // Fewer plans than asked for only when every rounded length has its own bucket.
            if plans.len() < k as usize {
                let rounded: std::collections::BTreeSet<u64> = lengths.iter().map(|&(length, _)| length.max(1).div_ceil(u64::from(multiple_of))).collect();
                prop_assert_eq!(plans.len(), rounded.len());
            }
        }

        /// Larger histograms: never worse than boundaries drawn at random, and each bucket more helps.
        #[test]
        fn larger_histograms(lengths in prop::collection::vec((0_u64..5000, 1_u64..1000), 1..300), others in prop::collection::btree_set(1_u32..5000, 7)) {
            let mut histogram = LengthHistogram::default();
            lengths.iter().for_each(|&(length, count)| histogram.add_many(length, count));
            let plans = best(&histogram, most(8), &Choice::default()).unwrap();
            let padding: Vec<u64> = plans.iter().map(|buckets| BucketPlan::of(&histogram, buckets, batch(1)).unwrap().padding).collect();
            prop_assert!(padding.windows(2).all(|pair| pair[1] < pair[0]));
            let top = u32::try_from(histogram.longest()).unwrap().max(1);
            let mut any: Vec<u32> = others.into_iter().filter(|&other| other < top).collect();
            any.push(top);
            prop_assert!(padding.last().unwrap() <= &BucketPlan::of(&histogram, &any, batch(1)).unwrap().padding);
        }

        #[test]
        fn no_histogram_panics(lengths in prop::collection::vec((any::<u64>(), any::<u64>()), 0..30), buckets in prop::collection::vec(any::<u32>(), 0..4), multiple_of in 1..=u32::MAX, max in 1..=u32::MAX) {
            let mut histogram = LengthHistogram::default();
            lengths.iter().for_each(|&(length, count)| histogram.add_many(length, count));
            let choice = choice(multiple_of, Some(max));
            if let Ok(largest) = choice.largest() {
                let window = NonZeroUsize::new(largest.get() as usize).unwrap();
                let cut = Overflow::Truncate(crate::shape::overflow::Side::Right).histogram(&histogram, window);
                if let Ok(profile) = LengthProfile::of(&cut, &[], most(4), &choice, batch(7)) {
                    profile.recommendation(&choice);
                }
            }
            let _ = best(&histogram, most(3), &choice);
            let _ = BucketPlan::of(&histogram, &buckets, batch(1));
        }
    }

    #[test]
    fn a_hundred_thousand_distinct_lengths() {
        let mut histogram = LengthHistogram::default();
        (1..=100_000).for_each(|length| histogram.add(length));
        let plans = best(&histogram, most(8), &Choice::default()).unwrap();
        // Uniform lengths: equal parts are best.
        assert_eq!(plans[1], [50_000, 100_000]);
        assert_eq!(plans[3], [25_000, 50_000, 75_000, 100_000]);
        assert_eq!(plans[7], [12_500, 25_000, 37_500, 50_000, 62_500, 75_000, 87_500, 100_000]);
    }

    #[test]
    fn mistakes_have_names() {
        let histogram: LengthHistogram = [3, 300].into_iter().collect();
        let none = LengthHistogram::default();
        assert_eq!(best(&none, most(2), &Choice::default()), Err(BucketsError::Empty));
        assert_eq!(best(&histogram, most(2), &choice(64, Some(63))), Err(BucketsError::NoMultiple { multiple_of: 64, max: 63 }));
        assert_eq!(best(&histogram, most(2), &choice(64, Some(300))), Err(BucketsError::TooLong { longest: 300, largest: 256 }));
        assert_eq!(BucketPlan::of(&histogram, &[], batch(1)).unwrap_err(), BucketsError::Empty);
        assert_eq!(BucketPlan::of(&histogram, &[16, 16, 512], batch(1)).unwrap_err(), BucketsError::NotAscending);
        assert_eq!(BucketPlan::of(&histogram, &[0, 512], batch(1)).unwrap_err(), BucketsError::NotAscending);
        assert_eq!(BucketPlan::of(&histogram, &[16, 299], batch(1)).unwrap_err(), BucketsError::TooLong { longest: 300, largest: 299 });
    }

    #[test]
    fn the_recommendation_says_what_to_write() {
        let mut histogram = LengthHistogram::default();
        (1..=100).for_each(|length| histogram.add_many(length, 1000));
        let choice = choice(8, Some(128));
        let profile = LengthProfile::of(&histogram, &[16, 128], most(8), &choice, batch(2)).unwrap();
        let text = profile.recommendation(&choice);
        assert!(text.contains("pad to buckets") && text.contains("multipleOf: 8, max: 128}`") && text.contains("The job's own [16, 128] pad"), "{text}");
        assert!(profile.current.as_ref().unwrap().padding_waste > profile.best[1].padding_waste);
        let json = serde_json::to_value(&profile).unwrap();
        assert_eq!(json["percentiles"], serde_json::json!([50, 90, 99, 100]));
        assert_eq!(json["best"][0]["buckets"], serde_json::json!([104]));

        let same: LengthHistogram = [7; 10].into_iter().collect();
        let profile = LengthProfile::of(&same, &[], most(8), &Choice::default(), batch(2)).unwrap();
        assert_eq!(
            profile.recommendation(&Choice::default()),
            "Every example has the same length: nothing to pad, one compilation. `buckets: {auto: 1}` gives [7]: 1 compilation, 0.0 % padding."
        );
    }
}
