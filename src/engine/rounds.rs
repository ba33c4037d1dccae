//! The calls in flight.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::{JoinSet, consume_budget};

use super::round::{Round, round};
use super::settle::Settled;
use crate::target::BatchTarget;

/// Tasks that may wait for a call, and chunks that may wait for entries. More are not kept after a burst of calls.
pub(super) const KEPT: usize = 64;

/// Calls for each thread of the runtime that may wait for a task. As long as a thread has a call to make, another one would
/// only wait. Its entries were just read and checked, and are written and dropped by the call: the fewer wait, the more of
/// them are still in the cache of a core then. With two, a thread has one left while the next ones are packed.
const AHEAD: usize = 2;

/// Makes calls, each in a task that the runtime polls for itself, and tells what they came to.
///
/// A task that has made its call takes the next one. The SDK's future of a call has ten kilobytes: to make room for each
/// and to move it there costs more than the rest of this crate does for the call. And whose call ends first takes the next
/// one, so that no more of that room is touched than there are calls that wait for an answer.
pub(super) struct Rounds<T: BatchTarget> {
    tasks: JoinSet<()>,
    /// The tasks that were not told to end.
    staying: usize,
    in_flight: usize,
    queue: Arc<Queue<T::Entry>>,
    ended: UnboundedReceiver<Ended<T::Entry>>,
    end: UnboundedSender<Ended<T::Entry>>,
}

/// What a call came to.
type Ended<E> = thread::Result<Settled<E>>;

/// Calls that no task has taken yet.
struct Queue<E> {
    orders: Mutex<Orders<E>>,
    /// Wakes a task for an order. Of two wakes that find nobody waiting only one is kept: so who takes an order and leaves
    /// others wakes the next task.
    came: Notify,
    /// Threads that make the calls.
    threads: usize,
    room: Room,
}

struct Orders<E> {
    waiting: VecDeque<Order<E>>,
    /// Somebody found no room for another one, and is to be told when there is.
    lack_room: bool,
}

/// Tells who found no room for another call when there is.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Notify>);

impl Room {
    /// Ready when there is room again. A word that comes before the wait is kept.
    pub(super) async fn made(&self) {
        self.0.notified().await;
    }
}

/// What the next task is to do.
enum Order<E> {
    Go(Round<E>),
    End,
}

impl<T: BatchTarget> Rounds<T> {
    pub(super) fn new() -> Self {
        let (end, ended) = mpsc::unbounded_channel();
        Self {
            tasks: JoinSet::new(),
            staying: 0,
            in_flight: 0,
            queue: Arc::new(Queue::new(Handle::current().metrics().num_workers())),
            ended,
            end,
        }
    }

    /// Whether there is no call in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight == 0
    }

    /// Whether another call would find somebody to make it soon. If not, the [room](Self::room) tells when one would: it is
    /// decided here that it has to, since a moment later there may be some.
    pub(super) fn have_room(&self) -> bool {
        let mut orders = self.queue.orders();
        orders.lack_room = orders.waiting.len() >= AHEAD * self.queue.threads;
        !orders.lack_room
    }

    /// Tells when they [have room](Self::have_room) again.
    pub(super) fn room(&self) -> Room {
        self.queue.room.clone()
    }

    /// Makes a call.
    pub(super) fn start(&mut self, target: &Arc<T>, round: Round<T::Entry>) {
        self.in_flight += 1;
        self.queue.push(Order::Go(round));
        if self.staying < self.in_flight {
            self.staying += 1;
            self.tasks
                .spawn(work(Arc::clone(target), Arc::clone(&self.queue), self.end.clone()));
        }
    }

    /// What the next call that ends came to; `None` if there is none in flight. Nothing is lost when the future is dropped.
    ///
    /// # Panics
    /// If the runtime shuts down, and for a fault of this crate: a round catches the panics of the target.
    pub(super) async fn next(&mut self) -> Option<Settled<T::Entry>> {
        while self.in_flight > 0 {
            tokio::select! {
                biased;
                Some(settled) = self.ended.recv() => {
                    self.in_flight -= 1;
                    if self.staying > self.in_flight + KEPT {
                        self.staying -= 1;
                        self.queue.push(Order::End);
                    }
                    return Some(settled.unwrap_or_else(|panic| resume_unwind(panic)));
                }
                // One that was told to end, or one whose call nobody will hear of again.
                Some(task) = self.tasks.join_next() => assert!(task.is_ok(), "the runtime shuts down"),
            }
        }
        None
    }

    /// Ends the tasks, so that nobody holds the target any more.
    pub(super) async fn close(&mut self) {
        self.tasks.shutdown().await;
    }
}

impl<T: BatchTarget> Drop for Rounds<T> {
    /// What no task has taken is over at once, and the strategy hears of it, however long a task takes to end.
    fn drop(&mut self) {
        let untaken = std::mem::take(&mut self.queue.orders().waiting);
        drop(untaken);
    }
}

impl<E> Queue<E> {
    fn new(threads: usize) -> Self {
        Self {
            orders: Mutex::new(Orders {
                waiting: VecDeque::new(),
                lack_room: false,
            }),
            came: Notify::new(),
            threads,
            room: Room::default(),
        }
    }

    /// Wakes a task for each order, so that several cores begin at once, not one when the other has begun its call.
    fn push(&self, order: Order<E>) {
        self.orders().waiting.push_back(order);
        self.came.notify_last();
    }

