//! Faults that people have reported of other readers (`BUGREPORTS.md`, areas CSV, JSON, Parquet and Compression): which test holds for which, and their siblings in
//! the formats that the report is not about.
//!
//! | report | its own test | siblings, below or there |
//! |---|---|---|
//! | B02 a bad date takes its neighbour's value | `csv::a_bad_date_takes_nothing_from_its_neighbours` | all types, all text formats |
//! | B05, B06 a declared format is not used | `csv::typed_cells` | all text formats |
//! | B07 integers that are too long | `csv::b07_…` | all text formats; both sides of each bound |
//! | B11 a line longer than 2¹⁶ bytes | `csv::long_cells_and_records_that_are_too_long` | all text formats |
//! | B12 blank lines | `csv::blank_lines_are_no_records_whatever_the_delimiter` | all text formats |
//! | B13 byte order mark in the first name | `csv::a_byte_order_mark_is_no_part_of_the_first_name` | `text::byte_order_marks_agree_with_the_job_or_are_refused` |
//! | B14 a column twice | `bad_files::headers_that_do_not_fit_the_contract` | Arrow, Avro; `parquet::columns_that_…`, JSON keys: `json`, `json_nested` |
//! | B18 empty, null and `NULL` | `csv::quoted_and_bare_empty_and_null_markers_are_four_things` | all text formats |
//! | B20 offsets | `csv::b20_…` | all text formats |
//! | B21, B24 integers through floats | `json::numbers_keep_every_digit` | all text formats, lists |
//! | B25 the first record of an array | `json_nested::b25_…` | `json_array::an_array_is_its_lines` |
//! | B27 an Arrow schema that lies | `parquet::an_embedded_arrow_schema_is_not_believed` | `parquet::a_group_without_fields_moves_no_column` |
//! | B29 short validity buffers | `nested::b29_…` | there, all columnar formats |
//! | B30 a crash on a damaged file | `parquet::a_damaged_file_is_damaged_wherever_it_is` | `parquet::a_page_that_…`, `arrow::damage_…`, `avro::damage_…`, `columnar_suites` |
//! | B31 only the first gzip member | `bad_files::compressed_files_are_read_to_their_very_end` | `bad_files::streams_of_every_kind_follow_each_other`; all text formats |
use super::*;
use perimeter_contract::job::{FixedField, FixedWidthOptions, Trim};
use perimeter_contract::schema::{DateFormat, Zone};
use std::io::Write;
use std::sync::Arc;

/// One column in each text format: name, what a file of these cells looks like, and how it is read.
fn formats(cells: &[&str], text: &TextOptions) -> Vec<(&'static str, String, Format)> {
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(1);
    let field = FixedField { offset: 0, width: u32::try_from(width).unwrap(), implied_decimals: None, trim: Trim::Both };
    let fixed =
        FixedWidthOptions { record_length: u32::try_from(width).unwrap(), line_ends: true, fields: vec![field], record_types: None, text: text.clone() };
    let objects: Vec<String> = cells.iter().map(|cell| serde_json::json!({"c": cell}).to_string()).collect();
    let mut formats = vec![
        (
            "in.csv",
            format!("c\n{}\n", cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect::<Vec<_>>().join("\n")),
            Format::Csv(CsvOptions { text: text.clone(), ..csv_options() }),
        ),
        ("in.ndjson", objects.join("\n"), Format::Json(JsonOptions { array: false, text: text.clone() })),
        ("in.json", format!("[{}]", objects.join(",\n")), Format::Json(JsonOptions { array: true, text: text.clone() })),
    ];
    // Longer ones are refused when the job is planned.
    if width <= 20_000 {
        let lines = cells.iter().map(|cell| format!("{cell}{}\n", " ".repeat(width - cell.chars().count()))).collect();
        formats.push(("in.txt", lines, Format::FixedWidth(fixed)));
    }
    formats
}

