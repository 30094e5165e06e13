//! The emitter under every overflow mode, padded and packed, in both encodings and containers, against pieces cut by hand.
use super::super::fixture::{Event, batch, events, feature, shape, sink_at, stores};
use super::super::{Emitted, Emitter, Frozen, Layout, dtype};
use crate::seal::{Conserved, Unit};
use crate::shard::ShardSink;
use crate::shard::decode::{List, decode};
use crate::shard::tf_record::RecordReader;
use perimeter_contract::job::{self, Buckets, Dtype, Packing, RecordEncoding, Shape, Side, SinkFormat};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The numbers of one record by feature: integers as they are, halves as their bits.
type Record = BTreeMap<String, Vec<i64>>;

/// Records by bucket and shard.
type Shards = BTreeMap<(Option<u32>, u32), Vec<Record>>;

/// Events as their time and the bits of their amount.
type Piece = Vec<(i64, i64)>;

struct Case {
    shape: Shape,
    format: SinkFormat,
    encoding: RecordEncoding,
}

fn case(buckets: &[u32], overflow: job::Overflow, packing: Option<Packing>, format: SinkFormat, encoding: RecordEncoding) -> Case {
    let features = vec![feature("when", "booked_at", Dtype::Int64), feature("half", "amount", Dtype::Bfloat16)];
    Case { shape: Shape { features, overflow, packing, ..shape(buckets) }, format, encoding }
}

/// Every record by bucket and shard, and what the emitters said of the events.
fn emit(case: &Case, events: &[Event], shards: u32, partitions: u32, cuts: &[usize]) -> (Shards, Conserved) {
    let folder = tempfile::tempdir().unwrap();
    let layout = Arc::new(Layout::resolve(&case.shape, &batch(&[]).schema(), &[], &Frozen::default()).unwrap());
    let sink = job::Sink { format: case.format, encoding: case.encoding, ..sink_at(folder.path()) };
    let sink = Arc::new(ShardSink::create(&stores(), &sink, "cards", "run-1").unwrap());
    let (mut records, mut conserved) = (BTreeMap::new(), Conserved { unit: Unit::Events, elements: Default::default(), packing: None });
    for partition in 0..partitions {
        let own: Vec<u32> = (0..shards).filter(|shard| shard % partitions == partition).collect();
        let mine: Vec<Event> = events.iter().filter(|event| own.contains(&event.shard)).cloned().collect();
        let mut emitter = Emitter::new(Arc::clone(&layout), Arc::clone(&sink), None, own, shards).unwrap();
        let mut ends: Vec<usize> = cuts.iter().map(|&cut| cut.min(mine.len())).chain([mine.len()]).collect();
        ends.sort_unstable();
        let mut start = 0;
        for end in ends {
            emitter.push(&batch(&mine[start..end])).unwrap();
            start = end;
        }
        let Emitted { shards, account, packed, .. } = emitter.finish().unwrap();
        conserved.elements.merge(&account);
        if let Some(packed) = packed {
            conserved.packing.get_or_insert_default().merge(&packed);
        }
        for shard in shards {
            let features = layout.features(shard.bucket());
            let file = sink.folder().open(shard.path()).unwrap().read_all(1 << 30).unwrap();
            let raw: Vec<Vec<u8>> = match case.format {
                SinkFormat::ArrayRecord => {
                    let reader = array_record::Reader::open(file.as_slice()).unwrap();
                    (0..reader.num_records()).map(|index| reader.record(index).unwrap()).collect()
                }
                SinkFormat::TfRecord => {
                    let mut reader = RecordReader::new(file.as_slice(), 1 << 30);
                    std::iter::from_fn(|| reader.next_record().unwrap().map(<[u8]>::to_vec)).collect()
                }
            };
            assert_eq!(raw.len() as u64, shard.proof().records());
            let parsed = raw.iter().map(|record| match case.encoding {
                RecordEncoding::TfExample => example(record),
                RecordEncoding::Tensor => tensors(record, &features),
            });
            records.insert((shard.bucket(), shard.shard()), parsed.collect());
        }
    }
    (records, conserved)
}

fn halves(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(2).map(|two| i64::from(u16::from_le_bytes([two[0], two[1]]))).collect()
}

