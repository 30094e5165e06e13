//! What holds of every text format: encodings, numbers as the job says they are written, and that how a file is read changes nothing.
use super::*;
use ::proptest::prelude::*;
use perimeter_contract::job::{FixedField, FixedWidthOptions, Trim};

const ENCODINGS: [Encoding; 7] =
    [Encoding::Utf8, Encoding::Utf16, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Latin1, Encoding::Windows1252, Encoding::Cp850];

/// As a writer of the encoding writes it, with a byte order mark where there is one.
fn encode(encoding: Encoding, text: &str) -> Vec<u8> {
    let units = |big: bool| text.encode_utf16().flat_map(move |u| if big { u.to_be_bytes() } else { u.to_le_bytes() });
    match encoding {
        Encoding::Utf8 => text.as_bytes().to_vec(),
        Encoding::Utf16 => [0xfe, 0xff].into_iter().chain(units(true)).collect(),
        Encoding::Utf16Le => units(false).collect(),
        Encoding::Utf16Be => units(true).collect(),
        Encoding::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
        Encoding::Windows1252 => encoding_rs::WINDOWS_1252.encode(text).0.into_owned(),
        Encoding::Cp850 => text.chars().map(|c| if c.is_ascii() { c as u8 } else { oem_cp::code_table::ENCODING_TABLE_CP850[&c] }).collect(),
    }
}

/// The same two columns in every format.
fn formats(encoding: Encoding) -> Vec<Format> {
    let text = TextOptions { encoding, ..TextOptions::default() };
    let field = |offset| FixedField { offset, width: 4, implied_decimals: None, trim: Trim::Both };
    vec![
        Format::Csv(CsvOptions { text: text.clone(), ..csv_options() }),
        Format::Csv(CsvOptions { text: text.clone(), escape: Some(b'\\'), ..csv_options() }),
        Format::Json(JsonOptions { array: false, text: text.clone() }),
        Format::Json(JsonOptions { array: true, text: text.clone() }),
        Format::FixedWidth(FixedWidthOptions { record_length: 8, line_ends: true, fields: vec![field(0), field(4)], record_types: None, text: text.clone() }),
        Format::FixedWidth(FixedWidthOptions { record_length: 8, line_ends: false, fields: vec![field(0), field(4)], record_types: None, text }),
    ]
}

fn names() -> [&'static str; 2] {
    ["é", "b"]
}

/// Rows as a file of the format, the column `é` among them where there are names.
fn written(format: &Format, rows: &[[String; 2]]) -> String {
    match format {
        Format::Csv(options) => {
            let quoted = |cell: &String| match options.escape {
                Some(_) => format!("\"{}\"", cell.replace('\\', "\\\\").replace('"', "\\\"")),
                None => format!("\"{}\"", cell.replace('"', "\"\"")),
            };
            std::iter::once("é,b\n".to_owned()).chain(rows.iter().map(|[a, b]| format!("{},{}\n", quoted(a), quoted(b)))).collect()
        }
        Format::Json(options) => {
            let lines: Vec<String> = rows.iter().map(|[a, b]| serde_json::json!({"é": a, "b": b}).to_string()).collect();
            if options.array { format!("[{}]", lines.join(",\n")) } else { lines.join("\n") + "\n" }
        }
        Format::FixedWidth(options) => {
            let cell = |cell: &String| cell.clone() + &" ".repeat(4 - cell.chars().count());
            rows.iter().map(|[a, b]| cell(a) + &cell(b) + if options.line_ends { "\n" } else { "" }).collect()
        }
        _ => panic!(),
    }
}

fn source_of(path: &Path, format: Format) -> Source {
    source(path, format, names().iter().map(|n| column(n, DataType::String)).collect())
}

#[test]
fn every_format_in_every_encoding() {
    let bench = Bench::new();
    let rows = [["São", "ção"], ["x", "ÿ£½"], ["a\"", "b"]].map(|row| row.map(str::to_owned));
    for encoding in ENCODINGS {
        for format in formats(encoding) {
            let text = written(&format, &rows);
            let path = bench.write("in.txt", encode(encoding, &text));
            let (out, tally) = bench.read(&source_of(&path, format.clone())).unwrap();
            let want: Vec<Vec<Option<String>>> = rows.iter().map(|row| row.iter().cloned().map(Some).collect()).collect();
            assert_eq!((out.rows, tally.rows_rejected), (want, 0), "{format:?}");
        }
    }
}

