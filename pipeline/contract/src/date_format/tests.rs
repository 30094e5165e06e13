use super::*;
use chrono::{Datelike, NaiveDate, NaiveDateTime};

fn compiled(pattern: &str) -> CompiledFormat {
    CompiledFormat::compile(pattern, 2000).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

fn date(year: i32, month: u32, day: u32) -> i32 {
    NaiveDate::from_ymd_opt(year, month, day).unwrap().signed_duration_since(NaiveDate::from_ymd_opt(1970, 1, 1).unwrap()).num_days() as i32
}

fn micros(text: &str) -> i64 {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").unwrap().and_utc().timestamp_micros()
}

/// The whole calendar, against another implementation of it.
#[test]
fn every_day_of_ten_thousand_years() {
    let format = CompiledFormat::iso_date();
    let compact = compiled("yyyyMMdd");
    for year in 1..=9999 {
        for month in 1..=12 {
            for day in 1..=31 {
                let expected = NaiveDate::from_ymd_opt(year, month, day).map(|date| date.num_days_from_ce() - 719_163);
                let day_text = [b'0' + (day / 10) as u8, b'0' + (day % 10) as u8];
                // text is built for the ends of months only: the middle differs in nothing
                if day >= 28 || day == 1 {
                    let text = format!("{year:04}-{month:02}-{}", std::str::from_utf8(&day_text).unwrap());
                    assert_eq!(format.parse_date(&text), expected, "{text}");
                    assert_eq!(compact.parse_date(&text.replace('-', "")), expected, "{text}");
                }
            }
        }
    }
}

#[test]
fn dates() {
    for (pattern, cell, expected) in [
        ("dd/MM/yyyy", "29/02/2024", Some(date(2024, 2, 29))),
        ("dd/MM/yyyy", "29/02/2023", None),
        ("dd/MM/yyyy", "31/04/2024", None),
        ("dd/MM/yyyy", "29/02/1900", None),
        ("dd/MM/yyyy", "29/02/2000", Some(date(2000, 2, 29))),
        ("dd/MM/yyyy", "1/02/2024", None),
        ("dd/MM/yyyy", "01/02/2024 ", None),
        ("dd/MM/yyyy", " 01/02/2024", None),
        ("dd/MM/yyyy", "01/02/20240", None),
        ("dd/MM/yyyy", "00/02/2024", None),
        ("dd/MM/yyyy", "01/13/2024", None),
        ("dd/MM/yyyy", "٠١/02/2024", None),
        ("dd/MM/yyyy", "", None),
        ("d/M/yyyy", "1/2/2024", Some(date(2024, 2, 1))),
        ("d/M/yyyy", "01/12/2024", Some(date(2024, 12, 1))),
        ("d MMM yyyy", "7 fEB 2024", Some(date(2024, 2, 7))),
        ("d MMM yyyy", "7 fev 2024", None),
        ("yyMMdd", "991231", Some(date(2099, 12, 31))),
        ("yyMMdd", "000101", Some(date(2000, 1, 1))),
        ("yyyy-MM-dd", "0000-01-01", None),
        ("uuuu-MM-dd", "0000-03-01", Some(-719_468)),
        ("'Day' dd''MM''yyyy", "Day 01'02'2024", Some(date(2024, 2, 1))),
        ("yyyy年MM月dd", "2024年02月01", Some(date(2024, 2, 1))),
        ("yyyy-MM-dd[ EEE]", "2024-02-01", None),
        ("yyyy[-MM-dd]", "2024-02-01", Some(date(2024, 2, 1))),
        ("yyyy[-MM-dd]", "2024", None),
        ("yyyy[-MM[-dd]]", "2024-02-01", Some(date(2024, 2, 1))),
        ("yyyy[-MM[-dd]]", "2024-02", None),
    ] {
        match CompiledFormat::compile(pattern, 2000) {
            Ok(format) => assert_eq!(format.parse_date(cell), expected, "{pattern} {cell:?}"),
            Err(error) => assert!(expected.is_none() && pattern.contains('E'), "{pattern}: {error}"),
        }
    }
}

#[test]
fn two_digit_years_count_from_the_base() {
    for (base, cell, year) in
        [(1900, "000101", 1900), (1900, "990101", 1999), (1930, "300101", 1930), (1930, "290101", 2029), (1999, "000101", 2000), (1999, "990101", 1999)]
    {
        assert_eq!(CompiledFormat::compile("yyMMdd", base).unwrap().parse_date(cell), Some(date(year, 1, 1)), "{base} {cell}");
    }
    assert!(CompiledFormat::compile("yyMMdd", -1).is_err() && CompiledFormat::compile("yyMMdd", 9901).is_err());
}

#[test]
fn timestamps() {
    let noon = Some(micros("2024-02-01 12:30:15"));
    for (pattern, cell, local, offset) in [
        ("yyyy-MM-dd HH:mm:ss", "2024-02-01 12:30:15", noon, None),
        ("yyyy-MM-dd HH:mm:ss", "2024-02-01 24:00:00", None, None),
        ("yyyy-MM-dd HH:mm:ss", "2024-02-01 23:59:60", None, None),
        ("yyyy-MM-dd HH:mm:ss", "2024-02-01 12:60:00", None, None),
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2024-02-01T12:30:15.120", Some(micros("2024-02-01 12:30:15.12")), None),
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2024-02-01T12:30:15.12", None, None),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "2024-02-01T12:30:15.123456000", Some(micros("2024-02-01 12:30:15.123456")), None),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS", "2024-02-01T12:30:15.123456001", None, None),
        ("yyyyMMddHHmmss", "20240201123015", noon, None),
        ("dd/MM/yyyy h:mm:ss a", "01/02/2024 12:30:15 pm", noon, None),
        ("dd/MM/yyyy h:mm:ss a", "01/02/2024 12:30:15 AM", Some(micros("2024-02-01 00:30:15")), None),
        ("dd/MM/yyyy hh:mm:ss a", "01/02/2024 01:30:15 PM", Some(micros("2024-02-01 13:30:15")), None),
        ("dd/MM/yyyy hh:mm:ss a", "01/02/2024 00:30:15 AM", None, None),
        ("dd/MM/yyyy hh:mm:ss a", "01/02/2024 13:30:15 PM", None, None),
        ("yyyy-MM-dd HH:mm:ssXXX", "2024-02-01 12:30:15-03:00", noon, Some(-10_800)),
        ("yyyy-MM-dd HH:mm:ssXXX", "2024-02-01 12:30:15Z", noon, Some(0)),
        ("yyyy-MM-dd HH:mm:ssXXX", "2024-02-01 12:30:15-0300", None, None),
        ("yyyy-MM-dd HH:mm:ssXXX", "2024-02-01 12:30:15+19:00", None, None),
        ("yyyy-MM-dd HH:mm:ssXX", "2024-02-01 12:30:15+0530", noon, Some(19_800)),
        ("yyyy-MM-dd HH:mm:ssX", "2024-02-01 12:30:15+05", noon, Some(18_000)),
        ("yyyy-MM-dd HH:mm:ssX", "2024-02-01 12:30:15+0530", noon, Some(19_800)),
        ("yyyy-MM-dd HH:mm:ssZ", "2024-02-01 12:30:15+0000", noon, Some(0)),
        ("yyyy-MM-dd HH:mm:ssZ", "2024-02-01 12:30:15Z", None, None),
        ("yyyy-MM-dd HH:mm:ss[.SSS][XXX]", "2024-02-01 12:30:15", noon, None),
        ("yyyy-MM-dd HH:mm:ss[.SSS][XXX]", "2024-02-01 12:30:15.000Z", noon, Some(0)),
        ("yyyy-MM-dd HH:mm:ss[.SSS][XXX]", "2024-02-01 12:30:15.00Z", None, None),
        ("yyyy-MM-dd[ HH:mm]", "2024-02-01", Some(micros("2024-02-01 00:00:00")), None),
        ("yyyy-MM-dd H:m:s", "1969-12-31 23:59:59", Some(-1_000_000), None),
    ] {
        let expected = local.map(|local| (local, offset));
        assert_eq!(compiled(pattern).parse_timestamp(cell), expected, "{pattern} {cell:?}");
    }
}

