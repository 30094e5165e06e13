//! Texts that nobody here wrote: delimited, JSON, of many encodings, compressed. Each is read to the rows that its suite says, or that a naive reader in here or
//! another strict parser says, or refused with a message that names it; nothing panics or hangs, and no row is lost without a count.
use super::super::csv::Csv;
use super::super::text::{Blocks, MAX_RECORD_BYTES, Step};
use super::conformance::{Suite, Tally, files, in_time, refused, relative, root, say};
use super::*;
use perimeter_contract::job::{FixedField, FixedWidthOptions, Trim};
use serde_json::Value;
use std::io::Read;

type Cells = Vec<Option<String>>;

/// A file's bytes, decompressed by its first bytes; `None` where it is damaged.
fn plain_bytes(path: &Path) -> Option<Vec<u8>> {
    let stored = std::fs::read(path).unwrap();
    let mut bytes = Vec::new();
    match stored.as_slice() {
        [0x1f, 0x8b, ..] => flate2::read::MultiGzDecoder::new(&stored[..]).read_to_end(&mut bytes).ok()?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::stream::read::Decoder::new(&stored[..]).ok()?.read_to_end(&mut bytes).ok()?,
        _ => return Some(stored),
    };
    Some(bytes)
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

// Delimited text.

/// The records of RFC 4180 text, read naively, with LF, CRLF or CR between them; `None` where a quote is torn or a record is longer than these tests read.
fn records(text: &str, delimiter: char) -> Option<Vec<Cells>> {
    let characters: Vec<char> = text.chars().collect();
    let (mut records, mut record, mut at) = (Vec::new(), Vec::new(), 0);
    while at < characters.len() {
        if record.is_empty() && matches!(characters[at], '\n' | '\r') {
            at += 1;
            continue;
        }
        // One cell, then what ends it.
        let mut cell = String::new();
        let quoted = characters[at] == '"';
        if quoted {
            at += 1;
            loop {
                match (characters.get(at)?, characters.get(at + 1)) {
                    ('"', Some('"')) => at += 1,
                    ('"', _) => break,
                    _ => {}
                }
                cell.push(characters[at]);
                at += 1;
            }
            at += 1;
        } else {
            while at < characters.len() && ![delimiter, '\n', '\r'].contains(&characters[at]) {
                cell.push(characters[at]);
                at += 1;
            }
        }
        record.push((quoted || !cell.is_empty()).then_some(cell));
        match characters.get(at) {
            Some(c) if *c == delimiter => {
                at += 1;
                // A delimiter at the very end has a cell behind it.
                if matches!(characters.get(at), None | Some('\n' | '\r')) {
                    record.push(None);
                    records.push(std::mem::take(&mut record));
                }
            }
            None | Some('\n' | '\r') => records.push(std::mem::take(&mut record)),
            Some(_) => return None,
        }
    }
    let bytes = |record: &Cells| record.iter().map(|cell| cell.as_ref().map_or(1, |c| 2 * c.len() + 3)).sum::<usize>();
    records.iter().all(|record| bytes(record) < MAX_RECORD_BYTES).then_some(records)
}

/// A contract that takes any csv: as many text columns as its first record has cells.
fn any_csv(bench: &Bench, path: &Path, options: CsvOptions) -> Source {
    let mut source = csv_source(path, &[]);
    let file = bench.stores.list(&source.uri).unwrap().remove(0);
    let width = super::super::decompress::open_text(&bench.stores, &file, &Part::Whole, options.text.encoding).ok().map_or(1, |opened| {
        let mut blocks = Blocks::new(Csv::new(&options, None, opened.decoding.table()), &file, opened, 0);
        loop {
            match blocks.step() {
                Ok(Some(Step::Record { .. })) => return blocks.tokenizer.cells(blocks.buffer()).count(),
                Ok(Some(Step::Blank { end } | Step::PassedOver { end } | Step::Bad { end, .. })) => blocks.pass(end),
                _ => return 1,
            }
        }
    });
    source.format = Format::Csv(options);
    source.schema.columns = (0..width).map(|at| column(&format!("c{at}"), DataType::String)).collect();
    source
}

fn headless(delimiter: u8) -> CsvOptions {
    CsvOptions { delimiter, header: false, ..csv_options() }
}

/// What came out against the naive reader: rows of the contract's width, and the numbers of all other records.
fn as_modelled(path: &Path, width: usize, out: &Out, records: &[Cells]) {
    let wanted: Vec<&Cells> = records.iter().filter(|record| record.len() == width).collect();
    assert_eq!(out.rows.len(), wanted.len(), "{path:?}");
    for (found, wanted) in out.rows.iter().zip(wanted) {
        assert_eq!(found, wanted, "{path:?}");
    }
    let ragged: Vec<(u64, String)> = (1..).zip(records).filter(|(_, r)| r.len() != width).map(|(number, _)| (number, "ragged".to_owned())).collect();
    assert_eq!(out.codes(), ragged, "{path:?}");
}

/// Bytes that are neither separators nor quotes: all of them are in a row or in a reject.
fn nothing_vanishes(path: &Path, delimiter: u8, out: &Out, bytes: &[u8]) {
    let letters = |bytes: &[u8]| bytes.iter().filter(|b| ![delimiter, b'"', b'\n', b'\r'].contains(b)).count();
    let rows: usize = out.rows.iter().flatten().flatten().map(|cell| letters(cell.as_bytes())).sum();
    let rejects: usize = out.rejected.iter().map(|(_, _, raw)| letters(raw)).sum();
    // Of a record that is too long, the quarantine holds the start.
    if out.rejected.iter().all(|(_, _, raw)| raw.len() < 1 << 16) {
        assert_eq!(rows + rejects, letters(bytes), "{path:?}");
    }
}

fn delimited(path: &Path) -> String {
    let bench = Bench::new();
    let bytes = plain_bytes(path);
    let first = bytes.as_deref().unwrap_or_default().split(|b| *b == b'\n').next().unwrap_or_default();
    let delimiters = [b',', b';', b'\t', b'|'];
    let own = *delimiters.iter().rev().max_by_key(|d| first.iter().filter(|b| b == d).count()).unwrap();
    let large = bytes.as_ref().is_none_or(|bytes| bytes.len() > 400_000);
    let mut verdict = String::new();
    for delimiter in delimiters.into_iter().filter(|d| *d == own || !large) {
        let source = any_csv(&bench, path, headless(delimiter));
        let found = match bench.read(&source) {
            Err(error) => refused(&error, path),
            Ok((out, tally)) => {
                let bytes = without_mark(bytes.as_ref().expect("a damaged file is no rows"));
                nothing_vanishes(path, delimiter, &out, bytes);
                let modelled = std::str::from_utf8(bytes).ok().and_then(|text| records(text, char::from(delimiter)));
                if let Some(records) = &modelled {
                    as_modelled(path, source.schema.columns.len(), &out, records);
                }
                if path.extension().is_some_and(|e| e == "csv" || e == "tsv") && !large {
                    let (files, units) = bench.cut(&source, tally.bytes_read / 3 + 1);
                    let (cut, _) = bench.read_units(&source, &files, &units, &(0..source.schema.columns.len()).collect::<Vec<_>>(), 100).unwrap();
                    assert_eq!((&cut.rows, &cut.rejected), (&out.rows, &out.rejected), "{path:?}");
                }
                let exact = if modelled.is_some() { "" } else { " (not by RFC 4180)" };
                if out.rejected.is_empty() { format!("all rows read{exact}") } else { format!("some records rejected{exact}") }
            }
        };
        if delimiter == own {
            verdict = found;
        }
    }
    // In other dialects: counted, whatever comes out.
    if !large {
        for options in [
            CsvOptions { escape: Some(b'\\'), ..headless(own) },
            CsvOptions { comment: Some(b'#'), ..headless(own) },
            CsvOptions { quote: Some(b'\''), ..headless(own) },
            CsvOptions { quote: None, ..headless(own) },
        ] {
            let source = any_csv(&bench, path, options);
            if let Err(error) = bench.read(&source) {
                refused(&error, path);
            }
        }
    }
    verdict
}

#[test]
fn delimited_files() {
    let mut suites = std::collections::BTreeMap::<String, Tally>::new();
    for path in files(Suite::Delimited) {
        let of = path.clone();
        let verdict = in_time(&path, move || delimited(&of));
        suites.entry(relative(&path).split('/').next().unwrap().to_owned()).or_default().add(&path, verdict);
    }
    suites.iter().for_each(|(suite, tally)| tally.tell(&format!("{suite}, delimited")));
}

/// csv-spectrum says every cell as JSON beside its files.
#[test]
fn csv_spectrum_says_every_cell() {
    let bench = Bench::new();
    let mut tally = Tally::default();
    for path in files(Suite::Delimited).into_iter().filter(|path| relative(path).starts_with("csv-spectrum/")) {
        let golden = root().join("csv-spectrum/json").join(path.with_extension("json").file_name().unwrap());
        // One of them is in no encoding of text any more: its degree signs were lost before it was published.
        let golden: Value = serde_json::from_str(&String::from_utf8_lossy(&std::fs::read(golden).unwrap())).unwrap();
        let golden = if golden.is_array() { golden } else { Value::Array(vec![golden]) };
        let golden = golden.as_array().unwrap();
        let names: Vec<&str> = golden[0].as_object().unwrap().keys().map(String::as_str).collect();
        let out = bench.read(&csv_source(&path, &names)).unwrap().0;
        // Nothing between two commas is null here, and text without characters there.
        let found: Vec<Vec<&str>> = out.rows.iter().map(|row| row.iter().map(|cell| cell.as_deref().unwrap_or_default()).collect()).collect();
        let wanted: Vec<Vec<&str>> = golden.iter().map(|row| names.iter().map(|name| row[*name].as_str().unwrap()).collect()).collect();
        if path.ends_with("location_coordinates.csv") {
            // The number in its JSON is another than that in its csv: disputed. The rest is the same.
            assert_eq!((found[0][0], &found[0][1..]), ("2095257564", &wanted[0][1..]));
            assert_eq!(wanted[0][0], "1234567890");
            tally.add(&path, "as the suite says but for a number that its golden file has otherwise");
        } else {
            assert_eq!(found, wanted, "{path:?}");
            tally.add(&path, "every cell as the suite says");
        }
        assert!(out.rejected.is_empty());
    }
    tally.tell("csv-spectrum, with its golden files");
}

// JSON.

/// Levels that another strict parser and ours go down for sure.
const DEEP: usize = 60;

fn depth(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| matches!(b, b'[' | b'{')).count()
}

