use super::super::text::MAX_RECORD_BYTES;
use super::*;
use ::proptest::prelude::*;
use perimeter_contract::schema::{DateFormat, Zone};

/// B18.
#[test]
fn quoted_and_bare_empty_and_null_markers_are_four_things() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "a,b\n\"\",\n\"NULL\",NULL\n");
    let mut source = csv_source(&path, &["a", "b"]);
    source.format = Format::Csv(CsvOptions { text: TextOptions { null_markers: vec!["NULL".into()], ..TextOptions::default() }, ..csv_options() });
    let (out, _) = bench.read(&source).unwrap();
    assert_eq!(out.rows, [[Some(String::new()), None], [Some("NULL".into()), None]]);
}

#[test]
fn columns_follow_the_header_and_come_out_as_wanted() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "b,c,a\n1,2,3\n");
    let source = csv_source(&path, &["a", "b", "c"]);
    assert_eq!(bench.read(&source).unwrap().0.cells(), [["3", "1", "2"]]);
    assert_eq!(bench.read_with(&source, &[2, 0], 10).unwrap().0.cells(), [["2", "3"]]);
    let (none, tally) = bench.read_with(&source, &[], 10).unwrap();
    assert_eq!((none.batches, tally.rows_read), (vec![1], 1), "rows without columns still count");
}

/// B13; the marks of other encodings: `text::byte_order_marks_agree_with_the_job_or_are_refused`.
#[test]
fn a_byte_order_mark_is_no_part_of_the_first_name() {
    let bench = Bench::new();
    assert_eq!(bench.csv(&["id", "name"], "\u{feff}id,name\n1,Alice\n").cells(), [["1", "Alice"]]);
    assert_eq!(bench.csv(&["id", "name"], "\u{feff}\"id\",name\n1,Alice\n").cells(), [["1", "Alice"]]);
    let path = bench.write("bare.csv", "\u{feff}\"1\",Alice\n");
    let mut source = csv_source(&path, &["id", "name"]);
    source.format = Format::Csv(CsvOptions { header: false, ..csv_options() });
    assert_eq!(bench.read(&source).unwrap().0.cells(), [["1", "Alice"]]);
}

/// B12.
#[test]
fn blank_lines_are_no_records_whatever_the_delimiter() {
    let bench = Bench::new();
    for delimiter in [",", ";", "\t", "|", " "] {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["", "a,b", "", "1,2", "", "", "3,x,4", "5,6", ""].map(|l| l.replace(',', delimiter)).join(end);
            let path = bench.write("in.csv", text);
            let mut source = csv_source(&path, &["a", "b"]);
            source.format = Format::Csv(CsvOptions { delimiter: delimiter.as_bytes()[0], ..csv_options() });
            let (out, tally) = bench.read(&source).unwrap();
            assert_eq!(out.cells(), [["1", "2"], ["5", "6"]], "{delimiter:?} {end:?}");
            assert_eq!(out.codes(), [(2, "ragged".into())]);
            assert_eq!(tally.rejections, BTreeMap::from([("tx.ragged".into(), 1)]));
        }
    }
}

#[test]
fn a_bad_record_costs_itself() {
    let bench = Bench::new();
    let out = bench.csv(&["a", "b"], b"a,b\n1,2\n3\n4,5,6\n\xff,7\n8,\"9\n10,11\n12,\"x\"y\n13,\"\xe9\"\"\"\n14,\"a\nb\"\n15,16".as_slice());
    assert_eq!(out.cells(), [["1", "2"], ["10", "11"], ["14", "a\nb"], ["15", "16"]]);
    let codes: Vec<_> = out.codes().into_iter().map(|(n, c)| format!("{n} {c}")).collect();
    assert_eq!(codes, ["2 ragged", "3 ragged", "4 invalid-encoding", "5 torn-quote", "7 torn-quote", "8 invalid-encoding"]);
    let raws: Vec<_> = out.rejected.iter().map(|(_, _, raw)| raw.as_slice()).collect();
    let want: [&[u8]; 6] = [b"3", b"4,5,6", b"\xff,7", b"8,\"9", b"12,\"x\"y", b"13,\"\xe9\"\"\""];
    assert_eq!(raws, want);
}

