//! Whether calls can be made at all.
//!
//! A call that cannot be made (no credentials at the moment, no connection) is a failure of all entries, not only of those
//! in the call. While it lasts, probes test whether it is over: one call at a time, with one entry, after a growing delay.
//! All other entries wait.

use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::{BackoffStrategy, Exponential, Retry};
use crate::contract::{Fault, Rejection};
use crate::engine::calls::EndedCall;
use crate::time_limit::later;

/// The first probe leaves after 50 to 100 ms; a lost packet is retransmitted by then.
const FIRST_DELAY: Duration = Duration::from_millis(50);

/// The longest delay between later probes. Short enough that calls start again within seconds after credentials are back;
/// long enough that each delivery asks a failing credentials provider at most once in one or two seconds.
const LONGEST_DELAY: Duration = Duration::from_secs(3);

/// Whether calls can be made, judging by the last ones: closed while they can, otherwise probing.
#[derive(Debug)]
pub(crate) struct CircuitBreaker {
    probing: Option<ProbeState>,
    /// When the last successful call left.
    made_at: Option<Instant>,
    delays: Exponential,
}

/// Calls cannot be made: one at a time tests whether they can again.
#[derive(Debug)]
struct ProbeState {
    since: Instant,
    delay: Retry,
    /// When the next probe may leave; `None` while one is in flight.
    next_probe: Option<Instant>,
    /// When the probe left that is in flight.
    probe: Option<Instant>,
}

impl ProbeState {
    /// Whether a call that left at `sent_at` is a probe. It may leave at the very moment at which the outage was noticed.
    fn is_probe(&self, sent_at: Instant) -> bool {
        sent_at > self.since || self.probe == Some(sent_at)
    }
}

impl CircuitBreaker {
    pub(crate) fn new() -> Self {
        Self {
            probing: None,
            made_at: None,
            delays: Exponential::equal_jitter().initial(2 * FIRST_DELAY).max(LONGEST_DELAY),
        }
    }

    /// Evaluates the answer of a call. Returns the fault when no call can ever be made.
    ///
    /// If the delivery has delivered something before, its configuration was right, so it waits instead.
    pub(crate) fn answered<E>(&mut self, settled: &EndedCall<E>, now: Instant, delivered: u64) -> Option<Fault> {
        let sent_at = settled.outcome.sent_at.into();
        match settled.first_rejection() {
            Some((Rejection::Unconfigured, fault)) if delivered == 0 => return Some(fault.clone()),
            Some((rejection, _)) if rejection.is_unsent() => self.failed(sent_at, now),
            // A call without an answer may not have been made at all; the next probe has to show it.
            Some((Rejection::Connection, _)) if self.most() == 1 => self.failed(sent_at, now),
            Some((Rejection::Connection, _)) => {}
            _ => self.made(sent_at),
        }
        None
    }

    /// A call that left at `sent_at` was made, and refused for a reason that all calls share.
    ///
    /// The delay does not grow, because each probe [was made](Self::made): it carries another entry, and if a long run of
    /// entries is at fault after all, the probes have to find its end.
    pub(crate) fn refused(&mut self, sent_at: Instant, now: Instant) {
        self.failed(sent_at, now);
    }

    /// A call that left at `sent_at` could not be made.
    ///
    /// Calls in flight fail together. Calls that left before the outage was known are not probes, and calls that left before
    /// a successful one are outdated.
    fn failed(&mut self, sent_at: Instant, now: Instant) {
        if self.probing.is_none() && self.made_at.is_some_and(|made_at| made_at > sent_at) {
            return;
        }
        let probing = self.probing.get_or_insert(ProbeState {
            since: now,
            delay: Retry::FIRST,
            next_probe: None,
            probe: None,
        });
        let is_first = probing.since == now && probing.next_probe.is_none();
        if is_first || probing.is_probe(sent_at) {
            probing.probe = None;
            let delay = self.delays.delay(probing.delay);
            probing.delay = probing.delay.after(delay);
            probing.next_probe = Some(later(now, delay));
        }
    }

    /// A call that left at `sent_at` was made.
    fn made(&mut self, sent_at: Instant) {
        self.made_at = self.made_at.max(Some(sent_at));
        if self.probing.as_ref().is_some_and(|probing| probing.is_probe(sent_at)) {
            self.probing = None;
        }
    }

    /// Whether a call may leave.
    pub(crate) fn may_leave(&self, now: Instant) -> bool {
        let probing = self.probing.as_ref();
        probing.is_none_or(|probing| probing.next_probe.is_some_and(|at| at <= now))
    }

    /// A call leaves at `sent_at`.
    pub(crate) fn leaves(&mut self, sent_at: Instant) {
        if let Some(probing) = &mut self.probing {
            probing.next_probe = None;
            probing.probe = Some(sent_at);
        }
    }

    /// Allows the next probe at once.
    pub(crate) fn wake(&mut self, now: Instant) {
        let probe = self.probing.as_mut().and_then(|probing| probing.next_probe.as_mut());
        if let Some(probe) = probe {
            *probe = now;
        }
    }

    /// How many entries a call may carry at most.
    pub(crate) fn most(&self) -> usize {
        if self.probing.is_some() { 1 } else { usize::MAX }
    }

