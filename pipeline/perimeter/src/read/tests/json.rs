use super::super::json_scan::{Scanner, Shape, Value, is_blank};
use super::*;
use ::proptest::prelude::*;
use perimeter_contract::schema::{DateFormat, Zone};

fn read(columns: Vec<Column>, bytes: impl AsRef<[u8]>) -> (Out, UnitTally) {
    let bench = Bench::new();
    let path = bench.write("in.json", bytes);
    bench.read(&json_source(&path, columns)).unwrap()
}

fn texts(names: &[&str]) -> Vec<Column> {
    names.iter().map(|n| column(n, DataType::String)).collect()
}

#[test]
fn one_object_a_line_keys_in_any_order_absent_is_null() {
    let (out, _) = read(texts(&["a", "b"]), "\u{feff}{\"b\":\"x\",\"a\":\"y\"}\r\n\n  \t\n{}\n {\"a\" : null , \"b\":\"\"} \n{\"a\":\"last\"}");
    assert_eq!(out.cells(), [["y", "x"], ["∅", "∅"], ["∅", ""], ["last", "∅"]]);
    assert!(out.rejected.is_empty());
}

/// B21, B24. B25: `json_nested::b25_the_first_record_of_an_array_is_intact`.
#[test]
fn numbers_keep_every_digit() {
    let columns = vec![column("ts", DataType::Int64), column("amt", DataType::Decimal { precision: 20, scale: 0 }), column("f", DataType::Float64)];
    let (out, _) = read(columns, "{\"ts\":1627668684594000000,\"amt\":9007199254740993,\"f\":-1.5e3}\n{\"ts\":\"-7\",\"amt\":\"12\",\"f\":0}\n");
    assert_eq!(out.cells(), [["1627668684594000000", "9007199254740993", "-1500.0"], ["-7", "12", "0.0"]]);
}

