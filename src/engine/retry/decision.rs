//! Whether and when a rejected entry is sent again.

use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::{Outcome, Retry};
use crate::contract::{Fault, Rejection};
use crate::engine::entry::EntryState;
use crate::options::DeliveryOptions;
use crate::time_limit::later;

/// How long a slot stays empty at most after throttles if the strategy decides when calls leave: a single slot may carry another entry
/// meanwhile, which notices that the service is back.
const LONGEST_WITH_PACE: Duration = Duration::from_secs(1);

/// What happens to a rejected entry.
pub(crate) enum Decision {
    /// It is sent again, from this moment on.
    Again(Instant),
    /// It was sent as often as it may be.
    RetriesUsedUp,
    /// Its retry would be too late.
    TimeUsedUp,
}

/// Decides for the rejected entries of one call.
pub(crate) struct RetryDecisions<'a> {
    options: &'a DeliveryOptions,
    now: Instant,
    delays: SharedDelays,
}

impl<'a> RetryDecisions<'a> {
    pub(crate) fn of_call(options: &'a DeliveryOptions, now: Instant) -> Self {
        let delays = SharedDelays::default();
        Self { options, now, delays }
    }

    pub(crate) fn decide<E>(&mut self, state: &mut EntryState<E>, rejection: Rejection) -> Decision {
        let delay = self.delay(state, rejection);
        let fault = state.history.as_ref().and_then(|history| history.fault.as_ref());
        let named = fault.and_then(Fault::named_wait);
        let until = later(self.now, delay.max(named).unwrap_or_default());
        let out_of_retries = self.options.retries.is_some_and(|retries| state.rejections() > retries);
        let expiry = state.expiry(self.options);
        if !out_of_retries && expiry.is_none_or(|expiry| until < expiry) {
            if let Some((history, delay)) = state.history.as_mut().zip(delay) {
                history.retry = history.retry.after(delay);
            }
            return Decision::Again(until);
        }
        if out_of_retries {
            Decision::RetriesUsedUp
        } else {
            Decision::TimeUsedUp
        }
    }

    /// The delay that the strategy sets before the retry; `None` if something else decides when the entry leaves.
    fn delay<E>(&mut self, state: &EntryState<E>, rejection: Rejection) -> Option<Duration> {
        let strategy = &self.options.gate.strategy;
        let is_hot = rejection.is_throttle() && state.key.is_some_and(|key| strategy.is_hot(key));
        if rejection.is_unsent() || is_hot {
            // It waits for the next probe, as all entries do, or in the queue of its hot key.
            return None;
        }
        Some(self.delays.before(state.retry(), |retry| strategy.delay(retry)))
    }

    /// How long the slot of the call stays empty.
    pub(crate) fn slot_delay(&self, outcome: &Outcome) -> Duration {
        // Does not apply when few entries of a call are rejected: one hot key must not stop a slot for all others.
        let applies = outcome.accepted == 0 || outcome.throttled * 2 >= outcome.sent;
        let strategy = &self.options.gate.strategy;
        // No pace falls for failures, and each entry of a call that failed may be in doubt: the slot waits for the same entries.
        let is_paced = outcome.throttled > 0 && outcome.failed == 0 && strategy.has_pace();
        let delay = match self.delays.shortest() {
            _ if !applies => Duration::ZERO,
            delay if is_paced => delay.min(LONGEST_WITH_PACE),
            delay => delay,
        };
        delay.max(strategy.cooldown())
    }
}

/// The delays drawn for the rejected entries of one call.
///
/// Entries with the same history get the same delay, so that they can leave together in one call.
#[derive(Default)]
pub(crate) struct SharedDelays {
    drawn: Vec<(Retry, Duration)>,
}

impl SharedDelays {
    /// The delay before that retry.
    pub(crate) fn before(&mut self, retry: Retry, draw: impl FnOnce(Retry) -> Duration) -> Duration {
        if let Some((_, delay)) = self.drawn.iter().find(|(drawn, _)| *drawn == retry) {
            return *delay;
        }
        let delay = draw(retry);
        self.drawn.push((retry, delay));
        delay
    }

