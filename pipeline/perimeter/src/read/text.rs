//! What csv and JSON lines share: blocks of bytes in, records out, batches of typed columns on.
//!
//! The buffer holds the raw bytes of one batch and what has been read beyond it. Where it is cut, and how long the pieces are that the stream hands out, changes
//! nothing but the size of batches.
use super::decompress;
use super::emit::{BadRecord, Emit};
use super::{Ingest, InputFile};
use crate::check::Typing;
use crate::error::{Culprit, Failure, Result};
use perimeter_contract::job::TextOptions;
use perimeter_contract::schema::DataType;
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
    /// Nothing up to `end`.
    Blank { end: usize },
    /// A record, kept by the tokenizer until it is typed; `raw_end` is where its line end starts.
    Record { end: usize, raw_end: usize },
    /// Something that is no record.
    Bad { end: usize, raw_end: usize, code: &'static str },
}

/// A text format.
pub(super) trait Tokenizer {
    /// Takes one record apart, from `start` of `bytes` on.
    fn next(&mut self, bytes: &[u8], start: usize, beyond: Beyond) -> Step;
    /// Forgets the records kept for which `keep` says no; those beyond its end go too.
    fn retain(&mut self, keep: &[bool]);
    /// Types the records kept and forgets them. `text` are the bytes from `base` on.
    fn type_into(&mut self, text: &str, base: usize, columns: &mut [Option<Typing>]);
}

struct Line {
    number: u64,
    start: usize,
    end: usize,
}

/// Typing of every column that somebody looks at.
pub(super) fn typings(ingest: &Ingest<'_>, emit: &Emit<'_>, options: &TextOptions) -> Vec<Option<Typing>> {
    let columns = ingest.source.schema.columns.iter().enumerate();
    columns
        .map(|(index, column)| {
            let seen = ingest.projection.contains(&index) || emit.checker.has_rules(index) || column.data_type != DataType::String;
            seen.then(|| Typing::new(&column.data_type, options.number_prefix.as_deref()))
        })
        .collect()
}

pub(super) struct Blocks<'a, T> {
    pub(super) tokenizer: T,
    file: &'a InputFile,
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Where the next record starts.
    at: usize,
    ended: bool,
    /// One read; tests change it.
    pub(super) block_bytes: usize,
    /// Bytes of the file before the buffer.
    dropped: u64,
    /// Records so far, good and bad.
    number: u64,
}

impl<'a, T: Tokenizer> Blocks<'a, T> {
    /// `first_record`: records of the file before the first byte of `input`.
    pub(super) fn new(tokenizer: T, file: &'a InputFile, input: Box<dyn Read + Send>, first_record: u64) -> Self {
        Self { tokenizer, file, input, buffer: Vec::new(), at: 0, ended: false, block_bytes: BLOCK_BYTES, dropped: 0, number: first_record }
    }

    /// As [`Blocks::new`], for an input that starts at this byte of the file.
    pub(super) fn starting_at(tokenizer: T, file: &'a InputFile, input: Box<dyn Read + Send>, byte: u64) -> Self {
        Self { dropped: byte, ..Self::new(tokenizer, file, input, 0) }
    }

