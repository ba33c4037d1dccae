//! What a mark tells of the capacity.

use super::{LEAST_SPAN, Pacer, State};
use crate::backoff::adaptive::change::Stretch;
use crate::backoff::adaptive::estimate::Estimate;
use crate::backoff::adaptive::evidence::Evidence;
use crate::backoff::adaptive::latest::Found;
use crate::backoff::adaptive::retries::Retries;
use crate::backoff::adaptive::rules::Rule;

/// A search has overshot when so many times more got through before its end than after.
const OVERSHOT: f64 = 5.0;

impl Pacer {
    /// Counts what was accepted since the last mark.
    pub(super) fn count_accepted(&mut self, evidence: &Evidence) {
        // Right after a search many calls are under way that the service saw before the mark, and some before the first.
        let is_whole = evidence.rejected <= 0.0;
        if let State::Drain { from, whole, .. } = &mut self.state
            && let Some(mark_at) = self.mark_at
        {
            if is_whole && evidence.seen_at > *from {
                whole.push((evidence.seen_at, evidence.accepted));
            }
            if is_whole || evidence.seen_at <= mark_at {
                if !is_whole && evidence.seen_at > *from {
                    self.estimate.add(evidence.accepted, 0.0);
                }
                return;
            }
        } else if is_whole && evidence.sent_at < self.overshot_until {
            return;
        }
        self.accepted += evidence.accepted;
    }

    /// What of an answer is judged: the fresh entries alone where retries fail for reasons of their own.
    pub(super) fn judged(&self, evidence: &Evidence) -> (f64, f64) {
        let fresh = (evidence.fresh, evidence.fresh_rejected);
        let retries = (evidence.sent - fresh.0, evidence.rejected - fresh.1);
        let singled_out = self.rules.has(Rule::Group) && Retries::are_singled_out(fresh, retries);
        if self.floor.is_up() || self.group.is_active() || singled_out {
            (evidence.fresh, evidence.fresh_rejected)
        } else {
            (evidence.sent, evidence.rejected)
        }
    }

    /// What was accepted at the end of a search. Tells since when.
    pub(super) fn measure(&mut self, found: Found) -> f64 {
        if let Some(from) = self.mark_at {
            self.measure_until(found.until);
            return from;
        }
        self.estimate.add(found.accepted, found.until - found.from);
        self.mark_at = Some(found.until);
        self.accepted = 0.0;
        found.from
    }

    /// Counts what got through whole at the end of a search, unless it can hardly be what an empty bucket took.
    ///
    /// When the service saw a call is known to a part of a round trip. Where many times more got through before than since, what
    /// it saw in that part before the bucket was empty would be most of what is counted.
    pub(super) fn count_whole(&mut self, whole: &[(f64, f64)], now: f64) {
        let mark_at = self.mark_at.unwrap_or(now);
        let sum = |before: bool| -> f64 {
            let counted = whole.iter().filter(|(seen_at, _)| (*seen_at <= mark_at) == before);
            counted.map(|(_, accepted)| accepted).sum()
        };
        let mut estimate = self.estimate;
        estimate.add(sum(true), 0.0);
        if self.recent.rate() > OVERSHOT * estimate.rate_over(self.trip.seconds() / 2.0) {
            self.overshot_until = now;
        } else {
            self.estimate = estimate;
            self.accepted += sum(false);
        }
    }

    /// What was accepted from the last mark to this one, while the capacity is not known.
    pub(super) fn measure_until(&mut self, mark_at: f64) {
        if let Some(last) = self.mark_at.filter(|last| *last < mark_at) {
            self.estimate.add(self.accepted, mark_at - last);
            self.mark_at = Some(mark_at);
            self.accepted = 0.0;
        }
    }

    /// The bucket was empty when the service saw the call.
    pub(super) fn mark(&mut self, evidence: &Evidence, dips: bool) {
        let mark_at = evidence.seen_at;
        let last = self.mark_at.unwrap_or(mark_at);
        let seconds = mark_at - last;
        let mut surprise = false;
        if let Some(capacity) = self.capacity.filter(|_| seconds > 0.0) {
            let trip = self.trip.seconds();
            let expected = capacity * seconds;
            // While nobody sent the bucket may have overflowed, and what it would have taken is not known. It lowers no estimate;
            // but a mark below the estimate does.
            let unknown = if dips { 0.0 } else { self.unused };
            let accepted = self.accepted.max((self.accepted + unknown).min(expected));
            let stretch = Stretch {
                seconds,
                accepted,
                expected,
            };
            self.estimate.add_fading(accepted, seconds);
            let changed = self.change.observe(stretch, self.chunk, trip);
            if let Some(changed) = changed.filter(|_| self.rules.has(Rule::Change)) {
                surprise = true;
                self.estimate = Estimate::guessed(changed.rate, changed.seconds);
                self.schedule.surprise();
                if changed.rate < capacity {
                    self.suspicion.explained(changed.rate);
                }
            }
            self.capacity = Some(self.estimate.rate_over(LEAST_SPAN));
        }
        if seconds > 0.0 || self.mark_at.is_none() {
            self.mark_at = Some(mark_at);
            self.accepted = 0.0;
            self.unused = 0.0;
            self.arrears.clear();
        }
        let is_news = evidence.sent_at > self.schedule.cut_at();
        if is_news {
            self.suspicion.marked(dips, self.capacity.unwrap_or(0.0));
        }
        if is_news || surprise {
            self.cut(evidence.now);
        }
    }

    pub(super) fn cut(&mut self, now: f64) {
        let conditions = self.conditions();
        self.suspicion.keep_peak(conditions.capacity, self.estimate.seconds());
        self.schedule.cut(now, &conditions);
        self.credit.forfeit();
    }
}