#[test]
fn a_quote_that_is_never_closed_costs_one_row_not_the_rest_of_the_file() {
    let bench = Bench::new();
    let out = bench.csv(&["a", "b"], "a,b\n1,\"x\n2,y\n3,z\n");
    assert_eq!(out.cells(), [["2", "y"], ["3", "z"]]);
    assert_eq!(out.codes(), [(1, "torn-quote".into())]);
    let out = bench.csv(&["a", "b"], "a,b\n2,y\n3,\"");
    assert_eq!((out.cells(), out.codes()), (vec![vec!["2", "y"]], vec![(2, "torn-quote".into())]));
    // A quote in the middle of a cell is a character.
    assert_eq!(bench.csv(&["a", "b"], "a,b\n5\" pipe,x\"\"\n").cells(), [["5\" pipe", "x\"\""]]);
    // All cells quoted and escaped.
    assert_eq!(bench.csv(&["a", "b"], "a,b\n\"\"\"\",\"a\"\"b,\r\nc\"\r\n").cells(), [["\"", "a\"b,\r\nc"]]);
}

#[test]
fn many_open_quotes_are_read_in_linear_time() {
    // Every line opens a quote that only the next line's could close.
    let bench = Bench::new();
    let mut text = String::from("a,b\n");
    for _ in 0..200_000 {
        text.push_str("1,\"x\n");
    }
    let out = bench.csv(&["a", "b"], text);
    assert_eq!((out.rows.len(), out.rejected.len()), (0, 200_000));
}

/// B11.
#[test]
fn long_cells_and_records_that_are_too_long() {
    let bench = Bench::new();
    let long = "x".repeat(70_000);
    assert_eq!(bench.csv(&["a", "b"], format!("a,b\n1,{long}\n{long},2\n")).rows.len(), 2);
    assert_eq!(bench.csv(&["a", "b"], format!("a,b\n{long}\n1,2\n")).codes(), [(1, "ragged".into())]);
    let longer = "y".repeat(3 * MAX_RECORD_BYTES);
    for text in [format!("a,b\n1,{longer}\n3,4\n"), format!("a,b\n1,\"{longer}\"\n3,4\n")] {
        let out = bench.csv(&["a", "b"], text);
        assert_eq!((out.cells(), out.codes()), (vec![vec!["3", "4"]], vec![(1, "too-long".into())]));
        assert!(out.rejected[0].2.len() < MAX_RECORD_BYTES, "only its start is kept");
    }
    let torn = format!("a,b\n1,\"open\n{}", "2,x\n".repeat(MAX_RECORD_BYTES));
    let out = bench.csv(&["a", "b"], torn);
    assert_eq!((out.rows.len(), out.codes()), (MAX_RECORD_BYTES, vec![(1, "torn-quote".into())]));
    // Exactly as long as allowed, and one more.
    for (extra, rows) in [(0, 2), (1, 1)] {
        let body = "z".repeat(MAX_RECORD_BYTES - 2 + extra);
        assert_eq!(bench.csv(&["a", "b"], format!("a,b\n1,{body}\n3,4")).rows.len(), rows, "{extra}");
    }
}

/// B05, B06: a declared format holds, whatever the neighbours hold and whatever characters it has.
#[test]
fn typed_cells() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "id,on,at,amount\n1,31-OCT-2023,\"1/2/2023, 12:33 PM\",$1.20\n2,2023-10-31,\"13/40/2023, 12:33 PM\",1.234\n3,,,\n");
    let date = |pattern: &str| DateFormat::new(pattern).unwrap();
    let mut source = csv_source(&path, &[]);
    source.schema.columns = vec![
        column("id", DataType::Int64),
        column("on", DataType::Date { format: date("dd-MMM-yyyy") }),
        column("at", DataType::Timestamp { format: date("M/d/yyyy, h:mm a"), zone: Zone::None }),
        column("amount", DataType::Decimal { precision: 9, scale: 2 }),
    ];
    source.format = Format::Csv(CsvOptions { text: TextOptions { number_prefix: Some("$".into()), ..TextOptions::default() }, ..csv_options() });
    let (out, tally) = bench.read(&source).unwrap();
    assert_eq!(out.cells(), [["1", "2023-10-31", "2023-01-02T12:33:00", "1.20"], ["3", "∅", "∅", "∅"]]);
    assert_eq!(out.codes(), [(2, "on.type+at.type+amount.type".into())]);
    assert_eq!(tally.rejections, BTreeMap::from([("tx.on.type".into(), 1), ("tx.at.type".into(), 1), ("tx.amount.type".into(), 1)]));
}

