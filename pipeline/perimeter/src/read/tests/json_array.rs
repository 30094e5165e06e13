//! One array of objects: elements are records, and a torn array is a refusal, never a silent end.
use super::*;
use ::proptest::prelude::*;

fn array_source(path: &Path, names: &[&str]) -> Source {
    let columns = names.iter().map(|n| column(n, DataType::String)).collect();
    source(path, Format::Json(JsonOptions { array: true, text: TextOptions::default() }), columns)
}

fn read(names: &[&str], bytes: impl AsRef<[u8]>) -> Result<(Out, UnitTally)> {
    let bench = Bench::new();
    let path = bench.write("in.json", bytes);
    bench.read(&array_source(&path, names))
}

#[test]
fn elements_over_any_white_space() {
    for text in ["[{\"a\":\"1\",\"b\":\"x\"},{\"b\":\"y\"}]", "\u{feff} \n[\n  {\n    \"a\": \"1\",\r\n\t\"b\": \"x\"\n  }\n , \n{ \"b\" : \"y\" }\n]\n\n"] {
        let (out, tally) = read(&["a", "b"], text).unwrap();
        assert_eq!((out.cells(), tally.rows_read), (vec![vec!["1", "x"], vec!["∅", "y"]], 2));
    }
    for text in ["[]", " [ \n ] "] {
        assert_eq!(read(&["a"], text).unwrap().1.rows_read, 0);
    }
}

#[test]
fn a_bad_element_costs_itself_where_its_end_is_known() {
    let text = concat!(
        "[{\"a\":\"1\"},\n{\"a\":tru},{\"a\":\"2\"}, {\"a\":\"x\",} ,7,null,\"s,]\",[{\"a\":\"3\"}],{\"a\":\"4\",\"a\":\"5\"},{\"z\":\"1\"},{\"a\":{}},",
        "{\"a\":\"\\x\"},{\"a\":00},{},{a:1},,{\"a\":\"last\"},]"
    );
    let (out, tally) = read(&["a"], text).unwrap();
    assert_eq!(out.cells(), [["1"], ["2"], ["∅"], ["last"]]);
    let codes: Vec<_> = out.codes().into_iter().map(|(n, c)| format!("{n} {c}")).collect();
    let bad = |n: u64| format!("{n} invalid-json");
    let want = [
        vec![bad(2), bad(4), bad(5), bad(6), bad(7), bad(8)],
        vec!["9 duplicate-key".into(), "10 unknown-field".into(), "11 a.type".into()],
        vec![bad(12), bad(13), bad(15), bad(16), bad(18)],
    ];
    assert_eq!(codes, want.concat());
    assert_eq!(tally.rows_read, 18);
    assert_eq!(out.rejected[1].2, b"{\"a\":\"x\",}");
    assert_eq!(out.rejected[4].2, b"\"s,]\"");
    assert_eq!(read(&["a"], b"[{\"a\":\"\xff\"},{\"a\":\"2\"}]".as_slice()).unwrap().0.codes(), [(1, "invalid-encoding".into())]);
}

#[test]
fn a_torn_array_is_refused_with_its_element() {
    for (text, element) in [
        ("[", 1),
        ("[{\"a\":\"1\"}", 2),
        ("[{\"a\":\"1\"},", 2),
        ("[{\"a\":\"1\"},{\"a\":\"2", 2),
        ("[{\"a\":\"1\"},{\"a\":\"2\"", 2),
        ("[{\"a\":\"1\"} {\"a\":\"2\"}]", 2),
        // A quote that is not closed.
        ("[{\"a\":\"1},\n{\"a\":\"2\"}]", 1),
        ("[{\"a\":\"1},{\"a\":\"2\"}]", 1),
        // Brackets that do not match.
        ("[{\"a\":\"1\"},{\"a\":[1}},{}]", 2),
        ("[{\"a\":\"1\"},{\"a\":1}},{}]", 3),
        ("[[[[", 1),
    ] {
        let (code, exit, message) = refusal(read(&["a"], text));
        assert_eq!((code, exit), ("torn-array", 1), "{text}");
        assert!(message.contains(&format!("in.json, record {element}: ")), "{text}: {message}");
    }
    for text in ["[] x", "[{\"a\":\"1\"}]\n[{\"a\":\"2\"}]", "[]]", "[],"] {
        assert_eq!(refusal(read(&["a"], text)).0, "trailing-data", "{text}");
    }
    let (code, exit, _) = refusal(read(&["a"], "{\"a\":\"1\"}\n"));
    assert_eq!((code, exit), ("format-mismatch", 2));
    assert_eq!(refusal(read(&["a"], " \n")).0, "torn-array");
    assert_eq!(refusal(read(&["a"], "")).0, "empty-file");
    // What was sound before is handed out before the refusal.
    let bench = Bench::new();
    let path = bench.write("in.json", "[{\"a\":\"1\"},{\"a\":x},{\"a\":\"2");
    let source = array_source(&path, &["a"]);
    let (files, units) = plan_units(&bench.stores, 0, &source).unwrap();
    let ingest = Ingest { stores: &bench.stores, source: &source, files: &files, projection: &[0], batch_rows: 10 };
    let mut out = Out::default();
    ingest_unit(&ingest, &units[0], &mut out).unwrap_err();
    assert_eq!((out.cells(), out.codes()), (vec![vec!["1"]], vec![(2, "invalid-json".into())]));
}