/// Cells, and the records that are rejected as of another type.
fn read_as(data_type: &DataType, cells: &[&str]) -> Vec<(&'static str, Vec<String>, Vec<u64>)> {
    let bench = Bench::new();
    let mut found = Vec::new();
    for (name, file, format) in formats(cells, &TextOptions::default()) {
        let path = bench.write(name, file);
        let (out, _) = bench.read(&source(&path, format, vec![column("c", data_type.clone())])).unwrap();
        assert!(out.codes().iter().all(|(_, code)| code == "c.type"), "{name} {:?}", out.codes());
        found.push((name, out.cells().concat().into_iter().map(str::to_owned).collect(), out.rejected.iter().map(|(number, ..)| *number).collect()));
    }
    found
}

fn timestamp(default: Option<chrono_tz::Tz>) -> DataType {
    DataType::Timestamp { format: DateFormat::iso_timestamp(), zone: Zone::Utc { default } }
}

/// B02, B05, B06, B07, B20, B21, B24: in every text format a cell is what its type says, or costs its own row.
#[test]
fn a_cell_is_its_types_or_costs_its_row_in_every_format() {
    let formatted = |pattern: &str| DateFormat::new(pattern).unwrap();
    // A type, its cells, and what they become; `None`: the record is rejected.
    type Case<'a> = (DataType, &'a [(&'a str, Option<&'a str>)]);
    let cases: [Case<'_>; 10] = [
        (
            DataType::Date { format: formatted("MM/dd/yyyy") },
            &[("2024-03-08", None), ("03/10/2024", Some("2024-03-10")), ("2024-03-11", None), ("02/29/2024", Some("2024-02-29")), ("02/29/2023", None)],
        ),
        (
            DataType::Date { format: formatted("dd-MMM-yyyy") },
            &[("31-OCT-2023", Some("2023-10-31")), ("31-XXX-2023", None), ("01-nov-2023", Some("2023-11-01"))],
        ),
        (
            DataType::Timestamp { format: formatted("M/d/yyyy, h:mm a"), zone: Zone::None },
            &[("1/2/2023, 12:33 PM", Some("2023-01-02T12:33:00")), ("13/2/2023, 12:33 PM", None), ("1/2/2023, 12:33 AM", Some("2023-01-02T00:33:00"))],
        ),
        (
            timestamp(None),
            &[
                ("2023-03-10T10:00:00-03:00", Some("2023-03-10T13:00:00Z")),
                ("2023-03-10T10:00:00", None),
                ("2023-03-10T13:00:00Z", Some("2023-03-10T13:00:00Z")),
            ],
        ),
        (
            timestamp(Some(chrono_tz::America::Sao_Paulo)),
            &[("2023-03-10T10:00:00", Some("2023-03-10T13:00:00Z")), ("2023-03-10", None), ("2023-03-10T10:00:00+00", Some("2023-03-10T10:00:00Z"))],
        ),
        (
            DataType::Int32,
            &[("2147483647", Some("2147483647")), ("2147483648", None), ("-2147483648", Some("-2147483648")), ("-2147483649", None), ("1.0", None)],
        ),
        (
            DataType::Int64,
            &[
                ("9223372036854775807", Some("9223372036854775807")),
                ("9223372036854775808", None),
                ("-9223372036854775808", Some("-9223372036854775808")),
                ("1627668684594000000", Some("1627668684594000000")),
                ("9007199254740993", Some("9007199254740993")),
            ],
        ),
        (
            DataType::Decimal { precision: 38, scale: 0 },
            &[
                ("99999999999999999999999999999999999999", Some("99999999999999999999999999999999999999")),
                ("100000000000000000000000000000000000000", None),
                ("9007199254740993", Some("9007199254740993")),
            ],
        ),
        (DataType::Decimal { precision: 6, scale: 2 }, &[("9999.99", Some("9999.99")), ("10000.00", None), ("0.01", Some("0.01")), ("0.001", None)]),
        (DataType::Boolean, &[("true", Some("true")), ("maybe", None), ("false", Some("false"))]),
    ];
    for (data_type, cells) in cases {
        let written: Vec<&str> = cells.iter().map(|(cell, _)| *cell).collect();
        let rows: Vec<&str> = cells.iter().filter_map(|(_, row)| *row).collect();
        let rejected: Vec<u64> = (1..).zip(cells).filter(|(_, (_, row))| row.is_none()).map(|(number, _)| number).collect();
        for (name, found, numbers) in read_as(&data_type, &written) {
            // A JSON string is no boolean: it has its own.
            if data_type == DataType::Boolean && name.ends_with("json") {
                continue;
            }
            assert_eq!((found.iter().map(String::as_str).collect::<Vec<_>>(), &numbers), (rows.clone(), &rejected), "{name} {data_type:?}");
        }
    }
}

