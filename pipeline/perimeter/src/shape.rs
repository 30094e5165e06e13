//! From sorted rows to Examples of static shape.
//!
//! [`Layout::resolve`] settles once what every Example of a job looks like. An [`Emitter`] per partition then takes the sorted batches and writes the
//! partition's shards: one Example a row, or per entity its events in order, cut into chunks of the largest bucket and padded at the end to the smallest
//! bucket that holds them. It holds one chunk of one entity at most, however long the entity is, and its bytes do not depend on how rows were cut into batches.
//!
//! What a shape is chosen by and made of, each on plain values and arrow arrays:
//! - [`lengths`] and [`buckets`]: the histogram of lengths, the boundaries that pad least, what a choice costs; [`overflow`] and [`pack`]: where elements go.
//! - [`dtype`], [`scale`], [`vocabulary`], [`tokenize`]: values as numbers of a type, on a scale, as categories, as tokens.
//! - [`statistics`]: what of these is computed once and frozen.
pub mod buckets;
mod column;
pub mod dtype;
mod emit;
mod layout;
pub mod lengths;
pub mod measure;
pub mod overflow;
pub mod pack;
mod runs;
pub mod scale;
pub mod statistics;
pub mod tokenize;
pub mod vocabulary;

pub use emit::{Emitted, Emitter};
pub(crate) use layout::overflow as job_overflow;
pub use layout::{ANY_LENGTH, CHUNK, FeatureShape, Frozen, HIDDEN_PREFIX, LENGTH, Layout, POSITION, SEGMENTATION, SHARD_COLUMN, UNIT_COLUMN};

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
