//! Rows to digests and counts while a unit is read.
use super::digest::Cells;
use super::plan::{Key, SetPlan};
use super::walk::INCOMPARABLE;
use super::{DigestKey, Observe, Observed};
use crate::check::expression::not_read;
use crate::error::Result;
use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;

/// Takes records to be sorted.
pub trait DigestSink {
    /// One record; `digest` says where it belongs.
    ///
    /// # Errors
    /// It cannot be taken.
    fn push(&mut self, digest: u128, record: &[u8]) -> Result<()>;
}

/// What the metrics of a source have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clean rows.
    pub rows: u64,
    /// By metric of the source.
    pub metrics: Vec<u64>,
}

impl Counts {
    /// Adds another unit's.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.metrics.resize(self.metrics.len().max(other.metrics.len()), 0);
        for (mine, theirs) in self.metrics.iter_mut().zip(&other.metrics) {
            *mine += theirs;
        }
    }
}

/// Looks on while one unit is read.
pub struct UnitObserver<'a> {
    plan: &'a SetPlan,
    key: &'a DigestKey,
    source: usize,
    file: u32,
    counts: Counts,
    sink: &'a mut dyn DigestSink,
    /// The bytes of a key.
    buffer: Vec<u8>,
    record: Vec<u8>,
}

impl<'a> UnitObserver<'a> {
    /// For a unit of file number `file` of source number `source`.
    pub fn new(plan: &'a SetPlan, key: &'a DigestKey, source: usize, file: usize, sink: &'a mut dyn DigestSink) -> Self {
        let counts = Counts { rows: 0, metrics: vec![0; plan.metrics(source).len()] };
        let file = u32::try_from(file).unwrap_or(u32::MAX);
        Self { plan, key, source, file, counts, sink, buffer: Vec::new(), record: Vec::new() }
    }

    /// What the metrics counted.
    pub fn finish(self) -> Counts {
        self.counts
    }

    fn digests(&mut self, key: &Key, observed: &Observed<'_>) -> Result<()> {
        let array = |column: &usize| -> Result<&ArrayRef> { Ok(&observed.columns.get(*column).copied().flatten().ok_or_else(not_read)?.array) };
        let columns = key.columns.iter().map(array).collect::<Result<Vec<_>>>()?;
        let value = key.value.as_ref().map(array).transpose()?;
        let cells = columns.iter().map(|array| Cells::of(array)).collect::<Option<Vec<_>>>().ok_or_else(not_read)?;
        let ranked = value.map(|value| Cells::of(value).ok_or_else(not_read)).transpose()?;
        // Where rows are put in order, null is a group as any other.
        let grouped = value.is_some();
        let to_skip = columns.iter().copied().filter(|_| !grouped).chain(value);
        let nulls = to_skip.fold(None, |nulls: Option<NullBuffer>, array| NullBuffer::union(nulls.as_ref(), array.nulls()));
        let width = self.plan.record_bytes();
        for row in observed.clean.rows() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            self.buffer.clear();
            self.buffer.extend_from_slice(&key.group.to_le_bytes());
            for (cells, array) in cells.iter().zip(&columns) {
                if array.is_null(row) { Cells::put_null(&mut self.buffer) } else { cells.put(row, &mut self.buffer) }
            }
            let digest = self.key.digest(&self.buffer);
            let number = (observed.number)(row);
            self.record.clear();
            self.record.extend_from_slice(&digest.to_be_bytes());
            self.record.extend_from_slice(&key.group.to_be_bytes());
            self.record.push(u8::from(!key.parent));
            self.record.extend_from_slice(&self.file.to_be_bytes());
            self.record.extend_from_slice(&number.to_be_bytes());
            if let Some(ranked) = &ranked {
                let value = ranked.rank(row).unwrap_or(INCOMPARABLE) ^ self.key.pad(key.group, self.file, number).cast_signed();
                self.record.extend_from_slice(&value.to_be_bytes());
            }
            self.record.resize(width, 0);
            self.sink.push(digest, &self.record)?;
        }
        Ok(())
    }
}

impl Observe for UnitObserver<'_> {
    fn batch(&mut self, observed: &Observed<'_>) -> Result<()> {
        let plan = self.plan;
        let Some(source) = plan.sources.get(self.source) else { return Ok(()) };
        self.counts.rows += observed.clean.len() as u64;
        for (metric, count) in source.metrics.iter().zip(&mut self.counts.metrics) {
            if let Some(column) = metric.column() {
                let array = observed.columns.get(column).copied().flatten().ok_or_else(not_read)?;
                *count += metric.count(&array.array, observed.clean);
            }
        }
        source.keys.iter().try_for_each(|key| self.digests(key, observed))
    }
}
