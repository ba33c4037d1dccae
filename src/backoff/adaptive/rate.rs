//! What the service can take, and how much of it is spent.

use super::capacity::Capacity;
use super::schedule::{Conditions, Schedule};
use super::settings::Settings;
use super::token_balance::TokenBalance;

/// Bounds of a pace in entries a second, so that no arithmetic leaves the numbers.
const LOWEST: f64 = 0.1;
const HIGHEST: f64 = 1e9;

/// A call carries at most what so many seconds bring, so that a very low estimate is soon put to the test.
const CALL_SECONDS: f64 = 0.25;

/// The pace does not climb beyond so many times what was accepted lately: that finds out as well that more is accepted.
const CLIMB: f64 = 2.0;

/// It climbs to the end of a period in any case.
const LEAST_CLIMB: f64 = 1.04;

/// The capacity as it is measured, and the pace that follows from it.
#[derive(Debug)]
pub(super) struct Rate {
    settings: Settings,
    pub(super) capacity: Capacity,
    pub(super) schedule: Schedule,
    pub(super) balance: TokenBalance,
    /// Entries in the largest call that was asked for.
    call: f64,
}

impl Rate {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            capacity: Capacity::new(settings.initial_rate),
            schedule: Schedule::default(),
            balance: TokenBalance::default(),
            call: 1.0,
        }
    }

    /// A call of so many entries was asked for.
    pub(super) fn asked(&mut self, entries: f64) {
        self.call = self.call.max(entries);
    }

    /// Calls are as large as before.
    pub(super) fn keep_call(&mut self, old: &Self) {
        self.call = old.call;
    }

    /// Entries in a call at this pace.
    fn call_at(&self, pace: f64) -> f64 {
        self.call.min(Self::call_limit(pace).max(1.0))
    }

    /// Entries in a call at most, at this pace.
    pub(super) fn call_limit(pace: f64) -> f64 {
        pace * CALL_SECONDS
    }

    /// What the schedule depends on, with round trips of this many seconds.
    pub(super) fn conditions(&self, trip: f64) -> Conditions {
        let capacity = self.capacity.rate().unwrap_or(1.0);
        Conditions {
            capacity,
            call: self.call_at(capacity),
            trip,
        }
    }

    /// A congestion signal: the schedule begins anew, below the capacity.
    pub(super) fn cut(&mut self, now: f64, trip: f64) {
        self.schedule.cut(now, trip);
        self.balance.forfeit();
    }

    /// Entries a second that are to be accepted, by the schedule, while so many a second were accepted lately.
    pub(super) fn pace(&self, now: f64, trip: f64, recent: f64) -> f64 {
        let conditions = self.conditions(trip);
        let climb = self.schedule.pace(now, &conditions);
        let most = (CLIMB * recent / conditions.capacity).max(LEAST_CLIMB);
        self.within_bounds(self.settings.share * conditions.capacity * climb.min(most))
    }

    /// The highest pace that is allowed.
    pub(super) fn most(&self) -> f64 {
        self.settings.max_rate.unwrap_or(HIGHEST)
    }

    pub(super) fn within_bounds(&self, pace: f64) -> f64 {
        pace.min(self.most()).clamp(LOWEST, HIGHEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_carries_a_quarter_of_a_second_at_most_and_one_entry_at_least() {
        let mut rate = Rate::new(Settings::default());
        rate.asked(25.0);
        rate.asked(10.0);
        for (pace, entries) in [(1_000.0, 25.0), (40.0, 10.0), (4.0, 1.0), (0.5, 1.0)] {
            let call = rate.call_at(pace);
            assert!((call - entries).abs() < 1e-9, "{call} at {pace}");
        }
    }
}
