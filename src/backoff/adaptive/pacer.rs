//! The pacer: from what it hears to what it lets go.

use std::time::{Duration, Instant};

use tracing::{debug, info};

use super::super::jitter::Jitter;
use super::answer::Answer;
use super::baseline_loss::{BaselineLoss, Suspicion};
use super::capacity::Capacity;
use super::clock::after;
use super::count::{reckoned, whole};
use super::flow::Flow;
use super::outage::{LONG, Outage};
use super::phase::Phase;
use super::probe::{Finding, Probe};
use super::retries::Retries;
use super::retry_group::RetryGroup;
use super::schedule::{Conditions, Schedule};
use super::search::{End, Search};
use super::settings::Settings;
use super::snapshot::{PaceReason, PaceSnapshot};
use super::token_balance::TokenBalance;
use crate::backoff::{Admission, Outcome, Waiter};
use crate::events::PACE;

/// How long a request that depends on answers waits before it asks again without one, in seconds.
const PATIENCE: f64 = 0.02;

/// Bounds of a pace in entries a second, so that no arithmetic leaves the numbers.
const LOWEST: f64 = 0.1;
const HIGHEST: f64 = 1e9;

/// The shortest wait in seconds: no timer is finer, and a wait for a moment that has passed never ends.
const SHORTEST_WAIT: f64 = 1e-4;

/// Calls in flight at the end of a search have two round trips to come back.
const DRAIN_TRIPS: f64 = 2.0;

/// A call carries at most what so many seconds bring, so that a very low estimate is soon put to the test.
const CALL_SECONDS: f64 = 0.25;

/// A capacity that has fallen is at least this part of the estimate less so many times the suspected share of rejections.
const FALL: f64 = 0.9;
const FALL_SHARE: f64 = 0.4;

/// The pace does not climb beyond so many times what was accepted lately: that finds out as well that more is accepted.
const CLIMB: f64 = 2.0;

/// It climbs to the end of a period in any case.
const LEAST_CLIMB: f64 = 1.04;

/// Seconds until a baseline loss is measured again: soon after it was found, and then now and then. A capacity that fell
/// and was taken for a loss would confirm itself for ever.
const FIRST_REVIEW: f64 = 2.0;
const REVIEW: f64 = 12.0;

/// Retries are judged by calls of whose fresh entries at most this share was rejected.
const FEW_REJECTED: f64 = 0.25;

/// The window of the search after an outage that left no estimate.
const WINDOW_AFTER_OUTAGE: f64 = 2.0;

/// The state machine behind [`Adaptive`](super::Adaptive).
#[derive(Debug)]
pub(super) struct Pacer {
    settings: Settings,
    flow: Flow,
    capacity: Capacity,
    loss: BaselineLoss,
    review_at: f64,
    phase: Phase,
    reason: PaceReason,
    since: Option<Instant>,
    /// Entries in the largest call that was asked for.
    call: f64,
    schedule: Schedule,
    balance: TokenBalance,
    retries: Retries,
    group: RetryGroup,
    /// Entries rejected since the last cut.
    rejected: f64,
}

impl Pacer {
    pub(super) fn new(settings: Settings) -> Self {
        let initial = settings.initial_rate;
        Self {
            settings,
            flow: Flow::default(),
            capacity: Capacity::new(initial),
            loss: BaselineLoss::default(),
            review_at: 0.0,
            phase: initial.map_or_else(|| Phase::Searching(Search::new()), |_| Phase::Steady),
            reason: initial.map_or(PaceReason::Start, |_| PaceReason::InitialRate),
            since: None,
            call: 1.0,
            schedule: Schedule::default(),
            balance: TokenBalance::default(),
            retries: Retries::default(),
            group: RetryGroup::default(),
            rejected: 0.0,
        }
    }

    pub(super) fn capacity(&self) -> Option<f64> {
        self.capacity.rate()
    }

    pub(super) fn loss(&self) -> f64 {
        self.loss.share()
    }

