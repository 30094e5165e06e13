//! Objects and arrays of columnar files, as columns and lists.
use super::parquet::written;
use super::*;
use ::arrow::array::*;
use ::arrow::datatypes::{DataType as A, Field, Int32Type, Schema as ArrowSchema};
use ::arrow::ipc::writer::FileWriter;
use perimeter_contract::schema::RequiredObject;
use std::sync::Arc;

fn value(path: &[&str], data_type: DataType) -> Column {
    let mut column = column(&path.join("."), data_type);
    column.path = path.iter().map(|name| (*name).to_owned()).collect();
    column
}

fn list(path: &[&str], at: usize, item: DataType) -> Column {
    Column { list_at: Some(at), ..value(path, DataType::List(Box::new(item))) }
}

/// `customer {name, address {zip}}`, `tags [text]`, `parties [{cpf, share {of}}]`.
fn columns() -> Vec<Column> {
    vec![
        column("id", DataType::Int64),
        value(&["customer", "name"], DataType::String),
        value(&["customer", "address", "zip"], DataType::Int64),
        list(&["tags"], 1, DataType::String),
        list(&["parties", "cpf"], 1, DataType::String),
        list(&["parties", "share", "of"], 1, DataType::Int64),
    ]
}

fn field(name: &str, data_type: A) -> Field {
    Field::new(name, data_type, true)
}

fn rows(lines: &str) -> RecordBatch {
    let address = A::Struct(vec![field("zip", A::Int32)].into());
    let customer = A::Struct(vec![field("name", A::Utf8), field("address", address)].into());
    let share = A::Struct(vec![field("of", A::Int64)].into());
    let party = A::Struct(vec![field("cpf", A::Utf8), field("share", share)].into());
    let schema = ArrowSchema::new(vec![
        field("id", A::Int64),
        field("parties", A::List(Arc::new(field("item", party)))),
        field("customer", customer),
        field("tags", A::List(Arc::new(field("item", A::Utf8)))),
    ]);
    let mut reader = ::arrow::json::ReaderBuilder::new(Arc::new(schema)).build(std::io::Cursor::new(lines)).unwrap();
    reader.next().unwrap().unwrap()
}

const LINES: &str = r#"{"id":1,"customer":{"name":"Ana","address":{"zip":1000}},"tags":["a","b"],"parties":[{"cpf":"1","share":{"of":50}},{"cpf":null,"share":null}]}
{"id":2,"customer":{"name":"Bia","address":null},"tags":[],"parties":[]}
{"id":3,"customer":null,"tags":null,"parties":null}
{"id":4,"customer":{"name":null,"address":{"zip":null}},"tags":[null],"parties":[null,{"cpf":"2","share":{"of":null}}]}
"#;

