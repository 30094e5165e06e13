//! Which columns somebody wants decides what comes out, never what is rejected.
use super::*;
use ::arrow::array::*;
use ::arrow::datatypes::{DataType as A, Field, Int64Type, Schema as ArrowSchema};
use ::arrow::ipc::writer::StreamWriter;
use perimeter_contract::job::{FixedField, FixedWidthOptions, Trim};
use perimeter_contract::schema::{DateFormat, RequiredObject};
use std::sync::Arc;

/// Reads with no column wanted, with each alone and with all, and says what is rejected.
fn the_same_whatever_is_wanted(name: &str, bytes: &[u8], format: Format, columns: Vec<Column>) -> Vec<(u64, String)> {
    the_same(name, bytes, |path| source(path, format.clone(), columns.clone()))
}

fn the_same(name: &str, bytes: &[u8], source: impl Fn(&Path) -> Source) -> Vec<(u64, String)> {
    let bench = Bench::new();
    let source = source(&bench.write(name, bytes));
    let width = source.schema.columns.len();
    let all: Vec<usize> = (0..width).collect();
    let (full, full_tally) = bench.read_with(&source, &all, 3).unwrap();
    for projection in (0..width).map(|column| vec![column]).chain([Vec::new()]) {
        let (out, tally) = bench.read_with(&source, &projection, 3).unwrap();
        assert_eq!(out.codes(), full.codes(), "{name} {projection:?}");
        // What is kept of a columnar row is the columns that were read.
        let columnar = matches!(source.format, Format::Parquet | Format::Arrow | Format::Avro);
        assert!(columnar || out.rejected == full.rejected, "{name} {projection:?}");
        assert_eq!((tally.rows_read, tally.rejections, tally.first), (full_tally.rows_read, full_tally.rejections.clone(), full_tally.first.clone()));
        assert_eq!(out.batches.iter().sum::<usize>(), full.rows.len(), "{name} {projection:?}");
    }
    full.codes()
}

fn codes(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|(number, code)| (*number, (*code).to_owned())).collect()
}

fn money() -> DataType {
    DataType::Decimal { precision: 5, scale: 2 }
}

fn date() -> DataType {
    DataType::Date { format: DateFormat::iso_date() }
}

/// Text, date, decimal, integer: none has a rule.
fn flat() -> Vec<Column> {
    vec![column("s", DataType::String), column("d", date()), column("m", money()), column("n", DataType::Int64)]
}

fn nested() -> Vec<Column> {
    let under = |path: &[&str], data_type: DataType, list_at: Option<usize>| {
        let mut column = column(&path.join("."), data_type);
        column.path = path.iter().map(|name| (*name).to_owned()).collect();
        column.list_at = list_at;
        column
    };
    let texts = || DataType::List(Box::new(DataType::String));
    vec![
        column("s", DataType::String),
        under(&["o", "s"], DataType::String, None),
        under(&["o", "in", "s"], DataType::String, None),
        under(&["l"], texts(), Some(1)),
        under(&["p", "s"], texts(), Some(1)),
    ]
}

#[test]
fn csv() {
    let bytes =
        b"s,d,m,n\na,2020-01-02,1.00,1\n\xff,2020-01-02,1.00,1\na,2020-02-30,1.00,1\na,2020-01-02,1.001,1\na,2020-01-02,1.00,1e3\na,b\n\"a,2020-01-02,1.00,1\n";
    let found = the_same_whatever_is_wanted("in.csv", bytes, Format::Csv(csv_options()), flat());
    assert_eq!(found, codes(&[(2, "invalid-encoding"), (3, "d.type"), (4, "m.type"), (5, "n.type"), (6, "ragged"), (7, "torn-quote")]));
}

#[test]
fn fixed_width() {
    let field = |offset, width| FixedField { offset, width, implied_decimals: None, trim: Trim::Both };
    let fields = vec![field(0, 2), field(2, 10), field(12, 6), field(18, 3)];
    let options = FixedWidthOptions { record_length: 21, line_ends: true, fields, record_types: None, text: TextOptions::default() };
    let bytes = b"a 2020-01-021.00  1  \n\xff 2020-01-021.00  1  \na 2020-02-301.00  1  \na 2020-01-021.001 1  \na 2020-01-021.00  1e3\nshort\n";
    let found = the_same_whatever_is_wanted("in.txt", bytes, Format::FixedWidth(options), flat());
    assert_eq!(found, codes(&[(2, "invalid-encoding"), (3, "d.type"), (4, "m.type"), (5, "n.type"), (6, "ragged")]));
}

