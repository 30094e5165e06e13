use super::parquet::{every_type, every_type_columns};
use super::*;
use ::arrow::array::*;
use ::arrow::datatypes::{DataType as A, Field, Int32Type, Schema as ArrowSchema};
use ::arrow::ipc::CompressionType;
use ::arrow::ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use std::sync::Arc;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

fn stream(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.into_inner().unwrap()
}

fn file(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.into_inner().unwrap()
}

fn both(batches: &[RecordBatch]) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = Vec::new();
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let options = || IpcWriteOptions::default().try_with_compression(codec).unwrap();
        all.push(("in.arrow", file(batches, options())));
        all.push(("in.arrows", stream(batches, options())));
    }
    all
}

fn read(bytes: &[u8], columns: Vec<Column>) -> Result<(Out, UnitTally)> {
    let bench = Bench::new();
    let path = bench.write("in.arrow", bytes);
    bench.read(&source(&path, Format::Arrow, columns))
}

#[test]
fn file_and_stream_give_the_same_rows_with_rules_and_numbers() {
    let part = |from: i64| batch(vec![("n", Arc::new(Int64Array::from_iter((from..from + 100).map(|n| (n != 105).then_some(n)))) as ArrayRef)]);
    let mut n = with_rule(column("n", DataType::Int64), Check::Maximum(perimeter_contract::schema::Decimal { unscaled: 197, scale: 0 }));
    n.required = true;
    for (name, bytes) in both(&[part(0), part(100)]) {
        let bench = Bench::new();
        let source = source(&bench.write(name, &bytes), Format::Arrow, vec![n.clone()]);
        let (out, tally) = bench.read_with(&source, &[0], 33).unwrap();
        assert_eq!(out.codes(), [(106, "n.required".into()), (199, "n.maximum".into()), (200, "n.maximum".into())], "{name}");
        assert_eq!((out.rows.len(), tally.rows_read), (197, 200));
        assert_eq!(out.rejected[1].2, br#"{"n":198}"#);
        assert!(tally.bytes_read > 100);
        let (all, other) = bench.read_with(&source, &[], 8192).unwrap();
        assert_eq!((all.codes(), other.rejections), (out.codes(), tally.rejections));
    }
}

#[test]
fn types_come_over_exactly() {
    let (arrays, cells) = every_type();
    for (name, bytes) in both(&[batch(arrays)]) {
        let (out, _) = read(&bytes, every_type_columns()).unwrap();
        assert_eq!(out.cells(), cells, "{name}");
    }
}

#[test]
fn layouts_say_nothing() {
    let long = "a text that is too long to stand in a view itself";
    let runs = RunArray::try_new(&Int32Array::from(vec![2, 3]), &StringArray::from(vec![Some("x"), None])).unwrap();
    let inside: DictionaryArray<Int32Type> =
        DictionaryArray::try_new(Int32Array::from(vec![Some(1), None, Some(0)]), Arc::new(StringViewArray::from(vec!["d", long]))).unwrap();
    let rows = batch(vec![
        ("run", Arc::new(runs)),
        ("dictionary", Arc::new(inside)),
        ("view", Arc::new(StringViewArray::from(vec![Some(long), None, Some("v")]))),
        ("binary", Arc::new(BinaryViewArray::from(vec![Some(b"b".as_slice()), None, Some(b"\xff")]))),
        ("large", Arc::new(LargeBinaryArray::from(vec![Some(b"l".as_slice()), None, Some(b"")]))),
        ("half", Arc::new(Float16Array::from(vec![half::f16::from_f32(0.5), half::f16::NAN, half::f16::from_f32(-1.0)]))),
    ]);
    let columns = || {
        let text = ["run", "dictionary", "view", "binary", "large"].map(|n| column(n, DataType::String));
        text.into_iter().chain([column("half", DataType::Float64)]).collect::<Vec<_>>()
    };
    for (name, bytes) in both(&[rows]) {
        let (out, _) = read(&bytes, columns()).unwrap();
        assert_eq!(out.cells(), [["x", long, long, "b", "l", "0.5"]], "{name}");
        assert_eq!(out.codes(), [(2, "half.type".into()), (3, "binary.type".into())]);
        assert_eq!(out.rejected[1].2, br#"{"run":null,"dictionary":"d","view":"v","binary":"ff","large":"","half":-1.0}"#);
    }
}

#[test]
fn dictionaries_grow_by_deltas_and_are_replaced() {
    let of = |words: Vec<&str>, keys: Vec<i32>| {
        let array: DictionaryArray<Int32Type> = DictionaryArray::try_new(Int32Array::from(keys), Arc::new(StringArray::from(words))).unwrap();
        batch(vec![("d", Arc::new(array) as ArrayRef)])
    };
    let growing = [of(vec!["a"], vec![0, 0]), of(vec!["a", "b"], vec![1, 0]), of(vec!["a", "b", "c"], vec![2, 1])];
    let delta = || IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    for bytes in [stream(&growing, delta()), file(&growing, delta())] {
        let (out, _) = read(&bytes, vec![column("d", DataType::String)]).unwrap();
        assert_eq!(out.cells().concat(), ["a", "a", "b", "a", "c", "b"]);
    }
    let replaced = [of(vec!["a"], vec![0]), of(vec!["z", "y"], vec![1])];
    let (out, _) = read(&stream(&replaced, IpcWriteOptions::default()), vec![column("d", DataType::String)]).unwrap();
    assert_eq!(out.cells().concat(), ["a", "y"]);
}

#[test]
fn a_cell_that_is_no_text_costs_its_row() {
    let bytes = BinaryArray::from(vec![Some(b"ok".as_slice()), Some(b"\xff\xfe"), None]);
    let schema = Arc::new(ArrowSchema::new(vec![Field::new("t", A::Binary, true)]));
    let written = stream(&[RecordBatch::try_new(schema, vec![Arc::new(bytes)]).unwrap()], IpcWriteOptions::default());
    let (out, _) = read(&written, vec![column("t", DataType::String)]).unwrap();
    assert_eq!((out.cells(), out.codes()), (vec![vec!["ok"], vec!["∅"]], vec![(2, "t.type".to_owned())]));
}

#[test]
fn every_cut_is_noticed() {
    let rows = |n: i64| batch(vec![("n", Arc::new(Int64Array::from_iter_values(0..n)) as ArrayRef)]);
    let batches = [rows(3), rows(2)];
    let columns = || vec![column("n", DataType::Int64)];
    for bytes in [stream(&batches, IpcWriteOptions::default()), file(&batches, IpcWriteOptions::default())] {
        assert_eq!(read(&bytes, columns()).unwrap().0.rows.len(), 5);
        for end in 1..bytes.len() {
            let (code, exit, message) = refusal(read(&bytes[..end], columns()));
            assert!(matches!(code, "truncated-input" | "corrupt-input" | "format-mismatch"), "{end} {code}");
            assert!(exit == 1 || code == "format-mismatch", "{end} {code}");
            assert!(message.contains("in.arrow"));
            assert!(end < 8 || exit == 1, "{end}");
        }
    }
    // What stands behind the end of a stream would not be read.
    let one = stream(&batches, IpcWriteOptions::default());
    let (code, exit, _) = refusal(read(&[one.as_slice(), &one].concat(), columns()));
    assert_eq!((code, exit), ("corrupt-input", 1));
    // The mark of the end is missing.
    let (code, exit, message) = refusal(read(&one[..one.len() - 8], columns()));
    assert_eq!((code, exit), ("truncated-input", 1));
    assert!(message.contains("mark of its end"), "{message}");
}

#[test]
fn damage_never_panics_and_never_reads_more_than_is_there() {
    let (arrays, _) = every_type();
    let written = [batch(arrays)];
    let bench = Bench::new();
    for (name, bytes) in both(&written) {
        // Every third byte, another one in each file.
        for at in (name.len() % 3..bytes.len()).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[at] ^= if at % 2 == 0 { 0xff } else { 0x01 };
            let path = bench.write(name, &damaged);
            if let Ok((out, tally)) = bench.read(&source(&path, Format::Arrow, every_type_columns())) {
                assert_eq!(tally.rows_read as usize, out.rows.len() + out.rejected.len());
                assert!(tally.rows_read <= 4, "{at}");
            }
        }
    }
}

#[test]
fn compressed_whole_a_stream_is_read_and_a_file_is_not() {
    use std::io::Write;
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let rows = [batch(vec![("n", Arc::new(Int64Array::from(vec![7])) as ArrayRef)])];
    let bench = Bench::new();
    let path = bench.write("in.arrows.gz", gzip(&stream(&rows, IpcWriteOptions::default())));
    let (out, _) = bench.read(&source(&path, Format::Arrow, vec![column("n", DataType::Int64)])).unwrap();
    assert_eq!(out.cells(), [["7"]]);
    let path = bench.write("in.arrow.gz", gzip(&file(&rows, IpcWriteOptions::default())));
    assert_eq!(refusal(bench.read(&source(&path, Format::Arrow, vec![column("n", DataType::Int64)]))).0, "unsupported-compression");
}

#[test]
fn one_value_that_stands_for_many_does_not_fill_memory() {
    let value = "x".repeat(1 << 20);
    let keys = Int32Array::from(vec![0; 300]);
    let dictionary: DictionaryArray<Int32Type> = DictionaryArray::try_new(keys, Arc::new(StringArray::from(vec![value.as_str()]))).unwrap();
    let bytes = file(&[batch(vec![("d", Arc::new(dictionary) as ArrayRef)])], IpcWriteOptions::default());
    struct Widest(usize, usize);
    impl Accept for Widest {
        fn batch(&mut self, batch: RecordBatch) -> ControlFlow<()> {
            (self.0, self.1) = (self.0.max(batch.get_array_memory_size()), self.1 + batch.num_rows());
            ControlFlow::Continue(())
        }
        fn rejected(&mut self, _: &Rejected<'_>) -> Result<()> {
            unreachable!()
        }
    }
    let bench = Bench::new();
    let source = source(&bench.write("in.arrow", bytes), Format::Arrow, vec![column("d", DataType::String)]);
    let (files, units) = plan_units(&bench.stores, 0, &source).unwrap();
    let mut widest = Widest(0, 0);
    ingest_unit(&Ingest { stores: &bench.stores, source: &source, files: &files, projection: &[0], batch_rows: 8192 }, &units[0], &mut widest).unwrap();
    assert_eq!(widest.1, 300);
    assert!(widest.0 < 200 << 20, "{}", widest.0);
}