#[test]
fn names_null_markers_and_escapes_in_another_encoding() {
    let bench = Bench::new();
    for encoding in ENCODINGS {
        let text = TextOptions { encoding, null_markers: vec!["não".into()], ..TextOptions::default() };
        let path = bench.write("in.csv", encode(encoding, "\"b\",\"é\"\nnão,\"não\"\n\"ç\"\"ã\",\n"));
        let (out, _) = bench.read(&source_of(&path, Format::Csv(CsvOptions { text: text.clone(), ..csv_options() }))).unwrap();
        assert_eq!(out.cells(), [["não", "∅"], ["∅", "ç\"ã"]], "{encoding:?}");
        let path = bench.write("in.json", encode(encoding, "{\"\\u00e9\":\"ã\\u20ac\",\"b\":\"não\"}\n{\"é\":\"\\\"ç\\\"\"}\n"));
        let (out, _) = bench.read(&source_of(&path, Format::Json(JsonOptions { array: false, text }))).unwrap();
        assert_eq!(out.cells(), [["ã€", "∅"], ["\"ç\"", "∅"]], "{encoding:?}");
    }
}

#[test]
fn bytes_that_are_no_text_cost_their_row_and_are_kept_as_they_are() {
    let bench = Bench::new();
    let lone = |text: &str| -> Vec<u8> { text.encode_utf16().map(|u| if u == 0xfffd { 0xd800 } else { u }).flat_map(u16::to_le_bytes).collect() };
    let cases: Vec<(Encoding, Vec<u8>, Vec<u8>, &str)> = vec![
        (Encoding::Utf8, b"a,b\n1,\xc3\xa9\n2,\xff\n3,x\n".to_vec(), b"2,\xff".to_vec(), "invalid-encoding"),
        (Encoding::Windows1252, b"a,b\n1,\xe9\n2,\x9d\n3,x\n".to_vec(), b"2,\x9d".to_vec(), "invalid-encoding"),
        (Encoding::Utf16Le, lone("a,b\n1,é\n2,\u{fffd}\n3,x\n"), lone("2,\u{fffd}"), "invalid-encoding"),
    ];
    for (encoding, bytes, raw, code) in cases {
        let path = bench.write("in.csv", bytes);
        let text = TextOptions { encoding, ..TextOptions::default() };
        let (out, _) = bench.read(&csv_source_with(&path, &["a", "b"], CsvOptions { text, ..csv_options() })).unwrap();
        assert_eq!(out.cells(), [["1", "é"], ["3", "x"]], "{encoding:?}");
        assert_eq!(out.rejected, [(2, vec![code.to_owned()], raw)]);
    }
    // An odd byte at the end is half a character.
    let mut bytes = lone("a,b\n1,2\n3,4");
    bytes.push(0x35);
    let path = bench.write("in.csv", &bytes);
    let text = TextOptions { encoding: Encoding::Utf16Le, ..TextOptions::default() };
    let (out, _) = bench.read(&csv_source_with(&path, &["a", "b"], CsvOptions { text, ..csv_options() })).unwrap();
    assert_eq!((out.cells(), out.codes()), (vec![vec!["1", "2"]], vec![(2, "invalid-encoding".into())]));
    assert_eq!(out.rejected[0].2, bytes[16..]);
    // A broken record is shown to be no text either.
    let path = bench.write("in.csv", b"a,b\n1\x81\n".as_slice());
    let text = TextOptions { encoding: Encoding::Windows1252, ..TextOptions::default() };
    let (out, _) = bench.read(&csv_source_with(&path, &["a", "b"], CsvOptions { text, ..csv_options() })).unwrap();
    assert_eq!(out.codes(), [(1, "ragged+invalid-encoding".into())]);
}

fn csv_source_with(path: &Path, names: &[&str], options: CsvOptions) -> Source {
    Source { format: Format::Csv(options), ..csv_source(path, names) }
}