/// A contract for the keys of these objects that hold values of one kind, and no others (`drift: allowAdded`).
fn json_columns(objects: &[&serde_json::Map<String, Value>]) -> Vec<Column> {
    let mut names: Vec<&String> = objects.iter().flat_map(|object| object.keys()).collect();
    names.sort();
    names.dedup();
    let typed = |name: &String| {
        let values: Vec<&Value> = objects.iter().filter_map(|object| object.get(name)).filter(|value| !value.is_null()).collect();
        let all = |is: fn(&Value) -> bool| values.iter().all(|value| is(value));
        let data_type = if all(Value::is_string) {
            DataType::String
        } else if all(Value::is_boolean) {
            DataType::Boolean
        } else if all(Value::is_i64) {
            DataType::Int64
        } else if all(Value::is_number) {
            DataType::Float64
        } else {
            return None;
        };
        Some(Column { path: vec![name.clone()], ..Column::new(name.clone(), data_type) })
    };
    let columns: Vec<Column> = names.into_iter().filter_map(typed).collect();
    if columns.is_empty() { vec![column("no such key", DataType::String)] } else { columns }
}

/// What came out of a record against the other parser. `None`: no object for it.
fn as_parsed(path: &Path, source: &Source, out: &Out, values: &[Option<Value>], raw: impl Fn(usize) -> Vec<u8>) {
    let mut rows = out.rows.iter();
    for (at, value) in values.iter().enumerate() {
        let rejected = out.rejected.iter().find(|(number, ..)| *number == at as u64 + 1);
        match (value, rejected) {
            (Some(Value::Object(object)), None) => {
                let row = rows.next().unwrap();
                for (cell, column) in row.iter().zip(&source.schema.columns) {
                    let same = match object.get(&column.path[0]) {
                        None | Some(Value::Null) => cell.is_none(),
                        Some(Value::String(text)) => cell.as_ref() == Some(text),
                        Some(Value::Number(number)) => cell.as_ref().and_then(|cell| cell.parse::<f64>().ok()) == number.as_f64(),
                        Some(other) => cell.as_ref() == Some(&other.to_string()),
                    };
                    assert!(same, "{path:?} record {} column {}", at + 1, column.name);
                }
            }
            (Some(Value::Object(_)), Some((_, codes, _))) => {
                let bytes = raw(at);
                let known = match codes[0].as_str() {
                    // The other parser takes the last.
                    "duplicate-key" => true,
                    "too-long" => bytes.len() > MAX_RECORD_BYTES,
                    _ => depth(&bytes) > DEEP,
                };
                assert!(known, "{path:?} record {}: {codes:?}", at + 1);
            }
            (_, None) => panic!("{path:?} record {} is no object, and a row", at + 1),
            (_, Some(_)) => {}
        }
    }
    assert!(rows.next().is_none(), "{path:?} has more rows than records");
}

