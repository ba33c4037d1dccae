//! The pacer: from what it observes to what may leave. `states` has its congestion signals and the changes of its state.

mod states;

use std::time::{Duration, Instant};

use super::estimate::Estimate;
use super::evidence::{Evidence, Observation};
use super::flow::Flow;
use super::loss::BaselineLoss;
use super::outage::Outage;
use super::probe::Probe;
use super::retries::{RetryPace, retry_delay};
use super::schedule::{Conditions, Schedule};
use super::search::{End, Search};
use super::settings::Settings;
use super::time::{ASK_AGAIN, BURST, TokenBucket, after};
use crate::jitter::Jitter;
use crate::pace::meter::to_f64;
use crate::pace::{Admission, Outcome, PaceReason, PaceSnapshot, PaceState, Retry, Waiter};

/// The shortest wait in seconds: no timer is finer, and a wait for a moment that has passed never ends.
const MIN_WAIT: f64 = 1e-4;

/// The part of the announced throughput at which a search begins: several processes may start together, others may use some of it, and
/// partitions are not equally busy.
const ANNOUNCED_SHARE: f64 = 0.25;

/// A state with what belongs to it alone.
#[derive(Debug)]
enum Phase {
    /// A window of entries in flight grows until more is not accepted.
    Searching(Search),
    /// The calls in flight are answered, until then at the latest.
    Draining { until: f64 },
    /// The pace follows the schedule.
    Steady,
    /// The pace is low, to learn whether rejections depend on it.
    Probing(Probe),
    /// Single entries ask whether the service is back.
    Outage(Outage),
}

