use super::fixture::{Event, batch, cases, emit, events, feature, model, shape, sink_at, stores};
use super::*;
use crate::error::{Culprit, Error};
use crate::shard::decode::decode;
use crate::shard::{ShardSink, StoredFile};
use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use perimeter_contract::job::{Dtype, Encode, Feature, Scale, Shape};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                out.insert(path.strip_prefix(folder).unwrap().display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    out
}

fn records(file: &StoredFile) -> Vec<Vec<u8>> {
    let reader = array_record::Reader::open(file).unwrap();
    (0..reader.num_records()).map(|index| reader.record(index).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No event lost or duplicated, order kept, padding only at the end, a file for every shard and bucket.
    #[test]
    fn shards_hold_what_the_model_says((buckets, lengths, shards, partitions, seed, cuts) in cases()) {
        let folder = tempfile::tempdir().unwrap();
        let events = events(&lengths, shards, seed);
        let emission = emit(folder.path(), &buckets, &events, shards, partitions, &cuts).unwrap();
        let closed: Vec<_> = emission.emitted.iter().flat_map(|emitted| &emitted.shards).collect();
        let mut found = BTreeMap::new();
        for shard in &closed {
            let file = emission.sink.folder().open(shard.path()).unwrap();
            let examples = records(&file);
            prop_assert_eq!(examples.len() as u64, shard.proof().records());
            for example in &examples {
                let names: Vec<String> = crate::shard::fields(example).unwrap().iter().map(|field| field.name.to_owned()).collect();
                prop_assert!(names.is_sorted());
            }
            found.insert((shard.bucket(), shard.shard()), examples.iter().map(|example| decode(example)).collect::<Vec<_>>());
        }
        prop_assert_eq!(found, model(&buckets, &events, shards));
        prop_assert_eq!(closed.len(), buckets.len().max(1) * shards as usize);
        prop_assert_eq!(emission.emitted.iter().map(|emitted| emitted.rows).sum::<u64>(), events.len() as u64);
        let rows: u64 = emission.emitted.iter().flat_map(|emitted| &emitted.parts).map(|part| part.rows()).sum();
        prop_assert_eq!(rows, events.len() as u64);
    }

    /// Neither batch borders nor the number of partitions change a byte.
    #[test]
    fn bytes_do_not_see_batches_or_partitions((buckets, lengths, shards, partitions, seed, cuts) in cases()) {
        let events = events(&lengths, shards, seed);
        let one = tempfile::tempdir().unwrap();
        let whole = emit(one.path(), &buckets, &events, shards, 1, &[]).unwrap();
        let two = tempfile::tempdir().unwrap();
        let parts = emit(two.path(), &buckets, &events, shards, partitions, &cuts).unwrap();
        prop_assert_eq!(files(one.path()), files(two.path()));
        drop((whole, parts));
        prop_assert!(files(one.path()).is_empty() && files(two.path()).is_empty(), "an unsealed version is taken back");
    }
}

#[test]
fn a_table_of_many_rows_does_not_see_batches() {
    // Long enough for several pages and steps of the Parquet writer.
    let events = events(&[7000, 1, 1500, 900, 1024, 3], 2, 5);
    let one = tempfile::tempdir().unwrap();
    let two = tempfile::tempdir().unwrap();
    let whole = emit(one.path(), &[16, 256], &events, 2, 1, &[]).unwrap();
    let cuts: Vec<usize> = (0..events.len()).step_by(613).chain([1, 2, 3, 1024, 2048, 2049]).collect();
    let parts = emit(two.path(), &[16, 256], &events, 2, 2, &cuts).unwrap();
    assert_eq!(files(one.path()), files(two.path()));
    let part = &whole.emitted[0].parts[0];
    let bytes = whole.table.folder().open(part.path()).unwrap().read_all(1 << 30).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let names: Vec<_> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["account", "booked_at", "amount", "mcc"], "hidden columns stay out");
    let rows: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let mine: Vec<Event> = events.iter().filter(|event| event.shard == 0).cloned().collect();
    let expected = batch(&mine).project(&[1, 2, 3, 4]).unwrap();
    assert_eq!(arrow::compute::concat_batches(&rows[0].schema(), &rows).unwrap().columns(), expected.columns());
    drop(parts);
}

