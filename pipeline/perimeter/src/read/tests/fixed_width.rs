//! Fixed-width records: CNAB, extracts of mainframes, and what becomes of damaged ones.
use super::*;
use ::proptest::prelude::*;
use perimeter_contract::job::{FixedField, FixedWidthOptions, RecordTypes, Trim};
use perimeter_contract::schema::{DateFormat, Zone};

fn field(start: u32, width: u32) -> FixedField {
    FixedField { offset: start - 1, width, implied_decimals: None, trim: Trim::Both }
}

fn options(record_length: u32, fields: Vec<FixedField>) -> FixedWidthOptions {
    FixedWidthOptions { record_length, line_ends: true, fields, record_types: None, text: TextOptions::default() }
}

fn types(start: u32, width: u32, values: &[&str], others: Option<&[&str]>) -> RecordTypes {
    let owned = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect();
    RecordTypes { offset: start - 1, width, values: owned(values), others: others.map(owned) }
}

fn money() -> DataType {
    DataType::Decimal { precision: 15, scale: 2 }
}

fn texts(n: usize) -> Vec<Column> {
    (0..n).map(|i| column(&format!("c{i}"), DataType::String)).collect()
}

fn read(options: FixedWidthOptions, columns: Vec<Column>, bytes: impl AsRef<[u8]>) -> Result<(Out, UnitTally)> {
    let bench = Bench::new();
    let path = bench.write("in.txt", bytes);
    bench.read(&source(&path, Format::FixedWidth(options), columns))
}

/// A record of blanks with these texts at these positions.
fn record(length: usize, parts: &[(usize, &str)]) -> String {
    let mut characters = vec![' '; length];
    for (start, text) in parts {
        for (at, character) in text.chars().enumerate() {
            characters[start - 1 + at] = character;
        }
    }
    characters.into_iter().collect()
}

/// Payments of a CNAB 240 file: header of file (type 0), header of batch (1), details (3), trailers (5 and 9), with the type at position 8.
#[test]
fn cnab_240() {
    let line = |kind: &str, parts: &[(usize, &str)]| record(240, &[&[(1, "001"), (4, "0001"), (8, kind)][..], parts].concat()) + "\r\n";
    let detail = |name: &str, date: &str, amount: &str| line("3", &[(9, "00001"), (14, "A"), (44, name), (94, date), (120, amount)]);
    let text = [
        line("0", &[(73, "EMPRESA")]),
        line("1", &[]),
        detail("JOÃO DA SILVA", "30112026", "000000000001250"),
        detail("ANA", "31022026", "00000000000000x"),
        detail("", "00000000", "000000000000001"),
        line("7", &[]),
        line("5", &[]),
        line("9", &[]),
        "\u{1a}".to_owned(),
    ]
    .concat();
    let fields = vec![field(44, 30), field(94, 8), FixedField { implied_decimals: Some(2), ..field(120, 15) }];
    let columns =
        vec![column("name", DataType::String), column("on", DataType::Date { format: DateFormat::new("ddMMyyyy").unwrap() }), column("amount", money())];
    let mut options = options(240, fields);
    options.text.null_markers = vec!["00000000".into()];
    options.record_types = Some(types(8, 1, &["3"], Some(&["0", "1", "5", "9"])));
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    for (encoding, bytes) in [(Encoding::Utf8, text.as_bytes()), (Encoding::Latin1, &latin)] {
        options.text.encoding = encoding;
        let (out, tally) = read(options.clone(), columns.clone(), bytes).unwrap();
        assert_eq!(out.cells(), [["JOÃO DA SILVA", "2026-11-30", "12.50"], ["∅", "∅", "0.01"]], "{encoding:?}");
        assert_eq!(out.codes(), [(4, "on.type+amount.type".into()), (6, "unknown-record-type".into())]);
        assert_eq!((tally.rows_read, tally.rows_passed_over, tally.rows_rejected), (4, 4, 2));
    }
    // Any other type is passed over when nobody says which there are.
    options.text.encoding = Encoding::Utf8;
    options.record_types = Some(types(8, 1, &["3"], None));
    let (_, tally) = read(options, columns, &text).unwrap();
    assert_eq!((tally.rows_read, tally.rows_passed_over, tally.rows_rejected), (3, 5, 1));
}

