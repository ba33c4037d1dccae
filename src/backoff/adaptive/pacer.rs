//! The pacer: from what it hears to what it lets go.

use std::time::Instant;

use super::super::jitter::Jitter;
use super::change::{Change, Stretch};
use super::clock::{Clock, after};
use super::count::{reckoned, whole};
use super::credit::Credit;
use super::estimate::Estimate;
use super::evidence::Evidence;
use super::floor::Floor;
use super::outage::{LONG, Outage};
use super::recent::Recent;
use super::retries::Retries;
use super::rules::{Rule, Rules};
use super::schedule::{Conditions, Schedule};
use super::search::{Found, Search};
use super::suspicion::Suspicion;
use super::trial::{Finding, Trial};
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

/// Accepted entries that are worth an estimate at the end of a search.
const WORTH: f64 = 4.0;

/// No time is measured more finely than this, in seconds.
const LEAST_SPAN: f64 = 1e-3;

/// An estimate that so much time vouches for, in seconds or in round trips, needs no small calls any more.
const VOUCHED: f64 = 0.5;
const VOUCHED_TRIPS: f64 = 10.0;

/// The least time whose entries a call may carry before, in seconds.
const SMALL_CALL: f64 = 0.03;

/// A call carries at most what so many seconds bring, so that a very low estimate is soon put to the test.
const CALL_SECONDS: f64 = 1.0;

/// Calls in a row of which nothing was accepted, and round trips without anything accepted: an outage.
const FULL_REJECTIONS: u32 = 2;
const NOTHING_TRIPS: f64 = 1.5;

/// An estimate that had sunk and is this many times higher when searched again had no reason to sink.
const RISEN: f64 = 1.5;

/// What was accepted lately tells how slow a trial must be, but the pace may have been low for other reasons: not below this
/// part of the estimate.
const LEAST_TRUSTED: f64 = 0.25;

/// The window of the search after an outage that left no estimate.
const WINDOW_AFTER_OUTAGE: f64 = 2.0;

/// What the pacer is doing.
#[derive(Debug)]
enum State {
    /// The capacity is not known: more and more entries in flight.
    Search(Search),
    /// Something was rejected: nothing leaves until everything is back, or until that moment.
    Drain { from: f64, until: f64, accepted: f64 },
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
    /// When the bucket was empty last, as far as known.
    mark_at: Option<f64>,
    /// Entries accepted since.
    accepted: f64,
    full_rejections: u32,
    accepted_at: f64,
    /// The estimate that had sunk before the search, and the share of rejections that made it sink.
    unconfirmed: Option<(f64, f64)>,
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
            mark_at: None,
            accepted: 0.0,
            full_rejections: 0,
            accepted_at: 0.0,
            unconfirmed: None,
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

