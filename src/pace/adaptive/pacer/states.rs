//! Congestion signals, and every change of the pacer's state. The tables are in the documentation of [`adaptive`](super::super).

use tracing::{debug, info};

use super::super::evidence::Observation;
use super::super::outage::Outage;
use super::super::search::Span;
use super::super::time::TokenBucket;
use super::{Pacer, Phase};
use crate::events::PACE;
use crate::pace::PaceReason;

/// Calls in flight at the end of a search have two round trips to be answered.
const DRAIN_TRIPS: f64 = 2.0;

/// A rejection at a pace below the estimate lowers the estimate by this part of it. Other processes have used the capacity, and the
/// faster this one is, the more of its calls meet that; or the capacity has fallen.
const FALL: f64 = 0.12;

/// The first estimate is at least this part of the pace at which the search ended. What is accepted of a few calls depends on chance where
/// many processes start together.
const LEAST_FOUND: f64 = 0.05;

impl Pacer {
    /// The service had no capacity left when it saw the call.
    pub(super) fn signal(&mut self, answer: &Observation) {
        self.estimate.signal(answer.seen_at);
        self.cut_by(answer, "congestion signal");
    }

    /// The service had no capacity left although the pace was below the estimate.
    pub(super) fn fall(&mut self, answer: &Observation) {
        self.estimate.lower(FALL);
        self.cut_by(answer, "rejected below the capacity");
    }

    fn cut_by(&mut self, answer: &Observation, reason: &str) {
        debug!(
            target: PACE,
            hot_key = self.hot_key,
            capacity = self.estimate.rate(),
            rejected = answer.all.rejected,
            "{reason}"
        );
        self.cut(answer.now);
    }

    /// Lowers the pace below the estimate.
    pub(super) fn cut(&mut self, now: f64) {
        self.schedule.cut(now);
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
            in_flight = self.flow.in_flight(),
            "pace"
        );
    }

    pub(super) fn end_search(&mut self, span: Span, now: f64) {
        self.estimate.begin(span.from, span.until, span.accepted);
        let until = now + DRAIN_TRIPS * self.flow.trip();
        let window = span.window;
        self.enter(Phase::Draining { until, window }, PaceReason::Knee);
    }

    pub(super) fn end_drain_if_done(&mut self, now: f64) {
        let Phase::Draining { until, window } = self.phase else {
            return;
        };
        if self.flow.in_flight() > 0.0 && now < until {
            return;
        }
        if self.estimate.settle(self.flow.recent()) {
            self.estimate.raise_to(window / self.most_seconds());
            self.start_steady(now, PaceReason::Drained);
        } else if self.estimate.has_nothing() {
            self.start_outage(now, Some(window));
        } else {
            self.estimate.guess_accepted();
            self.start_steady(now, PaceReason::NothingMeasured);
        }
    }

    /// How long the service takes at most for what was in flight as the search ended.
    fn most_seconds(&self) -> f64 {
        self.flow.trip() / LEAST_FOUND
    }

    fn start_steady(&mut self, now: f64, reason: PaceReason) {
        // The service has no capacity left: a call has to be paid for before it leaves.
        self.tokens = TokenBucket::empty(now);
        self.enter(Phase::Steady, reason);
        self.schedule.restart();
        self.cut(now);
        self.tokens
            .spend(self.conditions().call.min(self.max_call(self.pace(now))));
    }

    /// A key has become hot: rejections may have been its own, and end with them.
    pub(in super::super) fn key_became_hot(&mut self) {
        self.harmless.forget();
    }

    /// The service accepts entries again.
    pub(super) fn recover(&mut self, answer: &Observation) {
        let Phase::Outage(outage) = &self.phase else { return };
        if let Some(sought) = outage.sought {
            let seconds = (answer.now - outage.since).max(self.most_seconds());
            self.estimate.guess(sought / seconds);
        } else {
            // What was accepted before the outage says nothing about the time after it.
            self.estimate.forget_span();
        }
        self.start_steady(answer.now, PaceReason::Recovered);
    }

    /// Nothing is accepted; after a search that had this many entries in flight.
    pub(super) fn start_outage(&mut self, now: f64, sought: Option<f64>) {
        let outage = Outage::new(now, sought);
        self.enter(Phase::Outage(outage), PaceReason::NothingAccepted);
    }
}
