use super::*;
use ::arrow::array::*;
use ::arrow::datatypes::{DataType as A, Field, Int32Type, Schema as ArrowSchema, TimeUnit};
use ::parquet::arrow::ArrowWriter;
use ::parquet::file::properties::WriterProperties;
use perimeter_contract::schema::{CheckDigit, DateFormat, Decimal, Zone};
use std::sync::Arc;

pub(super) fn written(columns: Vec<(&str, ArrayRef)>, group_rows: usize) -> Vec<u8> {
    let fields: Vec<_> = columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns.into_iter().map(|(_, a)| a).collect()).unwrap();
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).set_data_page_row_count_limit(64).set_write_batch_size(16).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn read(columns: Vec<Column>, arrays: Vec<(&str, ArrayRef)>) -> Result<(Out, UnitTally)> {
    let bench = Bench::new();
    let path = bench.write("in.parquet", written(arrays, 1000));
    bench.read(&source(&path, Format::Parquet, columns))
}

fn timestamp(zone: Zone) -> DataType {
    DataType::Timestamp { format: DateFormat::iso_timestamp(), zone }
}

#[test]
fn rows_of_several_groups_with_rules() {
    let bench = Bench::new();
    let cpf: StringArray = (0..250).map(|i| Some(if i == 7 { "52998224726" } else { "52998224725" })).collect();
    let amount: Decimal128Array =
        Decimal128Array::from((0..250i128).map(|i| if i == 3 { None } else { Some(i) }).collect::<Vec<_>>()).with_precision_and_scale(18, 2).unwrap();
    let mcc: Int32Array = (0..250).collect();
    let path = bench.write("in.parquet", written(vec![("mcc", Arc::new(mcc)), ("cpf", Arc::new(cpf)), ("amount", Arc::new(amount))], 100));
    let mut amount = with_rule(column("amount", DataType::Decimal { precision: 18, scale: 2 }), Check::Minimum(Decimal { unscaled: 1, scale: 2 }));
    amount.required = true;
    let cpf = with_rule(column("cpf", DataType::String), Check::CheckDigit(CheckDigit::Cpf));
    let mcc = with_rule(column("mcc", DataType::Int64), Check::Maximum(Decimal { unscaled: 240, scale: 0 }));
    let source = source(&path, Format::Parquet, vec![cpf, amount, mcc]);
    let (out, tally) = bench.read_with(&source, &[2, 0], 33).unwrap();
    assert_eq!(out.rows.len(), 250 - 12);
    assert_eq!(out.rows[1], [Some("2".to_owned()), Some("52998224725".to_owned())]);
    let codes: Vec<_> = out.codes().into_iter().map(|(n, c)| format!("{n} {c}")).collect();
    assert_eq!(codes[..3], ["1 amount.minimum", "4 amount.required", "8 cpf.check-digit"]);
    assert_eq!(codes.last().unwrap(), "250 mcc.maximum");
    assert_eq!((tally.rows_read, tally.rejections["tx.mcc.maximum"]), (250, 9));
    // The raw record has what was decoded, wherever it stands in the file.
    let raw: serde_json::Value = serde_json::from_slice(&out.rejected[1].2).unwrap();
    assert_eq!((raw["mcc"].as_i64(), raw["amount"].is_null(), raw["cpf"].as_str()), (Some(3), true, Some("52998224725")));
    // Any batch size, any projection: the same rejects.
    for (projection, batch_rows) in [(vec![], 8192), (vec![1], 1), (vec![0, 1, 2], 7)] {
        let (other, other_tally) = bench.read_with(&source, &projection, batch_rows).unwrap();
        assert_eq!((other.codes(), other_tally.rejections), (out.codes(), tally.rejections.clone()));
    }
}

