//! Objects and arrays in JSON, as columns and lists.
use super::*;
use perimeter_contract::schema::{DateFormat, RequiredObject};

fn value(path: &[&str], data_type: DataType) -> Column {
    Column { path: path.iter().map(|name| (*name).to_owned()).collect(), ..column(&path.join("."), data_type) }
}

fn list(path: &[&str], at: usize, item: DataType) -> Column {
    Column { list_at: Some(at), ..value(path, DataType::List(Box::new(item))) }
}

fn object(path: &[&str]) -> RequiredObject {
    RequiredObject { path: path.iter().map(|name| (*name).to_owned()).collect(), span: Span::default() }
}

/// `id`, `customer {name, address {zip}}`, `tags [text]`, `parties [{cpf, share {of}}]`.
fn columns() -> Vec<Column> {
    vec![
        column("id", DataType::Int64),
        value(&["customer", "name"], DataType::String),
        value(&["customer", "address", "zip"], DataType::Int64),
        list(&["tags"], 1, DataType::String),
        list(&["parties", "cpf"], 1, DataType::String),
        list(&["parties", "share", "of"], 1, DataType::Decimal { precision: 5, scale: 2 }),
    ]
}

fn read_with(columns: Vec<Column>, required: Vec<RequiredObject>, drift: Drift, lines: &str) -> (Out, UnitTally) {
    let bench = Bench::new();
    let mut source = json_source(&bench.write("in.json", lines), columns);
    source.schema.required_objects = required;
    source.drift = drift;
    let whole = bench.read(&source).unwrap();
    for (block, batch_rows) in [(1, 1), (7, 2), (1 << 20, 3)] {
        let mut pieces = bench.in_blocks(&source, lines.as_bytes(), block, batch_rows).unwrap();
        pieces.1.bytes_read = whole.1.bytes_read;
        assert_eq!((&pieces.0.rows, &pieces.0.rejected, &pieces.1), (&whole.0.rows, &whole.0.rejected, &whole.1), "{block} {batch_rows}");
    }
    whole
}

fn read(lines: &str) -> (Out, UnitTally) {
    read_with(columns(), vec![], Drift::Refuse, lines)
}

#[test]
fn null_and_absent_at_every_level() {
    let (out, _) = read(concat!(
        r#"{"id":1,"customer":{"name":"Ana","address":{"zip":1000}},"tags":["a","b"],"parties":[{"cpf":"1","share":{"of":50}},{"cpf":null,"share":null}]}"#,
        "\n",
        r#"{"id":2,"customer":{"address":null},"tags":[],"parties":[]}"#,
        "\n",
        r#"{"customer":null,"tags":null,"parties":null}"#,
        "\n",
        r#"{"id":4,"customer":{"address":{}},"tags":[null],"parties":[null,{},{"share":{"of":"1.5"},"cpf":"\u0032"}]}"#,
        "\n{}\n"
    ));
    assert_eq!(
        out.cells(),
        [
            ["1", "Ana", "1000", "[a, b]", "[1, ]", "[50.00, ]"],
            ["2", "∅", "∅", "[]", "[]", "[]"],
            ["∅"; 6],
            ["4", "∅", "∅", "[]", "[, , 2]", "[, , 1.50]"],
            ["∅"; 6],
        ]
    );
    assert!(out.rejected.is_empty());
}

