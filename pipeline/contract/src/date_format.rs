//! A subset of the patterns of the JDK's `DateTimeFormatter`, compiled once and run per cell: [`CompiledFormat`].
//!
//! | letters | meaning | digits |
//! |---|---|---|
//! | `yyyy`, `uuuu` | year | 4 |
//! | `yy`, `uu` | year from `year_base` on | 2 |
//! | `M`, `MM`, `MMM` | month; `MMM` in English (`Jan`), any case | 1–2, 2, – |
//! | `d`, `dd` | day of the month | 1–2, 2 |
//! | `H`, `HH` | hour, 0 to 23 | 1–2, 2 |
//! | `h`, `hh` with `a` | hour, 1 to 12, and `AM` or `PM`, any case | 1–2, 2 |
//! | `m`, `mm`, `s`, `ss` | minute, second | 1–2, 2 |
//! | `S` … `SSSSSSSSS` | fraction of a second; what is finer than a microsecond must be zero | as many |
//! | `X`, `XX`, `XXX` | offset: `Z`, or `+03[30]`, `+0330`, `+03:30` | |
//! | `Z` | offset: `+0330` | |
//! | `'text'`, `''` | the text, a quote | |
//! | `[…]` | optional; taken when it fits, as in the JDK without going back on it | |
//!
//! Other punctuation and blanks stand for themselves; other letters and `#`, `{`, `}` are refused. Differences to the JDK: `yyyy` takes four
//! digits and no more, months' names are English whatever the machine's locale, and what the JDK would leave ambiguous is refused when
//! compiling. The calendar is strict (no 31 February), the whole cell must match, digits are ASCII, 24:00 and second 60 are no times.
//!
//! Times of day ([`CompiledFormat::compile_time`]) take the letters of the time alone.
//!
//! Nothing here allocates or fails after [`CompiledFormat::compile`].
use std::sync::Arc;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// The JDK's limit of offsets, 18 hours.
const MAX_OFFSET_SECONDS: i32 = 18 * 3600;
const MAX_PATTERN_BYTES: usize = 200;
const MAX_NESTING: usize = 4;

/// Why a pattern does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FormatError {
    /// Byte offset in the pattern.
    pub at: usize,
    /// What is wrong there.
    pub reason: String,
}

/// A pattern ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledFormat {
    ops: Arc<[Op]>,
    year_base: i32,
    year_zero: bool,
    fields: Has,
}

/// Which fields a pattern can fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Has {
    date: bool,
    time: bool,
    offset: Offset,
}