/// Columns of most types that files have.
pub(super) fn every_type() -> (Vec<(&'static str, ArrayRef)>, Vec<Vec<&'static str>>) {
    let arrays: Vec<(&'static str, ArrayRef)> = vec![
        ("i8", Arc::new(Int8Array::from(vec![Some(-1), None]))),
        ("u32", Arc::new(UInt32Array::from(vec![u32::MAX, 0]))),
        ("i32", Arc::new(Int32Array::from(vec![i32::MIN, 7]))),
        ("f32", Arc::new(Float32Array::from(vec![0.5, -2.0]))),
        ("day", Arc::new(Date32Array::from(vec![0, 19_782]))),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![1_577_836_800_000, -1]))),
        ("us", Arc::new(TimestampMicrosecondArray::from(vec![1, 2]).with_timezone("America/Sao_Paulo"))),
        ("yes", Arc::new(BooleanArray::from(vec![true, false]))),
        ("dict", Arc::new(DictionaryArray::<Int32Type>::from_iter(["x", "y"]))),
        ("view", Arc::new(StringViewArray::from(vec!["a long enough string view", "é"]))),
        ("large", Arc::new(LargeStringArray::from(vec!["l", ""]))),
        ("narrow", Arc::new(Decimal128Array::from(vec![123, -5]).with_precision_and_scale(5, 2).unwrap())),
        ("clock", Arc::new(Time32MillisecondArray::from(vec![Some(86_399_999), None]))),
        ("fine", Arc::new(Time64MicrosecondArray::from(vec![0, 1]))),
        (
            "wide",
            Arc::new(
                Decimal256Array::from(vec![::arrow::datatypes::i256::from_i128(-12_345), ::arrow::datatypes::i256::ONE])
                    .with_precision_and_scale(40, 2)
                    .unwrap(),
            ),
        ),
    ];
    let cells = vec![
        vec![
            "-1",
            "4294967295",
            "-2147483648",
            "0.5",
            "1970-01-01",
            "2020-01-01T00:00:00",
            "1970-01-01T00:00:00.000001Z",
            "true",
            "x",
            "a long enough string view",
            "l",
            "1.23",
            "23:59:59.999",
            "00:00:00",
            "-123.45",
        ],
        vec![
            "∅",
            "0",
            "7",
            "-2.0",
            "2024-02-29",
            "1969-12-31T23:59:59.999",
            "1970-01-01T00:00:00.000002Z",
            "false",
            "y",
            "é",
            "",
            "-0.05",
            "∅",
            "00:00:00.000001",
            "0.01",
        ],
    ];
    (arrays, cells)
}

pub(super) fn every_type_columns() -> Vec<Column> {
    let utc = || timestamp(Zone::Utc { default: None });
    let time = || DataType::Time { format: DateFormat::iso_date() };
    vec![
        column("i8", DataType::Int32),
        column("u32", DataType::Int64),
        column("i32", DataType::Int64),
        column("f32", DataType::Float64),
        column("day", DataType::Date { format: DateFormat::iso_date() }),
        column("ms", timestamp(Zone::None)),
        column("us", utc()),
        column("yes", DataType::Boolean),
        column("dict", DataType::String),
        column("view", DataType::String),
        column("large", DataType::String),
        column("narrow", DataType::Decimal { precision: 18, scale: 2 }),
        column("clock", time()),
        column("fine", time()),
        column("wide", DataType::Decimal { precision: 18, scale: 2 }),
    ]
}

#[test]
fn types_come_over_exactly() {
    let (arrays, cells) = every_type();
    assert_eq!(read(every_type_columns(), arrays).unwrap().0.cells(), cells);
}

#[test]
fn values_that_are_none_of_the_type_cost_their_row() {
    let (out, _) = read(
        vec![
            column("ns", timestamp(Zone::None)),
            column("f", DataType::Float64),
            column("b", DataType::String),
            column("u", DataType::Int64),
            column("d", DataType::Decimal { precision: 3, scale: 1 }),
        ],
        vec![
            ("ns", Arc::new(TimestampNanosecondArray::from(vec![Some(1_000), Some(1_001), None, Some(-1_000), Some(0)]))),
            ("f", Arc::new(Float64Array::from(vec![Some(1.0), Some(1.0), None, Some(f64::NAN), Some(f64::INFINITY)]))),
            ("b", Arc::new(BinaryArray::from(vec![Some(b"\xc3\xa9".as_slice()), Some(b"b"), None, Some(b"\xff"), Some(b"")]))),
            ("u", Arc::new(UInt64Array::from(vec![Some(1), Some(2), None, Some(u64::MAX), Some(1 << 62)]))),
            ("d", Arc::new(Decimal128Array::from(vec![Some(999), Some(-999), None, Some(1000), Some(-1000)]).with_precision_and_scale(9, 1).unwrap())),
        ],
    )
    .unwrap();
    assert_eq!(out.cells(), [["1970-01-01T00:00:00.000001", "1.0", "é", "1", "99.9"], ["∅", "∅", "∅", "∅", "∅"]]);
    assert_eq!(out.codes(), [(2, "ns.type".into()), (4, "f.type+b.type+u.type+d.type".into()), (5, "f.type+d.type".into())]);
}