/// B02.
#[test]
fn a_bad_date_takes_nothing_from_its_neighbours() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "A,B\n1,2024-03-08\n2,2024-03-09\n3,03/10/2024\n4,2024-03-11\n5,2024-03-12\n");
    let mut source = csv_source(&path, &["A"]);
    source.schema.columns.push(column("B", DataType::Date { format: DateFormat::new("MM/dd/yyyy").unwrap() }));
    let (out, _) = bench.read(&source).unwrap();
    assert_eq!(out.cells(), [["3", "2024-03-10"]]);
    assert_eq!(out.rejected.iter().map(|(n, ..)| *n).collect::<Vec<_>>(), [1, 2, 4, 5]);
}

#[test]
fn who_wants_no_more_rows_gets_no_more_and_all_are_counted() {
    let bench = Bench::new();
    let text: String = (0..1000).map(|i| if i == 900 { "x\n".to_owned() } else { format!("{i},1\n") }).collect();
    let path = bench.write("in.csv", format!("a,b\n{text}"));
    let source = csv_source(&path, &["a", "b"]);
    let (files, units) = plan_units(&bench.stores, 0, &source).unwrap();
    let ingest = Ingest { stores: &bench.stores, source: &source, files: &files, projection: &[0], batch_rows: 10 };
    let mut out = Out { stop_after: Some(15), ..Out::default() };
    let tally = ingest_unit(&ingest, &units[0], &mut out).unwrap();
    assert_eq!((out.rows.len(), tally.rows_read, tally.rows_rejected), (20, 1000, 1));
    assert_eq!(out.codes(), [(901, "ragged".into())]);
}

#[test]
fn blocks_and_batches_change_nothing() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "x");
    let mut source = csv_source(&path, &["a", "b"]);
    source.schema.columns.push(column("n", DataType::Int32));
    let text =
        b"\r\n1,\"a\"\"b\",3\r\n\"\",,x\n\xff,y,1\n\"q\nr\",\"s\r\n\",5\r\r\n\"torn,x\n7,\"\xc3\xa9\",8\n1,2\n\"a\"b,1,2\n\"a\"\"\"\"\",\"\",0009\n\"end";
    let whole = bench.in_blocks(&source, text, 1 << 20, 8192).unwrap();
    assert_eq!(whole.0.rows.len() + whole.0.rejected.len(), 10);
    for block in 1..=text.len() {
        for batch_rows in [1, 2, 3, 1000] {
            assert_eq!(bench.in_blocks(&source, text, block, batch_rows).unwrap(), whole, "block {block} batch {batch_rows}");
        }
    }
}

#[test]
fn cut_anywhere_nothing_is_lost() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "x");
    let source = csv_source(&path, &["a", "b"]);
    let text = "1,\"two\nlines\"\n\"x\"\"y\",3\nlast,é";
    for end in 0..=text.len() {
        let (out, _) = bench.in_blocks(&source, &text.as_bytes()[..end], 7, 2).unwrap();
        let bytes: usize =
            out.rejected.iter().map(|(_, _, raw)| raw.len()).sum::<usize>() + out.rows.iter().flatten().flatten().map(String::len).sum::<usize>();
        assert!(end == 0 || bytes > 0, "{end}");
    }
}

fn read_as(names: &[&str], options: CsvOptions, bytes: impl AsRef<[u8]>) -> Out {
    let bench = Bench::new();
    let path = bench.write("in.csv", bytes);
    bench.read(&Source { format: Format::Csv(options), ..csv_source(&path, names) }).unwrap().0
}

