//! The calls that wait for a task.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::yield_now;

use super::round::Round;

/// Calls for each thread of the runtime that may wait for a task. As long as a thread has a call to make, another one would
/// only wait. Its entries were just read and checked, and are written and dropped by the call: the fewer wait, the more of
/// them are still in the cache of a core then. With two, a thread has one left while the next ones are packed.
const AHEAD: usize = 2;

/// What the next task is to do.
pub(super) enum Order<E> {
    Go(Round<E>),
    End,
}

/// The calls that no task has taken yet.
pub(super) struct Orders<E> {
    desk: Mutex<Desk<E>>,
    /// Wakes a task for an order. Of two wakes that find no task waiting only one is kept, so a task that takes an order and
    /// leaves others wakes the next task.
    came: Notify,
    /// Threads that make the calls.
    threads: usize,
    room: Room,
}

struct Desk<E> {
    waiting: VecDeque<Order<E>>,
    /// The loop found no room for another one, and is to be woken when there is.
    lack_room: bool,
}

/// Wakes the loop when there is room for another call.
#[derive(Clone, Default)]
pub(super) struct Room(Arc<Notify>);

impl Room {
    /// Ready when there is room again. A wake that comes before the wait is kept.
    pub(super) async fn made(&self) {
        self.0.notified().await;
    }
}

impl<E> Orders<E> {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            desk: Mutex::new(Desk {
                waiting: VecDeque::new(),
                lack_room: false,
            }),
            came: Notify::new(),
            threads,
            room: Room::default(),
        }
    }

    /// Whether a task would make another call soon.
    ///
    /// If not, the [room](Self::room) tells when one would. If so, it tells nothing: it is decided here, under the lock, since a
    /// moment later it may be different.
    pub(super) fn have_room(&self) -> bool {
        let mut desk = self.desk();
        desk.lack_room = desk.waiting.len() >= self.most();
        !desk.lack_room
    }

    /// As many orders may wait.
    fn most(&self) -> usize {
        AHEAD * self.threads
    }

    /// Tells when they [have room](Self::have_room) again.
    pub(super) fn room(&self) -> Room {
        self.room.clone()
    }

    /// Wakes a task for each order, so that several cores begin at once, not one when the other has begun its call.
    pub(super) fn push(&self, order: Order<E>) {
        self.desk().waiting.push_back(order);
        self.came.notify_last();
    }

    /// What a task is to do next.
    pub(super) async fn next(&self) -> Order<E> {
        loop {
            match self.step() {
                Some(Step::Take(order)) => return order,
                Some(Step::TellOfRoom) => {
                    self.room.0.notify_one();
                    // The woken task runs next on this worker and cannot be stolen, so yield here. Otherwise it would run when this
                    // worker has no call left to make, and then the others would have none left either.
                    if self.threads > 1 {
                        yield_now().await;
                    }
                }
                None => self.came.notified().await,
            }
        }
    }

    fn step(&self) -> Option<Step<E>> {
        let mut desk = self.desk();
        // Soon enough that no thread has to wait for the next ones. The loop has to find room when it is woken, or it would be
        // woken again before an order was taken.
        let soon = (self.threads + 1).min(self.most() - 1);
        if desk.lack_room && desk.waiting.len() <= soon {
            desk.lack_room = false;
            return Some(Step::TellOfRoom);
        }
        let order = desk.waiting.pop_front()?;
        let left = desk.waiting.len();
        drop(desk);
        if left > 0 {
            self.came.notify_last();
        }
        Some(Step::Take(order))
    }

    /// Takes back all that no task has taken.
    pub(super) fn take_back(&self) -> VecDeque<Order<E>> {
        std::mem::take(&mut self.desk().waiting)
    }

    fn desk(&self) -> MutexGuard<'_, Desk<E>> {
        // No code panics while it is held.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a task does next.
enum Step<E> {
    Take(Order<E>),
    /// There is room again, and the loop waits for it.
    TellOfRoom,
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use futures::FutureExt;
    use tokio::time::timeout;

    use super::*;

    /// With as many orders as there is room for.
    fn full(threads: usize) -> Orders<()> {
        let orders = Orders::new(threads);
        while orders.have_room() {
            orders.push(Order::End);
        }
        orders
    }

    async fn take_all(orders: &Orders<()>) {
        let all = async { while matches!(orders.next().await, Order::End) {} };
        // It ends where there is nothing left.
        assert!(timeout(Duration::from_secs(1), all).await.is_err());
    }

    #[test]
    fn there_is_room_only_as_far_as_threads_will_take_the_calls_soon() {
        assert_eq!(full(1).take_back().len(), AHEAD);
    }

    #[tokio::test(start_paused = true)]
    async fn who_found_no_room_is_told_of_it_even_if_there_is_some_before_the_wait() {
        let orders = full(1);
        let room = orders.room();
        assert!(room.made().now_or_never().is_none());
        take_all(&orders).await;
        assert!(room.made().now_or_never().is_some());
        // After it has found room the loop waits for something else.
        assert!(orders.have_room());
        orders.push(Order::End);
        take_all(&orders).await;
        assert!(room.made().now_or_never().is_none());
    }

    #[test]
    fn who_is_told_of_room_finds_some() {
        for threads in [1, 2, 64] {
            let orders = full(threads);
            let room = orders.room();
            let mut told = pin!(room.made());
            while told.as_mut().now_or_never().is_none() {
                let _ = orders.next().now_or_never();
            }
            assert!(orders.have_room(), "{threads}");
        }
    }

    #[test]
    fn each_call_wakes_somebody_who_waits() {
        let orders: Orders<()> = Orders::new(1);
        let (mut one, mut other) = (pin!(orders.came.notified()), pin!(orders.came.notified()));
        assert!(one.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        (0..2).for_each(|_| orders.push(Order::End));
        assert!(one.now_or_never().is_some() && other.now_or_never().is_some());
    }

    #[test]
    fn who_takes_one_call_and_leaves_others_wakes_the_next_task() {
        let orders: Orders<()> = Orders::new(1);
        // No task waits yet: one wake is kept.
        (0..2).for_each(|_| orders.push(Order::End));
        let (mut one, mut other) = (pin!(orders.came.notified()), pin!(orders.came.notified()));
        assert!(one.as_mut().now_or_never().is_some());
        assert!(other.as_mut().now_or_never().is_none());
        assert!(orders.step().is_some());
        assert!(other.now_or_never().is_some(), "no task was woken for the second one");
    }
}
