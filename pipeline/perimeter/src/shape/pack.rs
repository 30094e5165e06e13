//! Packing: several short examples in one window of static length.
//!
//! [`Packer`] decides where each example goes, as it comes, and holds no element itself: the caller keeps one buffer per slot. First fit over a bounded
//! number of open windows, oldest first; when none has room and all slots are taken, the fullest window (among equals the oldest) is closed. The result
//! depends on the lengths in their order alone.
//!
//! A closed window says which elements belong together: `segmentation` counts its examples from 1, `position` counts within each from 0, and both are 0 over
//! the padding at the end, as Grain and MaxText have it.
use std::num::NonZeroUsize;

/// What windows may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elements of a window.
    pub window: NonZeroUsize,
    /// Examples in a window at most.
    pub segments: NonZeroUsize,
    /// Windows that are open at a time: what bounds memory.
    pub open: NonZeroUsize,
}

/// The example does not fit a window: it has to be cut first (see [`overflow`](super::overflow)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an example of {length} elements does not fit a window of {window}")]
pub struct TooLong {
    /// Its elements.
    pub length: usize,
    /// Those of a window.
    pub window: usize,
}

/// Where an example goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The buffer, below [`Limits::open`].
    pub slot: usize,
    /// The place of its first element in the buffer.
    pub start: usize,
    /// What the slot held before is complete: write it and clear the buffer first.
    pub closed: Option<Window>,
}

/// A window that takes no more examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The buffer with its elements.
    pub slot: usize,
    /// The lengths of its examples, in order.
    segments: Vec<u32>,
}

impl Window {
    /// The lengths of its examples, in order; none is 0.
    pub fn segments(&self) -> &[u32] {
        &self.segments
    }

    /// Elements that are no padding.
    pub fn used(&self) -> usize {
        self.segments.iter().map(|&length| length as usize).sum()
    }

    /// Appends 1, 2, … per example: the caller pads with 0.
    pub fn segmentation(&self, out: &mut Vec<i64>) {
        for (number, &length) in (1_i64..).zip(&self.segments) {
            out.extend(std::iter::repeat_n(number, length as usize));
        }
    }

    /// Appends 0, 1, … within each example: the caller pads with 0.
    pub fn position(&self, out: &mut Vec<i64>) {
        for &length in &self.segments {
            out.extend(0..i64::from(length));
        }
    }
}

/// What was packed. `elements` + `padding` = `windows` · window once all are closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Packed {
    /// Examples placed.
    pub examples: u64,
    /// Examples without elements, which have no place.
    pub empty: u64,
    /// Elements placed.
    pub elements: u64,
    /// Windows closed.
    pub windows: u64,
    /// Padding at the ends of closed windows, in elements.
    pub padding: u64,
    /// The most examples that one window holds.
    pub most_segments: u64,
}

impl Packed {
    /// Adds what another partition packed.
    pub fn merge(&mut self, other: &Self) {
        self.examples = self.examples.saturating_add(other.examples);
        self.empty = self.empty.saturating_add(other.empty);
        self.elements = self.elements.saturating_add(other.elements);
        self.windows = self.windows.saturating_add(other.windows);
        self.padding = self.padding.saturating_add(other.padding);
        self.most_segments = self.most_segments.max(other.most_segments);
    }
}

/// Places examples into windows; see the [module](self).
///
/// ```
/// # use perimeter::shape::pack::{Limits, Packer};
/// # use std::num::NonZeroUsize;
/// # let n = |n| NonZeroUsize::new(n).unwrap();
/// let mut packer = Packer::new(Limits { window: n(8), segments: n(4), open: n(1) });
/// let mut buffers = vec![Vec::new()];
/// let mut windows = Vec::new();
/// for example in [&[1, 2, 3][..], &[4, 5, 6, 7], &[8, 9]] {
///     let Some(place) = packer.place(example.len())? else { continue };
///     if let Some(window) = place.closed {
///         windows.push((window, std::mem::take(&mut buffers[place.slot])));
///     }
///     buffers[place.slot].extend_from_slice(example);
/// }
/// for window in packer.finish() {
///     let buffer = std::mem::take(&mut buffers[window.slot]);
///     windows.push((window, buffer));
/// }
/// assert_eq!(windows[0].1, [1, 2, 3, 4, 5, 6, 7]);
/// assert_eq!(windows[0].0.segments(), [3, 4]);
/// assert_eq!(windows[1].1, [8, 9]);
/// # Ok::<(), perimeter::shape::pack::TooLong>(())
/// ```
#[derive(Clone, Debug)]
pub struct Packer {
    limits: Limits,
    /// Oldest first.
    open: Vec<Open>,
    packed: Packed,
}

