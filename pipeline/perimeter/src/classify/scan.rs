//! Reading: units of a source to column profiles.
//!
//! Which rows are looked at follows from the listing and the seed alone. Units are put in an order that the seed draws and taken in rounds of [`ROUND`]; the rows that
//! are still wanted are shared out evenly over a round, and a unit gives its first rows. So many small files, few large ones and compressed ones all come to the same
//! number of rows, spread as widely as units go, whatever the number of threads.
//!
//! Rows that are no values of the contract's types are counted and not looked at: a run rejects them, and they leave as little. All other rules of the contract are
//! left out here.
use crate::error::{Error, Failure, Result};
use crate::infer::texts;
use crate::progress::Progress;
use crate::read::{self, Ingest, InputFile, Look, Rejected, Unit};
use crate::store::Stores;
use arrow::array::RecordBatch;
use foldhash::quality::FixedState;
use hashbrown::HashSet;
use perimeter_contract::job::Source;
use perimeter_contract::policy::SampleRows;
use perimeter_contract::schema::{Column, DataType, Schema};
use perimeter_detect::{
    Check, ColumnSample, ColumnVerdict, Context, CustomDetector, Detector, DetectorError, DetectorOptions, Finding, Findings, InfoType, Likelihood,
    ProfileOptions, TypeSet,
};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Units among which the rows of one round are shared.
const ROUND: usize = 16;
/// Distinct values that are looked at, over all columns of a source: about 50 MB of verdicts in each thread.
const DISTINCT: usize = 400_000;
/// Texts of a column that are remembered in a unit.
const REMEMBERED: usize = 8_192;

/// Which rows are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Sampling<'a> {
    /// Draws units and values.
    pub seed: u64,
    /// Rows of a source.
    pub rows: SampleRows,
    /// Files that are looked at whole, by position in the listing: what Amazon Macie has not.
    pub whole_files: &'a BTreeSet<usize>,
}

/// What it takes to look at a source.
pub struct Looking<'a> {
    /// Where the files are.
    pub stores: &'a Stores,
    /// The same detector for all parts of a column.
    pub detector: &'a Detector,
    /// Threads that read; changes nothing but speed.
    pub threads: usize,
    /// What a person sees meanwhile; in a run, the rows that are counted are others.
    pub progress: Option<&'a Progress>,
}

/// What has been seen of one source.
#[derive(Clone, Debug)]
pub struct SourceScan {
    /// By column of the contract.
    pub columns: Vec<SeenColumn>,
    /// Rows looked at.
    pub rows: u64,
    /// Records that are no rows of these types, by code.
    pub unreadable: BTreeMap<String, u64>,
    /// Every row of every file was read.
    pub complete: bool,
}

/// What has been seen of one column.
#[derive(Clone, Debug)]
pub struct SeenColumn {
    /// What the detectors say.
    pub verdict: ColumnVerdict,
    /// Types inside of texts of some words, and in how many.
    pub inside: BTreeMap<InfoType, u64>,
    /// Of how many values of a text column; one that comes back far away counts again.
    pub texts: u64,
}

/// The detectors of this module, and a policy's own. Inside of texts, what only looks like its type does not count: [`Likelihood::Likely`] is a check digit, or a form with its context.
///
/// # Errors
/// As [`Detector::new`]; none without `custom`.
pub fn detector(custom: Vec<CustomDetector>) -> Result<Detector, DetectorError> {
    Detector::new(&DetectorOptions { custom, min_likelihood: Likelihood::Likely, ..DetectorOptions::default() })
}

/// The same columns, without rules: a row is looked at if its values are of its types.
pub(super) fn loosened(source: &Source) -> Source {
    let loose = |column: &Column| Column { required: false, item_required: false, rules: Vec::new(), ..column.clone() };
    let schema = &source.schema;
    let columns = schema.columns.iter().map(loose).collect();
    Source { schema: Schema { columns, required_objects: Vec::new(), rules: Vec::new(), ..schema.clone() }, ..source.clone() }
}

/// Looks at the rows of a source. `units` are those that planning cut its files into.
///
/// # Errors
/// As [`read::ingest_unit`].
pub fn scan(looking: &Looking<'_>, source: &Source, files: &[InputFile], units: &[Unit], sampling: Sampling<'_>) -> Result<SourceScan> {
    let source = loosened(source);
    let width = source.schema.columns.len();
    let options = ProfileOptions { distinct_values: (DISTINCT / width.max(1)).clamp(500, ProfileOptions::default().distinct_values), seed: sampling.seed };
    let reader = Reader { looking, source: &source, files, projection: (0..width).collect(), options };
    let mut all = reader.nothing();
    let (whole, sampled) = order(units, sampling);
    all.add(reader.round(&whole.iter().map(|unit| (*unit, None)).collect::<Vec<_>>())?);
    if let SampleRows::AtMost(rows) = sampling.rows {
        let (mut wanted, mut left) = (rows, sampled.as_slice());
        while wanted > 0 && !left.is_empty() {
            let (now, later) = left.split_at(left.len().min(ROUND));
            let seen = reader.round(&shares(now, wanted))?;
            wanted = wanted.saturating_sub(seen.rows + seen.unreadable_rows);
            all.add(seen);
            left = later;
        }
        all.more |= !left.is_empty();
    }
    all.finish(looking)
}