fn json(path: &Path) -> String {
    let bench = Bench::new();
    let Some(bytes) = plain_bytes(path) else { return "damaged".into() };
    let text = without_mark(&bytes);
    let blank = |line: &&[u8]| line.iter().any(|b| !matches!(b, b' ' | b'\t' | b'\r'));
    let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').filter(blank).collect();
    let parsed: Vec<Option<Value>> = lines.iter().map(|line| serde_json::from_slice(line).ok()).collect();
    let whole = serde_json::from_slice::<Value>(text).ok();
    let elements: Option<Vec<Option<Value>>> = match whole {
        Some(Value::Array(elements)) => Some(elements.into_iter().map(Some).collect()),
        _ => None,
    };
    let is_array = text.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
    let mut verdict = String::new();
    for array in [false, true] {
        let values = if array { elements.as_deref() } else { Some(parsed.as_slice()) };
        let objects: Vec<_> = values.into_iter().flatten().flatten().filter_map(Value::as_object).collect();
        let mut source = source(path, Format::Json(JsonOptions { array, ..JsonOptions::default() }), json_columns(&objects));
        source.drift = Drift::AllowAdded;
        let found = match bench.read(&source) {
            Err(error) => {
                let code = refused(&error, path);
                let sound = values.is_some_and(|values| array == is_array && values.iter().any(Option::is_some));
                assert!(!sound, "{path:?} is sound: {code}");
                code
            }
            Ok((out, tally)) => {
                if let Some(values) = values {
                    assert_eq!(tally.rows_read, values.len() as u64, "{path:?}");
                    as_parsed(path, &source, &out, values, |at| if array { values[at].as_ref().unwrap().to_string().into_bytes() } else { lines[at].to_vec() });
                } else {
                    assert!(!out.rejected.is_empty(), "{path:?} has a fault that nobody counts");
                }
                if out.rejected.is_empty() {
                    "all records read".into()
                } else {
                    format!("{} of its records rejected", if out.rows.is_empty() { "all" } else { "some" })
                }
            }
        };
        if array == is_array {
            verdict = format!("{found}, as {}", if array { "an array" } else { "lines" });
        }
    }
    verdict
}

