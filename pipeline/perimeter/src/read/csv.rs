//! Delimited text: RFC 4180 with LF, CRLF and CR, quotes optional, cells of any length.
//!
//! A cell is quoted when its first byte is the quote; inside, a doubled quote is one. `""` is the empty text, nothing at all is null, and so is a null marker
//! without quotes. A quote inside an unquoted cell is a character like others. A quoted cell must be closed right before a delimiter, line end or end of file:
//! otherwise its record is rejected as `torn-quote`, and since nobody can know how far it was meant to go, exactly its first line is: the next line is read again
//! as the start of a record.
//!
//! With `escape`, that character makes the one behind it a character of the cell, whatever it is, inside quotes and nowhere else; quotes are not doubled then.
//! With `comment`, what starts with that character where a record could start is passed over to the end of its line, and is no record. Without a quote, every
//! byte between delimiters is the cell's.
//!
//! The tokenizer is our own: `csv-core` unquotes on the way and does not say what was quoted.
use super::encoding::Table;
use super::text::{Beyond, Blocks, Step, Text, Tokenizer};
use crate::check::report::Ragged;
use crate::check::{Cell, Typing};
use crate::error::Result;
use perimeter_contract::job::CsvOptions;

/// Goes past the first record.
pub(super) fn pass_header(blocks: &mut Blocks<'_, Csv>) -> Result<()> {
    while let Some(step) = blocks.step()? {
        let (end, found) = match step {
            Step::Record { end, .. } | Step::Bad { end, .. } => (end, true),
            Step::Blank { end } | Step::PassedOver { end } => (end, false),
            Step::Incomplete | Step::Lost(_) => break,
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
    /// In `unescaped`: it had doubled or escaped quotes.
    Unescaped,
}

pub(super) struct Csv {
    delimiter: u8,
    quote: Option<u8>,
    /// Another character than the quote.
    escape: Option<u8>,
    comment: Option<u8>,
    /// What is passed over is a comment's inside.
    in_comment: bool,
    /// Of an encoding that is not UTF-8.
    table: Option<&'static Table>,
    null_markers: Vec<String>,
    /// Cells that a record must have; `None`: any number.
    width: Option<usize>,
    /// Per contract column, the cell of a record.
    pub(super) columns: Vec<usize>,
    /// Records by rows, each of the same width.
    fields: Vec<Field>,
    /// UTF-8, whatever the file is.
    unescaped: Vec<u8>,
    /// Cells of the last record that was ragged.
    ragged: usize,
}

impl Csv {
    pub(super) fn new(options: &CsvOptions, width: Option<usize>, table: Option<&'static Table>) -> Self {
        Self {
            delimiter: options.delimiter,
            quote: options.quote,
            escape: options.escape.filter(|escape| options.quote != Some(*escape)),
            comment: options.comment,
            in_comment: false,
            table,
            null_markers: options.text.null_markers.clone(),
            width,
            columns: Vec::new(),
            fields: Vec::new(),
            unescaped: Vec::new(),
            ragged: 0,
        }
    }

    /// Forgets the records kept.
    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.unescaped.clear();
    }

    /// The cells of the records kept, and whether they are UTF-8 whatever the file is.
    pub(super) fn cells<'b>(&'b self, bytes: &'b [u8]) -> impl Iterator<Item = (&'b [u8], bool)> {
        self.fields.iter().map(move |f| if f.kind == FieldKind::Unescaped { (slice(&self.unescaped, f), true) } else { (slice(bytes, f), false) })
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
        let mut look = from;
        let mut kept: Option<usize> = None;
        loop {
            let close = match self.escape {
                None => find(bytes, look, quote)?,
                Some(escape) => {
                    let at = find3(bytes, look, quote, escape, escape);
                    if *bytes.get(at)? == escape {
                        // The next byte is the cell's, whatever it is.
                        bytes.get(at + 1)?;
                        kept.get_or_insert(self.unescaped.len());
                        self.keep(bytes.get(from..at).unwrap_or_default());
                        (from, look) = (at + 1, at + 2);
                        continue;
                    }
                    at
                }
            };
            if self.escape.is_none() && bytes.get(close + 1) == Some(&quote) {
                kept.get_or_insert(self.unescaped.len());
                self.keep(bytes.get(from..=close).unwrap_or_default());
                (from, look) = (close + 2, close + 2);
                continue;
            }
            let field = match kept {
                None => Field { start: from as u32, length: (close - from) as u32, kind: FieldKind::Quoted },
                Some(start) => {
                    self.keep(bytes.get(from..close).unwrap_or_default());
                    Field { start: start as u32, length: (self.unescaped.len() - start) as u32, kind: FieldKind::Unescaped }
                }
            };
            self.fields.push(field);
            return Some(close + 1);
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        match self.table {
            None => self.unescaped.extend_from_slice(piece),
            Some(table) => table.push(piece, &mut self.unescaped),
        }
    }

    /// A comment's rest. It may be as long as it likes: nothing of it is kept.
    fn pass_comment(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        let end = find3(bytes, start, b'\n', b'\n', b'\r');
        self.in_comment = end == bytes.len() && beyond != Beyond::End;
        if end == start && self.in_comment { Step::Incomplete } else { Step::Blank { end } }
    }
}

fn slice<'b>(bytes: &'b [u8], field: &Field) -> &'b [u8] {
    let start = field.start as usize;
    bytes.get(start..start + field.length as usize).unwrap_or_default()
}

impl Tokenizer for Csv {
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        match bytes.get(start) {
            // Also the second half of CRLF.
            Some(b'\n' | b'\r') => {
                self.in_comment = false;
                return Step::Blank { end: start + 1 };
            }
            Some(first) if self.in_comment || self.comment == Some(*first) => return self.pass_comment(bytes, start, beyond),
            _ => {}
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
            self.ragged = self.fields.len() - fields;
            step = Step::Bad { end, raw_end, code: "ragged" };
        }
        if !matches!(step, Step::Record { .. }) {
            self.fields.truncate(fields);
            self.unescaped.truncate(unescaped);
        }
        step
    }

    fn ragged(&self) -> Option<Ragged> {
        self.width.map(|width| Ragged { found: self.ragged as u64, expected: width as u64 })
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

    fn type_into(&mut self, text: Text<'_>, _: usize, columns: &mut [Option<Typing>]) {
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
                        let value = text.cell(start, length);
                        if markers.iter().any(|marker| marker == value) { Cell::Null } else { Cell::Text(value) }
                    }
                    FieldKind::Quoted => Cell::Text(text.cell(start, length)),
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

/// The first such byte from `at` on. Lines and cells are short: eight bytes at a time beat a call into a vectorized search.
pub(super) fn find(bytes: &[u8], mut at: usize, needle: u8) -> Option<usize> {
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
