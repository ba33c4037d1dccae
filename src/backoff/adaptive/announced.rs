//! The throughput that the service announced.

use super::token_balance::TokenBalance;

/// A pace at which calls may leave though the window of the search is used up.
///
/// It only adds to what the search lets go. One that is too low makes no difference, and one that is too high ends with the
/// first rejection: at most one round trip of it is lost.
#[derive(Debug)]
pub(super) struct Announced {
    /// Units a second.
    pace: f64,
    /// What was announced before the first call left has saved nothing up.
    balance: Option<TokenBalance>,
}

impl Announced {
    pub(super) fn new(pace: f64) -> Self {
        Self { pace, balance: None }
    }

    /// Seconds until a call may leave; `None` when one may now.
    pub(super) fn wait(&mut self, now: f64) -> Option<f64> {
        let balance = self.balance.get_or_insert_with(|| TokenBalance::none(now));
        balance.earn(now, self.pace);
        balance.wait(self.pace)
    }

    /// Units leave, whatever let them go.
    pub(super) fn spend(&mut self, units: f64, now: f64) {
        self.balance.get_or_insert_with(|| TokenBalance::none(now)).spend(units);
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::super::search::Search;

    /// The answer to a call of 25 that left 10 ms before.
    fn answer(now: f64, rejected: f64) -> Answer {
        Answer {
            sent_at: now - 0.01,
            seen_at: now - 0.005,
            now,
            sent: 25.0,
            accepted: 25.0 - rejected,
            rejected,
            fresh: 25.0,
            fresh_rejected: rejected,
        }
    }

    /// How many calls of 25 leave within so many seconds, none of which is answered.
    fn calls(search: &mut Search, from: f64, until: f64) -> u32 {
        let (mut now, mut in_flight, mut calls) = (from, 0.0, 0);
        while now < until {
            let admitted = search.admits(25.0, false, in_flight);
            match admitted.map_or_else(|| search.admits_as_announced(25.0, now), Ok) {
                Ok(entries) => {
                    search.departs(entries, now);
                    in_flight += entries;
                    calls += 1;
                }
                Err(seconds) => now += seconds + 1e-6,
            }
        }
        calls
    }

    #[test]
    fn before_the_first_answer_calls_leave_at_the_announced_pace() {
        let mut search = Search::new();
        assert_eq!(calls(&mut search, 0.0, 0.1), 1);
        let mut search = Search::new();
        search.begin_at(10_000.0);
        assert_eq!(calls(&mut search, 0.0, 0.1), 40);
    }

    #[test]
    fn an_announced_pace_that_is_too_low_lets_go_as_much_as_none() {
        let mut search = Search::new();
        search.begin_at(5.0);
        assert_eq!(calls(&mut search, 0.0, 0.1), 1);
    }

    #[test]
    fn after_a_rejection_only_the_window_counts() {
        let mut search = Search::new();
        search.begin_at(10_000.0);
        assert_eq!(calls(&mut search, 0.0, 0.01), 4);
        for (now, rejected) in [(0.01, 0.0), (0.012, 5.0)] {
            let answer = answer(now, rejected);
            search.hear(&answer, answer.trial(false), 100.0, 0.01, false);
        }
        assert_eq!(search.admits_as_announced(25.0, 1.0), Err(f64::INFINITY));
        // What was in flight then is what the search goes on with.
        assert_eq!(search.admits(25.0, false, 75.0), Some(25.0));
    }

    #[test]
    fn what_is_announced_later_than_the_first_answer_is_ignored() {
        let mut search = Search::new();
        let first = answer(0.01, 0.0);
        search.hear(&first, first.trial(false), 25.0, 0.01, false);
        search.begin_at(10_000.0);
        assert_eq!(search.admits_as_announced(25.0, 1.0), Err(f64::INFINITY));
    }
}
