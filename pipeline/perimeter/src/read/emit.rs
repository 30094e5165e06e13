//! The common end of all readers: rules over a batch, counts, good rows out, bad records out.
use super::partitions::{Partitions, disagreeing};
use super::{Accept, Ingest, InputFile, Rejected, UnitRules, UnitTally};
use crate::check::report::{POSITIONS, Ragged};
use crate::check::sets::{Clean, Observed};
use crate::check::{Broken, Checker, Typed, arrow_schema, expression};
use crate::error::{Culprit, Failure, Result};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use perimeter_contract::job::{Format, Source};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A record that could not be taken apart.
pub(super) struct BadRecord {
    pub(super) number: u64,
    pub(super) codes: Vec<&'static str>,
    pub(super) raw: Vec<u8>,
    /// What it had instead, where it is `ragged`.
    pub(super) ragged: Option<Ragged>,
}

/// Takes typed columns as the reader of a format made them, adds those that stand in the path, and checks all of them.
pub(super) struct Emit<'a> {
    source: &'a str,
    file: &'a InputFile,
    /// The rules of the columns that the reader knows; columns in the path always have some, for they must be held against it.
    pub(super) checker: Arc<Checker>,
    /// The rules of all columns.
    rules: Arc<Checker>,
    further: UnitRules<'a>,
    /// Codes behind those of `rules`: of objects, then of columns in the path.
    more_codes: Vec<String>,
    objects: usize,
    pub(super) partitions: Arc<Partitions>,
    /// By column of the reader, the contract's; `None`: they are the same.
    columns: Option<Vec<usize>>,
    /// Whether null in the file leaves it to the path to say the value.
    null_agrees: bool,
    /// Rows of the next batch in which a required object is not there.
    absent: Vec<(usize, Vec<u32>)>,
    projection: &'a [usize],
    schema: SchemaRef,
    accept: &'a mut dyn Accept,
    wanted: bool,
    pub(super) bytes_read: u64,
    /// Records that the job leaves out.
    pub(super) rows_passed_over: u64,
    /// Records with fields that the contract does not have and the job lets pass.
    pub(super) rows_with_added_fields: u64,
    rows_read: u64,
    rows_rejected: u64,
    by_rule: Vec<u64>,
    by_record_code: BTreeMap<&'static str, u64>,
    /// Record numbers, by code.
    first: Vec<Vec<u64>>,
    first_by_record_code: BTreeMap<&'static str, Vec<u64>>,
    ragged: BTreeMap<Ragged, u64>,
    broken: Vec<Broken>,
}

/// So many different lengths of ragged records are counted.
const RAGGED: usize = 64;

impl<'a> Emit<'a> {
    /// Without rules about rows and sets.
    #[cfg(test)]
    pub(super) fn new(ingest: &Ingest<'a>, file: &'a InputFile, accept: &'a mut dyn Accept) -> Result<Self> {
        Self::with_rules(ingest, file, UnitRules::default(), accept)
    }

    pub(super) fn with_rules(ingest: &Ingest<'a>, file: &'a InputFile, mut further: UnitRules<'a>, accept: &'a mut dyn Accept) -> Result<Self> {
        let contract = &ingest.source.schema;
        let schema = arrow_schema(contract).project(ingest.projection).map_err(|_| {
            Failure::new(Culprit::File, "unknown-column", format!("source `{}` has fewer columns than its plan wants", ingest.source.name)).help("Plan again")
        })?;
        let partitions = Arc::new(Partitions::of(ingest.source, file)?);
        let rules = further.checker.take().map_or_else(|| Checker::new(contract).map(Arc::new), Ok)?;
        let in_path: Vec<usize> = (0..contract.columns.len()).filter(|column| partitions.has(*column)).collect();
        let checker = if in_path.is_empty() {
            Arc::clone(&rules)
        } else {
            let mut checker = Checker::clone(&rules);
            checker.look_at(in_path);
            Arc::new(checker)
        };
        let objects = contract.required_objects.iter().map(|object| format!("{}.required", object.path.join(".")));
        let in_path = contract.columns.iter().map(|column| format!("{}.partition", column.name));
        let more_codes: Vec<String> = objects.chain(in_path).collect();
        Ok(Self {
            source: &ingest.source.name,
            file,
            by_rule: vec![0; rules.codes().len() + more_codes.len()],
            first: vec![Vec::new(); rules.codes().len() + more_codes.len()],
            checker,
            rules,
            further,
            more_codes,
            objects: contract.required_objects.len(),
            partitions,
            columns: None,
            null_agrees: matches!(ingest.source.format, Format::Json(_)),
            absent: Vec::new(),
            projection: ingest.projection,
            schema: schema.into(),
            accept,
            wanted: true,
            bytes_read: 0,
            rows_passed_over: 0,
            rows_with_added_fields: 0,
            rows_read: 0,
            rows_rejected: 0,
            by_record_code: BTreeMap::new(),
            first_by_record_code: BTreeMap::new(),
            ragged: BTreeMap::new(),
            broken: Vec::new(),
        })
    }

