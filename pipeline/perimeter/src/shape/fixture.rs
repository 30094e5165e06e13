//! Sorted batches of made-up events, and the naive model of what becomes of them.
use super::{Emitted, Emitter, Frozen, Layout, SHARD_COLUMN};
use crate::error::Result;
use crate::shard::decode::List;
use crate::shard::{ShardSink, TableSink, shard_of};
use crate::store::Stores;
use arrow::array::{ArrayRef, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use perimeter_contract::Span;
use perimeter_contract::job::{self, Buckets, Dtype, Encode, Feature, Overflow, RecordEncoding, Scale, Sequence, Shape, Sink, SinkFormat, Table, Uri};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// One event, in the order of the total order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) shard: u32,
    pub(crate) entity: String,
    pub(crate) time: i64,
    pub(crate) cents: i64,
    pub(crate) mcc: Option<i32>,
}

pub(crate) fn events(lengths: &[usize], shards: u32, seed: u64) -> Vec<Event> {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut out = Vec::new();
    for (number, &length) in lengths.iter().enumerate() {
        let entity = format!("entity-{number}");
        for _ in 0..length {
            let mcc = i32::try_from(next(10_000)).ok().filter(|mcc| mcc % 7 != 0);
            out.push(Event {
                shard: shard_of(entity.as_bytes(), shards),
                entity: entity.clone(),
                time: 1_700_000_000_000_000 + i64::try_from(next(4_000_000_000_000)).unwrap(),
                cents: i64::try_from(next(1_000_000)).unwrap(),
                mcc,
            });
        }
    }
    out.sort();
    out
}

pub(crate) fn batch(events: &[Event]) -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        (SHARD_COLUMN, Arc::new(events.iter().map(|event| Some(i32::try_from(event.shard).unwrap())).collect::<Int32Array>())),
        ("account", Arc::new(events.iter().map(|event| Some(event.entity.as_str())).collect::<StringArray>())),
        ("booked_at", Arc::new(events.iter().map(|event| Some(event.time)).collect::<TimestampMicrosecondArray>())),
        ("amount", Arc::new(events.iter().map(|event| Some(i128::from(event.cents))).collect::<Decimal128Array>().with_precision_and_scale(18, 2).unwrap())),
        ("mcc", Arc::new(events.iter().map(|event| event.mcc).collect::<Int32Array>())),
        ("__context_person", Arc::new(events.iter().map(|_| Some(3)).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, name == "mcc"))).unwrap()
}

pub(crate) fn feature(name: &str, column: &str, dtype: Dtype) -> Feature {
    Feature {
        name: name.to_owned(),
        column: column.to_owned(),
        dtype,
        scale: Scale::None,
        encode: Encode::Value,
        tokenizer: None,
        missing: None,
        span: Span::default(),
    }
}

pub(crate) fn shape(buckets: &[u32]) -> Shape {
    Shape {
        layout: job::Layout::Static,
        sequence: (!buckets.is_empty()).then(|| Sequence { by: "account".to_owned(), order_by: vec!["booked_at".to_owned()], span: Span::default() }),
        features: vec![
            Feature { scale: Scale::Log1p, ..feature("amount", "amount", Dtype::Float32) },
            Feature { missing: Some(-1.0), ..feature("mcc", "mcc", Dtype::Int64) },
            if buckets.is_empty() {
                feature("when", "booked_at", Dtype::Int64)
            } else {
                Feature { encode: Encode::SecondsSincePrevious, ..feature("delta_s", "booked_at", Dtype::Int64) }
            },
            feature("account", "account", Dtype::Bytes),
        ],
        buckets: Buckets::Fixed(buckets.to_vec()),
        overflow: Overflow::Split { overlap: 0 },
        packing: None,
        statistics: None,
        span: Span::default(),
    }
}

pub(crate) fn stores() -> Stores {
    static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());
    Stores::new(RUNTIME.handle().clone())
}

pub(crate) fn sink_at(folder: &Path) -> Sink {
    Sink {
        uri: Uri(folder.display().to_string()),
        format: SinkFormat::ArrayRecord,
        encoding: RecordEncoding::TfExample,
        options: "group_size:1,zstd:3".to_owned(),
        shards: None,
        sse_kms: None,
        span: Span::default(),
    }
}

pub(crate) struct Emission {
    pub(crate) layout: Arc<Layout>,
    pub(crate) sink: Arc<ShardSink>,
    pub(crate) table: Arc<TableSink>,
    pub(crate) emitted: Vec<Emitted>,
}

/// Emits `events` over `partitions` partitions, in batches that end at `cuts`, into two folders below `folder`.
pub(crate) fn emit(folder: &Path, buckets: &[u32], events: &[Event], total_shards: u32, partitions: u32, cuts: &[usize]) -> Result<Emission> {
    let uri = |name: &str| Uri(folder.join(name).display().to_string());
    emit_to(&stores(), &uri("sink"), &uri("table"), "run-1", buckets, events, total_shards, partitions, cuts)
}

