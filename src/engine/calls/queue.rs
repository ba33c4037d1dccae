//! The calls that wait for a task.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use tokio::sync::Notify;
use tokio::task::yield_now;

use super::call::Call;
use crate::sync::{Mutex, MutexGuard};

/// Calls that may wait for a task, for each thread of the runtime. While a thread has a call to make, another one would
/// only wait. The entries of a call were just read and checked, and the call writes and drops them: the fewer calls wait,
/// the more of these entries are still in the cache of a core. With two, a thread has one left while the next ones are
/// packed.
const AHEAD: usize = 2;

/// What a task does next.
pub(crate) enum Queued<E> {
    Call(Call<E>),
    End,
}

/// The calls that no task has taken yet.
pub(crate) struct CallQueue<E> {
    state: Mutex<State<E>>,
    /// Wakes a task for a call. Two wakes without a waiting task count as one, so a task that takes a call and leaves
    /// others in the queue wakes the next task.
    queued: Notify,
    /// Threads that make the calls.
    threads: usize,
    signal: CapacitySignal,
}

struct State<E> {
    waiting: VecDeque<Queued<E>>,
    /// Whether the loop has found no capacity and has to be woken when there is some.
    awaits_capacity: bool,
}

/// Wakes the loop when there is capacity for another call.
#[derive(Clone, Default)]
pub(crate) struct CapacitySignal(Arc<Notify>);

impl CapacitySignal {
    /// Ready when there is capacity again. A notification before the wait is kept.
    pub(crate) async fn freed(&self) {
        self.0.notified().await;
    }
}

impl<E> CallQueue<E> {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                awaits_capacity: false,
            }),
            queued: Notify::new(),
            threads,
            signal: CapacitySignal::default(),
        }
    }

    /// Whether a task would make another call soon.
    ///
    /// If not, the [signal](Self::capacity_signal) is notified when one would; if so, it is not. Both are decided here
    /// under the lock, because a moment later the answer may differ.
    pub(crate) fn has_capacity(&self) -> bool {
        let mut state = self.state();
        state.awaits_capacity = state.waiting.len() >= self.most();
        !state.awaits_capacity
    }

    /// The most calls that may wait.
    fn most(&self) -> usize {
        AHEAD * self.threads
    }

    /// Is notified when there is [capacity](Self::has_capacity) again.
    pub(crate) fn capacity_signal(&self) -> CapacitySignal {
        self.signal.clone()
    }

    /// Adds a call and wakes a task for it, so that several cores begin at once instead of one after the other.
    pub(crate) fn push(&self, next: Queued<E>) {
        self.state().waiting.push_back(next);
        self.queued.notify_last();
    }

    /// What a task does next.
    pub(crate) async fn next(&self) -> Queued<E> {
        loop {
            match self.step() {
                Some(Step::Take(next)) => return next,
                Some(Step::SignalCapacity) => {
                    self.signal.0.notify_one();
                    // The woken task runs next on this worker and cannot be stolen, so yield here. Otherwise it would run when this
                    // worker has no call left to make, and then the others would have none left either.
                    if self.threads > 1 {
                        yield_now().await;
                    }
                }
                None => self.queued.notified().await,
            }
        }
    }

    fn step(&self) -> Option<Step<E>> {
        let mut state = self.state();
        // Early enough that no thread waits for the next calls. The loop must find capacity when it is woken; otherwise it
        // would be woken again before a call was taken.
        let soon = (self.threads + 1).min(self.most() - 1);
        if state.awaits_capacity && state.waiting.len() <= soon {
            state.awaits_capacity = false;
            return Some(Step::SignalCapacity);
        }
        let next = state.waiting.pop_front()?;
        let left = state.waiting.len();
        drop(state);
        if left > 0 {
            self.queued.notify_last();
        }
        Some(Step::Take(next))
    }

    /// Takes out everything that no task has taken.
    pub(crate) fn take_back(&self) -> VecDeque<Queued<E>> {
        std::mem::take(&mut self.state().waiting)
    }

    fn state(&self) -> MutexGuard<'_, State<E>> {
        // No code panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a task does next.
enum Step<E> {
    Take(Queued<E>),
    /// There is capacity again, and the loop waits for it.
    SignalCapacity,
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use futures::FutureExt;
    use tokio::time::timeout;

    use super::*;

    /// A queue with as many calls as it has capacity for.
    fn full(threads: usize) -> CallQueue<()> {
        let call_queue = CallQueue::new(threads);
        while call_queue.has_capacity() {
            call_queue.push(Queued::End);
        }
        call_queue
    }

    async fn take_all(call_queue: &CallQueue<()>) {
        let all = async { while matches!(call_queue.next().await, Queued::End) {} };
        // The timeout ends the wait on the empty queue.
        assert!(timeout(Duration::from_secs(1), all).await.is_err());
    }

    #[test]
    fn there_is_capacity_only_as_far_as_threads_will_take_the_calls_soon() {
        assert_eq!(full(1).take_back().len(), AHEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn the_signal_comes_even_if_there_is_capacity_before_the_wait() {
        let call_queue = full(1);
        let signal = call_queue.capacity_signal();
        assert!(signal.freed().now_or_never().is_none());
        take_all(&call_queue).await;
        assert!(signal.freed().now_or_never().is_some());
        // After it has found capacity, the loop waits for other events.
        assert!(call_queue.has_capacity());
        call_queue.push(Queued::End);
        take_all(&call_queue).await;
        assert!(signal.freed().now_or_never().is_none());
    }

    #[test]
    fn after_the_signal_there_is_capacity() {
        for threads in [1, 2, 64] {
            let call_queue = full(threads);
            let signal = call_queue.capacity_signal();
            let mut told = pin!(signal.freed());
            while told.as_mut().now_or_never().is_none() {
                let _ = call_queue.next().now_or_never();
            }
            assert!(call_queue.has_capacity(), "{threads}");
        }
    }

    #[test]
    fn each_call_wakes_a_task_that_waits() {
        let call_queue: CallQueue<()> = CallQueue::new(1);
        let (mut one, mut other) = (pin!(call_queue.queued.notified()), pin!(call_queue.queued.notified()));
        assert!(one.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        (0..2).for_each(|_| call_queue.push(Queued::End));
        assert!(one.now_or_never().is_some() && other.now_or_never().is_some());
    }

    #[test]
    fn a_task_that_takes_one_call_and_leaves_others_wakes_the_next_task() {
        let call_queue: CallQueue<()> = CallQueue::new(1);
        // No task waits yet, so one wake is kept.
        (0..2).for_each(|_| call_queue.push(Queued::End));
        let (mut one, mut other) = (pin!(call_queue.queued.notified()), pin!(call_queue.queued.notified()));
        assert!(one.as_mut().now_or_never().is_some());
        assert!(other.as_mut().now_or_never().is_none());
        assert!(call_queue.step().is_some());
        assert!(other.now_or_never().is_some(), "no task was woken for the second one");
    }
}
