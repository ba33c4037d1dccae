//! The pacer: from what it observes to what may leave. `states` has its congestion signals and the changes of its state.

mod small_call;
mod states;

use std::time::{Duration, Instant};

use small_call::SmallCall;

use super::estimate::Estimate;
use super::evidence::Observation;
use super::flow::Flow;
use super::harmless::HarmlessThrottles;
use super::outage::Outage;
use super::retries::{RetryPace, retry_delay};
use super::schedule::{Conditions, Schedule};
use super::search::Search;
use super::settings::Settings;
use super::time::{ASK_AGAIN, BURST, TokenBucket, after};
use crate::jitter::Jitter;
use crate::pace::meter::to_f64;
use crate::pace::{Admission, Outcome, PaceReason, PaceSnapshot, PaceState, Retry, Waiter};

/// The shortest wait in seconds: no timer is finer, and a wait for a moment that has passed never ends.
const MIN_WAIT: f64 = 1e-4;

/// While retries have a pace of their own, up to this share of the fresh entries of a call is rejected for the same reasons.
const EXPLAINED: f64 = 0.5;

/// A rejection makes calls smaller by this factor, as the service may accept less at once than a call carries; but not smaller than a
/// [`SmallCall`]. Each call without one makes them larger.
const SMALLER: f64 = 0.5;
const LARGER: f64 = 1.02;

/// By which part each call changes what a usual one carries.
const CALL_GAIN: f64 = 0.1;

/// A state with what belongs to it alone.
#[derive(Debug)]
enum Phase {
    /// A window of entries in flight grows until more is not accepted.
    Searching(Search),
    /// The calls in flight are answered, until then at the latest. The search had this many entries in flight.
    Draining { until: f64, window: f64 },
    /// The pace follows the schedule.
    Steady,
    /// Single entries ask whether the service is back.
    Outage(Outage),
}

impl Phase {
    fn state(&self) -> PaceState {
        match self {
            Self::Searching(_) => PaceState::Searching,
            Self::Draining { .. } => PaceState::Draining,
            Self::Steady => PaceState::Steady,
            Self::Outage(_) => PaceState::Outage,
        }
    }
}

/// The state machine behind [`Adaptive`](super::Adaptive).
#[derive(Debug)]
pub(super) struct Pacer {
    settings: Settings,
    /// The number of the hot key that it paces, in the log; `None` for the pace of all.
    hot_key: Option<u64>,
    flow: Flow,
    estimate: Estimate,
    schedule: Schedule,
    tokens: TokenBucket,
    /// What the highest rate allows. A call may cost many seconds of it, so its debts are all paid off.
    allowed: TokenBucket,
    /// Entries in a usual call, and in the largest that may leave.
    call: f64,
    max_call: f64,
    small_call: SmallCall,
    harmless: HarmlessThrottles,
    retries: RetryPace,
    phase: Phase,
    reason: PaceReason,
    earlier: [Option<(PaceState, PaceReason)>; 4],
    since: Option<Instant>,
}

impl Pacer {
    pub(super) fn new(settings: Settings) -> Self {
        let (phase, reason) = match settings.initial_rate {
            None => (Phase::Searching(Search::default()), PaceReason::Start),
            Some(_) => (Phase::Steady, PaceReason::InitialRate),
        };
        Self {
            settings,
            hot_key: None,
            flow: Flow::default(),
            estimate: Estimate::new(settings.initial_rate),
            schedule: Schedule::default(),
            tokens: TokenBucket::default(),
            allowed: TokenBucket::default(),
            call: 1.0,
            max_call: f64::INFINITY,
            small_call: SmallCall::default(),
            harmless: HarmlessThrottles::default(),
            retries: RetryPace::default(),
            phase,
            reason,
            earlier: [None; 4],
            since: None,
        }
    }

    /// The pacer of a hot key, which starts at this rate in entries per second. The log contains the number instead of the key.
    pub(super) fn of_hot_key(number: u64, rate: f64, share: f64) -> Self {
        Self {
            hot_key: Some(number),
            ..Self::new(Settings::of_hot_key(rate, share))
        }
    }

    pub(super) fn snapshot(&self, now: Instant, hot_keys: usize) -> PaceSnapshot {
        let now = self.flow.clock.at(now);
        PaceSnapshot {
            state: self.phase.state(),
            reason: self.reason,
            earlier: self.earlier,
            since: self.since,
            capacity: self.estimate.rate(),
            rate: match self.phase {
                Phase::Steady => Some(self.pace(now)),
                _ => self.settings.max_rate,
            },
            in_flight: whole(self.flow.in_flight() + 1.0) - 1,
            hot_keys,
        }
    }