#[expect(clippy::too_many_arguments, reason = "a fixture")]
pub(crate) fn emit_to(
    stores: &Stores,
    sink: &Uri,
    table: &Uri,
    run_id: &str,
    buckets: &[u32],
    events: &[Event],
    total_shards: u32,
    partitions: u32,
    cuts: &[usize],
) -> Result<Emission> {
    let layout = Layout::resolve(&shape(buckets), &batch(&[]).schema(), &["__context_person"], &Frozen::default()).unwrap();
    let layout = Arc::new(layout);
    let sink = Sink { uri: sink.clone(), ..sink_at(Path::new("")) };
    let sink = Arc::new(ShardSink::create(stores, &sink, "cards", run_id)?);
    let table = Table { uri: table.clone(), span: Span::default() };
    let table = Arc::new(TableSink::create(stores, &table, None, run_id)?);
    let mut emitted = Vec::new();
    for partition in 0..partitions {
        let own: Vec<u32> = (0..total_shards).filter(|shard| shard % partitions == partition).collect();
        let mine: Vec<Event> = events.iter().filter(|event| own.contains(&event.shard)).cloned().collect();
        let mut emitter = Emitter::new(Arc::clone(&layout), Arc::clone(&sink), Some(Arc::clone(&table)), own, total_shards)?;
        let mut ends: Vec<usize> = cuts.iter().map(|&cut| cut.min(mine.len())).chain([mine.len()]).collect();
        ends.sort_unstable();
        let mut start = 0;
        for end in ends {
            emitter.push(&batch(&mine[start..end]))?;
            start = end;
        }
        emitted.push(emitter.finish()?);
    }
    Ok(Emission { layout, sink, table, emitted })
}

/// By bucket and shard: the examples in order.
pub(crate) type Model = BTreeMap<(Option<u32>, u32), Vec<BTreeMap<String, List>>>;

/// What must come out, written down as simply as possible.
pub(crate) fn model(buckets: &[u32], events: &[Event], total_shards: u32) -> Model {
    let mut out = Model::new();
    let keys: Vec<Option<u32>> = if buckets.is_empty() { vec![None] } else { buckets.iter().copied().map(Some).collect() };
    for &bucket in &keys {
        (0..total_shards).for_each(|shard| drop(out.insert((bucket, shard), Vec::new())));
    }
    let amount = |event: &Event| libm::log1p(event.cents as f64 / 100.0) as f32;
    let mcc = |event: &Event| event.mcc.map_or(-1, i64::from);
    let mut entities: Vec<&str> = events.iter().map(|event| event.entity.as_str()).collect();
    entities.dedup();
    for entity in entities {
        let mine: Vec<&Event> = events.iter().filter(|event| event.entity == entity).collect();
        let token = List::Bytes(vec![entity.as_bytes().to_vec()]);
        if buckets.is_empty() {
            for event in &mine {
                let example = BTreeMap::from([
                    ("account".to_owned(), token.clone()),
                    ("amount".to_owned(), List::Floats(vec![amount(event)])),
                    ("mcc".to_owned(), List::Ints(vec![mcc(event)])),
                    ("when".to_owned(), List::Ints(vec![event.time])),
                ]);
                out.get_mut(&(None, event.shard)).unwrap().push(example);
            }
            continue;
        }
        let deltas: Vec<i64> = (0..mine.len()).map(|at| if at == 0 { 0 } else { (mine[at].time - mine[at - 1].time) / 1_000_000 }).collect();
        let largest = *buckets.last().unwrap() as usize;
        for (chunk, chunk_events) in mine.chunks(largest).enumerate() {
            let bucket = *buckets.iter().find(|&&bucket| bucket as usize >= chunk_events.len()).unwrap();
            let pad = bucket as usize - chunk_events.len();
            let ints = |values: Vec<i64>| List::Ints(values.into_iter().chain(std::iter::repeat_n(0, pad)).collect());
            let amounts = chunk_events.iter().map(|event| amount(event)).chain(std::iter::repeat_n(0.0, pad)).collect();
            let deltas = deltas[chunk * largest..chunk * largest + chunk_events.len()].to_vec();
            let example = BTreeMap::from([
                ("account".to_owned(), token.clone()),
                ("amount".to_owned(), List::Floats(amounts)),
                ("chunk".to_owned(), List::Ints(vec![i64::try_from(chunk).unwrap()])),
                ("delta_s".to_owned(), ints(deltas)),
                ("length".to_owned(), List::Ints(vec![i64::try_from(chunk_events.len()).unwrap()])),
                ("mcc".to_owned(), ints(chunk_events.iter().map(|event| mcc(event)).collect())),
            ]);
            out.get_mut(&(Some(bucket), chunk_events[0].shard)).unwrap().push(example);
        }
    }
    out
}

/// Bucket sizes, entity lengths, shards, partitions, seed, batch ends.
pub(crate) fn cases() -> impl Strategy<Value = (Vec<u32>, Vec<usize>, u32, u32, u64, Vec<usize>)> {
    (
        prop::collection::btree_set(1_u32..9, 0..4).prop_map(|buckets| buckets.into_iter().collect::<Vec<u32>>()),
        prop::collection::vec(1_usize..40, 0..12),
        1_u32..5,
        1_u32..4,
        any::<u64>(),
        prop::collection::vec(0_usize..200, 0..12),
    )
}