#[test]
fn byte_order_marks_agree_with_the_job_or_are_refused() {
    let bench = Bench::new();
    let marks: [(&str, &[u8]); 5] = [("", b""), ("utf-8", b"\xef\xbb\xbf"), ("le", b"\xff\xfe"), ("be", b"\xfe\xff"), ("utf-32", b"\xff\xfe\0\0")];
    for encoding in ENCODINGS {
        for (name, mark) in marks {
            let body = match (encoding, name) {
                (Encoding::Utf16, "le") => encode(Encoding::Utf16Le, "a\n1\n"),
                (Encoding::Utf16, _) => encode(Encoding::Utf16Be, "a\n1\n"),
                _ => encode(encoding, "a\n1\n"),
            };
            let path = bench.write("in.csv", [mark, &body].concat());
            let text = TextOptions { encoding, ..TextOptions::default() };
            let read = bench.read(&csv_source_with(&path, &["a"], CsvOptions { text, ..csv_options() }));
            let fits = match encoding {
                Encoding::Utf8 => matches!(name, "" | "utf-8"),
                Encoding::Utf16 => matches!(name, "le" | "be"),
                Encoding::Utf16Le => matches!(name, "" | "le"),
                Encoding::Utf16Be => matches!(name, "" | "be"),
                _ => name.is_empty(),
            };
            match read {
                Ok((out, _)) => assert!(fits && out.cells() == [["1"]], "{encoding:?} {name}: {:?}", out.cells()),
                Err(error) => {
                    let (code, exit, message) = refusal::<()>(Err(error));
                    assert!(!fits && (code, exit) == ("format-mismatch", 2) && message.contains("in.csv"), "{encoding:?} {name}: {message}");
                }
            }
        }
    }
}

/// UTF-16 without a mark, in a job that says something else: as bytes of one character each it would be text.
#[test]
fn utf16_without_a_mark_is_no_other_text() {
    let bench = Bench::new();
    for encoding in [Encoding::Utf8, Encoding::Latin1, Encoding::Windows1252, Encoding::Cp850] {
        for (written, name) in [(Encoding::Utf16Le, "utf-16le"), (Encoding::Utf16Be, "utf-16be")] {
            let bytes = encode(written, "1,2\n3,4\n");
            for format in [Format::Csv(CsvOptions { header: false, ..csv_options() }), Format::Json(JsonOptions::default())] {
                let path = bench.write("in.txt", if matches!(format, Format::Csv(_)) { bytes.clone() } else { encode(written, "{\"a\":1}\n") });
                let mut source = source_of(&path, format);
                match &mut source.format {
                    Format::Csv(CsvOptions { text, .. }) | Format::Json(JsonOptions { text, .. }) => text.encoding = encoding,
                    _ => panic!(),
                }
                let (code, exit, message) = refusal(bench.read(&source));
                assert_eq!((code, exit), ("format-mismatch", 2), "{encoding:?} {written:?}");
                assert!(message.contains("in.txt") && message.contains(name), "{message}");
            }
        }
        // Zeros elsewhere are characters.
        let mut source = csv_source_with(&bench.write("in.csv", "a\0,b\n\0,c\n"), &["x", "y"], CsvOptions { header: false, ..csv_options() });
        let Format::Csv(options) = &mut source.format else { panic!() };
        options.text.encoding = encoding;
        assert_eq!(bench.read(&source).unwrap().0.cells(), [["a\0", "b"], ["\0", "c"]]);
    }
}

