//! Delimited text: RFC 4180 with LF, CRLF and CR, quotes optional, cells of any length.
//!
//! A cell is quoted when its first byte is the quote; inside, a doubled quote is one. `""` is the empty text, nothing at all is null, and so is a null marker
//! without quotes. A quote inside an unquoted cell is a character like others. A quoted cell must be closed right before a delimiter, line end or end of file:
//! otherwise its record is rejected as `torn-quote`, and since nobody can know how far it was meant to go, exactly its first line is: the next line is read again
//! as the start of a record.
//!
//! The tokenizer is our own: `csv-core` unquotes on the way and does not say what was quoted.
use super::csv_plan::read_header;
use super::emit::Emit;
use super::text::{Beyond, Blocks, Step, Tokenizer, typings};
use super::{Ingest, InputFile, Part, decompress};
use crate::check::{Cell, Typing};
use crate::error::Result;
use perimeter_contract::job::CsvOptions;
use std::sync::atomic::Ordering;

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, options: &CsvOptions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let (first_record, has_header) = match part {
        Part::Bytes { first_record, .. } => (*first_record, false),
        _ => (0, options.header),
    };
    let header = read_header(ingest.stores, ingest.source, options, file)?;
    let opened = decompress::open(ingest.stores, file, part)?;
    let mut blocks = Blocks::new(Csv::new(options, header.width), file, opened.bytes, first_record);
    if has_header {
        pass_header(&mut blocks)?;
    }
    blocks.tokenizer.columns = header.columns;
    let columns = typings(ingest, emit, &options.text);
    let done = blocks.ingest(ingest, emit, columns);
    emit.bytes_read = opened.taken.load(Ordering::Relaxed);
    done
}

/// Goes past the first record.
pub(super) fn pass_header(blocks: &mut Blocks<'_, Csv>) -> Result<()> {
    while let Some(step) = blocks.step()? {
        let (end, found) = match step {
            Step::Record { end, .. } | Step::Bad { end, .. } => (end, true),
            Step::Blank { end } => (end, false),
            Step::Incomplete => break,
        };
        blocks.pass(end);
        if found {
            break;
        }
    }
    blocks.tokenizer.clear();
    blocks.compact();
    Ok(())
}

/// Where a cell's text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    start: u32,
    length: u32,
    kind: FieldKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldKind {
    /// In the input.
    Bare,
    /// In the input, between quotes.
    Quoted,
    /// In `unescaped`: it had doubled quotes.
    Unescaped,
}

pub(super) struct Csv {
    delimiter: u8,
    quote: Option<u8>,
    null_markers: Vec<String>,
    /// Cells that a record must have; `None`: any number.
    width: Option<usize>,
    /// Per contract column, the cell of a record.
    pub(super) columns: Vec<usize>,
    /// Records by rows, each of the same width.
    fields: Vec<Field>,
    unescaped: Vec<u8>,
}

impl Csv {
    pub(super) fn new(options: &CsvOptions, width: Option<usize>) -> Self {
        Self {
            delimiter: options.delimiter,
            quote: options.quote,
            null_markers: options.text.null_markers.clone(),
            width,
            columns: Vec::new(),
            fields: Vec::new(),
            unescaped: Vec::new(),
        }
    }

    /// Forgets the records kept.
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.unescaped.clear();
    }

    /// The cells of the records kept, as bytes.
    pub(super) fn cells<'b>(&'b self, bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        self.fields.iter().map(move |f| if f.kind == FieldKind::Unescaped { slice(&self.unescaped, f) } else { slice(bytes, f) })
    }

    fn record(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        let mut at = start;
        loop {
            let end = if let Some(quote) = self.quote.filter(|quote| bytes.get(at) == Some(quote)) {
                match self.quoted(bytes, at, quote) {
                    Some(end) if end < bytes.len() || beyond == Beyond::End => end,
                    // The quote is closed at the last byte that is there.
                    Some(_) => return Step::Incomplete,
                    // It may still be closed.
                    None if beyond == Beyond::More => return Step::Incomplete,
                    None => return Step::Bad { end: 0, raw_end: 0, code: "torn-quote" },
                }
            } else {
                let end = find3(bytes, at, self.delimiter, b'\n', b'\r');
                if end == bytes.len() && beyond != Beyond::End {
                    return Step::Incomplete;
                }
                self.fields.push(Field { start: at as u32, length: (end - at) as u32, kind: FieldKind::Bare });
                end
            };
            match bytes.get(end) {
                None => return Step::Record { end, raw_end: end },
                Some(b) if *b == self.delimiter => at = end + 1,
                Some(b'\n' | b'\r') => return Step::Record { end: end + 1, raw_end: end },
                Some(_) => return Step::Bad { end: 0, raw_end: 0, code: "torn-quote" },
            }
        }
    }

    /// The position after the closing quote; `None` when there is none.
    fn quoted(&mut self, bytes: &[u8], open: usize, quote: u8) -> Option<usize> {
        let mut from = open + 1;
        let mut kept: Option<usize> = None;
        loop {
            let close = find(bytes, from, quote)?;
            if bytes.get(close + 1) == Some(&quote) {
                kept.get_or_insert(self.unescaped.len());
                self.unescaped.extend_from_slice(bytes.get(from..=close).unwrap_or_default());
                from = close + 2;
                continue;
            }
            let field = match kept {
                None => Field { start: from as u32, length: (close - from) as u32, kind: FieldKind::Quoted },
                Some(start) => {
                    self.unescaped.extend_from_slice(bytes.get(from..close).unwrap_or_default());
                    Field { start: start as u32, length: (self.unescaped.len() - start) as u32, kind: FieldKind::Unescaped }
                }
            };
            self.fields.push(field);
            return Some(close + 1);
        }
    }
}