fn resolve(features: Vec<Feature>, sequence: bool) -> Result<Layout, Vec<&'static str>> {
    let schema = Schema::new(vec![
        Field::new(SHARD_COLUMN, DataType::Int32, false),
        Field::new("account", DataType::Utf8, false),
        Field::new("whole", DataType::Decimal128(10, 0), true),
        Field::new("amount", DataType::Decimal128(10, 2), true),
        Field::new("rate", DataType::Float64, true),
        Field::new("day", DataType::Date32, true),
        Field::new("list", DataType::new_list(DataType::Int32, true), true),
    ]);
    let shape = Shape { features, ..shape(if sequence { &[4] } else { &[] }) };
    Layout::resolve(&shape, &schema, &[], &Frozen::default()).map_err(|mistakes| mistakes.iter().map(|mistake| mistake.code).collect())
}

#[test]
fn mistakes_of_features_are_found_before_any_row() {
    let one = |feature: Feature, sequence| resolve(vec![feature], sequence).map(|_| ());
    let ok = [
        (feature("x", "whole", Dtype::Int64), false),
        (feature("x", "amount", Dtype::Float32), true),
        (feature("x", "day", Dtype::Int64), true),
        (feature("x", "account", Dtype::Bytes), true),
        (feature("x", "account", Dtype::Bytes), false),
    ];
    for (feature, sequence) in ok {
        assert_eq!(one(feature.clone(), sequence), Ok(()), "{feature:?}");
    }
    let wrong = [
        ("unknown-column", feature("x", "nowhere", Dtype::Int64), false),
        ("unknown-column", feature("x", SHARD_COLUMN, Dtype::Int64), false),
        ("feature-type", feature("x", "amount", Dtype::Int64), false),
        ("feature-type", feature("x", "rate", Dtype::Int64), false),
        ("feature-type", feature("x", "account", Dtype::Int64), false),
        ("feature-type", feature("x", "list", Dtype::Float32), false),
        ("feature-type", feature("x", "amount", Dtype::Bytes), false),
        ("feature-type", Feature { encode: Encode::SecondsSincePrevious, ..feature("x", "day", Dtype::Int64) }, false),
        ("feature-type", Feature { encode: Encode::SecondsSincePrevious, ..feature("x", "whole", Dtype::Int64) }, true),
        ("feature-type", Feature { scale: Scale::Log1p, ..feature("x", "whole", Dtype::Int64) }, false),
        ("feature-type", Feature { missing: Some(0.5), ..feature("x", "whole", Dtype::Int64) }, false),
        ("feature-type", Feature { missing: Some(1e300), ..feature("x", "rate", Dtype::Float32) }, false),
        ("duplicate-feature", feature("length", "whole", Dtype::Int64), true),
    ];
    for (code, feature, sequence) in wrong {
        assert_eq!(one(feature.clone(), sequence), Err(vec![code]), "{feature:?}");
    }
    let all = resolve(vec![feature("a", "nowhere", Dtype::Int64), feature("b", "rate", Dtype::Int64)], true);
    assert_eq!(all.unwrap_err(), ["unknown-column", "feature-type"], "every mistake in one go");
    assert_eq!(resolve(vec![], false).unwrap_err(), ["no-features"]);
}

/// Pushes one batch with the given columns beside shard and entity, and gives back the examples or the failure's code.
fn push(features: Vec<Feature>, columns: Vec<(&str, ArrayRef)>, contexts: &[&str]) -> Result<Vec<BTreeMap<String, crate::shard::decode::List>>, &'static str> {
    let rows = columns[0].1.len();
    let mut all: Vec<(&str, ArrayRef)> =
        vec![(SHARD_COLUMN, Arc::new(Int32Array::from(vec![0; rows]))), ("account", Arc::new(StringArray::from(vec!["secret-token"; rows])))];
    all.extend(columns);
    let batch = RecordBatch::try_from_iter_with_nullable(all.into_iter().map(|(name, column)| (name, column, true))).unwrap();
    let layout = Layout::resolve(&Shape { features, ..shape(&[4]) }, &batch.schema(), contexts, &Frozen::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sink = Arc::new(ShardSink::create(&stores(), &sink_at(folder.path()), "d", "r").unwrap());
    let mut emitter = Emitter::new(Arc::new(layout), Arc::clone(&sink), None, vec![0], 1).unwrap();
    let outcome = emitter.push(&batch).and_then(|()| emitter.finish());
    match outcome {
        Ok(emitted) => Ok(records(&sink.folder().open(emitted.shards[0].path()).unwrap()).iter().map(|record| decode(record)).collect()),
        Err(Error::Failed(failure)) => {
            assert_eq!(failure.culprit, Culprit::Data);
            assert!(!failure.to_string().contains("secret-token"));
            Err(failure.code)
        }
        Err(other) => panic!("{other}"),
    }
}