fn example(record: &[u8]) -> Record {
    let numbers = |list: List| match list {
        List::Ints(values) => values,
        List::Bytes(values) => halves(&values[0]),
        List::Floats(_) => panic!("no feature is float32"),
    };
    decode(record).into_iter().map(|(name, list)| (name, numbers(list))).collect()
}

fn tensors(record: &[u8], features: &[super::super::FeatureShape]) -> Record {
    let (mut at, mut out) = (0, Record::new());
    for feature in features {
        let dtype = dtype::Dtype::of(feature.dtype).unwrap();
        let count = feature.shape.iter().map(|&side| side as usize).product::<usize>();
        let bytes = &record[at..at + count * dtype.bytes()];
        at += bytes.len();
        let values = match dtype {
            dtype::Dtype::Int64 => bytes.chunks_exact(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap())).collect(),
            dtype::Dtype::Int32 => bytes.chunks_exact(4).map(|four| i64::from(i32::from_le_bytes(four.try_into().unwrap()))).collect(),
            _ => halves(bytes),
        };
        out.insert(feature.name.clone(), values);
    }
    assert_eq!(at, record.len());
    out
}

/// By shard: the pieces of its entities in order, each with its number; events as (time, bits of the amount).
fn pieces(events: &[Event], overflow: job::Overflow, window: usize) -> BTreeMap<u32, Vec<(i64, Piece)>> {
    let mut out: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for mine in events.chunk_by(|a, b| a.entity == b.entity) {
        let values: Vec<(i64, i64)> =
            mine.iter().map(|event| (event.time, i64::from(half::bf16::from_f32((event.cents as f64 / 100.0) as f32).to_bits()))).collect();
        let cut: Vec<Vec<(i64, i64)>> = match overflow {
            _ if values.len() <= window => vec![values],
            job::Overflow::Reject => vec![],
            job::Overflow::Truncate(Side::Left) => vec![values[values.len() - window..].to_vec()],
            job::Overflow::Truncate(Side::Right) => vec![values[..window].to_vec()],
            job::Overflow::Split { overlap } => {
                let stride = window - (overlap as usize).min(window - 1);
                let starts = (0..).map(|piece| piece * stride).take_while(|&start| start == 0 || start + window < values.len() + stride);
                starts.map(|start| values[start..values.len().min(start + window)].to_vec()).collect()
            }
        };
        out.entry(mine[0].shard).or_default().extend((0..).zip(cut));
    }
    out
}

fn overflows() -> impl Strategy<Value = job::Overflow> {
    prop_oneof![
        (0_u32..9).prop_map(|overlap| job::Overflow::Split { overlap }),
        Just(job::Overflow::Truncate(Side::Left)),
        Just(job::Overflow::Truncate(Side::Right)),
        Just(job::Overflow::Reject),
    ]
}

