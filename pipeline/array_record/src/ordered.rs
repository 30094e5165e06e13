//! Work done by threads of the pool and handed back in the order it was given.
//!
//! The thread that wants the results works too whenever it would otherwise wait, so no thread of the pool is ever needed for progress: a
//! writer or reader that runs inside the pool cannot block it.
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

enum Slot<I, O> {
    Waiting(I),
    Running,
    /// `None` when the thread that was at it unwound.
    Done(Option<O>),
}

/// What waits, runs or is done, and the bytes it holds.
type Slots<I, O> = VecDeque<(Slot<I, O>, usize)>;

struct Queue<C, I, O> {
    slots: Slots<I, O>,
    /// The number of the first slot, counted from the beginning.
    first: usize,
    /// Bytes in all slots.
    bytes: usize,
    /// Workspaces that no thread is using, and how many there are in all.
    contexts: Vec<C>,
    made: usize,
    /// Threads of the pool that were called, and those of them that have come.
    called: usize,
    present: usize,
    abandoned: bool,
}

impl<C, I, O> Queue<C, I, O> {
    /// Whether there is work that a thread could begin now.
    fn waits(&self, most_contexts: usize) -> bool {
        (!self.contexts.is_empty() || self.made < most_contexts) && self.slots.iter().any(|(slot, _)| matches!(slot, Slot::Waiting(_)))
    }
}

type Work<C, I, O> = dyn Fn(&mut C, I) -> O + Send + Sync;

struct Shared<C, I, O> {
    work: Box<Work<C, I, O>>,
    most_contexts: usize,
    queue: Mutex<Queue<C, I, O>>,
    progress: Condvar,
}

/// A slot that a thread is at. Dropping it reports the outcome, or that there is none if the thread unwinds: nobody waits for ever.
struct Running<'a, C, I, O> {
    shared: &'a Shared<C, I, O>,
    number: usize,
    outcome: Option<(O, C)>,
}

impl<C, I, O> Drop for Running<'_, C, I, O> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        let outcome = match self.outcome.take() {
            Some((output, context)) => {
                queue.contexts.push(context);
                Some(output)
            }
            None => {
                // Its context is lost with it; another may be made.
                queue.made -= 1;
                None
            }
        };
        let at = self.number.wrapping_sub(queue.first);
        if let Some((slot, _)) = queue.slots.get_mut(at) {
            *slot = Slot::Done(outcome);
        }
        drop(queue);
        self.shared.progress.notify_all();
    }
}

impl<C, I, O> Shared<C, I, O> {
    fn lock(&self) -> MutexGuard<'_, Queue<C, I, O>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Default, I, O> Shared<C, I, O> {
    /// Does the first waiting work, if there is some and a context for it.
    fn work_once(&self) -> bool {
        let mut queue = self.lock();
        let Some(at) = queue.slots.iter().position(|(slot, _)| matches!(slot, Slot::Waiting(_))) else { return false };
        let mut context = match queue.contexts.pop() {
            Some(context) => context,
            None if queue.made < self.most_contexts => {
                queue.made += 1;
                C::default()
            }
            None => return false,
        };
        let mut running = Running { shared: self, number: queue.first + at, outcome: None };
        let Slot::Waiting(input) = std::mem::replace(&mut queue.slots[at].0, Slot::Running) else { return false };
        drop(queue);
        let output = (self.work)(&mut context, input);
        running.outcome = Some((output, context));
        true
    }
}

/// How much may be in flight before [`Ordered::take`] waits: pieces of work, and bytes in them (one piece is always allowed).
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) pieces: usize,
    pub(crate) bytes: usize,
}

/// The queue: `I` in, `O` out, in order; `C` is what a thread needs at hand to work and is reused.
pub(crate) struct Ordered<C, I, O> {
    shared: Arc<Shared<C, I, O>>,
    workers: usize,
    limit: Limit,
}