#[test]
fn a_line_that_is_not_exactly_one_object_is_rejected() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: Vec<(&[u8], &str)> = vec![
        (br#"{"a":"1","a":"2"}"#, "duplicate-key"),
        (br#"{"a":"1","\u0061":"2"}"#, "duplicate-key"),
        (br#"{"a":"1","z":2}"#, "unknown-field"),
        (br#"{"a":"1"} x"#, "invalid-json"),
        (br#"{"a":"1"}{"a":"2"}"#, "invalid-json"),
        (br#"{"a":00}"#, "invalid-json"),
        (br#"{"a":01}"#, "invalid-json"),
        (br#"{"a":NaN}"#, "invalid-json"),
        (br#"{"a":+1}"#, "invalid-json"),
        (br#"{"a":1.}"#, "invalid-json"),
        (br#"{"a":.5}"#, "invalid-json"),
        (br#"{"a":1e}"#, "invalid-json"),
        (br#"{"a":"\ud800"}"#, "invalid-json"),
        (br#"{"a":"\udc00"}"#, "invalid-json"),
        (br#"{"a":"\ud800\ud800"}"#, "invalid-json"),
        (br#"{"a":"\x"}"#, "invalid-json"),
        (br#"{"a":"1",}"#, "invalid-json"),
        (br#"{"a" "1"}"#, "invalid-json"),
        (br#"{'a':"1"}"#, "invalid-json"),
        (br#"{"a":"1"#, "invalid-json"),
        (br#"{"a":"#, "invalid-json"),
        (br#"{"#, "invalid-json"),
        (br#"["a"]"#, "invalid-json"),
        (br#""a""#, "invalid-json"),
        (br#"null"#, "invalid-json"),
        (br#"{"a":tru}"#, "invalid-json"),
        (b"{\"a\":\"\t\"}", "invalid-json"),
        (b"{\"a\":\"\xff\"}", "invalid-utf8"),
        (b"{\"a\":\"\\n\xff\"}", "invalid-utf8"),
        (b"{\"\xff\":1}", "unknown-field+invalid-utf8"),
        (br#"{"a":[1,{"x":2,"x":3}]}"#, "a.type"),
        (br#"{"a":{}}"#, "a.type"),
        (br#"{"a":1}"#, "a.type"),
        (br#"{"a":true}"#, "a.type"),
        (deep.as_bytes(), "invalid-json"),
    ];
    let mut file = Vec::new();
    for (line, _) in &cases {
        file.extend_from_slice(br#"{"a":"good"}"#);
        file.push(b'\n');
        file.extend_from_slice(line);
        file.push(b'\n');
    }
    // The deep one is too long for the short limit of the tests.
    let (out, tally) = read(texts(&["a"]), file);
    assert_eq!(out.rows.len(), cases.len());
    for (index, ((line, want), (number, codes, raw))) in cases.iter().zip(&out.rejected).enumerate() {
        let shown = String::from_utf8_lossy(&line[..line.len().min(40)]);
        assert_eq!(*number, 2 * index as u64 + 2, "{shown}");
        if line.len() < super::super::text::MAX_RECORD_BYTES {
            assert_eq!((codes.join("+").as_str(), raw.as_slice()), (*want, *line), "{shown}");
        }
    }
    assert_eq!(tally.rows_read, 2 * cases.len() as u64);
}

#[test]
fn escapes_are_unescaped_once() {
    let (out, _) = read(texts(&["a", "b"]), "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83e\\udd80\",\"\\u0062\":\"é\"}\n{\"a\":\"\\u0000\"}\n");
    assert_eq!(out.rows[0], [Some("\"\\/\u{8}\u{c}\n\r\té🦀".to_owned()), Some("é".to_owned())]);
    assert_eq!(out.rows[1][0].as_deref(), Some("\0"));
}

#[test]
fn values_of_the_wrong_kind_are_type_errors() {
    let columns = vec![
        column("i", DataType::Int32),
        column("b", DataType::Boolean),
        column("f", DataType::Float64),
        column("d", DataType::Date { format: DateFormat::iso_date() }),
        column("t", DataType::Timestamp { format: DateFormat::iso_timestamp(), zone: Zone::Utc { default: None } }),
    ];
    let (out, _) = read(
        columns,
        concat!(
            "{\"i\":1,\"b\":true,\"f\":1.5,\"d\":\"2020-02-29\",\"t\":\"2023-03-10T10:00:00-03:00\"}\n",
            "{\"i\":1.5,\"b\":\"true\",\"f\":\"1.5\",\"d\":\"2021-02-29\",\"t\":1678456800}\n",
            "{\"i\":true,\"b\":1,\"f\":1e999,\"d\":\"\",\"t\":\"2023-03-10 10:00:00\"}\n"
        ),
    );
    assert_eq!(out.cells(), [["1", "true", "1.5", "2020-02-29", "2023-03-10T13:00:00Z"]]);
    let all = "i.type+b.type+f.type+d.type+t.type".to_owned();
    assert_eq!(out.codes(), [(2, all.clone()), (3, all)]);
}

#[test]
fn the_official_suite_gives_rows_or_rejects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/conformance/JSONTestSuite");
    let Some(cases) = suite(&folder) else {
        eprint_skipped();
        return;
    };
    let bench = Bench::new();
    let (mut yes, mut no) = (0, 0);
    for (name, bytes) in cases {
        // The suite's texts are values of any kind over several lines: each becomes the value of a key, where its line ends are blanks.
        if bytes.contains(&b'\n') && name.starts_with("n_") {
            continue;
        }
        let line: Vec<u8> =
            [b"{\"a\":".as_slice(), &bytes.iter().map(|b| if *b == b'\n' || *b == b'\r' { b' ' } else { *b }).collect::<Vec<_>>(), b"}\n"].concat();
        let path = bench.write("in.json", &line);
        let (out, tally) = bench.read(&json_source(&path, texts(&["a"]))).unwrap();
        assert_eq!(tally.rows_read, 1, "{name}");
        let well_formed = out.rejected.first().is_none_or(|(_, codes, _)| codes == &["a.type"]);
        match name.as_bytes()[0] {
            b'y' => {
                assert!(well_formed, "{name}: {:?}", out.codes());
                yes += 1;
            }
            b'n' if name == "n_structure_no_data.json" || line.starts_with(b"{\"a\":\xef\xbb\xbf") || name == "n_structure_100000_opening_arrays.json" => {}
            b'n' => {
                assert!(!well_formed, "{name}");
                no += 1;
            }
            // Implementations may differ: any count is right as long as there is one.
            _ => {}
        }
    }
    assert!(yes > 80 && no > 150, "{yes} {no}");
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn eprint_skipped() {
    eprintln!("skipped: ../shared/corpora/conformance/JSONTestSuite is not there");
}

fn suite(folder: &Path) -> Option<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()? {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".json") && ["y_", "n_", "i_"].iter().any(|p| name.starts_with(p)) {
                found.push((name, std::fs::read(path).ok()?));
            }
        }
    }
    found.sort();
    (!found.is_empty()).then_some(found)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is well-formed is what another strict parser says it is.
    #[test]
    fn syntax_is_that_of_a_second_parser(pieces in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ":", ",", "\"a\"", "\"b\"", "\"\\u00e9\"", "\"\\ud83e\\udd80\"", "\"\\ud800\"", "1", "-", "0", ".5", "1.5e3", "E+1", "00", "true", "null", "nul", " ", "\t", "é", "\"",
    ]), 0..12), inside: bool) {
        let body = pieces.concat();
        let line = if inside { format!("{{\"a\":{body}}}") } else { body };
        let mut scanner = Scanner::new(Shape::new(&texts(&["a", "b"]), &[], false), None);
        let start = line.bytes().position(|b| !is_blank(&[b])).unwrap_or(line.len());
        let ours = scanner.object(line.as_bytes(), start, &mut [Value::Null; 2]).is_some_and(|object| is_blank(&line.as_bytes()[object.end..]));
        let theirs = serde_json::from_str::<serde_json::Value>(&line).is_ok_and(|v| v.is_object());
        prop_assert_eq!(ours, theirs, "{}", line);
    }
}