#[test]
fn json_files() {
    let mut suites = std::collections::BTreeMap::<String, Tally>::new();
    for path in files(Suite::Json) {
        let of = path.clone();
        let verdict = in_time(&path, move || json(&of));
        suites.entry(relative(&path).split('/').next().unwrap().to_owned()).or_default().add(&path, verdict);
    }
    suites.iter().for_each(|(suite, tally)| tally.tell(&format!("{suite}, JSON")));
}

/// A text of the suite as the value of a key, with all its bytes.
enum Found {
    /// A row, or a value of another kind than text.
    Sound,
    Rejected(String),
    Refused(String),
}

fn as_value(path: &Path) -> Found {
    let bench = Bench::new();
    let bytes = [b"[{\"a\":", std::fs::read(path).unwrap().as_slice(), b"}]"].concat();
    let name = path.file_name().unwrap().to_str().unwrap();
    let written = bench.write(name, bytes);
    let source = source(&written, Format::Json(JsonOptions { array: true, ..JsonOptions::default() }), vec![column("a", DataType::String)]);
    match bench.read(&source) {
        Err(error) => Found::Refused(refused(&error, path)),
        Ok((out, tally)) => {
            assert_eq!(tally.rows_read, 1, "{name}");
            match out.codes().pop() {
                None => Found::Sound,
                Some((_, code)) if code == "a.type" => Found::Sound,
                Some((_, code)) => Found::Rejected(code),
            }
        }
    }
}

/// What implementations may choose, and what we chose.
const CHOSEN: &[(&str, bool, &str)] = &[
    ("i_number_", true, "a number of any size is well-formed; its column's type takes it exactly or not at all"),
    ("i_object_key_lone_2nd_surrogate", false, "half a surrogate pair is no character"),
    ("i_string_UTF-16LE_with_BOM", false, "the job says UTF-8"),
    ("i_string_utf16", false, "the job says UTF-8"),
    ("i_string_", false, "bytes or escapes that are no characters: nothing becomes a replacement character"),
    ("i_structure_500_nested_arrays", false, "deeper than 64 levels"),
    ("i_structure_UTF-8_BOM_empty_object", false, "a byte order mark inside a text; at the start of a file it is passed over"),
];

/// JSONTestSuite: `y_` is accepted, `n_` is not, `i_` as [`CHOSEN`].
#[test]
fn the_official_suite_gives_rows_or_rejects() {
    let mut tally = Tally::default();
    for path in files(Suite::JsonParsing).iter().filter(|path| relative(path).contains("test_parsing")) {
        let of = path.clone();
        let found = in_time(path, move || as_value(&of));
        let name = path.file_name().unwrap().to_str().unwrap();
        let (sound, verdict) = match &found {
            Found::Sound => (true, "sound".to_owned()),
            Found::Rejected(code) => (false, format!("rejected: {code}")),
            Found::Refused(code) => (false, format!("refused: {code}")),
        };
        let wanted = match name.get(..2).unwrap() {
            "y_" => true,
            "n_" => false,
            _ => CHOSEN.iter().find(|(start, ..)| name.starts_with(start)).unwrap_or_else(|| panic!("{name}")).1,
        };
        assert_eq!(sound, wanted, "{name}: {verdict}");
        tally.add(path, format!("{} {verdict}", name.get(..2).unwrap()));
        // The file as it is: in lines and as an array, against another strict parser.
        let of = path.clone();
        in_time(path, move || json(&of));
    }
    tally.tell("JSONTestSuite, test_parsing");
    CHOSEN.iter().for_each(|(start, sound, why)| say(&format!("  chosen: {start}…: {}, {why}", if *sound { "sound" } else { "rejected" })));
}