use crate::shard::decode::List;
use arrow::array::Array as _;

#[test]
fn values_that_cannot_be_features_end_the_job() {
    let floats = |values: Vec<Option<f64>>| vec![("x", Arc::new(Float64Array::from(values)) as ArrayRef)];
    let plain = || feature("x", "x", Dtype::Float32);
    let log = || Feature { scale: Scale::Log1p, ..plain() };
    assert_eq!(push(vec![plain()], floats(vec![Some(1.0), None]), &[]), Err("missing-feature"));
    assert_eq!(push(vec![plain()], floats(vec![Some(f64::NAN)]), &[]), Err("not-finite"));
    assert_eq!(push(vec![plain()], floats(vec![Some(f64::NEG_INFINITY)]), &[]), Err("not-finite"));
    assert_eq!(push(vec![plain()], floats(vec![Some(1e300)]), &[]), Err("not-finite"), "overflows float32");
    assert_eq!(push(vec![log()], floats(vec![Some(-1.0)]), &[]), Err("log1p-domain"));
    assert_eq!(push(vec![log()], floats(vec![Some(f64::NAN)]), &[]), Err("not-finite"));
    let wide: ArrayRef = Arc::new(Decimal128Array::from(vec![i128::MAX]).with_precision_and_scale(38, 0).unwrap());
    assert_eq!(push(vec![feature("x", "x", Dtype::Int64)], vec![("x", wide)], &[]), Err("out-of-range"));
    let entity: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    assert_eq!(
        push(vec![feature("x", "x", Dtype::Int64)], vec![("x", entity.clone()), ("c", Arc::new(Int64Array::from(vec![None])))], &["c"]).map(|all| all.len()),
        Ok(1)
    );
    let two: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    for contexts in [vec![Some(1), Some(2)], vec![Some(1), None]] {
        let contexts: ArrayRef = Arc::new(Int64Array::from(contexts));
        assert_eq!(push(vec![feature("x", "x", Dtype::Int64)], vec![("x", two.clone()), ("c", contexts)], &["c"]), Err("mixed-shift-context"));
    }
}

#[test]
fn nulls_become_missing_whatever_lies_under_them() {
    let under = |values: Vec<f64>, valid: Vec<bool>| -> ArrayRef { Arc::new(Float64Array::new(values.into(), Some(valid.into()))) };
    let missing = Feature { missing: Some(-2.0), scale: Scale::Log1p, ..feature("x", "x", Dtype::Float32) };
    let found = push(vec![missing], vec![("x", under(vec![f64::NAN, 0.0, -7.0], vec![false, true, false]))], &[]).unwrap();
    assert_eq!(found[0]["x"], List::Floats(vec![-2.0, 0.0, -2.0, 0.0]));
    let decimals: ArrayRef = Arc::new(Decimal128Array::new(vec![i128::MAX, 5].into(), Some(vec![false, true].into())).with_precision_and_scale(38, 0).unwrap());
    let missing = Feature { missing: Some(7.0), ..feature("x", "x", Dtype::Int64) };
    assert_eq!(push(vec![missing], vec![("x", decimals)], &[]).unwrap()[0]["x"], List::Ints(vec![7, 5, 0, 0]));
}

#[test]
fn seconds_since_previous_counts_days_and_skips_what_has_no_time() {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(10), Some(12), None, Some(13), Some(13)]));
    let delta = Feature { encode: Encode::SecondsSincePrevious, missing: Some(-1.0), ..feature("x", "x", Dtype::Int64) };
    let found = push(vec![delta], vec![("x", days)], &[]).unwrap();
    let values: Vec<&List> = found.iter().map(|example| &example["x"]).collect();
    assert_eq!(values, [&List::Ints(vec![0, 172_800, -1, 86_400]), &List::Ints(vec![0, 0, 0, 0])]);
    assert_eq!(found[1]["chunk"], List::Ints(vec![1]));
}