#[derive(Clone, Debug)]
struct Open {
    window: Window,
    used: usize,
}

impl Packer {
    /// For windows within `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { limits, open: Vec::new(), packed: Packed::default() }
    }

    /// The place of the next example; `None` for one without elements.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn place(&mut self, length: usize) -> Result<Option<Place>, TooLong> {
        let window = self.limits.window.get();
        let segment = u32::try_from(length).ok().filter(|_| length <= window).ok_or(TooLong { length, window })?;
        if length == 0 {
            self.packed.empty = self.packed.empty.saturating_add(1);
            return Ok(None);
        }
        self.packed.examples = self.packed.examples.saturating_add(1);
        self.packed.elements = self.packed.elements.saturating_add(length as u64);
        let most = self.limits.segments.get();
        if let Some(open) = self.open.iter_mut().find(|open| window - open.used >= length && open.window.segments.len() < most) {
            let start = open.used;
            open.used += length;
            open.window.segments.push(segment);
            return Ok(Some(Place { slot: open.window.slot, start, closed: None }));
        }
        let closed = if self.open.len() < self.limits.open.get() { None } else { self.close_fullest() };
        // Slots are taken in order until all are: then the closed window's is free.
        let slot = closed.as_ref().map_or(self.open.len(), |closed| closed.slot);
        self.open.push(Open { window: Window { slot, segments: vec![segment] }, used: length });
        Ok(Some(Place { slot, start: 0, closed }))
    }

    /// Closes what is open, oldest first, and begins anew: at the end of a shard. The account goes on.
    pub fn finish(&mut self) -> Vec<Window> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|open| self.close(open)).collect()
    }

    /// The account so far.
    pub fn packed(&self) -> &Packed {
        &self.packed
    }

    fn close_fullest(&mut self) -> Option<Window> {
        let most = self.limits.segments.get();
        // A window that takes no more segments is full, whatever room it has.
        let room = |open: &Open| if open.window.segments.len() < most { self.limits.window.get() - open.used } else { 0 };
        let (index, _) = self.open.iter().enumerate().min_by_key(|(_, open)| room(open))?;
        let open = self.open.remove(index);
        Some(self.close(open))
    }

    fn close(&mut self, open: Open) -> Window {
        self.packed.windows = self.packed.windows.saturating_add(1);
        self.packed.padding = self.packed.padding.saturating_add((self.limits.window.get() - open.used) as u64);
        self.packed.most_segments = self.packed.most_segments.max(open.window.segments.len() as u64);
        open.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(window: usize, segments: usize, open: usize) -> Limits {
        let number = |value| NonZeroUsize::new(value).unwrap();
        Limits { window: number(window), segments: number(segments), open: number(open) }
    }

    /// Packs examples of numbered elements: per window its elements, segmentation and position.
    fn pack(lengths: &[usize], limits: Limits) -> (Vec<[Vec<i64>; 3]>, Packed) {
        let mut packer = Packer::new(limits);
        let mut buffers = vec![Vec::new(); limits.open.get()];
        let mut windows = Vec::new();
        let mut next = 0_i64..;
        let mut write = |window: &Window, buffer: &mut Vec<i64>| {
            let (mut segmentation, mut position) = (Vec::new(), Vec::new());
            window.segmentation(&mut segmentation);
            window.position(&mut position);
            assert_eq!(window.used(), buffer.len());
            windows.push([std::mem::take(buffer), segmentation, position]);
        };
        for &length in lengths {
            let Some(place) = packer.place(length).unwrap() else { continue };
            if let Some(window) = &place.closed {
                assert_eq!(window.slot, place.slot);
                write(window, &mut buffers[place.slot]);
            }
            assert_eq!(buffers[place.slot].len(), place.start);
            buffers[place.slot].extend(next.by_ref().take(length));
        }
        for window in packer.finish() {
            write(&window, &mut buffers[window.slot]);
        }
        assert!(buffers.iter().all(Vec::is_empty));
        (windows, *packer.packed())
    }

    /// Unbounded first fit, as simply as possible.
    fn first_fit(lengths: &[usize], window: usize, segments: usize) -> Vec<Vec<usize>> {
        let mut windows: Vec<Vec<usize>> = Vec::new();
        for &length in lengths.iter().filter(|&&length| length > 0) {
            match windows.iter_mut().find(|other| other.iter().sum::<usize>() + length <= window && other.len() < segments) {
                Some(other) => other.push(length),
                None => windows.push(vec![length]),
            }
        }
        windows
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_duplicated(
            (window, lengths) in (1_usize..40).prop_flat_map(|window| (Just(window), prop::collection::vec(0..=window, 0..80))),
            segments in 1_usize..6,
            open in 1_usize..5,
        ) {
            let limits = limits(window, segments, open);
            let (windows, packed) = pack(&lengths, limits);
            let mut seen: Vec<i64> = windows.iter().flat_map(|[elements, ..]| elements.clone()).collect();
            seen.sort_unstable();
            let total: usize = lengths.iter().sum();
            prop_assert_eq!(seen, (0..total as i64).collect::<Vec<_>>());
            for [elements, segmentation, position] in &windows {
                prop_assert!(!elements.is_empty() && elements.len() <= window);
                prop_assert!(*segmentation.iter().max().unwrap() as usize <= segments);
                prop_assert!(segmentation[0] == 1 && segmentation.windows(2).all(|pair| pair[1] - pair[0] <= 1 && pair[0] <= pair[1]));
                for (at, pair) in elements.windows(2).enumerate() {
                    let same = segmentation[at] == segmentation[at + 1];
                    // Within an example: neighbours, in order.
                    prop_assert!(!same || (pair[1] == pair[0] + 1 && position[at + 1] == position[at] + 1));
                    prop_assert!(same || position[at + 1] == 0);
                }
            }
            prop_assert_eq!(packed.elements, total as u64);
            prop_assert_eq!(packed.examples + packed.empty, lengths.len() as u64);
            prop_assert_eq!(packed.windows, windows.len() as u64);
            prop_assert_eq!(packed.elements + packed.padding, (windows.len() * window) as u64);
            prop_assert!(packed.most_segments <= segments as u64);
            prop_assert_eq!(pack(&lengths, limits), (windows, packed), "deterministic");
        }

        /// With slots enough, it is first fit.
        #[test]
        fn first_fit_when_slots_suffice(lengths in prop::collection::vec(0_usize..=20, 0..60), segments in 1_usize..6) {
            let (windows, _) = pack(&lengths, limits(20, segments, 100));
            let expected = first_fit(&lengths, 20, segments);
            let found: Vec<Vec<usize>> = windows
                .iter()
                .map(|[_, segmentation, _]| segmentation.chunk_by(|a, b| a == b).map(<[i64]>::len).collect())
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    /// grain #1000: more segments than the maximum corrupted training data.
    #[test]
    fn never_more_segments_than_the_limit() {
        let (windows, packed) = pack(&[1; 500], limits(512, 32, 4));
        assert_eq!(windows.len(), 500_usize.div_ceil(32));
        assert!(windows.iter().all(|[_, segmentation, _]| segmentation.last() <= Some(&32)));
        assert_eq!((packed.most_segments, packed.elements), (32, 500));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut packer = Packer::new(limits(8, 2, 2));
        assert_eq!(packer.place(9), Err(TooLong { length: 9, window: 8 }));
        assert_eq!(packer.place(usize::MAX), Err(TooLong { length: usize::MAX, window: 8 }));
        assert_eq!(packer.packed(), &Packed::default());
    }

    #[test]
    fn a_shard_ends_without_a_trace_in_the_next() {
        let mut packer = Packer::new(limits(8, 2, 2));
        packer.place(3).unwrap();
        assert_eq!(packer.finish().len(), 1);
        assert_eq!(packer.place(3).unwrap(), Some(Place { slot: 0, start: 0, closed: None }));
        assert_eq!(packer.finish().len(), 1);
        assert_eq!(packer.packed().windows, 2);
    }
}
