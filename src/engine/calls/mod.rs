//! The calls in flight.
//!
//! - `slots`: one slot for each call that may be in flight, and when it may be used.
//! - `attempt_timeout`: how long a call may take.
//! - `call`: one call and its answer; `key_counts`: its result for each partition key.
//! - `settle`: from the answer to the result for each entry.
//! - `queue`: the calls that wait for a task.

mod attempt_timeout;
mod call;
mod key_counts;
mod queue;
mod settle;
mod slots;

use std::pin::pin;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{JoinSet, consume_budget};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use self::call::{Caller, make};
use self::queue::CapacitySignal;
use crate::metrics::Metrics;
use crate::shutdown::joined;
use crate::targets::BatchTarget;

pub(crate) use attempt_timeout::AttemptTimeout;
pub(crate) use call::Call;
pub(crate) use queue::{CallQueue, Queued};
pub(crate) use settle::Settled;
#[cfg(test)]
pub(crate) use settle::settle;
pub(crate) use slots::{Slot, Slots};

/// How many idle tasks and empty chunks are kept after a burst of calls.
pub(crate) const KEPT: usize = 64;

/// Makes calls, each in a task of its own, and returns their results.
///
/// A task that has made its call takes the next one. The future of an SDK call is five kilobytes large: allocating it for
/// each call and moving it there costs more than the rest of this crate's work for the call. The task whose call ends first
/// takes the next one, so that no more of these futures are in use than there are calls in flight.
pub(crate) struct CallPool<T: BatchTarget> {
    caller: Arc<Caller<T>>,
    tasks: JoinSet<()>,
    /// Tasks that were not told to end.
    staying: usize,
    in_flight: usize,
    call_queue: Arc<CallQueue<T::Entry>>,
    ended: UnboundedReceiver<Settled<T::Entry>>,
    end: UnboundedSender<Settled<T::Entry>>,
}

impl<T: BatchTarget> CallPool<T> {
    pub(crate) fn new(target: Arc<T>, attempt_timeout: AttemptTimeout, metrics: Metrics) -> Self {
        let (end, ended) = mpsc::unbounded_channel();
        Self {
            caller: Arc::new(Caller {
                target,
                attempt_timeout,
                abandoned: CancellationToken::new(),
                span: Span::current(),
                metrics,
            }),
            tasks: JoinSet::new(),
            staying: 0,
            in_flight: 0,
            call_queue: Arc::new(CallQueue::new(Handle::current().metrics().num_workers())),
            ended,
            end,
        }
    }

    /// Whether no call is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flight == 0
    }

    /// Whether a task would make another call soon. If not, the [signal](Self::capacity_signal) is notified when one would.
    pub(crate) fn has_capacity(&self) -> bool {
        self.call_queue.has_capacity()
    }

    /// Is notified when there is [capacity](Self::has_capacity) again.
    pub(crate) fn capacity_signal(&self) -> CapacitySignal {
        self.call_queue.capacity_signal()
    }

    /// Starts a call.
    pub(crate) fn start(&mut self, call: Call<T::Entry>) {
        self.in_flight += 1;
        self.call_queue.push(Queued::Call(call));
        if self.staying < self.in_flight {
            self.staying += 1;
            let caller = Arc::clone(&self.caller);
            self.tasks
                .spawn(work(caller, Arc::clone(&self.call_queue), self.end.clone()));
        }
    }

    /// The result of the next call that ends; `None` if none is in flight. Cancel-safe.
    ///
    /// # Panics
    /// If the runtime has shut down and the delivery is awaited outside of it, or for a bug in this crate: a call catches the
    /// panics of the target.
    pub(crate) async fn next(&mut self) -> Option<Settled<T::Entry>> {
        while self.in_flight > 0 {
            tokio::select! {
                biased;
                Some(settled) = self.ended.recv() => return Some(self.count_ended(settled)),
                // A task that was told to end, or that ended together with its call.
                Some(task) = self.tasks.join_next() => joined(task).await,
            }
        }
        None
    }

    /// The result of another call that has already ended, if any.
    pub(crate) fn next_ended(&mut self) -> Option<Settled<T::Entry>> {
        let settled = self.ended.try_recv().ok()?;
        Some(self.count_ended(settled))
    }

    /// Counts a call that has ended.
    fn count_ended(&mut self, settled: Settled<T::Entry>) -> Settled<T::Entry> {
        self.in_flight -= 1;
        if self.staying > self.in_flight + KEPT {
            self.staying -= 1;
            self.call_queue.push(Queued::End);
        }
        settled
    }

    /// Abandons the calls in flight: they end at once.
    pub(crate) fn give_up(&self) {
        self.caller.abandoned.cancel();
    }

    /// Whether the calls in flight were [abandoned](Self::give_up).
    pub(crate) fn are_given_up(&self) -> bool {
        self.caller.abandoned.is_cancelled()
    }

    /// Ends the tasks, so that none of them keeps the target alive.
    pub(crate) async fn close(&mut self) {
        self.tasks.shutdown().await;
    }
}

impl<T: BatchTarget> Drop for CallPool<T> {
    /// Calls that no task has taken end at once, and the strategy is told so, even when a task takes long to end.
    fn drop(&mut self) {
        drop(self.call_queue.take_back());
    }
}

