//! Fixed-width records: CNAB 240 and 400 (FEBRABAN), extracts of mainframes. Columns stand at positions, counted in characters.
//!
//! A record ends at LF or CR LF, or, without line ends, where its length is full. It has exactly `recordLength` characters; one that has fewer or more is rejected
//! as `ragged`, whatever its type, since nothing in it stands where it should. Empty lines are no records, and neither is a lone U+001A at the end of the file,
//! where DOS ends one; without line ends, line ends and U+001A at the very end are none either.
//!
//! A field's value is what is left when the blanks (U+0020) on the sides that `trim` names are taken away; nothing but blanks is null. Numbers are those of
//! [`crate::check::NumberStyle`] with a sign in front or behind; zoned signs (`{`, `J`) are none.
//!
//! With `recordTypes`, records of other types are counted and passed over ([`super::UnitTally::rows_passed_over`]); they keep their record number. When `others` says
//! which ones there may be, a record of any other type is rejected.
//!
//! Without line ends, in an encoding whose characters differ in length, a sequence that is no character leaves it open where the next record starts: that ends the
//! unit. In all other cases such a record costs itself.
use super::csv::find;
use super::encoding::Decoding;
use super::text::{Beyond, Fault, Skipped, Step, Text, Tokenizer};
use crate::check::report::Ragged;
use crate::check::{Cell, Typing};
use perimeter_contract::job::{FixedField, FixedWidthOptions, RecordTypes, Trim};

/// Where a record's fields are.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// A character is a byte.
    Even { start: u32 },
    /// In `bounds`, from here on.
    Uneven { at: u32 },
}

pub(super) struct FixedWidth {
    /// Characters.
    length: usize,
    line_ends: bool,
    decoding: Decoding,
    fields: Vec<FixedField>,
    types: Option<RecordTypes>,
    null_markers: Vec<String>,
    rows: Vec<Row>,
    bounds: Vec<(u32, u32)>,
    /// Where the characters of a record are, and its end.
    places: Vec<usize>,
    /// Characters of the last record that was ragged.
    ragged: usize,
}

enum Kind {
    Wanted,
    PassedOver,
    Unknown,
}

impl FixedWidth {
    pub(super) fn new(options: &FixedWidthOptions, decoding: Decoding) -> Self {
        Self {
            length: options.record_length as usize,
            line_ends: options.line_ends,
            decoding,
            fields: options.fields.clone(),
            types: options.record_types.clone(),
            null_markers: options.text.null_markers.clone(),
            rows: Vec::new(),
            bounds: Vec::new(),
            places: Vec::new(),
            ragged: 0,
        }
    }

    /// Whether a character is a byte, in these bytes.
    fn is_even(&self, record: &[u8]) -> bool {
        self.decoding.table().is_some() || record.is_ascii()
    }

    /// A record with a line end, from `start` on.
    fn line(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        let (line_end, end, last) = match find(bytes, start, b'\n') {
            Some(at) => (at, at + 1, false),
            None if beyond == Beyond::End => (bytes.len(), bytes.len(), true),
            None => return Step::Incomplete,
        };
        let line = bytes.get(start..line_end).unwrap_or_default();
        let raw_end = if line.last() == Some(&b'\r') { line_end - 1 } else { line_end };
        let record = bytes.get(start..raw_end).unwrap_or_default();
        if record.is_empty() || (last && record == [SUB]) {
            return Step::Blank { end };
        }
        let length = if self.is_even(record) {
            record.len()
        } else {
            match std::str::from_utf8(record) {
                Ok(text) => text.chars().count(),
                Err(_) => return Step::Bad { end, raw_end, code: self.decoding.code() },
            }
        };
        if length != self.length {
            self.ragged = length;
            return Step::Bad { end, raw_end, code: "ragged" };
        }
        self.record(bytes, start, raw_end, end)
    }

    /// A record without one.
    fn stretch(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        let rest = bytes.get(start..).unwrap_or_default();
        if let Some(record) = rest.get(..self.length)
            && self.is_even(record)
        {
            return self.record(bytes, start, start + self.length, start + self.length);
        }
        if self.decoding.table().is_none() {
            let window = rest.get(..rest.len().min(4 * self.length)).unwrap_or_default();
            let (text, torn) = match std::str::from_utf8(window) {
                Ok(text) => (text, false),
                Err(error) => (window.get(..error.valid_up_to()).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default(), error.error_len().is_some()),
            };
            let mut characters = text.char_indices().map(|(at, _)| at).chain(std::iter::once(text.len()));
            if let Some(length) = characters.nth(self.length) {
                return self.record(bytes, start, start + length, start + length);
            }
            if torn {
                return Step::Lost(UNALIGNED);
            }
        }
        let end = bytes.len();
        match beyond {
            Beyond::End if rest.iter().all(|b| matches!(b, b'\r' | b'\n' | &SUB)) => Step::Blank { end },
            Beyond::End => {
                let characters = |text: &str| text.chars().count();
                self.ragged = if self.is_even(rest) { rest.len() } else { std::str::from_utf8(rest).map_or(rest.len(), characters) };
                Step::Bad { end, raw_end: end, code: "ragged" }
            }
            _ => Step::Incomplete,
        }
    }