#[test]
fn rows_out_of_their_shards_order_end_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = events(&[3, 3, 3, 3, 3, 3], 3, 1);
    wrong.reverse();
    let Err(Error::Failed(failure)) = emit(folder.path(), &[4], &wrong, 3, 1, &[]).map(|_| ()) else { panic!("took rows out of order") };
    assert_eq!(failure.code, "shard-order");
    assert!(files(folder.path()).is_empty(), "nothing is left");
}

#[test]
fn an_entity_that_comes_back_ends_the_job() {
    // One shard, entities out of order: within a batch, and across two.
    let sorted = events(&[2, 3], 1, 9);
    let mut torn = sorted.clone();
    torn.swap(0, 4);
    for cuts in [vec![], vec![1], vec![1, 2, 3, 4]] {
        let folder = tempfile::tempdir().unwrap();
        let Err(Error::Failed(failure)) = emit(folder.path(), &[4], &torn, 1, 1, &cuts).map(|_| ()) else { panic!("made two sequences of one entity") };
        assert_eq!(failure.code, "shard-order");
        assert!(emit(folder.path(), &[4], &sorted, 1, 1, &cuts).is_ok());
    }
}

#[test]
fn a_row_without_an_entity_ends_the_job() {
    let batch = RecordBatch::try_from_iter_with_nullable([
        (SHARD_COLUMN, Arc::new(Int32Array::from(vec![0, 0])) as ArrayRef, false),
        ("account", Arc::new(StringArray::from(vec![Some("a"), None])), true),
        ("x", Arc::new(Int32Array::from(vec![1, 2])), false),
    ])
    .unwrap();
    let layout = Layout::resolve(&Shape { features: vec![feature("x", "x", Dtype::Int64)], ..shape(&[4]) }, &batch.schema(), &[], &Frozen::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sink = Arc::new(ShardSink::create(&stores(), &sink_at(folder.path()), "d", "r").unwrap());
    let Err(Error::Failed(failure)) = Emitter::new(Arc::new(layout), sink, None, vec![0], 1).unwrap().push(&batch) else { panic!("took a null entity") };
    assert_eq!(failure.code, "missing-entity");
}

#[test]
fn layouts_of_columns_do_not_show() {
    let events = events(&[9, 1, 30, 4], 1, 3);
    let plain = batch(&events);
    let proofs = |types: [DataType; 2]| {
        let mut columns = plain.columns().to_vec();
        columns[1] = arrow::compute::cast(&columns[1], &types[0]).unwrap();
        columns[4] = arrow::compute::cast(&columns[4], &types[1]).unwrap();
        let names: Vec<String> = plain.schema().fields().iter().map(|field| field.name().clone()).collect();
        let batch = RecordBatch::try_from_iter_with_nullable(names.iter().zip(columns).map(|(name, column)| (name, column, true))).unwrap();
        [&[4, 16][..], &[]].map(|buckets| {
            let layout = Layout::resolve(&shape(buckets), &batch.schema(), &["__context_person"], &Frozen::default()).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let sink = Arc::new(ShardSink::create(&stores(), &sink_at(folder.path()), "d", "r").unwrap());
            let mut emitter = Emitter::new(Arc::new(layout), sink, None, vec![0], 1).unwrap();
            emitter.push(&batch.slice(0, 20)).unwrap();
            emitter.push(&batch.slice(20, batch.num_rows() - 20)).unwrap();
            emitter.finish().unwrap().shards.iter().map(|shard| shard.proof().sha256()).collect::<Vec<_>>()
        })
    };
    let dictionary = |values: DataType| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
    let expected = proofs([DataType::Utf8, DataType::Int32]);
    assert_eq!(proofs([DataType::Utf8View, DataType::Int64]), expected);
    assert_eq!(proofs([DataType::LargeUtf8, DataType::Int16]), expected);
    assert_eq!(proofs([dictionary(DataType::Utf8), dictionary(DataType::Int32)]), expected);
    assert_eq!(proofs([DataType::Binary, DataType::Decimal128(9, 0)]), expected);
}
