//! What the text formats share: blocks of bytes in, records out, batches of typed columns on.
//!
//! The buffer holds the raw bytes of one batch and what has been read beyond it. Where it is cut, and how long the pieces are that the stream hands out, changes
//! nothing but the size of batches.
use super::decompress::{self, Opened};
use super::emit::BadRecord;
use super::encoding::Decoding;
use crate::check::report::Ragged;
use crate::check::{Typed, Typing};
use crate::error::{Culprit, Failure, Result};
use crate::store::InputFile;
use std::borrow::Cow;
use std::io::Read;

/// Longer records are rejected as `too-long` (or `torn-quote`, when it is an open quote that runs on).
#[cfg(not(test))]
pub(super) const MAX_RECORD_BYTES: usize = 16 << 20;
#[cfg(test)]
pub(super) const MAX_RECORD_BYTES: usize = 1 << 17;

/// So much of a record that is too long is kept for the quarantine.
const KEPT_BYTES: usize = 1 << 16;
/// A batch ends here even if it has not got its rows.
const BATCH_BYTES: usize = 8 << 20;
/// One read.
const BLOCK_BYTES: usize = 256 << 10;
/// Records that are typed together: their bytes are still in the cache.
const TYPED_TOGETHER: usize = 512;

/// What follows the bytes that a tokenizer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// Perhaps more; ask for it.
    More,
    /// The end of the input.
    End,
    /// More of a record that is too long already.
    Limit,
}

/// What a tokenizer found at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Not all of a record is there.
    Incomplete,
    /// Nothing up to `end`; what is there is forgotten.
    Blank { end: usize },
    /// A record that the job leaves out, up to `end`.
    PassedOver { end: usize },
    /// A record, kept by the tokenizer until it is typed; `raw_end` is where its line end starts.
    Record { end: usize, raw_end: usize },
    /// Something that is no record.
    Bad { end: usize, raw_end: usize, code: &'static str },
    /// From here on nobody can tell where records start.
    Lost(Fault),
}

/// Why the rest of a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    /// After `<file>, <record number>: `.
    pub(super) message: &'static str,
    pub(super) help: &'static str,
}

/// How far a record goes that is too long to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    /// So many bytes further it ends, without its line end, and so many the next one starts.
    End {
        raw_end: usize,
        end: usize,
    },
    /// Beyond these bytes.
    Further,
    Lost(Fault),
}

/// Bytes as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'t> {
    text: &'t str,
    /// Where in the buffer they start.
    base: usize,
    /// Where in `text` each byte is, if not at the same place.
    places: Option<&'t [u32]>,
}

impl<'t> Text<'t> {
    /// These bytes of the buffer. They start and end between characters: tokenizers cut at ASCII.
    pub(super) fn cell(&self, start: usize, length: usize) -> &'t str {
        let (start, end) = (start - self.base, start - self.base + length);
        match self.places {
            None => &self.text[start..end],
            Some(places) => &self.text[places[start] as usize..places[end] as usize],
        }
    }
}

/// A text format.
pub(super) trait Tokenizer {
    /// Takes one record apart, from `start` of `bytes` on.
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step;
    /// Looks in `bytes`, which go on where those before ended, for the end of a record of which `start..limit` was [`Step::Incomplete`] beyond [`Beyond::Limit`].
    fn skip(&mut self, bytes: &[u8]) -> Skipped {
        match bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            Some(raw_end) => Skipped::End { raw_end, end: raw_end + 1 },
            None => Skipped::Further,
        }
    }
    /// Whether the input may end here.
    fn end(&self) -> Option<Fault> {
        None
    }
    /// Of the last record that was `ragged`.
    fn ragged(&self) -> Option<Ragged> {
        None
    }
    /// Forgets the records kept for which `keep` says no; those beyond its end go too.
    fn retain(&mut self, keep: &[bool]);
    /// Types the records kept and forgets them; they are the batch's rows from `row` on.
    fn type_into(&mut self, text: Text<'_>, row: usize, columns: &mut [Option<Typing>]);
    /// Rows of the batch without an object that must be there, by number of the object; forgets them.
    fn absent_objects(&mut self) -> Vec<(usize, Vec<u32>)> {
        Vec::new()
    }
    /// Records typed since the last call that have fields which the contract does not have.
    fn rows_with_added_fields(&mut self) -> u64 {
        0
    }
}

