//! The pacer: from what it hears to what it lets go.

mod marks;
#[cfg(test)]
mod tests;
mod transitions;

use std::time::{Duration, Instant};

use super::super::jitter::Jitter;
use super::arrears::Arrears;
use super::change::Change;
use super::clock::{Clock, after};
use super::count::{reckoned, whole};
use super::credit::Credit;
use super::estimate::Estimate;
use super::evidence::Evidence;
use super::floor::Floor;
use super::group::Group;
use super::outage::Outage;
use super::recent::Recent;
use super::retries::Retries;
use super::rules::{Rule, Rules};
use super::schedule::{Conditions, Schedule};
use super::search::Search;
use super::suspicion::Suspicion;
use super::trial::Trial;
use super::trip::Trip;
use crate::backoff::{Admission, Outcome, Waiter};

/// How long a waiter that depends on answers waits before it asks again without one, in seconds.
const PATIENCE: f64 = 0.02;

/// Bounds of a pace in entries a second, so that no arithmetic leaves the numbers.
const LOWEST: f64 = 0.1;
const HIGHEST: f64 = 1e9;

/// The shortest wait in seconds: no timer is finer, and a moment that has come already would be waited for without end.
const SHORTEST_WAIT: f64 = 1e-4;

/// Calls in flight at the end of a search have two round trips to come back.
const DRAIN_TRIPS: f64 = 2.0;

/// No time is measured more finely than this, in seconds.
const LEAST_SPAN: f64 = 1e-3;

/// A call carries at most what so many seconds bring, so that a very low estimate is soon put to the test.
const CALL_SECONDS: f64 = 0.5;

/// What the pacer is doing.
#[derive(Debug)]
enum State {
    /// The capacity is not known: more and more entries in flight.
    Search(Search),
    /// Something was rejected: nothing leaves until everything is back, or until that moment.
    Drain {
        from: f64,
        until: f64,
        accepted: f64,
        /// When the service saw calls of which nothing was rejected, and of how many entries they were.
        whole: Vec<(f64, f64)>,
    },
    /// The capacity is known: the pace follows the schedule.
    Track,
    /// Half the pace, to learn whether rejections depend on it.
    Trial(Trial),
    /// The service takes nothing: single entries.
    Outage(Outage),
}

/// The state machine behind [`Adaptive`](super::Adaptive).
#[derive(Debug)]
pub(super) struct Pacer {
    rules: Rules,
    clock: Clock,
    trip: Trip,
    recent: Recent,
    floor: Floor,
    state: State,
    /// Entries in the largest call that anyone wanted to make.
    chunk: f64,
    in_flight: f64,
    /// Entries a second, when known.
    capacity: Option<f64>,
    estimate: Estimate,
    change: Change,
    schedule: Schedule,
    suspicion: Suspicion,
    credit: Credit,
    retries: Retries,
    group: Group,
    /// When the bucket was empty last, as far as known.
    mark_at: Option<f64>,
    /// Entries accepted since.
    accepted: f64,
    /// What left before that, and got through whole, is not counted: it was sent many times too fast.
    overshot_until: f64,
    /// Entries that might have left since and did not, as nobody was there to send them.
    unused: f64,
    /// Those that are to be made up for.
    arrears: Arrears,
    full_rejections: u32,
    accepted_at: f64,
    /// The estimate that had sunk before the search, and the share of rejections that made it sink.
    unconfirmed: Option<(f64, f64)>,
    /// When what that search found is tried out.
    confirm_at: f64,
}

impl Pacer {
    pub(super) fn new(rules: Rules) -> Self {
        let initial = rules.initial_rate.map(|rate| Estimate::guessed(rate, f64::INFINITY));
        Self {
            rules,
            clock: Clock::default(),
            trip: Trip::default(),
            recent: Recent::default(),
            floor: Floor::default(),
            state: initial.map_or_else(|| State::Search(Search::new()), |_| State::Track),
            chunk: 1.0,
            in_flight: 0.0,
            capacity: rules.initial_rate,
            estimate: initial.unwrap_or_default(),
            change: Change::default(),
            schedule: Schedule::new(rules),
            suspicion: Suspicion::default(),
            credit: Credit::default(),
            retries: Retries::default(),
            group: Group::default(),
            mark_at: None,
            accepted: 0.0,
            overshot_until: f64::NEG_INFINITY,
            unused: 0.0,
            arrears: Arrears::default(),
            full_rejections: 0,
            accepted_at: 0.0,
            unconfirmed: None,
            confirm_at: 0.0,
        }
    }

