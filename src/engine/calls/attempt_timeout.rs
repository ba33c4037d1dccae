//! How long a call may take.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::entry::EntryState;
use crate::options::DeliveryOptions;

/// How often the timeout doubles at most: up to 16 times its length. The timeouts before that take 15 times its length
/// together, so that with the defaults, 30 s and 15 minutes, the time of an entry is over first.
const DOUBLINGS: u32 = 4;

/// How long a call may take before it counts as failed.
///
/// A service that is slower than the timeout may store the entries of each call and answer too late, and each further call
/// stores them again. So the timeout doubles when calls with it have timed out, and halves with each answer that comes
/// within half of it.
pub(crate) struct AttemptTimeout {
    options: DeliveryOptions,
    doubled: AtomicU32,
}

/// The timeout of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallTimeout {
    pub(crate) limit: Duration,
    doubled: u32,
}

impl AttemptTimeout {
    pub(crate) fn new(options: DeliveryOptions) -> Self {
        Self {
            options,
            doubled: AtomicU32::new(0),
        }
    }

    /// The timeout of a call with these entries that leaves at `now`. A longer one than the shortest ends with the time of
    /// the entry that was tried longest.
    pub(crate) fn of_call<E>(&self, states: &[EntryState<E>], now: Instant) -> CallTimeout {
        let doubled = self.doubled.load(Relaxed);
        let shortest = self.options.attempt_timeout;
        if doubled == 0 {
            return CallTimeout {
                limit: shortest,
                doubled,
            };
        }
        let expiries = states.iter().filter_map(|state| state.expiry(&self.options));
        let rest = expiries.min().map(|expiry| expiry.saturating_duration_since(now));
        let most = rest.unwrap_or(self.options.patience()).max(shortest);
        CallTimeout {
            limit: self.doubled(doubled).min(most),
            doubled,
        }
    }

    /// A call got no answer within its timeout. Calls that left with the same timeout count as one.
    pub(crate) fn timed_out(&self, of: CallTimeout) {
        if of.doubled < DOUBLINGS {
            self.change(of.doubled, of.doubled + 1);
        }
    }

    /// A call was answered after this time.
    pub(crate) fn answered(&self, took: Duration) {
        let doubled = self.doubled.load(Relaxed);
        if doubled > 0 && took <= self.doubled(doubled - 1) {
            self.change(doubled, doubled - 1);
        }
    }

    fn doubled(&self, times: u32) -> Duration {
        self.options.attempt_timeout.saturating_mul(1 << times)
    }

    fn change(&self, from: u32, to: u32) {
        // If another call has changed it meanwhile, this one counts together with that.
        let _ = self.doubled.compare_exchange(from, to, Relaxed, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Fault;

    const SECOND: Duration = Duration::from_secs(1);

    fn timeout_of(shortest: Duration, patience: Duration) -> AttemptTimeout {
        let options = DeliveryOptions::default().attempt_timeout(shortest);
        AttemptTimeout::new(options.give_up_after(patience))
    }

    fn seconds(timeout: &AttemptTimeout, states: &[EntryState<()>]) -> u64 {
        timeout.of_call(states, Instant::now()).limit.as_secs()
    }

    fn fresh() -> [EntryState<()>; 1] {
        [EntryState::new(0, 1)]
    }

    fn time_out(timeout: &AttemptTimeout) {
        timeout.timed_out(timeout.of_call(&fresh(), Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn it_doubles_up_to_sixteen_times_and_halves_with_answers_in_time() {
        let timeout = timeout_of(30 * SECOND, Duration::MAX);
        let mut grown = Vec::new();
        for _ in 0..6 {
            grown.push(seconds(&timeout, &fresh()));
            time_out(&timeout);
        }
        assert_eq!(grown, [30, 60, 120, 240, 480, 480]);
        timeout.answered(241 * SECOND);
        assert_eq!(seconds(&timeout, &fresh()), 480);
        let mut shrunk = Vec::new();
        for _ in 0..5 {
            timeout.answered(SECOND);
            shrunk.push(seconds(&timeout, &fresh()));
        }
        assert_eq!(shrunk, [240, 120, 60, 30, 30]);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_time_out_together_count_as_one() {
        let timeout = timeout_of(30 * SECOND, Duration::MAX);
        let left = timeout.of_call(&fresh(), Instant::now());
        (0..16).for_each(|_| timeout.timed_out(left));
        assert_eq!(seconds(&timeout, &fresh()), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn it_grows_only_within_the_time_that_an_entry_has_left() {
        let timeout = timeout_of(30 * SECOND, 60 * SECOND);
        (0..4).for_each(|_| time_out(&timeout));
        assert_eq!(seconds(&timeout, &fresh()), 60);
        for (tried, left) in [(20_u32, 40), (45, 30), (100, 30)] {
            let mut states = [EntryState::new(0, 1), EntryState::new(1, 1)];
            let now = Instant::now();
            tokio::time::advance(tried * SECOND).await;
            states[1].rejected(now, Fault::new("attempt timeout"));
            assert_eq!(seconds(&timeout, &states), left, "tried for {tried} s");
        }
    }
}
