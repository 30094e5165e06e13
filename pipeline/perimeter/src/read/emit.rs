//! The common end of all readers: rules over a batch, counts, good rows out, bad records out.
use super::{Accept, Ingest, InputFile, Rejected, UnitTally};
use crate::check::{Broken, Checker, Typed, arrow_schema};
use crate::error::{Culprit, Failure, Result};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A record that could not be taken apart.
pub(super) struct BadRecord {
    pub(super) number: u64,
    pub(super) codes: Vec<&'static str>,
    pub(super) raw: Vec<u8>,
}

pub(super) struct Emit<'a> {
    source: &'a str,
    file: &'a InputFile,
    pub(super) checker: Checker,
    projection: &'a [usize],
    schema: SchemaRef,
    accept: &'a mut dyn Accept,
    wanted: bool,
    pub(super) bytes_read: u64,
    rows_read: u64,
    rows_rejected: u64,
    by_rule: Vec<u64>,
    by_record_code: BTreeMap<&'static str, u64>,
    broken: Vec<Broken>,
}

impl<'a> Emit<'a> {
    pub(super) fn new(ingest: &Ingest<'a>, file: &'a InputFile, accept: &'a mut dyn Accept) -> Result<Self> {
        let schema = arrow_schema(&ingest.source.schema).project(ingest.projection).map_err(|_| {
            Failure::new(Culprit::File, "unknown-column", format!("source `{}` has fewer columns than its plan wants", ingest.source.name)).help("Plan again")
        })?;
        let checker = Checker::new(&ingest.source.schema)?;
        Ok(Self {
            source: &ingest.source.name,
            file,
            by_rule: vec![0; checker.codes().len()],
            checker,
            projection: ingest.projection,
            schema: schema.into(),
            accept,
            wanted: true,
            bytes_read: 0,
            rows_read: 0,
            rows_rejected: 0,
            by_record_code: BTreeMap::new(),
            broken: Vec::new(),
        })
    }

    /// One batch. `columns` by contract column, `None` where nobody looks; `number` and `raw` of a row; `bad` records that lie between the rows.
    pub(super) fn batch<'r>(
        &mut self,
        rows: usize,
        columns: &[Option<Typed>],
        number: impl Fn(usize) -> u64,
        raw: impl Fn(&[usize]) -> Result<Vec<Cow<'r, [u8]>>>,
        bad: &[BadRecord],
    ) -> Result<()> {
        let mut broken = std::mem::take(&mut self.broken);
        broken.clear();
        for (column, typed) in columns.iter().enumerate() {
            let Some(typed) = typed else { continue };
            let mut ambiguous = typed.ambiguous.iter().copied().peekable();
            for &row in &typed.untyped {
                let code = if ambiguous.next_if_eq(&row).is_some() { self.checker.ambiguous_code(column) } else { self.checker.type_code(column) };
                broken.push(Broken { row, code });
            }
            self.checker.evaluate(column, &typed.array, &typed.untyped, &mut broken);
        }
        broken.sort_unstable();
        broken.dedup();
        self.rows_read += (rows + bad.len()) as u64;
        let groups: Vec<&[Broken]> = broken.chunk_by(|a, b| a.row == b.row).collect();
        if !groups.is_empty() || !bad.is_empty() {
            self.reject(&groups, number, raw, bad)?;
        }
        if self.wanted && groups.len() < rows {
            self.pass(rows, columns, &groups)?;
        }
        self.broken = broken;
        Ok(())
    }

    fn reject<'r>(
        &mut self,
        groups: &[&[Broken]],
        number: impl Fn(usize) -> u64,
        raw: impl Fn(&[usize]) -> Result<Vec<Cow<'r, [u8]>>>,
        bad: &[BadRecord],
    ) -> Result<()> {
        let rows: Vec<usize> = groups.iter().filter_map(|g| g.first()).map(|b| b.row as usize).collect();
        let raws = raw(&rows)?;
        let mut bad = bad.iter().peekable();
        for ((group, row), raw) in groups.iter().zip(&rows).zip(raws) {
            let record_number = number(*row);
            while let Some(earlier) = bad.next_if(|b| b.number < record_number) {
                self.reject_record(earlier)?;
            }
            let mut codes = Vec::with_capacity(group.len());
            for broken in *group {
                let code = broken.code as usize;
                codes.extend(self.checker.codes().get(code).map(String::as_str));
                if let Some(count) = self.by_rule.get_mut(code) {
                    *count += 1;
                }
            }
            self.rows_rejected += 1;
            self.accept.rejected(&Rejected { file: &self.file.uri, record_number, codes: &codes, raw })?;
        }
        bad.try_for_each(|record| self.reject_record(record))
    }

    fn reject_record(&mut self, record: &BadRecord) -> Result<()> {
        for code in &record.codes {
            *self.by_record_code.entry(code).or_default() += 1;
        }
        self.rows_rejected += 1;
        self.accept.rejected(&Rejected { file: &self.file.uri, record_number: record.number, codes: &record.codes, raw: Cow::Borrowed(&record.raw) })
    }

    fn pass(&mut self, rows: usize, columns: &[Option<Typed>], groups: &[&[Broken]]) -> Result<()> {
        let wanted: Vec<ArrayRef> = self
            .projection
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| {
                columns.get(*column).and_then(Option::as_ref).map_or_else(|| new_null_array(field.data_type(), rows), |typed| typed.array.clone())
            })
            .collect();
        // Neither error text is shown: Arrow's quote data.
        let internal =
            |_| Failure::new(Culprit::Data, "internal", format!("{}: a batch does not fit its schema", self.file.label)).help("Report this as a bug");
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let mut batch = RecordBatch::try_new_with_options(self.schema.clone(), wanted, &options).map_err(internal)?;
        if !groups.is_empty() {
            let mut keep = vec![true; rows];
            for row in groups.iter().filter_map(|g| g.first()).map(|b| b.row as usize) {
                if let Some(keep) = keep.get_mut(row) {
                    *keep = false;
                }
            }
            batch = filter_record_batch(&batch, &BooleanArray::from(keep)).map_err(internal)?;
        }
        self.wanted = self.accept.batch(batch).is_continue();
        Ok(())
    }

    /// The counts.
    pub(super) fn finish(self) -> UnitTally {
        let rules = self.checker.codes().iter().map(String::as_str).zip(self.by_rule);
        let records = self.by_record_code.iter().map(|(code, count)| (*code, *count));
        let rejections = rules.chain(records).filter(|(_, count)| *count > 0).map(|(code, count)| (format!("{}.{code}", self.source), count)).collect();
        UnitTally { rows_read: self.rows_read, rows_rejected: self.rows_rejected, rejections, bytes_read: self.bytes_read }
    }
}
