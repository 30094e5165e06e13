//! How long examples are: the histogram that buckets are chosen from.
//!
//! A [`LengthHistogram`] counts examples by length. It is exact, merges in any order, and stays small by itself: d distinct lengths need at least d² / 2
//! elements, so 20 million events have at most 6,325 of them.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroU64;

/// Examples by length, in elements (events or tokens).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LengthHistogram {
    counts: BTreeMap<u64, u64>,
}

impl LengthHistogram {
    /// Counts one example.
    pub fn add(&mut self, length: u64) {
        self.add_many(length, 1);
    }

    /// Counts `examples` of one length. Counts saturate.
    pub fn add_many(&mut self, length: u64, examples: u64) {
        if examples > 0 {
            let count = self.counts.entry(length).or_default();
            *count = count.saturating_add(examples);
        }
    }

    /// Adds all that `other` counted: in any order and grouping, the same.
    pub fn merge(&mut self, other: &Self) {
        for (length, examples) in other.iter() {
            self.add_many(length, examples);
        }
    }

    /// Lengths, ascending, with the number of examples.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(&length, &examples)| (length, examples))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// All examples.
    pub fn examples(&self) -> u64 {
        self.iter().fold(0, |sum, (_, examples)| sum.saturating_add(examples))
    }

    /// All elements.
    pub fn elements(&self) -> u128 {
        self.iter().fold(0, |sum, (length, examples)| sum.saturating_add(u128::from(length) * u128::from(examples)))
    }

    /// Distinct lengths: what a job compiles for when it neither pads nor batches.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// The longest example; 0 when there is none.
    pub fn longest(&self) -> u64 {
        self.counts.last_key_value().map_or(0, |(&length, _)| length)
    }

    /// The smallest length that at least `percent` % of the examples do not exceed; 0 when there is none.
    pub fn percentile(&self, percent: u8) -> u64 {
        let needed = (u128::from(self.examples()) * u128::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0_u128;
        self.iter()
            .find(|&(_, examples)| {
                seen += u128::from(examples);
                seen >= needed
            })
            .map_or_else(|| self.longest(), |(length, _)| length)
    }

    /// What steps look like when nobody pads beyond the longest example of each batch.
    pub fn unpadded(&self, batch_size: NonZeroU64) -> Unpadded {
        let examples = self.examples();
        let steps = examples.div_ceil(batch_size.get());
        let (mut commonest, mut shapes, mut below, mut at_most) = (0.0_f64, 0.0, 0_u64, 0.0_f64);
        for (_, count) in self.iter() {
            below = below.saturating_add(count);
            // A step's shape is its longest example: P(longest <= length) is P(one <= length) to the power of the batch size.
            let next = libm::pow(ratio(below, examples), float(batch_size.get()));
            let share = (next - at_most).max(0.0);
            at_most = next;
            commonest = commonest.max(share);
            shapes += 1.0 - libm::pow(1.0 - share, float(steps));
        }
        let varying_steps = if steps <= 1 { 0.0 } else { (1.0 - commonest).max(0.0) };
        Unpadded { steps, varying_steps, expected_shapes: shapes.clamp(if steps > 0 { 1.0 } else { 0.0 }, float(steps.max(1))) }
    }

    /// The histogram as lines of text, `width` characters of bar at most: one line per power of two.
    pub fn render(&self, width: usize) -> String {
        let mut bins: BTreeMap<u32, u64> = BTreeMap::new();
        for (length, examples) in self.iter() {
            let bin = bins.entry(u64::BITS - length.saturating_sub(1).leading_zeros()).or_default();
            *bin = bin.saturating_add(examples);
        }
        let (Some((&first, _)), Some((&last, _))) = (bins.first_key_value(), bins.last_key_value()) else { return String::new() };
        let most = bins.values().copied().max().unwrap_or(1);
        let all = self.examples();
        let label = |bin: u32| {
            let upper = 1_u64.checked_shl(bin).unwrap_or(u64::MAX);
            let lower = if bin == 0 { self.counts.first_key_value().map_or(0, |(&length, _)| length.min(1)) } else { (upper >> 1).saturating_add(1) };
            if lower == upper { lower.to_string() } else { format!("{lower}-{upper}") }
        };
        let margin = (first..=last).map(|bin| label(bin).len()).max().unwrap_or(0);
        let mut out = String::new();
        for bin in first..=last {
            let count = bins.get(&bin).copied().unwrap_or(0);
            // Eighths of a character; what is there is seen.
            let eighths = (u128::from(count) * (width as u128 * 8)).div_ceil(u128::from(most));
            let eighths = usize::try_from(eighths).unwrap_or(width * 8);
            let mut bar = "█".repeat(eighths / 8);
            bar.push_str(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]);
            let pad = width.saturating_sub(bar.chars().count());
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{:>margin$} │{bar}{:pad$} {count} ({:.1} %)", label(bin), "", 100.0 * ratio(count, all));
        }
        out
    }
}

