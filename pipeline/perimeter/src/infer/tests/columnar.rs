//! Parquet, Arrow and Avro: the files say what their columns are.
use super::*;
use arrow::array::*;
use arrow::datatypes::{DataType as A, Field, Float64Type, Int32Type};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

fn nullable(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn batch() -> RecordBatch {
    let address = StructArray::from(vec![(Arc::new(Field::new("zip", A::Utf8, true)), Arc::new(StringArray::from(vec!["01", "02", "03"])) as ArrayRef)]);
    nullable(vec![
        ("cpf", Arc::new(StringArray::from(vec!["39053344705", "52998224725", "11144477735"])) as ArrayRef),
        ("count", Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]))),
        ("total", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("rate", Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5]))),
        ("amount", Arc::new(Decimal128Array::from(vec![150, 250, 350]).with_precision_and_scale(12, 2).unwrap())),
        ("on", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ("day", Arc::new(Date32Array::from(vec![20_000, 20_001, 20_002]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 3]).with_timezone("UTC"))),
        ("local", Arc::new(TimestampMillisecondArray::from(vec![1, 2, 3]))),
        ("address", Arc::new(address)),
        ("rates", Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(vec![Some(vec![Some(1.0), None]), Some(vec![]), None]))),
        ("kind", Arc::new(vec!["a", "b", "a"].into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("blob", Arc::new(BinaryArray::from(vec![b"x".as_slice(), b"y", b"z"]))),
    ])
}

const TYPES: [&str; 13] = [
    "cpf: string!",
    "count: int",
    "total: bigint!",
    "rate: double!",
    "amount: decimal(12,2)!",
    "on: boolean!",
    "day: date iso!",
    "at: timestamp iso utc!",
    "local: timestamp iso local!",
    "address.zip: string!",
    "rates: [double]",
    "kind: string!",
    "blob: string!",
];

fn written(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn parquet_and_arrow_say_their_types() {
    // What a file is, its bytes say.
    for (name, bytes, format) in [
        ("in.parquet", written(&batch()), "parquet"),
        ("in", written(&batch()), "parquet"),
        ("in.arrow", file(&batch()), "arrow"),
        ("in.arrows", stream(&batch()), "arrow"),
    ] {
        let proposal = Bench::new().accepted(name, bytes);
        assert_eq!(columns(&proposal), TYPES, "{name}");
        assert!(proposal.source_line.contains(&format!("format: {format},")), "{}", proposal.source_line);
        assert!(proposal.yaml.contains("# decide: the file has bytes here, which are read as UTF-8"));
    }
}

#[test]
fn files_without_rows() {
    let empty = batch().slice(0, 0);
    for (name, bytes) in [("in.parquet", written(&empty)), ("in.arrow", file(&empty)), ("in.arrows", stream(&empty))] {
        let proposal = Bench::new().accepted(name, bytes);
        let optional: Vec<String> = TYPES.iter().map(|said| said.trim_end_matches('!').to_owned()).collect();
        assert_eq!((columns(&proposal), proposal.rows), (optional, 0), "{name}");
    }
}

#[test]
fn what_no_contract_can_say_is_named_and_not_read() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)])]);
    let item = Arc::new(Field::new_list_field(lists.data_type().clone(), true));
    let grid = ListArray::new(item, arrow::buffer::OffsetBuffer::from_lengths([1]), Arc::new(lists), None);
    let batch = nullable(vec![("a", Arc::new(Int64Array::from(vec![1])) as ArrayRef), ("grid", Arc::new(grid)), ("nil", Arc::new(NullArray::new(1)))]);
    let proposal = Bench::new().accepted("in.arrow", file(&batch));
    assert_eq!(columns(&proposal), ["a: bigint!"]);
    assert!(proposal.yaml.contains("what they are: grid, nil\n"), "{}", proposal.yaml);
    assert!(proposal.source_line.contains("drift: allowAdded"), "{}", proposal.source_line);
}

#[test]
fn files_with_other_columns_are_refused() {
    let one = nullable(vec![("a", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    let others: [(&str, RecordBatch); 3] = [
        ("`a`", nullable(vec![("b", Arc::new(Int64Array::from(vec![1])) as ArrayRef)])),
        ("`a`", nullable(vec![("a", Arc::new(StringArray::from(vec!["x"])) as ArrayRef)])),
        ("`b`", nullable(vec![("a", Arc::new(Int64Array::from(vec![1])) as ArrayRef), ("b", Arc::new(Int64Array::from(vec![1])))])),
    ];
    for (said, other) in others {
        let bench = Bench::new();
        let (one, two) = (bench.write("one.parquet", written(&one)), bench.write("two.parquet", written(&other)));
        let (code, exit, message) = refusal(propose(&bench.stores, &asked(&[&one, &two])));
        assert_eq!((code.as_str(), exit), ("different-columns", 2), "{message}");
        assert!(message.contains("one.parquet") && message.contains("two.parquet") && message.contains(said), "{message}");
    }
}

#[test]
fn damaged_files_are_refused_by_name() {
    let bytes = written(&batch());
    let bench = Bench::new();
    for (name, bytes) in [("in.parquet", &bytes[..bytes.len() - 40]), ("in.parquet", b"PAR1 and nothing else"), ("in.arrow", b"ARROW1\0\0 no")] {
        let path = bench.write(name, bytes);
        let (_, exit, message) = refusal(bench.infer(&path));
        assert!((exit == 1 || exit == 2) && message.contains(name), "{exit} {message}");
    }
}

/// Avro by hand: zigzag numbers, texts with their length in front.
fn long(number: i64) -> Vec<u8> {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut out = Vec::new();
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

fn text(value: &[u8]) -> Vec<u8> {
    [long(value.len() as i64), value.to_vec()].concat()
}

#[test]
fn avro_says_its_types() {
    let schema = r#"{"type":"record","name":"tx","fields":[{"name":"id","type":"long"},{"name":"name","type":["null","string"]},
        {"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"kind","type":{"type":"enum","name":"k","symbols":["A","B"]}},
        {"name":"holder","type":{"type":"record","name":"h","fields":[{"name":"zip","type":"string"}]}},{"name":"tags","type":{"type":"array","items":"string"}}]}"#;
    let record = |id: i64, name: Option<&str>, tag: &str| {
        let name = name.map_or_else(|| long(0), |name| [long(1), text(name.as_bytes())].concat());
        [long(id), name, long(20_000), long(1), text(b"01310"), long(1), text(tag.as_bytes()), long(0)].concat()
    };
    let records = [record(1, Some("x"), "t"), record(2, None, "u")].concat();
    let sync = *b"0123456789abcdef";
    let meta = [long(2), text(b"avro.codec"), text(b"null"), text(b"avro.schema"), text(schema.as_bytes()), long(0)].concat();
    let bytes = [b"Obj\x01".to_vec(), meta, sync.to_vec(), long(2), long(records.len() as i64), records, sync.to_vec()].concat();
    let proposal = Bench::new().accepted("in.avro", bytes);
    assert_eq!(columns(&proposal), ["id: bigint!", "name: string", "day: date iso!", "kind: string!", "holder.zip: string!", "tags: [string]!"]);
    assert!(proposal.source_line.contains("format: avro,"), "{}", proposal.source_line);
}