/// Units that are read whole, in their order, and those that are sampled, in the order that the seed draws.
fn order<'a>(units: &'a [Unit], sampling: Sampling<'_>) -> (Vec<&'a Unit>, Vec<&'a Unit>) {
    let all = sampling.rows == SampleRows::All;
    let (whole, mut sampled): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|unit| all || sampling.whole_files.contains(&unit.file));
    // By place and not by name: a name can hold a date, and the same files under another folder are the same sample.
    let mut drawn: Vec<(u64, &Unit)> = sampled.drain(..).enumerate().map(|(place, unit)| (mixed(sampling.seed, place as u64), unit)).collect();
    // SplitMix64 gives different numbers different hashes.
    drawn.sort_unstable_by_key(|(hash, _)| *hash);
    (whole, drawn.into_iter().map(|(_, unit)| unit).collect())
}

/// `wanted` rows, shared out over the units of a round.
fn shares<'a>(units: &[&'a Unit], wanted: u64) -> Vec<(&'a Unit, Option<u64>)> {
    let count = units.len().max(1) as u64;
    let share = |(at, unit): (usize, &&'a Unit)| (*unit, Some(wanted / count + u64::from((at as u64) < wanted % count)));
    units.iter().enumerate().map(share).filter(|(_, rows)| *rows != Some(0)).collect()
}

/// SplitMix64.
fn mixed(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Reader<'a> {
    looking: &'a Looking<'a>,
    source: &'a Source,
    files: &'a [InputFile],
    projection: Vec<usize>,
    options: ProfileOptions,
}

impl Reader<'_> {
    fn nothing(&self) -> Seen {
        let columns = self.source.schema.columns.iter().map(|column| Seeing::new(column, self.options)).collect();
        Seen { columns, rows: 0, unreadable_rows: 0, unreadable: BTreeMap::new(), more: false }
    }

    /// Reads units at once; what they show is added up in any order, and comes to the same.
    fn round(&self, units: &[(&Unit, Option<u64>)]) -> Result<Seen> {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<usize, Error>::new()));
        let mut all = self.nothing();
        let parts = std::thread::scope(|scope| {
            let work = || {
                let (mut seen, mut findings) = (self.nothing(), Findings::new());
                while let Some((at, (unit, rows))) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, units.get(at)?))) {
                    if let Err(error) = self.unit(unit, *rows, &mut seen, &mut findings) {
                        failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(at, error);
                        next.store(units.len(), Ordering::Relaxed);
                    }
                }
                seen
            };
            let threads: Vec<_> = (0..self.looking.threads.clamp(1, units.len().max(1))).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        if let Some((_, error)) = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).pop_first() {
            return Err(error);
        }
        for part in parts {
            let panicked = |_| Failure::new(crate::error::Culprit::Outside, "internal", format!("looking at source `{}` ended by a fault", self.source.name));
            all.add(part.map_err(panicked)?);
        }
        Ok(all)
    }

    fn unit(&self, unit: &Unit, rows: Option<u64>, seen: &mut Seen, findings: &mut Findings) -> Result<()> {
        // Reading ends a batch late, so batches are small where few rows are wanted.
        let batch_rows = usize::try_from(rows.unwrap_or(u64::MAX) / 4).unwrap_or(usize::MAX).clamp(256, 8_192);
        let ingest = Ingest { stores: self.looking.stores, source: self.source, files: self.files, projection: &self.projection, batch_rows };
        let mut left = rows.unwrap_or(u64::MAX);
        let mut eye = Eye { seen, findings, detector: self.looking.detector, progress: self.looking.progress, fault: false };
        let more = read::ingest_some(&ingest, unit, &mut left, &mut eye)?;
        let fault = eye.fault;
        seen.more |= more;
        if fault {
            let message = format!("a column of source `{}` has values without a text, which nobody can look at", self.source.name);
            return Err(Failure::new(crate::error::Culprit::Data, "not-classified", message).help("this is a bug: report it").into());
        }
        seen.columns.iter_mut().for_each(Seeing::end_unit);
        if let Some(progress) = self.looking.progress {
            progress.add_bytes(self.files.get(unit.file).map_or(0, |file| file.size_bytes));
        }
        Ok(())
    }
}

/// Looks at what is read.
struct Eye<'a> {
    seen: &'a mut Seen,
    findings: &'a mut Findings,
    detector: &'a Detector,
    progress: Option<&'a Progress>,
    fault: bool,
}

