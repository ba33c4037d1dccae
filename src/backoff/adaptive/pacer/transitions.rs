//! The changes of the pacer's state. The diagram is in the documentation of [`adaptive`](super::super).

use tracing::info;

use super::super::baseline_loss::Suspicion;
use super::super::capacity::Capacity;
use super::super::outage::Outage;
use super::super::phase::Phase;
use super::super::probe::{Finding, Probe};
use super::super::search::Search;
use super::super::token_balance::TokenBalance;
use super::{FIRST_REVIEW, Pacer, REVIEW};
use crate::backoff::PaceReason;
use crate::events::PACE;

/// Calls in flight at the end of a search have two round trips to come back.
const DRAIN_TRIPS: f64 = 2.0;

/// A probe begins at no less than this part of the capacity. What was accepted lately may be so little because of the probe before,
/// and a chain of probes, each at a lower pace, takes minutes.
const LEAST_PROBED: f64 = 0.1;

/// The window of a search after an outage that left no estimate, and at a pace that is too low for a probe.
const SMALL_WINDOW: f64 = 2.0;

impl Pacer {
    /// The one place where the state changes.
    pub(super) fn enter(&mut self, phase: Phase, reason: PaceReason) {
        let from = self.phase.state();
        self.earlier.rotate_right(1);
        self.earlier[0] = Some((from, self.reason));
        self.phase = phase;
        self.reason = reason;
        self.since = self.flow.latest();
        self.flow.forget_rejections();
        info!(
            target: PACE,
            hot_key = self.hot_key,
            state = %self.phase.state(),
            %from,
            %reason,
            capacity = self.rate.capacity.rate(),
            loss = self.loss.share(),
            in_flight = self.flow.in_flight(),
            "pace"
        );
    }

    pub(super) fn end_search(&mut self, from: f64, until: f64, accepted: f64, now: f64) {
        self.rate.capacity.begin(from, until, accepted);
        let until = now + DRAIN_TRIPS * self.flow.trip();
        self.enter(Phase::Draining { until }, PaceReason::Knee);
    }

    pub(super) fn end_drain_if_done(&mut self, now: f64) {
        let Phase::Draining { until } = self.phase else {
            return;
        };
        if self.flow.in_flight() > 0.0 && now < until {
            return;
        }
        if self.rate.capacity.settle(self.flow.recent()) {
            self.rate.schedule.restart();
            self.start_steady(now, PaceReason::Drained);
        } else if self.rate.capacity.has_nothing() {
            self.start_outage(now);
        } else {
            self.enter(Phase::Searching(Search::from(1.0)), PaceReason::NothingMeasured);
        }
    }

    fn start_steady(&mut self, now: f64, reason: PaceReason) {
        self.rate.balance = TokenBalance::none(now);
        // The service has no capacity left: a call has to be paid for before it leaves.
        let call = self.rate.conditions(self.flow.trip()).call;
        self.rate.balance.spend(call);
        self.enter(Phase::Steady, reason);
        self.cut(now);
    }

    /// Rejections go on at any pace, as far as the search could tell.
    pub(super) fn abandon_search(&mut self, now: f64, suspicion: Suspicion) {
        let rate = self.flow.recent();
        if rate > 0.0 {
            self.rate.capacity.guess(rate);
            self.rate.schedule.restart();
            self.start_steady(now, PaceReason::Stuck);
            self.probe(now, suspicion, PaceReason::Stuck);
        }
    }

    /// Rejections came at a pace that should not bring any. A probe tells whether they depend on the pace. Where a probe would take
    /// seconds and not be able to tell, a new search is over sooner, and finds it out if the pace is low without a reason.
    pub(super) fn suspect(&mut self, now: f64, suspicion: Suspicion) {
        let reason = PaceReason::UnexpectedRejections;
        if Probe::is_too_slow(self.probed_rate()) {
            self.rate.capacity = Capacity::default();
            self.enter(Phase::Searching(Search::from(SMALL_WINDOW)), reason);
        } else {
            self.probe(now, suspicion, reason);
        }
    }

    /// Entries a second that a probe takes for what is accepted.
    fn probed_rate(&self) -> f64 {
        let capacity = self.rate.capacity.rate().unwrap_or(0.0);
        let recent = self.flow.recent();
        if recent > 0.0 {
            recent.clamp(LEAST_PROBED * capacity, capacity)
        } else {
            capacity
        }
    }

    /// The pace is low for a while, to learn whether the rejections depend on it.
    pub(super) fn probe(&mut self, now: f64, suspicion: Suspicion, reason: PaceReason) {
        let probe = Probe::new(
            now,
            self.flow.trip(),
            self.probed_rate(),
            suspicion,
            &self.loss,
            reason == PaceReason::Review,
        );
        self.rate.balance.forfeit();
        // The service has mostly just rejected something: the first call waits for its whole time.
        self.rate.balance.spend(probe.call());
        self.enter(Phase::Probing(probe), reason);
    }

    pub(super) fn conclude(&mut self, finding: Finding, now: f64) {
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
                    self.rate.schedule.shorten();
                } else {
                    // The estimate may have been made of rejections that had nothing to do with it.
                    self.rate.schedule.restart();
                }
                self.start_steady(now, PaceReason::LossFound);
            }
            Finding::Nothing => self.start_steady(now, PaceReason::Undecided),
            Finding::Capacity => {
                if self.reason == PaceReason::UnexpectedRejections {
                    let capacity = self.rate.capacity.rate().unwrap_or(probe.accepted_rate);
                    self.rate.capacity.guess(probe.fallen(capacity));
                }
                self.rate.schedule.shorten();
                self.start_steady(now, PaceReason::CapacityFell);
            }
        }
    }

    /// The service takes entries again.
    pub(super) fn recover(&mut self, now: f64) {
        if self.rate.capacity.rate().is_none() {
            self.enter(Phase::Searching(Search::from(SMALL_WINDOW)), PaceReason::Recovered);
            return;
        }
        // What was accepted before the outage says nothing of the time after it.
        self.rate.capacity.forget_stretch();
        self.rate.schedule.shorten();
        self.start_steady(now, PaceReason::Recovered);
    }

    pub(super) fn start_outage(&mut self, now: f64) {
        let outage = Outage::new(now, self.flow.trip());
        self.enter(Phase::Outage(outage), PaceReason::NothingAccepted);
    }
}