/// Titles of a CNAB 400 file: the type is the first character, amounts have 13 digits.
#[test]
fn cnab_400() {
    let title = |document: &str, due: &str, amount: &str| record(400, &[(1, "1"), (4, "12345678000195"), (111, document), (121, due), (127, amount)]);
    let lines = [
        record(400, &[(1, "0"), (2, "1REMESSA")]),
        title("NF-001", "301126", "0000000012345"),
        title("NF-002", "010127", "0000000000001"),
        record(400, &[(1, "9"), (395, "000004")]),
    ];
    let fields = vec![field(4, 14), field(111, 10), field(121, 6), FixedField { implied_decimals: Some(2), ..field(127, 13) }];
    let columns = vec![
        with_rule(column("cnpj", DataType::String), Check::CheckDigit(perimeter_contract::schema::CheckDigit::Cnpj)),
        column("document", DataType::String),
        column("due", DataType::Date { format: DateFormat::new("ddMMyy").unwrap() }),
        column("amount", money()),
    ];
    let mut options = options(400, fields);
    options.record_types = Some(types(1, 1, &["1"], Some(&["0", "9"])));
    // With line ends, with none behind the last, and by length alone.
    for (text, line_ends) in [(lines.join("\n") + "\n", true), (lines.join("\r\n"), true), (lines.concat(), false), (lines.concat() + "\r\n\u{1a}", false)] {
        let (out, tally) = read(FixedWidthOptions { line_ends, ..options.clone() }, columns.clone(), text).unwrap();
        assert_eq!(out.cells(), [["12345678000195", "NF-001", "2026-11-30", "123.45"], ["12345678000195", "NF-002", "2027-01-01", "0.01"]]);
        assert_eq!((tally.rows_read, tally.rows_passed_over), (2, 2));
    }
}

#[test]
fn records_have_their_length_or_cost_themselves() {
    let o = options(5, vec![field(1, 2), field(3, 3)]);
    let (out, tally) =
        read(o.clone(), texts(2), b"ab123\nab12\n\nab1234\r\n\r\ncd456\r\n\xc3\xa9f789\n\xff\xfe123\ngh\xff12\n\x1a\nij12\r\n\x1a".as_slice()).unwrap();
    assert_eq!(out.cells(), [["ab", "123"], ["cd", "456"], ["éf", "789"]]);
    let codes: Vec<_> = out.codes().into_iter().map(|(n, c)| format!("{n} {c}")).collect();
    assert_eq!(codes, ["2 ragged", "3 ragged", "6 invalid-encoding", "7 invalid-encoding", "8 ragged", "9 ragged"]);
    assert_eq!(tally.rows_read, 9);
    assert_eq!(out.rejected[1].2, b"ab1234");
    // The length is characters: the same text in another encoding.
    let mut cp850 = o.clone();
    cp850.text.encoding = Encoding::Cp850;
    let (out, _) = read(cp850, texts(2), b"\x82f789\n").unwrap();
    assert_eq!(out.cells(), [["éf", "789"]]);
    // A last record that is cut short.
    let (out, tally) = read(FixedWidthOptions { line_ends: false, ..o }, texts(2), "ab123cd4").unwrap();
    assert_eq!((out.codes(), tally.rows_read), (vec![(2, "ragged".into())], 2));
}

#[test]
fn without_line_ends_nobody_guesses_where_the_next_record_starts() {
    let mut o = FixedWidthOptions { line_ends: false, ..options(4, vec![field(1, 4)]) };
    let (out, _) = read(o.clone(), texts(1), "éab1\u{1f980}cd2  \n3").unwrap();
    assert_eq!(out.cells(), [["éab1"], ["\u{1f980}cd2"], ["\n3"]]);
    let (code, exit, message) = refusal(read(o.clone(), texts(1), b"abcdab\xffdabcd".as_slice()));
    assert_eq!((code, exit), ("unaligned-records", 1));
    assert!(message.contains("in.txt, record 2"), "{message}");
    // Where a byte is a character, that is no question: only the record is no text.
    o.text.encoding = Encoding::Windows1252;
    let (out, _) = read(o, texts(1), b"abcdab\x81dabce".as_slice()).unwrap();
    assert_eq!((out.cells(), out.codes()), (vec![vec!["abcd"], vec!["abce"]], vec![(2, "invalid-encoding".into())]));
    assert_eq!(out.rejected[0].2, b"ab\x81d");
}

#[test]
fn blanks_are_filling_where_the_layout_says_so() {
    let trims = [Trim::Both, Trim::Left, Trim::Right, Trim::None];
    let fields = trims.iter().map(|trim| FixedField { trim: *trim, ..field(1, 4) }).collect();
    let (out, _) = read(options(4, fields), texts(4), " ab \n    \nabcd\n\t  \u{a0}\n").unwrap();
    assert_eq!(out.cells(), [["ab", "ab ", " ab", " ab "], ["∅", "∅", "∅", "    "], ["abcd"; 4], ["\t  \u{a0}"; 4]]);
}

