//! The memory that sorts, joins and exchanges share.
//!
//! The engine's own fair pool gives every consumer that can spill an equal part, and counts each channel of an exchange as one:
//! sorts then spill with most of the memory unused. Here the sorts share what the others leave, and the others have a part
//! that no sort can take. An exchange gets what it asks for: its channels hold a few batches each, and a sort drains them.
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use std::fmt;
use std::sync::Mutex;

/// See the module.
#[derive(Debug)]
pub struct SortPool {
    bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sorts: usize,
    sort_bytes: usize,
    other_bytes: usize,
}

impl SortPool {
    /// A pool of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, state: Mutex::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn kept_for_others(&self) -> usize {
        self.bytes / 32
    }
}

fn is_sort(consumer: &MemoryConsumer) -> bool {
    consumer.can_spill() && consumer.name().starts_with("ExternalSorter[")
}

fn exhausted(consumer: &MemoryConsumer, bytes: usize, available: usize) -> DataFusionError {
    DataFusionError::ResourcesExhausted(format!("{} asked for {bytes} bytes, {available} are left for it", consumer.name()))
}

impl fmt::Display for SortPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sort pool of {} bytes", self.bytes)
    }
}

impl MemoryPool for SortPool {
    fn name(&self) -> &str {
        "sorts"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if is_sort(consumer) {
            self.lock().sorts += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if is_sort(consumer) {
            let mut state = self.lock();
            state.sorts = state.sorts.saturating_sub(1);
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        let mut state = self.lock();
        let bytes = if is_sort(reservation.consumer()) { &mut state.sort_bytes } else { &mut state.other_bytes };
        *bytes += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut state = self.lock();
        let bytes = if is_sort(reservation.consumer()) { &mut state.sort_bytes } else { &mut state.other_bytes };
        *bytes = bytes.saturating_sub(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let consumer = reservation.consumer();
        let mut state = self.lock();
        if is_sort(consumer) {
            let for_sorts = self.bytes.saturating_sub(state.other_bytes.max(self.kept_for_others()));
            let share = for_sorts / state.sorts.max(1);
            if reservation.size() + additional > share {
                return Err(exhausted(consumer, additional, share.saturating_sub(reservation.size())));
            }
            state.sort_bytes += additional;
        } else {
            let left = self.bytes.saturating_sub(state.sort_bytes + state.other_bytes);
            if additional > left && !consumer.can_spill() {
                return Err(exhausted(consumer, additional, left));
            }
            state.other_bytes += additional;
        }
        Ok(())
    }

    fn reserved(&self) -> usize {
        let state = self.lock();
        state.sort_bytes + state.other_bytes
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn sorts_share_what_the_others_leave() {
        let pool: Arc<dyn MemoryPool> = Arc::new(SortPool::new(3200));
        let exchange = MemoryConsumer::new("RepartitionExec[0]").with_can_spill(true).register(&pool);
        let one = MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(&pool);
        one.try_grow(3100).unwrap();
        one.try_grow(1).unwrap_err();
        let two = MemoryConsumer::new("ExternalSorter[1]").with_can_spill(true).register(&pool);
        one.shrink(3100);
        one.try_grow(1550).unwrap();
        one.try_grow(1).unwrap_err();
        two.try_grow(1550).unwrap();
        exchange.try_grow(200).unwrap();
        assert_eq!(pool.reserved(), 3300, "an exchange is never made to spill");
        drop((two, exchange));
        one.try_grow(1550).unwrap();
        drop(one);
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn a_merge_takes_from_the_sorts() {
        let pool: Arc<dyn MemoryPool> = Arc::new(SortPool::new(8000));
        let merge = MemoryConsumer::new("ExternalSorterMerge[0]").register(&pool);
        merge.try_grow(4000).unwrap();
        let sort = MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(&pool);
        sort.try_grow(4000).unwrap();
        sort.try_grow(1).unwrap_err();
        merge.try_grow(1).unwrap_err();
    }
}
