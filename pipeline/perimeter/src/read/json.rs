//! JSON lines: one object a line, LF or CRLF; or, by option, one array of objects (see [`super::json_array`]).
//!
//! Absent keys are null at every level. Numbers and strings are typed from their own characters. A value of another kind than its column (an object, an array, a
//! scalar where there should be one of them) breaks `<column>.type`.
use super::csv::find;
use super::csv_plan::cut;
use super::decompress::{can_be_cut, empty, failure, open_after_mark, open_text, refuse_other_formats};
use super::emit::Emit;
use super::encoding::Table;
use super::json_array::JsonArray;
use super::json_scan::{List, Object, Scanner, Shape, Value, is_blank};
use super::text::{Beyond, Blocks, Skipped, Step, Text, Tokenizer, typings};
use super::{Ingest, InputFile, Part, UNIT_BYTES};
use crate::check::{self, Cell, NumberStyle, Typing};
use crate::error::{Culprit, Failure, Result};
use crate::store::Stores;
use perimeter_contract::job::{Drift, JsonOptions, Source};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Looks at the start of a file, and cuts a large uncompressed local one into ranges of whole lines. An array stays whole.
pub(super) fn plan(stores: &Stores, options: &JsonOptions, file: &InputFile) -> Result<Vec<Part>> {
    let encoding = options.text.encoding;
    let mut start = Vec::new();
    open_text(stores, file, &Part::Whole, encoding)?.bytes.take(4096).read_to_end(&mut start).map_err(|e| failure(file, e))?;
    if start.is_empty() {
        return Err(empty(file));
    }
    refuse_other_formats(file, &start)?;
    let mismatch = |what: &str, help: &'static str| -> crate::error::Error {
        Failure::new(Culprit::File, "format-mismatch", format!("{} {what}", file.label)).help(help).into()
    };
    match (start.iter().find(|b| !b.is_ascii_whitespace()), options.array) {
        (Some(b'['), false) => {
            return Err(mismatch("starts with `[`: it holds an array, not one object a line", "Set the source's `options: {layout: array}`"));
        }
        (Some(first), true) if *first != b'[' => {
            return Err(mismatch("does not start with `[`: it holds no array", "Leave `layout: array` out if it has one object a line"));
        }
        _ => {}
    }
    if options.array || !can_be_cut(file, encoding)? || file.size_bytes < 2 * UNIT_BYTES || file.etag.is_some() {
        return Ok(vec![Part::Whole]);
    }
    parts(stores, options, file, UNIT_BYTES)
}

/// Ranges of whole lines of about this length.
pub(super) fn parts(stores: &Stores, options: &JsonOptions, file: &InputFile, unit_bytes: u64) -> Result<Vec<Part>> {
    let (byte, opened) = open_after_mark(stores, file, options.text.encoding)?;
    cut(&mut Blocks::starting_at(Lines, file, opened, byte), file.size_bytes, unit_bytes)
}

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, options: &JsonOptions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let first_record = if let Part::Bytes { first_record, .. } = part { *first_record } else { 0 };
    let opened = open_text(ingest.stores, file, part, options.text.encoding)?;
    let taken = Arc::clone(&opened.taken);
    let style = NumberStyle::of(&options.text);
    let columns = typings(ingest, emit, |_| style.clone());
    let records = Records::new(ingest.source, options, opened.decoding.table());
    let done = if options.array {
        Blocks::new(JsonArray::new(records), file, opened, first_record).ingest(ingest, emit, columns)
    } else {
        Blocks::new(Json { records }, file, opened, first_record).ingest(ingest, emit, columns)
    };
    emit.bytes_read = taken.load(Ordering::Relaxed);
    done
}

/// Where a line ends: its end without the line feed, and the start of the next.
fn line(bytes: &[u8], start: usize, beyond: Beyond) -> Option<(usize, usize)> {
    match find(bytes, start, b'\n') {
        Some(end) => Some((end, end + 1)),
        None if beyond == Beyond::End => Some((bytes.len(), bytes.len())),
        None => None,
    }
}

fn skip_line(bytes: &[u8]) -> Skipped {
    find(bytes, 0, b'\n').map_or(Skipped::Further, |raw_end| Skipped::End { raw_end, end: raw_end + 1 })
}

