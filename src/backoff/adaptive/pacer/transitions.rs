//! From one state to the next.

use super::{LEAST_SPAN, Pacer, State};
use crate::backoff::adaptive::credit::Credit;
use crate::backoff::adaptive::estimate::Estimate;
use crate::backoff::adaptive::evidence::Evidence;
use crate::backoff::adaptive::outage::{LONG, Outage};
use crate::backoff::adaptive::rules::Rule;
use crate::backoff::adaptive::search::Search;
use crate::backoff::adaptive::trial::{Finding, Trial};

/// Accepted entries that are worth an estimate at the end of a search.
const WORTH: f64 = 4.0;

/// Calls in a row of which nothing was accepted, and round trips without anything accepted: an outage.
const FULL_REJECTIONS: u32 = 2;
const NOTHING_TRIPS: f64 = 1.5;

/// An estimate that had sunk and is this many times higher when searched again had no reason to sink.
const RISEN: f64 = 1.5;

/// So many seconds after a search that measured nothing, marks have mostly told what it should have.
const SETTLED: f64 = 0.5;

/// What was accepted lately tells how slow a trial must be, but the pace may have been low for other reasons: not below this
/// part of the estimate.
const LEAST_TRUSTED: f64 = 0.25;

/// Retries are judged by calls of whose fresh entries at most this share was rejected.
const FEW_REJECTED: f64 = 0.25;

/// The window of the search after an outage that left no estimate.
const WINDOW_AFTER_OUTAGE: f64 = 2.0;

impl Pacer {
    pub(super) fn end_drain_if_done(&mut self, now: f64) {
        let State::Drain {
            until, accepted, whole, ..
        } = &mut self.state
        else {
            return;
        };
        if self.in_flight > 0.0 && now < *until {
            return;
        }
        let (accepted, whole) = (*accepted, std::mem::take(whole));
        self.count_whole(&whole, now);
        let trip = self.trip.seconds();
        let recent = self.recent.rate();
        let nothing = accepted <= 0.0 && self.accepted <= 0.0;
        let mut is_guessed = false;
        if self.estimate.entries() < WORTH && !nothing {
            // The last rejections of the search were all seen at one moment, so that nothing can be measured between them. But
            // more than what got through lately did not get through.
            let guess = Estimate::guessed(recent, f64::INFINITY);
            if guess.entries() >= WORTH {
                self.estimate = guess;
                is_guessed = true;
            }
        }
        if self.estimate.entries() >= WORTH {
            // Over less than half a round trip a rate may come out many times too high, unless as much got through lately.
            let known = self.estimate.rate_over((trip / 2.0).max(LEAST_SPAN));
            self.capacity = Some(known.max(self.estimate.rate_over(LEAST_SPAN).min(recent)));
            self.schedule.restart();
            self.start_tracking(now);
            self.confirm_at = if is_guessed { now + SETTLED } else { now };
            self.confirm(now);
        } else if nothing {
            self.state = State::Outage(Outage::new(now, trip));
        } else {
            self.state = State::Search(Search::from(1.0));
        }
    }

    /// Tries out an estimate that was searched for, when it is time, and is far higher than the one that had sunk.
    fn confirm(&mut self, now: f64) {
        if now >= self.confirm_at
            && let Some((sunk, share)) = self.unconfirmed.take()
            && self.capacity > Some(RISEN * sunk)
            && !self.group.is_active()
        {
            self.try_out(now, share);
        }
    }

    pub(super) fn start_tracking(&mut self, now: f64) {
        self.change.begin();
        self.unused = 0.0;
        self.arrears.clear();
        self.credit = Credit::none(now);
        // The bucket is empty: a call has to be paid for before it leaves.
        self.credit.spend(self.conditions().chunk);
        self.full_rejections = 0;
        self.suspicion.clear();
        self.state = State::Track;
        self.cut(now);
    }

