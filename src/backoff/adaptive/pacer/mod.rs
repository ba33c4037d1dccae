//! The pacer: from what it hears to what it lets go.
//!
//! - `transitions`: from one state to the next.

mod transitions;

use std::time::{Duration, Instant};

use tracing::debug;

use super::super::jitter::Jitter;
use super::answer::Answer;
use super::baseline_loss::BaselineLoss;
use super::clock::after;
use super::count::{reckoned, whole};
use super::flow::Flow;
use super::phase::Phase;
use super::rate::Rate;
use super::retries::Retries;
use super::retry_group::RetryGroup;
use super::search::{End, Search};
use super::settings::Settings;
use crate::backoff::{Admission, Outcome, PaceReason, PaceSnapshot, PaceState, Waiter};
use crate::events::PACE;

/// How long a request that depends on answers waits before it asks again without one, in seconds.
const PATIENCE: f64 = 0.02;

/// The shortest wait in seconds: no timer is finer, and a wait for a moment that has passed never ends.
const SHORTEST_WAIT: f64 = 1e-4;

/// The part of the announced throughput at which a search begins: several processes may start together, others may use some of it, and
/// partitions are not equally busy. At 80 ms and at 8 ms three quarters took no less time.
const ANNOUNCED_SHARE: f64 = 0.25;

/// Seconds until a baseline loss is measured again: soon after it was found, and then now and then. A capacity that fell
/// and was taken for a loss would confirm itself for ever.
const FIRST_REVIEW: f64 = 2.0;
const REVIEW: f64 = 12.0;

/// The state machine behind [`Adaptive`](super::Adaptive).
#[derive(Debug)]
pub(super) struct Pacer {
    settings: Settings,
    /// The number of the hot key that it paces, in the log; `None` for the pace of all.
    hot_key: Option<u64>,
    flow: Flow,
    rate: Rate,
    loss: BaselineLoss,
    review_at: f64,
    phase: Phase,
    reason: PaceReason,
    earlier: [Option<(PaceState, PaceReason)>; 4],
    since: Option<Instant>,
    retries: RetryGroup,
}

impl Pacer {
    pub(super) fn new(settings: Settings) -> Self {
        let initial = settings.initial_rate;
        Self {
            settings,
            hot_key: None,
            flow: Flow::default(),
            rate: Rate::new(settings),
            loss: BaselineLoss::default(),
            review_at: 0.0,
            phase: initial.map_or_else(|| Phase::Searching(Search::new()), |_| Phase::Steady),
            reason: initial.map_or(PaceReason::Start, |_| PaceReason::InitialRate),
            earlier: [None; 4],
            since: None,
            retries: RetryGroup::default(),
        }
    }

    /// The pacer of a hot key, which starts at this rate in entries per second, or with a search. The log contains the number instead
    /// of the key.
    pub(super) fn of_hot_key(number: u64, rate: Option<f64>) -> Self {
        let settings = Settings {
            initial_rate: rate.map(|rate| rate.max(1.0)),
            ..Settings::default()
        };
        Self {
            hot_key: Some(number),
            ..Self::new(settings)
        }
    }

    pub(super) fn capacity(&self) -> Option<f64> {
        self.rate.capacity.rate()
    }

    pub(super) fn loss(&self) -> f64 {
        self.loss.share()
    }

    pub(super) fn snapshot(&self, now: Instant, hot_keys: usize) -> PaceSnapshot {
        let now = self.flow.at(now);
        PaceSnapshot {
            state: self.phase.state(),
            reason: self.reason,
            earlier: self.earlier,
            since: self.since,
            capacity: self.rate.capacity.rate(),
            rate: match self.phase {
                Phase::Steady | Phase::Probing(_) => Some(self.pace(now)),
                _ => self.settings.max_rate,
            },
            loss: self.loss(),
            in_flight: whole(self.flow.in_flight() + 1.0) - 1,
            hot_keys,
        }
    }

    /// The share of entries that are rejected by mere chance, so that some are rejected again and again.
    pub(super) fn bad_luck(&self) -> f64 {
        if !self.retries.are_unlucky() {
            return 0.0;
        }
        // What is rejected on top of a known loss is rejected for the pace, which is no chance.
        if self.loss.is_known() {
            return self.loss.share();
        }
        match &self.phase {
            Phase::Searching(search) => search.loss(),
            _ => 0.0,
        }
    }