/// The same rows as every columnar format has them.
fn files(batch: &RecordBatch) -> Vec<(&'static str, Format, Vec<u8>)> {
    let schema = batch.schema();
    let parquet = written(schema.fields().iter().zip(batch.columns()).map(|(f, c)| (f.name().as_str(), Arc::clone(c))).collect(), 3);
    let mut arrow = FileWriter::try_new(Vec::new(), &schema).unwrap();
    arrow.write(batch).unwrap();
    let avro = {
        let mut writer = arrow_avro::writer::AvroWriter::new(Vec::new(), schema.as_ref().clone()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        writer.into_inner()
    };
    vec![("in.parquet", Format::Parquet, parquet), ("in.arrow", Format::Arrow, arrow.into_inner().unwrap()), ("in.avro", Format::Avro, avro)]
}

#[test]
fn objects_become_columns_and_arrays_become_lists() {
    for (name, format, bytes) in files(&rows(LINES)) {
        let bench = Bench::new();
        let source = source(&bench.write(name, bytes), format, columns());
        for batch_rows in [1, 3, 8192] {
            let (out, _) = bench.read_with(&source, &[0, 1, 2, 3, 4, 5], batch_rows).unwrap();
            assert_eq!(
                out.cells(),
                [
                    ["1", "Ana", "1000", "[a, b]", "[1, ]", "[50, ]"],
                    ["2", "Bia", "∅", "[]", "[]", "[]"],
                    ["3", "∅", "∅", "∅", "∅", "∅"],
                    ["4", "∅", "∅", "[]", "[, 2]", "[, ]"],
                ],
                "{name}"
            );
        }
    }
}

#[test]
fn required_objects_and_values() {
    let object = |path: &[&str]| RequiredObject { path: path.iter().map(|name| (*name).to_owned()).collect(), span: Span::default() };
    for (name, format, bytes) in files(&rows(LINES)) {
        let bench = Bench::new();
        let mut source = source(&bench.write(name, bytes), format, columns());
        source.schema.columns[1].required = true;
        source.schema.required_objects = vec![object(&["customer", "address"]), object(&["parties"]), object(&["parties", "share"])];
        let (out, tally) = bench.read_with(&source, &[0], 2).unwrap();
        let expected = [
            (1, "parties.share.required"),
            (2, "customer.address.required"),
            (3, "customer.name.required+customer.address.required+parties.required+parties.share.required"),
            (4, "customer.name.required"),
        ];
        assert_eq!(out.codes(), expected.map(|(number, codes)| (number, codes.to_owned())), "{name}");
        assert_eq!(tally.rejections["tx.customer.address.required"], 2);
        // The record as it stands in the file, nested.
        let raw: serde_json::Value = serde_json::from_slice(&out.rejected[1].2).unwrap();
        assert_eq!(raw["customer"]["name"], "Bia");
    }
}

#[test]
fn a_value_of_a_list_that_is_none_of_its_type_costs_its_row() {
    let item = Arc::new(field("item", A::Float64));
    let floats = Float64Array::from(vec![Some(1.0), Some(f64::NAN), Some(f64::NAN), None, Some(2.0)]);
    let lists = ListArray::new(item, ::arrow::buffer::OffsetBuffer::from_lengths([1, 2, 0, 2]), Arc::new(floats), None);
    let batch = RecordBatch::try_from_iter_with_nullable([("f", Arc::new(lists) as ArrayRef, true)]).unwrap();
    for (name, format, bytes) in files(&batch) {
        let bench = Bench::new();
        let (out, _) = bench.read(&source(&bench.write(name, bytes), format, vec![list(&["f"], 1, DataType::Float64)])).unwrap();
        assert_eq!(out.cells().concat(), ["[1.0]", "[]", "[, 2.0]"], "{name}");
        assert_eq!(out.codes(), [(2, "f.type".to_owned())]);
    }
}

#[test]
fn every_kind_of_list_is_a_list() {
    let item = || Arc::new(field("item", A::Int32));
    let values = || Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])) as ArrayRef;
    let kinds: Vec<(ArrayRef, [&str; 2])> = vec![
        (Arc::new(LargeListArray::new(item(), ::arrow::buffer::OffsetBuffer::from_lengths([3, 1]), values(), None)), ["[1, , 3]", "[4]"]),
        (Arc::new(FixedSizeListArray::new(item(), 2, values(), Some(vec![false, true].into()))), ["∅", "[3, 4]"]),
        // Views may go back and share.
        (Arc::new(ListViewArray::new(item(), vec![2, 0].into(), vec![2, 3].into(), values(), None)), ["[3, 4]", "[1, , 3]"]),
        (Arc::new(LargeListViewArray::new(item(), vec![1i64, 1].into(), vec![1i64, 3].into(), values(), None)), ["[]", "[, 3, 4]"]),
    ];
    for (array, cells) in kinds {
        let batch = RecordBatch::try_from_iter_with_nullable([("n", array, true)]).unwrap();
        let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        let bench = Bench::new();
        let path = bench.write("in.arrow", writer.into_inner().unwrap());
        let (out, _) = bench.read(&source(&path, Format::Arrow, vec![list(&["n"], 1, DataType::Int64)])).unwrap();
        assert_eq!(out.cells().concat(), cells);
    }
}

