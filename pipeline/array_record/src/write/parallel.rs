//! Chunks encoded by several threads, handed back in order.
//!
//! Groups of records are gathered into batches of about 1 MiB, so that the cost of handing work over does not count for small records.
use super::encode::ChunkEncoder;
use crate::Options;
use crate::ordered::{Limit, Ordered};
use std::io;

/// A batch is handed over from this many bytes of records on.
const BATCH_BYTES: usize = 1 << 20;

/// Batches in flight hold at most about this many bytes of records, unless a single batch is larger.
const IN_FLIGHT_BYTES: usize = 64 << 20;

/// Memory that one large batch left behind is given back above this size.
const KEPT_BATCH_BYTES: usize = 16 << 20;

/// Groups of records, not encoded yet.
#[derive(Default)]
struct Batch {
    sizes: Vec<u8>,
    values: Vec<u8>,
    /// For each group: where its sizes and its values end, and its number of records.
    groups: Vec<(usize, usize, u64)>,
}

/// What a group takes beside its bytes: its place in the batch, a chunk's header, its place among the chunks.
const GROUP_BYTES: usize = size_of::<(usize, usize, u64)>() + 48 + size_of::<Chunk>();

impl Batch {
    fn bytes(&self) -> usize {
        self.values.len() + self.sizes.len() + self.groups.len() * GROUP_BYTES
    }
}

/// One encoded chunk: where it ends in its batch's bytes, and what the footer says of it.
pub(super) struct Chunk {
    pub(super) end: usize,
    pub(super) data_bytes: u64,
    pub(super) records: u64,
    pub(super) decoded_bytes: u64,
}

/// The chunks of a batch, one behind another.
#[derive(Default)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) chunks: Vec<Chunk>,
    /// The batch that they were encoded from, to be filled again.
    batch: Batch,
}

fn encode(encoder: &mut ChunkEncoder, batch: Batch, mut encoded: Encoded) -> io::Result<Encoded> {
    let (mut sizes_from, mut values_from) = (0, 0);
    for &(sizes_end, values_end, records) in &batch.groups {
        let values = &batch.values[values_from..values_end];
        let data_bytes = encoder.encode(&batch.sizes[sizes_from..sizes_end], values, records, &mut encoded.bytes)?;
        encoded.chunks.push(Chunk { end: encoded.bytes.len(), data_bytes, records, decoded_bytes: values.len() as u64 });
        (sizes_from, values_from) = (sizes_end, values_end);
    }
    encoded.batch = batch;
    Ok(encoded)
}

/// The encoding threads of one writer.
pub(super) struct Parallel {
    queue: Ordered<Option<ChunkEncoder>, (Batch, Encoded), io::Result<Encoded>>,
    batch: Batch,
    /// Buffers of batches that were written, for the next ones.
    spare: Vec<Encoded>,
}

impl Parallel {
    pub(super) fn new(options: &Options) -> Self {
        // More than the pool has would only be buffers.
        let threads = options.max_parallelism().get().min(rayon::current_num_threads());
        let options = options.clone();
        let limit = Limit { pieces: threads.saturating_mul(2), bytes: IN_FLIGHT_BYTES };
        let queue = Ordered::new(threads, threads, limit, move |encoder: &mut Option<ChunkEncoder>, (batch, encoded)| {
            let encoder = match encoder {
                Some(encoder) => encoder,
                None => encoder.insert(ChunkEncoder::new(&options)?),
            };
            encode(encoder, batch, encoded)
        });
        Self { queue, batch: Batch::default(), spare: Vec::new() }
    }

    /// Adds a group; `true` when the batch is full and wants to be handed over.
    pub(super) fn add(&mut self, sizes: &[u8], values: &[u8], records: u64) -> bool {
        let batch = &mut self.batch;
        batch.sizes.extend_from_slice(sizes);
        batch.values.extend_from_slice(values);
        batch.groups.push((batch.sizes.len(), batch.values.len(), records));
        batch.bytes() >= BATCH_BYTES
    }

    /// Hands the batch over.
    pub(super) fn submit(&mut self) {
        if self.batch.groups.is_empty() {
            return;
        }
        let mut encoded = self.spare.pop().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, std::mem::take(&mut encoded.batch));
        let bytes = batch.bytes();
        self.queue.submit((batch, encoded), bytes, true);
    }

    /// Takes the next encoded batch, in order. With `all` it waits for every batch that was handed over; without, only while more are in
    /// flight than memory should hold. `None` when there is none to take.
    pub(super) fn take(&mut self, all: bool) -> Option<io::Result<Encoded>> {
        let encoded = if all { self.queue.take() } else { self.queue.take_ready() };
        encoded.map(|encoded| encoded.unwrap_or_else(|| Err(io::Error::other("an encoding thread ended early"))))
    }

    /// Gives buffers back.
    pub(super) fn reuse(&mut self, mut encoded: Encoded) {
        let Encoded { bytes, chunks, batch: Batch { sizes, values, groups } } = &mut encoded;
        bytes.clear();
        bytes.shrink_to(KEPT_BATCH_BYTES);
        chunks.clear();
        sizes.clear();
        values.clear();
        values.shrink_to(KEPT_BATCH_BYTES);
        sizes.shrink_to(KEPT_BATCH_BYTES);
        groups.clear();
        self.spare.push(encoded);
    }
}