#[test]
fn decimals_that_are_implied_and_signs_on_either_side() {
    let implied = FixedField { implied_decimals: Some(2), ..field(1, 8) };
    let columns = vec![column("d", money()), column("f", DataType::Float64)];
    for (text, value) in [
        ("00001250", Some("12.50")),
        ("-0001250", Some("-12.50")),
        ("0001250-", Some("-12.50")),
        ("0001250+", Some("12.50")),
        ("       5", Some("0.05")),
        ("      5-", Some("-0.05")),
        ("00000000", Some("0.00")),
        ("99999999", Some("999999.99")),
        ("0012.50 ", None),
        ("-000125-", None),
        ("+-000125", None),
        ("       -", None),
        ("0001 250", None),
        ("0000125{", None),
    ] {
        let (out, _) = read(options(8, vec![implied.clone(), implied.clone()]), columns.clone(), text).unwrap();
        assert_eq!(out.rows.first().and_then(|row| row[0].as_deref()), value, "{text}");
        assert_eq!(out.rows.first().and_then(|row| row[1].as_deref()).map(|f| f.parse::<f64>().unwrap()), value.map(|v| v.parse().unwrap()), "{text}");
    }
    // Wide fields stay exact, and written points need no implied ones.
    let wide = FixedField { implied_decimals: Some(4), ..field(1, 38) };
    let (out, _) =
        read(options(38, vec![wide]), vec![column("d", DataType::Decimal { precision: 38, scale: 4 })], "12345678901234567890123456789012345678").unwrap();
    assert_eq!(out.cells(), [["1234567890123456789012345678901234.5678"]]);
    let plain = options(8, vec![field(1, 8), field(1, 8)]);
    assert_eq!(read(plain, columns, "  12.5- ").unwrap().0.cells(), [["-12.50", "-12.5"]]);
}

#[test]
fn layouts_that_cannot_be() {
    let money = || vec![column("d", money())];
    let implied = |n| FixedField { implied_decimals: Some(n), ..field(1, 4) };
    let cases: Vec<(FixedWidthOptions, Vec<Column>)> = vec![
        (options(4, vec![field(1, 4), field(1, 4)]), texts(1)),
        (options(4, vec![field(1, 5)]), texts(1)),
        (options(4, vec![FixedField { offset: u32::MAX, ..field(1, 1) }]), texts(1)),
        (options(4, vec![field(1, 0)]), texts(1)),
        (options(0, vec![field(1, 1)]), texts(1)),
        (options(u32::MAX, vec![field(1, 1)]), texts(1)),
        (options(4, vec![implied(3)]), money()),
        (options(4, vec![implied(0)]), texts(1)),
        (options(4, vec![implied(1)]), vec![column("n", DataType::Int64)]),
        (FixedWidthOptions { record_types: Some(types(4, 2, &["ab"], None)), ..options(4, vec![field(1, 1)]) }, texts(1)),
        (FixedWidthOptions { record_types: Some(types(1, 1, &[], None)), ..options(4, vec![field(1, 1)]) }, texts(1)),
        (FixedWidthOptions { record_types: Some(types(1, 1, &["1"], Some(&["12"]))), ..options(4, vec![field(1, 1)]) }, texts(1)),
    ];
    for (options, columns) in cases {
        let shown = format!("{options:?}");
        assert_eq!(refusal(read(options, columns, "abcd\n")).0, "unusable-layout", "{shown}");
    }
    assert_eq!(refusal(read(options(4, vec![field(1, 4)]), texts(1), "")).0, "empty-file");
    assert_eq!(refusal(read(options(4, vec![field(1, 4)]), texts(1), "PAR1....")).0, "format-mismatch");
}

#[test]
fn too_long_lines_cost_themselves() {
    let longer = "x".repeat(3 * super::super::text::MAX_RECORD_BYTES);
    let (out, _) = read(options(4, vec![field(1, 4)]), texts(1), format!("abcd\n{longer}\r{longer}\nefgh\n")).unwrap();
    assert_eq!((out.cells(), out.codes()), (vec![vec!["abcd"], vec!["efgh"]], vec![(2, "too-long".into())]));
}

#[test]
fn timestamps_and_times() {
    let columns = vec![
        column("at", DataType::Timestamp { format: DateFormat::new("yyyyMMddHHmmss").unwrap(), zone: Zone::None }),
        column("t", DataType::Time { format: DateFormat::new_time("HHmm").unwrap() }),
    ];
    let (out, _) = read(options(18, vec![field(1, 14), field(15, 4)]), columns, "202611302359590915\n202611302359592400\n").unwrap();
    assert_eq!(out.cells(), [["2026-11-30T23:59:59", "09:15:00"]]);
    assert_eq!(out.codes(), [(2, "t.type".into())]);
}