#[test]
fn the_default_of_timestamps() {
    let format = CompiledFormat::iso_timestamp();
    let noon = micros("2024-02-01 12:30:15");
    for (cell, expected) in [
        ("2024-02-01 12:30:15", Some((noon, None))),
        ("2024-02-01T12:30:15", Some((noon, None))),
        ("2024-02-01T12:30:15Z", Some((noon, Some(0)))),
        ("2024-02-01T12:30:15.5+05:30", Some((noon + 500_000, Some(19_800)))),
        ("2024-02-01 12:30:15.123456789", None),
        ("2024-02-01 12:30:15.123456000", Some((noon + 123_456, None))),
        ("2024-02-01 12:30:15-03", Some((noon, Some(-10_800)))),
        ("2024-02-01 12:30:15.", None),
        ("2024-02-01 12:30", None),
        ("2024-02-01", None),
        ("2024-02-01t12:30:15", Some((noon, None))),
    ] {
        assert_eq!(format.parse_timestamp(cell), expected, "{cell}");
    }
    assert_eq!((format.offset(), compiled("yyyy-MM-dd HHX").offset(), CompiledFormat::iso_date().offset()), (Offset::Maybe, Offset::Always, Offset::Never));
}

#[test]
fn bad_patterns() {
    for pattern in [
        "",
        "yyyy-MM",
        "MM-dd",
        "yyyy-mm-dd",
        "YYYY-MM-dd",
        "yyyy-MM-DD",
        "yyy-MM-dd",
        "yyyy-MMMM-dd",
        "EEE yyyy-MM-dd",
        "yyyy-MM-dd hh:mm",
        "yyyy-MM-dd HH:mm a",
        "yyyy-MM-dd HH:ss",
        "yyyy-MM-dd mm",
        "yyyy-MM-dd HH:mm.SSS",
        "yyyy-MM-dd HH:mm:ss.SSSSSSSSSS",
        "yyyy-MM-dd'T",
        "yyyy-MM-dd[",
        "yyyy-MM-dd]",
        "yyyy-MM-dd[]",
        "yyyy-MM-dd #",
        "yyyy-MM-dd {x}",
        "yyyyMd",
        "dMyyyy",
        "yyyy-MM-dd yyyy",
        "yyyy-MM-dd MMM",
        "yyyy-MM-dd HH:mm VV",
        "yyyy-MM-ddX",
        "yyyy-MM-dd HH:mmXZ",
        "yyyy-M1-dd",
    ] {
        assert!(CompiledFormat::compile(pattern, 2000).is_err(), "{pattern}");
    }
    assert!(CompiledFormat::compile(&"'x'".repeat(100), 2000).is_err());
}

