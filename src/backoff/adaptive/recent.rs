//! What was accepted lately.

use std::collections::VecDeque;

/// The least number of answers to judge by. With fewer one chunk more or less would change the rate by half.
const ANSWERS: usize = 10;

/// The least time to judge by, in seconds: some round trips within a region.
const SECONDS: f64 = 0.1;

/// The latest answers.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// When each came, and how many entries it accepted.
    answers: VecDeque<(f64, f64)>,
    accepted: f64,
}

impl Recent {
    pub(super) fn observe(&mut self, now: f64, accepted: f64) {
        self.answers.push_back((now, accepted));
        self.accepted += accepted;
        while self.answers.len() > ANSWERS + 1 && self.answers.get(1).is_some_and(|(at, _)| now - at >= SECONDS) {
            self.forget_one();
        }
    }

    fn forget_one(&mut self) {
        if let Some((_, accepted)) = self.answers.pop_front() {
            self.accepted = (self.accepted - accepted).max(0.0);
        }
    }

    /// Entries accepted per second up to the last answer. Nothing before there are enough answers.
    pub(super) fn rate(&self) -> f64 {
        let (Some((first, first_accepted)), Some((last, _))) = (self.answers.front(), self.answers.back()) else {
            return 0.0;
        };
        // The first answer opens the span, so what it accepted lies before.
        let seconds = last - first;
        if self.answers.len() <= ANSWERS || seconds <= 0.0 {
            return 0.0;
        }
        (self.accepted - first_accepted).max(0.0) / seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_tenth_of_a_second() {
        let mut recent = Recent::default();
        for answer in 0..100 {
            let accepted = if answer < 50 { 10.0 } else { 20.0 };
            recent.observe(f64::from(answer) * 0.01, accepted);
        }
        assert!((recent.rate() - 2000.0).abs() < 1e-6, "{}", recent.rate());
    }

    #[test]
    fn few_answers_say_nothing() {
        let mut recent = Recent::default();
        for answer in 0..10 {
            recent.observe(f64::from(answer), 25.0);
            assert!(recent.rate().abs() < f64::EPSILON);
        }
        recent.observe(10.0, 25.0);
        assert!((recent.rate() - 25.0).abs() < 1e-9);
    }
}