    /// How long a rejected entry waits. The first retry leaves with the next call.
    pub(super) fn delay(&self, retry: Retry, jitter: &Jitter) -> Duration {
        if retry.number == 1 && !self.retries.are_paced() {
            return Duration::ZERO;
        }
        retry_delay(retry, jitter)
    }

    /// How much longer a rejected entry waits for its turn.
    pub(super) fn extra_delay(&mut self, now: Instant) -> Duration {
        let now = self.flow.clock.now(now);
        Duration::try_from_secs_f64(self.retries.wait(now)).unwrap_or_default()
    }

    pub(super) fn admit(&mut self, at: Instant, waiter: Waiter) -> Admission {
        let now = self.flow.clock.now(at);
        self.since.get_or_insert(at);
        let wanted = to_f64(waiter.entries);
        self.end_drain_if_done(now);
        self.earn(now);
        if let Some(seconds) = self.wait_at_highest_rate(now) {
            return Admission::WaitUntil(after(at, seconds.max(MIN_WAIT)));
        }
        let limit = match &mut self.phase {
            // A window may be many seconds of the highest rate, and nothing is given back for a call that fails.
            Phase::Searching(search) => search
                .admit(wanted, waiter.more, self.flow.in_flight())
                .map(|limit| limit.min(self.max_call))
                .map(|limit| limit.min(self.settings.max_pace() * self.settings.call_seconds)),
            Phase::Draining { until, .. } => Err((*until - now).min(ASK_AGAIN)),
            Phase::Outage(outage) => outage.wait(now).map_or(Ok(1.0), Err),
            Phase::Steady => {
                let pace = self.pace(now);
                self.tokens.wait(pace).map_or(Ok(self.max_call(pace)), Err)
            }
        };
        match limit {
            Ok(limit) => Admission::Go(whole(limit).min(waiter.entries)),
            Err(seconds) => Admission::WaitUntil(after(at, seconds.max(MIN_WAIT))),
        }
    }

    pub(super) fn depart(&mut self, now: Instant, entries: usize) {
        let now = self.flow.clock.now(now);
        let entries = to_f64(entries);
        self.earn(now);
        self.call += CALL_GAIN * (entries - self.call);
        self.flow.depart(entries);
        self.tokens.spend(entries);
        // An attempt in an outage is a single entry of a rate of its own.
        if !matches!(self.phase, Phase::Outage(_)) {
            self.allowed.spend(entries);
        }
        if let Phase::Outage(outage) = &mut self.phase {
            outage.depart(now);
        }
    }

    /// Forgets what the service could accept, but not which calls are in flight.
    pub(super) fn reset(&mut self) {
        let old = std::mem::replace(self, Self::new(self.settings));
        self.flow = old.flow;
        self.flow.reset();
        self.allowed = old.allowed;
        self.call = old.call;
        self.reason = old.reason;
        self.earlier = old.earlier;
        let start = std::mem::replace(&mut self.phase, old.phase);
        self.enter(start, PaceReason::Reset);
    }

    pub(super) fn observe(&mut self, outcome: &Outcome, jitter: &Jitter) {
        let now = self.flow.clock.now(outcome.answered_at);
        let sent_at = self.flow.clock.at(outcome.sent_at);
        // Nothing was charged for an attempt in an outage.
        if !matches!(self.phase, Phase::Outage(outage) if sent_at > outage.since) {
            self.allowed.give_back(to_f64(outcome.throttled + outcome.unsent));
        }
        if let Some((mut answer, in_flight)) = self.flow.end(outcome, now) {
            if self.retries.are_paced() || RetryPace::are_singled_out(&answer) {
                answer.judged = answer.fresh;
            }
            self.observe_answer(&answer, in_flight, jitter);
        }
        self.end_drain_if_done(now);
    }

    fn observe_answer(&mut self, answer: &Observation, in_flight: f64, jitter: &Jitter) {
        if !matches!(self.phase, Phase::Outage(_)) {
            let capacity = self.estimate.rate().unwrap_or(0.0).max(self.flow.recent());
            self.retries.observe(answer, capacity);
        }
        // Only a share of the capacity is asked for.
        let share = if matches!(self.phase, Phase::Steady) {
            self.settings.share
        } else {
            1.0
        };
        self.estimate.observe(answer.accepted / share);
        self.observe_size(answer);
        match &mut self.phase {
            Phase::Searching(search) => {
                let trip = self.flow.trip();
                if let Some(span) = search.observe(answer, in_flight, trip, self.retries.are_paced()) {
                    self.end_search(span, answer.now);
                }
            }
            Phase::Draining { .. } => {
                if answer.judged.rejected > 0.0 {
                    self.estimate.extend(answer.seen_at);
                }
            }
            Phase::Steady => self.observe_steady(answer),
            Phase::Outage(outage) => {
                if answer.accepted > 0.0 {
                    self.recover(answer);
                } else if answer.sent_at >= outage.since {
                    outage.rejected(answer.now, jitter);
                }
            }
        }
    }