/// No pattern and no cell makes it panic.
#[test]
fn no_panic() {
    let letters: Vec<char> = "yyyyuuMMMddHHhhmmssSSSaXZ[]'-/: .T0919é#x".chars().collect();
    let mut state = 1u64;
    let mut next = move |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    };
    let mut ran = 0;
    for _ in 0..20_000 {
        let tail: String = (0..next(12)).map(|_| letters[next(letters.len())]).collect();
        let pattern = if next(2) == 0 { format!("yyyy-MM-dd{tail}") } else { tail };
        let Ok(format) = CompiledFormat::compile(&pattern, 1970) else { continue };
        for _ in 0..4 {
            let cell: String = (0..next(30)).map(|_| letters[next(letters.len())]).collect();
            let _ = (format.parse_date(&cell), format.parse_timestamp(&cell), format.parse_timestamp(&format!("9999-12-31{cell}")));
            ran += 1;
        }
    }
    assert!(ran > 1000, "{ran}");
}

#[test]
fn times_of_day() {
    let iso = CompiledFormat::iso_time();
    for (cell, micros) in [
        ("00:00:00", Some(0)),
        ("23:59:59", Some(86_399_000_000)),
        ("23:59:59.999999", Some(86_399_999_999)),
        ("09:30:00.5", Some(34_200_500_000)),
        ("09:30:00.123456000", Some(34_200_123_456)),
        ("09:30:00.1234567", None),
        ("24:00:00", None),
        ("9:30:00", None),
        ("09:30", None),
        ("09:30:00Z", None),
        ("2026-11-30 09:30:00", None),
        ("", None),
    ] {
        assert_eq!(iso.parse_time(cell), micros, "{cell}");
    }
    for (pattern, cell, micros) in [
        ("HHmmss", "093000", Some(34_200_000_000)),
        ("h:mm a", "9:30 pm", Some(77_400_000_000)),
        ("hh:mm a", "12:00 AM", Some(0)),
        ("HH[:mm]", "07", Some(25_200_000_000)),
        ("HH:mm:ss.SSS", "00:00:00.001", Some(1000)),
    ] {
        let format = CompiledFormat::compile_time(pattern).unwrap();
        assert_eq!((format.parse_time(cell), format.has_time()), (micros, true), "{pattern}");
    }
    for pattern in ["yyyy-MM-dd HH:mm", "HH:mmXXX", "mm:ss", "hh:mm", "", "dd", "'T'"] {
        assert!(CompiledFormat::compile_time(pattern).is_err(), "{pattern}");
    }
    assert!(CompiledFormat::compile("HH:mm", 2000).is_err(), "a date needs a day");
}
