//! What becomes of an example that is longer than the largest bucket or window.
//!
//! [`Overflow::ranges`] says it for an example whose length is known, [`Cutter`] for one that arrives piece by piece, with no more than a window held. Both
//! give the same pieces. The same ranges apply to every feature of the example, so masks and end marks stay where their elements are. [`Conservation`]
//! accounts for every element.
use super::lengths::LengthHistogram;
use std::num::NonZeroUsize;
use std::ops::Range;

/// What happens to an example of more than `window` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Cut into pieces of a window, each beginning with the last `overlap` elements of the one before; the last piece may be shorter. An overlap of a window
    /// or more counts as one less than the window.
    Split {
        /// Elements that two neighbouring pieces share: window less stride.
        overlap: usize,
    },
    /// One piece of a window.
    Truncate(Side),
    /// No piece: the example is left out, and counted.
    Reject,
}

/// The end from which elements are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The oldest elements go; the last `window` stay.
    Left,
    /// The newest elements go; the first `window` stay.
    Right,
}

/// Where all elements went. `elements_in` = `kept` + `truncated` + `rejected`, and what was written is `kept` + `duplicated`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conservation {
    /// Examples that came.
    pub examples_in: u64,
    /// Examples left out whole.
    pub examples_rejected: u64,
    /// Pieces that came of the others.
    pub pieces: u64,
    /// Elements that came.
    pub elements_in: u64,
    /// Elements that are in at least one piece.
    pub kept: u64,
    /// Elements cut off.
    pub truncated: u64,
    /// Elements of examples left out.
    pub rejected: u64,
    /// Copies beyond the first, by overlap.
    pub duplicated: u64,
}

impl Conservation {
    /// Adds what another partition counted.
    pub fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.examples_in, other.examples_in),
            (&mut self.examples_rejected, other.examples_rejected),
            (&mut self.pieces, other.pieces),
            (&mut self.elements_in, other.elements_in),
            (&mut self.kept, other.kept),
            (&mut self.truncated, other.truncated),
            (&mut self.rejected, other.rejected),
            (&mut self.duplicated, other.duplicated),
        ];
        for (sum, part) in pairs {
            *sum = sum.saturating_add(part);
        }
    }

    /// Elements in all pieces together.
    pub fn elements_out(&self) -> u64 {
        self.kept.saturating_add(self.duplicated)
    }

    /// Whether no element is unaccounted for.
    pub fn balances(&self) -> bool {
        self.kept.checked_add(self.truncated).and_then(|sum| sum.checked_add(self.rejected)) == Some(self.elements_in)
    }
}

impl Overflow {
    /// The pieces of an example of `length` elements, in order. An empty example is one empty piece.
    pub fn ranges(self, length: usize, window: NonZeroUsize) -> Ranges {
        let window = window.get();
        let stride = self.stride(window);
        let next = if length <= window {
            Some(0..length)
        } else {
            match self {
                Self::Split { .. } | Self::Truncate(Side::Right) => Some(0..window),
                Self::Truncate(Side::Left) => Some(length - window..length),
                Self::Reject => None,
            }
        };
        // A truncated example ends with its only piece.
        let length = if matches!(self, Self::Split { .. }) { length } else { next.as_ref().map_or(0, |piece| piece.end) };
        Ranges { next, length, window, stride }
    }

    /// The account of one example of `length` elements.
    pub fn account(self, length: usize, window: NonZeroUsize) -> Conservation {
        let elements = length as u64;
        let window = window.get();
        let whole = Conservation { examples_in: 1, pieces: 1, elements_in: elements, kept: elements, ..Conservation::default() };
        if length <= window {
            return whole;
        }
        match self {
            Self::Split { .. } => {
                let stride = self.stride(window);
                let more = ((length - window).div_ceil(stride)) as u64;
                Conservation { pieces: more.saturating_add(1), duplicated: more.saturating_mul((window - stride) as u64), ..whole }
            }
            Self::Truncate(_) => Conservation { kept: window as u64, truncated: elements - window as u64, ..whole },
            Self::Reject => Conservation { pieces: 0, examples_rejected: 1, kept: 0, rejected: elements, ..whole },
        }
    }