/// Rows, record numbers with codes, records passed over.
type Naive = (Vec<Vec<Option<String>>>, Vec<(u64, String)>, u64);

/// What a reader does that knows nothing of blocks: lines, characters, fields.
fn naive(text: &str, types: Option<&RecordTypes>) -> Naive {
    let (mut rows, mut codes, mut passed, mut number) = (Vec::new(), Vec::new(), 0, 0);
    let mut pieces: Vec<(&str, bool)> = text.split('\n').map(|line| (line, false)).collect();
    if let Some(last) = pieces.last_mut() {
        last.1 = true;
    }
    for (line, last) in pieces {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() || (last && line == "\u{1a}") {
            continue;
        }
        number += 1;
        let characters: Vec<char> = line.chars().collect();
        let cell = |from: usize, to: usize| {
            let cell: String = characters[from..to].iter().collect();
            Some(cell.trim_matches(' ').to_owned()).filter(|c| !c.is_empty())
        };
        if characters.len() != 4 {
            codes.push((number, "ragged".to_owned()));
        } else if let Some(types) = types
            && !types.values.contains(&characters[0].to_string())
        {
            if types.others.as_ref().is_some_and(|others| !others.contains(&characters[0].to_string())) {
                codes.push((number, "unknown-record-type".to_owned()));
            } else {
                passed += 1;
            }
        } else {
            rows.push(vec![cell(0, 1), cell(1, 4)]);
        }
    }
    (rows, codes, passed)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// As the naive reader, whatever blocks, batches, cuts and encoding.
    #[test]
    fn records_are_what_a_naive_reader_sees(pieces in prop::collection::vec(prop_oneof!["[ab1 é]{4}", "[ab1 é\u{1a}]{0,6}"], 0..12), ends in prop::collection::vec(0usize..4, 12), block in 1usize..20, unit in 1u64..20, typed in 0usize..3, latin: bool) {
        let text: String = pieces.iter().zip(&ends).map(|(piece, end)| piece.clone() + ["\n", "\r\n", "\n\n", "\r"][*end]).collect();
        prop_assume!(!text.is_empty());
        let mut o = options(4, vec![field(1, 1), field(2, 3)]);
        o.record_types = [None, Some(types(1, 1, &["a", "é"], None)), Some(types(1, 1, &["a"], Some(&["b", "é"])))][typed].clone();
        let bytes = if latin { text.chars().map(|c| c as u8).collect() } else { text.clone().into_bytes() };
        o.text.encoding = if latin { Encoding::Latin1 } else { Encoding::Utf8 };
        let bench = Bench::new();
        let path = bench.write("in.txt", &bytes);
        let (rows, codes, passed) = naive(&text, o.record_types.as_ref());
        let source = source(&path, Format::FixedWidth(o), texts(2));
        let (out, tally) = bench.in_blocks(&source, &bytes, block, 3).unwrap();
        prop_assert_eq!((&out.rows, &out.codes(), tally.rows_passed_over), (&rows, &codes, passed));
        let (files, units) = bench.cut(&source, unit);
        let (cut, cut_tally) = bench.read_units(&source, &files, &units, &[0, 1], 2).unwrap();
        prop_assert_eq!((&cut.rows, &cut.rejected, cut_tally.rows_passed_over), (&out.rows, &out.rejected, passed));
    }

    /// By length alone, cut anywhere.
    #[test]
    fn records_by_length_are_cut_without_looking(text in "[ab1é\n]{0,40}", unit in 1u64..20, latin: bool) {
        prop_assume!(!text.is_empty());
        let mut o = FixedWidthOptions { line_ends: false, ..options(3, vec![field(1, 3)]) };
        o.fields[0].trim = Trim::None;
        o.text.encoding = if latin { Encoding::Latin1 } else { Encoding::Utf8 };
        let bytes: Vec<u8> = if latin { text.chars().map(|c| c as u8).collect() } else { text.clone().into_bytes() };
        let bench = Bench::new();
        let source = source(&bench.write("in.txt", &bytes), Format::FixedWidth(o), texts(1));
        let (files, units) = bench.cut(&source, unit);
        let (out, _) = bench.read_units(&source, &files, &units, &[0], 2).unwrap();
        let characters: Vec<char> = text.chars().collect();
        let whole: Vec<Vec<Option<String>>> = characters.chunks_exact(3).map(|c| vec![Some(c.iter().collect())]).collect();
        prop_assert_eq!(out.rows, whole);
        let rest = characters.chunks_exact(3).remainder();
        prop_assert_eq!(out.rejected.len(), usize::from(rest.iter().any(|c| *c != '\n')));
    }
}
