//! Whether and when an entry that was rejected goes again.

use std::time::Duration;

use tokio::time::Instant;

use super::rests::Rests;
use crate::backoff::Outcome;
use crate::engine::entry::EntryState;
use crate::engine::later::later;
use crate::options::DeliveryOptions;
use crate::report::Cause;
use crate::targets::{Fault, Rejection};

/// What becomes of an entry that was rejected.
pub(crate) enum Decision {
    /// It goes again when it has rested until then.
    Again(Instant),
    /// Its retries or its time are used up.
    GiveUp(Cause),
}

/// Decides for the leftovers of one call.
pub(crate) struct Retries<'a> {
    options: &'a DeliveryOptions,
    now: Instant,
    rests: Rests,
}

impl<'a> Retries<'a> {
    pub(crate) fn of_call(options: &'a DeliveryOptions, now: Instant) -> Self {
        let rests = Rests::default();
        Self { options, now, rests }
    }

    pub(crate) fn decide<E>(&mut self, state: &mut EntryState<E>, rejection: Rejection) -> Decision {
        let rest = self.rest(state, rejection);
        let until = later(self.now, rest);
        let out_of_retries = self.options.retries.is_some_and(|retries| state.rejections() > retries);
        let expiry = state.expiry(self.options.patience());
        if !out_of_retries && expiry.is_none_or(|expiry| until < expiry) {
            if let Some(history) = &mut state.history {
                history.retry = history.retry.after(rest);
            }
            return Decision::Again(until);
        }
        let fault = state.take_fault().unwrap_or_else(|| Fault::new("rejected"));
        Decision::GiveUp(if out_of_retries {
            Cause::RetriesUsedUp(fault)
        } else {
            Cause::TimeUsedUp(fault)
        })
    }

    fn rest<E>(&mut self, state: &EntryState<E>, rejection: Rejection) -> Duration {
        let strategy = &self.options.gate.strategy;
        let is_hot = rejection.is_throttle() && state.key.is_some_and(|key| strategy.is_hot(key));
        if rejection.is_unsent() || is_hot {
            // It waits for the next probe with all others, or in the line of its key.
            return Duration::ZERO;
        }
        self.rests.before(state.retry(), |retry| strategy.rest(retry))
    }

    /// How long the slot of the call rests.
    pub(crate) fn rest_of_slot(&self, outcome: &Outcome) -> Duration {
        // A few entries rejected among many accepted ones are their own affair: a hot key must not hold up its worker.
        let rests = outcome.accepted == 0 || outcome.throttled * 2 >= outcome.sent;
        let rest = if rests { self.rests.shortest() } else { Duration::ZERO };
        rest.max(self.options.gate.strategy.pause())
    }
}