    /// The lengths of the pieces of all examples of a histogram: what the buckets see.
    pub fn histogram(self, lengths: &LengthHistogram, window: NonZeroUsize) -> LengthHistogram {
        let (wide, stride) = (window.get() as u64, self.stride(window.get()) as u64);
        let mut out = LengthHistogram::default();
        for (length, examples) in lengths.iter() {
            match self {
                _ if length <= wide => out.add_many(length, examples),
                Self::Split { .. } => {
                    // Whole windows but for the last piece, which takes what lies beyond the last whole stride.
                    let more = (length - wide).div_ceil(stride);
                    out.add_many(wide, examples.saturating_mul(more));
                    out.add_many(length - more * stride, examples);
                }
                Self::Truncate(_) => out.add_many(wide, examples),
                Self::Reject => {}
            }
        }
        out
    }

    fn stride(self, window: usize) -> usize {
        match self {
            Self::Split { overlap } => window - overlap.min(window - 1),
            Self::Truncate(_) | Self::Reject => window,
        }
    }
}

/// The pieces of one example; see [`Overflow::ranges`].
#[derive(Clone, Debug)]
pub struct Ranges {
    next: Option<Range<usize>>,
    length: usize,
    window: usize,
    stride: usize,
}

impl Iterator for Ranges {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let piece = self.next.take()?;
        if piece.end < self.length {
            let start = piece.start + self.stride;
            self.next = Some(start..self.length.min(start.saturating_add(self.window)));
        }
        Some(piece)
    }
}

/// What to do with elements that arrived; see [`Cutter::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Pass over the next so many elements.
    Skip(usize),
    /// Drop so many from the front of what is held, then append the next `take` elements.
    Take {
        /// Held elements to drop.
        forget: usize,
        /// Elements to append.
        take: usize,
    },
    /// What is held is a whole piece: write it, then keep its last `keep` elements only.
    Write {
        /// Held elements that the next piece begins with.
        keep: usize,
    },
}

/// How an example ends; see [`Cutter::end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// What is held is the last piece: write it.
    Write,
    /// The example is rejected: nothing of it was written, and what is held goes.
    Rejected,
}

/// Cuts an example that arrives piece by piece and whose length is known only at its end. The caller holds the elements, never more than a window.
///
/// ```
/// use perimeter::shape::overflow::{Cutter, End, Overflow, Step};
/// # use std::num::NonZeroUsize;
/// let mut cutter = Cutter::new(Overflow::Split { overlap: 1 }, NonZeroUsize::new(3).unwrap());
/// let (mut held, mut pieces) = (Vec::new(), Vec::new());
/// for batch in [&[1, 2][..], &[3, 4, 5, 6]] {
///     let mut at = 0;
///     while let Some(step) = cutter.step(batch.len() - at) {
///         match step {
///             Step::Skip(elements) => at += elements,
///             Step::Take { forget, take } => {
///                 held.drain(..forget);
///                 held.extend_from_slice(&batch[at..at + take]);
///                 at += take;
///             }
///             Step::Write { keep } => {
///                 pieces.push(held.clone());
///                 held.drain(..held.len() - keep);
///             }
///         }
///     }
/// }
/// if cutter.end() == End::Write {
///     pieces.push(held);
/// }
/// assert_eq!(pieces, [vec![1, 2, 3], vec![3, 4, 5], vec![5, 6]]);
/// ```
#[derive(Clone, Debug)]
pub struct Cutter {
    overflow: Overflow,
    window: NonZeroUsize,
    held: usize,
    /// Elements of the open example so far.
    length: usize,
    account: Conservation,
}

impl Cutter {
    /// For examples cut by `overflow` at `window`.
    pub fn new(overflow: Overflow, window: NonZeroUsize) -> Self {
        Self { overflow, window, held: 0, length: 0, account: Conservation::default() }
    }

