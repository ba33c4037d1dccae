//! The calls that wait for the shared strategy.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

/// How late a waiter may be before it is passed over: far more than a busy runtime takes to poll it, and little enough to
/// make no difference to a delivery.
const PATIENCE: Duration = Duration::from_millis(250);

/// The waiters, in the order in which they came.
///
/// Each is a future, and its owner need not poll it: it may stand still in an arm of a `select!`, say. So each
/// place has a time at which it is due, and one that is long overdue is passed over until it stirs. It keeps its place.
pub(crate) struct Queue {
    places: BTreeMap<u64, Place>,
    next_number: u64,
    /// A permit is held. The strategy is not asked meanwhile.
    pub(crate) permit_is_out: bool,
}

struct Place {
    /// When its owner is polled again, at the latest.
    due: Instant,
    waker: Waker,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            places: BTreeMap::new(),
            next_number: 0,
            permit_is_out: false,
        }
    }

    /// The number of a new place at the end, which is taken by the first [`wait`](Self::wait).
    pub(crate) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Takes the place, or keeps it, until it is due.
    pub(crate) fn wait(&mut self, number: u64, due: Instant, waker: &Waker) {
        let place = self.places.entry(number).or_insert_with(|| Place {
            due,
            waker: waker.clone(),
        });
        place.due = due;
        place.waker.clone_from(waker);
    }

    /// Leaves the place. Returns the wakers that are to be woken.
    pub(crate) fn leave(&mut self, number: u64, now: Instant) -> Vec<Waker> {
        self.places.remove(&number).map(|_| self.call(now)).unwrap_or_default()
    }

    /// Until when the place has to wait for those before it; `None` when it is its turn.
    pub(crate) fn blocked_until(&self, number: u64, now: Instant) -> Option<Instant> {
        if self.permit_is_out {
            return Some(now + PATIENCE);
        }
        let before = self.places.range(..number).rev();
        before
            .map(|(_, place)| place.due + PATIENCE)
            .find(|overdue| *overdue > now)
    }

    /// Calls the first one that is not overdue. Returns its waker, and that of the one behind it, which has to know until
    /// when to wait for it.
    pub(crate) fn call(&mut self, now: Instant) -> Vec<Waker> {
        let mut awake = self.places.values_mut().filter(|place| place.due + PATIENCE > now);
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
    fn the_first_waiter_is_asked_first() {
        let now = Instant::now();
        let mut queue = queue(&[now, now]);
        assert_eq!(queue.blocked_until(1, now), None);
        assert_eq!(queue.blocked_until(2, now), Some(now + PATIENCE));
        queue.leave(1, now);
        assert_eq!(queue.blocked_until(2, now), None);
    }

    #[test]
    fn no_waiter_is_asked_while_a_permit_is_out() {
        let now = Instant::now();
        let mut queue = queue(&[now]);
        queue.permit_is_out = true;
        assert!(queue.blocked_until(1, now).is_some());
    }

    #[test]
    fn one_that_stands_still_is_passed_over_until_it_stirs() {
        let start = Instant::now();
        let mut queue = queue(&[start, start + PATIENCE]);
        let late = start + PATIENCE;
        assert!(queue.blocked_until(2, late - MOMENT).is_some());
        assert_eq!(queue.blocked_until(2, late), None);
        assert_eq!(queue.call(late).len(), 1, "the second one is called");
        queue.wait(1, late, Waker::noop());
        assert!(queue.blocked_until(2, late).is_some());
    }

    #[test]
    fn a_waiter_that_is_called_and_does_not_stir_is_overdue() {
        let start = Instant::now();
        let far = start + Duration::from_hours(1);
        let mut queue = queue(&[far, far]);
        queue.call(start);
        assert_eq!(queue.blocked_until(2, start), Some(start + PATIENCE));
        assert_eq!(queue.blocked_until(2, start + PATIENCE), None);
    }
}