#[test]
fn without_a_quote_every_byte_is_the_cells() {
    let options = CsvOptions { quote: None, ..csv_options() };
    let out = read_as(&["a", "b"], options, "a,b\n\"x,y\"\n5\" pipe,\"\"\n\"1\n2\",3\n");
    assert_eq!(out.cells(), [["\"x", "y\""], ["5\" pipe", "\"\""], ["2\"", "3"]]);
    assert_eq!(out.codes(), [(3, "ragged".into())]);
}

#[test]
fn an_escape_makes_the_next_character_the_cells() {
    let options = || CsvOptions { escape: Some(b'\\'), ..csv_options() };
    let out = read_as(&["a", "b"], options(), "a,b\n\"x\\\"y\",\"\\\\\"\n\"\\n\\\n\\,\",\"\\é\"\nbare\\,\"\"\n");
    assert_eq!(out.cells(), [["x\"y", "\\"], ["n\n,", "é"], ["bare\\", ""]]);
    // Quotes are not doubled then, and an escape escapes the quote that would have closed.
    let out = read_as(&["a", "b"], options(), "a,b\n\"x\"\"y\",1\n\"x\\\",2\n3,4\n");
    assert_eq!((out.cells(), out.codes()), (vec![vec!["3", "4"]], vec![(1, "torn-quote".into()), (2, "torn-quote".into())]));
    // The quote as its own escape is the rule without one.
    let doubled = CsvOptions { escape: Some(b'"'), ..csv_options() };
    assert_eq!(read_as(&["a", "b"], doubled, "a,b\n\"x\"\"y\",1\n").cells(), [["x\"y", "1"]]);
}

#[test]
fn comments_are_no_records_where_a_record_could_start() {
    let options = || CsvOptions { comment: Some(b'#'), ..csv_options() };
    let long = "c".repeat(3 * MAX_RECORD_BYTES);
    let text = format!("# first, \"open\na,b\n#\n1,#2\r\n# \"not a quote\r\n\"#3\",\"4\n#5\"\n#{long}\n 6,7\n#last");
    let out = read_as(&["a", "b"], options(), &text);
    assert_eq!(out.cells(), [["1", "#2"], ["#3", "4\n#5"], [" 6", "7"]]);
    assert!(out.rejected.is_empty());
    // Their bytes need not be text, and record numbers do not count them.
    let out = read_as(&["a", "b"], options(), b"a,b\n#\xff\n1,2\n#\xfe\n3\n\xff,1\n#\xff\n4,5\n".as_slice());
    assert_eq!((out.cells(), out.codes()), (vec![vec!["1", "2"], vec!["4", "5"]], vec![(2, "ragged".into()), (3, "invalid-encoding".into())]));
}

#[test]
fn special_characters_are_all_different() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "a\n1\n");
    for options in [
        CsvOptions { delimiter: b'"', ..csv_options() },
        CsvOptions { delimiter: b'\n', ..csv_options() },
        CsvOptions { quote: Some(0xe9), ..csv_options() },
        CsvOptions { escape: Some(b','), ..csv_options() },
        CsvOptions { comment: Some(b'"'), ..csv_options() },
        CsvOptions { comment: Some(b'\\'), escape: Some(b'\\'), ..csv_options() },
    ] {
        let shown = format!("{options:?}");
        assert_eq!(refusal(bench.read(&Source { format: Format::Csv(options), ..csv_source(&path, &["a"]) })).0, "unusable-delimiter", "{shown}");
    }
}

