//! Congestion signals, and every change of the pacer's state. The diagram is in the documentation of [`adaptive`](super::super).

use std::time::Instant;

use tracing::{debug, info};

use super::super::estimate::Estimate;
use super::super::evidence::Observation;
use super::super::loss::Suspicion;
use super::super::outage::Outage;
use super::super::probe::{Finding, Probe};
use super::super::search::{Search, Span};
use super::super::time::TokenBucket;
use super::{Pacer, Phase};
use crate::events::PACE;
use crate::pace::PaceReason;

/// Calls in flight at the end of a search have two round trips to be answered.
const DRAIN_TRIPS: f64 = 2.0;

/// A probe begins at no less than this part of the capacity. What was accepted lately may be so little because of the probe before, and
/// a chain of probes, each at a lower pace, takes minutes.
const MIN_PROBED: f64 = 0.1;

/// The window of a search after an outage that left no estimate, and at a pace that is too low for a probe.
const SMALL_WINDOW: f64 = 2.0;

/// Seconds until a baseline loss is measured again: soon after a probe has found it, and then now and then. A capacity that fell and was
/// taken for a loss would confirm itself without end.
const FIRST_REVIEW: f64 = 2.0;
const REVIEW: f64 = 12.0;

impl Pacer {
    /// The service had no capacity left when it saw the call.
    pub(super) fn signal(&mut self, answer: &Observation) {
        self.estimate.signal(answer.seen_at);
        debug!(
            target: PACE,
            hot_key = self.hot_key,
            capacity = self.estimate.rate(),
            rejected = answer.all.rejected,
            "congestion signal"
        );
        self.loss.forget_excess();
        self.cut(answer.now);
    }

    /// Lowers the pace below the estimate.
    pub(super) fn cut(&mut self, now: f64) {
        self.schedule.cut(now, self.flow.trip());
        self.tokens.drop_saved();
    }

    /// The one place where the state changes.
    pub(super) fn enter(&mut self, phase: Phase, reason: PaceReason) {
        let from = self.phase.state();
        self.earlier.rotate_right(1);
        self.earlier[0] = Some((from, self.reason));
        self.phase = phase;
        self.reason = reason;
        self.since = self.flow.clock.latest;
        self.flow.forget_rejections();
        info!(
            target: PACE,
            hot_key = self.hot_key,
            state = %self.phase.state(),
            %from,
            %reason,
            capacity = self.estimate.rate(),
            loss = self.loss.share(),
            in_flight = self.flow.in_flight(),
            "pace"
        );
    }

    pub(super) fn end_search(&mut self, span: Span, now: f64) {
        self.estimate.begin(span.from, span.until, span.accepted);
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
        if self.estimate.settle(self.flow.recent()) {
            self.schedule.restart();
            self.start_steady(now, PaceReason::Drained);
        } else if self.estimate.has_nothing() {
            self.start_outage(now);
        } else {
            self.enter(Phase::Searching(Search::from(1.0)), PaceReason::NothingMeasured);
        }
    }

    fn start_steady(&mut self, now: f64, reason: PaceReason) {
        // The service has no capacity left: a call has to be paid for before it leaves.
        self.tokens = TokenBucket::empty(now);
        self.tokens.spend(self.conditions().call);
        self.enter(Phase::Steady, reason);
        self.cut(now);
    }

    /// Rejections go on at any pace, as far as the search can tell.
    pub(super) fn abandon_search(&mut self, now: f64, suspicion: Suspicion) {
        let rate = self.flow.recent();
        if rate > 0.0 {
            self.estimate.guess(rate);
            self.schedule.restart();
            self.start_steady(now, PaceReason::Stuck);
            self.probe(now, suspicion, PaceReason::Stuck);
        }
    }