impl<C: Default + Send + 'static, I: Send + 'static, O: Send + 'static> Ordered<C, I, O> {
    /// At most `contexts` threads work at once, at most `workers` of them from rayon's pool. With one context, work is done in order too.
    pub(crate) fn new(contexts: usize, workers: usize, limit: Limit, work: impl Fn(&mut C, I) -> O + Send + Sync + 'static) -> Self {
        let queue = Queue { slots: VecDeque::new(), first: 0, bytes: 0, contexts: Vec::new(), made: 0, called: 0, present: 0, abandoned: false };
        let shared = Shared { work: Box::new(work), most_contexts: contexts, queue: Mutex::new(queue), progress: Condvar::new() };
        Self { shared: Arc::new(shared), workers, limit }
    }

    /// Hands work over, which holds so many bytes. `wakes` a thread of the pool for it; otherwise it is left to those at work or to who waits.
    pub(crate) fn submit(&self, input: I, bytes: usize, wakes: bool) {
        let mut queue = self.shared.lock();
        queue.bytes = queue.bytes.saturating_add(bytes);
        queue.slots.push_back((Slot::Waiting(input), bytes));
        if !wakes || queue.called >= self.workers {
            return;
        }
        queue.called += 1;
        drop(queue);
        let shared = Arc::clone(&self.shared);
        rayon::spawn(move || {
            shared.lock().present += 1;
            loop {
                // A panic is told through the slot that it leaves without a result; let loose here it would end the process.
                while std::panic::catch_unwind(AssertUnwindSafe(|| shared.work_once())).unwrap_or(true) {}
                // Looked at under the lock that `submit` pushes under: work is never left to a worker that is about to end. What waits
                // for a context is left to whoever holds one, which looks here too or is about to take the result.
                let mut queue = shared.lock();
                if queue.abandoned || !queue.waits(shared.most_contexts) {
                    queue.called -= 1;
                    queue.present -= 1;
                    return;
                }
            }
        });
    }

    /// Whether nothing is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.lock().slots.is_empty()
    }

    /// Whether more should be handed over before a result is taken.
    pub(crate) fn has_room(&self) -> bool {
        let queue = self.shared.lock();
        queue.slots.is_empty() || queue.slots.len() < self.limit.pieces && queue.bytes < self.limit.bytes
    }

    /// The next result that is there, or, while more is in flight than the limit allows, the next one.
    pub(crate) fn take_ready(&self) -> Option<Option<O>> {
        self.next(false)
    }

    /// The next result; waits for it. `None` when nothing is in flight, `Some(None)` when its thread unwound.
    pub(crate) fn take(&self) -> Option<Option<O>> {
        self.next(true)
    }

    fn next(&self, waits: bool) -> Option<Option<O>> {
        let mut queue = self.shared.lock();
        loop {
            let within_limit = queue.slots.len() <= self.limit.pieces && (queue.bytes <= self.limit.bytes || queue.slots.len() == 1);
            match &queue.slots.front()?.0 {
                Slot::Done(_) => {
                    let Some((Slot::Done(outcome), bytes)) = queue.slots.pop_front() else { return None };
                    queue.first += 1;
                    queue.bytes = queue.bytes.saturating_sub(bytes);
                    return Some(outcome);
                }
                _ if !waits && within_limit => return None,
                _ => {}
            }
            // Unless all workers are at it already: taking work from under them only sends them away.
            let is_short_handed = self.workers == 0 || queue.present < self.workers;
            if is_short_handed && queue.waits(self.shared.most_contexts) {
                drop(queue);
                self.shared.work_once();
                queue = self.shared.lock();
            } else {
                queue = self.shared.progress.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// The one context, once nothing is in flight any more; a fresh one when there was never work.
    pub(crate) fn into_context(self) -> Option<C> {
        let mut queue = self.shared.lock();
        if queue.made == 0 { Some(C::default()) } else { queue.contexts.pop() }
    }
}

impl<C, I, O> Drop for Ordered<C, I, O> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.abandoned = true;
        queue.slots.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Limit = Limit { pieces: 4, bytes: 1 << 20 };

    #[test]
    fn results_come_in_order_whatever_the_number_of_threads() {
        for (contexts, workers) in [(1, 0), (1, 1), (2, 1), (3, 3)] {
            let queue = Ordered::new(contexts, workers, LIMIT, |seen: &mut u64, input: u64| {
                *seen += 1;
                std::thread::yield_now();
                input * 2
            });
            let mut outputs = Vec::new();
            for input in 0..500 {
                queue.submit(input, 10, true);
                while let Some(output) = queue.take_ready() {
                    outputs.push(output.unwrap());
                }
            }
            while let Some(output) = queue.take() {
                outputs.push(output.unwrap());
            }
            assert!(outputs.iter().copied().eq((0..500).map(|input| input * 2)), "{contexts} {workers}");
            assert!(queue.is_empty() && queue.has_room());
            if contexts == 1 {
                assert_eq!(queue.into_context(), Some(500), "one context sees everything");
            }
        }
    }

    #[test]
    fn one_context_works_in_order() {
        let queue = Ordered::new(1, 1, LIMIT, |seen: &mut Vec<u32>, input: u32| seen.push(input));
        for input in 0..1000 {
            queue.submit(input, 0, true);
            while queue.take_ready().is_some() {}
        }
        while queue.take().is_some() {}
        assert!(queue.into_context().unwrap().into_iter().eq(0..1000));
    }

    #[test]
    fn a_worker_that_panics_is_reported_and_the_rest_goes_on() {
        let queue = Ordered::new(1, 1, LIMIT, |(): &mut (), input: u32| {
            assert!(input % 5 != 1, "as asked");
            input
        });
        let mut outcomes = Vec::new();
        for input in 0..50 {
            queue.submit(input, 1, true);
            // Only the worker works: the caller looks at results that are there.
            while queue.shared.lock().slots.iter().any(|(slot, _)| !matches!(slot, Slot::Done(_))) {
                std::thread::yield_now();
            }
            outcomes.push(queue.take().unwrap());
        }
        assert!(outcomes.into_iter().eq((0..50).map(|input| (input % 5 != 1).then_some(input))));
    }

    #[test]
    fn work_that_panics_is_reported_and_the_rest_goes_on() {
        let queue = Ordered::new(2, 0, LIMIT, |(): &mut (), input: u32| {
            assert!(input != 1, "as asked");
            input
        });
        (0..3).for_each(|input| queue.submit(input, 1, true));
        let next = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| queue.take())).unwrap_or(None);
        assert_eq!(next(), Some(Some(0)));
        // The calling thread itself was at it: the panic passes through, then the slot says that it has no result.
        assert_eq!(next(), None);
        assert_eq!(next(), Some(None));
        assert_eq!(next(), Some(Some(2)));
        assert_eq!(next(), None);
    }
}