    /// When the next probe may leave, if one is due.
    pub(crate) fn next_probe(&self) -> Option<Instant> {
        self.probing.as_ref()?.next_probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Answer, Verdict};
    use crate::engine::calls::ended_call_at;
    use crate::engine::entry::{Chunk, EntryState, TrackedEntry};

    const MOMENT: Duration = Duration::from_millis(1);

    #[test]
    fn one_probe_at_a_time_with_one_entry_finds_out_whether_it_is_over() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new();
        assert_eq!((breaker.may_leave(start), breaker.most()), (true, usize::MAX));
        (0..16).for_each(|_| breaker.failed(start, start));
        assert!(!breaker.may_leave(start));
        assert_eq!(breaker.most(), 1);
        let probe = breaker.next_probe().unwrap();
        assert!((FIRST_DELAY..=2 * FIRST_DELAY).contains(&(probe - start)));
        assert!(breaker.may_leave(probe));
        breaker.leaves(probe);
        assert!(!breaker.may_leave(probe + LONGEST_DELAY));
        breaker.made(probe);
        assert_eq!((breaker.may_leave(probe), breaker.most()), (true, usize::MAX));
    }

    #[test]
    fn probes_become_rarer_up_to_three_seconds() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new();
        let mut now = start;
        breaker.failed(now, now);
        let mut longest = Duration::ZERO;
        for _ in 0..100 {
            let probe = breaker.next_probe().unwrap();
            longest = longest.max(probe - now);
            breaker.leaves(probe);
            now = probe + MOMENT;
            breaker.failed(probe, now);
        }
        assert!((LONGEST_DELAY / 2..=LONGEST_DELAY).contains(&longest), "{longest:?}");
    }

    #[test]
    fn calls_from_before_the_outage_neither_end_nor_prolong_it() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new();
        breaker.failed(start, start + MOMENT);
        let probe = breaker.next_probe();
        breaker.failed(start, start + 2 * MOMENT);
        breaker.made(start);
        assert_eq!(breaker.next_probe(), probe);
        // It left when the outage was noticed.
        breaker.made(start + MOMENT);
        assert_eq!(breaker.next_probe(), probe);
    }

    #[test]
    fn a_failure_that_is_older_than_a_call_that_was_made_is_no_outage() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new();
        breaker.made(start + MOMENT);
        breaker.failed(start, start + 2 * MOMENT);
        assert!(breaker.may_leave(start + 2 * MOMENT));
        breaker.failed(start + MOMENT, start + 2 * MOMENT);
        assert!(!breaker.may_leave(start + 2 * MOMENT));
    }

    /// A call with one entry has this result. Returns why no call can ever be made.
    fn answered(
        breaker: &mut CircuitBreaker,
        sent_at: Instant,
        now: Instant,
        delivered: u64,
        rejection: Rejection,
    ) -> Option<Fault> {
        let mut chunk = Chunk::with_capacity(1);
        let state = EntryState::new(0, 1);
        chunk.push(TrackedEntry { entry: (), state });
        let answer = Answer::Whole(Verdict::Rejected(rejection, Fault::new("no connection")));
        let settled = ended_call_at(chunk, answer, sent_at, now);
        breaker.answered(&settled, now, delivered)
    }

    #[test]
    fn a_call_that_was_lost_tells_nothing_until_it_is_a_probe() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new();
        assert!(answered(&mut breaker, start + MOMENT, start + MOMENT, 0, Rejection::Connection).is_none());
        assert_eq!(breaker.most(), usize::MAX);
        // A call that was made would make this failure outdated.
        answered(&mut breaker, start, start + MOMENT, 0, Rejection::Setup);
        assert_eq!(breaker.most(), 1);
        let probe = breaker.next_probe().unwrap();
        breaker.leaves(probe);
        answered(&mut breaker, probe, probe + MOMENT, 0, Rejection::Connection);
        assert!(breaker.most() == 1 && breaker.next_probe().unwrap() > probe);
    }

    #[test]
    fn what_is_never_configured_ends_a_delivery_that_has_delivered_nothing_and_delays_any_other() {
        let now = Instant::now();
        let mut breaker = CircuitBreaker::new();
        let fault = answered(&mut breaker, now, now, 0, Rejection::Unconfigured);
        assert_eq!(fault.as_ref().map(Fault::code), Some("no connection"));
        assert_eq!(breaker.most(), usize::MAX);
        assert!(answered(&mut breaker, now, now, 1, Rejection::Unconfigured).is_none());
        assert_eq!(breaker.most(), 1);
    }

    #[test]
    fn a_probe_that_leaves_at_the_moment_of_the_failure_ends_the_outage() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new();
        breaker.failed(start, start);
        breaker.wake(start);
        breaker.leaves(start);
        breaker.failed(start, start + MOMENT);
        let probe = breaker.next_probe();
        assert!(probe.is_some(), "another probe follows one that fails");
        breaker.wake(start);
        breaker.leaves(start);
        breaker.made(start);
        assert_eq!((breaker.may_leave(start), breaker.most()), (true, usize::MAX));
    }

    #[test]
    fn a_reset_lets_a_probe_leave_at_once_unless_one_is_in_flight() {
        let start = Instant::now();
        let mut breaker = CircuitBreaker::new();
        breaker.failed(start, start);
        assert!(!breaker.may_leave(start));
        breaker.wake(start);
        assert!(breaker.may_leave(start));
        breaker.leaves(start);
        breaker.wake(start);
        assert!(!breaker.may_leave(start));
    }
}