#[test]
fn numbers_as_the_job_says_they_are_written() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "d;i;f\n1.234,56;1.234;-0,5\n-R$ 1234,5;-7;1e3\n1,234.56;1,5;1.5\n");
    let text = TextOptions { decimal_separator: b',', thousands_separator: Some('.'), number_prefix: Some("R$ ".into()), ..TextOptions::default() };
    let mut source = csv_source_with(&path, &[], CsvOptions { delimiter: b';', text: text.clone(), ..csv_options() });
    source.schema.columns = vec![column("d", DataType::Decimal { precision: 9, scale: 2 }), column("i", DataType::Int32), column("f", DataType::Float64)];
    let (out, _) = bench.read(&source).unwrap();
    assert_eq!(out.cells(), [["1234.56", "1234", "-0.5"], ["-1234.50", "-7", "1000.0"]]);
    assert_eq!(out.codes(), [(3, "d.type+i.type+f.type".into())]);
    // JSON's own numbers have JSON's grammar whatever the job says; strings are as written.
    source.uri = Uri(bench.write("in.json", "{\"d\":1234.56,\"i\":7,\"f\":1.5}\n{\"d\":\"1.234,56\",\"i\":\"1.000\"}\n").to_str().unwrap().into());
    source.format = Format::Json(JsonOptions { array: false, text });
    assert_eq!(bench.read(&source).unwrap().0.cells(), [["1234.56", "7", "1.5"], ["1234.56", "1000", "∅"]]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is written comes back, in every format and encoding, in blocks and batches of any size and cut anywhere.
    #[test]
    fn what_is_written_comes_back(rows in prop::collection::vec(["[aé,\"\\\\ç{}\\[]{1,3}x", "[a€\"\n;]{0,3}x"], 0..12), block in 1usize..50, batch_rows in 1usize..5, unit in 1u64..60, which in 0usize..7) {
        let encoding = ENCODINGS[which];
        let bench = Bench::new();
        for format in formats(encoding) {
            // What the format or the encoding cannot write is left out.
            let line_based = matches!(&format, Format::FixedWidth(o) if o.line_ends);
            let writable = |c: &char| (*c != '€' || !matches!(encoding, Encoding::Latin1 | Encoding::Cp850)) && !(line_based && *c == '\n');
            let rows: Vec<[String; 2]> = rows.iter().map(|row| row.clone().map(|cell| cell.chars().filter(writable).collect())).collect();
            let text = written(&format, &rows);
            prop_assume!(!text.is_empty());
            let bytes = encode(encoding, &text);
            let path = bench.write("in.txt", &bytes);
            let source = source_of(&path, format);
            let want: Vec<Vec<Option<String>>> = rows.iter().map(|row| row.iter().cloned().map(Some).collect()).collect();
            let body = match &source.format {
                Format::Csv(_) => { let marks = if encoding == Encoding::Utf16 { 2 } else { 0 }; [&bytes[..marks], &bytes[encode(encoding, "é,b\n").len()..]].concat() }
                _ => bytes.clone(),
            };
            let (out, _) = bench.in_blocks(&source, &body, block, batch_rows).unwrap();
            prop_assert_eq!(&out.rows, &want, "{:?}", source.format);
            let is_array = matches!(&source.format, Format::Json(o) if o.array);
            if !is_array && !matches!(encoding, Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf16Be) {
                let (files, units) = bench.cut(&source, unit);
                let (out, _) = bench.read_units(&source, &files, &units, &[0, 1], batch_rows).unwrap();
                prop_assert_eq!(&out.rows, &want, "{:?}", source.format);
            }
        }
    }

    /// Whatever the bytes, in whatever format and encoding: blocks, batches and cuts change neither rows nor rejects nor counts.
    #[test]
    fn how_it_is_read_changes_nothing(pieces in prop::collection::vec(prop::sample::select(vec![
        &b"a"[..], b",", b"\"", b"\n", b"\r", b"\r\n", b"\\", b"#", b"{\"b\":\"x\"}", b"{", b"}", b"[", b"]", b":", b"\xc3\xa9", b"\xff", b"\x81", b"\x1a", b" ", b"abcdefgh", b"12345678\n", b"\0", b"\xd8",
    ]), 1..30), block in 1usize..20, batch_rows in 1usize..4, unit in 1u64..30, which in 0usize..7) {
        let encoding = ENCODINGS[which];
        let bench = Bench::new();
        let mark: &[u8] = if encoding == Encoding::Utf16 { b"\xff\xfe" } else { b"" };
        let bytes = [mark, &pieces.concat()].concat();
        prop_assume!(super::super::encoding::begin(&InputFile { uri: "x".into(), label: "x".into(), size_bytes: 1, etag: None, modified_us: None }, encoding, &bytes).is_ok());
        let path = bench.write("in.txt", &bytes);
        for mut format in formats(encoding) {
            if let Format::Csv(options) = &mut format {
                (options.header, options.comment) = (false, Some(b'#'));
            }
            let source = source_of(&path, format);
            let whole = bench.in_blocks(&source, &bytes, 1 << 20, 8192);
            match (&whole, bench.in_blocks(&source, &bytes, block, batch_rows)) {
                (Ok(whole), Ok(pieces)) => prop_assert_eq!(whole, &pieces, "{:?}", source.format),
                (Err(Error::Failed(a)), Err(Error::Failed(b))) => prop_assert_eq!((a.code, &a.message), (b.code, &b.message)),
                _ => prop_assert!(false, "{:?} differs by blocks", source.format),
            }
            let is_array = matches!(&source.format, Format::Json(o) if o.array);
            if !is_array && !matches!(encoding, Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf16Be) {
                let (files, units) = bench.cut(&source, unit);
                match (whole, bench.read_units(&source, &files, &units, &[0, 1], batch_rows)) {
                    (Ok((whole, tally)), Ok((out, cut_tally))) => {
                        prop_assert_eq!((&whole.rows, &whole.rejected), (&out.rows, &out.rejected), "{:?}", source.format);
                        prop_assert_eq!((tally.rows_read, &tally.rejections), (cut_tally.rows_read, &cut_tally.rejections));
                    }
                    (Err(Error::Failed(a)), Err(Error::Failed(b))) => prop_assert_eq!((a.code, &a.message), (b.code, &b.message)),
                    (whole, _) => prop_assert!(false, "{:?} differs by cuts, whole: {}", source.format, whole.is_ok()),
                }
            }
        }
    }
}