#[test]
fn nested_drift_is_named_by_its_path() {
    let refused = |columns: Vec<Column>| {
        let mut all = Vec::new();
        for (name, format, bytes) in files(&rows(LINES)) {
            let bench = Bench::new();
            let error = bench.read(&source(&bench.write(name, bytes), format, columns.clone())).unwrap_err();
            let Error::Contract(diagnostics) = error else { panic!("{error}") };
            all.push(diagnostics.list.iter().map(|d| (d.code, d.message.split_once(": ").unwrap().1.to_owned())).collect::<Vec<_>>());
        }
        assert!(all.windows(2).all(|pair| pair[0].iter().map(|m| m.0).eq(pair[1].iter().map(|m| m.0))), "{all:?}");
        all.remove(0)
    };
    let without = |at: usize| columns().into_iter().enumerate().filter(|(index, _)| *index != at).map(|(_, c)| c).collect::<Vec<_>>();
    assert_eq!(
        refused(without(1)),
        [("unknown-column", "the contract does not have the column `customer.name`, field 1 of its object of the file".to_owned())]
    );
    assert_eq!(refused(without(5))[0].1, "the contract does not have the column `parties.share`, field 2 of its object of the file");
    let mut more = columns();
    more.push(value(&["customer", "address", "city"], DataType::String));
    assert_eq!(refused(more), [("missing-column", "the file lacks the column `customer.address.city` of the contract".to_owned())]);
    // An array where the contract has a value, a value where it has an array, an object where it has a value, a value where it has an object.
    for (at, wrong) in [
        (3, column("tags", DataType::String)),
        (0, list(&["id"], 1, DataType::Int64)),
        (2, value(&["customer", "address"], DataType::String)),
        (1, value(&["customer", "name", "first"], DataType::String)),
        (4, list(&["parties", "cpf"], 2, DataType::String)),
        (3, list(&["tags"], 1, DataType::Int64)),
    ] {
        let mut columns = columns();
        columns[at] = wrong;
        assert!(refused(columns.clone()).iter().any(|(code, _)| *code == "column-type-mismatch"), "{:?}", columns[at]);
    }
}

#[test]
fn what_is_nested_otherwise_is_refused() {
    let map = {
        let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        builder.keys().append_value("k");
        builder.values().append_value(1);
        builder.append(true).unwrap();
        Arc::new(builder.finish()) as ArrayRef
    };
    let lists = {
        let inner = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
        let item = Arc::new(field("item", inner.data_type().clone()));
        Arc::new(ListArray::new(item, ::arrow::buffer::OffsetBuffer::from_lengths([1]), Arc::new(inner), None)) as ArrayRef
    };
    for (array, what) in [(map, "a map"), (lists, "an array of an array of")] {
        let batch = RecordBatch::try_from_iter_with_nullable([("c", array, true)]).unwrap();
        for (name, format, bytes) in files(&batch) {
            for columns in [vec![column("c", DataType::String)], vec![list(&["c"], 1, DataType::Int32)]] {
                let bench = Bench::new();
                let (code, exit, message) = refusal(bench.read(&source(&bench.write(name, bytes.clone()), format.clone(), columns)));
                assert_eq!((code, exit), ("column-type-mismatch", 2));
                assert!(message.contains(what), "{message}");
            }
        }
    }
}

/// B29: a validity buffer shorter than the values made random values null.
#[test]
fn b29_nulls_of_objects_inside_lists_stay_where_they_are() {
    for length in [1usize, 7, 8, 9, 15, 16, 17, 63, 64, 65] {
        let valid: Vec<bool> = (0..length).map(|n| n % 3 != 1).collect();
        let x: Float64Array = (0..length).map(|n| (n % 4 != 2).then_some(n as f64)).collect();
        let objects = StructArray::new(vec![field("x", A::Float64)].into(), vec![Arc::new(x.clone())], Some(valid.clone().into()));
        let item = Arc::new(field("item", objects.data_type().clone()));
        let lists = ListArray::new(item, ::arrow::buffer::OffsetBuffer::from_lengths([0, length, 0]), Arc::new(objects), None);
        let batch = RecordBatch::try_from_iter_with_nullable([("l", Arc::new(lists) as ArrayRef, true)]).unwrap();
        let expected: Vec<String> = (0..length).map(|n| if valid[n] && x.is_valid(n) { format!("{:?}", x.value(n)) } else { String::new() }).collect();
        for (name, format, bytes) in files(&batch) {
            let bench = Bench::new();
            let (out, _) = bench.read(&source(&bench.write(name, bytes), format, vec![list(&["l", "x"], 1, DataType::Float64)])).unwrap();
            assert_eq!(out.cells().concat(), ["[]".to_owned(), format!("[{}]", expected.join(", ")), "[]".to_owned()], "{name} {length}");
        }
    }
}
