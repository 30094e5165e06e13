//! ArrayRecord files: the record format that Grain, MaxText and TFDS read by record number.
//!
//! A file is a row of chunks of records, each compressed by itself, and an index of the chunks at the end. This crate writes, reads and
//! verifies it, and refuses what the official C++ library lets pass.
//!
//! # Where to begin
//!
//! | you want to | use |
//! |---|---|
//! | write a file to anything that is [`std::io::Write`] | [`Writer`], with [`Options`] in the official notation |
//! | say that a file is complete, with its digests | [`Closed`], which only [`Writer::close`] makes |
//! | read some records by number | [`Reader::record`], [`Reader::records_at`] |
//! | read all records in order | [`Reader::records`] |
//! | read from something other than a file or bytes | implement [`ReadAt`] |
//! | read from or upload to S3, GCS and other object stores, without a local copy | [`store`] |
//! | know that a file is sound, or what is lost | [`verify`] |
//! | look at every record of a file that must be sound | [`verify_with`], which decodes once |
//!
//! # Cookbook
//!
//! Write a file and keep its proof for a manifest:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("array_record_doc_{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("train.array_record-00000-of-00001");
//! use array_record::{Options, Reader, Writer, verify};
//! use std::fs::File;
//!
//! let options: Options = "group_size:1,zstd:3".parse()?;
//! let mut writer = Writer::new(File::create(&path)?, &options)?;
//! for record in ["first", "", "third"] {
//!     writer.write_record(record.as_bytes())?;
//! }
//! let (closed, file) = writer.close()?;
//! file.sync_all()?;
//! assert_eq!(closed.records(), 3);
//!
//! // Read by number, in bulk, and in order.
//! let reader = Reader::open(File::open(&path)?)?;
//! assert_eq!(reader.record(2)?, b"third");
//! assert_eq!(reader.records_at(&[2, 0])?, [b"third", b"first"]);
//! let mut records = reader.records(0..reader.num_records());
//! let mut bytes = 0;
//! while let Some(record) = records.next_borrowed() {
//!     bytes += record?.len();
//! }
//! assert_eq!(bytes, 10);
//!
//! // Opening is not verification: this reads every byte.
//! let sound = verify(&File::open(&path)?)?;
//! assert_eq!(sound.sha256, closed.sha256());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! Re-encode a file: the example `copy` of this crate (`cargo run --release --example copy -- SRC DST group_size:64,zstd:5`).
//!
//! Which threads? A writer encodes on the calling thread and leaves the digests to rayon's pool; `"zstd:3,max_parallelism:4"` encodes on four
//! threads, `max_parallelism:1` does everything on the calling one; uncompressed records are always encoded on the calling one, where that
//! is faster. A reader decodes on the whole pool ([`Reader::with_max_parallelism`]).
//! Bytes, records and errors do not change with the number of threads.
//!
//! Which `group_size`? 1 for training that shuffles: a random access decodes one record. 64 and more compress small records better (by a
//! quarter, say, for records of 512 bytes) and read faster in order, but every random access decodes the whole group. With
//! `pad_to_block_boundary` every group takes 64 KiB at least.
//!
//! What is left of a damaged file? [`Reader::records`] ends at the first damage; [`verify_with`] hands on every record that is sound, before and
//! behind it, with its number. Errors say what and where; [`std::error::Error::source`] says why a file or store cannot be read.
//!
//! # The format, byte by byte
//!
//! All numbers are little-endian. A *varint* is LEB128 as in protocol buffers. A *hash* is HighwayHash-64 with the key
//! `Riegeli/records\nRiegeli/records\n`. Source: google/riegeli, `doc/riegeli_records_file_format.md`, and google/array_record,
//! `cpp/layout.proto` and `cpp/array_record_writer.cc`.
//!
//! | a file | |
//! |---|---|
//! | signature chunk | the first 64 bytes are the same in every file |
//! | data chunks | in order; each followed by a padding chunk up to the block's end when `pad_to_block_boundary` is set |
//! | footer chunk | the index |
//! | padding chunk | up to the end of a block, unless the footer ends there |
//! | postscript chunk | begins the last block |
//! | padding chunk | up to the end of that block |
//!
//! The smallest file, without records, has 131,072 bytes; every file is a whole number of blocks.
//!
//! **Block header**, 24 bytes, at every multiple of 65,536. It interrupts whatever chunk stands there; a chunk that begins on a block edge
//! begins with it. A chunk neither begins nor ends inside a block header or right behind one.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | hash of the other 16 |
//! | 8 | 8 | distance from the beginning of the interrupted chunk to here |
//! | 16 | 8 | distance from here to the end of that chunk |
//!
//! **Chunk**: a header of 40 bytes, the data, and zeros until the chunk has as many bytes as records and ends where a chunk may end.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | hash of the other 32 |
//! | 8 | 8 | size of the data, without block headers |
//! | 16 | 8 | hash of the data |
//! | 24 | 1 | kind: `s` signature, `r` simple, `t` transposed, `p` padding, `m` metadata |
//! | 25 | 7 | number of records |
//! | 32 | 8 | sum of the record sizes |
//!
//! **Data of a simple chunk** (kind `r`):
//!
//! | bytes | |
//! |---|---|
//! | 1 | compression: 0 none, `z` zstd, `b` brotli, `s` snappy |
//! | varint | length of the next field |
//! | … | the record sizes, a varint each: decompressed size (varint, only when compressed), then the compressed bytes |
//! | the rest | the records one after another, in the same form |
//!
//! **Footer chunk**: a simple chunk, compressed like the data. Its first record is a `RiegeliFooterMetadata`: field 1 is a message with
//! 1 version (1), 2 number of chunks, 3 number of records, 4 writer options (text). One `ArrayRecordFooter` for each data chunk follows:
//! 1 offset of the chunk in the file, 2 sum of its record sizes, 3 number of its records.
//!
//! **Postscript chunk**: a simple chunk, not compressed, of three equal `RiegeliPostscript` records: 1 offset of the footer chunk, 2 magic
//! number 0x71930e704fdae05e.
//!
//! **Transposed chunks** (kind `t`, the option `transpose`) take records apart as protocol buffer messages. They are read, not written: one
//! field's values beside each other compress better, but a random access decodes the whole group, and the records this project
//! writes are mostly one array of bytes.
//!
//! # What is refused here and passes there
//!
//! | | official reader (0.8.6) | [`Reader::open`] | [`verify`] |
//! |---|---|---|---|
//! | a file cut to exactly 64 KiB | 0 records, no error | [`Fault::TooSmall`] | the same, with the sound records counted |
//! | a wrong signature, another format's first bytes | ignored | [`Fault::Signature`] | the same |
//! | postscript copies that differ | first one wins | [`Fault::Postscript`] | the same |
//! | an index with other numbers than its chunks | believed | [`Fault::Footer`], [`Fault::IndexMismatch`] when read | the same |
//! | damaged padding | ignored | ignored | [`Fault::Padding`], [`Fault::ChunkDataHash`] |
//! | groups of different sizes | finds the wrong records | read correctly | [`Fault::Footer`] |
//! | data that the index does not name | ignored | ignored | [`Fault::Unindexed`] |
//! | text in padding, chunks of other kinds | ignored | ignored | [`Fault::Padding`], [`Fault::ChunkKind`] |
//!
//! # Memory
//!
//! No number in a file is believed before the bytes bear it out. Sizes are bounded by what a compressor can at most make of the bytes at
//! hand, counts by the bytes they would take, an index by the size of the file, a transposed chunk's state machine by what it writes, and what
//! is read for a chunk by what it decodes to. A chunk that really decodes to much is bounded by [`Reader::with_max_chunk_bytes`], 8 GiB unless set:
//! whoever reads files of strangers sets it.
//!
//! | who | holds |
//! |---|---|
//! | a writer | the group in the making and its encoded form, 320 KiB of output, a dozen bytes of index a chunk, twice that while closing |
//! | digests beside it | up to five buffers of output more |
//! | more encoding threads | some 2 MiB of records each, 64 MiB in all at most, and as much of chunks; or as many groups where those are larger |
//! | an open file | 16 bytes a chunk; while opening, and while verifying, about 45 |
//! | a batch of records | for each thread a request of 256 KiB or a chunk, encoded and decoded |
//! | records in order | for each thread up to 4 MiB decoded and 512 KiB encoded, or as many chunks where those are larger; a chunk across block edges once more |
//!
//! A record has 1 GiB at most ([`MAX_RECORD_BYTES`]), a group 8 GiB ([`MAX_GROUP_BYTES`]).
//!
//! # Speed
//!
//! Two cores (Xeon with SHA-NI), 2026-11-30, `tests/bench/records.sh`, beside the official library 0.8.6 called from Python; times it is
//! faster, or how much over its limit a write takes: zstd alone over the same groups, SHA-256 alone over an uncompressed file.
//!
//! | record bytes | options | write, one thread | two | one over its limit | read all | random 1,000 | file size |
//! |---|---|---|---|---|---|---|---|
//! | 128 | `group_size:1,zstd:3` | 2.59 | 4.33 | 1.22 | 6.91 | 3.65 | 1.0000 |
//! | 128 | `group_size:1,uncompressed` | 5.06 | 4.73 | 2.04 | 3.79 | 3.19 | 1.0000 |
//! | 128 | `group_size:64,zstd:3` | 1.59 | 2.58 | 1.16 | 5.07 | 1.57 | 0.9907 |
//! | 128 | `group_size:64,uncompressed` | 2.70 | 2.69 | 1.20 | 8.94 | 2.20 | 1.0000 |
//! | 512 | `group_size:1,zstd:3` | 1.74 | 3.05 | 1.11 | 5.41 | 3.68 | 1.0000 |
//! | 512 | `group_size:1,uncompressed` | 3.44 | 3.26 | 1.16 | 3.53 | 3.54 | 1.0000 |
//! | 512 | `group_size:64,zstd:3` | 1.57 | 2.63 | 1.11 | 3.05 | 1.28 | 1.0000 |
//! | 512 | `group_size:64,uncompressed` | 1.29 | 1.29 | 1.17 | 6.50 | 1.62 | 1.0000 |
//! | 4096 | `group_size:1,zstd:3` | 1.67 | 2.73 | 1.13 | 2.69 | 2.16 | 0.9772 |
//! | 4096 | `group_size:1,uncompressed` | 1.15 | 1.16 | 1.18 | 4.90 | 2.86 | 1.0000 |
//! | 4096 | `group_size:64,zstd:3` | 1.52 | 2.61 | 1.08 | 3.11 | 1.21 | 0.9826 |
//! | 4096 | `group_size:64,uncompressed` | 0.76 | 0.77 | 1.20 | 3.87 | 1.25 | 1.0000 |
//! | 65536 | `group_size:1,zstd:3` | 1.59 | 2.69 | 1.07 | 1.72 | 1.74 | 1.0021 |
//! | 65536 | `group_size:1,uncompressed` | 0.75 | 0.74 | 1.21 | 3.12 | 2.09 | 1.0000 |
//! | 65536 | `group_size:64,zstd:3` | 1.12 | 1.77 | 1.09 | 1.78 | 2.77 | 1.0028 |
//! | 65536 | `group_size:64,uncompressed` | 0.64 | 0.61 | 1.47 | 1.33 | 3.92 | 1.0000 |
//!
//! Without compression SHA-256, 1.45 GB/s there, is most of the work, and the official writer computes none: from 512 bytes a record on, more
//! than 4 times its speed is out of reach, and records of 64 KiB, or of 4 KiB in
//! groups of 64, are written slower than there. Random reads of groups of 64 decode the whole group there
//! and here: both are at zstd's own speed. Files of records of 4 KiB are smaller by 2 % for the reason under "Byte for byte".
//!
//! # Byte for byte
//!
//! With the same options, files are identical to the official writer's when the compressor sees the same input in the same way: always for
//! `uncompressed`; for zstd as long as neither a group nor the footer has 4,096 bytes or more. From there on the official writer streams
//! into the compressor without telling it the size, which makes frames without a content size and with a window of 1 MiB; here the size is
//! known and said. Brotli and snappy are other implementations of the same formats: equal bytes
//! happen, and are not promised. The footer says `max_parallelism:1`, as the official Python package does, however many threads wrote.
mod decode;
mod fault;
mod footer;
mod index;
mod layout;
mod options;
mod ordered;
mod read;
mod read_at;
#[cfg(feature = "object_store")]
pub mod store;
mod transpose;
mod verify;
mod write;

#[cfg(test)]
mod hostile;

pub use fault::Fault;
pub use options::{Compression, Options, OptionsError};
pub use read::{ReadError, Reader, Records};
pub use read_at::ReadAt;
pub use verify::{Damage, Reason, Sound, verify, verify_with};
pub use write::{Closed, MAX_GROUP_BYTES, MAX_RECORD_BYTES, WriteError, Writer};