/// Cells, or codes.
const TRANSFORMED: &[(&str, &str)] = &[
    ("number_-9223372036854775808", "[-9223372036854775808.000000000000000000]"),
    ("number_-9223372036854775809", "[-9223372036854775809.000000000000000000]"),
    ("number_1.0.json", "[1.000000000000000000]"),
    ("number_1.000000000000000005", "[1.000000000000000005]"),
    ("number_1000000000000000.json", "[1000000000000000.000000000000000000]"),
    ("number_10000000000000000999", "[10000000000000000999.000000000000000000]"),
    // Not zero.
    ("number_1e-999", "a.type"),
    ("number_1e6", "[1000000.000000000000000000]"),
    ("number_9223372036854775807", "[9223372036854775807.000000000000000000]"),
    ("number_9223372036854775808", "[9223372036854775808.000000000000000000]"),
    // Two keys: nothing is normalized.
    ("object_key_nf", "∅|NFC|NFD"),
    ("object_same_key", "duplicate-key"),
    ("string_1_escaped", "invalid-json"),
    ("string_2_escaped", "invalid-json"),
    ("string_3_escaped", "invalid-json"),
    ("string_1_invalid", "invalid-encoding"),
    ("string_2_invalid", "invalid-encoding"),
    ("string_3_invalid", "invalid-encoding"),
    ("string_with_escaped_NULL", "[A\0B]"),
];

/// The suite's texts that parsers change: numbers keep every digit or cost their row, one key has one value, and text is as written.
#[test]
fn the_official_suite_is_not_transformed() {
    let exact = DataType::Decimal { precision: 38, scale: 18 };
    let mut tally = Tally::default();
    for path in files(Suite::JsonParsing).iter().filter(|path| relative(path).contains("test_transform")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(path).unwrap();
        let item = if name.starts_with("number_") { exact.clone() } else { DataType::String };
        let bench = Bench::new();
        let columns = match name.starts_with("object_") {
            true => ["a", "é", "e\u{301}"].map(|key| column(key, DataType::String)).to_vec(),
            false => vec![Column { list_at: Some(1), ..column("a", DataType::List(Box::new(item))) }],
        };
        let text = if name.starts_with("object_") { [&b"["[..], &bytes, b"]"].concat() } else { [&b"[{\"a\":"[..], &bytes, b"}]"].concat() };
        let written = bench.write(name, text);
        let mut source = source(&written, Format::Json(JsonOptions { array: true, ..JsonOptions::default() }), columns);
        source.drift = Drift::AllowAdded;
        let (out, tally_of) = bench.read(&source).unwrap();
        assert_eq!(tally_of.rows_read, 1, "{name}");
        let found = out.codes().pop().map_or_else(|| out.cells()[0].join("|"), |(_, codes)| codes);
        let wanted = TRANSFORMED.iter().find(|(start, _)| name.starts_with(start)).unwrap_or_else(|| panic!("{name}")).1;
        assert_eq!(found, wanted, "{name}");
        tally.add(path, if out.rejected.is_empty() { "a row, as written" } else { "rejected" });
    }
    tally.tell("JSONTestSuite, test_transform");
}

// Encodings.

/// A file's lines by another decoder, one per line that is not empty; `None` where it is no text.
fn lines(encoding: Encoding, bytes: &[u8]) -> Vec<Option<String>> {
    let ended = |unit: &u16| matches!(*unit, 10 | 13);
    match encoding {
        Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf16Be => {
            let unit =
                |pair: &[u8]| if encoding == Encoding::Utf16Be { u16::from_be_bytes([pair[0], pair[1]]) } else { u16::from_le_bytes([pair[0], pair[1]]) };
            let mut units: Vec<u16> = bytes.chunks_exact(2).map(unit).collect();
            // Half a unit at the end is half a surrogate pair for this purpose.
            units.extend((bytes.len() % 2 == 1).then_some(0xd800));
            units.split(ended).filter(|line| !line.is_empty()).map(|line| String::from_utf16(line).ok()).collect()
        }
        _ => {
            let one = |byte: u8| match encoding {
                Encoding::Windows1252 => Some(encoding_rs::WINDOWS_1252.decode_without_bom_handling(&[byte]).0.into_owned())
                    .filter(|c| !(c.as_str() >= "\u{80}" && c.as_str() < "\u{a0}")),
                Encoding::Cp850 => Some(oem_cp::decode_string_complete_table(&[byte], &oem_cp::code_table::DECODING_TABLE_CP850)),
                _ => Some(char::from(byte).to_string()),
            };
            let lines = bytes.split(|b| matches!(b, b'\n' | b'\r')).filter(|line| !line.is_empty());
            lines
                .map(|line| if encoding == Encoding::Utf8 { String::from_utf8(line.to_vec()).ok() } else { line.iter().map(|byte| one(*byte)).collect() })
                .collect()
        }
    }
}