fn json(array: bool) -> Format {
    Format::Json(JsonOptions { array, text: TextOptions::default() })
}

#[test]
fn json_kinds() {
    let good = r#""d":"2020-01-02","m":1.00,"n":1}"#;
    let texts = [r#""a""#, "3", "true", r#"{"a":1}"#, r#"["a"]"#, "null", "1.5e3", "\"\\u00e9\"", "[]", "{}"];
    let mut records: Vec<Vec<u8>> = texts.iter().map(|s| format!("{{\"s\":{s},{good}").into_bytes()).collect();
    let others = [r#""d":20200102"#, r#""d":"2020-02-30""#, r#""m":1.001"#, r#""m":false"#, r#""n":1.0"#, r#""n":[1]"#, r#""s":"a","s":"b""#, r#""x":1"#];
    records.extend(others.iter().map(|s| format!("{{{s}}}").into_bytes()));
    records.push(b"{\"s\":\"\xff\"}".to_vec());
    let expected = [2, 3, 4, 5, 7, 9, 10].map(|number| (number, "s.type"));
    let mut expected = expected.to_vec();
    let more = ["d.type", "d.type", "m.type", "m.type", "n.type", "n.type", "duplicate-key", "unknown-field", "invalid-encoding"];
    expected.extend((11..).zip(more));
    let lines = records.join(&b'\n');
    let array = [b"[".as_slice(), &records.join(&b','), b"]"].concat();
    assert_eq!(the_same_whatever_is_wanted("in.json", &lines, json(false), flat()), codes(&expected));
    assert_eq!(the_same_whatever_is_wanted("in.json", &array, json(true), flat()), codes(&expected));
}

#[test]
fn json_objects_and_lists() {
    let records = [
        r#"{"s":"a","o":{"s":"a","in":{"s":"a"}},"l":["a",null],"p":[{"s":"a"},null]}"#,
        r#"{"o":{"s":1}}"#,
        r#"{"o":{"s":"a","in":{"s":[]}}}"#,
        r#"{"o":[]}"#,
        r#"{"o":{"in":"a"}}"#,
        r#"{"o":{},"l":["a",1]}"#,
        r#"{"o":{},"l":"a"}"#,
        r#"{"o":{},"p":[{"s":"a"},{"s":true}]}"#,
        r#"{"o":{},"p":{"s":"a"}}"#,
        r#"{"o":{},"p":[1]}"#,
        r#"{"s":"a"}"#,
        r#"{"o":{"s":"a","s":"b"}}"#,
        r#"{"o":{"in":{"x":1}}}"#,
    ];
    let expected = codes(&[
        (2, "o.s.type"),
        (3, "o.in.s.type"),
        (4, "o.s.type+o.in.s.type"),
        (5, "o.in.s.type"),
        (6, "l.type"),
        (7, "l.type"),
        (8, "p.s.type"),
        (9, "p.s.type"),
        (10, "p.s.type"),
        (11, "o.required"),
        (12, "duplicate-key"),
        (13, "unknown-field"),
    ]);
    let sources = |path: &Path, array| {
        let mut source = source(path, json(array), nested());
        source.schema.required_objects = vec![RequiredObject { path: vec!["o".into()], span: Span::default() }];
        source
    };
    assert_eq!(the_same("in.json", records.join("\n").as_bytes(), |path| sources(path, false)), expected);
    assert_eq!(the_same("in.json", format!("[{}]", records.join(",")).as_bytes(), |path| sources(path, true)), expected);
}

/// Text that is none, whatever the file declares; digits beyond the contract's; numbers that do not fit.
#[test]
fn parquet() {
    let schema = "message m { optional binary s (UTF8); optional binary b; required binary r (UTF8); optional int64 u (UINT_64); optional int64 n; }";
    let schema = ::parquet::schema::parser::parse_message_type(schema).unwrap();
    let mut writer = ::parquet::file::writer::SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let good = [b"a".as_slice(); 4];
    for (at, optional) in [(1, true), (2, true), (3, false)] {
        let mut values = good;
        values[at] = b"\xff\xfe";
        let values: Vec<::parquet::data_type::ByteArray> = values.iter().map(|v| v.to_vec().into()).collect();
        let mut column = group.next_column().unwrap().unwrap();
        let levels = optional.then_some([1_i16; 4].as_slice());
        column.typed::<::parquet::data_type::ByteArrayType>().write_batch(&values, levels, None).unwrap();
        column.close().unwrap();
    }
    for numbers in [[-1, 1, 2, 3], [1, 2, 3, 4]] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<::parquet::data_type::Int64Type>().write_batch(&numbers, Some(&[1; 4]), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    let bytes = writer.into_inner().unwrap();
    let texts = ["s", "b", "r"].map(|name| column(name, DataType::String));
    let numbers = ["u", "n"].map(|name| column(name, DataType::Int64));
    let found = the_same_whatever_is_wanted("in.parquet", &bytes, Format::Parquet, [texts.to_vec(), numbers.to_vec()].concat());
    assert_eq!(found, codes(&[(1, "u.type"), (2, "s.type"), (3, "b.type"), (4, "r.type")]));
}

#[test]
fn arrow() {
    let bytes = || Arc::new(BinaryArray::from(vec![Some(b"ok".as_slice()), Some(b"\xff"), None])) as ArrayRef;
    let keyed = DictionaryArray::<Int64Type>::new(vec![1, 0, 1].into(), Arc::new(BinaryArray::from(vec![b"\xff".as_slice(), b"ok"])));
    let amounts = Decimal128Array::from(vec![100_000, 1, 1]).with_precision_and_scale(9, 2).unwrap();
    let floats = Float64Array::from(vec![1.0, 2.0, f64::NAN]);
    let fields = [("s", A::Binary), ("k", keyed.data_type().clone()), ("m", amounts.data_type().clone()), ("f", A::Float64)];
    let schema = ArrowSchema::new(fields.into_iter().map(|(name, found)| Field::new(name, found, true)).collect::<Vec<_>>());
    let batch = RecordBatch::try_new(Arc::new(schema), vec![bytes(), Arc::new(keyed), Arc::new(amounts), Arc::new(floats)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let written = writer.into_inner().unwrap();
    let columns = vec![column("s", DataType::String), column("k", DataType::String), column("m", money()), column("f", DataType::Float64)];
    let found = the_same_whatever_is_wanted("in.arrow", &written, Format::Arrow, columns);
    assert_eq!(found, codes(&[(1, "m.type"), (2, "s.type+k.type"), (3, "f.type")]));
}

/// By hand, for the library's writer writes no text that is none.
#[test]
fn avro() {
    let fields = r#"{"name":"s","type":"string"},{"name":"m","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},{"name":"o","type":{"type":"record","name":"o","fields":[{"name":"s","type":"string"}]}}"#;
    let schema = format!(r#"{{"type":"record","name":"tx","fields":[{fields}]}}"#);
    // Lengths in zigzag.
    let text = |value: &[u8]| [crate::read::tests::avro::long(value.len() as i64), value.to_vec()].concat();
    let head = [b"Obj\x01".to_vec(), crate::read::tests::avro::long(1), text(b"avro.schema"), text(schema.as_bytes()), vec![0]].concat();
    let row = |s: &[u8], m: &[u8], o: &[u8]| [text(s), text(m), text(o)].concat();
    let rows = [row(b"a", &[1], b"a"), row(b"\xff", &[1], b"a"), row(b"a", &[1, 0x86, 0xa0], b"a"), row(b"a", &[1], b"\xff")].concat();
    let sync = [7; 16];
    let bytes = [head, sync.to_vec(), crate::read::tests::avro::long(4), text(&rows), sync.to_vec()].concat();
    let mut inner = column("o.s", DataType::String);
    inner.path = vec!["o".into(), "s".into()];
    let columns = vec![column("s", DataType::String), column("m", money()), inner];
    assert_eq!(the_same_whatever_is_wanted("in.avro", &bytes, Format::Avro, columns), codes(&[(2, "s.type"), (3, "m.type"), (4, "o.s.type")]));
}
