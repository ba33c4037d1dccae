//! The share of entries that is rejected whatever the pace.

/// A floor is never higher than this: a service that rejects more is in trouble, and slower is then right.
const HIGHEST: f64 = 0.6;

/// A floor below this is none; so few rejections cost no pace.
const LOWEST: f64 = 0.0025;

/// How much more than the floor is taken for the floor: it is not known exactly.
const SLACK: f64 = 1.05;
const MARGIN: f64 = 0.01;

/// Entries over which chance is reckoned, and seconds of capacity, whichever is more.
const WINDOW: f64 = 120.0;
const WINDOW_SECONDS: f64 = 0.2;

/// How many standard deviations cannot be chance.
const DEVIATIONS: f64 = 3.0;

/// By how many standard deviations of the same window there must be fewer rejections than usual to count as missing at all. At
/// 1.2 the sum exceeds the bound by chance once in hundreds of windows (`exp(-2 * 1.2 * 3)`, Wald's bound of a CUSUM).
const UNCOUNTED: f64 = 1.2;

/// A floor that is measured again and lies within so many deviations is the same.
const DIFFERENT: f64 = 2.0;

/// A call of which nothing was accepted counts at once when the floor makes that less likely than this.
const UNLIKELY: f64 = 1e-3;

/// Seconds until a floor is measured again: soon after it was found, and then now and then. A capacity that fell and was
/// misread as a floor would confirm itself for ever.
const FIRST_REVIEW: f64 = 2.0;
const REVIEW: f64 = 12.0;

/// The same in entries, where they are few: a review takes some dozens.
const FIRST_REVIEW_ENTRIES: f64 = 250.0;
const REVIEW_ENTRIES: f64 = 1500.0;

/// Fresh entries that the share is measured over.
const MEMORY: f64 = 600.0;

/// The loss floor. Zero until something else is proven.
#[derive(Debug, Default)]
pub(super) struct Floor {
    share: f64,
    sent: f64,
    rejected: f64,
    /// Rejections beyond the floor, added up (a CUSUM).
    excess: f64,
    /// Rejections that were missing from it, added up.
    lack: f64,
    review_at: f64,
}

impl Floor {
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    pub(super) fn is_up(&self) -> bool {
        self.share > 0.0
    }

    /// Whether it is time to measure again.
    pub(super) fn is_due(&self, now: f64) -> bool {
        self.is_up() && now >= self.review_at
    }

    /// Of `sent` fresh entries `rejected` were rejected at a pace that cannot be too fast.
    pub(super) fn declare(&mut self, now: f64, sent: f64, rejected: f64, capacity: f64) {
        let (seconds, entries) = if self.is_up() {
            (REVIEW, REVIEW_ENTRIES)
        } else {
            (FIRST_REVIEW, FIRST_REVIEW_ENTRIES)
        };
        self.review_at = now + seconds.max(entries / capacity.max(1.0));
        self.excess = 0.0;
        self.lack = 0.0;
        let expected = self.share * sent;
        if (rejected - expected).abs() > DIFFERENT * (1.0 + expected).sqrt() {
            self.sent = 0.0;
            self.rejected = 0.0;
        }
        self.measure(sent, rejected);
        if self.share < LOWEST {
            self.clear();
        }
    }

    /// There is none.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Hears of a call at any pace. Much fewer rejections than usual make it time to measure again: too fast a pace only adds to
    /// them. A loss that is over is noticed at once, while the bucket still takes what is sent too much; later these rejections
    /// look like the loss.
    pub(super) fn expect(&mut self, now: f64, sent: f64, rejected: f64, capacity: f64) {
        let window = window(capacity);
        let uncounted = UNCOUNTED * self.deviation(window) / window;
        self.lack = (self.lack + (self.share - uncounted).max(0.0) * sent - rejected).max(0.0);
        if self.lack > self.chance(window) {
            self.lack = 0.0;
            self.review_at = self.review_at.min(now);
        }
    }

    /// Measures in passing, at a pace that is most probably not too fast. A call with more rejections than chance brings is no
    /// measure: the capacity may have fallen, and would be taken for a floor.
    pub(super) fn measure_in_passing(&mut self, sent: f64, rejected: f64) {
        if self.excess_of(sent, rejected) <= 0.0 {
            self.measure(sent, rejected);
        }
    }

    /// The rejections that chance may bring on top among so many entries.
    fn chance(&self, entries: f64) -> f64 {
        1.0 + DEVIATIONS * self.deviation(entries)
    }

    /// The standard deviation of the rejections among so many entries.
    fn deviation(&self, entries: f64) -> f64 {
        (entries * self.share * (1.0 - self.share)).sqrt()
    }

    /// How many of the rejections of a call are too many to be of the floor alone.
    pub(super) fn excess_of(&self, sent: f64, rejected: f64) -> f64 {
        let excess = rejected - self.share * sent;
        if excess > self.chance(sent) { excess } else { 0.0 }
    }

