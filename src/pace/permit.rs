//! A call that waits, the permit for it to leave, and a call that has left.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::admission::Waiter;
use super::contract::Outcome;
use super::details::KeyOutcome;
use super::gate::Gate;
use super::meter::scaled;

/// The place of a call in the queue.
pub(crate) struct QueuedUp {
    gate: Arc<Gate>,
    number: u64,
    timer: Pin<Box<Sleep>>,
}

impl QueuedUp {
    /// A place at the end of the queue.
    pub(crate) fn at(gate: &Arc<Gate>) -> Self {
        Self {
            number: gate.number(),
            gate: Arc::clone(gate),
            timer: Box::pin(sleep_until(Instant::now())),
        }
    }

    /// Ready when the strategy lets a call leave. `waiter` may differ from one poll to the next.
    pub(crate) fn poll_permit(&mut self, context: &mut Context<'_>, waiter: &Waiter) -> Poll<Permit> {
        loop {
            match self.gate.admit(self.number, waiter, context.waker()) {
                Ok(entries) => return Poll::Ready(Permit::new(&self.gate, entries)),
                Err(due) => {
                    self.timer.as_mut().reset(due);
                    ready!(self.timer.as_mut().poll(context));
                }
            }
        }
    }
}

impl Drop for QueuedUp {
    fn drop(&mut self) {
        self.gate.leave(self.number);
    }
}

/// The strategy's permit for a call to leave. Until the call has left or the permit is dropped, the strategy is not asked
/// again. So a permit must not be held across an `await`.
pub(crate) struct Permit {
    gate: Arc<Gate>,
    entries: usize,
}

impl Permit {
    /// A permit without waiting, if no call is in the queue and the strategy gives one.
    pub(crate) fn at_once(gate: &Arc<Gate>, waiter: &Waiter) -> Option<Self> {
        gate.admit_at_once(waiter).map(|entries| Self::new(gate, entries))
    }

    fn new(gate: &Arc<Gate>, entries: usize) -> Self {
        let gate = Arc::clone(gate);
        Self { gate, entries }
    }

    /// How many entries the call may carry at most.
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The call leaves with entries of this cost.
    pub(crate) fn depart(self, cost: usize) -> Departure {
        let now = Instant::now();
        let charge = self.gate.strategy.charge();
        let entries = scaled(cost, charge);
        self.gate.strategy.depart(now, entries);
        Departure {
            gate: Arc::clone(&self.gate),
            sent_at: now,
            charge,
            entries,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.return_permit();
    }
}

/// A call that has left. The strategy observes its end in any case, also when the call is dropped.
pub(crate) struct Departure {
    gate: Arc<Gate>,
    sent_at: Instant,
    /// The ratio at which the strategy was charged at the departure: units for one estimated unit.
    charge: f64,
    /// Units that the strategy was charged at the departure and that no outcome has accounted for.
    entries: usize,
}

impl Departure {
    pub(crate) fn sent_at(&self) -> Instant {
        self.sent_at
    }

    pub(crate) fn counts_units(&self) -> bool {
        self.gate.strategy.counts_units()
    }

    /// Whether the result of the call is counted for each key.
    pub(crate) fn counts_keys(&self, has_rejections: bool) -> bool {
        has_rejections || !self.gate.strategy.is_idle()
    }

    /// The service has said that it should not be called for this long.
    pub(crate) fn hold(&self, wait: Duration) {
        self.gate.hold(self.sent_at, Instant::now() + wait);
    }

