//! Lists from a file to the table: read, checked, transformed value by value, placed, sorted and written.
use crate::engine::Limits;
use crate::error::Error;
use crate::plan::{self, Plan};
use crate::run::{self, Services};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use datafusion::arrow::array::{Date32Array, Int64Array, ListArray, StringArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType as ArrowType, Date32Type, Field, Int64Type};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use perimeter_contract::schema::{Column, DataType, DateFormat};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

const POLICY: &str = "apiVersion: perimeter/v1
kind: Policy
metadata: {name: test, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}
rules:
  - {name: people, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person, bytes: 16}
  - {name: notes, match: {semanticType: NOTE}, transform: encrypt, key: person}
  - {name: births, match: {semanticType: DATE_OF_BIRTH}, transform: dateShift, key: person, context: {joinDomain: person}, maxDays: 30}
  - {name: amounts, match: {semanticType: AMOUNT}, transform: fixedSizeBucketing, size: 10}
  - {name: public, match: {classification: public}, transform: keep}
gates: {maxRejectedFraction: 0}
";

const SCHEMA: &str = "apiVersion: v3.1.0
kind: DataContract
id: urn:test
name: t
version: 1.0.0
status: active
schema:
  - name: t
    properties:
      - {name: n, logicalType: integer, classification: public}
";

