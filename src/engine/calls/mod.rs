//! The calls in flight.
//!
//! - `slots`: one slot for each call that may be in flight, and when it may be used.
//! - `attempt_timeout`: how long a call may take.
//! - `call`: one call and its answer; `key_counts`: its result for each partition key.
//! - `settle`: from the answer to the result for each entry.

mod attempt_timeout;
mod call;
mod key_counts;
mod settle;
mod slots;

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use self::call::{Caller, make};
use crate::contract::ErasedTarget;
use crate::metrics::Metrics;
use crate::shutdown::joined;

pub(crate) use attempt_timeout::AttemptTimeout;
pub(crate) use call::Call;
pub(crate) use settle::EndedCall;
#[cfg(test)]
pub(crate) use settle::tests::{ended_call, ended_call_at};
pub(crate) use slots::{Slot, Slots};

/// Makes calls, each in a task of its own, and returns their results.
///
/// A task allocates the future of its call, and the target that of its request, about five kilobytes together. To keep tasks for
/// later calls would save 0.6% of the instructions of a message at most, and take a queue that wakes them.
pub(crate) struct CallTasks<E> {
    caller: Arc<Caller<E>>,
    tasks: JoinSet<EndedCall<E>>,
}

impl<E: Send + Sync + 'static> CallTasks<E> {
    pub(crate) fn new(target: Arc<dyn ErasedTarget<E>>, attempt_timeout: AttemptTimeout, metrics: Metrics) -> Self {
        Self {
            caller: Arc::new(Caller {
                target,
                attempt_timeout,
                abandoned: CancellationToken::new(),
                span: Span::current(),
                metrics,
            }),
            tasks: JoinSet::new(),
        }
    }

    /// Whether no call is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Starts a call.
    pub(crate) fn start(&mut self, call: Call<E>) {
        let caller = Arc::clone(&self.caller);
        self.tasks.spawn(async move { make(&caller, call).await });
    }

    /// The result of the next call that ends; `None` if none is in flight. Cancel-safe.
    ///
    /// # Panics
    /// If the runtime has shut down and the delivery is awaited outside of it, or for a bug in this crate: a call catches the
    /// panics of the target.
    pub(crate) async fn next(&mut self) -> Option<EndedCall<E>> {
        let ended = self.tasks.join_next().await?;
        Some(joined(ended).await)
    }

    /// The result of another call that has already ended, if any. Panics as [`next`](Self::next) does.
    pub(crate) async fn next_ended(&mut self) -> Option<EndedCall<E>> {
        let ended = self.tasks.try_join_next()?;
        Some(joined(ended).await)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use tokio::task::yield_now;

    use super::*;
    use crate::backoff::{BackoffStrategy, Outcome, Pace, Retry, Waiter};
    use crate::contract::{Answer, BatchTarget, Limits, Verdict};
    use crate::engine::entry::{Chunk, EntryState, TrackedEntry};
    use crate::invalid::InvalidEntry;
    use crate::options::DeliveryOptions;
    use crate::pace::{Gate, Permit};

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

    fn tasks() -> CallTasks<()> {
        CallTasks::new(
            Arc::new(Immediate),
            AttemptTimeout::new(DeliveryOptions::default()),
            Metrics::none(),
        )
    }

    fn counting() -> (Arc<Gate>, Arc<AtomicUsize>) {
        let observed = Arc::new(AtomicUsize::new(0));
        (Arc::new(Gate::new(Counting(Arc::clone(&observed)))), observed)
    }

    #[tokio::test]
    async fn calls_that_have_not_begun_are_over_when_the_delivery_is_dropped() {
        let (gate, observed) = counting();
        let mut calls = tasks();
        (0..3).for_each(|_| calls.start(call(&gate)));
        drop(calls);
        // The runtime drops them as soon as it comes to them.
        while observed.load(Relaxed) < 3 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_target_does_not_outlive_the_delivery() {
        let (gate, observed) = counting();
        let mut calls = tasks();
        let target = Arc::downgrade(&calls.caller.target);
        (0..3).for_each(|_| calls.start(call(&gate)));
        assert!(calls.next().await.is_some() && !calls.is_empty());
        while calls.next().await.is_some() {}
        assert!(calls.is_empty());
        assert_eq!(observed.load(Relaxed), 3);
        calls.start(call(&gate));
        calls.close().await;
        drop(calls);
        assert!(target.upgrade().is_none());
    }

    #[tokio::test]
    #[should_panic(expected = "the runtime shuts down")]
    async fn a_call_that_is_lost_with_its_task_is_not_waited_for() {
        let (gate, _) = counting();
        let mut calls = tasks();
        calls.start(call(&gate));
        calls.tasks.abort_all();
        calls.next().await;
    }

    #[tokio::test]
    #[should_panic(expected = "a fault of this crate")]
    async fn what_a_task_panics_over_reaches_the_delivery() {
        let mut calls = tasks();
        calls.tasks.spawn(async { panic!("a fault of this crate") });
        calls.next().await;
    }
}
