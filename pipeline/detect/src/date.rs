//! Dates and times, so that birth dates are found and timestamps are not taken for cards or telephone numbers.
//!
//! Contracts parse dates by a declared format; this only recognises what looks like one.

use crate::Verdict;
use crate::compact::is_day;
use crate::words::fold;

/// What was recognised at the start of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recognised {
    /// Bytes that it takes.
    pub(crate) length: usize,
    pub(crate) kind: Kind,
    /// The year, if it was written in full.
    pub(crate) year: Option<u32>,
}

/// Precision of what was recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A day and a time.
    Time,
    /// A day.
    Day,
    /// A month and a year, or a day and a month.
    Partial,
    /// Two numbers that may be a day and a month, or a fraction.
    Fraction,
}

/// A calendar date as a whole value.
pub(crate) fn date(value: &str) -> Verdict {
    match whole(value) {
        Some(Kind::Day) => Verdict::Valid,
        Some(Kind::Partial) => Verdict::Possible,
        Some(Kind::Fraction) => Verdict::Invalid,
        _ if compact(value) == Some(Kind::Day) => Verdict::Valid,
        // Ordinal and week dates look like codes.
        _ => Verdict::possible_if(iso_8601(value) == Some(Kind::Day)),
    }
}

/// A point in time as a whole value: a day with a time, `yyyymmddhhmmss`, or seconds, milli-, micro- or nanoseconds since 1970 in this
/// century's range.
pub(crate) fn date_time(value: &str) -> Verdict {
    Verdict::valid_if(whole(value) == Some(Kind::Time) || compact(value) == Some(Kind::Time) || iso_8601(value) == Some(Kind::Time))
}

/// A date that may be a birth date; only its context can tell.
pub(crate) fn birth(value: &str) -> Verdict {
    Verdict::possible_if(date(value) == Verdict::Valid)
}

fn whole(value: &str) -> Option<Kind> {
    recognise(value, 0).filter(|found| found.length == value.len()).map(|found| found.kind)
}