/// B21, B24: JSON's own numbers, alone and in lists, keep every digit.
#[test]
fn json_numbers_do_not_go_through_floats() {
    let bench = Bench::new();
    let text = "{\"i\":9007199254740993,\"d\":9007199254740993,\"l\":[9007199254740993,0.1000000000000000055511151231257827]}\n";
    let path = bench.write("in.json", text);
    let exact = DataType::Decimal { precision: 38, scale: 18 };
    let columns = vec![
        column("i", DataType::Int64),
        column("d", DataType::Decimal { precision: 20, scale: 0 }),
        Column { list_at: Some(1), ..column("l", DataType::List(Box::new(exact))) },
    ];
    // What has more digits than the type costs its row, and is not rounded.
    assert_eq!(bench.read(&json_source(&path, columns.clone())).unwrap().0.codes(), [(1, "l.type".into())]);
    bench.write("in.json", text.replace("0055511151231257827", "1"));
    let (out, _) = bench.read(&json_source(&path, columns)).unwrap();
    assert_eq!(out.cells(), [["9007199254740993", "9007199254740993", "[9007199254740993.000000000000000000, 0.100000000000000100]"]]);
}

/// B11: records of 70,000 bytes, between others.
#[test]
fn long_records_in_every_format() {
    let long = "x".repeat(70_000);
    for (name, found, rejected) in read_as(&DataType::String, &["a", &long, "b"]) {
        assert_eq!((found, rejected), (vec!["a".to_owned(), long.clone(), "b".to_owned()], vec![]), "{name}");
    }
    let bench = Bench::new();
    for format in [Format::Json(JsonOptions::default()), formats(&["x"], &TextOptions::default()).pop().unwrap().2] {
        let path = bench.write("in.txt", format!("{long}\n"));
        let (out, _) = bench.read(&source(&path, format, vec![column("c", DataType::String)])).unwrap();
        assert_eq!((out.rows.len(), out.rejected.len()), (0, 1));
    }
}

/// B12: blank lines before, between and behind records, with each line end.
#[test]
fn blank_lines_in_every_format() {
    let bench = Bench::new();
    for (name, file, format) in formats(&["1", "2"], &TextOptions::default()) {
        for end in ["\n", "\r\n"] {
            let path = bench.write(name, format!("{end}{}{end}{end}", file.replace('\n', &format!("{end}{end}"))));
            let (out, tally) = bench.read(&source(&path, format.clone(), vec![column("c", DataType::Int32)])).unwrap();
            assert_eq!((out.cells(), tally.rows_read), (vec![vec!["1"], vec!["2"]], 2), "{name} {end:?}");
        }
    }
}