/// Whether values carry an offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Offset {
    /// Never.
    #[default]
    Never,
    /// In an optional section.
    Maybe,
    /// Always.
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Literal(u8),
    /// `T`, `t` (RFC 3339 has both) or a blank: only in [`CompiledFormat::iso_timestamp`].
    DateTimeSeparator,
    Number {
        field: Field,
        min: u8,
        max: u8,
    },
    YearOfBase,
    MonthName,
    HalfDay,
    /// Digits of a fraction, as many as are there between the two.
    Fraction {
        min: u8,
        max: u8,
    },
    Offset(OffsetStyle),
    /// The next `n` operations are taken together or not at all.
    Optional(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Year,
    Month,
    Day,
    Hour,
    HourOfHalf,
    Minute,
    Second,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffsetStyle {
    /// `Z` or `+HH[mm]`.
    X,
    /// `Z` or `+HHmm`.
    Xx,
    /// `Z` or `+HH:mm`.
    Xxx,
    /// `+HHmm`.
    Z,
    /// Any of them: only in [`CompiledFormat::iso_timestamp`].
    Any,
}

/// What has been read so far; -1 where nothing has.
#[derive(Clone, Copy)]
struct Parts {
    year: Option<i32>,
    month: i32,
    day: i32,
    hour: i32,
    hour_of_half: i32,
    afternoon: i32,
    minute: i32,
    second: i32,
    micros: i32,
    offset: Option<i32>,
}

impl CompiledFormat {
    /// `yyyy-MM-dd`, the default of dates.
    pub fn iso_date() -> Self {
        use Field::{Day, Month, Year};
        let ops = [number(Year, 4, 4), Op::Literal(b'-'), number(Month, 2, 2), Op::Literal(b'-'), number(Day, 2, 2)];
        Self { ops: ops.into(), year_base: 2000, year_zero: false, fields: Has { date: true, time: false, offset: Offset::Never } }
    }

    /// The default of timestamps: `yyyy-MM-dd HH:mm:ss`, a blank or `T` between, a fraction of one to nine digits if any, an offset if any
    /// (`Z`, `+03`, `+0330`, `+03:30`).
    pub fn iso_timestamp() -> Self {
        use Field::{Hour, Minute, Second};
        let mut ops = Self::iso_date().ops.to_vec();
        ops.extend([Op::DateTimeSeparator, number(Hour, 2, 2), Op::Literal(b':'), number(Minute, 2, 2), Op::Literal(b':'), number(Second, 2, 2)]);
        ops.extend([Op::Optional(2), Op::Literal(b'.'), Op::Fraction { min: 1, max: 9 }, Op::Optional(1), Op::Offset(OffsetStyle::Any)]);
        Self { ops: ops.into(), year_base: 2000, year_zero: false, fields: Has { date: true, time: true, offset: Offset::Maybe } }
    }

    /// The default of times of day: `HH:mm:ss`, a fraction of one to nine digits if any.
    pub fn iso_time() -> Self {
        use Field::{Hour, Minute, Second};
        let mut ops = vec![number(Hour, 2, 2), Op::Literal(b':'), number(Minute, 2, 2), Op::Literal(b':'), number(Second, 2, 2)];
        ops.extend([Op::Optional(2), Op::Literal(b'.'), Op::Fraction { min: 1, max: 9 }]);
        Self { ops: ops.into(), year_base: 2000, year_zero: false, fields: Has { date: false, time: true, offset: Offset::Never } }
    }

    /// Compiles `pattern` of dates and timestamps; `yy` counts from `year_base` (2000 in the JDK).
    ///
    /// # Errors
    /// The pattern has a letter outside the subset, states a field twice, lacks a part of the date, or is ambiguous.
    pub fn compile(pattern: &str, year_base: i32) -> Result<Self, FormatError> {
        Compiler { pattern, at: 0, ops: Vec::new(), sections: Vec::new(), seen: Seen::default(), variable: false, time_of_day: false }.compile(year_base)
    }

    /// Compiles `pattern` of times of day.
    ///
    /// # Errors
    /// As [`CompiledFormat::compile`], and it states something of a date, an offset, or no hour.
    pub fn compile_time(pattern: &str) -> Result<Self, FormatError> {
        Compiler { pattern, at: 0, ops: Vec::new(), sections: Vec::new(), seen: Seen::default(), variable: false, time_of_day: true }.compile(2000)
    }

    /// Whether a value says more than a date.
    pub fn has_time(&self) -> bool {
        self.fields.time
    }

    /// Whether values carry an offset from UTC.
    pub fn offset(&self) -> Offset {
        self.fields.offset
    }

    /// Whether the pattern has a two-digit year.
    pub fn has_year_of_base(&self) -> bool {
        self.ops.contains(&Op::YearOfBase)
    }

    /// Days since 1970-01-01, or `None` when the cell is not such a date.
    #[inline]
    pub fn parse_date(&self, cell: &str) -> Option<i32> {
        self.days(&self.run(cell)?)
    }

    /// Microseconds since 1970-01-01T00:00:00 as the clock on the wall says, and seconds east of UTC when the cell says so;
    /// `None` when the cell is not such a timestamp. The instant is the first less the second.
    #[inline]
    pub fn parse_timestamp(&self, cell: &str) -> Option<(i64, Option<i32>)> {
        let parts = self.run(cell)?;
        let micros_of_day = parts.micros_of_day()?;
        Some((i64::from(self.days(&parts)?) * SECONDS_PER_DAY * MICROS_PER_SECOND + micros_of_day, parts.offset))
    }

    /// Microseconds since midnight, or `None` when the cell is not such a time. For [`CompiledFormat::iso_time`] and
    /// [`CompiledFormat::compile_time`].
    #[inline]
    pub fn parse_time(&self, cell: &str) -> Option<i64> {
        self.run(cell)?.micros_of_day()
    }

    #[inline]
    fn run(&self, cell: &str) -> Option<Parts> {
        let mut parts = Parts { year: None, month: -1, day: -1, hour: -1, hour_of_half: -1, afternoon: -1, minute: -1, second: -1, micros: 0, offset: None };
        let at = run(&self.ops, cell.as_bytes(), 0, self.year_base, &mut parts)?;
        (at == cell.len()).then_some(parts)
    }

    fn days(&self, parts: &Parts) -> Option<i32> {
        let year = parts.year?;
        if year == 0 && !self.year_zero {
            return None; // the era has no year 0; `uuuu` has
        }
        (parts.day >= 1 && parts.day <= days_in_month(year, parts.month)?).then(|| days_from_civil(year, parts.month, parts.day))
    }
}

impl Parts {
    fn micros_of_day(&self) -> Option<i64> {
        let hour = if self.hour_of_half >= 0 {
            // 12 AM is midnight, 12 PM is noon
            (self.hour_of_half % 12) + 12 * (self.afternoon >= 0).then_some(self.afternoon)?
        } else {
            self.hour.max(0)
        };
        let seconds = i64::from(hour) * 3600 + i64::from(self.minute.max(0)) * 60 + i64::from(self.second.max(0));
        Some(seconds * MICROS_PER_SECOND + i64::from(self.micros))
    }
}

fn number(field: Field, min: u8, max: u8) -> Op {
    Op::Number { field, min, max }
}

fn days_in_month(year: i32, month: i32) -> Option<i32> {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => Some(29),
        2 => Some(28),
        _ => None,
    }
}

