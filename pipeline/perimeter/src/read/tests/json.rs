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
        (b"{\"a\":\"\xff\"}", "invalid-encoding"),
        (b"{\"a\":\"\\n\xff\"}", "invalid-encoding"),
        (b"{\"\xff\":1}", "unknown-field+invalid-encoding"),
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
        let theirs = serde_json::from_str::<serde_json::Value>(&line);
        // `1.5e3000` is a number by RFC 8259; that parser has no type for it.
        prop_assume!(!theirs.as_ref().is_err_and(|error| error.to_string().contains("number out of range")));
        let theirs = theirs.is_ok_and(|value| value.is_object());
        prop_assert_eq!(ours, theirs, "{}", line);
    }
}