    pub(super) fn track(&mut self, evidence: &Evidence) {
        self.schedule.rejected(evidence.rejected);
        let (fresh, rejected) = self.judged(evidence);
        let dips = self.schedule.dips(evidence.sent_at) && !self.arrears.are_left();
        let capacity = self.capacity.unwrap_or(0.0);
        if dips {
            self.suspicion.hear(evidence.fresh, evidence.fresh_rejected, capacity);
        }
        self.floor.expect(evidence.now, fresh, rejected, capacity);
        if self.floor.exceeded(fresh, rejected, capacity) {
            self.mark(evidence, dips);
        } else if dips && self.floor.is_up() && self.estimate.is_vouched_for() {
            self.floor.measure_in_passing(evidence.fresh, evidence.fresh_rejected);
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
        if self.unconfirmed.is_some() {
            self.confirm(evidence.now);
        } else if self.floor.is_due(evidence.now) && !self.group.is_active() {
            self.try_out(evidence.now, self.floor.share());
        } else if let Some(share) = self.suspicion.share() {
            self.try_out(evidence.now, share);
        } else if self.rules.has(Rule::SearchAgain)
            // A known loss is looked at again by and by, but not beside hot keys.
            && (!self.floor.is_up() || self.group.is_active())
            && let Some(share) = self
                .suspicion
                .has_sunk(evidence.now, self.capacity.unwrap_or(0.0), self.floor.is_up())
        {
            self.unconfirmed = Some((self.capacity.unwrap_or(0.0), share));
            self.suspicion.searched(evidence.now);
            self.search_again();
        }
    }

    /// Retries that are rejected while the fresh entries of the same calls are accepted have reasons of their own.
    pub(super) fn hear_of_retries(&mut self, evidence: &Evidence) {
        if matches!(self.state, State::Outage(_)) {
            return;
        }
        let fresh = (evidence.fresh, evidence.fresh_rejected);
        let retries = (evidence.sent - fresh.0, evidence.rejected - fresh.1);
        self.retries.hear(fresh, retries);
        let capacity = self.capacity.unwrap_or(0.0);
        if self.group.is_active() {
            self.group.give(self.floor.excess_of(fresh.0, fresh.1));
            if fresh.1 <= FEW_REJECTED * fresh.0 {
                self.group.hear(retries.0, retries.1, capacity.max(self.recent.rate()));
            }
        } else if self.rules.has(Rule::Group) && self.retries.are_at_fault() {
            self.retries.acquit();
            self.group.begin(evidence.now);
            if !self.floor.is_up() {
                let (sent, rejected) = self.retries.fresh();
                self.floor.declare(evidence.now, sent, rejected, capacity);
                self.restore(evidence.now);
                self.suspicion.confirmed();
            }
        }
    }

    /// The estimate has sunk without a reason.
    pub(super) fn restore(&mut self, now: f64) {
        if !matches!(self.state, State::Track | State::Trial(_)) {
            return;
        }
        match self.suspicion.peak().filter(|peak| Some(*peak) >= self.capacity) {
            Some(peak) => {
                self.estimate = Estimate::guessed(peak, f64::INFINITY);
                self.capacity = Some(peak);
                self.mark_at = None;
                self.accepted = 0.0;
                if self.suspicion.is_proven() || self.group.is_active() {
                    self.schedule.shorten();
                } else {
                    // It may have sunk from the first mark on, and be far too low. Hot keys do not make it sink that far.
                    self.schedule.restart();
                }
                self.start_tracking(now);
            }
            None => self.search_again(),
        }
    }

    /// Half the pace for a while.
    pub(super) fn try_out(&mut self, now: f64, share: f64) {
        let capacity = self.capacity.unwrap_or(0.0);
        let recent = self.recent.rate();
        let pace = capacity.min(recent.max(LEAST_TRUSTED * capacity));
        let sunk = pace / self.suspicion.highest().max(pace);
        self.suspicion.clear();
        let call = self.call_at(pace);
        self.state = State::Trial(Trial::new(now, pace, sunk, call, share, self.floor.is_up()));
        self.credit.forfeit();
        // The service has mostly just rejected something: the first call waits for its whole time.
        self.credit.spend(call);
    }

    pub(super) fn conclude(&mut self, finding: Finding, now: f64) {
        match finding {
            Finding::Loss { sent, rejected } => {
                let known = self.floor.is_up();
                self.floor.declare(now, sent, rejected, self.capacity.unwrap_or(0.0));
                if known {
                    self.state = State::Track;
                    self.cut(now);
                } else {
                    self.restore(now);
                    self.suspicion.confirmed();
                }
            }
            Finding::Pace => {
                self.floor.clear();
                self.suspicion.refuted();
                self.schedule.shorten();
                self.state = State::Track;
                self.cut(now);
            }
        }
    }

    /// A search that cannot end: what is accepted is taken for the capacity until a trial has told.
    pub(super) fn abandon_search(&mut self, now: f64, share: f64) {
        let rate = self.recent.rate();
        if rate > 0.0 && self.rules.has(Rule::Floor) {
            self.estimate = Estimate::guessed(rate, f64::INFINITY);
            self.capacity = Some(self.estimate.rate_over(LEAST_SPAN));
            self.unconfirmed = None;
            self.schedule.restart();
            self.start_tracking(now);
            self.try_out(now, share);
        }
    }

    /// Looks for the capacity from the present pace upwards.
    pub(super) fn search_again(&mut self) {
        let window = self.capacity.unwrap_or(0.0) * self.trip.seconds();
        self.forget();
        self.state = State::Search(Search::from(window));
    }

    /// The service takes entries again.
    pub(super) fn recover(&mut self, evidence: &Evidence, seconds: f64) {
        if self.capacity.is_none() {
            self.state = State::Search(Search::from(WINDOW_AFTER_OUTAGE));
            return;
        }
        if seconds > LONG {
            self.mark_at = Some(evidence.seen_at);
            self.accepted = 0.0;
            // What was measured while the service went down says nothing of one that is back.
            if let Some(peak) = self.suspicion.peak().filter(|peak| Some(*peak) > self.capacity) {
                self.estimate = Estimate::guessed(peak, f64::INFINITY);
                self.capacity = Some(peak);
            }
        }
        self.schedule.shorten();
        self.start_tracking(evidence.now);
    }

    /// Nothing is known of the capacity any more.
    pub(super) fn forget(&mut self) {
        self.capacity = None;
        self.estimate = Estimate::default();
        self.mark_at = None;
        self.accepted = 0.0;
    }
}