    /// What to do next with `available` more elements of the open example; `None` when none are left.
    pub fn step(&mut self, available: usize) -> Option<Step> {
        if available == 0 {
            return None;
        }
        let window = self.window.get();
        let room = window - self.held;
        let step = match self.overflow {
            // A whole window is written only when more follows: the end writes the last piece.
            Overflow::Split { .. } if room == 0 => {
                self.held = window - self.overflow.stride(window);
                return Some(Step::Write { keep: self.held });
            }
            Overflow::Truncate(Side::Right) if room == 0 => Step::Skip(available),
            Overflow::Reject if self.length.saturating_add(available) > window => Step::Skip(available),
            Overflow::Truncate(Side::Left) if available > window => Step::Skip(available - window),
            Overflow::Truncate(Side::Left) => Step::Take { forget: available.saturating_sub(room), take: available },
            Overflow::Split { .. } | Overflow::Truncate(Side::Right) | Overflow::Reject => Step::Take { forget: 0, take: available.min(room) },
        };
        let passed = match step {
            Step::Skip(elements) => elements,
            Step::Take { forget, take } => {
                self.held = self.held - forget + take;
                take
            }
            Step::Write { .. } => 0,
        };
        self.length = self.length.saturating_add(passed);
        Some(step)
    }

    /// Ends the open example. The next begins with nothing held.
    pub fn end(&mut self) -> End {
        let piece = self.overflow.account(self.length, self.window);
        self.account.merge(&piece);
        (self.held, self.length) = (0, 0);
        if piece.examples_rejected > 0 { End::Rejected } else { End::Write }
    }