    /// Entries a second that the service can take, as far as known.
    pub(super) fn capacity(&self) -> Option<f64> {
        self.capacity
    }

    /// The share of entries that is rejected whatever the pace.
    pub(super) fn floor(&self) -> f64 {
        self.floor.share()
    }

    /// The share of entries that are rejected by mere chance, so that some are rejected again and again.
    pub(super) fn bad_luck(&self) -> f64 {
        let long_search = matches!(&self.state, State::Search(search) if search.is_long());
        if !self.retries.are_unlucky() {
            0.0
        } else if self.floor.is_up() {
            // What is rejected on top is rejected for the pace, and that is no luck.
            self.floor.share()
        } else if long_search {
            self.retries.fresh_share()
        } else {
            0.0
        }
    }

    /// How long a call takes at the pace that the service can take.
    pub(super) fn call_time(&self) -> Duration {
        let seconds = self.capacity.map_or(0.0, |capacity| self.call_at(capacity) / capacity);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Entries in a call at that pace.
    fn call_at(&self, pace: f64) -> f64 {
        self.chunk.min((pace * CALL_SECONDS).max(1.0))
    }

    /// Whether retries are held back until it is their turn.
    pub(super) fn holds_retries(&self) -> bool {
        self.group.is_active() && !self.group.gives()
    }

    /// How much longer a rejected entry rests.
    pub(super) fn hold(&mut self, now: Instant) -> Duration {
        let moment = self.clock.now(now);
        Duration::try_from_secs_f64(self.group.hold(moment)).unwrap_or_default()
    }

    pub(super) fn admit(&mut self, now: Instant, waiter: Waiter) -> Admission {
        let moment = self.clock.now(now);
        let wanted = reckoned(waiter.entries);
        self.chunk = self.chunk.max(wanted);
        self.end_drain_if_done(moment);
        self.earn(moment);
        let limit = match &mut self.state {
            State::Search(search) => match self.rules.max_rate.and_then(|rate| self.credit.wait(rate)) {
                Some(seconds) => Err(seconds),
                None => search.admits(wanted, waiter.more, self.in_flight).ok_or(PATIENCE),
            },
            State::Drain { until, .. } => Err((*until - moment).min(PATIENCE)),
            State::Outage(outage) => outage.wait(moment).map_or(Ok(1.0), Err),
            State::Track | State::Trial(_) => self
                .credit
                .wait(self.pace(moment))
                .map_or_else(|| Ok(self.limit(moment)), Err),
        };
        match limit {
            Ok(limit) => Admission::Go(whole(limit).min(waiter.entries)),
            Err(seconds) => Admission::WaitUntil(after(now, seconds.max(SHORTEST_WAIT))),
        }
    }

    pub(super) fn depart(&mut self, now: Instant, entries: usize) {
        let moment = self.clock.now(now);
        let entries = reckoned(entries);
        self.earn(moment);
        self.in_flight += entries;
        self.credit.spend(entries * (1.0 - self.floor.share()));
        if let State::Outage(outage) = &mut self.state {
            outage.departs(moment);
        }
    }

    /// Forgets what the service could take, but not which calls are on their way.
    pub(super) fn reset(&mut self) {
        let fresh = Self::new(self.rules);
        let Self {
            clock,
            trip,
            chunk,
            in_flight,
            ..
        } = std::mem::replace(self, fresh);
        *self = Self {
            clock,
            trip,
            chunk,
            in_flight,
            ..Self::new(self.rules)
        };
    }

    pub(super) fn observe(&mut self, outcome: &Outcome, jitter: &Jitter) {
        let now = self.clock.now(outcome.answered_at);
        let sent_at = self.clock.seconds(outcome.sent_at).min(now);
        let in_flight = self.in_flight;
        self.in_flight = (in_flight - reckoned(outcome.sent)).max(0.0);
        // A call that was lost says nothing of the service's pace, and its end is no answer.
        if outcome.accepted + outcome.throttled + outcome.refused > 0 {
            self.trip.observe((now - sent_at).max(0.0));
            let seen_at = self.trip.seen_at(sent_at, now);
            let evidence = Evidence::new(outcome, sent_at, seen_at, now);
            self.hear(&evidence, in_flight, jitter);
        }
        self.end_drain_if_done(now);
    }

    fn hear(&mut self, evidence: &Evidence, in_flight: f64, jitter: &Jitter) {
        self.recent
            .observe(evidence.now, evidence.accepted, self.trip.seconds());
        self.count_accepted(evidence);
        self.hear_of_retries(evidence);
        if evidence.accepted > 0.0 {
            self.accepted_at = evidence.now;
        }
        let judged = self.judged(evidence);
        match &mut self.state {
            State::Search(search) => {
                let trip = self.trip.seconds();
                if let Some(found) = search.observe(evidence, judged, in_flight, trip) {
                    let from = self.measure(found);
                    self.state = State::Drain {
                        from,
                        until: evidence.now + DRAIN_TRIPS * trip,
                        accepted: evidence.accepted,
                        whole: Vec::new(),
                    };
                } else if let Some(share) = search.is_stuck(evidence.now).filter(|_| !self.floor.is_up()) {
                    self.abandon_search(evidence.now, share);
                }
            }
            State::Drain { accepted, .. } => {
                *accepted += evidence.accepted;
                if judged.1 > 0.0 {
                    self.measure_until(evidence.seen_at);
                }
            }
            State::Track => self.track(evidence),
            State::Trial(trial) => {
                if trial.is_in_vain(evidence) {
                    self.state = State::Outage(Outage::new(evidence.now, self.trip.seconds()));
                } else if let Some(finding) = trial.observe(evidence) {
                    self.conclude(finding, evidence.now);
                }
            }
            State::Outage(outage) => {
                if evidence.accepted > 0.0 {
                    let seconds = outage.seconds(evidence.now);
                    self.recover(evidence, seconds);
                } else if evidence.sent_at >= outage.since() {
                    outage.rejected(evidence.now, jitter);
                }
            }
        }
    }

    fn conditions(&self) -> Conditions {
        let capacity = self.capacity.unwrap_or(1.0);
        // What is lost by chance makes any stretch inexact, and tells of nobody.
        let is_shared = !self.floor.is_up() && self.change.is_shared(capacity, self.chunk);
        Conditions {
            capacity,
            recent: self.recent.rate(),
            chunk: self.call_at(capacity),
            trip: self.trip.seconds(),
            is_shared,
            is_clear: !is_shared && !self.floor.is_up() && !self.group.is_active(),
        }
    }

    /// Entries a second that are to be accepted.
    fn pace(&self, now: f64) -> f64 {
        let pace = match &self.state {
            State::Trial(trial) => trial.pace(),
            _ => self.rules.share * self.schedule.pace(now, &self.conditions()) * self.arrears.factor(),
        };
        pace.min(self.rules.max_rate.unwrap_or(HIGHEST)).clamp(LOWEST, HIGHEST)
    }

    fn earn(&mut self, now: f64) {
        let pace = match &self.state {
            State::Track | State::Trial(_) => self.pace(now),
            _ => self.rules.max_rate.unwrap_or(HIGHEST),
        };
        let lost = self.credit.earn(now, pace);
        if self.rules.has(Rule::Unused) && matches!(self.state, State::Track) {
            self.unused += self.arrears.add(now, lost, pace);
        }
    }

    /// How many entries a call may carry.
    fn limit(&self, now: f64) -> f64 {
        self.pace(now) * CALL_SECONDS
    }
}