    /// Entries in a call at most, at this pace.
    fn call_limit(&self, pace: f64) -> f64 {
        match &self.phase {
            Phase::Probing(probe) => probe.call(),
            _ => Rate::call_limit(pace),
        }
    }

    /// Whether retries are held back until it is their turn.
    pub(super) fn holds_retries(&self) -> bool {
        self.retries.is_active()
    }

    /// How much longer a rejected entry rests.
    pub(super) fn hold(&mut self, now: Instant) -> Duration {
        let now = self.flow.now(now);
        Duration::try_from_secs_f64(self.retries.hold(now)).unwrap_or_default()
    }

    /// The service has told what it takes a second. What was measured is worth more.
    pub(super) fn expect_throughput(&mut self, units: f64) {
        let pace = self.rate.within_bounds(ANNOUNCED_SHARE * self.settings.share * units);
        if let Phase::Searching(search) = &mut self.phase {
            search.begin_at(pace);
        }
    }

    pub(super) fn admit(&mut self, at: Instant, request: Waiter) -> Admission {
        let now = self.flow.now(at);
        self.since.get_or_insert(at);
        let wanted = reckoned(request.entries);
        self.rate.asked(wanted);
        self.end_drain_if_done(now);
        self.earn(now);
        let limit = match &mut self.phase {
            Phase::Searching(search) => match self.settings.max_rate.and_then(|rate| self.rate.balance.wait(rate)) {
                Some(seconds) => Err(seconds),
                None => search
                    .admits(wanted, request.more, self.flow.in_flight())
                    .map_or_else(|| search.admits_as_announced(wanted, now), Ok)
                    .map_err(|seconds| seconds.min(PATIENCE)),
            },
            Phase::Draining { until } => Err((*until - now).min(PATIENCE)),
            Phase::Outage(outage) => outage.wait(now).map_or(Ok(1.0), Err),
            Phase::Steady | Phase::Probing(_) => {
                let pace = self.pace(now);
                self.rate
                    .balance
                    .wait(pace)
                    .map_or_else(|| Ok(self.call_limit(pace)), Err)
            }
        };
        match limit {
            Ok(limit) => Admission::Go(whole(limit).min(request.entries)),
            Err(seconds) => Admission::WaitUntil(after(at, seconds.max(SHORTEST_WAIT))),
        }
    }

    pub(super) fn depart(&mut self, now: Instant, entries: usize) {
        let now = self.flow.now(now);
        let entries = reckoned(entries);
        self.earn(now);
        self.flow.depart(entries);
        self.rate.balance.spend(entries * (1.0 - self.loss.share()));
        match &mut self.phase {
            Phase::Searching(search) => search.departs(entries, now),
            Phase::Outage(outage) => outage.departs(now),
            _ => {}
        }
    }

    /// Forgets what the service could take, but not which calls are on their way.
    pub(super) fn reset(&mut self) {
        let old = std::mem::replace(self, Self::new(self.settings));
        self.flow = old.flow;
        self.flow.reset();
        self.rate.keep_call(&old.rate);
        self.reason = old.reason;
        self.earlier = old.earlier;
        let start = std::mem::replace(&mut self.phase, old.phase);
        self.enter(start, PaceReason::Reset);
    }

    pub(super) fn observe(&mut self, outcome: &Outcome, jitter: &Jitter) {
        let now = self.flow.now(outcome.answered_at);
        if let Some((answer, in_flight)) = self.flow.answer(outcome, now) {
            self.hear(&answer, in_flight, jitter);
        }
        self.end_drain_if_done(now);
    }