/// The forms of ISO 8601 that people write rarely, as a whole value: ordinal (`2009-123`) and week dates (`2009-W21-2`), the basic format
/// (`20090621T0545Z`), hours alone, fractions of minutes and hours.
fn iso_8601(value: &str) -> Option<Kind> {
    let bytes = value.as_bytes();
    let digits = |from: usize, to: usize| -> Option<u32> {
        let part = bytes.get(from..to)?;
        part.iter().all(u8::is_ascii_digit).then(|| part.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
    };
    let year = digits(0, 4).filter(|year| (1850..2150).contains(year))?;
    let hyphen = usize::from(bytes.get(4) == Some(&b'-'));
    let at = 4 + hyphen;
    let day = if bytes.get(at) == Some(&b'W') {
        (1..=53).contains(&digits(at + 1, at + 3)?).then_some(())?;
        let last = at + 3 + usize::from(bytes.get(at + 3) == Some(&b'-'));
        if digits(last, last + 1).is_some_and(|day| (1..=7).contains(&day)) { last + 1 } else { at + 3 }
    } else if digits(at, at + 2).is_some_and(|month| digits(at + 2 + hyphen, at + 4 + hyphen).is_some_and(|day| is_day(year, month, day)))
        && (hyphen == 0 || bytes.get(at + 2) == Some(&b'-'))
    {
        at + 4 + hyphen
    } else {
        (hyphen == 1 && (1..=366).contains(&digits(at, at + 3)?)).then_some(at + 3)?
    };
    let Some((b'T' | b't' | b' ', time)) = bytes.get(day..)?.split_first() else { return (day == bytes.len()).then_some(Kind::Day) };
    let zone = time.iter().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-')).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone);
    let fraction = clock.iter().position(|byte| matches!(byte, b'.' | b',')).unwrap_or(clock.len());
    let (clock, fraction) = clock.split_at(fraction);
    let sound = fraction.is_empty() || fraction.len() > 1 && fraction[1..].iter().all(u8::is_ascii_digit);
    (sound && is_clock(clock, 24) && (matches!(zone, [] | [b'Z' | b'z']) || zone.len() > 1 && is_clock(&zone[1..], 23))).then_some(Kind::Time)
}

/// `hh`, `hhmm`, `hhmmss`, with or without colons.
fn is_clock(clock: &[u8], most_hours: u32) -> bool {
    let colon = clock.get(2) == Some(&b':');
    let mut parts = clock.chunks(2 + usize::from(colon)).enumerate();
    (2..=8).contains(&clock.len())
        && (!clock.starts_with(b"24") || clock[2..].iter().all(|byte| matches!(byte, b'0' | b':')))
        && parts.all(|(place, part)| {
            let joined = part.len() == 2 || colon && part.len() == 3 && part[2] == b':' && clock.len() > 3 * (place + 1);
            let number = number(part, 2).filter(|&(_, width)| width == 2).map(|(number, _)| number);
            joined && place < 3 && number.is_some_and(|number| number <= if place == 0 { most_hours } else { 60 - u32::from(place == 1) })
        })
}

/// Digits alone that are a day, a time, or an epoch.
pub(crate) fn compact(value: &str) -> Option<Kind> {
    let bytes = value.as_bytes();
    if !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let at = |from: usize, to: usize| value.get(from..to).and_then(|part| part.parse::<u32>().ok()).unwrap_or(u32::MAX);
    let day = || (1900..2100).contains(&at(0, 4)) && is_day(at(0, 4), at(4, 6), at(6, 8));
    match bytes.len() {
        8 if day() => Some(Kind::Day),
        12 if day() && at(8, 10) < 24 && at(10, 12) < 60 => Some(Kind::Time),
        14 | 17 if day() && at(8, 10) < 24 && at(10, 12) < 60 && at(12, 14) < 60 => Some(Kind::Time),
        // 2001-09-09 to 2036-07-18.
        10 | 13 | 16 | 19 => (1_000_000_000..2_100_000_000).contains(&at(0, 10)).then_some(Kind::Time),
        _ => None,
    }
}

/// Recognises a date or time that starts at `from`, which must be a character boundary and not inside a word.
pub(crate) fn recognise(text: &str, from: usize) -> Option<Recognised> {
    let bytes = text.as_bytes().get(from..)?;
    let (first, width) = number(bytes, 4)?;
    let separator = *bytes.get(width)?;
    let found = match (width, separator) {
        (4, b'-' | b'/' | b'.') => year_first(bytes, first, separator),
        (1 | 2, b'-' | b'/' | b'.') => numeric(bytes, first, width, separator).or_else(|| named_month(text, from, first, width)),
        (1 | 2, b' ' | b'o' | b's' | b'n' | b'r' | b't' | 0xc2) => named_month(text, from, first, width),
        _ => None,
    }?;
    let found = with_time(bytes, found);
    let next = bytes.get(found.length);
    let after = bytes.get(found.length + 1);
    let ends = match next {
        None => true,
        Some(byte) if byte.is_ascii_alphanumeric() || *byte >= 0x80 => false,
        Some(b'-' | b'/' | b'.' | b':') => !after.is_some_and(u8::is_ascii_digit),
        Some(_) => true,
    };
    ends.then_some(found)
}

/// A date that begins with the name of a month (`March 3, 1990`); `month` is the word that was read, `from` where it ends.
pub(crate) fn after_month(text: &str, from: usize) -> Option<Recognised> {
    let bytes = text.as_bytes().get(from..)?;
    let mut at = usize::from(bytes.first() == Some(&b'.'));
    at += skip(&bytes[at..], b" -/");
    let (first, width) = number(&bytes[at..], 4)?;
    let begin = at;
    at += width;
    if width == 4 && (1850..2150).contains(&first) {
        return bounded(bytes, at).then_some(Recognised { length: at, kind: Kind::Partial, year: Some(first) });
    }
    if width > 2 || !(1..=31).contains(&first) || begin == 0 {
        return None;
    }
    for suffix in [b"st", b"nd", b"rd", b"th"] {
        if bytes[at..].starts_with(suffix) {
            at += 2;
        }
    }
    let short = at;
    at += skip(&bytes[at..], b", -/");
    match number(&bytes[at..], 4) {
        Some((year, 4)) if (1850..2150).contains(&year) && bounded(bytes, at + 4) => {
            let found = with_time(bytes, Recognised { length: at + 4, kind: Kind::Day, year: Some(year) });
            Some(found)
        }
        _ => bounded(bytes, short).then_some(Recognised { length: short, kind: Kind::Partial, year: None }),
    }
}

/// Whether the folded word is the name of a month, and which.
pub(crate) fn month(word: &str) -> Option<u32> {
    const MONTHS: [&[&str]; 12] = [
        &["jan", "january", "janeiro", "enero", "ene", "januar"],
        &["feb", "february", "fev", "fevereiro", "febrero", "februar"],
        &["mar", "march", "marco", "marzo", "marz", "maerz", "mrz"],
        &["apr", "april", "abr", "abril"],
        &["may", "mai", "maio", "mayo"],
        &["jun", "june", "junho", "junio", "juni"],
        &["jul", "july", "julho", "julio", "juli"],
        &["aug", "august", "ago", "agosto"],
        &["sep", "sept", "september", "set", "setembro", "septiembre", "setiembre"],
        &["oct", "october", "out", "outubro", "octubre", "okt", "oktober"],
        &["nov", "november", "novembro", "noviembre"],
        &["dec", "december", "dez", "dezembro", "dic", "diciembre", "dezember"],
    ];
    MONTHS.iter().position(|names| names.contains(&word)).map(|index| index as u32 + 1)
}

fn year_first(bytes: &[u8], year: u32, separator: u8) -> Option<Recognised> {
    let (month, month_width) = number(bytes.get(5..)?, 2)?;
    let at = 5 + month_width;
    if bytes.get(at) != Some(&separator) {
        let partial = month_width == 2 && separator != b'.' && (1850..2150).contains(&year) && (1..=12).contains(&month);
        return partial.then_some(Recognised { length: at, kind: Kind::Partial, year: Some(year) });
    }
    let (day, day_width) = number(&bytes[at + 1..], 2)?;
    is_day(year, month, day).then_some(Recognised { length: at + 1 + day_width, kind: Kind::Day, year: Some(year) })
}

fn numeric(bytes: &[u8], first: u32, width: usize, separator: u8) -> Option<Recognised> {
    let rest = bytes.get(width + 1..)?;
    let (second, second_width) = number(rest, 4)?;
    let at = width + 1 + second_width;
    if second_width == 4 {
        // 05/2021
        let partial = separator == b'/' && (1..=12).contains(&first) && (1850..2150).contains(&second);
        return partial.then_some(Recognised { length: at, kind: Kind::Partial, year: Some(second) });
    }
    if second_width > 2 {
        return None;
    }
    if bytes.get(at) != Some(&separator) {
        let day = separator == b'/' && (is_day(2000, second, first) || is_day(2000, first, second));
        return day.then_some(Recognised { length: at, kind: Kind::Fraction, year: None });
    }
    let (third, third_width) = number(&bytes[at + 1..], 4)?;
    let length = at + 1 + third_width;
    let year = match third_width {
        4 => third,
        2 if third < 50 => 2000 + third,
        2 => 1900 + third,
        _ => return None,
    };
    let day = is_day(year, second, first) || is_day(year, first, second);
    day.then_some(Recognised { length, kind: Kind::Day, year: (third_width == 4).then_some(year) })
}

/// `5-May-2021`, `12 de janeiro de 1990`, `3. März 1988`, `1st of June 1970`.
fn named_month(text: &str, from: usize, day: u32, width: usize) -> Option<Recognised> {
    let bytes = &text.as_bytes()[from..];
    if !(1..=31).contains(&day) {
        return None;
    }
    let mut at = width;
    for suffix in ["st", "nd", "rd", "th", "º", "."] {
        if bytes[at..].starts_with(suffix.as_bytes()) {
            at += suffix.len();
        }
    }
    at += skip(&bytes[at..], b" -/");
    for word in ["de ", "of ", "del "] {
        if bytes[at..].starts_with(word.as_bytes()) {
            at += word.len();
        }
    }
    let word = &text[from + at..];
    let end = word.find(|character: char| !character.is_alphabetic()).unwrap_or(word.len());
    let mut buffer = [0; 32];
    month(fold(&word[..end], &mut buffer)?)?;
    at += end;
    let short = Recognised { length: at, kind: Kind::Partial, year: None };
    if bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(|byte| b" -0123456789".contains(byte)) {
        at += 1;
    }
    at += skip(&bytes[at..], b", -/");
    for word in ["de ", "del ", "of "] {
        if bytes[at..].starts_with(word.as_bytes()) {
            at += word.len();
        }
    }
    match number(&bytes[at..], 4) {
        Some((year, 4)) if (1850..2150).contains(&year) => Some(Recognised { length: at + 4, kind: Kind::Day, year: Some(year) }),
        Some((year, 2)) if bytes.get(at.wrapping_sub(1)) == Some(&b'-') => {
            Some(Recognised { length: at + 2, kind: Kind::Day, year: Some(if year < 50 { 2000 + year } else { 1900 + year }) })
        }
        _ => Some(short),
    }
}

/// Takes the time of day and zone that follow a day.
fn with_time(bytes: &[u8], found: Recognised) -> Recognised {
    if found.kind != Kind::Day {
        return found;
    }
    let mut at = found.length;
    match bytes.get(at) {
        Some(b'T' | b't' | b' ' | b'_') => at += 1,
        Some(b',') if bytes.get(at + 1) == Some(&b' ') => at += 2,
        _ => return found,
    }
    let Some((hour, hour_width @ (1 | 2))) = number(&bytes[at..], 3) else { return found };
    at += hour_width;
    let Some((minute, 2)) = bytes.get(at..).and_then(|rest| rest.strip_prefix(b":")).and_then(|rest| number(rest, 3)) else { return found };
    if hour > 24 || minute > 59 || hour == 24 && minute > 0 {
        return found;
    }
    at += 3;
    if let Some((second, 2)) = bytes[at..].strip_prefix(b":").and_then(|rest| number(rest, 3))
        && second <= 60
    {
        at += 3;
        if let Some((_, width)) = bytes[at..].strip_prefix(b".").or_else(|| bytes[at..].strip_prefix(b",")).and_then(|rest| number(rest, 9)) {
            at += 1 + width;
        }
    }
    for meridian in [" AM", " PM", " am", " pm", "AM", "PM", "am", "pm", "Z", "z", " UTC"] {
        if bytes[at..].starts_with(meridian.as_bytes()) && bounded(bytes, at + meridian.len()) {
            return Recognised { length: at + meridian.len(), kind: Kind::Time, ..found };
        }
    }
    if matches!(bytes.get(at), Some(b'+' | b'-')) {
        let zone = &bytes[at + 1..];
        match number(zone, 4) {
            Some((zone_hours, 4)) if bounded(zone, 4) && zone_hours < 2400 => at += 5,
            Some((0..24, 2)) if zone.get(2) == Some(&b':') && number(&zone[3..], 3).is_some_and(|(_, width)| width == 2) => at += 6,
            Some((0..24, 2)) if bounded(zone, 2) => at += 3,
            _ => {}
        }
    }
    Recognised { length: at, kind: Kind::Time, ..found }
}

/// The number at the start of the bytes, of at most `most` digits, and how many it has; `None` without a digit or with more.
fn number(bytes: &[u8], most: usize) -> Option<(u32, usize)> {
    let width = bytes.iter().take(most + 1).take_while(|byte| byte.is_ascii_digit()).count();
    if width == 0 || width > most {
        return None;
    }
    Some((bytes[..width].iter().fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))), width))
}