    /// Whether it is mere chance that an entry is rejected more than once.
    pub(super) fn retries_are_unlucky(&self) -> bool {
        let long_search = matches!(&self.state, State::Search(search) if search.is_long());
        (self.floor.is_up() || long_search) && self.retries.are_unlucky()
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
                None => search.admits(wanted, self.in_flight).ok_or(PATIENCE),
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
        let (sent, rejected) = (
            evidence.sent - evidence.fresh,
            evidence.rejected - evidence.fresh_rejected,
        );
        self.retries
            .hear((evidence.fresh, evidence.fresh_rejected), (sent, rejected));
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
                    };
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
                let (fresh, rejected) = (evidence.fresh, evidence.fresh_rejected);
                if let Some(finding) = trial.observe(evidence.sent_at, evidence.now, fresh, rejected) {
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

    /// Counts what was accepted since the last mark.
    fn count_accepted(&mut self, evidence: &Evidence) {
        // Right after a search many calls are under way that the service saw before the mark, and some before the first.
        if let (State::Drain { from, .. }, Some(mark_at)) = (&self.state, self.mark_at)
            && evidence.seen_at <= mark_at
        {
            if evidence.seen_at > *from {
                self.estimate.add(evidence.accepted, 0.0);
            }
            return;
        }
        self.accepted += evidence.accepted;
    }

    /// What of an answer is judged: the fresh entries alone where retries fail for reasons of their own.
    fn judged(&self, evidence: &Evidence) -> (f64, f64) {
        if self.floor.is_up() || self.retries.are_at_fault() {
            (evidence.fresh, evidence.fresh_rejected)
        } else {
            (evidence.sent, evidence.rejected)
        }
    }

    /// What was accepted at the end of a search. Tells since when.
    fn measure(&mut self, found: Found) -> f64 {
        if let Some(from) = self.mark_at {
            self.measure_until(found.until);
            return from;
        }
        self.estimate.add(found.accepted, found.until - found.from);
        self.mark_at = Some(found.until);
        self.accepted = 0.0;
        found.from
    }

    /// What was accepted from the last mark to this one, while the capacity is not known.
    fn measure_until(&mut self, mark_at: f64) {
        if let Some(last) = self.mark_at.filter(|last| *last < mark_at) {
            self.estimate.add(self.accepted, mark_at - last);
            self.mark_at = Some(mark_at);
            self.accepted = 0.0;
        }
    }

    fn end_drain_if_done(&mut self, now: f64) {
        let State::Drain { until, accepted, .. } = self.state else {
            return;
        };
        if self.in_flight > 0.0 && now < until {
            return;
        }
        let trip = self.trip.seconds();
        if self.estimate.entries() >= WORTH {
            self.capacity = Some(self.estimate.rate_over((trip / 2.0).max(LEAST_SPAN)));
            self.schedule.restart();
            self.start_tracking(now);
            if let Some((sunk, share)) = self.unconfirmed.take()
                && self.capacity > Some(RISEN * sunk)
            {
                self.try_out(now, share);
            }
        } else if accepted <= 0.0 && self.accepted <= 0.0 {
            self.state = State::Outage(Outage::new(now, trip));
        } else {
            self.state = State::Search(Search::from(1.0));
        }
    }

    fn start_tracking(&mut self, now: f64) {
        self.change.begin(now);
        self.credit = Credit::none(now);
        self.full_rejections = 0;
        self.suspicion.clear();
        self.state = State::Track;
        self.cut(now);
    }

    fn track(&mut self, evidence: &Evidence) {
        self.schedule.rejected(evidence.rejected);
        let (fresh, rejected) = self.judged(evidence);
        let dips = self.schedule.dips(evidence.sent_at);
        if dips {
            let capacity = self.capacity.unwrap_or(0.0);
            self.suspicion.hear(evidence.fresh, evidence.fresh_rejected, capacity);
        }
        if self.floor.exceeded(fresh, rejected, self.capacity.unwrap_or(0.0)) {
            self.mark(evidence, dips);
        } else if dips && self.floor.is_up() {
            self.floor
                .measure_in_passing(evidence.now, evidence.fresh, evidence.fresh_rejected);
        }
        if !evidence.is_full_rejection() {
            self.full_rejections = 0;
        } else if fresh > 0.0 {
            self.full_rejections += 1;
        }
        let trip = self.trip.seconds();
        let nothing = evidence.now - self.accepted_at > NOTHING_TRIPS * trip;
        if self.rules.has(Rule::Outage) && self.full_rejections >= FULL_REJECTIONS && nothing {
            self.state = State::Outage(Outage::new(evidence.now, trip));
            return;
        }
        if !self.rules.has(Rule::Floor) || !matches!(self.state, State::Track) {
            return;
        }
        if self.floor.is_due(evidence.now) {
            self.try_out(evidence.now, self.floor.share());
        } else if self.rules.has(Rule::SearchAgain)
            && let Some(share) = self.suspicion.has_sunk(evidence.now, self.capacity.unwrap_or(0.0))
        {
            self.unconfirmed = Some((self.capacity.unwrap_or(0.0), share));
            self.suspicion.searched(evidence.now);
            self.search_again();
        } else if let Some(share) = self.suspicion.share() {
            self.try_out(evidence.now, share);
        }
    }

    /// The bucket was empty when the service saw the call.
    fn mark(&mut self, evidence: &Evidence, dips: bool) {
        let mark_at = evidence.seen_at;
        let last = self.mark_at.unwrap_or(mark_at);
        let seconds = mark_at - last;
        let mut surprise = false;
        if let Some(capacity) = self.capacity.filter(|_| seconds > 0.0) {
            let trip = self.trip.seconds();
            let stretch = Stretch {
                ended_at: mark_at,
                seconds,
                accepted: self.accepted,
                expected: capacity * seconds,
            };
            self.estimate.add_fading(self.accepted, seconds);
            let tolerance = Change::tolerance(self.chunk, capacity, trip);
            let changed = self.change.observe(stretch, tolerance, trip);
            if let Some(changed) = changed.filter(|_| self.rules.has(Rule::Change)) {
                surprise = true;
                self.estimate = Estimate::guessed(changed.rate, changed.seconds);
                self.schedule.surprise();
            }
            self.capacity = Some(self.estimate.rate_over(LEAST_SPAN));
        }
        if seconds > 0.0 || self.mark_at.is_none() {
            self.mark_at = Some(mark_at);
            self.accepted = 0.0;
        }
        let is_news = evidence.sent_at > self.schedule.cut_at();
        if is_news && (!dips || evidence.fresh_rejected > 0.0) {
            self.suspicion.marked(dips);
        }
        if is_news || surprise {
            self.cut(evidence.now);
        }
    }

    fn cut(&mut self, now: f64) {
        let conditions = self.conditions();
        self.suspicion.keep_peak(conditions.capacity);
        self.schedule.cut(now, &conditions);
        self.credit.forfeit();
    }

    /// Half the pace for a while.
    fn try_out(&mut self, now: f64, share: f64) {
        let capacity = self.capacity.unwrap_or(0.0);
        let recent = self.recent.rate();
        let pace = capacity.min(recent.max(LEAST_TRUSTED * capacity));
        self.suspicion.clear();
        self.state = State::Trial(Trial::new(now, pace, self.chunk, share));
        self.credit.forfeit();
        // The service has just rejected something: the first call waits for a whole chunk's time.
        self.credit.spend(self.chunk);
    }

    fn conclude(&mut self, finding: Finding, now: f64) {
        match finding {
            Finding::Loss { sent, rejected } => {
                let known = self.floor.is_up();
                self.floor.declare(now, sent, rejected);
                if known {
                    self.state = State::Track;
                    self.cut(now);
                } else {
                    self.suspicion.confirmed();
                    self.search_again();
                }
            }
            Finding::Pace => {
                self.floor.clear();
                self.suspicion.clear();
                self.schedule.shorten();
                self.state = State::Track;
                self.cut(now);
            }
        }
    }

    /// Looks for the capacity from the present pace upwards.
    fn search_again(&mut self) {
        let window = self.capacity.unwrap_or(0.0) * self.trip.seconds();
        self.forget();
        self.state = State::Search(Search::from(window));
    }

    /// The service takes entries again.
    fn recover(&mut self, evidence: &Evidence, seconds: f64) {
        if self.capacity.is_none() {
            self.state = State::Search(Search::from(WINDOW_AFTER_OUTAGE));
            return;
        }
        if seconds > LONG {
            self.mark_at = Some(evidence.seen_at);
            self.accepted = 0.0;
        }
        self.schedule.shorten();
        self.start_tracking(evidence.now);
    }

    /// Nothing is known of the capacity any more.
    fn forget(&mut self) {
        self.capacity = None;
        self.estimate = Estimate::default();
        self.mark_at = None;
        self.accepted = 0.0;
    }

    fn conditions(&self) -> Conditions {
        let capacity = self.capacity.unwrap_or(1.0);
        Conditions {
            capacity,
            recent: self.recent.rate(),
            chunk: self.chunk.min(capacity * CALL_SECONDS),
            trip: self.trip.seconds(),
        }
    }

    /// Entries a second that are to be accepted.
    fn pace(&self, now: f64) -> f64 {
        let pace = match &self.state {
            State::Trial(trial) => trial.pace(),
            _ => self.rules.share * self.schedule.pace(now, &self.conditions()),
        };
        pace.min(self.rules.max_rate.unwrap_or(HIGHEST)).clamp(LOWEST, HIGHEST)
    }

    fn earn(&mut self, now: f64) {
        let pace = match &self.state {
            State::Track | State::Trial(_) => self.pace(now),
            _ => self.rules.max_rate.unwrap_or(HIGHEST),
        };
        self.credit.earn(now, pace);
    }

    /// How many entries a call may carry.
    fn limit(&self, now: f64) -> f64 {
        let pace = self.pace(now);
        // A time without a mark vouches as well.
        let vouched = self.estimate.seconds().max(now - self.schedule.cut_at());
        if vouched > VOUCHED || vouched > VOUCHED_TRIPS * self.trip.seconds() || !self.rules.has(Rule::SmallCalls) {
            return pace * CALL_SECONDS;
        }
        pace * vouched.max(SMALL_CALL)
    }
}