/// Texts whose encoding is known, each in all encodings that a job can name: the right one gives all its lines, a wrong one gives the lines that are text in it and
/// counts the others, or the file is refused.
#[test]
fn encodings() {
    let all = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Latin1, Encoding::Windows1252, Encoding::Cp850];
    let mut tally = Tally::default();
    for path in files(Suite::Encodings) {
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let own = match folder.as_str() {
            "windows-1252" => Some(Encoding::Windows1252),
            "iso-8859-1" => Some(Encoding::Latin1),
            "UTF-16LE" => Some(Encoding::Utf16Le),
            // A job cannot name these.
            "EUC-JP" | "IBM866" | "GB2312" | "KOI8-R" | "CP932" => None,
            other => panic!("{other}"),
        };
        let bytes = std::fs::read(&path).unwrap();
        for encoding in all {
            let text = TextOptions { encoding, ..TextOptions::default() };
            let mut source = csv_source(&path, &["line"]);
            source.format = Format::Csv(CsvOptions { quote: None, text, ..headless(1) });
            let found = in_time(&path, move || Bench::new().read(&source));
            let verdict = match found {
                Err(error) => {
                    assert_ne!(Some(encoding), own, "{path:?}");
                    format!("refused: {}", refused(&error, &path))
                }
                Ok((out, _)) => {
                    let lines = lines(encoding, &bytes);
                    let is_row = |line: &Option<String>| line.as_ref().is_some_and(|line| !line.contains('\u{1}'));
                    let wanted: Vec<Option<&str>> = lines.iter().filter(|line| is_row(line)).map(Option::as_deref).collect();
                    assert_eq!(out.rows.iter().map(|row| row[0].as_deref()).collect::<Vec<_>>(), wanted, "{path:?} {encoding:?}");
                    assert_eq!(out.rejected.len(), lines.len() - wanted.len(), "{path:?} {encoding:?}");
                    assert!(Some(encoding) != own || out.rejected.is_empty(), "{path:?}");
                    if out.rejected.is_empty() { "all lines read".to_owned() } else { "some lines rejected".to_owned() }
                }
            };
            tally.add(&path, format!("{folder} read as {encoding:?}: {verdict}"));
        }
    }
    tally.tell("encodings-chardet, files times encodings");
}

// Everything else, and everything as everything.

fn in_every_format(path: &Path) -> Vec<String> {
    let bench = Bench::new();
    let field = FixedField { offset: 0, width: 10, implied_decimals: None, trim: Trim::Both };
    let fixed = |line_ends| FixedWidthOptions { record_length: 10, line_ends, fields: vec![field.clone()], record_types: None, text: TextOptions::default() };
    [
        ("csv", Format::Csv(headless(b','))),
        ("json lines", Format::Json(JsonOptions::default())),
        ("a json array", Format::Json(JsonOptions { array: true, ..JsonOptions::default() })),
        ("fixed width", Format::FixedWidth(fixed(true))),
        ("fixed width without line ends", Format::FixedWidth(fixed(false))),
        ("parquet", Format::Parquet),
        ("arrow", Format::Arrow),
        ("avro", Format::Avro),
    ]
    .into_iter()
    .map(|(name, format)| match bench.read(&source(path, format, vec![column("a", DataType::String)])) {
        Err(error) => format!("as {name} refused: {}", refused(&error, path)),
        Ok((_, tally)) if tally.rows_rejected == 0 => format!("as {name} read"),
        Ok(_) => format!("as {name} read, some records rejected"),
    })
    .collect()
}

/// Files of no format, and all small ones of another, read as if they were of each: rows, or a refusal that names the file.
#[test]
fn any_file_in_every_format() {
    let (mut others, mut all) = (Tally::default(), Tally::default());
    let suites = [
        Suite::Others,
        Suite::ArrowIntegration,
        Suite::ArrowDamaged,
        Suite::Avro,
        Suite::Parquet,
        Suite::Delimited,
        Suite::Json,
        Suite::JsonParsing,
        Suite::Encodings,
    ];
    for suite in suites {
        for path in files(suite) {
            if suite != Suite::Others && std::fs::metadata(&path).unwrap().len() > 20_000 {
                continue;
            }
            let of = path.clone();
            let verdicts = in_time(&path, move || in_every_format(&of));
            let tally = if suite == Suite::Others { &mut others } else { &mut all };
            verdicts.into_iter().for_each(|verdict| tally.add(&path, verdict));
        }
    }
    others.tell("files of no format, times formats");
    all.tell("small files of any format, times formats");
}

