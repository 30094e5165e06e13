//! Which records break which rules about sets.
//!
//! A bit per record, in pieces of 1,024: at most a byte for every six records of a source and rule, however many of them are wrong, and 160 bytes for a lone one.
use super::Finding;
use super::plan::SetPlan;
use std::collections::BTreeMap;

/// Records of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    pieces: BTreeMap<u64, Box<[u64; WORDS]>>,
}

const WORDS: usize = 16;
const PIECE_RECORDS: u64 = 64 * WORDS as u64;

/// A piece with its place in the map.
const PIECE_BYTES: usize = 8 * WORDS + 32;

fn place(record: u64) -> (u64, usize, u64) {
    let within = record % PIECE_RECORDS;
    (record / PIECE_RECORDS, usize::try_from(within / 64).unwrap_or(0), 1 << (within % 64))
}

impl Records {
    /// Whether a new piece was needed.
    fn insert(&mut self, record: u64) -> bool {
        let (piece, word, bit) = place(record);
        let mut fresh = false;
        let words = self.pieces.entry(piece).or_insert_with(|| {
            fresh = true;
            Box::new([0; WORDS])
        });
        words[word] |= bit;
        fresh
    }

    fn len(&self) -> u64 {
        self.pieces.values().flat_map(|words| words.iter()).map(|word| u64::from(word.count_ones())).sum()
    }

    /// Those from `first` to `last`, ascending.
    fn range(&self, first: u64, last: u64) -> impl Iterator<Item = u64> {
        let pieces = if first <= last { Some(self.pieces.range(first / PIECE_RECORDS..=last / PIECE_RECORDS)) } else { None };
        let all = pieces.into_iter().flatten().flat_map(|(piece, words)| {
            words.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(move |(at, word)| {
                let base = piece * PIECE_RECORDS + 64 * at as u64;
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| base + bit)
            })
        });
        all.filter(move |record| (first..=last).contains(record))
    }

    fn add(&mut self, other: &Self) {
        for (piece, words) in &other.pieces {
            let mine = self.pieces.entry(*piece).or_insert_with(|| Box::new([0; WORDS]));
            mine.iter_mut().zip(words.iter()).for_each(|(mine, theirs)| *mine |= theirs);
        }
    }
}

/// The violations of one file.
#[derive(Clone, Debug, Default)]
pub struct FileViolations {
    /// By rule of the contract.
    rules: BTreeMap<u32, Records>,
}

impl FileViolations {
    /// Calls `broken` with rule and record number of every violation from record `first` to record `last`.
    pub fn between(&self, first: u64, last: u64, mut broken: impl FnMut(usize, u64)) {
        for (rule, records) in &self.rules {
            records.range(first, last).for_each(|record| broken(*rule as usize, record));
        }
    }

    /// Rules with the number of their violations and the first `most` of them.
    pub fn by_rule(&self, most: usize) -> impl Iterator<Item = (usize, u64, Vec<u64>)> {
        self.rules.iter().map(move |(rule, records)| (*rule as usize, records.len(), records.range(0, u64::MAX).take(most).collect()))
    }

    /// Records that break a rule about sets: none of them was rejected for a rule of its own.
    pub fn rejected(&self) -> u64 {
        match self.rules.values().collect::<Vec<_>>().as_slice() {
            [] => 0,
            [one] => one.len(),
            several => {
                let mut all = Records::default();
                several.iter().for_each(|records| all.add(records));
                all.len()
            }
        }
    }
}

/// The violations of a job.
#[derive(Clone, Debug, Default)]
pub struct Violations {
    /// By source and file.
    files: BTreeMap<(u32, u32), FileViolations>,
    pieces: usize,
}

impl Violations {
    /// Adds one. A finding of a group that the plan does not have is dropped.
    pub fn insert(&mut self, plan: &SetPlan, finding: Finding) {
        let Some((source, rule)) = plan.rule_of(finding.group) else { return };
        let file = self.files.entry((source, finding.file)).or_default();
        self.pieces += usize::from(file.rules.entry(rule).or_default().insert(finding.record));
    }

    /// Memory that they take.
    pub fn bytes(&self) -> usize {
        self.pieces.saturating_mul(PIECE_BYTES)
    }

    /// Those of a file; none when it has none.
    pub fn of_file(&self, source: usize, file: usize) -> Option<&FileViolations> {
        self.files.get(&(u32::try_from(source).ok()?, u32::try_from(file).ok()?))
    }

    /// All files that have some, by source and file.
    pub fn files(&self) -> impl Iterator<Item = (usize, usize, &FileViolations)> {
        self.files.iter().map(|((source, file), violations)| (*source as usize, *file as usize, violations))
    }
}