impl Look for Eye<'_> {
    fn rows(&mut self, batch: &RecordBatch, rows: usize) {
        self.seen.rows += rows as u64;
        for (column, seeing) in batch.columns().iter().zip(&mut self.seen.columns) {
            let column = column.slice(0, rows.min(column.len()));
            let (detector, findings) = (self.detector, &mut *self.findings);
            let nulls = texts(&column, &mut |text| seeing.observe(text, detector, findings));
            self.fault |= nulls.is_none();
            seeing.sample.observe_nulls(nulls.unwrap_or_default());
        }
        if let Some(progress) = self.progress {
            progress.add_rows(rows as u64);
        }
    }

    fn rejected(&mut self, record: &Rejected<'_>) {
        for code in record.codes {
            *self.seen.unreadable.entry((*code).to_owned()).or_default() += 1;
        }
        self.seen.unreadable_rows += 1;
        if let Some(progress) = self.progress {
            progress.add_rejected(1);
        }
    }
}

/// Of one column, from some units.
struct Seeing {
    sample: ColumnSample,
    /// Of text columns.
    texts: Option<Texts>,
}

/// What stands inside of the texts of a column. One text among a million counts, so every one that is read is looked at, and no sample of them.
#[derive(Default)]
struct Texts {
    /// Hashes of those looked at since it was last emptied: texts that come back are looked at once.
    seen: HashSet<u64, FixedState>,
    looked_at: u64,
    inside: BTreeMap<InfoType, u64>,
}

impl Seeing {
    fn new(column: &Column, options: ProfileOptions) -> Self {
        let texts = matches!(value_type(&column.data_type), DataType::String).then(Texts::default);
        Self { sample: ColumnSample::new(&column.name, options), texts }
    }

    fn observe(&mut self, text: &str, detector: &Detector, findings: &mut Findings) {
        self.sample.observe(text, detector, findings);
        if let Some(texts) = &mut self.texts {
            texts.observe(text.trim(), detector, findings);
        }
    }

    /// What a unit has shown never depends on the units that the same thread has read before.
    fn end_unit(&mut self) {
        if let Some(texts) = &mut self.texts {
            texts.seen.clear();
        }
    }
}

impl Texts {
    fn observe(&mut self, text: &str, detector: &Detector, findings: &mut Findings) {
        if text.is_empty() {
            return;
        }
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        if !self.seen.insert(FixedState::with_seed(0).hash_one(text)) {
            return;
        }
        self.looked_at += 1;
        let mut words = text.split_whitespace();
        // A word is a value, and the profile has judged it.
        if words.by_ref().nth(1).is_none() {
            return;
        }
        let words = 2 + words.count();
        let long = words >= 6 || (words >= 4 && text.len() > 40);
        detector.scan(text, &Context::NONE, findings);
        // Of few words, names and numbers alone are what many things look like; what proves itself counts.
        let counts = |found: &&Finding| long || found.check == Check::Passed || found.info_type.chance() <= 0.000_1;
        let types: TypeSet = findings.iter().filter(counts).map(|found| found.info_type).collect();
        for info_type in types.iter() {
            *self.inside.entry(info_type).or_default() += 1;
        }
    }
}

/// The type of the values: those of a list are inside of it.
pub(super) fn value_type(data_type: &DataType) -> &DataType {
    if let DataType::List(item) = data_type { item } else { data_type }
}

/// Of one source, from some units.
struct Seen {
    columns: Vec<Seeing>,
    rows: u64,
    unreadable_rows: u64,
    unreadable: BTreeMap<String, u64>,
    more: bool,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.unreadable_rows += other.unreadable_rows;
        self.more |= other.more;
        for (code, count) in other.unreadable {
            *self.unreadable.entry(code).or_default() += count;
        }
        for (mine, theirs) in self.columns.iter_mut().zip(other.columns) {
            // Of one column and one seed, always.
            let merged = mine.sample.merge(theirs.sample);
            debug_assert!(merged.is_ok());
            if let (Some(mine), Some(theirs)) = (&mut mine.texts, theirs.texts) {
                mine.looked_at += theirs.looked_at;
                for (info_type, count) in theirs.inside {
                    *mine.inside.entry(info_type).or_default() += count;
                }
            }
        }
    }

    /// Judges what is in the samples, a column at a time in each thread.
    fn finish(self, looking: &Looking<'_>) -> Result<SourceScan> {
        let waiting: Vec<Mutex<Option<Seeing>>> = self.columns.into_iter().map(|column| Mutex::new(Some(column))).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut judged, mut findings) = (Vec::new(), Findings::new());
            while let Some((at, column)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, waiting.get(at)?))) {
                let Some(column) = column.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() else { continue };
                let texts = column.texts.unwrap_or_default();
                let verdict = column.sample.judged(looking.detector, &mut findings).verdict();
                judged.push((at, SeenColumn { verdict, inside: texts.inside, texts: texts.looked_at }));
            }
            judged
        };
        let parts = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..looking.threads.clamp(1, waiting.len().max(1))).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let mut columns = BTreeMap::new();
        for part in parts {
            columns.extend(part.map_err(|_| Failure::new(crate::error::Culprit::Outside, "internal", "judging the values ended by a fault"))?);
        }
        Ok(SourceScan { columns: columns.into_values().collect(), rows: self.rows, unreadable: self.unreadable, complete: !self.more })
    }
}

#[cfg(test)]
mod tests;