    /// From now on the reader knows only these columns of the contract.
    ///
    /// # Errors
    /// As [`Checker::new`].
    pub(super) fn reads_only(&mut self, source: &Source, columns: Vec<usize>) -> Result<()> {
        let mut checker = Checker::new(&source.schema)?;
        checker.look_at((0..columns.len()).filter(|at| columns.get(*at).is_some_and(|column| self.rules.is_needed(*column))));
        self.checker = Arc::new(checker);
        self.columns = Some(columns);
        Ok(())
    }

    /// Whether the column has its value in the path.
    pub(super) fn in_path(&self, column: usize) -> bool {
        self.partitions.has(column)
    }

    /// Rows of the batch that comes next in which an object of [`perimeter_contract::schema::Schema::required_objects`] is not there.
    pub(super) fn absent_object(&mut self, object: usize, rows: Vec<u32>) {
        if !rows.is_empty() {
            self.absent.push((object, rows));
        }
    }

    /// One batch. `columns` by column of the reader, `None` where nobody looks; `number` and `raw` of a row; `bad` records that lie between the rows.
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
        let more = u32::try_from(self.rules.codes().len()).unwrap_or(u32::MAX);
        for (object, rows) in self.absent.drain(..) {
            let code = more.saturating_add(u32::try_from(object).unwrap_or(u32::MAX));
            broken.extend(rows.into_iter().map(|row| Broken { row, code }));
        }
        let width = self.rules_columns();
        let mut all: Vec<Option<&Typed>> = vec![None; width];
        for (at, typed) in columns.iter().enumerate() {
            let column = self.columns.as_ref().map_or(Some(at), |columns| columns.get(at).copied());
            if let Some(slot) = column.and_then(|column| all.get_mut(column)) {
                *slot = typed.as_ref();
            }
        }
        let in_path: Vec<Option<Typed>> = (0..width).map(|column| self.partitions.typed(column, rows)).collect();
        for (column, path) in in_path.iter().enumerate() {
            let (Some(path), Some(slot)) = (path, all.get_mut(column)) else { continue };
            if let Some(found) = slot {
                let type_code = self.rules.type_code(column);
                broken.extend(found.untyped.iter().map(|row| Broken { row: *row, code: type_code }));
                if path.untyped.is_empty() {
                    let code = more.saturating_add(u32::try_from(self.objects + column).unwrap_or(u32::MAX));
                    broken.extend(disagreeing(found, path, self.null_agrees).into_iter().map(|row| Broken { row, code }));
                }
            }
            *slot = Some(path);
        }
        for (column, typed) in all.iter().enumerate() {
            let Some(typed) = typed else { continue };
            let mut ambiguous = typed.ambiguous.iter().copied().peekable();
            for &row in &typed.untyped {
                let code = if ambiguous.next_if_eq(&row).is_some() { self.rules.ambiguous_code(column) } else { self.rules.type_code(column) };
                broken.push(Broken { row, code });
            }
            self.rules.evaluate(column, &typed.array, &typed.untyped, &mut broken);
        }
        broken.sort_unstable();
        broken.dedup();
        self.look_further(rows, &all, &number, &mut broken)?;
        self.rows_read += (rows + bad.len()) as u64;
        let groups: Vec<&[Broken]> = broken.chunk_by(|a, b| a.row == b.row).collect();
        if !groups.is_empty() || !bad.is_empty() {
            self.reject(&groups, number, raw, bad)?;
        }
        if self.wanted && groups.len() < rows {
            self.pass(rows, &all, &groups)?;
        }
        self.broken = broken;
        Ok(())
    }

    /// Rules about rows, then rules about sets over the rows that break no rule of their own: neither about a value nor about the row.
    fn look_further(&mut self, rows: usize, columns: &[Option<&Typed>], number: &dyn Fn(usize) -> u64, broken: &mut Vec<Broken>) -> Result<()> {
        let UnitRules { rows: row_rules, violations, observer, .. } = &mut self.further;
        if rows == 0 || (row_rules.is_empty() && violations.is_none() && observer.is_none()) {
            return Ok(());
        }
        if !row_rules.is_empty() {
            expression::evaluate(row_rules, &self.rules, columns, rows, broken)?;
            broken.sort_unstable();
            broken.dedup();
        }
        let clean = Clean::new(rows, broken);
        let own = broken.len();
        if let Some(observer) = observer {
            observer.batch(&Observed { columns, clean: &clean, number })?;
        }
        if let Some(violations) = violations {
            violations.between(number(0), number(rows - 1), |rule, record| {
                // Record numbers ascend with rows, with gaps where bad records lie.
                let row = clean.rows_before(|row| number(row) < record);
                if let Some(code) = self.rules.set_code(rule) {
                    broken.push(Broken { row, code });
                }
            });
        }
        if broken.len() > own {
            broken.sort_unstable();
            broken.dedup();
        }
        Ok(())
    }

    fn rules_columns(&self) -> usize {
        self.more_codes.len() - self.objects
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
                if let Some((count, first)) = self.by_rule.get_mut(code).zip(self.first.get_mut(code)) {
                    *count += 1;
                    if first.len() < POSITIONS {
                        first.push(record_number);
                    }
                }
            }
            let names = self.rules.codes().len();
            let name = |code: usize| self.rules.codes().get(code).or_else(|| self.more_codes.get(code.checked_sub(names)?));
            codes.extend(group.iter().filter_map(|broken| name(broken.code as usize)).map(String::as_str));
            self.rows_rejected += 1;
            self.accept.rejected(&Rejected { file: &self.file.uri, record_number, codes: &codes, raw })?;
        }
        bad.try_for_each(|record| self.reject_record(record))
    }

    fn reject_record(&mut self, record: &BadRecord) -> Result<()> {
        for code in &record.codes {
            *self.by_record_code.entry(code).or_default() += 1;
            let first = self.first_by_record_code.entry(code).or_default();
            if first.len() < POSITIONS {
                first.push(record.number);
            }
        }
        if let Some(ragged) = record.ragged
            && (self.ragged.len() < RAGGED || self.ragged.contains_key(&ragged))
        {
            *self.ragged.entry(ragged).or_default() += 1;
        }
        self.rows_rejected += 1;
        self.accept.rejected(&Rejected { file: &self.file.uri, record_number: record.number, codes: &record.codes, raw: Cow::Borrowed(&record.raw) })
    }

    fn pass(&mut self, rows: usize, columns: &[Option<&Typed>], groups: &[&[Broken]]) -> Result<()> {
        let wanted: Vec<ArrayRef> = self
            .projection
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| columns.get(*column).copied().flatten().map_or_else(|| new_null_array(field.data_type(), rows), |typed| typed.array.clone()))
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
        let full = |code: &str| format!("{}.{code}", self.source);
        let codes = || self.rules.codes().iter().chain(&self.more_codes).map(String::as_str);
        let rules = codes().zip(self.by_rule);
        let records = self.by_record_code.iter().map(|(code, count)| (*code, *count));
        let mut rejections = BTreeMap::new();
        for (code, count) in rules.chain(records).filter(|(_, count)| *count > 0) {
            // A rule of the contract may be called as a record's code is.
            *rejections.entry(full(code)).or_default() += count;
        }
        let first = codes().zip(self.first).chain(self.first_by_record_code).filter(|(_, first)| !first.is_empty()).map(|(code, first)| (full(code), first));
        let first = first.collect();
        UnitTally {
            rows_read: self.rows_read,
            rows_rejected: self.rows_rejected,
            rejections,
            first,
            bytes_read: self.bytes_read,
            rows_passed_over: self.rows_passed_over,
            rows_with_added_fields: self.rows_with_added_fields,
            ragged: self.ragged.into_iter().collect(),
        }
    }
}