    /// The shortest delay, or zero.
    pub(crate) fn shortest(&self) -> Duration {
        self.drawn.iter().map(|(_, delay)| *delay).min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Fault;

    #[test]
    fn an_attempt_that_did_not_leave_is_no_retry_to_the_strategy() {
        let now = Instant::now();
        let options = DeliveryOptions::default().backoff(|retry: u32| Duration::from_secs(u64::from(retry)));
        let mut state = EntryState::<()>::new(0, 1);
        for _ in 0..5 {
            state.failed(now, Fault::new("no credentials"));
            let decision = RetryDecisions::of_call(&options, now).decide(&mut state, Rejection::Unconfigured);
            assert!(matches!(decision, Decision::Again(until) if until == now));
        }
        state.rejected(now, Fault::new("Throttled"));
        let decision = RetryDecisions::of_call(&options, now).decide(&mut state, Rejection::Throttled);
        assert!(matches!(decision, Decision::Again(until) if until == now + Duration::from_secs(1)));
    }

    #[test]
    fn a_slot_stays_empty_while_leftovers_wait_unless_most_of_the_call_was_accepted() {
        let now = Instant::now();
        let delay = Duration::from_secs(1);
        let options = DeliveryOptions::default().backoff(move |_: u32| delay);
        for (accepted, throttled, failed, stays_empty) in [
            (0, 1, 0, true),
            (0, 0, 1, true),
            (3, 3, 0, true),
            (3, 2, 0, false),
            (3, 2, 3, false),
            (3, 0, 0, false),
        ] {
            let mut retries = RetryDecisions::of_call(&options, now);
            for (rejection, count) in [(Rejection::Throttled, throttled), (Rejection::Unanswered, failed)] {
                for _ in 0..count {
                    let mut state = EntryState::<()>::new(0, 1);
                    state.rejected(now, Fault::new("rejected"));
                    retries.decide(&mut state, rejection);
                }
            }
            let outcome = Outcome::new(now.into_std(), now.into_std())
                .with_accepted(accepted)
                .with_throttled(throttled)
                .with_failed(failed);
            let expected = if stays_empty { delay } else { Duration::ZERO };
            assert_eq!(retries.slot_delay(&outcome), expected, "{outcome:?}");
        }
    }

    #[test]
    fn with_a_pace_a_slot_stays_empty_for_a_second_at_most_after_throttles_alone() {
        let now = Instant::now();
        let options = DeliveryOptions::default();
        let outcome = || Outcome::new(now.into_std(), now.into_std());
        for (outcome, rejection, is_limited) in [
            (outcome().with_throttled(1), Rejection::Throttled, true),
            (outcome().with_failed(1), Rejection::Transient, false),
            (outcome().with_throttled(1).with_failed(1), Rejection::Throttled, false),
        ] {
            let mut state = EntryState::<()>::new(0, 1);
            let mut longest = Duration::ZERO;
            for _ in 0..12 {
                let mut retries = RetryDecisions::of_call(&options, now);
                state.rejected(now, Fault::new("rejected"));
                retries.decide(&mut state, rejection);
                longest = longest.max(retries.slot_delay(&outcome));
            }
            assert_eq!(longest == LONGEST_WITH_PACE, is_limited, "{outcome:?}: {longest:?}");
        }
    }

    #[test]
    fn an_entry_has_exactly_its_retries_and_its_time() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let options = DeliveryOptions::default().backoff(move |_: u32| second).retries(2);
        let mut state = EntryState::<()>::new(0, 1);
        for retries_left in [true, true, false] {
            state.rejected(now, Fault::new("Throttled"));
            let decision = RetryDecisions::of_call(&options, now).decide(&mut state, Rejection::Throttled);
            match decision {
                Decision::Again(until) => assert!(retries_left && until == now + second),
                Decision::RetriesUsedUp => assert!(!retries_left),
                Decision::TimeUsedUp => panic!("there is no limit of time"),
            }
        }
        // A retry must leave before the time is used up.
        for (patience, is_in_time) in [(2 * second, true), (second, false)] {
            let options = DeliveryOptions::default()
                .backoff(move |_: u32| second)
                .give_up_after(patience);
            let mut state = EntryState::<()>::new(0, 1);
            state.rejected(now, Fault::new("Throttled"));
            let decision = RetryDecisions::of_call(&options, now).decide(&mut state, Rejection::Throttled);
            match decision {
                Decision::Again(_) => assert!(is_in_time),
                Decision::TimeUsedUp => assert!(!is_in_time),
                Decision::RetriesUsedUp => panic!("there is no limit of retries"),
            }
        }
    }
}