    /// Rejections came at a pace that should not cause any. A probe tells whether they depend on the pace. Where it would take seconds
    /// and not be able to tell, a new search ends sooner, and finds out if the pace is low without a reason.
    ///
    /// Those of a hot key do depend on the paces, be it that of another key of its partition: its estimate falls to what was accepted.
    pub(super) fn suspect(&mut self, now: f64, suspicion: Suspicion) {
        let reason = PaceReason::UnexpectedRejections;
        if self.hot_key.is_some() {
            self.estimate.guess(self.probed_rate());
            self.schedule.shorten();
            self.cut(now);
        } else if Probe::is_too_slow(self.probed_rate()) {
            self.estimate = Estimate::default();
            self.enter(Phase::Searching(Search::from(SMALL_WINDOW)), reason);
        } else {
            self.probe(now, suspicion, reason);
        }
    }

    /// Entries a second that a probe assumes to be accepted.
    fn probed_rate(&self) -> f64 {
        let capacity = self.estimate.rate().unwrap_or(0.0);
        let recent = self.flow.recent();
        if recent > 0.0 {
            recent.clamp(MIN_PROBED * capacity, capacity)
        } else {
            capacity
        }
    }

    /// The pace is low for a while, to learn whether the rejections depend on it.
    pub(super) fn probe(&mut self, now: f64, suspicion: Suspicion, reason: PaceReason) {
        // In a review what is known is in doubt itself.
        let known = if reason == PaceReason::Review {
            Suspicion::default()
        } else {
            self.loss.suspicion()
        };
        let probe = Probe::new(now, self.flow.trip(), self.probed_rate(), suspicion, known);
        self.tokens.drop_saved();
        // The service has mostly just rejected something: the first call waits for its whole time.
        self.tokens.spend(probe.call());
        self.enter(Phase::Probing(probe), reason);
    }

    /// A key has become hot: unexpected rejections may have been its own, and end with them.
    pub(in super::super) fn key_became_hot(&mut self, now: Instant) {
        let now = self.flow.clock.now(now);
        self.loss.forget_unexpected();
        if matches!(self.phase, Phase::Probing(_)) && self.reason == PaceReason::UnexpectedRejections {
            self.start_steady(now, PaceReason::KeyBecameHot);
        }
    }

    pub(super) fn conclude(&mut self, finding: Finding, now: f64) {
        let Phase::Probing(probe) = self.phase else {
            return;
        };
        let was_known = self.loss.is_known();
        probe.apply(finding, &mut self.loss);
        self.schedule_review(now, was_known);
        match finding {
            Finding::Loss => {
                if was_known {
                    self.schedule.shorten();
                } else {
                    // The estimate may be the result of rejections that did not depend on it.
                    self.schedule.restart();
                }
                self.start_steady(now, PaceReason::LossFound);
            }
            Finding::Nothing => self.start_steady(now, PaceReason::Undecided),
            Finding::Capacity => {
                let reason = if self.reason == PaceReason::UnexpectedRejections {
                    let capacity = self.estimate.rate().unwrap_or(probe.accepted_rate);
                    self.estimate.guess(probe.fallen(capacity));
                    PaceReason::CapacityFell
                } else {
                    PaceReason::NoLoss
                };
                self.schedule.shorten();
                self.start_steady(now, reason);
            }
        }
    }

    /// The loss is measured again: later if it was known before or is small.
    pub(super) fn schedule_review(&mut self, now: f64, is_settled: bool) {
        self.review_at = now + if is_settled { REVIEW } else { FIRST_REVIEW };
    }

    /// The service accepts entries again.
    pub(super) fn recover(&mut self, now: f64) {
        if self.estimate.rate().is_none() {
            self.enter(Phase::Searching(Search::from(SMALL_WINDOW)), PaceReason::Recovered);
            return;
        }
        // What was accepted before the outage tells nothing of the time after it.
        self.estimate.forget_span();
        self.schedule.shorten();
        self.start_steady(now, PaceReason::Recovered);
    }

    pub(super) fn start_outage(&mut self, now: f64) {
        let outage = Outage::new(now, self.flow.trip());
        self.enter(Phase::Outage(outage), PaceReason::NothingAccepted);
    }
}
