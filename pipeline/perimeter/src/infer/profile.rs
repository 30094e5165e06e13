//! What is known of a column after its values have passed: types that still fit, counts, lengths. No value is kept.
use super::formats::PATTERNS;
use super::number::{Fit, Numbers};
use foldhash::quality::FixedState;
use hashbrown::HashSet;
use perimeter_detect::{ColumnProfile, ColumnVerdict, Detector, Findings, ProfileOptions};
use std::hash::BuildHasher;

/// Cells that often stand for nothing.
pub(super) const NULL_MARKERS: [&str; 26] = [
    "", "?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "Null", "None", "none", "NaN", "nan", "NAN", "\\N", "-", "--", ".", "(null)", "(NULL)", "Exempt",
    "N/D", "n/d", "#N/D", "ND", "<null>",
];

/// What the values of JSON are; of other formats all are text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kinds {
    pub(super) text: u64,
    pub(super) number: u64,
    /// `false` and `true`.
    pub(super) booleans: [u64; 2],
}

impl Kinds {
    pub(super) fn boolean(self) -> u64 {
        self.booleans.iter().sum()
    }

    /// More than one of them.
    pub(super) fn several(self) -> bool {
        [self.text, self.number, self.boolean()].iter().filter(|count| **count > 0).count() > 1
    }
}

/// One column.
pub(super) struct Profile {
    pub(super) kinds: Kinds,
    pub(super) nulls: u64,
    /// Of [`NULL_MARKERS`]: how often each stands there as the reader would take it for null.
    pub(super) markers: [u64; NULL_MARKERS.len()],
    /// The same in quotes, where it never is null.
    quoted: [u64; NULL_MARKERS.len()],
    pub(super) shortest: usize,
    pub(super) longest: usize,
    pub(super) numbers: Numbers,
    /// Of the numbers of JSON alone.
    pub(super) literals: Numbers,
    /// All are `true` or `false`.
    pub(super) booleans: bool,
    /// By pattern of [`PATTERNS`]: values that it fits and does not.
    fits: Vec<Fit>,
    /// One bit for each that is still worth trying.
    patterns: u64,
    /// By pattern: the first and last day.
    days: Vec<(i32, i32)>,
    pub(super) with_offset: u64,
    distinct: HashSet<u64, FixedState>,
    most_distinct: usize,
    /// More values were distinct than are kept.
    pub(super) overflowed: bool,
    meaning: ColumnProfile,
}

/// Shared by all columns.
pub(super) struct Lens {
    pub(super) detector: Detector,
    pub(super) findings: Findings,
}

impl Profile {
    pub(super) fn new(name: &str, most_distinct: usize) -> Self {
        Self {
            kinds: Kinds::default(),
            nulls: 0,
            markers: [0; NULL_MARKERS.len()],
            quoted: [0; NULL_MARKERS.len()],
            shortest: usize::MAX,
            longest: 0,
            numbers: Numbers::default(),
            literals: Numbers::default(),
            booleans: true,
            patterns: u64::MAX.checked_shr(64u32.saturating_sub(u32::try_from(PATTERNS.len()).unwrap_or(64))).unwrap_or(0),
            fits: vec![Fit::default(); PATTERNS.len()],
            days: vec![(i32::MAX, i32::MIN); PATTERNS.len()],
            with_offset: 0,
            distinct: HashSet::default(),
            most_distinct,
            overflowed: false,
            meaning: ColumnProfile::new(name, ProfileOptions::default()),
        }
    }

    /// Nothing.
    pub(super) fn null(&mut self, count: u64) {
        self.nulls = self.nulls.saturating_add(count);
        self.meaning.observe_nulls(count);
    }

    /// Text, of any format.
    pub(super) fn text(&mut self, cell: &str, lens: &mut Lens) {
        self.kinds.text += 1;
        if let Some(marker) = NULL_MARKERS.iter().position(|marker| *marker == cell) {
            self.markers[marker] += 1;
            return;
        }
        self.value(cell, lens);
        let Some(new) = self.first_time(cell) else { return };
        if !new {
            return;
        }
        self.booleans = self.booleans && (cell.eq_ignore_ascii_case("true") || cell.eq_ignore_ascii_case("false"));
        self.numbers.see(cell);
        let mut left = self.patterns;
        while left != 0 {
            let index = left.trailing_zeros() as usize;
            left &= left - 1;
            let (Some(pattern), Some(range), Some(fit)) = (PATTERNS.get(index), self.days.get_mut(index), self.fits.get_mut(index)) else { continue };
            let day = pattern.days(cell);
            fit.count(day.is_some());
            match day {
                Some(day) => *range = (range.0.min(day), range.1.max(day)),
                None if fit.is_hopeless() => self.patterns &= !(1 << index),
                None => {}
            }
        }
    }