fn skip(bytes: &[u8], any: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| any.contains(byte)).count()
}

/// Whether a word ends at `at`.
fn bounded(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_values() {
        for value in ["2020-02-29", "29/02/2020", "02/29/2020", "5-May-2021", "12 de janeiro de 1990", "3. März 1988", "20200229", "1/5/71", "31.12.1999"] {
            assert_eq!(date(value), Verdict::Valid, "{value}");
        }
        for value in ["2009-123", "2009-W51-1", "2009W511", "2009-W33", "2009-05"] {
            assert_eq!(date(value), Verdict::Possible, "{value}");
        }
        for value in [
            "2009",
            "2009-000",
            "2009-W00",
            "2009-0519",
            "2009367",
            "200905",
            "2020-02-30",
            "30/02/2020",
            "32/12/1999",
            "2020/03-15",
            "20200230",
            "2024-05-01-",
            "1.2.3",
            "12345678",
            "",
            "12/é",
        ] {
            assert_eq!(date(value), Verdict::Invalid, "{value}");
        }
        for value in [
            "2009-05-19T14:39:22Z",
            "2009-05-19 14:39:22.123-06:00",
            "2010-02-18T16:23:48,444",
            "20260101120000",
            "1700000000",
            "1700000000123",
            "9/19/1963 3:15 PM",
            "20090621T0545Z",
            "2009-W21-2T01:22",
            "2009-05-19 14",
            "2010-02-18T16:23.33+0600",
        ] {
            assert_eq!(date_time(value), Verdict::Valid, "{value}");
        }
        for value in [
            "2009-05-19",
            "2009-05-19T25:39",
            "2009-05-19 14:39:22nonsense",
            "2009-05-19 14:",
            "2010-02-18T16:23.35:48",
            "2010-02-18T00:23:32+24:00",
            "20090621T",
            "4111111111111111",
            "9999999999",
        ] {
            assert_eq!(date_time(value), Verdict::Invalid, "{value}");
        }
    }

    #[test]
    fn inside_text() {
        let at = |text: &str| recognise(text, 0).map(|found| (&text[..found.length], found.kind)).map(|(text, kind)| (text.to_owned(), kind));
        assert_eq!(at("2024-06-05T09:15:30.500-07:00 or not?"), Some(("2024-06-05T09:15:30.500-07:00".to_owned(), Kind::Time)));
        assert_eq!(at("5/20/2021."), Some(("5/20/2021".to_owned(), Kind::Day)));
        assert_eq!(at("5/20/2021-22"), None);
        assert_eq!(at("05/2021 x"), Some(("05/2021".to_owned(), Kind::Partial)));
        assert_eq!(at("1st of June 1970 we"), Some(("1st of June 1970".to_owned(), Kind::Day)));
        assert_eq!(at("12 monkeys"), None);
        assert_eq!(after_month("May 3, 1990 x", 3).map(|found| found.length), Some(8));
        assert_eq!(after_month("May the", 3), None);
    }
}