/// Days of the proleptic Gregorian calendar since 1970-01-01; the year starts in March so that the leap day is its last.
fn days_from_civil(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Runs `ops` from `at`; the position after them.
fn run(ops: &[Op], cell: &[u8], mut at: usize, year_base: i32, parts: &mut Parts) -> Option<usize> {
    let mut index = 0;
    while let Some(op) = ops.get(index) {
        index += 1;
        match *op {
            Op::Literal(byte) => {
                if *cell.get(at)? != byte {
                    return None;
                }
                at += 1;
            }
            Op::DateTimeSeparator => {
                if !matches!(cell.get(at)?, b' ' | b'T' | b't') {
                    return None;
                }
                at += 1;
            }
            Op::Number { field, min, max } => {
                let (value, after) = digits(cell, at, min, max)?;
                at = after;
                let (slot, low, high) = match field {
                    Field::Year => {
                        parts.year = Some(value);
                        continue;
                    }
                    Field::Month => (&mut parts.month, 1, 12),
                    Field::Day => (&mut parts.day, 1, 31),
                    Field::Hour => (&mut parts.hour, 0, 23),
                    Field::HourOfHalf => (&mut parts.hour_of_half, 1, 12),
                    Field::Minute => (&mut parts.minute, 0, 59),
                    Field::Second => (&mut parts.second, 0, 59),
                };
                if value < low || value > high {
                    return None;
                }
                *slot = value;
            }
            Op::YearOfBase => {
                let (value, after) = digits(cell, at, 2, 2)?;
                at = after;
                // the one year in base ..= base + 99 that ends in these digits
                parts.year = Some(year_base + (value - year_base % 100).rem_euclid(100));
            }
            Op::MonthName => {
                parts.month = month_of(cell.get(at..at + 3)?)?;
                at += 3;
            }
            Op::HalfDay => {
                parts.afternoon = match cell.get(at..at + 2)? {
                    [b'A' | b'a', b'M' | b'm'] => 0,
                    [b'P' | b'p', b'M' | b'm'] => 1,
                    _ => return None,
                };
                at += 2;
            }
            Op::Fraction { min, max } => {
                let (micros, after) = fraction(cell, at, min, max)?;
                parts.micros = micros;
                at = after;
            }
            Op::Offset(style) => {
                let (seconds, after) = offset(cell, at, style)?;
                parts.offset = Some(seconds);
                at = after;
            }
            Op::Optional(length) => {
                let end = index + usize::from(length);
                let before = *parts;
                match run(ops.get(index..end)?, cell, at, year_base, parts) {
                    Some(after) => at = after,
                    None => *parts = before,
                }
                index = end;
            }
        }
    }
    Some(at)
}

#[inline]
fn digits(cell: &[u8], mut at: usize, min: u8, max: u8) -> Option<(i32, usize)> {
    let mut value: i32 = 0;
    let mut count = 0;
    while count < max {
        match cell.get(at) {
            Some(byte @ b'0'..=b'9') => value = value * 10 + i32::from(byte - b'0'),
            _ => break,
        }
        at += 1;
        count += 1;
    }
    (count >= min).then_some((value, at))
}

/// Microseconds; digits after the sixth must be zeros.
fn fraction(cell: &[u8], mut at: usize, min: u8, max: u8) -> Option<(i32, usize)> {
    let (mut micros, mut unit, mut count) = (0, 100_000, 0);
    while count < max {
        match cell.get(at) {
            Some(byte @ b'0'..=b'9') => {
                if unit == 0 && *byte != b'0' {
                    return None;
                }
                micros += i32::from(byte - b'0') * unit;
                unit /= 10;
            }
            _ => break,
        }
        at += 1;
        count += 1;
    }
    (count >= min).then_some((micros, at))
}

fn offset(cell: &[u8], at: usize, style: OffsetStyle) -> Option<(i32, usize)> {
    let sign = match cell.get(at)? {
        b'Z' if style != OffsetStyle::Z => return Some((0, at + 1)),
        b'z' if style == OffsetStyle::Any => return Some((0, at + 1)),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, at) = digits(cell, at + 1, 2, 2)?;
    let colon = cell.get(at) == Some(&b':');
    let (minutes, at) = match style {
        OffsetStyle::Xxx if !colon => return None,
        OffsetStyle::Xxx => digits(cell, at + 1, 2, 2)?,
        OffsetStyle::Any if colon => digits(cell, at + 1, 2, 2)?,
        OffsetStyle::Any | OffsetStyle::X => digits(cell, at, 2, 2).unwrap_or((0, at)),
        OffsetStyle::Xx | OffsetStyle::Z => digits(cell, at, 2, 2)?,
    };
    let seconds = hours * 3600 + minutes * 60;
    (minutes < 60 && seconds <= MAX_OFFSET_SECONDS).then_some((sign * seconds, at))
}

fn month_of(name: &[u8]) -> Option<i32> {
    const NAMES: [&[u8; 3]; 12] = [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    (1..).zip(NAMES).find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(month, _)| month)
}

/// Fields that the pattern has stated, by letter, to refuse the second one.
#[derive(Default)]
struct Seen {
    year: bool,
    month: bool,
    day: bool,
    hour: bool,
    hour_of_half: bool,
    half: bool,
    minute: bool,
    second: bool,
    fraction: bool,
    offset: Offset,
    year_of_base: bool,
    /// `uuuu` knows a year 0.
    proleptic: bool,
}

struct Compiler<'p> {
    pattern: &'p str,
    at: usize,
    ops: Vec<Op>,
    /// Where each open `[` put its operation.
    sections: Vec<usize>,
    seen: Seen,
    /// The last operation takes one digit or two.
    variable: bool,
    /// The pattern is of a time of day, not of a date.
    time_of_day: bool,
}