struct Line {
    number: u64,
    start: usize,
    end: usize,
}

/// Raw bytes of rows of a batch.
pub(super) type RawRows<'r> = &'r dyn Fn(&[usize]) -> Result<Vec<Cow<'r, [u8]>>>;

/// Who takes the records.
pub(super) trait Sink {
    /// A batch: typed columns, the record number and the bytes of a row, records that are none.
    fn batch(&mut self, rows: usize, columns: &[Option<Typed>], number: &dyn Fn(usize) -> u64, raw: RawRows<'_>, bad: &[BadRecord]) -> Result<()>;
    /// Rows of the batch that comes next without an object that must be there.
    fn absent_object(&mut self, object: usize, rows: Vec<u32>);
    /// A record that the job leaves out.
    fn passed_over(&mut self);
    /// So many records with fields that the contract does not have.
    fn added_fields(&mut self, records: u64);
}

pub(super) struct Blocks<'a, T> {
    pub(super) tokenizer: T,
    file: &'a InputFile,
    input: Box<dyn Read + Send>,
    decoding: Decoding,
    buffer: Vec<u8>,
    /// Where the next record starts.
    at: usize,
    ended: bool,
    /// One read; tests change it.
    pub(super) block_bytes: usize,
    /// Records may be so long; tests change it.
    pub(super) max_record_bytes: usize,
    /// Bytes of the file before the buffer.
    dropped: u64,
    /// Records so far, good, bad and passed over.
    number: u64,
    /// Text that the buffer does not hold as such, and where its bytes are.
    decoded: String,
    places: Vec<u32>,
}

impl<'a, T: Tokenizer> Blocks<'a, T> {
    /// `first_record`: records of the file before the first byte of the input.
    pub(super) fn new(tokenizer: T, file: &'a InputFile, opened: Opened, first_record: u64) -> Self {
        Self {
            tokenizer,
            file,
            input: opened.bytes,
            decoding: opened.decoding,
            buffer: Vec::new(),
            at: 0,
            ended: false,
            block_bytes: BLOCK_BYTES,
            max_record_bytes: MAX_RECORD_BYTES,
            dropped: 0,
            number: first_record,
            decoded: String::new(),
            places: Vec::new(),
        }
    }

    /// As [`Blocks::new`], for an input that starts at this byte of the file.
    pub(super) fn starting_at(tokenizer: T, file: &'a InputFile, opened: Opened, byte: u64) -> Self {
        Self { dropped: byte, ..Self::new(tokenizer, file, opened, 0) }
    }

    pub(super) fn decoding(&self) -> Decoding {
        self.decoding
    }

    /// The next record, blank or bad stretch; `None` at the end.
    pub(super) fn step(&mut self) -> Result<Option<Step>> {
        loop {
            // A record is too long when it goes on after so many bytes, whether or not the stream has handed them out yet. One byte more is looked at: its line end.
            let longest = self.at.saturating_add(self.max_record_bytes);
            let (limit, beyond) = match self.buffer.len() <= longest {
                true if self.ended => (self.buffer.len(), Beyond::End),
                true => (self.buffer.len(), Beyond::More),
                false => (longest + 1, Beyond::Limit),
            };
            if beyond == Beyond::End && self.at == limit {
                return Ok(self.tokenizer.end().map(Step::Lost));
            }
            let Some(visible) = self.buffer.get(..limit) else { return Ok(None) };
            match self.tokenizer.next(visible, self.at, beyond) {
                Step::Incomplete if beyond == Beyond::More => self.fill()?,
                Step::Incomplete => return self.skip().map(Some),
                step => return Ok(Some(step)),
            }
        }
    }