    /// The next record, blank or bad stretch; `None` at the end.
    pub(super) fn step(&mut self) -> Result<Option<Step>> {
        loop {
            // A record is too long when it goes on after so many bytes, whether or not the stream has handed them out yet. One byte more is looked at: its line end.
            let longest = self.at.saturating_add(MAX_RECORD_BYTES);
            let (limit, beyond) = match self.buffer.len() <= longest {
                true if self.ended => (self.buffer.len(), Beyond::End),
                true => (self.buffer.len(), Beyond::More),
                false => (longest + 1, Beyond::Limit),
            };
            if beyond == Beyond::End && self.at == limit {
                return Ok(None);
            }
            let Some(visible) = self.buffer.get(..limit) else { return Ok(None) };
            match self.tokenizer.next(visible, self.at, beyond) {
                Step::Incomplete if beyond == Beyond::More => self.fill()?,
                Step::Incomplete => return self.skip_line().map(Some),
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

    /// Where in the file the next record starts.
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

    /// The record at hand is too long: its line is skipped, all but its start forgotten.
    fn skip_line(&mut self) -> Result<Step> {
        let mut from = self.at;
        loop {
            if let Some(length) = self.buffer.get(from..).unwrap_or_default().iter().position(|b| matches!(b, b'\n' | b'\r')) {
                let raw_end = from + length;
                return Ok(Step::Bad { end: raw_end + 1, raw_end, code: "too-long" });
            }
            if self.ended {
                return Ok(Step::Bad { end: self.buffer.len(), raw_end: self.buffer.len(), code: "too-long" });
            }
            let kept = self.at.saturating_add(MAX_RECORD_BYTES).min(self.buffer.len());
            self.dropped = self.dropped.saturating_add((self.buffer.len() - kept) as u64);
            self.buffer.truncate(kept);
            from = self.buffer.len();
            self.fill()?;
        }
    }

    /// Reads everything: checks, counts and hands out.
    pub(super) fn ingest(mut self, ingest: &Ingest<'_>, emit: &mut Emit<'_>, mut columns: Vec<Option<Typing>>) -> Result<()> {
        let batch_rows = ingest.batch_rows.max(1);
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
                Some(Step::Blank { end }) => self.at = end,
                Some(Step::Incomplete) | None => {}
            }
            let flush = step.is_none() || lines.len() >= batch_rows || self.at >= BATCH_BYTES;
            if flush || lines.len() - typed >= TYPED_TOGETHER {
                self.type_lines(&mut lines, typed, &mut columns, &mut bad)?;
                typed = lines.len();
            }
            if flush {
                self.flush(&lines, &mut columns, &bad, emit)?;
                lines.clear();
                bad.clear();
                typed = 0;
                self.compact();
            }
            if step.is_none() {
                return Ok(());
            }
        }
    }

    /// Copies a bad record and blanks it, so that what stays in the buffer is text.
    fn bad_record(&mut self, start: usize, end: usize, code: &'static str) -> BadRecord {
        let raw = self.buffer.get_mut(start..end).unwrap_or_default();
        let kept = raw.get(..raw.len().min(if code == "too-long" { KEPT_BYTES } else { usize::MAX })).unwrap_or_default().to_vec();
        let mut codes = vec![code];
        if code != "invalid-utf8" && code != "too-long" && std::str::from_utf8(&kept).is_err() {
            codes.push("invalid-utf8");
        }
        raw.fill(b' ');
        BadRecord { number: self.number, codes, raw: kept }
    }

    fn type_lines(&mut self, lines: &mut Vec<Line>, typed: usize, columns: &mut [Option<Typing>], bad: &mut Vec<BadRecord>) -> Result<()> {
        let Some(base) = lines.get(typed).map(|line| line.start) else { return Ok(()) };
        let end = self.at;
        if self.buffer.get(base..end).is_none_or(|bytes| std::str::from_utf8(bytes).is_err()) {
            let fresh = lines.split_off(typed);
            let keep: Vec<bool> = fresh.iter().map(|l| self.buffer.get(l.start..l.end).is_some_and(|b| std::str::from_utf8(b).is_ok())).collect();
            self.tokenizer.retain(&keep);
            for (line, keep) in fresh.into_iter().zip(keep) {
                if keep {
                    lines.push(line);
                } else {
                    let record = self.bad_record(line.start, line.end, "invalid-utf8");
                    bad.push(BadRecord { number: line.number, ..record });
                }
            }
            bad.sort_by_key(|b| b.number);
        }
        let text = self.buffer.get(base..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| Failure::new(Culprit::Data, "internal", format!("{}: records overlap", self.file.label)).help("Report this as a bug"))?;
        self.tokenizer.type_into(text, base, columns);
        Ok(())
    }

    fn flush(&self, lines: &[Line], columns: &mut [Option<Typing>], bad: &[BadRecord], emit: &mut Emit<'_>) -> Result<()> {
        let columns: Vec<_> = columns.iter_mut().map(|c| c.as_mut().map(Typing::finish)).collect();
        let raw = |rows: &[usize]| {
            Ok(rows.iter().map(|row| Cow::Borrowed(lines.get(*row).and_then(|l| self.buffer.get(l.start..l.end)).unwrap_or_default())).collect())
        };
        emit.batch(lines.len(), &columns, |row| lines.get(row).map_or(0, |l| l.number), raw, bad)
    }
}