fn slice<'b>(bytes: &'b [u8], field: &Field) -> &'b [u8] {
    let start = field.start as usize;
    bytes.get(start..start + field.length as usize).unwrap_or_default()
}

impl Tokenizer for Csv {
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        if let Some(b'\n' | b'\r') = bytes.get(start) {
            // Also the second half of CRLF.
            return Step::Blank { end: start + 1 };
        }
        let (fields, unescaped) = (self.fields.len(), self.unescaped.len());
        let mut step = self.record(bytes, start, beyond);
        if let Step::Bad { code, .. } = step {
            let line = find3(bytes, start, b'\n', b'\n', b'\r');
            step = match bytes.get(line) {
                Some(_) => Step::Bad { end: line + 1, raw_end: line, code },
                None if beyond == Beyond::End => Step::Bad { end: line, raw_end: line, code },
                None => Step::Incomplete,
            };
        }
        if let Step::Record { end, raw_end } = step
            && self.width.is_some_and(|width| width != self.fields.len() - fields)
        {
            step = Step::Bad { end, raw_end, code: "ragged" };
        }
        if !matches!(step, Step::Record { .. }) {
            self.fields.truncate(fields);
            self.unescaped.truncate(unescaped);
        }
        step
    }

    fn retain(&mut self, keep: &[bool]) {
        let Some(width) = self.width.filter(|w| *w > 0 && !keep.is_empty()) else { return self.clear() };
        let mut kept = Vec::with_capacity(self.fields.len());
        for (record, keep) in self.fields.chunks(width).zip(keep) {
            if *keep {
                kept.extend_from_slice(record);
                continue;
            }
            for field in record.iter().filter(|f| f.kind == FieldKind::Unescaped) {
                let start = field.start as usize;
                self.unescaped.get_mut(start..start + field.length as usize).unwrap_or_default().fill(b' ');
            }
        }
        self.fields = kept;
    }

    fn type_into(&mut self, text: &str, base: usize, columns: &mut [Option<Typing>]) {
        let width = self.width.unwrap_or(0).max(1);
        // Pieces of valid records between quotes: always UTF-8.
        let unescaped = std::str::from_utf8(&self.unescaped).unwrap_or_default();
        let (fields, markers) = (&self.fields, &self.null_markers);
        for (typing, cell) in columns.iter_mut().zip(&self.columns) {
            let Some(typing) = typing else { continue };
            typing.extend(fields.iter().skip(*cell).step_by(width).map(|field| {
                let (start, length) = (field.start as usize, field.length as usize);
                match field.kind {
                    FieldKind::Bare if length == 0 => Cell::Null,
                    FieldKind::Bare => {
                        let value = &text[start - base..start - base + length];
                        if markers.iter().any(|marker| marker == value) { Cell::Null } else { Cell::Text(value) }
                    }
                    FieldKind::Quoted => Cell::Text(&text[start - base..start - base + length]),
                    FieldKind::Unescaped => Cell::Text(&unescaped[start..start + length]),
                }
            }));
        }
        self.clear();
    }
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of every byte that is zero; bits above the lowest of them may be wrong.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// The first of three bytes from `at` on, or the end. Cells are short: eight bytes at a time beat a call into a vectorized search.
fn find3(bytes: &[u8], mut at: usize, a: u8, b: u8, c: u8) -> usize {
    let (wide_a, wide_b, wide_c) = (LOW * u64::from(a), LOW * u64::from(b), LOW * u64::from(c));
    while let Some(word) = word(bytes, at) {
        let found = zeros(word ^ wide_a) | zeros(word ^ wide_b) | zeros(word ^ wide_c);
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|x| *x == a || *x == b || *x == c).map_or(bytes.len(), |i| at + i)
}

/// The first such byte from `at` on.
fn find(bytes: &[u8], mut at: usize, needle: u8) -> Option<usize> {
    let wide = LOW * u64::from(needle);
    while let Some(word) = word(bytes, at) {
        let found = zeros(word ^ wide);
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    bytes.get(at..)?.iter().position(|x| *x == needle).map(|i| at + i)
}