/// B14: two columns of one name, in formats that keep names.
#[test]
fn a_column_twice_is_refused_in_every_format() {
    use ::arrow::array::{ArrayRef, Int32Array};
    use ::arrow::datatypes::{DataType as A, Field, Schema as ArrowSchema};
    let bench = Bench::new();
    let fields = Arc::new(ArrowSchema::new(vec![Field::new("id", A::Int32, true), Field::new("id", A::Int32, true)]));
    let arrays: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![2]))];
    let batch = RecordBatch::try_new(Arc::clone(&fields), arrays).unwrap();
    let mut file = ::arrow::ipc::writer::FileWriter::try_new(Vec::new(), &fields).unwrap();
    file.write(&batch).unwrap();
    let mut stream = ::arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &fields).unwrap();
    stream.write(&batch).unwrap();
    for (name, bytes) in [("in.arrow", file.into_inner().unwrap()), ("in.arrows", stream.into_inner().unwrap())] {
        let path = bench.write(name, bytes);
        let (code, exit, message) = refusal(bench.read(&source(&path, Format::Arrow, vec![column("id", DataType::Int32)])));
        assert_eq!((code, exit), ("duplicate-column", 2), "{message}");
        assert!(message.contains(name) && message.contains("`id`"), "{message}");
    }
    // An Avro schema with a field twice is none.
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"id","type":"int"},{"name":"id","type":"int"}]}"#;
    let text =
        |text: &str| [&[u8::try_from((text.len() * 2) & 0x7f).unwrap() | 0x80, u8::try_from((text.len() * 2) >> 7).unwrap()][..], text.as_bytes()].concat();
    let bytes = [b"Obj\x01\x02".to_vec(), text("avro.schema"), text(schema), vec![0], vec![7; 16]].concat();
    let path = bench.write("in.avro", bytes);
    let (_, exit, message) = refusal(bench.read(&source(&path, Format::Avro, vec![column("id", DataType::Int32)])));
    assert!(exit == 2 || exit == 1, "{message}");
    assert!(message.contains("in.avro"), "{message}");
    // Names that are the same but for quotes or case.
    for (header, code) in [("id,\"id\"", "duplicate-column"), ("id,ID", "unknown-column")] {
        let path = bench.write("in.csv", format!("{header}\n1,2\n"));
        assert_eq!(refusal(bench.read(&csv_source(&path, &["id"]))).0, code, "{header}");
    }
}

/// B18: nothing, empty, the marker and a marker between quotes, in every text format.
#[test]
fn null_and_empty_in_every_format() {
    let bench = Bench::new();
    let text = TextOptions { null_markers: vec!["NULL".into()], ..TextOptions::default() };
    let files = [
        ("in.csv", "c\n\"\"\n\"NULL\"\nNULL\n", vec!["", "NULL", "∅"]),
        // Text in JSON is always between quotes: a marker is one there, and null has a word of its own.
        ("in.ndjson", "{\"c\":\"\"}\n{\"c\":\"NULL\"}\n{\"c\":null}\n{}\n", vec!["", "∅", "∅", "∅"]),
        ("in.json", "[{\"c\":\"\"},{\"c\":\"NULL\"},{\"c\":null},{}]", vec!["", "∅", "∅", "∅"]),
        ("in.txt", "    \nNULL\nNUL \n", vec!["∅", "∅", "NUL"]),
    ];
    for ((name, file, cells), (_, _, format)) in files.into_iter().zip(formats(&["NULL"], &text)) {
        let path = bench.write(name, file);
        let (out, _) = bench.read(&source(&path, format, vec![column("c", DataType::String)])).unwrap();
        assert_eq!(out.cells().concat(), cells, "{name}");
    }
}

/// B31: every member, in every text format, with a record that goes on in the next.
#[test]
fn all_members_in_every_format() {
    let bench = Bench::new();
    let member = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let cells = ["first", "second", "third"];
    for (name, file, format) in formats(&cells, &TextOptions::default()) {
        for cut in 0..file.len() {
            let path = bench.write(&format!("{name}.gz"), [member(&file.as_bytes()[..cut]), member(&file.as_bytes()[cut..])].concat());
            let (out, _) = bench.read(&source(&path, format.clone(), vec![column("c", DataType::String)])).unwrap();
            assert_eq!(out.cells().concat(), cells, "{name} {cut}");
        }
    }
}