#[test]
fn other_types_are_refused_before_anything_is_read() {
    let us = |zone: Option<&str>| Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone_opt(zone.map(Arc::<str>::from))) as ArrayRef;
    let list = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])])) as ArrayRef;
    let cases: Vec<(DataType, ArrayRef)> = vec![
        (DataType::Int32, Arc::new(Int64Array::from(vec![1]))),
        (DataType::Int64, Arc::new(Float64Array::from(vec![1.0]))),
        (DataType::String, Arc::new(Int64Array::from(vec![1]))),
        (DataType::Int64, Arc::new(StringArray::from(vec!["1"]))),
        (DataType::Decimal { precision: 18, scale: 2 }, Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(18, 3).unwrap())),
        (DataType::Decimal { precision: 18, scale: 2 }, Arc::new(Float64Array::from(vec![1.0]))),
        (timestamp(Zone::None), us(Some("UTC"))),
        (timestamp(Zone::Utc { default: None }), us(None)),
        (DataType::Date { format: DateFormat::iso_date() }, us(None)),
        (DataType::Int32, list),
    ];
    for (wanted, array) in cases {
        let (code, exit, message) = refusal(read(vec![column("c", wanted.clone())], vec![("c", array)]));
        assert_eq!((code, exit), ("column-type-mismatch", 2), "{wanted:?}");
        assert!(message.contains("in.parquet: column `c`"), "{message}");
    }
}

/// B27: pandas wrote milliseconds and an Arrow schema that says nanoseconds.
#[test]
fn an_embedded_arrow_schema_is_not_believed() {
    // Nanoseconds in the Arrow schema, milliseconds in the column.
    let fields = Arc::new(ArrowSchema::new(vec![Field::new("t", A::Timestamp(TimeUnit::Millisecond, None), true)]));
    let batch = RecordBatch::try_new(fields, vec![Arc::new(TimestampMillisecondArray::from(vec![1_577_836_800_000, 1_577_840_400_000]))]).unwrap();
    let lie = ArrowSchema::new(vec![Field::new("t", A::Timestamp(TimeUnit::Nanosecond, None), true)]);
    let mut properties = WriterProperties::builder().build();
    ::parquet::arrow::add_encoded_arrow_schema_to_metadata(&lie, &mut properties);
    let options = ::parquet::arrow::arrow_writer::ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    let bench = Bench::new();
    let path = bench.write("in.parquet", writer.into_inner().unwrap());
    let (out, _) = bench.read(&source(&path, Format::Parquet, vec![column("t", timestamp(Zone::None))])).unwrap();
    assert_eq!(out.cells(), [["2020-01-01T00:00:00"], ["2020-01-01T01:00:00"]]);
}

#[test]
fn columns_that_nobody_looks_at_may_be_anything_but_must_be_known() {
    let arrays = || -> Vec<(&str, ArrayRef)> { vec![("a", Arc::new(Int32Array::from(vec![1, 2]))), ("b", Arc::new(StringArray::from(vec!["x", "y"])))] };
    let both = || vec![column("a", DataType::Int32), column("b", DataType::String)];
    assert_eq!(read(both(), arrays()).unwrap().0.cells(), [["1", "x"], ["2", "y"]]);
    assert_eq!(refusal(read(vec![column("a", DataType::Int32)], arrays())).0, "unknown-column");
    let (code, exit, message) = refusal(read([both(), vec![column("c", DataType::String)]].concat(), arrays()));
    assert_eq!((code, exit), ("missing-column", 2));
    assert!(message.contains("`c`"));
    let twice: Vec<(&str, ArrayRef)> = vec![("a", Arc::new(Int32Array::from(vec![1]))), ("a", Arc::new(Int32Array::from(vec![1])))];
    assert_eq!(refusal(read(vec![column("a", DataType::Int32)], twice)).0, "duplicate-column");
}