#[test]
fn long_elements_cost_themselves_and_memory_stays() {
    let longer = "y".repeat(3 * super::super::text::MAX_RECORD_BYTES);
    let (out, _) = read(&["a"], format!("[{{\"a\":\"1\"}},{{\"a\":\"{longer}],\"}} ,{{\"a\":\"2\"}}]")).unwrap();
    assert_eq!((out.cells(), out.codes()), (vec![vec!["1"], vec!["2"]], vec![(2, "too-long".into())]));
    assert_eq!(refusal(read(&["a"], format!("[{{\"a\":\"{longer}"))).0, "torn-array");
    assert_eq!(refusal(read(&["a"], format!("[{{\"a\":\"{longer}\n\"}}]"))).0, "torn-array");
    // White space without end is no element.
    assert_eq!(read(&["a"], format!("[{longer}]").replace('y', " \n")).unwrap().1.rows_read, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same elements as lines and as an array are the same rows and rejects; blocks and batches change nothing.
    #[test]
    fn an_array_is_its_lines(elements in prop::collection::vec(prop::sample::select(vec![
        "{\"a\":\"1\"}", "{\"a\":\"é\\n\\u00e9\"}", "{}", "{\"a\":null}", "{\"a\":1}", "{\"a\":tru}", "{\"z\":1}", "{\"a\":[1,{\"b\":\"],\"}]}", "7", "\"x\"", "{\"a\":\"1\",\"a\":\"2\"}", "[]",
    ]), 0..12), blanks in prop::sample::select(vec!["", " ", "\n", "\r\n  "]), block in 1usize..40, batch_rows in 1usize..5) {
        let bench = Bench::new();
        let path = bench.write("in.json", "x");
        let mut source = array_source(&path, &["a"]);
        let array = format!("[{}]", elements.iter().map(|e| format!("{blanks}{e}{blanks}")).collect::<Vec<_>>().join(","));
        let (from_array, tally) = bench.in_blocks(&source, array.as_bytes(), block, batch_rows).unwrap();
        source.format = Format::Json(JsonOptions::default());
        let (from_lines, lines_tally) = bench.in_blocks(&source, elements.join("\n").as_bytes(), 1 << 20, 8192).unwrap();
        prop_assert_eq!(from_array, from_lines);
        prop_assert_eq!(tally, lines_tally);
    }

    /// Whatever the bytes: an end, or a refusal; the same in blocks of any size. What another strict parser takes for an array of objects has all its elements.
    #[test]
    fn anything_ends(pieces in prop::collection::vec(prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "1", " ", "\n", "{\"a\":\"1\"}"]), 0..20), block in 1usize..8) {
        let text = format!("[{}", pieces.concat());
        let bench = Bench::new();
        let path = bench.write("in.json", "x");
        let source = array_source(&path, &["a"]);
        let ours = bench.in_blocks(&source, text.as_bytes(), 1 << 20, 8192);
        match (&ours, bench.in_blocks(&source, text.as_bytes(), block, 2)) {
            (Ok(whole), Ok(pieces)) => prop_assert_eq!(whole, &pieces),
            (Err(Error::Failed(a)), Err(Error::Failed(b))) => prop_assert_eq!((a.code, &a.message), (b.code, &b.message)),
            _ => prop_assert!(false, "{} differs by blocks", text),
        }
        if let Ok(serde_json::Value::Array(theirs)) = serde_json::from_str(&text) {
            prop_assert_eq!(ours.unwrap().1.rows_read, theirs.len() as u64);
        }
    }
}
