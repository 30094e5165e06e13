//! Chunks encoded by several threads, handed back in order.
//!
//! Groups of records are gathered into batches of about 1 MiB, so that the cost of handing work over does not count for small records.
//! The calling thread encodes too whenever it would otherwise wait, so no thread of the pool is ever needed for progress: a writer that
//! runs inside the pool it encodes with cannot block it.
use super::encode::ChunkEncoder;
use crate::Options;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A batch is handed over from this many bytes of records on.
const BATCH_BYTES: usize = 1 << 20;

/// Batches in flight hold at most about this many bytes of records, unless a single batch is larger.
const IN_FLIGHT_BYTES: usize = 64 << 20;

/// Groups of records, not encoded yet.
#[derive(Default)]
struct Batch {
    sizes: Vec<u8>,
    values: Vec<u8>,
    /// For each group: where its sizes and its values end, and its number of records.
    groups: Vec<(usize, usize, u64)>,
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
}

enum Slot {
    Waiting(Batch, Encoded),
    Running,
    Done(io::Result<Encoded>, usize),
}

struct Queue {
    slots: VecDeque<Slot>,
    /// The number of the first slot, counted from the start of the file.
    first: usize,
    /// Bytes of records in all slots.
    bytes: usize,
    workers: usize,
    encoders: Vec<ChunkEncoder>,
    /// Buffers of batches that are done, for the next ones.
    spare: Vec<Batch>,
    abandoned: bool,
}

struct Shared {
    options: Options,
    queue: Mutex<Queue>,
    progress: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes the first waiting batch, if there is one.
    fn encode_one(&self) -> bool {
        let mut queue = self.lock();
        let Some(at) = queue.slots.iter().position(|slot| matches!(slot, Slot::Waiting(..))) else { return false };
        let Slot::Waiting(batch, encoded) = std::mem::replace(&mut queue.slots[at], Slot::Running) else { return false };
        let mut running = Running { shared: self, number: queue.first + at, bytes: batch.values.len(), outcome: None };
        let encoder = queue.encoders.pop();
        drop(queue);
        let encoder = encoder.map_or_else(|| ChunkEncoder::new(&self.options), Ok);
        running.outcome = Some(encoder.and_then(|encoder| encode(encoder, batch, encoded)));
        true
    }
}

/// A batch that a thread is at. Dropping it reports the outcome, or a failure if the thread unwinds: nobody waits for ever.
struct Running<'a> {
    shared: &'a Shared,
    number: usize,
    bytes: usize,
    outcome: Option<io::Result<(Encoded, ChunkEncoder, Batch)>>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        let outcome = match self.outcome.take() {
            Some(Ok((encoded, encoder, batch))) => {
                queue.encoders.push(encoder);
                queue.spare.push(batch);
                Ok(encoded)
            }
            Some(Err(error)) => Err(error),
            None => Err(io::Error::other("an encoding thread ended early")),
        };
        let at = self.number.wrapping_sub(queue.first);
        if let Some(slot) = queue.slots.get_mut(at) {
            *slot = Slot::Done(outcome, self.bytes);
        }
        drop(queue);
        self.shared.progress.notify_all();
    }
}

fn encode(mut encoder: ChunkEncoder, mut batch: Batch, mut encoded: Encoded) -> io::Result<(Encoded, ChunkEncoder, Batch)> {
    encoded.bytes.clear();
    encoded.chunks.clear();
    let (mut sizes_from, mut values_from) = (0, 0);
    for &(sizes_end, values_end, records) in &batch.groups {
        let values = &batch.values[values_from..values_end];
        let data_bytes = encoder.encode(&batch.sizes[sizes_from..sizes_end], values, records, &mut encoded.bytes)?;
        encoded.chunks.push(Chunk { end: encoded.bytes.len(), data_bytes, records, decoded_bytes: values.len() as u64 });
        (sizes_from, values_from) = (sizes_end, values_end);
    }
    batch.sizes.clear();
    batch.groups.clear();
    batch.values.clear();
    batch.values.shrink_to(2 * BATCH_BYTES);
    Ok((encoded, encoder, batch))
}

/// The encoding threads of one writer.
pub(super) struct Parallel {
    shared: Arc<Shared>,
    threads: usize,
    batch: Batch,
    /// Buffers of chunks that were written, for the next ones.
    spare: Vec<Encoded>,
}

impl Parallel {
    pub(super) fn new(options: &Options) -> Self {
        let queue = Queue { slots: VecDeque::new(), first: 0, bytes: 0, workers: 0, encoders: Vec::new(), spare: Vec::new(), abandoned: false };
        let shared = Shared { options: options.clone(), queue: Mutex::new(queue), progress: Condvar::new() };
        Self { shared: Arc::new(shared), threads: options.max_parallelism().get(), batch: Batch::default(), spare: Vec::new() }
    }

    /// Adds a group; `true` when the batch is full and wants to be handed over.
    pub(super) fn add(&mut self, sizes: &[u8], values: &[u8], records: u64) -> bool {
        let batch = &mut self.batch;
        batch.sizes.extend_from_slice(sizes);
        batch.values.extend_from_slice(values);
        batch.groups.push((batch.sizes.len(), batch.values.len(), records));
        batch.values.len() + batch.sizes.len() >= BATCH_BYTES
    }

    /// Hands the batch over.
    pub(super) fn submit(&mut self) {
        if self.batch.groups.is_empty() {
            return;
        }
        let mut queue = self.shared.lock();
        let next = queue.spare.pop().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, next);
        queue.bytes += batch.values.len();
        queue.slots.push_back(Slot::Waiting(batch, self.spare.pop().unwrap_or_default()));
        // The calling thread is one of the encoding ones.
        if queue.workers + 1 < self.threads {
            queue.workers += 1;
            drop(queue);
            let shared = Arc::clone(&self.shared);
            rayon::spawn(move || {
                // Looked at under the lock that `submit` pushes under: a batch is never left to a worker that is about to end.
                loop {
                    while shared.encode_one() {}
                    let mut queue = shared.lock();
                    if queue.abandoned || !queue.slots.iter().any(|slot| matches!(slot, Slot::Waiting(..))) {
                        queue.workers -= 1;
                        return;
                    }
                }
            });
        }
    }

    /// Takes the next encoded batch, in order. With `all` it waits for every batch that was handed over; without, only while more are in
    /// flight than memory should hold. `None` when there is none to take.
    pub(super) fn take(&mut self, all: bool) -> Option<io::Result<Encoded>> {
        let mut queue = self.shared.lock();
        loop {
            match queue.slots.front()? {
                Slot::Done(..) => {
                    let Some(Slot::Done(outcome, bytes)) = queue.slots.pop_front() else { return None };
                    queue.first += 1;
                    queue.bytes -= bytes;
                    return Some(outcome);
                }
                _ if !all && queue.slots.len() <= 2 * self.threads && (queue.bytes <= IN_FLIGHT_BYTES || queue.slots.len() == 1) => return None,
                _ => {}
            }
            if queue.slots.iter().any(|slot| matches!(slot, Slot::Waiting(..))) {
                drop(queue);
                self.shared.encode_one();
                queue = self.shared.lock();
            } else {
                queue = self.shared.progress.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Gives buffers back.
    pub(super) fn reuse(&mut self, mut encoded: Encoded) {
        encoded.bytes.clear();
        encoded.bytes.shrink_to(2 * BATCH_BYTES);
        self.spare.push(encoded);
    }
}

impl Drop for Parallel {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.abandoned = true;
        queue.slots.clear();
    }
}