    fn pop(&self) -> Option<Order<E>> {
        let mut orders = self.orders();
        let next = orders.waiting.pop_front()?;
        let left = orders.waiting.len();
        // Soon enough that no thread has to wait for the next ones.
        let makes_room = orders.lack_room && left <= self.threads;
        orders.lack_room &= !makes_room;
        drop(orders);
        if left > 0 {
            self.came.notify_last();
        }
        if makes_room {
            self.room.0.notify_one();
        }
        Some(next)
    }

    async fn next(&self) -> Order<E> {
        loop {
            if let Some(next) = self.pop() {
                return next;
            }
            self.came.notified().await;
        }
    }

    fn orders(&self) -> MutexGuard<'_, Orders<E>> {
        // Nobody panics while it is held.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes one call after the other.
async fn work<T: BatchTarget>(target: Arc<T>, queue: Arc<Queue<T::Entry>>, end: UnboundedSender<Ended<T::Entry>>) {
    while let Order::Go(round) = queue.next().await {
        let settled = {
            // Not moved, as `round` does not move the call in it.
            let round = pin!(self::round(&*target, round));
            AssertUnwindSafe(round).catch_unwind().await
        };
        if end.send(settled).is_err() {
            return;
        }
        // Calls that end at once leave time for others.
        consume_budget().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use tokio::task::yield_now;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::backoff::{BackoffStrategy, Outcome, Retry, Waiter};
    use crate::engine::gate::Gate;
    use crate::engine::ticket::{Chunk, Ticket, Ticketed};
    use crate::invalid::InvalidEntry;
    use crate::target::{Answer, Limits, Verdict};

    /// Takes everything at once.
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

    /// Counts the calls that it hears of.
    struct Counting(Arc<AtomicUsize>);

    impl BackoffStrategy for Counting {
        fn rest(&self, _: Retry) -> Duration {
            Duration::ZERO
        }

        fn observe(&self, _: &Outcome) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    fn call(gate: &Arc<Gate>) -> Round<()> {
        let waiter = Waiter {
            entries: 1,
            more: false,
        };
        let mut chunk = Chunk::with_capacity(1);
        let ticket = Ticket::new(0, 1);
        chunk.push(Ticketed { entry: (), ticket });
        Round {
            chunk,
            case: None,
            departure: gate.try_admit(&waiter).expect("nobody waits").depart(1),
            attempt_timeout: Duration::from_secs(1),
            abandoned: CancellationToken::new(),
        }
    }

    fn counting() -> (Arc<Gate>, Arc<AtomicUsize>) {
        let heard = Arc::new(AtomicUsize::new(0));
        (Arc::new(Gate::new(Counting(Arc::clone(&heard)))), heard)
    }

    #[tokio::test]
    async fn calls_that_no_task_has_taken_are_over_when_the_delivery_is_dropped() {
        let (gate, heard) = counting();
        let mut rounds = Rounds::new();
        (0..3).for_each(|_| rounds.start(&Arc::new(Immediate), call(&gate)));
        // The tasks have not run, and end only when the runtime comes to it.
        drop(rounds);
        assert_eq!(heard.load(Relaxed), 3);
    }

    #[tokio::test]
    async fn calls_are_made_ahead_only_as_far_as_threads_will_take_them_soon() {
        let (gate, _) = counting();
        let mut rounds = Rounds::new();
        while rounds.have_room() {
            rounds.start(&Arc::new(Immediate), call(&gate));
        }
        // A runtime of one thread.
        assert_eq!(rounds.in_flight, AHEAD);
    }

    #[tokio::test]
    async fn who_found_no_room_is_told_of_it_even_if_there_is_some_before_the_wait() {
        let (gate, _) = counting();
        let mut rounds = Rounds::new();
        let room = rounds.room();
        while rounds.have_room() {
            rounds.start(&Arc::new(Immediate), call(&gate));
        }
        assert!(room.made().now_or_never().is_none());
        (0..AHEAD).for_each(|_| drop(rounds.queue.pop()));
        assert!(room.made().now_or_never().is_some());
        // Who found room waits for something else.
        assert!(rounds.have_room());
        rounds.start(&Arc::new(Immediate), call(&gate));
        assert!(rounds.queue.pop().is_some() && room.made().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_thousand_calls_that_end_at_once_leave_time_for_others() {
        let (gate, heard) = counting();
        let queue = Arc::new(Queue::new(1));
        (0..1_000).for_each(|_| queue.push(Order::Go(call(&gate))));
        let (end, _ended) = mpsc::unbounded_channel();
        let task = tokio::spawn(work(Arc::new(Immediate), queue, end));
        while heard.load(Relaxed) == 0 {
            yield_now().await;
        }
        assert!(heard.load(Relaxed) < 1_000);
        task.abort();
    }

    #[test]
    fn each_call_wakes_somebody_who_waits() {
        let queue: Queue<()> = Queue::new(1);
        let (mut one, mut other) = (pin!(queue.came.notified()), pin!(queue.came.notified()));
        assert!(one.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        (0..2).for_each(|_| queue.push(Order::End));
        assert!(one.now_or_never().is_some() && other.now_or_never().is_some());
    }

    #[test]
    fn who_takes_one_call_and_leaves_others_wakes_the_next_task() {
        let queue: Queue<()> = Queue::new(1);
        // Nobody waits yet: one wake is kept.
        (0..2).for_each(|_| queue.push(Order::End));
        let (mut one, mut other) = (pin!(queue.came.notified()), pin!(queue.came.notified()));
        assert!(one.as_mut().now_or_never().is_some());
        assert!(other.as_mut().now_or_never().is_none());
        assert!(queue.pop().is_some());
        assert!(other.now_or_never().is_some(), "nobody was woken for the second one");
    }
}
