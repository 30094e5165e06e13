//! Columns whose values stand in the path.
use super::parquet::written;
use super::*;
use ::arrow::array::{ArrayRef, StringArray};
use perimeter_contract::schema::DateFormat;
use std::sync::Arc;

fn date(name: &str) -> Column {
    column(name, DataType::Date { format: DateFormat::iso_date() })
}

fn columns() -> Vec<Column> {
    vec![date("dt"), column("id", DataType::String), column("region", DataType::String)]
}

fn parquet(ids: &[&str]) -> Vec<u8> {
    written(vec![("id", Arc::new(StringArray::from(ids.to_vec())) as ArrayRef)], 10)
}

/// The same two records in every format.
fn every_format() -> Vec<(&'static str, Format, Vec<u8>)> {
    let mut no_header = csv_options();
    no_header.header = false;
    let batch = ::arrow::array::RecordBatch::try_from_iter([("id", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef)]).unwrap();
    let mut arrow = ::arrow::ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    arrow.write(&batch).unwrap();
    vec![
        ("in.csv", Format::Csv(csv_options()), b"id\na\nb\n".to_vec()),
        ("in.txt", Format::Csv(no_header), b"a\nb\n".to_vec()),
        ("in.json", Format::Json(JsonOptions::default()), b"{\"id\":\"a\"}\n{\"id\":\"b\",\"region\":null}\n".to_vec()),
        ("in.parquet", Format::Parquet, parquet(&["a", "b"])),
        ("in.arrow", Format::Arrow, arrow.into_inner().unwrap()),
    ]
}

#[test]
fn columns_of_the_path_stand_in_every_row_whatever_the_format() {
    for (name, format, bytes) in every_format() {
        let bench = Bench::new();
        bench.write(&format!("dt=2026-01-02/region=S%C3%A3o%20Paulo/{name}"), &bytes);
        bench.write(&format!("dt=2026-01-03/region=__HIVE_DEFAULT_PARTITION__/{name}"), &bytes);
        let mut source = source(&bench.folder.path().join("**").join(name), format, columns());
        let (out, _) = bench.read(&source).unwrap();
        assert_eq!(
            out.cells(),
            [["2026-01-02", "a", "São Paulo"], ["2026-01-02", "b", "São Paulo"], ["2026-01-03", "a", "∅"], ["2026-01-03", "b", "∅"]],
            "{name}"
        );
        let (out, _) = bench.read_with(&source, &[2, 1], 1).unwrap();
        assert_eq!(out.cells()[0], ["São Paulo", "a"]);
        // Its rules hold, whether or not anybody wants the column.
        source.schema.columns[2].required = true;
        for projection in [vec![], vec![1], vec![0, 1, 2]] {
            let (out, tally) = bench.read_with(&source, &projection, 100).unwrap();
            assert_eq!(out.codes(), [(1, "region.required".into()), (2, "region.required".into())], "{name}");
            assert_eq!((tally.rows_read, tally.rejections["tx.region.required"]), (4, 2));
        }
    }
}

#[test]
fn a_value_of_the_path_that_is_none_of_its_type_rejects_every_row_of_its_file() {
    for (name, format, bytes) in every_format() {
        let bench = Bench::new();
        bench.write(&format!("dt=20260102/region=SP/{name}"), &bytes);
        bench.write(&format!("dt=2026-01-02/region=SP/{name}"), &bytes);
        bench.write(&format!("dt=2026-01-04/region=%FF/{name}"), &bytes);
        let (out, tally) = bench.read(&source(&bench.folder.path().join("*/*").join(name), format, columns())).unwrap();
        assert_eq!(out.cells(), [["2026-01-02", "a", "SP"], ["2026-01-02", "b", "SP"]], "{name}");
        let codes: Vec<_> = out.codes().into_iter().map(|(number, code)| format!("{number} {code}")).collect();
        assert_eq!(codes, ["1 region.type", "2 region.type", "1 dt.type", "2 dt.type"], "{name}");
        assert_eq!(tally.rows_read, 6);
    }
}