    fn observe_size(&mut self, answer: &Observation) {
        let sent = answer.all.sent;
        self.small_call.observe(sent, answer.accepted);
        if answer.judged.rejected <= 0.0 {
            self.max_call *= LARGER;
        } else if sent > self.small_call.size() {
            self.max_call = (SMALLER * self.max_call.min(sent)).max(self.small_call.size());
        }
    }

    fn observe_steady(&mut self, answer: &Observation) {
        if self.is_explained(answer) {
            return;
        }
        // Calls that left before the signal tell what it has told.
        if self.schedule.is_low(answer.sent_at) {
            // Where whole calls are throttled, the signals above the estimate suffice.
            if !answer.is_wholly_rejected() && self.harmless.is_signal_in_part(answer) {
                self.fall(answer);
            }
        } else if answer.sent_at > self.schedule.cut_at && self.harmless.is_signal(answer) {
            self.signal(answer);
        }
        if self.flow.is_stalled(answer.now) {
            self.start_outage(answer.now, None);
        }
    }

    /// Whether the rejections have the reasons of retries that fail for reasons of their own.
    fn is_explained(&self, answer: &Observation) -> bool {
        let fresh = answer.fresh;
        self.retries.are_paced() && answer.accepted > 0.0 && fresh.rejected <= EXPLAINED * fresh.sent
    }

    fn conditions(&self) -> Conditions {
        Conditions {
            capacity: self.capacity(),
            recent: self.flow.recent() / self.settings.share,
            call: self.call.max(1.0),
            trip: self.flow.trip(),
        }
    }

    /// Entries a second that the service accepts, as far as known.
    fn capacity(&self) -> f64 {
        self.estimate.rate().unwrap_or(1.0)
    }

    /// Entries in a call at most, at this pace.
    fn max_call(&self, pace: f64) -> f64 {
        self.max_call.min(pace * self.settings.call_seconds)
    }

    /// The pace, in entries a second that are to be accepted.
    fn pace(&self, now: f64) -> f64 {
        let conditions = self.conditions();
        let mut capacity = conditions.capacity * self.schedule.share(now, &conditions);
        if self.settings.share < 1.0 {
            // At a share hardly anything is rejected, which says nothing of a capacity that has grown.
            capacity = capacity.min(self.estimate.highest());
        }
        let pace = self.settings.share * capacity;
        self.settings.within_bounds(pace)
    }

    /// How many seconds a call waits because of the highest rate. Single attempts in an outage do not: they have a rate of their own.
    fn wait_at_highest_rate(&mut self, now: f64) -> Option<f64> {
        let rate = self.settings.max_rate?;
        self.allowed.pay_off(now, rate, BURST);
        let is_attempt = matches!(self.phase, Phase::Outage(_));
        self.allowed.wait(rate).filter(|_| !is_attempt)
    }

    fn earn(&mut self, now: f64) {
        let pace = match &self.phase {
            Phase::Steady => self.pace(now),
            // The window or the single attempts are the limit.
            _ => self.settings.max_pace(),
        };
        self.tokens.earn(now, pace, BURST);
    }
}

/// The whole entries in an amount, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast rounds down and saturates, which is what is wanted"
)]
fn whole(amount: f64) -> usize {
    amount.max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Trials;
    use super::*;

    #[test]
    fn at_least_one_entry_is_whole() {
        assert_eq!([-1.0, 0.0, f64::NAN, 1.9, 25.0].map(whole), [1, 1, 1, 1, 25]);
        assert_eq!(whole(f64::INFINITY), usize::MAX);
    }

    #[test]
    fn calls_become_smaller_when_something_is_rejected_and_slowly_larger_again() {
        let mut pacer = Pacer::new(Settings::default());
        pacer.estimate.guess(100_000.0);
        assert!(pacer.max_call(100_000.0) > 10_000.0);
        let answer = |sent: f64, rejected: f64| {
            let mut answer = super::super::tests::answer(1.0, rejected);
            answer.all = Trials::new(sent, rejected);
            answer.judged = answer.all;
            answer
        };
        pacer.observe_size(&answer(500.0, 1.0));
        assert!((pacer.max_call(100_000.0) - 250.0).abs() < 1e-9);
        (0..10).for_each(|_| pacer.observe_size(&answer(250.0, 0.0)));
        assert!((pacer.max_call(100_000.0) - 250.0 * LARGER.powi(10)).abs() < 1e-9);
        (0..10).for_each(|_| pacer.observe_size(&answer(250.0, 250.0)));
        assert!((pacer.max_call(100_000.0) - pacer.small_call.size()).abs() < 1e-9);
    }
}
