//! Shards: which one a record belongs to, its bytes, and files that are published together or not at all.
//!
//! - [`shard_column`] and [`shard_of`] spread rows over shards by a stable hash; the set of files is known before the first is written.
//! - [`Encoder`] writes `tf.train.Example` bytes, the same for the same values.
//! - [`ShardSink`] (ArrayRecord or TFRecord files) and [`TableSink`] (Parquet) are made once per run, over a [`VersionFolder`] each.
//! - [`ShardWriter`] and [`TableWriter`] write the shards of one partition and return proof, [`ClosedShard`] and [`ClosedPart`], which
//!   [`seal`](crate::seal) takes. Dropping a sink that was not sealed removes what it wrote.
//! - [`tf_record`], [`tensor`] and [`tfds`]: the other file format, the other encoding, and what makes a folder a TFDS directory.
//!
//! The usual door is [`shape::Emitter`](crate::shape::Emitter), which drives all of it.
mod container;
mod example;
mod folder;
mod hash;
mod table;
pub mod tensor;
pub mod tf_record;
pub mod tfds;
mod write;

pub use container::Proof;
pub use example::{Encoder, Field, ListKind, Malformed, Values, each_field, fields};
pub(crate) use folder::io_failure;
pub use folder::{NewFile, StoredFile, VersionFolder};
pub(crate) use hash::{Text, plain};
pub use hash::{shard_column, shard_of, tie_column};
pub use table::{ClosedPart, TableSink, TableWriter};
pub use write::{ClosedShard, SPLIT, ShardSink, ShardWriter, bucket_folder, file_format, shard_options};

#[cfg(test)]
pub(crate) mod decode;
#[cfg(test)]
mod tests;