/// Lines, for cutting.
struct Lines;

impl Tokenizer for Lines {
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        match line(bytes, start, beyond) {
            None => Step::Incomplete,
            Some((raw_end, end)) if is_blank(bytes.get(start..raw_end).unwrap_or_default()) => Step::Blank { end },
            Some((raw_end, end)) => Step::Record { end, raw_end },
        }
    }

    fn skip(&mut self, bytes: &[u8]) -> Skipped {
        skip_line(bytes)
    }

    fn retain(&mut self, _: &[bool]) {}

    fn type_into(&mut self, _: Text<'_>, _: usize, _: &mut [Option<Typing>]) {}
}

/// Objects that are kept until they are typed.
pub(super) struct Records {
    scanner: Scanner,
    /// By rows, one value per contract column.
    values: Vec<Value>,
    /// How many.
    kept: usize,
    /// Of them, those that lack an object that must be there: which record, which object.
    lacking: Vec<(usize, usize)>,
    /// As lacking, by row of the batch.
    absent: Vec<(usize, Vec<u32>)>,
    added: Vec<usize>,
    rows_with_added_fields: u64,
    null_markers: Vec<String>,
}

impl Records {
    pub(super) fn new(source: &Source, options: &JsonOptions, table: Option<&'static Table>) -> Self {
        let shape = Shape::new(&source.schema.columns, &source.schema.required_objects, source.drift == Drift::AllowAdded);
        Self {
            scanner: Scanner::new(shape, table),
            values: Vec::new(),
            kept: 0,
            lacking: Vec::new(),
            absent: Vec::new(),
            added: Vec::new(),
            rows_with_added_fields: 0,
            null_markers: options.text.null_markers.clone(),
        }
    }

    /// Takes the object that starts here apart and keeps it if `accept` does. `None`: there is no well-formed one, or not all of it.
    pub(super) fn push(&mut self, bytes: &[u8], start: usize, accept: impl FnOnce(&Object) -> bool) -> Option<Object> {
        let (values, side, items) = (self.values.len(), self.scanner.side.len(), self.scanner.items.len());
        self.values.resize(values + self.scanner.shape().columns(), Value::Null);
        let object = self.scanner.object(bytes, start, self.values.get_mut(values..).unwrap_or_default());
        if object.as_ref().is_some_and(|object| object.refusal.is_none() && accept(object)) {
            self.lacking.extend(self.scanner.lacking.iter().map(|object| (self.kept, *object)));
            if self.scanner.added {
                self.added.push(self.kept);
            }
            self.kept += 1;
        } else {
            self.values.truncate(values);
            self.scanner.side.truncate(side);
            self.scanner.items.truncate(items);
        }
        object
    }

    pub(super) fn retain(&mut self, keep: &[bool]) {
        let width = self.scanner.shape().columns();
        let lists: Vec<usize> = (0..width).map(|column| self.scanner.shape().list(column).map_or(1, |list| list.stride)).collect();
        let mut kept = Vec::with_capacity(self.values.len());
        for (record, _) in self.values.chunks(width.max(1)).zip(keep).filter(|(_, keep)| **keep) {
            kept.extend_from_slice(record);
        }
        // What stays behind in the side buffer must be text.
        let Scanner { side, items, .. } = &mut self.scanner;
        let mut blank = |value: &Value| {
            if let Value::Unescaped { start, length } = value {
                side.get_mut(*start as usize..*start as usize + *length as usize).unwrap_or_default().fill(b' ');
            }
        };
        for (record, _) in self.values.chunks(width.max(1)).zip(keep).filter(|(_, keep)| !**keep) {
            for (value, stride) in record.iter().zip(&lists) {
                blank(value);
                if let Value::List { start, length } = value {
                    items.get(*start as usize..*start as usize + *length as usize * stride).unwrap_or_default().iter().for_each(&mut blank);
                }
            }
        }
        self.values = kept;
        // The new number of each record that stays.
        let numbers: Vec<Option<usize>> = keep.iter().scan(0, |next, keep| Some(keep.then(|| std::mem::replace(next, *next + 1)))).collect();
        let number = |record: &usize| numbers.get(*record).copied().flatten();
        self.lacking = self.lacking.iter().filter_map(|(record, object)| Some((number(record)?, *object))).collect();
        self.added = self.added.iter().filter_map(number).collect();
        self.kept = numbers.iter().flatten().count();
    }