fn sinks() -> impl Strategy<Value = (SinkFormat, RecordEncoding)> {
    (prop::sample::select(vec![SinkFormat::ArrayRecord, SinkFormat::TfRecord]), prop::sample::select(vec![RecordEncoding::TfExample, RecordEncoding::Tensor]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn padded_pieces_are_those_of_the_overflow(
        buckets in prop::collection::btree_set(1_u32..9, 1..4),
        lengths in prop::collection::vec(1_usize..40, 0..10),
        (shards, partitions, seed) in (1_u32..4, 1_u32..3, any::<u64>()),
        cuts in prop::collection::vec(0_usize..200, 0..10),
        overflow in overflows(),
        (format, encoding) in sinks(),
    ) {
        let buckets: Vec<u32> = buckets.into_iter().collect();
        let window = *buckets.last().unwrap() as usize;
        let events = events(&lengths, shards, seed);
        let (found, conserved) = emit(&case(&buckets, overflow, None, format, encoding), &events, shards, partitions, &cuts);
        let mut expected: BTreeMap<(Option<u32>, u32), Vec<Record>> = BTreeMap::new();
        for shard in 0..shards {
            buckets.iter().for_each(|&bucket| drop(expected.insert((Some(bucket), shard), vec![])));
        }
        let pieces = pieces(&events, overflow, window);
        for (&shard, pieces) in &pieces {
            for (chunk, piece) in pieces {
                let bucket = *buckets.iter().find(|&&bucket| bucket as usize >= piece.len()).unwrap();
                let padded = |values: Vec<i64>| values.into_iter().chain(std::iter::repeat_n(0, bucket as usize - piece.len())).collect::<Vec<_>>();
                let record = Record::from([
                    ("chunk".to_owned(), vec![*chunk]),
                    ("half".to_owned(), padded(piece.iter().map(|event| event.1).collect())),
                    ("length".to_owned(), vec![i64::try_from(piece.len()).unwrap()]),
                    ("when".to_owned(), padded(piece.iter().map(|event| event.0).collect())),
                ]);
                expected.get_mut(&(Some(bucket), shard)).unwrap().push(record);
            }
        }
        prop_assert_eq!(found, expected);
        let written: usize = pieces.values().flatten().map(|(_, piece)| piece.len()).sum();
        prop_assert!(conserved.explains(events.len() as u64, written as u64), "{:?}", conserved);
        prop_assert!(!conserved.explains(events.len() as u64 + 1, written as u64) && !conserved.explains(events.len() as u64, written as u64 + 1));
    }

    #[test]
    fn windows_hold_every_piece_once(
        window in 4_u32..20,
        lengths in prop::collection::vec(1_usize..40, 0..10),
        (shards, partitions, seed) in (1_u32..4, 1_u32..3, any::<u64>()),
        cuts in prop::collection::vec(0_usize..200, 0..10),
        overflow in overflows(),
        (segments, open) in (1_u32..5, 1_u32..4),
        (format, encoding) in sinks(),
    ) {
        let limit = |number| NonZeroU32::new(number).unwrap();
        let packing = Packing { max_segments: limit(segments), open_windows: limit(open) };
        let events = events(&lengths, shards, seed);
        let case = case(&[window], overflow, Some(packing), format, encoding);
        let (found, conserved) = emit(&case, &events, shards, partitions, &cuts);
        let mut expected: BTreeMap<u32, Vec<Vec<(i64, i64)>>> =
            pieces(&events, overflow, window as usize).into_iter().map(|(shard, pieces)| (shard, pieces.into_iter().map(|(_, piece)| piece).collect())).collect();
        let mut written = 0;
        for ((_, shard), records) in &found {
            let mut mine = Vec::new();
            for record in records {
                let used = usize::try_from(record["length"][0]).unwrap();
                written += used;
                let (segmentation, position) = (&record["when_segmentation"], &record["when_position"]);
                prop_assert_eq!((segmentation, position), (&record["half_segmentation"], &record["half_position"]));
                prop_assert!(segmentation.len() == window as usize && !record.contains_key("chunk"));
                prop_assert!(["when", "half", "when_segmentation", "when_position"].iter().all(|name| record[*name][used..].iter().all(|&value| value == 0)));
                prop_assert!(segmentation[..used].iter().all(|segment| (1..=i64::from(segments)).contains(segment)));
                for segment in segmentation[..used].chunk_by(|a, b| a == b) {
                    let start = segmentation.partition_point(|other| *other != 0 && *other < segment[0]).min(used);
                    let range = start..start + segment.len();
                    prop_assert!(position[range.clone()].iter().copied().eq(0..i64::try_from(segment.len()).unwrap()));
                    mine.push(record["when"][range.clone()].iter().copied().zip(record["half"][range].iter().copied()).collect::<Vec<_>>());
                }
            }
            let mut wanted = expected.remove(shard).unwrap_or_default();
            mine.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(mine, wanted);
        }
        prop_assert!(expected.is_empty());
        prop_assert!(conserved.explains(events.len() as u64, written as u64), "{:?}", conserved);
        let whole = emit(&case, &events, shards, 1, &[]).0;
        prop_assert_eq!(found, whole, "neither partitions nor batches show");
    }
}

/// A bucket of one event, packed: every window is one event.
#[test]
fn a_window_of_one() {
    let limit = NonZeroU32::new(8).unwrap();
    let packing = Packing { max_segments: limit, open_windows: limit };
    let case = case(&[1], job::Overflow::Split { overlap: 0 }, Some(packing), SinkFormat::ArrayRecord, RecordEncoding::Tensor);
    let (found, conserved) = emit(&case, &events(&[3, 2], 1, 4), 1, 1, &[]);
    assert_eq!(found[&(Some(1), 0)].len(), 5);
    assert_eq!(conserved.packing.unwrap().padding, 0);
    assert!(matches!(case.shape.buckets, Buckets::Fixed(_)));
}
