//! A few calls at half the pace, to learn whether rejections depend on it.

use super::evidence::Evidence;
use super::spread::Spread;

/// The pace of a trial, as a share of the capacity. Whatever the service then rejects it does not reject for the pace,
/// unless its capacity has fallen by half.
const PACE: f64 = 0.5;

/// An estimate that has sunk to half already, and makes entries be rejected still, is tried out at the pace of a dip.
const MOST_PACE: f64 = 0.85;

/// Fresh entries that must have been sent before a trial may say yes, and rejections among them.
const ENTRIES: f64 = 16.0;
const REJECTIONS: f64 = 4.0;

/// When more than half of so many are rejected, the capacity has fallen below even this pace.
const MANY_ENTRIES: f64 = 40.0;

/// It goes on until there are this many of either, so that the share is known well enough.
const EXACT_ENTRIES: f64 = 100.0;
const REVIEW_ENTRIES: f64 = 40.0;
const EXACT_REJECTIONS: f64 = 25.0;

/// A trial says yes when at least this part of the rejections has remained. What is suspected is known by few calls.
const REMAINING: f64 = 0.3;

/// A trial without a rejection says no when this many were to be expected: by chance there are none in one of 90.
const EXPECTED: f64 = 4.5;

/// A trial ends when this many were to be expected, and says what it knows by then.
const ENOUGH: f64 = 40.0;

/// It also ends after this many fresh entries: a loss that does not show among them is not worth the time.
const MOST_ENTRIES: f64 = 500.0;

/// A smaller share than this cannot be told in a time worth it.
const LEAST_SUSPECTED: f64 = 0.01;

/// The fewest fresh entries that say no.
const LEAST: f64 = 5.0;

/// The longest trial in seconds, and in chunks on top; one that has heard nothing by then says no.
const LONGEST: f64 = 5.0;
const LONGEST_CHUNKS: f64 = 5.0;

/// The longest of all in seconds, so that a service that is well again is not tried out for ever.
const MOST_SECONDS: f64 = 12.0;

/// What a trial came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Finding {
    /// Of that many fresh entries that many were rejected: pace or not.
    Loss { sent: f64, rejected: f64 },
    /// It was the pace.
    Pace,
}

/// A trial under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    started_at: f64,
    pace: f64,
    /// The share of rejections that made it necessary.
    suspected: f64,
    longest: f64,
    /// Fresh entries that make it exact.
    enough: f64,
    fresh: Spread,
    /// Calls that were rejected as a whole since anything got through, and the entries of any kind in them.
    in_vain: (u32, f64),
}

impl Trial {
    /// A trial at a capacity that has sunk to this part of what it was. A review is one of a loss that is known.
    pub(super) fn new(now: f64, capacity: f64, sunk: f64, chunk: f64, suspected: f64, is_review: bool) -> Self {
        // Slower than a call in that time it learns nothing.
        let pace = (capacity * (PACE / sunk).clamp(PACE, MOST_PACE)).max(chunk / LONGEST);
        Self {
            started_at: now,
            longest: (LONGEST + LONGEST_CHUNKS * chunk / pace).min(MOST_SECONDS),
            pace,
            enough: if is_review { REVIEW_ENTRIES } else { EXACT_ENTRIES },
            suspected: suspected.clamp(LEAST_SUSPECTED, 1.0),
            fresh: Spread::default(),
            in_vain: (0, 0.0),
        }
    }

    /// Entries a second.
    pub(super) fn pace(&self) -> f64 {
        self.pace
    }

    /// Whether the service takes nothing: more than one whole call, of so many entries, was rejected since anything got through.
    pub(super) fn is_in_vain(&mut self, evidence: &Evidence) -> bool {
        if evidence.accepted > 0.0 {
            self.in_vain = (0, 0.0);
        } else if evidence.is_full_rejection() && evidence.sent_at >= self.started_at {
            self.in_vain = (self.in_vain.0 + 1, self.in_vain.1 + evidence.sent);
        }
        self.in_vain.0 > 1 && self.in_vain.1 >= ENTRIES
    }

