//! How small rejections make calls.

use super::super::harmless::SHARE;

/// The usual size, in entries or units: nearly every service accepts as much at once.
const USUAL: f64 = 25.0;

/// After this many calls that were accepted in part, and of which more than the harmless share was rejected, the service accepts less
/// at once. The most that it accepted of one is the size then. Where a tenth of the entries is rejected at random, this does not happen
/// in millions of calls of 25.
const IN_PART: u32 = 20;

/// The size below which a rejection makes calls no smaller.
#[derive(Debug)]
pub(super) struct SmallCall {
    size: f64,
    /// Calls that were accepted in part, whatever they carried, since the last one of this size that was accepted; and the most that was
    /// accepted of one of them.
    in_part: u32,
    most: f64,
}

impl Default for SmallCall {
    fn default() -> Self {
        Self::of(USUAL)
    }
}

impl SmallCall {
    fn of(size: f64) -> Self {
        let (in_part, most) = (0, 0.0);
        Self { size, in_part, most }
    }

    pub(super) fn size(&self) -> f64 {
        self.size
    }

    pub(super) fn observe(&mut self, sent: f64, accepted: f64) {
        if accepted >= (1.0 - SHARE) * self.size {
            *self = Self::of(accepted.clamp(self.size, USUAL));
        } else if accepted > 0.0 && accepted < (1.0 - SHARE) * sent {
            self.in_part += 1;
            self.most = self.most.max(accepted);
            if self.in_part == IN_PART {
                *self = Self::of(self.most);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn it_is_what_a_shallow_bucket_accepts_at_once_and_as_before_when_more_is_accepted() {
        let mut call = SmallCall::default();
        let accepted = |number: u32| f64::from(17 + number % 4);
        (1..IN_PART).for_each(|number| call.observe(25.0, accepted(number)));
        assert!((call.size() - USUAL).abs() < 1e-9);
        // Nothing is known of what was rejected as a whole.
        call.observe(25.0, 0.0);
        assert!((call.size() - USUAL).abs() < 1e-9);
        call.observe(25.0, accepted(IN_PART));
        assert!((call.size() - 20.0).abs() < 1e-9);
        for _ in 0..IN_PART {
            call.observe(10.0, 5.0);
        }
        assert!((call.size() - 5.0).abs() < 1e-9);
        for accepted in [22.0, 100.0] {
            call.observe(100.0, accepted);
            assert!((call.size() - accepted.min(USUAL)).abs() < 1e-9);
        }
    }

    #[test]
    fn it_stays_where_a_tenth_of_the_entries_is_rejected_at_random() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut call = SmallCall::default();
        for _ in 0..100_000 {
            let accepted: u32 = (0..25).map(|_| u32::from(random.random_bool(0.9))).sum();
            call.observe(25.0, f64::from(accepted));
            assert!((call.size() - USUAL).abs() < 1e-9);
        }
    }
}
