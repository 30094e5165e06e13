//! What makes a folder of shards a TFDS directory: `dataset_info.json`, `features.json` and file names, so that
//! `tfds.builder_from_directory(FOLDER).as_data_source()` opens it, without TensorFlow.
//!
//! Pure functions: names and bytes, no I/O. TFDS decodes `tf.train.Example` records only; shards of raw tensors get none of this. bfloat16 and float16 are
//! little-endian bytes there, which TFDS calls the encoding `bytes`.
//! Source: `tensorflow_datasets` 4.9.10, `core/proto/{dataset_info,feature}.proto` in protobuf's JSON form (64-bit integers are strings), `core/naming.py`.
use crate::shape::dtype::Dtype;
use serde_json::{Map, Value, json};

/// The file with the splits.
pub const DATASET_INFO: &str = "dataset_info.json";
/// The file with the features.
pub const FEATURES: &str = "features.json";

/// TFDS asks every dataset for one of three numbers; ours are told apart by the run.
const VERSION: &str = "1.0.0";

/// The format of the shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// ArrayRecord: random access.
    ArrayRecord,
    /// TFRecord: in order only, and only with TensorFlow.
    TfRecord,
}

impl FileFormat {
    /// As TFDS and file names spell it.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::ArrayRecord => "array_record",
            Self::TfRecord => "tfrecord",
        }
    }
}

/// One split of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// `train`.
    pub name: String,
    /// Records of each shard, in order; shards without records included.
    pub shard_records: Vec<u64>,
    /// Bytes of all shards.
    pub bytes: u64,
}

/// One feature of the folder's Examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name in the Example.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

/// What a feature holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// One value of bytes.
    Bytes,
    /// A tensor of static shape; empty for a single value.
    Tensor {
        /// The type of its elements.
        dtype: Dtype,
        /// Its shape.
        shape: Vec<u32>,
    },
}

/// The name of a shard's file: what TFDS makes of its default template. The `dataset` is one path segment.
pub fn shard_file_name(dataset: &str, split: &str, format: FileFormat, shard: u32, shards: u32) -> String {
    let digits = shards.to_string().len().max(5);
    format!("{dataset}-{split}.{}-{shard:0digits$}-of-{shards:0digits$}", format.suffix())
}

/// The bytes of `dataset_info.json`. A split without records stays out: TFDS cannot open its data source, nor then that of any other.
pub fn dataset_info(dataset: &str, description: &str, format: FileFormat, splits: &[Split]) -> Vec<u8> {
    let splits: Vec<Value> = splits
        .iter()
        .filter(|split| split.shard_records.iter().any(|&records| records > 0))
        .map(|split| {
            json!({
                "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                "name": split.name,
                "numBytes": split.bytes.to_string(),
                "shardLengths": split.shard_records.iter().map(u64::to_string).collect::<Vec<_>>(),
            })
        })
        .collect();
    file(&json!({
        "description": description,
        "fileFormat": format.suffix(),
        "name": dataset,
        "splits": splits,
        "version": VERSION,
    }))
}

/// The bytes of `features.json`.
pub fn features(features: &[Feature]) -> Vec<u8> {
    let mut sorted: Vec<&Feature> = features.iter().collect();
    sorted.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    let features: Map<String, Value> = sorted.into_iter().map(|feature| (feature.name.clone(), connector(&feature.content))).collect();
    file(&json!({
        "pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
        "featuresDict": {"features": features},
    }))
}

fn connector(content: &Content) -> Value {
    let (dtype, shape, encoding) = match content {
        Content::Bytes => ("string", &[][..], "none"),
        // An Example's lists hold neither, so they travel as bytes.
        Content::Tensor { dtype: dtype @ (Dtype::Bfloat16 | Dtype::Float16), shape } => (dtype.name(), shape.as_slice(), "bytes"),
        Content::Tensor { dtype, shape } => (dtype.name(), shape.as_slice(), "none"),
    };
    let shape = if shape.is_empty() { json!({}) } else { json!({"dimensions": shape.iter().map(u32::to_string).collect::<Vec<_>>()}) };
    json!({
        "pythonClassName": "tensorflow_datasets.core.features.tensor_feature.Tensor",
        "tensor": {"dtype": dtype, "encoding": encoding, "shape": shape},
    })
}

fn file(value: &Value) -> Vec<u8> {
    // Strings and maps with string keys: nothing that serde_json can refuse.
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_tfds() {
        assert_eq!(shard_file_name("cards", "train", FileFormat::ArrayRecord, 3, 16), "cards-train.array_record-00003-of-00016");
        assert_eq!(shard_file_name("cards", "validation", FileFormat::TfRecord, 0, 65_536), "cards-validation.tfrecord-00000-of-65536");
        // More digits for both numbers when the count needs them: {n:0%d} of the count's own width.
        assert_eq!(shard_file_name("cards", "train", FileFormat::TfRecord, 7, 123_456), "cards-train.tfrecord-000007-of-123456");
    }

    #[test]
    fn splits_are_protobuf_json() {
        let split = Split { name: "train".to_owned(), shard_records: vec![3, 0, 4], bytes: 1234 };
        let none = Split { name: "validation".to_owned(), shard_records: vec![0, 0], bytes: 512 };
        let bytes = dataset_info("cards", "sequences", FileFormat::ArrayRecord, &[split, none]);
        assert_eq!(
            serde_json::from_slice::<Value>(&bytes).unwrap(),
            json!({
                "name": "cards", "description": "sequences", "version": "1.0.0", "fileFormat": "array_record",
                "splits": [{"name": "train", "numBytes": "1234", "shardLengths": ["3", "0", "4"],
                            "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}],
            })
        );
    }

    /// What `FeaturesDict.save_config` of tensorflow_datasets 4.9.10 writes for the same features.
    #[test]
    fn features_are_those_that_tfds_writes() {
        let tensor = |name: &str, dtype, shape: &[u32]| Feature { name: name.to_owned(), content: Content::Tensor { dtype, shape: shape.to_vec() } };
        let bytes = features(&[
            tensor("length", Dtype::Int64, &[]),
            tensor("amount", Dtype::Float32, &[16]),
            tensor("b", Dtype::Bfloat16, &[16, 2]),
            Feature { name: "account".to_owned(), content: Content::Bytes },
        ]);
        let class = "tensorflow_datasets.core.features.tensor_feature.Tensor";
        assert_eq!(
            serde_json::from_slice::<Value>(&bytes).unwrap(),
            json!({
                "pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
                "featuresDict": {"features": {
                    "account": {"pythonClassName": class, "tensor": {"dtype": "string", "encoding": "none", "shape": {}}},
                    "amount": {"pythonClassName": class, "tensor": {"dtype": "float32", "encoding": "none", "shape": {"dimensions": ["16"]}}},
                    "b": {"pythonClassName": class, "tensor": {"dtype": "bfloat16", "encoding": "bytes", "shape": {"dimensions": ["16", "2"]}}},
                    "length": {"pythonClassName": class, "tensor": {"dtype": "int64", "encoding": "none", "shape": {}}},
                }},
            })
        );
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.find("account") < text.find("amount"), "in byte order");
    }
}