    /// A number of JSON, as it is written.
    pub(super) fn number(&mut self, lexeme: &str, lens: &mut Lens) {
        self.kinds.number += 1;
        self.value(lexeme, lens);
        if self.first_time(lexeme) == Some(true) {
            self.numbers.see(lexeme);
            self.literals.see(lexeme);
        }
    }

    /// A literal of JSON.
    pub(super) fn boolean(&mut self, value: bool) {
        self.kinds.booleans[usize::from(value)] += 1;
    }

    /// A cell that was text although all of [`NULL_MARKERS`] were null: it stands in quotes.
    pub(super) fn not_null(&mut self, cell: &str) {
        let Some(marker) = NULL_MARKERS.iter().skip(1).position(|marker| *marker == cell) else { return };
        let (markers, quoted) = (&mut self.markers[marker + 1], &mut self.quoted[marker + 1]);
        (*markers, *quoted) = (markers.saturating_sub(1), *quoted + 1);
    }

    /// Texts that are empty or like a marker and yet no nulls.
    pub(super) fn quoted(&self) -> u64 {
        self.markers[0] + self.quoted.iter().sum::<u64>()
    }

    /// Whether some cell is like a marker of nulls.
    pub(super) fn has_markers(&self) -> bool {
        self.markers.iter().skip(1).any(|count| *count > 0)
    }

    /// A value of a file that says what its columns are.
    pub(super) fn declared(&mut self, cell: &str, lens: &mut Lens) {
        self.kinds.text += 1;
        self.value(cell, lens);
        let _ = self.first_time(cell);
    }

    fn value(&mut self, cell: &str, lens: &mut Lens) {
        let characters = if cell.is_ascii() { cell.len() } else { cell.chars().count() };
        self.shortest = self.shortest.min(characters);
        self.longest = self.longest.max(characters);
        // Offsets are counted over all values: naive ones need a zone.
        if self.patterns & 2 != 0 && PATTERNS.get(1).is_some_and(|iso| iso.has_offset(cell)) {
            self.with_offset += 1;
        }
        if self.overflowed || !self.distinct.contains(&hash(cell)) {
            self.meaning.observe(cell, &lens.detector, &mut lens.findings);
        }
    }

    /// Whether the value has not been seen before; where that is not known, it is taken for new.
    fn first_time(&mut self, cell: &str) -> Option<bool> {
        if self.distinct.len() >= self.most_distinct {
            let known = self.distinct.contains(&hash(cell));
            self.overflowed |= !known;
            return Some(!known);
        }
        Some(self.distinct.insert(hash(cell)))
    }

    /// Distinct values; `None`: more than are kept.
    pub(super) fn distinct(&self) -> Option<u64> {
        let markers = self.markers.iter().zip(&self.quoted).filter(|(bare, quoted)| **bare + **quoted > 0).count();
        let booleans = self.kinds.booleans.iter().filter(|count| **count > 0).count();
        (!self.overflowed).then_some((self.distinct.len() + markers + booleans) as u64)
    }

    /// Whether this value is among those seen.
    pub(super) fn has(&self, cell: &str) -> bool {
        self.distinct.contains(&hash(cell))
    }

    /// Values, those that may stand for nothing among them.
    pub(super) fn values(&self) -> u64 {
        self.kinds.text + self.kinds.number + self.kinds.boolean()
    }

    /// Values that are not among [`NULL_MARKERS`].
    pub(super) fn meant(&self) -> u64 {
        self.values() - self.markers.iter().chain(&self.quoted).sum::<u64>()
    }

    /// Whether a pattern fits every value.
    pub(super) fn fits(&self, pattern: usize) -> bool {
        self.fits.get(pattern).is_some_and(Fit::all)
    }

    /// Values that a pattern was tried with.
    pub(super) fn looked_at(&self, pattern: usize) -> u64 {
        self.fits.get(pattern).map_or(0, Fit::total)
    }

    /// The pattern that fits most values though not all of them, and their share.
    pub(super) fn nearly(&self) -> Option<(usize, f64)> {
        let shares = self.fits.iter().enumerate().filter_map(|(pattern, fit)| Some((pattern, fit.nearly()?)));
        // Of several the first is preferred.
        shares.rev().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// First and last day of a pattern, years of two digits counted from 2000.
    pub(super) fn days(&self, pattern: usize) -> Option<(i32, i32)> {
        self.days.get(pattern).copied().filter(|(first, last)| first <= last)
    }

    pub(super) fn verdict(&self) -> ColumnVerdict {
        self.meaning.verdict()
    }
}

fn hash(cell: &str) -> u64 {
    FixedState::with_seed(0x7065_7269_6d65_7465).hash_one(cell)
}