#[test]
fn a_column_in_the_path_and_in_the_file_must_say_the_same() {
    let bench = Bench::new();
    let rows = |regions: Vec<Option<&str>>| {
        written(vec![("id", Arc::new(StringArray::from(vec!["a"; regions.len()])) as ArrayRef), ("region", Arc::new(StringArray::from(regions)))], 10)
    };
    let cases: Vec<(&str, Format, Vec<u8>)> = vec![
        ("in.csv", Format::Csv(csv_options()), b"region,id\nSP,a\nRJ,a\n,a\n".to_vec()),
        (
            "in.json",
            Format::Json(JsonOptions::default()),
            b"{\"id\":\"a\",\"region\":\"SP\"}\n{\"id\":\"a\",\"region\":\"RJ\"}\n{\"id\":\"a\",\"region\":7}\n".to_vec(),
        ),
        ("in.parquet", Format::Parquet, rows(vec![Some("SP"), Some("RJ"), None])),
    ];
    for (name, format, bytes) in cases {
        bench.write(&format!("region=SP/{name}"), &bytes);
        let columns = vec![column("id", DataType::String), column("region", DataType::String)];
        let source = source(&bench.folder.path().join("*").join(name), format, columns);
        let last = if name == "in.json" { "region.type" } else { "region.partition" };
        for projection in [vec![], vec![0], vec![0, 1]] {
            let (out, tally) = bench.read_with(&source, &projection, 2).unwrap();
            assert_eq!(out.codes(), [(2, "region.partition".into()), (3, last.into())], "{name}");
            assert_eq!((tally.rows_read, tally.rejections["tx.region.partition"]), (3, if name == "in.json" { 1 } else { 2 }));
            if projection.len() == 2 {
                assert_eq!(out.cells(), [["a", "SP"]]);
            }
        }
    }
}

#[test]
fn two_values_of_one_key_are_refused_and_other_keys_are_not_read() {
    let bench = Bench::new();
    bench.write("region=SP/region=RJ/in.csv", "id\na\n");
    let columns = vec![column("id", DataType::String), column("region", DataType::String)];
    let (code, exit, message) = refusal(bench.read(&source(&bench.folder.path().join("*/*/in.csv"), Format::Csv(csv_options()), columns.clone())));
    assert_eq!((code, exit), ("ambiguous-partition", 2));
    assert!(message.contains("region=*/region=*") && !message.contains("RJ"), "{message}");
    bench.write("region=SP/month=1/region=SP/good.csv", "id\na\n");
    let (out, _) = bench.read(&source(&bench.folder.path().join("**/good.csv"), Format::Csv(csv_options()), columns)).unwrap();
    assert_eq!(out.cells(), [["a", "SP"]]);
    // The name of the file is no folder.
    bench.write("region=SP.csv", "id\na\n");
    let columns = vec![column("id", DataType::String), column("region", DataType::String)];
    assert_eq!(refusal(bench.read(&source(&bench.folder.path().join("region=SP.csv"), Format::Csv(csv_options()), columns))).0, "missing-column");
}

#[test]
fn labels_show_what_the_contract_calls_public_and_nothing_else() {
    let bench = Bench::new();
    bench.write("dt=2026-01-02/cpf=52998224725/branch=77/seg=x/in.csv", "b\n");
    let mut columns = vec![date("dt"), column("cpf", DataType::String), column("branch", DataType::String), column("id", DataType::String)];
    columns[0].classification = Some("public".into());
    columns[1].classification = Some("public".into());
    columns[1].semantic_type = Some("BR_CPF".into());
    columns[2].classification = Some("restricted".into());
    for pattern in ["*/*/*/*/in.csv", "dt=2026-01-02/cpf=52998224725/branch=77/*/in.csv"] {
        let source = source(&bench.folder.path().join(pattern), Format::Csv(csv_options()), columns.clone());
        let (_, _, message) = refusal(bench.read(&source));
        assert!(message.contains("dt=2026-01-02/cpf=*/branch=*/seg=*/in.csv"), "{message}");
        let file = super::super::partitions::labelled(&source, bench.stores.list(&source.uri).unwrap().remove(0));
        assert!(!format!("{file:?}").contains("529"));
    }
}