#[test]
fn values_of_another_kind_are_no_values_of_the_type() {
    let cases = [
        (r#"{"id":{}}"#, "id.type"),
        (r#"{"id":[1]}"#, "id.type"),
        (r#"{"customer":"x"}"#, "customer.name.type+customer.address.zip.type"),
        (r#"{"customer":[]}"#, "customer.name.type+customer.address.zip.type"),
        (r#"{"customer":{"name":{"first":"x"}}}"#, "customer.name.type"),
        (r#"{"customer":{"address":7}}"#, "customer.address.zip.type"),
        (r#"{"tags":"a"}"#, "tags.type"),
        (r#"{"tags":{}}"#, "tags.type"),
        (r#"{"tags":["a",1]}"#, "tags.type"),
        (r#"{"tags":["a",["b"]]}"#, "tags.type"),
        (r#"{"tags":[{}]}"#, "tags.type"),
        (r#"{"parties":{}}"#, "parties.cpf.type+parties.share.of.type"),
        (r#"{"parties":[1]}"#, "parties.cpf.type+parties.share.of.type"),
        (r#"{"parties":[{"cpf":"1","share":2}]}"#, "parties.share.of.type"),
        (r#"{"parties":[{"cpf":["1"]}]}"#, "parties.cpf.type"),
        (r#"{"parties":[{"share":{"of":1.234}}]}"#, "parties.share.of.type"),
        (r#"{"customer":{"nick":1}}"#, "unknown-field"),
        (r#"{"customer":{"address":{"zip":1,"x":null}}}"#, "unknown-field"),
        (r#"{"parties":[{},{"x":1}]}"#, "unknown-field"),
        (r#"{"parties":[{"share":{"x":1}}]}"#, "unknown-field"),
        (r#"{"customer":{"name":"a","name":"b"}}"#, "duplicate-key"),
        (r#"{"customer":{},"customer":{}}"#, "duplicate-key"),
        (r#"{"parties":[{"cpf":"1","cpf":"1"}]}"#, "duplicate-key"),
        (r#"{"tags":["a",]}"#, "invalid-json"),
        (r#"{"parties":[{"cpf":}]}"#, "invalid-json"),
        (r#"{"customer":{"address":{"zip":01}}}"#, "invalid-json"),
    ];
    let good = r#"{"tags":["x\n"],"parties":[{"cpf":"\t1"}],"customer":{"name":"\u00e9"}}"#;
    let lines: String = cases.iter().flat_map(|(line, _)| [line, "\n", good, "\n"]).collect();
    let (out, _) = read(&lines);
    let codes: Vec<String> = out.codes().into_iter().map(|(_, codes)| codes).collect();
    assert_eq!(codes, cases.map(|(_, codes)| codes.to_owned()));
    assert_eq!(out.rows.len(), cases.len());
    assert!(out.cells().iter().all(|row| row[..] == ["∅", "é", "∅", "[x\n]", "[\t1]", "[]"]), "{:?}", out.cells());
}

#[test]
fn the_same_key_may_come_back_in_another_object() {
    let (out, _) = read(r#"{"parties":[{"cpf":"1"},{"cpf":"2"}],"customer":{"name":"1","address":{"zip":1}}}"#);
    assert_eq!(out.cells(), [["∅", "1", "1", "∅", "[1, 2]", "[, ]"]]);
}

#[test]
fn deep_nesting_is_refused_wherever_it_is() {
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    let (out, _) = read(&[format!("{{\"tags\":{deep}}}"), format!("{{\"parties\":[{{\"cpf\":{deep}}}]}}"), "{}".into()].join("\n"));
    assert_eq!(out.codes(), [(1, "invalid-json".into()), (2, "invalid-json".into())]);
}

#[test]
fn objects_that_must_be_there() {
    let required = || vec![object(&["customer", "address"]), object(&["parties"]), object(&["parties", "share"])];
    let sound = r#"{"customer":{"address":{}},"parties":[{"share":{}}]}"#;
    let cases = [
        (sound, ""),
        (r#"{"customer":{"address":{}},"parties":[]}"#, ""),
        (r#"{"customer":{"address":{}},"parties":[null]}"#, ""),
        (r#"{"customer":{"address":{}},"parties":[{"share":{}},{"cpf":"1"}]}"#, "parties.share.required"),
        (r#"{"customer":{"address":null},"parties":[{"share":{}},{"share":null}]}"#, "customer.address.required+parties.share.required"),
        (r#"{"customer":{},"parties":[]}"#, "customer.address.required"),
        (r#"{"customer":null,"parties":null}"#, "customer.address.required+parties.required+parties.share.required"),
        ("{}", "customer.address.required+parties.required+parties.share.required"),
        // Another kind of value is not null: its columns say what is wrong.
        (r#"{"customer":{"address":1},"parties":[]}"#, "customer.address.zip.type"),
    ];
    let lines: Vec<&str> = cases.iter().map(|(line, _)| *line).collect();
    let (out, tally) = read_with(columns(), required(), Drift::Refuse, &lines.join("\n"));
    let want: Vec<(u64, String)> = (1..).zip(cases).filter(|(_, (_, codes))| !codes.is_empty()).map(|(n, (_, codes))| (n, codes.to_owned())).collect();
    assert_eq!(out.codes(), want);
    assert_eq!(tally.rejections["tx.customer.address.required"], 4);
    // A record that is no text takes nothing from its neighbours.
    let bench = Bench::new();
    let bytes = [b"{\"tags\":[\"\xff\"]}\n{}\n", sound.as_bytes()].concat();
    let mut source = json_source(&bench.write("in.json", bytes), columns());
    source.schema.required_objects = required();
    let codes = bench.read(&source).unwrap().0.codes();
    assert_eq!(codes[0], (1, "invalid-encoding".into()));
    assert!(codes.len() == 2 && codes[1].0 == 2, "{codes:?}");
}

#[test]
fn added_fields_pass_when_the_job_says_so_and_are_counted() {
    let lines = [
        r#"{"id":1}"#,
        r#"{"id":2,"52998224725":{"any":[1,"x"],"any":2}}"#,
        r#"{"id":3,"customer":{"nick":"x","name":"Ana"}}"#,
        r#"{"id":4,"parties":[{"x":1},{"cpf":"1","y":"\n"}]}"#,
        r#"{"id":5,"z":}"#,
    ];
    let (out, tally) = read_with(columns(), vec![], Drift::AllowAdded, &lines.join("\n"));
    assert_eq!(out.rows.iter().map(|row| row[0].as_deref().unwrap()).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    assert_eq!((out.rows[2][1].as_deref(), out.rows[3][4].as_deref()), (Some("Ana"), Some("[, 1]")));
    assert_eq!((tally.rows_with_added_fields, out.codes()), (3, vec![(5, "invalid-json".into())]));
    assert!(!format!("{tally:?}").contains("529"), "keys can be data");
}

#[test]
fn lists_of_every_type() {
    let columns = vec![
        list(&["d"], 1, DataType::Date { format: DateFormat::iso_date() }),
        list(&["b"], 1, DataType::Boolean),
        list(&["t"], 1, DataType::Time { format: DateFormat::iso_time() }),
        list(&["o", "n"], 2, DataType::Int32),
    ];
    let lines = "{\"d\":[\"2026-11-30\",null],\"b\":[true],\"t\":[\"23:59:59.5\"],\"o\":{\"n\":[1,-2]}}\n{\"d\":[\"2026-02-30\"],\"b\":[1],\"t\":[\"24:00:00\"],\"o\":{\"n\":[1.5]}}\n{\"d\":[\"2026-01-01\"],\"b\":[false],\"o\":{\"n\":[]}}";
    let (out, _) = read_with(columns, vec![], Drift::Refuse, lines);
    assert_eq!(out.cells(), [["[2026-11-30, ]", "[true]", "[23:59:59.500]", "[1, -2]"], ["[2026-01-01]", "[false]", "∅", "[]"]]);
    assert_eq!(out.codes(), [(2, "d.type+b.type+t.type+o.n.type".into())]);
}

/// B25: types that alternate between null and text, inside an array of objects, inside an array.
#[test]
fn b25_the_first_record_of_an_array_is_intact() {
    let bench = Bench::new();
    let path = bench.write("in.json", r#"[{"e":[{"s":null,"i":"888"}]},{"e":[{"s":null,"i":"999"},{"s":"x","i":null}]},{"e":null}]"#);
    let columns = vec![list(&["e", "s"], 1, DataType::String), list(&["e", "i"], 1, DataType::String)];
    let mut source = json_source(&path, columns);
    source.format = Format::Json(JsonOptions { array: true, text: TextOptions::default() });
    assert_eq!(bench.read(&source).unwrap().0.cells(), [["[]", "[888]"], ["[, x]", "[999, ]"], ["∅", "∅"]]);
    // And without the option, a refusal that says so.
    source.format = Format::Json(JsonOptions::default());
    assert_eq!(refusal(bench.read(&source)).0, "format-mismatch");
}