    fn measure(&mut self, sent: f64, rejected: f64) {
        self.sent += sent;
        self.rejected += rejected;
        if self.sent > MEMORY {
            let weight = MEMORY / self.sent;
            self.sent *= weight;
            self.rejected *= weight;
        }
        if self.sent > 0.0 {
            self.share = (self.rejected / self.sent).clamp(0.0, HIGHEST);
        }
    }

    /// Whether the rejections of a call tell that the bucket was empty. Without a floor all do.
    pub(super) fn exceeded(&mut self, sent: f64, rejected: f64, capacity: f64) -> bool {
        if !self.is_up() {
            return rejected > 0.0;
        }
        if sent <= 0.0 {
            return false;
        }
        if rejected >= sent && self.share.powf(sent) < UNLIKELY {
            self.excess = 0.0;
            return true;
        }
        self.excess = (self.excess + rejected - (SLACK * self.share + MARGIN) * sent).max(0.0);
        let exceeded = self.excess > self.chance(window(capacity));
        if exceeded {
            self.excess = 0.0;
        }
        exceeded
    }
}

/// Entries over which chance is reckoned.
fn window(capacity: f64) -> f64 {
    WINDOW.max(WINDOW_SECONDS * capacity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_floor_every_rejection_tells() {
        let mut floor = Floor::default();
        assert!(floor.exceeded(25.0, 1.0, 1000.0));
        assert!(!floor.exceeded(25.0, 0.0, 1000.0));
    }

    #[test]
    fn rejections_about_the_floor_tell_nothing_and_more_soon_do() {
        let mut floor = Floor::default();
        floor.declare(0.0, 100.0, 10.0, 1000.0);
        assert!((0..1000).all(|call| !floor.exceeded(25.0, f64::from(call % 2 * 5), 1000.0)));
        let calls = (1..100).find(|_| floor.exceeded(25.0, 12.0, 1000.0));
        assert!(calls.is_some_and(|calls| calls <= 3), "{calls:?}");
    }

    #[test]
    fn a_call_of_which_nothing_is_accepted_tells_at_once() {
        let mut floor = Floor::default();
        floor.declare(0.0, 100.0, 10.0, 1000.0);
        assert!(floor.exceeded(25.0, 25.0, 1000.0));
        assert!(!floor.exceeded(2.0, 2.0, 1000.0));
    }

    #[test]
    fn a_floor_is_reviewed_and_can_go() {
        let mut floor = Floor::default();
        floor.declare(10.0, 100.0, 10.0, 1000.0);
        assert!(!floor.is_due(11.9) && floor.is_due(12.0));
        floor.declare(12.0, 100.0, 12.0, 1000.0);
        assert!((floor.share() - 0.11).abs() < 1e-9);
        assert!(!floor.is_due(23.9) && floor.is_due(24.0));
        floor.declare(24.0, 100.0, 0.0, 1000.0);
        assert!(!floor.is_up() && !floor.is_due(1e9));
    }

    #[test]
    fn a_capacity_that_falls_is_not_measured_in_passing() {
        let mut floor = Floor::default();
        floor.declare(0.0, 100.0, 10.0, 1000.0);
        (0..100).for_each(|_| floor.measure_in_passing(25.0, 12.0));
        assert!((floor.share() - 0.1).abs() < 1e-9, "{}", floor.share());
        (0..100).for_each(|_| floor.measure_in_passing(25.0, 4.0));
        assert!((floor.share() - 0.16).abs() < 0.01, "{}", floor.share());
    }

    #[test]
    fn a_loss_that_is_over_is_soon_due_for_review_and_one_that_goes_on_is_not() {
        let mut floor = Floor::default();
        floor.declare(0.0, 100.0, 30.0, 1000.0);
        for call in 0..1000 {
            floor.expect(1.0, 25.0, f64::from(5 + call % 6), 1000.0);
        }
        assert!(!floor.is_due(1.0));
        let calls = (1..100).find(|_| {
            floor.expect(1.0, 25.0, 0.0, 1000.0);
            floor.is_due(1.0)
        });
        assert!(calls.is_some_and(|calls| calls <= 5), "{calls:?}");
    }

    #[test]
    fn a_floor_is_never_higher_than_its_bound() {
        let mut floor = Floor::default();
        floor.declare(0.0, 100.0, 100.0, 1000.0);
        assert!((floor.share() - HIGHEST).abs() < 1e-9);
    }

    #[test]
    fn an_excess_is_what_chance_does_not_bring() {
        let mut floor = Floor::default();
        floor.declare(0.0, 100.0, 10.0, 1000.0);
        assert!(floor.excess_of(25.0, 7.0).abs() < 1e-9);
        assert!((floor.excess_of(25.0, 20.0) - 17.5).abs() < 1e-9);
    }
}
