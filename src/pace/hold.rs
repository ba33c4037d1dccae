//! A wait that the service has named.

use tokio::time::Instant;

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

    /// Until when calls wait; `None` if they may leave.
    pub(super) fn until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| now < *until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