// Rows that the suites say, or that two of their files have in common.

/// A file of the corpora, if they are there.
fn file(name: &str) -> Option<PathBuf> {
    let path = root().join(name);
    path.exists().then_some(path)
}

/// As `a|b c|d` for rows, then record numbers and codes.
fn told(source: &Source) -> (String, String) {
    let (out, _) = Bench::new().read(source).unwrap();
    let rows: Vec<String> = out.cells().iter().map(|row| row.join("|")).collect();
    let codes: Vec<String> = out.codes().into_iter().map(|(number, codes)| format!("{number} {codes}")).collect();
    (rows.join(" "), codes.join(" "))
}

#[test]
fn rows_that_the_suites_say() {
    let decimal = DataType::Decimal { precision: 18, scale: 2 };
    let text = |names: &[&str]| names.iter().map(|name| column(name, DataType::String)).collect::<Vec<_>>();
    let styled = |text: TextOptions, delimiter: u8| Format::Csv(CsvOptions { text, delimiter, ..csv_options() });
    let dialect = |delimiter: u8| styled(TextOptions::default(), delimiter);
    let thousands = TextOptions { thousands_separator: Some(','), ..TextOptions::default() };
    let nulls = TextOptions { null_markers: vec!["null".into(), "none".into(), "\\N".into()], ..TextOptions::default() };
    let latin = TextOptions { encoding: Encoding::Latin1, ..TextOptions::default() };
    let comma = TextOptions { decimal_separator: b',', ..TextOptions::default() };
    let lines = || Format::Json(JsonOptions::default());
    let ids = || vec![column("id", DataType::Int64), column("name", DataType::String)];
    type Case<'a> = (&'a str, Format, Vec<Column>, &'a str, &'a str);
    let cases: Vec<Case<'_>> = vec![
        ("frictionless/data/table.csv", dialect(b','), ids(), "1|english 2|中国人", ""),
        ("frictionless/data/bom.csv", dialect(b','), ids(), "1|english 2|中国人", ""),
        ("frictionless/data/table-delimiter.csv", dialect(b';'), ids(), "1|english 2|中国人", ""),
        ("frictionless/data/table.tsv", styled(nulls.clone(), b'\t'), ids(), "1|english 2|中国人 3|∅", ""),
        ("frictionless/data/table.ndjson", lines(), ids(), "1|english 2|中国人", ""),
        ("frictionless/data/table.jsonl", lines(), ids(), "1|english 2|中国人", ""),
        ("frictionless/data/latin1.csv", styled(latin, b','), ids(), "1|english 2|©", ""),
        ("frictionless/data/leading-zeros.csv", dialect(b','), text(&["value"]), "01 002 00003", ""),
        ("frictionless/data/structure-errors.csv", dialect(b','), text(&["id", "name", "age"]), "1101|John|30 1102|Julie|26 ∅|∅|∅", "4 ragged"),
        (
            "duckdb/data/csv/thousands_separator/multi_column.csv",
            styled(thousands.clone(), b';'),
            vec![column("name", DataType::String), column("money", decimal.clone()), column("city", DataType::String)],
            "rick|100000.00|amsterdam lorenzo|300000.20|amsterdam lorry|300000000.40|amsterdam helly|50.00|amsterdam patrick|9999999999.20|amsterdam",
            "",
        ),
        // A group of two, and digits behind the point that are more than the type has.
        (
            "duckdb/data/csv/thousands_separator/thousands_broken.csv",
            Format::Csv(CsvOptions { header: false, text: thousands, ..csv_options() }),
            vec![column("c", decimal)],
            "100000.00 300000.20",
            "3 c.type 4 c.type",
        ),
        ("duckdb/data/csv/decimal_separators/mixed_format_fail.csv", styled(comma, b';'), vec![column("foo", DataType::Float64)], "12.5 145.0", "3 foo.type"),
        (
            "duckdb/data/csv/null/multiple_nulls.csv",
            styled(nulls.clone(), b','),
            vec![column("name", DataType::String), column("age", DataType::Int32), column("height", DataType::Float64)],
            "Pedro|31|1.73 Mark|∅|∅ Thijs|26|∅",
            "",
        ),
        // Between quotes a marker is text.
        ("duckdb/data/csv/null/multiple_quoted_nulls.csv", styled(nulls, b','), text(&["name", "age", "height"]), "Pedro|31|1.73 Mark|null| Thijs|26|none", ""),
        (
            "duckdb/data/csv/comments/simple.csv",
            Format::Csv(CsvOptions { comment: Some(b'#'), delimiter: b';', ..csv_options() }),
            vec![column("a", DataType::Int32), column("b", DataType::Int32)],
            "1|3 6|7",
            "",
        ),
        (
            "duckdb/data/csv/leading_zeros.csv",
            dialect(b','),
            text(&["CODGEO", "NAISD14", "NAISD15", "NAISD16", "NAISD17", "NAISD18", "NAISD19", "NAISD20"]),
            "09001|0|0|0|1|1|1|0 09002|6|4|4|6|7|3|0 09003|4|1|4|0|1|1|3 09004|0|1|1|2|1|2|1 09005|2|1|0|2|0|1|0 09006|0|0|0|0|0|0|0",
            "",
        ),
        ("duckdb/data/csv/test/error_too_many.csv", dialect(b','), text(&["i", "j"]), "1|1 2|2 3|3 4|4 5|5", "5 ragged"),
        ("duckdb/data/csv/test/error_too_little.csv", dialect(b','), text(&["i", "j"]), "1|1 2|2 3|3 4|4 5|5", "6 ragged"),
        (
            "duckdb/data/json/unterminated_quotes.ndjson",
            lines(),
            vec![column("id", DataType::Int32), column("name", DataType::String)],
            "1|O Brother, Where Art Thou? 2|Home for the Holidays 4|Broadcast News 5|Raising Arizona",
            "3 invalid-json",
        ),
        ("duckdb/data/json/trailing_content.ndjson", lines(), vec![column("a", DataType::Int32)], "1 3", "2 invalid-json"),
        (
            "duckdb/data/json/duplicate_key.ndjson",
            lines(),
            vec![column("id", DataType::Int32), column("name", DataType::String)],
            "1|O Brother, Where Art Thou? 2|Home for the Holidays 4|Broadcast News 5|Raising Arizona",
            "3 duplicate-key",
        ),
        // Five objects on one line are no record.
        (
            "duckdb/data/json/multiple_objects_per_line.ndjson",
            lines(),
            vec![column("id", DataType::Int32), column("name", DataType::String)],
            "",
            "1 invalid-json",
        ),
    ];
    for (name, format, columns, rows, codes) in cases {
        let Some(path) = file(name) else { return say("skipped: ../shared/corpora/conformance is not there") };
        assert_eq!(told(&source(&path, format, columns)), (rows.to_owned(), codes.to_owned()), "{name}");
    }
}