    pub(super) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// Goes past a stretch without counting it.
    pub(super) fn pass(&mut self, end: usize) {
        self.at = end;
    }

    /// Where in the file the next record starts. Not between [`Blocks::step`] and [`Blocks::pass`].
    pub(super) fn passed(&self) -> u64 {
        self.dropped.saturating_add(self.at as u64)
    }

    /// Those of them that [`Blocks::compact`] would drop.
    pub(super) fn passed_in_buffer(&self) -> usize {
        self.at
    }

    /// Drops what has been passed. The tokenizer keeps no record then.
    pub(super) fn compact(&mut self) {
        self.dropped = self.passed();
        self.buffer.drain(..self.at);
        self.at = 0;
    }

    fn fill(&mut self) -> Result<()> {
        // Doubling keeps the work on one long record linear.
        let want = self.block_bytes.max(self.buffer.len().saturating_sub(self.at));
        let got = (&mut self.input).take(want as u64).read_to_end(&mut self.buffer).map_err(|e| decompress::failure(self.file, e))?;
        self.ended = got < want;
        Ok(())
    }

    /// The record at hand is too long: it is skipped, all but its start forgotten.
    fn skip(&mut self) -> Result<Step> {
        let mut from = self.at;
        loop {
            match self.tokenizer.skip(self.buffer.get(from..).unwrap_or_default()) {
                Skipped::End { raw_end, end } => return Ok(Step::Bad { end: from + end, raw_end: from + raw_end, code: "too-long" }),
                Skipped::Lost(fault) => return Ok(Step::Lost(fault)),
                Skipped::Further => {}
            }
            if self.ended {
                return Ok(Step::Bad { end: self.buffer.len(), raw_end: self.buffer.len(), code: "too-long" });
            }
            let kept = self.at.saturating_add(self.max_record_bytes).min(self.buffer.len());
            self.dropped = self.dropped.saturating_add((self.buffer.len() - kept) as u64);
            self.buffer.truncate(kept);
            from = self.buffer.len();
            self.fill()?;
        }
    }

    /// Nobody can tell where the next record starts.
    fn lost(&self, fault: Fault) -> crate::error::Error {
        let message = format!("{}, record {}: {}", self.file.label, self.number.saturating_add(1), fault.message);
        Failure::new(Culprit::Data, fault.code, message).help(fault.help).into()
    }

    /// Reads everything: checks, counts and hands out.
    pub(super) fn ingest(mut self, batch_rows: usize, sink: &mut dyn Sink, mut columns: Vec<Option<Typing>>) -> Result<()> {
        let batch_rows = batch_rows.max(1);
        let mut lines: Vec<Line> = Vec::new();
        let mut typed = 0;
        let mut bad: Vec<BadRecord> = Vec::new();
        loop {
            let step = self.step()?;
            match step {
                Some(Step::Record { end, raw_end }) => {
                    self.number += 1;
                    lines.push(Line { number: self.number, start: self.at, end: raw_end });
                    self.at = end;
                }
                Some(Step::Bad { end, raw_end, code }) => {
                    self.number += 1;
                    bad.push(self.bad_record(self.at, raw_end, code));
                    self.at = end;
                }
                Some(Step::PassedOver { end }) => {
                    self.number += 1;
                    sink.passed_over();
                    self.forget(end);
                }
                Some(Step::Blank { end }) => self.forget(end),
                Some(Step::Incomplete | Step::Lost(_)) | None => {}
            }
            let last = matches!(step, None | Some(Step::Lost(_)));
            let flush = last || lines.len() >= batch_rows || self.at >= BATCH_BYTES;
            if flush || lines.len() - typed >= TYPED_TOGETHER {
                self.type_lines(&mut lines, typed, &mut columns, &mut bad)?;
                typed = lines.len();
            }
            if flush {
                self.flush(&lines, &mut columns, &bad, sink)?;
                lines.clear();
                bad.clear();
                typed = 0;
                self.compact();
            }
            match step {
                Some(Step::Lost(fault)) => return Err(self.lost(fault)),
                None => return Ok(()),
                _ => {}
            }
        }
    }