impl Compiler<'_> {
    fn error<T>(&self, reason: impl Into<String>) -> Result<T, FormatError> {
        Err(FormatError { at: self.at, reason: reason.into() })
    }

    fn compile(mut self, year_base: i32) -> Result<CompiledFormat, FormatError> {
        if self.pattern.is_empty() || self.pattern.len() > MAX_PATTERN_BYTES {
            return self.error(format!("a pattern has 1 to {MAX_PATTERN_BYTES} bytes"));
        }
        if !(0..=9900).contains(&year_base) {
            return self.error("the base of two-digit years is 0 to 9900");
        }
        while let Some(letter) = self.pattern[self.at..].chars().next() {
            let rest = &self.pattern[self.at..];
            let count = rest.chars().take_while(|c| *c == letter).count();
            match letter {
                '\'' => self.quoted()?,
                '[' => {
                    if self.sections.len() >= MAX_NESTING {
                        return self.error("optional sections are nested too deep");
                    }
                    self.sections.push(self.ops.len());
                    self.ops.push(Op::Optional(0));
                    self.at += 1;
                }
                ']' => {
                    let Some(start) = self.sections.pop() else { return self.error("`]` without `[`") };
                    let Ok(length @ 1..) = u8::try_from(self.ops.len() - start - 1) else { return self.error("the optional section is empty or too long") };
                    self.ops[start] = Op::Optional(length);
                    self.at += 1;
                }
                '#' | '{' | '}' => return self.error(format!("`{letter}` is reserved: quote it")),
                letter if letter.is_ascii_alphabetic() => {
                    self.letters(letter, count)?;
                    self.at += count;
                }
                other => {
                    self.literal(other)?;
                    self.at += other.len_utf8();
                }
            }
        }
        self.finish(year_base)
    }

    fn quoted(&mut self) -> Result<(), FormatError> {
        let body = &self.pattern[self.at + 1..];
        if body.starts_with('\'') {
            self.literal('\'')?;
            self.at += 2;
            return Ok(());
        }
        let mut characters = body.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            if character == '\'' {
                if characters.peek().is_none_or(|(_, next)| *next != '\'') {
                    self.at += at + 2;
                    return Ok(());
                }
                characters.next();
            }
            self.literal(character)?;
        }
        self.error("the quote has no end")
    }

    fn literal(&mut self, character: char) -> Result<(), FormatError> {
        if self.variable && character.is_ascii_digit() {
            return self.error("a digit after a field of one or two digits is ambiguous: write the field twice (`dd`)");
        }
        let mut bytes = [0; 4];
        self.ops.extend(character.encode_utf8(&mut bytes).bytes().map(Op::Literal));
        self.variable = false;
        Ok(())
    }

    fn letters(&mut self, letter: char, count: usize) -> Result<(), FormatError> {
        let optional = !self.sections.is_empty();
        let seen = &mut self.seen;
        let mut new = |flag: fn(&mut Seen) -> &mut bool| -> bool { !std::mem::replace(flag(seen), true) };
        let (op, is_new) = match (letter, count) {
            ('y' | 'u', 4) => {
                let is_new = new(|seen| &mut seen.year);
                self.seen.proleptic = letter == 'u';
                (number(Field::Year, 4, 4), is_new)
            }
            ('y' | 'u', 2) => {
                let is_new = new(|seen| &mut seen.year);
                self.seen.year_of_base = true;
                (Op::YearOfBase, is_new)
            }
            ('M', 3) => (Op::MonthName, new(|seen| &mut seen.month)),
            ('M', 1 | 2) => (number(Field::Month, width(count), 2), new(|seen| &mut seen.month)),
            ('d', 1 | 2) => (number(Field::Day, width(count), 2), new(|seen| &mut seen.day)),
            ('H', 1 | 2) => (number(Field::Hour, width(count), 2), new(|seen| &mut seen.hour)),
            ('h', 1 | 2) => (number(Field::HourOfHalf, width(count), 2), new(|seen| &mut seen.hour_of_half)),
            ('m', 1 | 2) => (number(Field::Minute, width(count), 2), new(|seen| &mut seen.minute)),
            ('s', 1 | 2) => (number(Field::Second, width(count), 2), new(|seen| &mut seen.second)),
            ('S', 1..=9) => (Op::Fraction { min: width(count), max: width(count) }, new(|seen| &mut seen.fraction)),
            ('a', 1) => (Op::HalfDay, new(|seen| &mut seen.half)),
            ('X', 1..=3) | ('Z', 1..=3) => {
                let is_new = seen.offset == Offset::Never;
                seen.offset = if optional { Offset::Maybe } else { Offset::Always };
                let style = match (letter, count) {
                    ('X', 1) => OffsetStyle::X,
                    ('X', 2) => OffsetStyle::Xx,
                    ('X', _) => OffsetStyle::Xxx,
                    _ => OffsetStyle::Z,
                };
                (Op::Offset(style), is_new)
            }
            _ => {
                let letters: String = std::iter::repeat_n(letter, count.min(12)).collect();
                return self.error(format!(
                    "`{letters}` is not taken; taken are yyyy, uuuu, yy, M, MM, MMM, d, dd, H, HH, h, hh, a, m, mm, s, ss, S to SSSSSSSSS, X, XX, XXX, Z"
                ));
            }
        };
        if !is_new {
            return self.error(format!("the pattern states `{letter}` (or its field) twice"));
        }
        let reads_digits = matches!(op, Op::Number { .. } | Op::YearOfBase | Op::Fraction { .. });
        if self.variable && reads_digits {
            return self.error("digits after a field of one or two digits are ambiguous: write the field before twice (`dd`)");
        }
        self.variable = matches!(op, Op::Number { min: 1, max: 2, .. });
        self.ops.push(op);
        Ok(())
    }

    fn finish(self, year_base: i32) -> Result<CompiledFormat, FormatError> {
        let seen = &self.seen;
        if !self.sections.is_empty() {
            return self.error("`[` without `]`");
        }
        if self.ops.len() > usize::from(u8::MAX) {
            return self.error("the pattern is too long");
        }
        if self.time_of_day && (seen.year || seen.month || seen.day || seen.offset != Offset::Never) {
            return self.error("a time of day has no date and no offset");
        }
        if !(self.time_of_day || (seen.year && seen.month && seen.day)) {
            return self.error("a date needs year, month and day");
        }
        if seen.hour && (seen.hour_of_half || seen.half) {
            return self.error("`H` counts to 23 and takes no `a` and no `h`");
        }
        if seen.hour_of_half != seen.half {
            return self.error("`h` and `a` (AM or PM) need each other");
        }
        let hour = seen.hour || seen.hour_of_half;
        if (seen.minute && !hour) || (seen.second && !seen.minute) || (seen.fraction && !seen.second) {
            return self.error("minutes need hours, seconds need minutes, fractions need seconds");
        }
        if seen.offset != Offset::Never && !hour {
            return self.error("an offset needs a time");
        }
        if self.time_of_day && !hour {
            return self.error("a time of day needs an hour");
        }
        let fields = Has { date: !self.time_of_day, time: hour, offset: seen.offset };
        Ok(CompiledFormat { ops: self.ops.into(), year_base, year_zero: seen.proleptic || seen.year_of_base, fields })
    }
}

fn width(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests;
