//! The files that make each bucket's folder a TFDS directory.
use super::manifest::{Feature, Split};
use crate::shape::{ANY_LENGTH, dtype};
use crate::shard::{ClosedShard, ShardSink, bucket_folder, file_format, tfds};
use perimeter_contract::job::RecordEncoding;
use std::collections::BTreeSet;

/// `dataset_info.json` and `features.json` of every bucket: path and bytes. None for raw tensors, which TFDS does not decode, and for
/// features of any length, which have no place in its `Tensor`.
pub(super) fn files(sink: &ShardSink, splits: &[Split], shards: &[ClosedShard]) -> Vec<(String, Vec<u8>)> {
    let any = |split: &Split| split.features.iter().any(|feature| feature.shape.contains(&ANY_LENGTH));
    if sink.encoding() != RecordEncoding::TfExample || splits.iter().any(any) {
        return Vec::new();
    }
    let buckets: BTreeSet<Option<u32>> = splits.iter().map(|split| split.bucket).collect();
    let mut files = Vec::new();
    for bucket in buckets {
        let mine = splits.iter().filter(|split| split.bucket == bucket);
        let described: Vec<tfds::Split> = mine
            .clone()
            .map(|split| {
                let shards = || shards.iter().filter(|shard| shard.bucket() == bucket && shard.split() == split.name);
                tfds::Split {
                    name: split.name.clone(),
                    shard_records: shards().map(|shard| shard.proof().records()).collect(),
                    bytes: shards().map(|shard| shard.proof().bytes()).sum(),
                }
            })
            .collect();
        let features: Vec<tfds::Feature> = mine.into_iter().next().map(|split| split.features.iter().map(feature).collect()).unwrap_or_default();
        let folder = bucket_folder(bucket);
        let description = bucket.map_or_else(|| "one example per row".to_owned(), |bucket| format!("examples of static length {bucket}"));
        let info = tfds::dataset_info(sink.dataset(), &description, file_format(sink.format()), &described);
        files.push((format!("{folder}/{}", tfds::DATASET_INFO), info));
        files.push((format!("{folder}/{}", tfds::FEATURES), tfds::features(&features)));
    }
    files
}

fn feature(feature: &Feature) -> tfds::Feature {
    let content = dtype::Dtype::of(feature.dtype).map_or(tfds::Content::Bytes, |dtype| tfds::Content::Tensor { dtype, shape: feature.shape.clone() });
    tfds::Feature { name: feature.name.clone(), content }
}
