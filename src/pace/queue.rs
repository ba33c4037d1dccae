//! The calls that wait for the shared strategy.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

/// How late a waiter may be polled before it is skipped: far longer than a busy runtime needs, and too short to slow a delivery
/// noticeably.
const SKIPPED_AFTER: Duration = Duration::from_millis(250);

/// The waiters, in order of arrival.
///
/// A waiter is a future that its owner need not poll: an arm of a `select!` may be suspended, for example. So each place
/// has a time at which it is due, and a place that is long overdue is skipped until it is polled again. It keeps its place.
pub(crate) struct Queue {
    places: BTreeMap<u64, WaitingCall>,
    next_number: u64,
    /// A permit is in use; the strategy is not asked meanwhile.
    pub(crate) permit_in_use: bool,
    /// No call leaves while it lasts.
    pub(super) hold: Hold,
}

struct WaitingCall {
    /// When its owner is expected to poll it next.
    due: Instant,
    waker: Waker,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            places: BTreeMap::new(),
            next_number: 0,
            permit_in_use: false,
            hold: Hold::default(),
        }
    }

    /// The number of a new place at the end. The first [`wait`](Self::wait) takes it.
    pub(crate) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Takes or keeps the place until it is due.
    pub(crate) fn wait(&mut self, number: u64, due: Instant, waker: &Waker) {
        let place = self.places.entry(number).or_insert_with(|| WaitingCall {
            due,
            waker: waker.clone(),
        });
        place.due = due;
        place.waker.clone_from(waker);
    }

    /// Removes the place. Returns the wakers to wake.
    pub(crate) fn leave(&mut self, number: u64, now: Instant) -> Vec<Waker> {
        self.places
            .remove(&number)
            .map(|_| self.next_wakers(now))
            .unwrap_or_default()
    }

    /// Until when the place waits for the places before it; `None` if it is first.
    pub(crate) fn blocked_until(&self, number: u64, now: Instant) -> Option<Instant> {
        if self.permit_in_use {
            return Some(now + SKIPPED_AFTER);
        }
        let before = self.places.range(..number).rev();
        before
            .map(|(_, place)| place.due + SKIPPED_AFTER)
            .find(|overdue| *overdue > now)
    }

    /// Returns the wakers of the first place that is not overdue and of the one behind it, which has to learn until when it
    /// waits.
    pub(crate) fn next_wakers(&mut self, now: Instant) -> Vec<Waker> {
        let mut awake = self.places.values_mut().filter(|place| place.due + SKIPPED_AFTER > now);
        let Some(first) = awake.next() else {
            return Vec::new();
        };
        let has_far_due = first.due > now;
        first.due = first.due.min(now);
        let second = awake.next().filter(|_| has_far_due);
        [Some(first), second]
            .into_iter()
            .flatten()
            .map(|place| place.waker.clone())
            .collect()
    }
}

/// No call leaves until then, because the service has said so.
///
/// It holds back all calls, not only those like the failed one: a service that names a wait would reject them too. If a call
/// that left after all of the rejected ones was accepted, the wait is not for all calls, and ends.
#[derive(Debug, Default)]
pub(super) struct Hold {
    until: Option<Instant>,
    /// When the last of the calls left whose answers named a wait.
    sent_at: Option<Instant>,
}

impl Hold {
    /// The answer to a call that left at `sent_at` names a wait until then.
    pub(super) fn extend(&mut self, sent_at: Instant, until: Instant) {
        self.until = self.until.max(Some(until));
        self.sent_at = self.sent_at.max(Some(sent_at));
    }

    /// Entries of a call that left at `sent_at` were accepted.
    pub(super) fn accepted(&mut self, sent_at: Instant) {
        if self.sent_at.is_some_and(|rejected| rejected < sent_at) {
            self.end();
        }
    }

    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// The departure of the latest call whose answer named a wait that is not over; `None` if calls may leave.
    pub(super) fn since(&self, now: Instant) -> Option<Instant> {
        self.until(now).and(self.sent_at)
    }

    /// Until when calls wait; `None` if they may leave.
    pub(super) fn until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| now < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    fn queue(due: &[Instant]) -> Queue {
        let mut queue = Queue::new();
        for due in due {
            let number = queue.number();
            queue.wait(number, *due, Waker::noop());
        }
        queue
    }

    #[test]
    fn waiters_are_first_in_the_order_of_arrival() {
        let now = Instant::now();
        let mut queue = queue(&[now, now]);
        assert_eq!(queue.blocked_until(1, now), None);
        assert_eq!(queue.blocked_until(2, now), Some(now + SKIPPED_AFTER));
        queue.leave(1, now);
        assert_eq!(queue.blocked_until(2, now), None);
    }

    #[test]
    fn no_waiter_is_first_while_a_permit_is_in_use() {
        let now = Instant::now();
        let mut queue = queue(&[now]);
        queue.permit_in_use = true;
        assert!(queue.blocked_until(1, now).is_some());
    }

    #[test]
    fn a_waiter_that_is_not_polled_is_skipped_until_it_is_polled_again() {
        let start = Instant::now();
        let mut queue = queue(&[start, start + SKIPPED_AFTER]);
        let late = start + SKIPPED_AFTER;
        assert!(queue.blocked_until(2, late - MOMENT).is_some());
        assert_eq!(queue.blocked_until(2, late), None);
        assert_eq!(queue.next_wakers(late).len(), 1, "the second one is woken");
        queue.wait(1, late, Waker::noop());
        assert!(queue.blocked_until(2, late).is_some());
    }

    #[test]
    fn a_waiter_that_is_woken_and_not_polled_is_overdue() {
        let start = Instant::now();
        let far = start + Duration::from_secs(60 * 60);
        let mut queue = queue(&[far, far]);
        queue.next_wakers(start);
        assert_eq!(queue.blocked_until(2, start), Some(start + SKIPPED_AFTER));
        assert_eq!(queue.blocked_until(2, start + SKIPPED_AFTER), None);
    }

    #[test]
    fn the_longest_wait_counts_until_it_is_over() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut hold = Hold::default();
        assert_eq!(hold.until(start), None);
        hold.extend(start, after(3));
        hold.extend(start, after(2));
        assert_eq!(hold.until(after(2)), Some(after(3)));
        assert_eq!(hold.until(after(3)), None);
    }

    #[test]
    fn a_call_that_is_accepted_although_it_left_later_ends_it() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut hold = Hold::default();
        hold.extend(after(0), after(9));
        hold.extend(after(2), after(8));
        for earlier in [after(1), after(2)] {
            hold.accepted(earlier);
            assert_eq!(hold.until(after(3)), Some(after(9)));
        }
        hold.accepted(after(3));
        assert_eq!(hold.until(after(3)), None);
    }
}
