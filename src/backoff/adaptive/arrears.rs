//! Entries that might have left and did not, as every worker was held up by a slow call: they are made up for.

/// How much faster they are made up for, as a share of the pace. What the bucket keeps of them is taken in a few tenths of a
/// second, before another slow call may come; and if it kept nothing, a mark comes at no more than this overspeed.
const FASTER: f64 = 0.25;

/// Entries to be made up for.
#[derive(Debug, Default)]
pub(super) struct Arrears {
    entries: f64,
    reckoned_at: f64,
}

impl Arrears {
    /// Of what this pace has brought up to now so many entries did not leave. Returns how many of them would not have been made
    /// up for but are new.
    pub(super) fn add(&mut self, now: f64, entries: f64, pace: f64) -> f64 {
        let seconds = (now - self.reckoned_at).max(0.0);
        self.reckoned_at = now;
        let new = entries - pace * seconds * (1.0 - 1.0 / self.factor());
        self.entries = (self.entries + new).max(0.0);
        new.max(0.0)
    }

    /// By how much the pace is higher until they are made up for.
    pub(super) fn factor(&self) -> f64 {
        if self.are_left() { 1.0 + FASTER } else { 1.0 }
    }

    /// Whether there are any.
    pub(super) fn are_left(&self) -> bool {
        self.entries > 0.0
    }

    /// There is nothing to be made up for: the bucket is empty.
    pub(super) fn clear(&mut self) {
        self.entries = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_leave_is_made_up_for_at_a_quarter_more() {
        let mut arrears = Arrears::default();
        arrears.add(1.0, 50.0, 1000.0);
        let mut now = 1.0;
        let mut made_up = 0.0;
        while arrears.factor() > 1.0 {
            let pace = 1000.0 * arrears.factor();
            now += 0.01;
            made_up += 0.01 * (pace - 1000.0);
            arrears.add(now, 0.0, pace);
        }
        assert!((made_up - 50.0).abs() < 3.0, "{made_up}");
        assert!((now - 1.2).abs() < 0.02, "{now}");
    }

    #[test]
    fn who_cannot_even_send_at_the_usual_pace_leaves_no_more_for_being_asked_for_more() {
        let mut arrears = Arrears::default();
        arrears.add(1.0, 50.0, 1000.0);
        let new = arrears.add(2.0, 450.0, 1250.0);
        assert!((new - 200.0).abs() < 1e-6, "{new}");
    }

    #[test]
    fn nothing_is_made_up_for_when_nothing_was_left() {
        let mut arrears = Arrears::default();
        arrears.add(1.0, 0.0, 1000.0);
        assert!((arrears.factor() - 1.0).abs() < 1e-9);
        arrears.add(2.0, 50.0, 1000.0);
        arrears.clear();
        assert!((arrears.factor() - 1.0).abs() < 1e-9);
    }
}