#[test]
fn a_file_without_rows_is_a_file() {
    let none: Vec<(&str, ArrayRef)> = vec![("a", Arc::new(Int32Array::from(Vec::<i32>::new())))];
    let (out, tally) = read(vec![column("a", DataType::Int32)], none).unwrap();
    assert_eq!((out.rows.len(), tally.rows_read), (0, 0));
}

/// B30, and all of the kind: damage anywhere is an error that names the file. The file of the report itself is in [`super::columnar_suites`].
#[test]
fn a_damaged_file_is_damaged_wherever_it_is() {
    let bench = Bench::new();
    let text: StringArray = (0..300).map(|i| Some(format!("value {i}"))).collect();
    let number: Int64Array = (0..300).collect();
    let bytes = written(vec![("t", Arc::new(text)), ("n", Arc::new(number))], 100);
    let path = bench.folder.path().join("in.parquet");
    let source = source(&path, Format::Parquet, vec![column("t", DataType::String), column("n", DataType::Int64)]);
    let whole = {
        bench.write("in.parquet", &bytes);
        bench.read(&source).unwrap()
    };
    // Cut anywhere.
    for end in (0..bytes.len()).step_by(37) {
        bench.write("in.parquet", &bytes[..end]);
        let (code, exit, message) = refusal(bench.read(&source));
        match end {
            0 => assert_eq!((code, exit), ("empty-file", 2)),
            1..4 => assert_eq!((code, exit), ("format-mismatch", 2)),
            _ => assert_eq!((code, exit), ("truncated-input", 1)),
        }
        assert!(message.contains("in.parquet"));
    }
    // A byte changed anywhere: an error, or rows, but never a crash, and never rows that are not counted.
    let mut damaged = 0;
    for at in (4..bytes.len()).step_by(5) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        bench.write("in.parquet", &bytes);
        match bench.read(&source) {
            Ok((out, _)) => assert_eq!(out.rows.len() + out.rejected.len(), whole.0.rows.len()),
            Err(Error::Failed(failure)) => {
                assert!(failure.message.contains("in.parquet") && failure.source.is_none(), "{failure:?}");
                damaged += 1;
            }
            Err(Error::Contract(_)) => panic!(),
        }
    }
    assert!(damaged > 10);
}

/// A column of 64-bit integers, one page, with a checksum, which the writer that we have cannot write: it is put into the page's header (Thrift compact protocol:
/// type, two sizes, checksum, the rest), and the footer says that the page is longer.
fn with_page_checksum(numbers: Int64Array) -> Vec<u8> {
    use ::parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
    let fields = Arc::new(ArrowSchema::new(vec![Field::new("n", A::Int64, false)]));
    let batch = RecordBatch::try_new(Arc::clone(&fields), vec![Arc::new(numbers)]).unwrap();
    let properties = WriterProperties::builder().set_dictionary_enabled(false).set_offset_index_disabled(true);
    let properties = properties.set_statistics_enabled(::parquet::file::properties::EnabledStatistics::None).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), fields, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.into_inner().unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(bytes.clone())).unwrap();
    let chunk = metadata.row_group(0).column(0);
    let start = usize::try_from(chunk.data_page_offset()).unwrap();
    let end = start + usize::try_from(chunk.compressed_size()).unwrap();
    let body = batch.num_rows() * 8;
    // Behind the type and the sizes: each is a field's byte and a number of bytes that have their high bit set but for the last.
    let mut at = start;
    for _ in 0..3 {
        at += 1;
        at += bytes[at..].iter().take_while(|b| **b & 0x80 > 0).count() + 1;
    }
    assert_eq!(bytes[at], 0x2c, "the field after the next, a structure");
    let mut crc = flate2::Crc::new();
    crc.update(&bytes[end - body..end]);
    let signed = i32::from_ne_bytes(crc.sum().to_ne_bytes());
    let mut zigzag = ((signed << 1) ^ (signed >> 31)).cast_unsigned();
    let mut field = vec![0x15];
    while zigzag >= 0x80 {
        field.push((zigzag & 0x7f) as u8 | 0x80);
        zigzag >>= 7;
    }
    field.extend([zigzag as u8, 0x1c]);
    let longer = i64::try_from(field.len() - 1).unwrap();
    let mut file = [&bytes[..at], &field, &bytes[at + 1..end]].concat();
    let longer = chunk.clone().into_builder().set_total_compressed_size(chunk.compressed_size() + longer).build().unwrap();
    let group = metadata.row_group(0).clone().into_builder().set_column_metadata(vec![longer]).build().unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    ParquetMetaDataWriter::new(&mut file, &metadata).finish().unwrap();
    file
}