impl Phase {
    fn state(&self) -> PaceState {
        match self {
            Self::Searching(_) => PaceState::Searching,
            Self::Draining { .. } => PaceState::Draining,
            Self::Steady => PaceState::Steady,
            Self::Probing(_) => PaceState::Probing,
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
    /// Entries in the largest call that was asked for.
    call: f64,
    loss: BaselineLoss,
    /// When a known loss is measured again.
    review_at: f64,
    retries: RetryPace,
    phase: Phase,
    reason: PaceReason,
    earlier: [Option<(PaceState, PaceReason)>; 4],
    since: Option<Instant>,
}

impl Pacer {
    pub(super) fn new(settings: Settings) -> Self {
        let (phase, reason) = match settings.initial_rate {
            None => (Phase::Searching(Search::new()), PaceReason::Start),
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
            loss: BaselineLoss::default(),
            review_at: 0.0,
            retries: RetryPace::default(),
            phase,
            reason,
            earlier: [None; 4],
            since: None,
        }
    }

    /// The pacer of a hot key, which starts at this rate in entries per second. The log contains the number instead of the key.
    ///
    /// It measures no baseline loss: what is rejected of a key at any pace of its own is what other keys of its partition use.
    pub(super) fn of_hot_key(number: u64, rate: f64, share: f64) -> Self {
        Self {
            hot_key: Some(number),
            loss: BaselineLoss::never(),
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
                Phase::Steady | Phase::Probing(_) => Some(self.pace(now)),
                _ => self.settings.max_rate,
            },
            loss: self.loss.share(),
            in_flight: whole(self.flow.in_flight() + 1.0) - 1,
            hot_keys,
        }
    }

    /// How long a rejected entry waits. The first retry leaves with the next call.
    pub(super) fn delay(&self, retry: Retry, jitter: &Jitter) -> Duration {
        if retry.number == 1 && !self.retries.are_paced() {
            return Duration::ZERO;
        }
        retry_delay(retry, self.random_loss(), jitter)
    }

    /// The share of entries that are rejected at random, so that some are rejected again and again.
    fn random_loss(&self) -> f64 {
        if !self.retries.fail_at_random() {
            return 0.0;
        }
        // What is rejected beyond a known loss depends on the pace, and is not random.
        if self.loss.is_known() {
            return self.loss.share();
        }
        match &self.phase {
            Phase::Searching(search) => search.loss(),
            _ => 0.0,
        }
    }

    /// How much longer a rejected entry waits for its turn.
    pub(super) fn extra_delay(&mut self, now: Instant) -> Duration {
        let now = self.flow.clock.now(now);
        Duration::try_from_secs_f64(self.retries.wait(now)).unwrap_or_default()
    }

    /// The service has announced what it accepts per second. An answer counts for more.
    pub(super) fn expect_throughput(&mut self, units: f64) {
        let pace = ANNOUNCED_SHARE * self.settings.share * units;
        if let Phase::Searching(search) = &mut self.phase {
            search.announce(self.settings.within_bounds(pace));
        }
    }

    pub(super) fn admit(&mut self, at: Instant, waiter: Waiter) -> Admission {
        let now = self.flow.clock.now(at);
        self.since.get_or_insert(at);
        let wanted = to_f64(waiter.entries);
        self.call = self.call.max(wanted);
        self.end_drain_if_done(now);
        self.earn(now);
        if let Some(seconds) = self.wait_at_highest_rate(now) {
            return Admission::WaitUntil(after(at, seconds.max(MIN_WAIT)));
        }
        let limit = match &mut self.phase {
            // A window may be many seconds of the highest rate, and nothing is given back for a call that fails.
            Phase::Searching(search) => search
                .admit(wanted, waiter.more, self.flow.in_flight(), now)
                .map(|limit| limit.min(self.settings.max_call(self.settings.max_pace()))),
            Phase::Draining { until } => Err((*until - now).min(ASK_AGAIN)),
            Phase::Outage(outage) => outage.wait(now).map_or(Ok(1.0), Err),
            Phase::Steady => {
                let pace = self.pace(now);
                self.tokens.wait(pace).map_or(Ok(self.settings.max_call(pace)), Err)
            }
            Phase::Probing(probe) => {
                let call = probe.call();
                self.tokens.wait(self.pace(now)).map_or(Ok(call), Err)
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
        self.flow.depart(entries);
        self.tokens.spend(entries * (1.0 - self.loss.share()));
        // An attempt in an outage is a single entry of a rate of its own.
        if !matches!(self.phase, Phase::Outage(_)) {
            self.allowed.spend(entries);
        }
        match &mut self.phase {
            Phase::Searching(search) => search.depart(entries, now),
            Phase::Outage(outage) => outage.depart(now),
            _ => {}
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
        if let Some((answer, in_flight)) = self.flow.end(outcome, now) {
            self.observe_answer(&answer, in_flight, jitter);
        }
        self.end_drain_if_done(now);
    }

    fn observe_answer(&mut self, answer: &Observation, in_flight: f64, jitter: &Jitter) {
        if !matches!(self.phase, Phase::Outage(_)) {
            let capacity = self.estimate.rate().unwrap_or(0.0).max(self.flow.recent());
            self.retries.observe(answer, capacity);
        }
        self.estimate.observe(answer.accepted);
        let trial = answer.trial(self.judges_fresh_alone(answer));
        match &mut self.phase {
            Phase::Searching(search) => {
                let trip = self.flow.trip();
                match search.observe(answer, trial, in_flight, trip, self.retries.are_paced()) {
                    None => {}
                    Some(End::Knee(span)) => self.end_search(span, answer.now),
                    Some(End::Stuck) => {
                        let suspicion = search.suspicion();
                        self.abandon_search(answer.now, suspicion);
                    }
                }
            }
            Phase::Draining { .. } => {
                if trial.all.rejected > 0.0 {
                    self.estimate.extend(answer.seen_at);
                }
            }
            Phase::Steady => self.observe_steady(answer, trial),
            Phase::Probing(probe) => {
                let finding = probe.observe(answer.sent_at, answer.now, trial);
                if self.is_stalled(answer) {
                    self.start_outage(answer.now);
                } else if let Some(finding) = finding {
                    self.conclude(finding, answer.now);
                }
            }
            Phase::Outage(outage) => {
                if answer.accepted > 0.0 {
                    self.recover(answer.now);
                } else if answer.sent_at >= outage.since {
                    outage.rejected(answer.now, jitter);
                }
            }
        }
    }

    /// Whether the retries of an answer tell nothing of the capacity: rejected ones are sent again, so they overstate a random loss and
    /// the loss that a probe measures, or they are rejected for reasons of their own.
    fn judges_fresh_alone(&self, answer: &Observation) -> bool {
        let is_probe = matches!(self.phase, Phase::Probing(_)) && answer.fresh.sent > 0.0;
        self.loss.is_known() || self.retries.are_paced() || is_probe || RetryPace::are_singled_out(answer)
    }

    fn observe_steady(&mut self, answer: &Observation, trial: Evidence) {
        let was_known = self.loss.is_known();
        let mut suspicion = None;
        if self.schedule.is_low(answer.sent_at) {
            suspicion = self.loss.observe_below(trial);
            if self.loss.is_known() && !was_known {
                self.schedule_review(answer.now, true);
            }
        // Calls that left before the signal tell what it has told, unless a loss is known, which they may exceed.
        } else if (answer.sent_at > self.schedule.cut_at || was_known) && self.loss.observe_elsewhere(trial) {
            self.signal(answer);
        }
        if self.is_stalled(answer) {
            self.start_outage(answer.now);
        } else if let Some(suspicion) = suspicion {
            // Also a signal: a capacity that has changed is measured sooner. Whether it is a loss is not known yet.
            self.estimate.signal(answer.seen_at);
            self.suspect(answer.now, suspicion);
        } else if self.loss.is_known() && answer.now >= self.review_at && !self.retries.are_paced() {
            self.probe(answer.now, self.loss.suspicion(), PaceReason::Review);
        }
    }

    fn is_stalled(&self, answer: &Observation) -> bool {
        self.flow.is_stalled(answer.now, self.loss.share())
    }

    fn conditions(&self) -> Conditions {
        let capacity = self.estimate.rate().unwrap_or(1.0);
        Conditions {
            capacity,
            recent: self.flow.recent(),
            call: self.call.min(self.settings.max_call(capacity).max(1.0)),
            trip: self.flow.trip(),
        }
    }

    /// Entries a second that are to be accepted.
    fn pace(&self, now: f64) -> f64 {
        let pace = if let Phase::Probing(probe) = &self.phase {
            probe.pace
        } else {
            let conditions = self.conditions();
            self.settings.share * conditions.capacity * self.schedule.share(now, &conditions)
        };
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
            Phase::Steady | Phase::Probing(_) => self.pace(now),
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
    use super::*;

    #[test]
    fn at_least_one_entry_is_whole() {
        assert_eq!([-1.0, 0.0, f64::NAN, 1.9, 25.0].map(whole), [1, 1, 1, 1, 25]);
        assert_eq!(whole(f64::INFINITY), usize::MAX);
    }

    #[test]
    fn a_call_carries_a_quarter_of_a_second_at_most_and_one_entry_at_least() {
        let mut pacer = Pacer::new(Settings::default());
        pacer.call = 25.0;
        for (pace, entries) in [(1_000.0, 25.0), (40.0, 10.0), (4.0, 1.0), (1.0, 1.0)] {
            pacer.estimate.guess(pace);
            let call = pacer.conditions().call;
            assert!((call - entries).abs() < 1e-9, "{call} at {pace}");
        }
    }
}