    pub(super) fn snapshot(&self, now: Instant, hot_keys: usize) -> PaceSnapshot {
        let now = self.flow.at(now);
        PaceSnapshot {
            state: self.phase.state(),
            reason: self.reason,
            since: self.since,
            capacity: self.capacity.rate(),
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
        match &self.phase {
            // What is rejected on top of a known loss is rejected for the pace, which is no chance.
            _ if self.loss.is_known() => self.loss.share(),
            Phase::Searching(search) => search.loss(),
            Phase::Probing(probe) => probe.suspected(),
            _ => 0.0,
        }
    }

    /// How long a call takes at the pace that the service can take.
    pub(super) fn call_time(&self) -> Duration {
        let seconds = self
            .capacity
            .rate()
            .map_or(0.0, |capacity| self.call_at(capacity) / capacity);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Entries in a call at that pace.
    fn call_at(&self, pace: f64) -> f64 {
        self.call.min((pace * CALL_SECONDS).max(1.0))
    }

    /// Entries in a call at most, at this pace.
    fn call_limit(&self, pace: f64) -> f64 {
        match &self.phase {
            Phase::Probing(probe) => probe.call(),
            _ => pace * CALL_SECONDS,
        }
    }

    /// Whether retries are held back until it is their turn.
    pub(super) fn holds_retries(&self) -> bool {
        self.group.is_active() && !self.group.gives()
    }

    /// How much longer a rejected entry rests.
    pub(super) fn hold(&mut self, now: Instant) -> Duration {
        let now = self.flow.now(now);
        Duration::try_from_secs_f64(self.group.hold(now)).unwrap_or_default()
    }

    pub(super) fn admit(&mut self, at: Instant, request: Waiter) -> Admission {
        let now = self.flow.now(at);
        self.since.get_or_insert(at);
        let wanted = reckoned(request.entries);
        self.call = self.call.max(wanted);
        self.end_drain_if_done(now);
        self.earn(now);
        let limit = match &mut self.phase {
            Phase::Searching(search) => match self.settings.max_rate.and_then(|rate| self.balance.wait(rate)) {
                Some(seconds) => Err(seconds),
                None => search
                    .admits(wanted, request.more, self.flow.in_flight())
                    .ok_or(PATIENCE),
            },
            Phase::Draining { until } => Err((*until - now).min(PATIENCE)),
            Phase::Outage(outage) => outage.wait(now).map_or(Ok(1.0), Err),
            Phase::Steady | Phase::Probing(_) => {
                let pace = self.pace(now);
                self.balance.wait(pace).map_or_else(|| Ok(self.call_limit(pace)), Err)
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
        self.balance.spend(entries * (1.0 - self.loss.share()));
        if let Phase::Outage(outage) = &mut self.phase {
            outage.departs(now);
        }
    }

    /// Forgets what the service could take, but not which calls are on their way.
    pub(super) fn reset(&mut self) {
        let old = std::mem::replace(self, Self::new(self.settings));
        self.flow = old.flow;
        self.flow.reset();
        self.call = old.call;
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
        self.hear_of_retries(answer);
        self.capacity.hear(answer);
        let trial = answer.trial(self.judges_fresh_alone(answer));
        match &mut self.phase {
            Phase::Searching(search) => {
                let trip = self.flow.trip();
                match search.hear(answer, trial, in_flight, trip) {
                    None => {}
                    Some(End::Knee { from, until, accepted }) => self.end_search(from, until, accepted, answer.now),
                    Some(End::Stuck) => {
                        let (calls, entries) = (search.whole_calls(), search.loss());
                        self.abandon_search(answer.now, calls, entries);
                    }
                }
            }
            Phase::Draining { .. } => {
                if trial.rejected > 0.0 {
                    self.capacity.extend(answer.seen_at);
                }
            }
            Phase::Steady => self.hear_steady(answer),
            Phase::Probing(probe) => {
                let finding = probe.hear(answer.sent_at, answer.now, trial);
                if self.is_outage(answer) {
                    self.enter(
                        Phase::Outage(Outage::new(answer.now, self.flow.trip())),
                        PaceReason::NothingAccepted,
                    );
                } else if let Some(finding) = finding {
                    self.conclude(finding, answer.now);
                }
            }
            Phase::Outage(outage) => {
                if answer.accepted > 0.0 {
                    let seconds = outage.seconds(answer.now);
                    self.recover(answer, seconds);
                } else if answer.sent_at >= outage.since() {
                    outage.rejected(answer.now, jitter);
                }
            }
        }
    }

    /// Whether the retries of an answer say nothing of the capacity, as they may be rejected for reasons of their own.
    fn judges_fresh_alone(&self, answer: &Answer) -> bool {
        let fresh = (answer.fresh, answer.fresh_rejected);
        let retries = (answer.sent - fresh.0, answer.rejected - fresh.1);
        let is_probe = matches!(self.phase, Phase::Probing(_)) && fresh.0 > 0.0;
        self.loss.is_known() || self.group.is_active() || is_probe || Retries::are_singled_out(fresh, retries)
    }

    fn hear_steady(&mut self, answer: &Answer) {
        let trial = answer.trial(self.judges_fresh_alone(answer));
        let mut suspicion = None;
        self.rejected += trial.rejected - self.loss.share() * trial.sent;
        if self.schedule.is_low(answer.sent_at) {
            let was_known = self.loss.is_known();
            suspicion = self.loss.below(trial, self.schedule.is_very_low(answer.sent_at));
            if self.loss.is_known() && !was_known {
                self.review_at = answer.now + REVIEW;
            }
        } else if answer.sent_at > self.schedule.cut_at() || self.loss.is_known() {
            if self.loss.above(trial) {
                self.signal(answer);
            }
        } else if trial.rejected > 0.0 {
            // A call from before the cut: the service had no capacity left at that moment either.
            self.capacity.signal(answer.seen_at);
        }
        if self.is_outage(answer) {
            self.enter(
                Phase::Outage(Outage::new(answer.now, self.flow.trip())),
                PaceReason::NothingAccepted,
            );
        } else if let Some(suspicion) = suspicion {
            self.probe(answer.now, suspicion, PaceReason::UnexpectedRejections);
        } else if self.loss.is_known() && answer.now >= self.review_at && !self.group.is_active() {
            self.probe(answer.now, self.loss.suspicion(), PaceReason::Review);
        }
    }

    fn is_outage(&self, answer: &Answer) -> bool {
        let suspected = match &self.phase {
            Phase::Probing(probe) => probe.suspected(),
            _ => 0.0,
        };
        self.flow.has_dried_up(answer.now, self.loss.share().max(suspected))
    }

    /// The service had no capacity left when it saw the call.
    fn signal(&mut self, answer: &Answer) {
        self.capacity.signal(answer.seen_at);
        debug!(
            target: PACE,
            capacity = self.capacity.rate(),
            rejected = answer.rejected,
            "congestion signal"
        );
        self.loss.forget_excess();
        self.cut(answer.now);
    }

    fn cut(&mut self, now: f64) {
        let conditions = self.conditions();
        self.schedule.cut(now, self.rejected, &conditions);
        self.rejected = 0.0;
        self.balance.forfeit();
    }

    fn conditions(&self) -> Conditions {
        let capacity = self.capacity.rate().unwrap_or(1.0);
        Conditions {
            capacity,
            call: self.call_at(capacity),
            trip: self.flow.trip(),
        }
    }

    /// Entries a second that are to be accepted.
    fn pace(&self, now: f64) -> f64 {
        let pace = if let Phase::Probing(probe) = &self.phase {
            probe.pace()
        } else {
            let conditions = self.conditions();
            let climb = self.schedule.pace(now, &conditions);
            let most = (CLIMB * self.flow.recent() / conditions.capacity).max(LEAST_CLIMB);
            self.settings.share * conditions.capacity * climb.min(most)
        };
        pace.min(self.settings.max_rate.unwrap_or(HIGHEST))
            .clamp(LOWEST, HIGHEST)
    }

    fn earn(&mut self, now: f64) {
        let pace = match &self.phase {
            Phase::Steady | Phase::Probing(_) => self.pace(now),
            _ => self.settings.max_rate.unwrap_or(HIGHEST),
        };
        let lost = self.balance.earn(now, pace);
        if matches!(self.phase, Phase::Steady) {
            self.capacity.add_unused(lost);
        }
    }

    /// The one place where the state changes.
    fn enter(&mut self, phase: Phase, reason: PaceReason) {
        let from = self.phase.state();
        self.phase = phase;
        self.reason = reason;
        self.since = self.flow.latest();
        self.flow.forget_rejections();
        info!(
            target: PACE,
            state = %self.phase.state(),
            %from,
            %reason,
            capacity = self.capacity.rate(),
            loss = self.loss.share(),
            in_flight = self.flow.in_flight(),
            "pace"
        );
    }

    fn end_search(&mut self, from: f64, until: f64, accepted: f64, now: f64) {
        self.capacity.begin(from, until, accepted);
        let until = now + DRAIN_TRIPS * self.flow.trip();
        self.enter(Phase::Draining { until }, PaceReason::Knee);
    }

    fn end_drain_if_done(&mut self, now: f64) {
        let Phase::Draining { until } = self.phase else {
            return;
        };
        if self.flow.in_flight() > 0.0 && now < until {
            return;
        }
        let trip = self.flow.trip();
        if self.capacity.settle(trip, self.flow.recent()) {
            self.schedule.restart();
            self.start_steady(now, PaceReason::Drained);
        } else if self.capacity.has_nothing() {
            self.enter(Phase::Outage(Outage::new(now, trip)), PaceReason::NothingAccepted);
        } else {
            self.enter(Phase::Searching(Search::from(1.0)), PaceReason::NothingMeasured);
        }
    }

    fn start_steady(&mut self, now: f64, reason: PaceReason) {
        self.capacity.forget_unused();
        self.balance = TokenBalance::none(now);
        // The service has no capacity left: a call has to be paid for before it leaves.
        self.balance.spend(self.conditions().call);
        self.enter(Phase::Steady, reason);
        self.cut(now);
    }

    /// Rejections go on at any pace, as far as the search could tell.
    fn abandon_search(&mut self, now: f64, (calls, rejected_calls): (f64, f64), entries: f64) {
        let rate = self.flow.recent();
        if rate > 0.0 {
            self.capacity.guess(rate);
            self.schedule.restart();
            self.start_steady(now, PaceReason::Stuck);
            let calls = rejected_calls / calls.max(1.0);
            let suspicion = if calls > 0.5 * entries {
                Suspicion { calls, entries: 0.0 }
            } else {
                Suspicion { calls: 0.0, entries }
            };
            self.probe(now, suspicion, PaceReason::Stuck);
        }
    }

    /// The pace is low for a while, to learn whether the rejections depend on it.
    fn probe(&mut self, now: f64, suspicion: Suspicion, reason: PaceReason) {
        let capacity = self.capacity.rate().unwrap_or(0.0);
        let recent = self.flow.recent();
        let accepted_rate = if recent > 0.0 { recent.min(capacity) } else { capacity };
        let probe = Probe::new(
            now,
            self.flow.trip(),
            accepted_rate,
            suspicion,
            &self.loss,
            reason == PaceReason::Review,
        );
        self.balance.forfeit();
        // The service has mostly just rejected something: the first call waits for its whole time.
        self.balance.spend(probe.call());
        self.enter(Phase::Probing(probe), reason);
    }

    fn conclude(&mut self, finding: Finding, now: f64) {
        let Phase::Probing(probe) = &self.phase else {
            return;
        };
        let probe = *probe;
        let was_known = self.loss.is_known();
        probe.report(finding, &mut self.loss);
        self.review_at = now + if was_known { REVIEW } else { FIRST_REVIEW };
        match finding {
            Finding::Loss => {
                if was_known {
                    self.schedule.shorten();
                } else {
                    // The estimate may have been made of rejections that had nothing to do with it.
                    self.schedule.restart();
                }
                self.start_steady(now, PaceReason::LossFound);
            }
            Finding::Nothing => {
                self.schedule.shorten();
                self.start_steady(now, PaceReason::Undecided);
            }
            Finding::Capacity => {
                if self.reason == PaceReason::UnexpectedRejections {
                    let capacity = self.capacity.rate().unwrap_or(probe.accepted_rate);
                    // Few rejections do not come of a capacity that is far lower.
                    let least = capacity * (FALL - probe.suspected() / FALL_SHARE);
                    let rate = probe.accepted_rate.max(least).min(capacity);
                    self.capacity.guess(rate);
                    self.capacity.forget_stretch();
                }
                self.schedule.shorten();
                self.start_steady(now, PaceReason::CapacityFell);
            }
        }
    }

    /// The service takes entries again.
    fn recover(&mut self, answer: &Answer, seconds: f64) {
        if self.capacity.rate().is_none() {
            self.enter(
                Phase::Searching(Search::from(WINDOW_AFTER_OUTAGE)),
                PaceReason::Recovered,
            );
            return;
        }
        if seconds > LONG {
            // What was accepted before the outage says nothing of the time after it.
            self.capacity.forget_stretch();
        }
        self.schedule.shorten();
        self.start_steady(answer.now, PaceReason::Recovered);
    }

    /// Retries that are rejected while the fresh entries of the same calls are accepted have reasons of their own.
    fn hear_of_retries(&mut self, answer: &Answer) {
        if matches!(self.phase, Phase::Outage(_)) {
            return;
        }
        let fresh = (answer.fresh, answer.fresh_rejected);
        let retries = (answer.sent - fresh.0, answer.rejected - fresh.1);
        self.retries.hear(fresh, retries);
        let capacity = self.capacity.rate().unwrap_or(0.0);
        if self.group.is_active() {
            self.group.give(fresh.1 - 2.0 * self.loss.share() * fresh.0);
            if fresh.1 <= FEW_REJECTED * fresh.0 {
                self.group.hear(retries.0, retries.1, capacity.max(self.flow.recent()));
            }
        } else if self.retries.are_at_fault() {
            self.retries.acquit();
            self.group.begin(answer.now);
            if !self.loss.is_known() {
                // Entries of hot keys that come fresh are rejected at any pace, too.
                let (sent, rejected) = self.retries.fresh();
                self.loss.set(false, sent, rejected);
                self.review_at = answer.now + REVIEW;
            }
        }
    }
}