    /// The account of all ended examples.
    pub fn account(&self) -> &Conservation {
        &self.account
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules() -> impl Strategy<Value = Overflow> {
        prop_oneof![
            (0_usize..40).prop_map(|overlap| Overflow::Split { overlap }),
            Just(Overflow::Truncate(Side::Left)),
            Just(Overflow::Truncate(Side::Right)),
            Just(Overflow::Reject),
        ]
    }

    fn window(size: usize) -> NonZeroUsize {
        NonZeroUsize::new(size).unwrap()
    }

    /// What must come out, written down as simply as possible.
    fn model(overflow: Overflow, elements: &[u32], window: usize) -> Vec<Vec<u32>> {
        if elements.len() <= window {
            return vec![elements.to_vec()];
        }
        match overflow {
            Overflow::Truncate(Side::Left) => vec![elements[elements.len() - window..].to_vec()],
            Overflow::Truncate(Side::Right) => vec![elements[..window].to_vec()],
            Overflow::Reject => vec![],
            Overflow::Split { overlap } => {
                let (mut pieces, mut seen) = (vec![], 0);
                while seen < elements.len() {
                    let start = if pieces.is_empty() { 0 } else { seen - overlap.min(window - 1) };
                    seen = elements.len().min(start + window);
                    pieces.push(elements[start..seen].to_vec());
                }
                pieces
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_are_those_of_the_model(overflow in rules(), length in 0_usize..200, size in 1_usize..40) {
            let elements: Vec<u32> = (0..200).take(length).collect();
            let pieces: Vec<Vec<u32>> = overflow.ranges(length, window(size)).map(|range| elements[range].to_vec()).collect();
            prop_assert_eq!(&pieces, &model(overflow, &elements, size));

            let account = overflow.account(length, window(size));
            let written: usize = pieces.iter().map(Vec::len).sum();
            let mut distinct: Vec<u32> = pieces.concat();
            if !matches!(overflow, Overflow::Split { .. }) {
                prop_assert!(distinct.is_sorted());
            }
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert!(account.balances());
            prop_assert_eq!(account.elements_out(), written as u64);
            prop_assert_eq!(account.kept, distinct.len() as u64);
            prop_assert_eq!(account.pieces, pieces.len() as u64);
            prop_assert_eq!(account.examples_rejected, u64::from(pieces.is_empty()));
            if matches!(overflow, Overflow::Split { .. }) {
                prop_assert_eq!(&distinct, &elements, "nothing lost");
            }
            if overflow == (Overflow::Split { overlap: 0 }) {
                prop_assert_eq!(pieces.concat(), elements, "nothing lost, nothing twice, in order");
            }

            let histogram = overflow.histogram(&[length as u64, 3].into_iter().collect(), window(size));
            let expected = pieces.iter().map(|piece| piece.len() as u64).chain(overflow.ranges(3, window(size)).map(|range| range.len() as u64)).collect();
            prop_assert_eq!(histogram, expected);
        }

        /// However an example is cut into batches, the cutter gives the pieces of its whole.
        #[test]
        fn streaming_gives_the_same_pieces(
            overflow in rules(),
            examples in prop::collection::vec(prop::collection::vec(1_usize..50, 0..6), 1..5),
            size in 1_usize..40,
        ) {
            let mut cutter = Cutter::new(overflow, window(size));
            let mut expected = Conservation::default();
            for batches in &examples {
                let length: usize = batches.iter().sum();
                let elements: Vec<u32> = (0..).take(length).collect();
                let (mut held, mut pieces, mut start) = (Vec::new(), Vec::new(), 0);
                for &batch in batches {
                    let (mut at, end) = (start, start + batch);
                    while let Some(step) = cutter.step(end - at) {
                        match step {
                            Step::Skip(count) => at += count,
                            Step::Take { forget, take } => {
                                held.drain(..forget);
                                held.extend_from_slice(&elements[at..at + take]);
                                at += take;
                            }
                            Step::Write { keep } => {
                                pieces.push(held.clone());
                                held.drain(..held.len() - keep);
                            }
                        }
                        prop_assert!(held.len() <= size, "no more than a window is held");
                    }
                    prop_assert_eq!(at, end);
                    start = end;
                }
                match cutter.end() {
                    End::Write => pieces.push(held),
                    End::Rejected => prop_assert!(pieces.is_empty()),
                }
                prop_assert_eq!(pieces, model(overflow, &elements, size));
                expected.merge(&overflow.account(length, window(size)));
            }
            prop_assert_eq!(cutter.account(), &expected);
        }

        #[test]
        fn any_length_at_all(overflow in rules(), length in any::<usize>(), size in 1..=usize::MAX) {
            let account = overflow.account(length, window(size));
            prop_assert!(account.balances());
            prop_assert!(overflow.ranges(length, window(size)).take(3).all(|range| range.len() <= size && range.end <= length));
            overflow.histogram(&[length as u64].into_iter().collect(), window(size));
        }
    }

    /// torchtune PR 1697: packing threw when a sequence was longer than twice the maximum.
    #[test]
    fn lengths_about_multiples_of_the_window() {
        for length in [31, 32, 33, 64, 65, 97] {
            let elements: Vec<u32> = (0..97).take(length).collect();
            let pieces: Vec<Vec<u32>> = Overflow::Split { overlap: 0 }.ranges(length, window(32)).map(|range| elements[range].to_vec()).collect();
            assert_eq!(pieces.len(), length.div_ceil(32));
            assert!(pieces.iter().all(|piece| (1..=32).contains(&piece.len())));
            assert_eq!(pieces.concat(), elements);
        }
    }

    /// torchtune PR 2967: after truncation the end mark was there and its mask was off. Elements and masks are cut by one range.
    #[test]
    fn masks_are_cut_as_their_elements() {
        let tokens: Vec<u32> = (1..=40).collect();
        let mask: Vec<bool> = tokens.iter().map(|token| token % 3 == 0).collect();
        for overflow in [Overflow::Truncate(Side::Left), Overflow::Truncate(Side::Right), Overflow::Split { overlap: 5 }] {
            for range in overflow.ranges(tokens.len(), window(16)) {
                assert!(tokens[range.clone()].iter().zip(&mask[range]).all(|(token, &mask)| mask == (token % 3 == 0)));
            }
        }
    }
}