    /// Goes past a stretch that is no record, and need not be text.
    fn forget(&mut self, end: usize) {
        self.buffer.get_mut(self.at..end).unwrap_or_default().fill(b' ');
        self.at = end;
    }

    /// Copies a bad record and blanks it, so that what stays in the buffer is text.
    fn bad_record(&mut self, start: usize, end: usize, code: &'static str) -> BadRecord {
        let decoding = self.decoding;
        let bytes = self.buffer.get_mut(start..end).unwrap_or_default();
        // Beyond its limit, what is there of a record that is too long depends on how it was read.
        let most = if code == "too-long" { KEPT_BYTES.min(self.max_record_bytes) } else { usize::MAX };
        let kept = bytes.get(..bytes.len().min(most)).unwrap_or_default();
        let mut codes = vec![code];
        if code != decoding.code() && code != "too-long" && !decoding.is_text(kept) {
            codes.push(decoding.code());
        }
        let raw = decoding.raw(kept).into_owned();
        bytes.fill(b' ');
        let ragged = self.tokenizer.ragged().filter(|_| code == "ragged");
        BadRecord { number: self.number, codes, raw, ragged }
    }

    fn type_lines(&mut self, lines: &mut Vec<Line>, typed: usize, columns: &mut [Option<Typing>], bad: &mut Vec<BadRecord>) -> Result<()> {
        let Some(base) = lines.get(typed).map(|line| line.start) else { return Ok(()) };
        let end = self.at;
        let decoding = self.decoding;
        if !self.buffer.get(base..end).is_some_and(|bytes| decoding.is_text(bytes)) {
            let fresh = lines.split_off(typed);
            let keep: Vec<bool> = fresh.iter().map(|l| self.buffer.get(l.start..l.end).is_some_and(|b| decoding.is_text(b))).collect();
            self.tokenizer.retain(&keep);
            for (line, keep) in fresh.into_iter().zip(keep) {
                if keep {
                    lines.push(line);
                } else {
                    let record = self.bad_record(line.start, line.end, decoding.code());
                    bad.push(BadRecord { number: line.number, ..record });
                }
            }
            bad.sort_by_key(|b| b.number);
        }
        let bytes = self.buffer.get(base..end).unwrap_or_default();
        let text = match decoding.table().filter(|_| !bytes.is_ascii()) {
            Some(table) => {
                table.decode(bytes, &mut self.decoded, &mut self.places);
                Some(Text { text: &self.decoded, base, places: Some(&self.places) })
            }
            None => std::str::from_utf8(bytes).ok().map(|text| Text { text, base, places: None }),
        };
        let text = text.ok_or_else(|| Failure::new(Culprit::Data, "internal", format!("{}: records overlap", self.file.label)).help("Report this as a bug"))?;
        self.tokenizer.type_into(text, typed, columns);
        Ok(())
    }

    fn flush(&mut self, lines: &[Line], columns: &mut [Option<Typing>], bad: &[BadRecord], sink: &mut dyn Sink) -> Result<()> {
        let columns: Vec<_> = columns.iter_mut().map(|c| c.as_mut().map(Typing::finish)).collect();
        sink.added_fields(self.tokenizer.rows_with_added_fields());
        for (object, rows) in self.tokenizer.absent_objects() {
            sink.absent_object(object, rows);
        }
        let (buffer, decoding) = (&self.buffer, self.decoding);
        let line = |row: &usize| lines.get(*row).and_then(|l| buffer.get(l.start..l.end)).unwrap_or_default();
        let raw = |rows: &[usize]| Ok(rows.iter().map(|row| decoding.raw(line(row))).collect());
        sink.batch(lines.len(), &columns, &|row| lines.get(row).map_or(0, |l| l.number), &raw, bad)
    }
}