/// The same records with other line ends, delimiters or compression.
#[test]
fn twins_have_the_same_rows() {
    let rows = |name: &str, format: &Format| {
        let path = file(name)?;
        let bench = Bench::new();
        let source = match format {
            Format::Csv(options) => any_csv(&bench, &path, options.clone()),
            format => source(&path, format.clone(), vec![column("id", DataType::Int32), column("name", DataType::String)]),
        };
        let out = bench.read(&source).unwrap().0;
        assert!(!out.rows.is_empty(), "{name}");
        Some((out.rows, out.rejected.into_iter().map(|(number, codes, _)| (number, codes)).collect::<Vec<_>>()))
    };
    let comma = Format::Csv(headless(b','));
    let lines = Format::Json(JsonOptions::default());
    for (one, other, formats) in [
        ("arrow-testing/data/csv/aggregate_test_100.csv", "arrow-testing/data/csv/aggregate_test_100.csv.gz", [&comma, &comma]),
        ("duckdb/data/csv/17738.csv", "duckdb/data/csv/17738_rn.csv", [&comma, &comma]),
        ("duckdb/data/csv/error/mixedtypes.csv", "duckdb/data/csv/error/mixedtypes_rn.csv", [&comma, &comma]),
        ("duckdb/data/csv/test/multi_column_string.csv", "duckdb/data/csv/test/multi_column_string_rn.csv", [&comma, &comma]),
        ("rust-csv/examples/data/smallpop.csv", "rust-csv/examples/data/smallpop-colon.csv", [&comma, &Format::Csv(headless(b':'))]),
        ("duckdb/data/json/example_n.ndjson", "duckdb/data/json/example_rn.ndjson", [&lines, &lines]),
        ("duckdb/data/json/example_n.ndjson", "duckdb/data/json/example_rn.ndjson.gz", [&lines, &lines]),
    ] {
        let (first, second) = (rows(one, formats[0]), rows(other, formats[1]));
        if first.is_none() {
            return say("skipped: ../shared/corpora/conformance is not there");
        }
        assert_eq!(first, second, "{one} and {other}");
    }
}