#[test]
fn added_columns_pass_when_the_job_says_so() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "x,b,,a,\n1,2,3,4,5\n6,7\n");
    let mut source = csv_source(&path, &["a", "b"]);
    assert_eq!(refusal(bench.read(&source)).0, "duplicate-column", "two columns without a name");
    source.drift = Drift::AllowAdded;
    let planned = plan_source(&bench.stores, 0, &source).unwrap();
    assert_eq!(planned.added, ["", "x"]);
    let (out, _) = bench.read(&source).unwrap();
    assert_eq!(out.cells()[0], ["4", "2"]);
    assert_eq!(out.codes()[0], (2, "ragged".into()));
    // Twice is twice, missing is missing, and what is no header is not let pass.
    for (header, code) in [("a,b,a", "duplicate-column"), ("a,x", "missing-column"), ("x,y", "header-missing")] {
        bench.write("in.csv", format!("{header}\n1,2,3\n"));
        assert_eq!(refusal(bench.read(&source)).0, code, "{header}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// What a careful writer writes comes back cell by cell.
    #[test]
    fn a_written_table_comes_back(table in prop::collection::vec(prop::collection::vec(prop::option::of("[a\",;\r\n é]{0,6}"), 3), 0..20), block in 1usize..64, crlf: bool) {
        let bench = Bench::new();
        let path = bench.write("in.csv", "x");
        let source = csv_source(&path, &["a", "b", "c"]);
        let end = if crlf { "\r\n" } else { "\n" };
        let cell = |c: &Option<String>| c.as_ref().map_or_else(String::new, |c| format!("\"{}\"", c.replace('"', "\"\"")));
        let text: String = table.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + end).collect();
        let (out, _) = bench.in_blocks(&source, text.as_bytes(), block, 7).unwrap();
        prop_assert_eq!(out.rows, table);
        prop_assert!(out.rejected.is_empty());
    }

    /// Whatever the bytes: every line is a row or a reject, and blocks and batches do not matter.
    #[test]
    fn anything_is_counted(bytes in prop::collection::vec(prop::sample::select(b"a,\"\n\r\xff\xc3\xa9".to_vec()), 0..80), block in 1usize..20) {
        let bench = Bench::new();
        let path = bench.write("in.csv", "x");
        let source = csv_source(&path, &["a", "b"]);
        let whole = bench.in_blocks(&source, &bytes, 1 << 20, 8192).unwrap();
        prop_assert_eq!(whole.1.rows_read, (whole.0.rows.len() + whole.0.rejected.len()) as u64);
        prop_assert_eq!(bench.in_blocks(&source, &bytes, block, 3).unwrap(), whole.clone());
        // Nothing vanishes: each byte that is no delimiter, quote or line end is in a row or a reject.
        let letters = |b: &[u8]| b.iter().filter(|b| !b",\"\n\r".contains(b)).count();
        let kept = whole.0.rows.iter().flatten().flatten().map(|c| letters(c.as_bytes())).sum::<usize>() + whole.0.rejected.iter().map(|(_, _, raw)| letters(raw)).sum::<usize>();
        prop_assert_eq!(kept, letters(&bytes));
    }
}

/// B07: digits beyond 64 bits are kept as text or decimal, and are no integer.
#[test]
fn b07_long_integers_keep_their_digits_or_are_rejected_by_name() {
    let bench = Bench::new();
    let long = "1".repeat(90);
    let path = bench.write("in.csv", format!("Id,Num,Dec\n1,{long},99999999999999999999999999999999999999\n2,9223372036854775808,9223372036854775808\n"));
    let mut source = csv_source(&path, &[]);
    source.schema.columns = vec![column("Id", DataType::Int64), column("Num", DataType::String), column("Dec", DataType::Decimal { precision: 38, scale: 0 })];
    let (out, _) = bench.read(&source).unwrap();
    assert_eq!(out.cells(), [["1", &long, "99999999999999999999999999999999999999"], ["2", "9223372036854775808", "9223372036854775808"]]);
    source.schema.columns[1].data_type = DataType::Int64;
    assert_eq!(bench.read(&source).unwrap().0.codes(), [(1, "Num.type".into()), (2, "Num.type".into())]);
}

/// B20: an offset is read, and a wall clock only where the contract says which zone it is of.
#[test]
fn b20_offsets_are_read_and_naive_times_need_a_zone() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "t\n2023-03-10T10:00:00-03:00\n2023-03-10T10:00:00\n2023-03-10T13:00:00Z\n");
    let mut source = csv_source(&path, &[]);
    let at = |default| vec![column("t", DataType::Timestamp { format: DateFormat::iso_timestamp(), zone: Zone::Utc { default } })];
    source.schema.columns = at(None);
    let (out, _) = bench.read(&source).unwrap();
    assert_eq!((out.cells(), out.codes()), (vec![vec!["2023-03-10T13:00:00Z"]; 2], vec![(2, "t.type".into())]));
    source.schema.columns = at(Some(chrono_tz::America::Sao_Paulo));
    assert_eq!(bench.read(&source).unwrap().0.cells(), [["2023-03-10T13:00:00Z"]; 3]);
}