    pub(super) fn type_into(&mut self, text: Text<'_>, row: usize, columns: &mut [Option<Typing>]) {
        let width = self.scanner.shape().columns().max(1);
        let side = std::str::from_utf8(&self.scanner.side).unwrap_or_default();
        let (values, items, markers) = (&self.values, &self.scanner.items, &self.null_markers);
        let string = |string| if markers.iter().any(|marker| marker == string) { Cell::Null } else { Cell::JsonText(string) };
        let cell = |value: &Value| match *value {
            Value::Null => Cell::Null,
            Value::Text { start, length } => string(text.cell(start as usize, length as usize)),
            Value::Unescaped { start, length } => string(&side[start as usize..start as usize + length as usize]),
            Value::Number { start, length } => Cell::Number(text.cell(start as usize, length as usize)),
            Value::Boolean(value) => Cell::Boolean(value),
            Value::Nested | Value::List { .. } => Cell::Nested,
        };
        for (column, typing) in columns.iter_mut().enumerate() {
            let Some(typing) = typing else { continue };
            let found = values.iter().skip(column).step_by(width);
            match self.scanner.shape().list(column) {
                None => typing.extend(found.map(cell)),
                Some(List { offset, stride, .. }) => typing.extend_lists(found.map(|value| match *value {
                    Value::Null => check::List::Null,
                    Value::List { start, length } => {
                        check::List::Items(items.iter().skip(start as usize + offset).step_by(stride.max(1)).take(length as usize).map(cell))
                    }
                    _ => check::List::Other,
                })),
            }
        }
        for (record, object) in self.lacking.drain(..) {
            let Ok(row) = u32::try_from(row + record) else { continue };
            match self.absent.iter_mut().find(|(other, _)| *other == object) {
                Some((_, rows)) => rows.push(row),
                None => self.absent.push((object, vec![row])),
            }
        }
        self.rows_with_added_fields += self.added.len() as u64;
        self.added.clear();
        self.kept = 0;
        self.values.clear();
        self.scanner.side.clear();
        self.scanner.items.clear();
    }

    pub(super) fn absent_objects(&mut self) -> Vec<(usize, Vec<u32>)> {
        std::mem::take(&mut self.absent)
    }

    pub(super) fn rows_with_added_fields(&mut self) -> u64 {
        std::mem::take(&mut self.rows_with_added_fields)
    }
}

/// One object a line.
pub(super) struct Json {
    pub(super) records: Records,
}

impl Tokenizer for Json {
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        let (raw_end, end) = match Lines.next(bytes, start, beyond) {
            Step::Record { end, raw_end } => (raw_end, end),
            step => return step,
        };
        let line = bytes.get(..raw_end).unwrap_or_default();
        let first = line.get(start..).unwrap_or_default().iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r')).unwrap_or(0);
        let alone = |object: &Object| is_blank(line.get(object.end..).unwrap_or_default());
        match self.records.push(line, start + first, alone) {
            Some(object) if alone(&object) => match object.refusal {
                None => Step::Record { end, raw_end },
                Some(refusal) => Step::Bad { end, raw_end, code: refusal.code() },
            },
            _ => Step::Bad { end, raw_end, code: "invalid-json" },
        }
    }

    fn skip(&mut self, bytes: &[u8]) -> Skipped {
        skip_line(bytes)
    }

    fn retain(&mut self, keep: &[bool]) {
        self.records.retain(keep);
    }

    fn type_into(&mut self, text: Text<'_>, row: usize, columns: &mut [Option<Typing>]) {
        self.records.type_into(text, row, columns);
    }

    fn absent_objects(&mut self) -> Vec<(usize, Vec<u32>)> {
        self.records.absent_objects()
    }

    fn rows_with_added_fields(&mut self) -> u64 {
        self.records.rows_with_added_fields()
    }
}