    /// A record that is as long as it should be.
    fn record(&mut self, bytes: &[u8], start: usize, raw_end: usize, end: usize) -> Step {
        let record = bytes.get(start..raw_end).unwrap_or_default();
        let even = self.is_even(record);
        self.places.clear();
        if !even {
            let text = std::str::from_utf8(record).unwrap_or_default();
            self.places.extend(text.char_indices().map(|(at, _)| at).chain(std::iter::once(text.len())));
        }
        match self.kind(record, even) {
            Kind::PassedOver => return Step::PassedOver { end },
            Kind::Unknown => return Step::Bad { end, raw_end, code: "unknown-record-type" },
            Kind::Wanted => {}
        }
        if even {
            self.rows.push(Row::Even { start: start as u32 });
        } else {
            self.rows.push(Row::Uneven { at: self.bounds.len() as u32 });
            let place = |character: u32| (start + self.places.get(character as usize).copied().unwrap_or(record.len())) as u32;
            self.bounds.extend(self.fields.iter().map(|field| (place(field.offset), place(field.offset + field.width))));
        }
        Step::Record { end, raw_end }
    }

    fn kind(&self, record: &[u8], even: bool) -> Kind {
        let Some(types) = &self.types else { return Kind::Wanted };
        let place = |character: u32| if even { Some(character as usize) } else { self.places.get(character as usize).copied() };
        let range = place(types.offset).zip(place(types.offset + types.width));
        let found = self.decoding.utf8(range.and_then(|(from, to)| record.get(from..to)).unwrap_or_default());
        let is = |value: &String| value.as_bytes() == found.as_ref();
        match &types.others {
            _ if types.values.iter().any(is) => Kind::Wanted,
            Some(others) if !others.iter().any(is) => Kind::Unknown,
            _ => Kind::PassedOver,
        }
    }
}

/// What DOS ends files with.
const SUB: u8 = 0x1a;

const UNALIGNED: Fault = Fault {
    code: "unaligned-records",
    message: "a sequence that is no character, in records that only their length separates: nobody can tell where the next one starts",
    help: "Look at the source's `encoding`, or get the file with line ends",
};

impl Tokenizer for FixedWidth {
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step {
        if self.line_ends { self.line(bytes, start, beyond) } else { self.stretch(bytes, start, beyond) }
    }

    fn skip(&mut self, bytes: &[u8]) -> Skipped {
        find(bytes, 0, b'\n').map_or(Skipped::Further, |raw_end| Skipped::End { raw_end, end: raw_end + 1 })
    }

    fn ragged(&self) -> Option<Ragged> {
        Some(Ragged { found: self.ragged as u64, expected: self.length as u64 })
    }

    fn retain(&mut self, keep: &[bool]) {
        if keep.is_empty() {
            self.bounds.clear();
        }
        let mut keep = keep.iter();
        self.rows.retain(|_| keep.next().copied().unwrap_or(false));
    }

    fn type_into(&mut self, text: Text<'_>, _: usize, columns: &mut [Option<Typing>]) {
        let (rows, bounds, markers) = (&self.rows, &self.bounds, &self.null_markers);
        for (index, (typing, field)) in columns.iter_mut().zip(&self.fields).enumerate() {
            let Some(typing) = typing else { continue };
            typing.extend(rows.iter().map(|row| {
                let (start, end) = match row {
                    Row::Even { start } => (*start as usize + field.offset as usize, *start as usize + field.offset as usize + field.width as usize),
                    Row::Uneven { at } => bounds.get(*at as usize + index).map_or((0, 0), |(start, end)| (*start as usize, *end as usize)),
                };
                let cell = trimmed(text.cell(start, end - start), field.trim);
                let null = cell.is_empty() || markers.iter().any(|marker| marker == cell);
                if null { Cell::Null } else { Cell::Text(cell) }
            }));
        }
        self.rows.clear();
        self.bounds.clear();
    }
}

/// The cell without its filling; empty when there is nothing else.
fn trimmed(cell: &str, trim: Trim) -> &str {
    let (left, right) = match trim {
        Trim::Both => (true, true),
        Trim::Left => (true, false),
        Trim::Right => (false, true),
        Trim::None => return cell,
    };
    let bytes = cell.as_bytes();
    let last = bytes.iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1);
    let first = if left { bytes.iter().position(|b| *b != b' ').unwrap_or(0) } else { 0 };
    // All blank is nothing, on whichever side the filling is.
    if last == 0 { "" } else { cell.get(first..if right { last } else { bytes.len() }).unwrap_or_default() }
}