    /// The call has ended and consumed these units of capacity, if the service reports them.
    pub(crate) fn answered(mut self, outcome: &Outcome, keys: &mut [KeyOutcome], units: Option<f64>) {
        let mut sent = std::mem::take(&mut self.entries);
        let strategy = &self.gate.strategy;
        let mut outcome = *outcome;
        if !keys.is_empty() {
            let (others, of_hot_keys) = strategy.observe_keys(&outcome, keys);
            outcome = others;
            let ended = scaled(of_hot_keys, self.charge).min(sent);
            if ended > 0 {
                sent -= ended;
                // They have used nothing of the highest rate.
                let of_hot_keys = Outcome::new(outcome.sent_at, outcome.answered_at).with_failed(ended);
                strategy.observe(&of_hot_keys.with_unsent(ended));
            }
        }
        match strategy.meter() {
            Some(meter) => self.gate.observe(&meter.read(&outcome, self.charge, sent, units)),
            None => self.gate.observe(&outcome),
        }
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        if self.entries > 0 {
            let outcome = Outcome::new(self.sent_at.into_std(), Instant::now().into_std());
            self.gate.observe(&outcome.with_failed(self.entries));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{Adaptive, Admission, BackoffStrategy, Pace, Retry};
    use crate::pace::details::{KeyPace, PaceDetails};
    use crate::sync::Mutex;

    /// A strategy to which key 7 is hot, and which keeps what it gets.
    struct Recorder {
        counts_units: bool,
        told: Arc<Mutex<Vec<Outcome>>>,
    }

    impl BackoffStrategy for Recorder {
        fn delay(&self, _: Retry) -> Duration {
            Duration::ZERO
        }

        fn pace(&self) -> Option<&dyn Pace> {
            Some(self)
        }
    }

    impl Pace for Recorder {
        fn observe(&self, outcome: &Outcome) {
            self.told.lock().unwrap().push(*outcome);
        }

        fn details(&self) -> Option<&dyn PaceDetails> {
            Some(self)
        }
    }

    impl PaceDetails for Recorder {
        fn counts_units(&self) -> bool {
            self.counts_units
        }

        fn key_pace(&self) -> Option<&dyn KeyPace> {
            Some(self)
        }
    }

    impl KeyPace for Recorder {
        fn observe(&self, _: std::time::Instant, _: std::time::Instant, keys: &mut [KeyOutcome]) {
            for key in keys {
                key.is_hot = key.key == 7;
            }
        }

        fn is_idle(&self) -> bool {
            false
        }

        fn is_hot(&self, key: u64) -> bool {
            key == 7
        }

        fn admit(&self, _: std::time::Instant, _: u64, wanted: usize) -> Admission {
            Admission::Go(wanted)
        }

        fn depart(&self, _: std::time::Instant, _: u64, _: usize) {}
    }

    /// The result of two calls, each with 15 accepted entries and 10 throttled ones of a hot key. The service reports 45 units for each.
    fn told(counts_units: bool) -> Vec<Vec<Outcome>> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let gate = Arc::new(Gate::new(Recorder {
            counts_units,
            told: Arc::clone(&told),
        }));
        let waiter = Waiter::new(25);
        let call = |_| {
            let departure = Permit::at_once(&gate, &waiter).unwrap().depart(25);
            let now = std::time::Instant::now();
            let outcome = Outcome::new(now, now)
                .with_accepted(15)
                .with_throttled(10)
                .with_fresh(25, 10);
            let mut key = KeyOutcome::new(7);
            (key.sent, key.throttled, key.fresh, key.fresh_throttled) = (10, 10, 10, 10);
            departure.answered(&outcome, &mut [key], Some(45.0));
            std::mem::take(&mut *told.lock().unwrap())
        };
        (0..2).map(call).collect()
    }

    #[test]
    fn each_entry_that_left_ends_once_also_if_its_key_is_hot() {
        for (counts_units, departed) in [(false, [25, 25]), (true, [25, 75])] {
            for (told, departed) in told(counts_units).iter().zip(departed) {
                assert_eq!(told.iter().map(|outcome| outcome.sent).sum::<usize>(), departed);
            }
        }
    }

    #[test]
    fn the_pace_of_all_does_not_take_the_throttles_of_a_hot_key_for_acceptances() {
        for (counts_units, rest) in [(false, [15, 15]), (true, [15, 45])] {
            for (told, rest) in told(counts_units).iter().zip(rest) {
                let [of_hot_key, of_others] = told[..] else {
                    panic!("{told:?}");
                };
                assert_eq!((of_hot_key.failed, of_hot_key.sent), (of_hot_key.sent, of_hot_key.sent));
                assert_eq!((of_others.sent, of_others.throttled), (rest, 0));
                assert_eq!(of_others.fresh, rest, "none of them is a retry");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn throttles_of_a_hot_key_cost_nothing_of_the_highest_rate() {
        let gate = Arc::new(Gate::new(Adaptive::default().max_rate(100.0).seed(1)));
        for call in 0..3 {
            let permit = Permit::at_once(&gate, &Waiter::new(20));
            let departure = permit.unwrap_or_else(|| panic!("call {call} waits")).depart(20);
            let now = std::time::Instant::now();
            let outcome = Outcome::new(now, now).with_throttled(20).with_fresh(20, 20);
            let mut keys = [KeyOutcome::new(7)];
            (keys[0].sent, keys[0].throttled, keys[0].first_attempts) = (20, 20, (20, 20));
            (keys[0].fresh, keys[0].fresh_throttled) = (20, 20);
            departure.answered(&outcome, &mut keys, None);
            assert!(keys[0].is_hot);
        }
        assert!(gate.strategy.is_hot(7));
    }
}