fn job(rest: &str) -> String {
    format!(
        "apiVersion: perimeter/v1
kind: Job
metadata: {{name: test}}
policy: policy.yaml
sources:
  t: {{uri: 't*.parquet', format: parquet, schema: t.odcs.yaml}}
quarantine: {{uri: quarantine/, key: person}}
keys:
  person: {{provider: local, keyring: person.keyring.json, create: true}}
sink: {{uri: out/, format: arrayRecord, options: \"group_size:1,zstd:3\", encoding: tfExample, shards: 3}}
table: {{uri: table/, format: parquet}}
{rest}"
    )
}

fn of(path: &[&str], data_type: DataType, semantic_type: Option<&str>) -> Column {
    Column {
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        list_at: matches!(data_type, DataType::List(_)).then_some(1),
        semantic_type: semantic_type.map(str::to_owned),
        join_domain: (semantic_type == Some("BR_CPF")).then(|| "person".to_owned()),
        classification: Some("public".to_owned()),
        ..Column::new(path.join("."), data_type)
    }
}

fn columns() -> Vec<Column> {
    let list = |item| DataType::List(Box::new(item));
    vec![
        of(&["n"], DataType::Int64, None),
        of(&["owner", "cpf"], DataType::String, Some("BR_CPF")),
        of(&["parties", "cpf"], list(DataType::String), Some("BR_CPF")),
        of(&["parties", "born"], list(DataType::Date { format: DateFormat::iso_date() }), Some("DATE_OF_BIRTH")),
        of(&["amounts"], list(DataType::Int64), Some("AMOUNT")),
        of(&["notes"], list(DataType::String), Some("NOTE")),
    ]
}

/// Rows `from..to`. The owner is a party of every row that has parties.
fn rows(from: i64, to: i64) -> RecordBatch {
    let cpf = |n: i64| format!("cpf-{:03}", n % 50);
    let range = || from..to;
    let lengths: Vec<usize> = range().map(|n| usize::try_from(n % 4).unwrap()).collect();
    let items = || range().flat_map(|n| (0..n % 4).map(move |at| (n, at)));
    let nulls: Vec<bool> = range().map(|n| n % 9 != 8).collect();
    let list = |values: ArrayRef| {
        let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        ListArray::new(item, OffsetBuffer::from_lengths(lengths.clone()), values, Some(nulls.clone().into()))
    };
    let parties = StructArray::from(vec![
        (
            Arc::new(Field::new("cpf", ArrowType::Utf8, true)),
            Arc::new(items().map(|(n, at)| (at != 2).then(|| cpf(n + at))).collect::<StringArray>()) as ArrayRef,
        ),
        (Arc::new(Field::new("born", ArrowType::Date32, true)), Arc::new(items().map(|(n, at)| Some((n * 7 + at) as i32)).collect::<Date32Array>())),
    ]);
    let owner: ArrayRef = Arc::new(range().map(|n| Some(cpf(n))).collect::<StringArray>());
    let owner = StructArray::from(vec![(Arc::new(Field::new("cpf", ArrowType::Utf8, true)), owner)]);
    let columns: [(&str, ArrayRef); 5] = [
        ("n", Arc::new(Int64Array::from_iter_values(range()))),
        ("owner", Arc::new(owner)),
        ("parties", Arc::new(list(Arc::new(parties)))),
        ("amounts", Arc::new(list(Arc::new(items().map(|(n, at)| Some(n + at)).collect::<Int64Array>())))),
        ("notes", Arc::new(list(Arc::new(items().map(|(n, at)| Some(format!("note {n} {at}"))).collect::<StringArray>())))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

struct Files(TempDir);

impl Files {
    fn new(rest: &str, parts: &[(i64, i64)]) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in [("t.odcs.yaml", SCHEMA), ("policy.yaml", POLICY), ("job.yaml", &job(rest))] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let files = Self(folder);
        files.write(parts);
        files
    }

    fn write(&self, parts: &[(i64, i64)]) {
        for (at, (from, to)) in parts.iter().enumerate() {
            let batch = rows(*from, *to);
            let mut writer = ArrowWriter::try_new(fs::File::create(self.0.path().join(format!("t{at}.parquet"))).unwrap(), batch.schema(), None).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
        }
    }

    async fn plan(&self, services: &Services) -> Result<Plan, Error> {
        let mut contract =
            perimeter_contract::load(&self.0.path().join("job.yaml"), &BTreeMap::new()).unwrap_or_else(|mistakes| panic!("{}", mistakes.render()));
        contract.job.sources[0].schema.columns = columns();
        plan::plan(contract, &services.stores).await
    }

    /// The table's rows and the bytes of its files.
    async fn table(&self, threads: usize, batch_rows: usize) -> (Vec<RecordBatch>, Vec<Vec<u8>>) {
        let services = Services::new(Limits { threads, batch_rows, ..Limits::default() });
        let plan = self.plan(&services).await.unwrap_or_else(|error| match error {
            Error::Contract(mistakes) => panic!("{}", mistakes.render()),
            other => panic!("{other}"),
        });
        let sealed = run::run(&plan, &services).await.unwrap_or_else(|error| panic!("{error}"));
        let folder = self.0.path().join("table").join(&sealed.manifest().run.id);
        let mut paths: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "parquet")).collect();
        paths.sort();
        let batches =
            paths.iter().flat_map(|path| ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap().build().unwrap().map(Result::unwrap));
        (batches.collect(), paths.iter().map(|path| fs::read(path).unwrap()).collect())
    }
}

const ROWS: &str = "shape:\n  features: [{name: n, column: n, dtype: int64}]\n";

#[tokio::test(flavor = "multi_thread")]
async fn lists_go_through_value_by_value() {
    let files = Files::new(ROWS, &[(0, 100)]);
    let (batches, _) = files.table(1, 8192).await;
    let mut seen = 0;
    for batch in &batches {
        let column = |name: &str| Arc::clone(batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}")));
        let (n, owner) = (column("n"), column("owner.cpf"));
        let lists = |name: &str| column(name).as_list::<i32>().clone();
        let (cpf, born, amounts, notes) = (lists("parties.cpf"), lists("parties.born"), lists("amounts"), lists("notes"));
        for row in 0..batch.num_rows() {
            seen += 1;
            let n = n.as_primitive::<Int64Type>().value(row);
            assert!([&cpf, &born, &amounts, &notes].iter().all(|list| list.is_null(row) == (n % 9 == 8)));
            if n % 9 == 8 {
                continue;
            }
            let length = usize::try_from(n % 4).unwrap();
            assert!([&cpf, &born, &amounts, &notes].iter().all(|list| list.value(row).len() == length));
            let (cpf, born, amounts, notes) = (cpf.value(row), born.value(row), amounts.value(row), notes.value(row));
            for at in 0..length {
                assert_eq!(cpf.is_null(at), at == 2);
                let floor = (n + at as i64).div_euclid(10) * 10;
                assert_eq!(amounts.as_primitive::<Int64Type>().value(at), floor);
                assert!(notes.as_string::<i32>().value(at).starts_with("v1."));
                // One shift for the whole row, that of its owner.
                let shift = born.as_primitive::<Date32Type>().value(at) - (n * 7 + at as i64) as i32;
                assert!(shift.abs() <= 30);
                assert_eq!(shift, born.as_primitive::<Date32Type>().value(0) - (n * 7) as i32);
            }
            if length > 0 {
                // One join domain: the owner's token, inside and outside of the list.
                assert_eq!(cpf.as_string::<i32>().value(0), owner.as_string::<i32>().value(row));
                assert_eq!(cpf.as_string::<i32>().value(0).len(), 32);
            }
        }
    }
    assert_eq!(seen, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_rows_give_the_same_bytes() {
    // Without `encrypt`, whose tokens are those of their run. More rows than a step of the table's writer, and rows that differ in a list alone.
    let rest = format!("{ROWS}prepare: SELECT n % 3 AS n, \"owner.cpf\", \"parties.cpf\", \"parties.born\", amounts FROM t\n");
    let files = Files::new(&rest, &[(0, 9000)]);
    let (_, one) = files.table(1, 8192).await;
    files.write(&[(0, 2500), (2500, 9000)]);
    let (_, other) = files.table(2, 1000).await;
    assert_eq!(one.len(), 3);
    assert!(one == other, "another number of threads, batch size or split of the input gives other bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_no_features_keys_or_orders() {
    for (rest, what) in [
        ("shape:\n  features: [{name: a, column: amounts, dtype: int64}]\n", "the feature `a` is `amounts`, which holds a list"),
        ("shape:\n  features: [{name: c, column: parties.cpf, dtype: bytes}]\n", "no static shape"),
        (
            "shape:\n  sequence: {by: parties.cpf, orderBy: [n]}\n  features: [{name: n, column: n, dtype: int64}]\n  buckets: [4]\n",
            "the entity of the sequences is `parties.cpf`",
        ),
        (
            "shape:\n  sequence: {by: owner.cpf, orderBy: [amounts]}\n  features: [{name: n, column: n, dtype: int64}]\n  buckets: [4]\n",
            "the order of the sequences is `amounts`",
        ),
    ] {
        let files = Files::new(rest, &[(0, 1)]);
        match files.plan(&Services::new(Limits::default())).await {
            Err(Error::Contract(mistakes)) => {
                let text = mistakes.render();
                assert!(text.contains("list-column") && text.contains(what), "{text}");
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_points_at_the_line_of_the_contract() {
    let files = Files::new(ROWS, &[(0, 1)]);
    let services = Services::new(Limits::default());
    let load = || perimeter_contract::load(&files.0.path().join("job.yaml"), &BTreeMap::new()).unwrap();
    let text = match plan::plan(load(), &services.stores).await {
        Err(Error::Contract(mistakes)) => mistakes.render(),
        other => panic!("{:?}", other.map(|_| ())),
    };
    assert!(text.contains("t.odcs.yaml:8") && text.contains("`owner`, column 2 of the file"), "{text}");
    let mut contract = load();
    contract.job.sources[0].drift = perimeter_contract::job::Drift::AllowAdded;
    let plan = plan::plan(contract, &services.stores).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.inputs[0].added, ["amounts", "notes", "owner", "parties"]);
    assert!(plan::explain::text(&plan).contains("not in the contract, and not read: amounts, notes, owner, parties"));
    assert_eq!(plan::explain::json(&plan)["sources"][0]["addedColumns"][2], "owner");
}
