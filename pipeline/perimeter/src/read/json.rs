//! JSON lines: one object a line, LF or CRLF. Absent keys are null; values of columns are scalars, typed from their own characters.
use super::csv_plan::cut;
use super::decompress::{Compression, empty, failure, of, open, open_after_bom, refuse_other_formats};
use super::emit::Emit;
use super::json_scan::{Keys, Value, is_blank, object};
use super::text::{Beyond, Blocks, Step, Tokenizer, typings};
use super::{Ingest, InputFile, Part, UNIT_BYTES};
use crate::check::{Cell, Typing};
use crate::error::{Culprit, Failure, Result};
use crate::store::Stores;
use perimeter_contract::job::JsonOptions;
use std::io::Read;
use std::sync::atomic::Ordering;

/// Looks at the start of a file, and cuts a large uncompressed local one into ranges of whole lines.
pub(super) fn plan(stores: &Stores, file: &InputFile) -> Result<Vec<Part>> {
    let mut start = Vec::new();
    open(stores, file, &Part::Whole)?.bytes.take(4096).read_to_end(&mut start).map_err(|e| failure(file, e))?;
    if start.is_empty() {
        return Err(empty(file));
    }
    refuse_other_formats(file, &start)?;
    if start.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[') {
        let message = format!("{} starts with `[`: it holds an array, not one object a line", file.label);
        return Err(Failure::new(Culprit::File, "format-mismatch", message).help("Convert it to JSON lines, for example with `jq -c '.[]'`").into());
    }
    if of(file)? != Compression::None || file.size_bytes < 2 * UNIT_BYTES || file.etag.is_some() {
        return Ok(vec![Part::Whole]);
    }
    let (byte, opened) = open_after_bom(stores, file)?;
    cut(&mut Blocks::starting_at(Lines, file, opened.bytes, byte), file.size_bytes, UNIT_BYTES)
}

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, options: &JsonOptions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let first_record = if let Part::Bytes { first_record, .. } = part { *first_record } else { 0 };
    let opened = open(ingest.stores, file, part)?;
    let keys = Keys::new(ingest.source.schema.columns.iter().map(|c| c.name.as_str()));
    let tokenizer = Json { seen: vec![false; keys.len()], keys, values: Vec::new(), side: Vec::new(), null_markers: options.text.null_markers.clone() };
    let columns = typings(ingest, emit, &options.text);
    let done = Blocks::new(tokenizer, file, opened.bytes, first_record).ingest(ingest, emit, columns);
    emit.bytes_read = opened.taken.load(Ordering::Relaxed);
    done
}

/// Where a line ends: its end without the line feed, and the start of the next.
fn line(bytes: &[u8], start: usize, beyond: Beyond) -> Option<(usize, usize)> {
    match bytes.get(start..)?.iter().position(|b| *b == b'\n') {
        Some(length) => Some((start + length, start + length + 1)),
        None if beyond == Beyond::End => Some((bytes.len(), bytes.len())),
        None => None,
    }
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

    fn retain(&mut self, _: &[bool]) {}

    fn type_into(&mut self, _: &str, _: usize, _: &mut [Option<Typing>]) {}
}

struct Json {
    keys: Keys,
    seen: Vec<bool>,
    /// Records by rows, one value per contract column.
    values: Vec<Value>,
    side: Vec<u8>,
    null_markers: Vec<String>,
}

impl Tokenizer for Json {
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        let (raw_end, end) = match Lines.next(bytes, start, beyond) {
            Step::Record { end, raw_end } => (raw_end, end),
            step => return step,
        };
        let (values, side) = (self.values.len(), self.side.len());
        self.values.resize(values + self.keys.len(), Value::Null);
        let row = self.values.get_mut(values..).unwrap_or_default();
        match object(bytes, start, raw_end, &self.keys, row, &mut self.seen, &mut self.side) {
            Ok(()) => Step::Record { end, raw_end },
            Err(refusal) => {
                self.values.truncate(values);
                self.side.truncate(side);
                Step::Bad { end, raw_end, code: refusal.code() }
            }
        }
    }

    fn retain(&mut self, keep: &[bool]) {
        let width = self.keys.len().max(1);
        let mut kept = Vec::with_capacity(self.values.len());
        for (record, keep) in self.values.chunks(width).zip(keep) {
            if *keep {
                kept.extend_from_slice(record);
                continue;
            }
            for value in record {
                if let Value::Unescaped { start, length } = value {
                    self.side.get_mut(*start as usize..*start as usize + *length as usize).unwrap_or_default().fill(b' ');
                }
            }
        }
        self.values = kept;
    }

    fn type_into(&mut self, text: &str, base: usize, columns: &mut [Option<Typing>]) {
        let width = self.keys.len().max(1);
        let side = std::str::from_utf8(&self.side).unwrap_or_default();
        let at = |start: u32, length: u32| &text[start as usize - base..start as usize - base + length as usize];
        let (values, markers) = (&self.values, &self.null_markers);
        let cell = |string| if markers.iter().any(|marker| marker == string) { Cell::Null } else { Cell::JsonText(string) };
        for (column, typing) in columns.iter_mut().enumerate() {
            let Some(typing) = typing else { continue };
            typing.extend(values.iter().skip(column).step_by(width).map(|value| match *value {
                Value::Null => Cell::Null,
                Value::Text { start, length } => cell(at(start, length)),
                Value::Unescaped { start, length } => cell(&side[start as usize..start as usize + length as usize]),
                Value::Number { start, length } => Cell::Number(at(start, length)),
                Value::Boolean(value) => Cell::Boolean(value),
                Value::Nested => Cell::Nested,
            }));
        }
        self.values.clear();
        self.side.clear();
    }
}