/// Sibling of B30: damage that only a checksum shows.
#[test]
fn a_page_that_does_not_fit_its_checksum_is_refused() {
    let bench = Bench::new();
    let bytes = with_page_checksum((0..20).collect());
    let path = bench.write("in.parquet", &bytes);
    let source = source(&path, Format::Parquet, vec![column("n", DataType::Int64)]);
    assert_eq!(bench.read(&source).unwrap().0.rows.len(), 20);
    let values = bytes.windows(16).position(|w| w == [0u64.to_le_bytes(), 1u64.to_le_bytes()].concat()).unwrap();
    for bit in 0..20 * 64 {
        let mut bytes = bytes.clone();
        bytes[values + bit / 8] ^= 1 << (bit % 8);
        bench.write("in.parquet", bytes);
        let (code, exit, message) = refusal(bench.read(&source));
        assert_eq!((code, exit), ("corrupt-input", 1), "{bit}");
        assert!(message.contains("in.parquet is damaged") && message.contains("row group 1") && message.contains("checksum"), "{message}");
    }
}

#[test]
fn text_that_is_no_text_costs_its_row() {
    let bad: ArrayRef = Arc::new(BinaryArray::from(vec![Some(b"ok".as_slice()), Some(b"\xff\xfe"), None, Some(b"\xc3\xa9")]));
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
    let bytes = written(vec![("t", bad), ("n", number)], 10);
    // Declared as text: the same file with the annotation that a careless writer sets.
    let schema = ::parquet::schema::parser::parse_message_type("message m { optional binary t (UTF8); optional int32 n; }").unwrap();
    let mut writer = ::parquet::file::writer::SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column_writer = group.next_column().unwrap().unwrap();
    let values: Vec<::parquet::data_type::ByteArray> = [b"ok".as_slice(), b"\xff\xfe", b"\xc3\xa9"].iter().map(|v| v.to_vec().into()).collect();
    column_writer.typed::<::parquet::data_type::ByteArrayType>().write_batch(&values, Some(&[1, 1, 0, 1]), None).unwrap();
    column_writer.close().unwrap();
    let mut column_writer = group.next_column().unwrap().unwrap();
    column_writer.typed::<::parquet::data_type::Int32Type>().write_batch(&[1, 2, 3, 4], Some(&[1, 1, 1, 1]), None).unwrap();
    column_writer.close().unwrap();
    group.close().unwrap();
    let declared = writer.into_inner().unwrap();
    let bench = Bench::new();
    for bytes in [bytes, declared] {
        let path = bench.write("in.parquet", bytes);
        let (out, _) = bench.read(&source(&path, Format::Parquet, vec![column("t", DataType::String), column("n", DataType::Int32)])).unwrap();
        assert_eq!(out.cells(), [["ok", "1"], ["∅", "3"], ["é", "4"]]);
        assert_eq!(out.codes(), [(2, "t.type".into())]);
        assert_eq!(out.rejected[0].2, br#"{"t":"fffe","n":2}"#);
    }
}

/// Sibling of B27: what the two schemas of a file say about where a column stands.
#[test]
fn a_group_without_fields_moves_no_column() {
    let schema = ::parquet::schema::parser::parse_message_type("message m { required group e { } required int64 a; required int64 b; }").unwrap();
    let mut writer = ::parquet::file::writer::SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for value in [1, 2] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<::parquet::data_type::Int64Type>().write_batch(&[value], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    let bench = Bench::new();
    let path = bench.write("in.parquet", writer.into_inner().unwrap());
    let source = source(&path, Format::Parquet, vec![column("a", DataType::Int64), column("b", DataType::Int64)]);
    for (projection, cells) in [(vec![0, 1], vec!["1", "2"]), (vec![1], vec!["2"]), (vec![0], vec!["1"])] {
        assert_eq!(bench.read_with(&source, &projection, 10).unwrap().0.cells(), [cells]);
    }
}