    fn hear(&mut self, answer: &Answer, in_flight: f64, jitter: &Jitter) {
        if !matches!(self.phase, Phase::Outage(_)) {
            self.hear_of_retries(answer);
        }
        self.rate.capacity.hear(answer);
        let trial = answer.trial(self.judges_fresh_alone(answer));
        match &mut self.phase {
            Phase::Searching(search) => {
                let trip = self.flow.trip();
                match search.hear(answer, trial, in_flight, trip, self.retries.is_active()) {
                    None => {}
                    Some(End::Knee { from, until, accepted }) => self.end_search(from, until, accepted, answer.now),
                    Some(End::Stuck) => {
                        let suspicion = search.suspicion();
                        self.abandon_search(answer.now, suspicion);
                    }
                }
            }
            Phase::Draining { .. } => {
                if trial.rejected > 0.0 {
                    self.rate.capacity.extend(answer.seen_at);
                }
            }
            Phase::Steady => self.hear_steady(answer),
            Phase::Probing(probe) => {
                let finding = probe.hear(answer.sent_at, answer.now, trial);
                if self.is_outage(answer) {
                    self.start_outage(answer.now);
                } else if let Some(finding) = finding {
                    self.conclude(finding, answer.now);
                }
            }
            Phase::Outage(outage) => {
                if answer.accepted > 0.0 {
                    self.recover(answer.now);
                } else if answer.sent_at >= outage.since() {
                    outage.rejected(answer.now, jitter);
                }
            }
        }
    }

    fn hear_of_retries(&mut self, answer: &Answer) {
        let capacity = self.rate.capacity.rate().unwrap_or(0.0).max(self.flow.recent());
        self.retries.hear(answer, capacity);
    }

    /// Whether the retries of an answer say nothing of the capacity, as they may be rejected for reasons of their own.
    fn judges_fresh_alone(&self, answer: &Answer) -> bool {
        let is_probe = matches!(self.phase, Phase::Probing(_)) && answer.fresh > 0.0;
        self.loss.is_known()
            || self.retries.is_active()
            || is_probe
            || Retries::are_singled_out(answer.fresh_and_retries())
    }

    fn hear_steady(&mut self, answer: &Answer) {
        let trial = answer.trial(self.judges_fresh_alone(answer));
        let mut suspicion = None;
        if self.rate.schedule.is_low(answer.sent_at) {
            let was_known = self.loss.is_known();
            suspicion = self.loss.below(trial);
            if self.loss.is_known() && !was_known {
                self.review_at = answer.now + REVIEW;
            }
        } else if (answer.sent_at > self.rate.schedule.cut_at() || self.loss.is_known()) && self.loss.above(trial) {
            self.signal(answer);
        }
        if self.is_outage(answer) {
            self.start_outage(answer.now);
        } else if let Some(suspicion) = suspicion {
            // Whether it is a loss is not known yet. Without this signal a capacity that changes every ten seconds takes 1.02 instead of
            // 1.01 times the time, and 23 instead of 19 rows of the bench are missed.
            self.rate.capacity.signal(answer.seen_at);
            self.suspect(answer.now, suspicion);
        } else if self.loss.is_known() && answer.now >= self.review_at && !self.retries.is_active() {
            self.probe(answer.now, self.loss.suspicion(), PaceReason::Review);
        }
    }

    fn is_outage(&self, answer: &Answer) -> bool {
        self.flow.has_dried_up(answer.now, self.loss.share())
    }

    /// The service had no capacity left when it saw the call.
    fn signal(&mut self, answer: &Answer) {
        self.rate.capacity.signal(answer.seen_at);
        debug!(
            target: PACE,
            hot_key = self.hot_key,
            capacity = self.rate.capacity.rate(),
            rejected = answer.rejected,
            "congestion signal"
        );
        self.loss.forget_excess();
        self.cut(answer.now);
    }

    fn cut(&mut self, now: f64) {
        self.rate.cut(now, self.flow.trip());
    }

    /// Entries a second that are to be accepted.
    fn pace(&self, now: f64) -> f64 {
        match &self.phase {
            Phase::Probing(probe) => self.rate.within_bounds(probe.pace()),
            _ => self.rate.pace(now, self.flow.trip(), self.flow.recent()),
        }
    }

    fn earn(&mut self, now: f64) {
        let pace = match &self.phase {
            Phase::Steady | Phase::Probing(_) => self.pace(now),
            _ => self.rate.most(),
        };
        self.rate.balance.earn(now, pace);
    }
}