/// Makes one call after the other.
async fn work<T: BatchTarget>(
    caller: Arc<Caller<T>>,
    call_queue: Arc<CallQueue<T::Entry>>,
    end: UnboundedSender<Settled<T::Entry>>,
) {
    while let Queued::Call(call) = call_queue.next().await {
        // Pinned in place, for the same reason as the call inside `make`.
        let settled = pin!(make(&caller, call)).await;
        if end.send(settled).is_err() {
            return;
        }
        // Calls that end at once yield to other tasks.
        consume_budget().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use tokio::task::yield_now;

    use super::*;
    use crate::backoff::{BackoffStrategy, Outcome, Pace, Retry, Waiter};
    use crate::engine::entry::{Chunk, EntryState, TrackedEntry};
    use crate::invalid::InvalidEntry;
    use crate::options::DeliveryOptions;
    use crate::pace::{Gate, Permit};
    use crate::targets::{Answer, Limits, Verdict};

    /// Accepts everything at once.
    struct Immediate;

    impl BatchTarget for Immediate {
        type Entry = ();

        fn limits(&self) -> Limits {
            unreachable!("no entry is packed here")
        }

        fn check(&self, (): &()) -> Result<usize, InvalidEntry> {
            Ok(1)
        }

        async fn send(&self, _: &[()]) -> Answer {
            Answer::Whole(Verdict::Accepted)
        }
    }

    /// Counts the calls that it observes.
    struct Counting(Arc<AtomicUsize>);

    impl BackoffStrategy for Counting {
        fn delay(&self, _: Retry) -> Duration {
            Duration::ZERO
        }

        fn pace(&self) -> Option<&dyn Pace> {
            Some(self)
        }
    }

    impl Pace for Counting {
        fn observe(&self, _: &Outcome) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    fn call(gate: &Arc<Gate>) -> Call<()> {
        let waiter = Waiter::new(1);
        let mut chunk = Chunk::with_capacity(1);
        let state = EntryState::new(0, 1);
        chunk.push(TrackedEntry { entry: (), state });
        Call {
            chunk,
            bisection: None,
            departure: Permit::at_once(gate, &waiter).expect("the queue is empty").depart(1),
        }
    }

    fn pool() -> CallPool<Immediate> {
        CallPool::new(
            Arc::new(Immediate),
            AttemptTimeout::new(DeliveryOptions::default()),
            Metrics::none(),
        )
    }

    fn caller() -> Arc<Caller<Immediate>> {
        Arc::clone(&pool().caller)
    }

    fn counting() -> (Arc<Gate>, Arc<AtomicUsize>) {
        let observed = Arc::new(AtomicUsize::new(0));
        (Arc::new(Gate::new(Counting(Arc::clone(&observed)))), observed)
    }

    #[tokio::test]
    async fn calls_that_no_task_has_taken_are_over_when_the_delivery_is_dropped() {
        let (gate, observed) = counting();
        let mut calls = pool();
        (0..3).for_each(|_| calls.start(call(&gate)));
        // The tasks have not run, and end only when the runtime polls them.
        drop(calls);
        assert_eq!(observed.load(Relaxed), 3);
    }

    #[tokio::test]
    async fn a_burst_of_calls_leaves_a_few_idle_tasks_and_none_of_them_outlives_the_delivery() {
        let (gate, observed) = counting();
        let mut calls = pool();
        let target = Arc::downgrade(&calls.caller.target);
        for (burst, kept) in [(1, 1), (1, 1), (3 * KEPT, KEPT), (2, KEPT)] {
            (0..burst).for_each(|_| calls.start(call(&gate)));
            assert!(!calls.is_empty());
            for _ in 0..burst {
                assert!(calls.next().await.is_some());
            }
            assert!(calls.is_empty() && calls.next().await.is_none());
            for _ in 0..3 * KEPT {
                yield_now().await;
            }
            while calls.tasks.try_join_next().is_some() {}
            assert_eq!(calls.tasks.len(), kept, "tasks after {burst} calls");
        }
        assert_eq!(observed.load(Relaxed), 3 * KEPT + 4);
        calls.close().await;
        drop(calls);
        assert!(target.upgrade().is_none());
    }

    #[tokio::test]
    #[should_panic(expected = "the runtime shuts down")]
    async fn a_call_that_is_lost_with_its_task_is_not_waited_for() {
        let (gate, _) = counting();
        let mut calls = pool();
        calls.start(call(&gate));
        calls.tasks.abort_all();
        calls.next().await;
    }

    #[tokio::test]
    #[should_panic(expected = "a fault of this crate")]
    async fn what_a_task_panics_over_reaches_the_delivery() {
        let mut calls = pool();
        calls.in_flight = 1;
        calls.tasks.spawn(async { panic!("a fault of this crate") });
        calls.next().await;
    }

    #[tokio::test]
    async fn a_thousand_calls_that_end_at_once_leave_time_for_others() {
        let (gate, observed) = counting();
        let call_queue = Arc::new(CallQueue::new(1));
        (0..1_000).for_each(|_| call_queue.push(Queued::Call(call(&gate))));
        let (end, _ended) = mpsc::unbounded_channel();
        let task = tokio::spawn(work(caller(), call_queue, end));
        while observed.load(Relaxed) == 0 {
            yield_now().await;
        }
        assert!(observed.load(Relaxed) < 1_000);
        task.abort();
    }

    #[tokio::test]
    async fn what_waits_for_capacity_goes_before_the_calls_that_are_left() {
        const THREADS: usize = 4;
        let (gate, observed) = counting();
        let call_queue = Arc::new(CallQueue::new(THREADS));
        while call_queue.has_capacity() {
            call_queue.push(Queued::Call(call(&gate)));
        }
        let signal = call_queue.capacity_signal();
        let waits = tokio::spawn(async move {
            signal.freed().await;
            observed.load(Relaxed)
        });
        yield_now().await;
        let (end, _ended) = mpsc::unbounded_channel();
        let task = tokio::spawn(work(caller(), call_queue, end));
        assert_eq!(waits.await.unwrap(), THREADS - 1);
        task.abort();
    }
}