    /// Hears of a call, and says when enough is known.
    pub(super) fn observe(&mut self, evidence: &Evidence) -> Option<Finding> {
        if evidence.sent_at >= self.started_at {
            self.fresh.hear(evidence.fresh, evidence.fresh_rejected);
        }
        let (sent, rejected) = (self.fresh.sent(), self.fresh.rejected());
        if sent >= MANY_ENTRIES && rejected > sent / 2.0 {
            return Some(Finding::Pace);
        }
        let expected = self.suspected * sent;
        let ends = expected >= ENOUGH || sent >= MOST_ENTRIES || evidence.now - self.started_at > self.longest;
        let is_exact = sent >= self.enough || rejected >= EXACT_REJECTIONS || ends;
        let is_proven = sent >= MOST_ENTRIES && rejected >= 1.0 || rejected >= REJECTIONS;
        if sent >= ENTRIES && is_proven && rejected <= sent / 2.0 && is_exact && rejected >= REMAINING * expected {
            return Some(if self.fresh.comes_in_bursts() {
                Finding::Pace
            } else {
                Finding::Loss { sent, rejected }
            });
        }
        let none = rejected <= 0.0 && sent >= LEAST.max(EXPECTED / self.suspected);
        (none || ends).then_some(Finding::Pace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer at that moment to a call of so many fresh entries, of which so many were rejected.
    fn answer(sent_at: f64, now: f64, fresh: f64, rejected: f64) -> Evidence {
        Evidence {
            sent_at,
            seen_at: now,
            now,
            sent: fresh,
            accepted: fresh - rejected,
            rejected,
            fresh,
            fresh_rejected: rejected,
        }
    }

    fn trial(now: f64, suspected: f64) -> Trial {
        Trial::new(now, 1000.0, 1.0, 25.0, suspected, false)
    }

    /// A trial in which every call of 25 fresh entries has `rejected` of them rejected.
    fn finding(suspected: f64, rejected: f64) -> (usize, Finding) {
        let mut trial = trial(0.0, suspected);
        (1..1000)
            .find_map(|call| Some((call, trial.observe(&answer(0.0, 0.0, 25.0, rejected))?)))
            .unwrap()
    }

    #[test]
    fn rejections_that_remain_are_no_matter_of_pace() {
        let (calls, found) = finding(0.1, 2.0);
        assert_eq!(calls, 4);
        assert_eq!(
            found,
            Finding::Loss {
                sent: 100.0,
                rejected: 8.0
            }
        );
    }

    #[test]
    fn a_trial_that_ends_before_it_is_exact_says_what_it_knows() {
        // 45 of 75 were to be expected.
        let loss = Finding::Loss {
            sent: 75.0,
            rejected: 18.0,
        };
        assert_eq!(finding(0.6, 6.0), (3, loss));
        assert_eq!(finding(0.6, 4.0), (3, Finding::Pace));
    }

    #[test]
    fn rejections_that_vanish_are_a_matter_of_pace() {
        assert_eq!(finding(0.2, 0.0), (1, Finding::Pace));
        assert_eq!(finding(0.02, 0.0), (9, Finding::Pace));
    }

    #[test]
    fn a_service_that_rejects_most_has_no_capacity_for_even_this_pace() {
        assert_eq!(finding(0.3, 20.0), (2, Finding::Pace));
    }

    /// Whether a trial that began at 10 takes the service for one that takes nothing.
    fn is_in_vain(calls: &[Evidence]) -> bool {
        let mut trial = trial(10.0, 0.3);
        calls.iter().any(|call| trial.is_in_vain(call))
    }

    #[test]
    fn a_service_that_takes_nothing_not_even_retries_is_not_tried_out() {
        let call = |accepted| answer(10.0, 10.1, 25.0, 25.0 - accepted);
        assert!(is_in_vain(&[call(0.0), call(0.0)]));
        assert!(!is_in_vain(&[call(0.0), call(1.0), call(0.0)]));
        let retry = Evidence {
            fresh: 0.0,
            fresh_rejected: 0.0,
            ..answer(10.0, 10.1, 1.0, 1.0)
        };
        assert!(is_in_vain(&[retry; 16]) && !is_in_vain(&[retry; 15]));
    }

    #[test]
    fn calls_from_before_a_trial_and_those_refused_as_a_whole_are_not_in_vain() {
        let before = answer(9.9, 10.1, 25.0, 25.0);
        let refused = Evidence {
            accepted: 0.0,
            ..answer(10.0, 10.1, 25.0, 0.0)
        };
        assert!(!is_in_vain(&[before; 5]));
        assert!(!is_in_vain(&[refused; 5]));
    }

    #[test]
    fn calls_from_before_do_not_count() {
        let mut trial = trial(10.0, 0.2);
        assert_eq!(trial.observe(&answer(9.9, 10.1, 25.0, 25.0)), None);
        assert_eq!(trial.observe(&answer(10.0, 10.1, 25.0, 0.0)), Some(Finding::Pace));
    }

    #[test]
    fn a_trial_without_fresh_entries_ends() {
        let mut trial = trial(0.0, 0.2);
        assert_eq!(trial.observe(&answer(1.0, 1.0, 0.0, 0.0)), None);
        assert_eq!(trial.observe(&answer(6.0, 6.0, 0.0, 0.0)), Some(Finding::Pace));
    }
}
