//! Files in object stores, without a local copy: [`StoreReader`] and [`StoreWriter`] over any [`object_store::ObjectStore`].
//!
//! Feature `object_store`, on by default. Which stores there are (`aws`, `gcp`, `fs` …) is for your own dependency on the crate object_store to say.
//! Everything here is async and wants a tokio runtime, as the stores themselves do.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use array_record::store::{StoreReader, StoreWriter};
//! use futures::TryStreamExt;
//! use object_store::{memory::InMemory, path::Path};
//! use std::sync::Arc;
//!
//! let store = Arc::new(InMemory::new());
//! let path = Path::from("cards/train.array_record-00000-of-00001");
//! let mut writer = StoreWriter::create(store.clone(), path.clone(), &"group_size:1,zstd:3".parse()?).await?;
//! for record in ["first", "", "third"] {
//!     writer.write_record(record.as_bytes()).await?;
//! }
//! let closed = writer.close().await?;
//!
//! let reader = StoreReader::open(store, path).await?;
//! assert_eq!(reader.num_records(), closed.records());
//! assert_eq!(reader.records_at(&[2, 0]).await?, [b"third", b"first"]);
//! let all: Vec<Vec<u8>> = reader.records(0..3).try_collect().await?;
//! assert_eq!(all.concat(), b"firstthird");
//! # Ok(())
//! # })
//! # }
//! ```
mod read;
mod write;

pub use read::StoreReader;
pub use write::StoreWriter;