impl Extend<u64> for LengthHistogram {
    fn extend<T: IntoIterator<Item = u64>>(&mut self, lengths: T) {
        lengths.into_iter().for_each(|length| self.add(length));
    }
}

impl FromIterator<u64> for LengthHistogram {
    fn from_iter<T: IntoIterator<Item = u64>>(lengths: T) -> Self {
        let mut histogram = Self::default();
        histogram.extend(lengths);
        histogram
    }
}

/// Steps of one epoch in random order, each padded to its own longest example.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unpadded {
    /// Steps an epoch, the last partial one included.
    pub steps: u64,
    /// Expected share (0 to 1) of the steps that have another shape than the commonest one.
    pub varying_steps: f64,
    /// Expected number of distinct shapes, and so of XLA compilations, in an epoch.
    pub expected_shapes: f64,
}

pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { float(part) / float(whole) }
}

#[expect(clippy::cast_precision_loss, reason = "figures of a report")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lengths() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(prop_oneof![0_u64..20, 0_u64..2000, any::<u64>()], 0..60)
    }

    proptest! {
        #[test]
        fn merging_is_counting_all(a in lengths(), b in lengths(), c in lengths()) {
            let of = |lengths: &[u64]| lengths.iter().copied().collect::<LengthHistogram>();
            let all: Vec<u64> = a.iter().chain(&b).chain(&c).copied().collect();
            let mut left = of(&a);
            left.merge(&of(&b));
            left.merge(&of(&c));
            let mut right = of(&b);
            right.merge(&of(&c));
            let mut turned = right.clone();
            turned.merge(&of(&a));
            let mut first = of(&a);
            first.merge(&right);
            prop_assert_eq!(&left, &first);
            prop_assert_eq!(&left, &turned);
            prop_assert_eq!(&left, &of(&all));
            prop_assert_eq!(left.examples(), all.len() as u64);
            prop_assert_eq!(left.elements(), all.iter().map(|&length| u128::from(length)).sum::<u128>());
            prop_assert_eq!(left.longest(), all.iter().copied().max().unwrap_or(0));
        }

        #[test]
        fn percentiles_are_those_of_the_sorted_list(mut lengths in lengths(), percent in 1_u8..=100) {
            let histogram: LengthHistogram = lengths.iter().copied().collect();
            lengths.sort_unstable();
            let expected = lengths.get((lengths.len() * usize::from(percent)).div_ceil(100).max(1) - 1).copied().unwrap_or(0);
            prop_assert_eq!(histogram.percentile(percent), expected);
        }

        #[test]
        fn shares_are_shares_and_text_is_text(lengths in lengths(), batch in 1_u64..100) {
            let histogram: LengthHistogram = lengths.iter().copied().collect();
            let unpadded = histogram.unpadded(NonZeroU64::new(batch).unwrap());
            prop_assert!((0.0..=1.0).contains(&unpadded.varying_steps));
            prop_assert!(unpadded.expected_shapes <= unpadded.steps.max(1) as f64);
            let text = histogram.render(30);
            let counted: u64 = text.lines().map(|line| line.rsplit_once(" (").unwrap().0.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
            prop_assert_eq!(counted, lengths.len() as u64);
        }
    }

    /// The expected share against all batches there are, with replacement.
    #[test]
    fn the_share_of_varying_steps_is_that_of_all_batches() {
        let lengths = [1_u64, 2, 2, 5];
        let histogram: LengthHistogram = lengths.into_iter().collect();
        let mut by_shape = BTreeMap::<u64, u32>::new();
        for a in lengths {
            for b in lengths {
                *by_shape.entry(a.max(b)).or_default() += 1;
            }
        }
        let expected = 1.0 - f64::from(by_shape.values().copied().max().unwrap()) / 16.0;
        assert!((histogram.unpadded(NonZeroU64::new(2).unwrap()).varying_steps - expected).abs() < 1e-12);
    }

    #[test]
    fn one_length_never_varies() {
        let histogram: LengthHistogram = [7; 100].into_iter().collect();
        let unpadded = histogram.unpadded(NonZeroU64::new(8).unwrap());
        assert_eq!((unpadded.steps, unpadded.varying_steps, unpadded.expected_shapes), (13, 0.0, 1.0));
        assert_eq!(histogram.render(4), "5-8 │████ 100 (100.0 %)\n");
    }

    #[test]
    fn the_text_shows_gaps_and_extremes() {
        let mut histogram: LengthHistogram = [0, 1, 2, 3, 4, 4, 40].into_iter().collect();
        histogram.add_many(u64::MAX, u64::MAX);
        histogram.add_many(u64::MAX, u64::MAX);
        let text = histogram.render(10);
        assert!(text.starts_with(" "), "{text}");
        assert!(text.contains("9-16 │") && text.contains(" 0 (0.0 %)"), "{text}");
        assert!(LengthHistogram::default().render(10).is_empty());
    }
}
