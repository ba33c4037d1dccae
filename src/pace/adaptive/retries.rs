//! When rejected entries are sent again: how long each waits, and a pace for retries that are rejected for reasons of their own.

use std::time::Duration;

use super::evidence::{Observation, Trials, chance, variance};
use super::time::{BURST, TokenBucket};
use crate::jitter::Jitter;
use crate::pace::Retry;

/// The longest delay before the second retry, and before the first one while retries have a pace of their own; otherwise the first one
/// does not wait.
const FIRST_DELAY: Duration = Duration::from_millis(50);

/// The longest delay.
const MAX_DELAY: Duration = Duration::from_secs(5);

/// A delay is at most this many times the previous one: the ceiling doubles, and a delay is at least half of its ceiling.
const MAX_GROWTH: u32 = 4;

/// Retries fail on their own if more of them than this share are rejected, and by more than chance more than if every entry of a call
/// were equally likely to be rejected.
const MIN_SHARE: f64 = 0.5;

/// The variance of the rejected retries of a call, as a part of what it were if all of them were rejected or none. For a run of half the
/// entries that begins anywhere it is a third.
const SPREAD: f64 = 0.5;

/// Retries over which the calls are compared that carry fresh entries, too.
const MAX_MIXED: f64 = 150.0;

/// Rejections that fall on the few retries of a call with a smaller probability than this are not by chance. It is that of neighbours, as a
/// service may process the entries of a call in their order.
const MAX_PROBABILITY: f64 = 0.05;

/// The first and lowest pace, as a share of the capacity and in entries a second: what attempts without success may cost.
const MIN_PACE_SHARE: f64 = 0.004;
const MIN_PACE: f64 = 0.5;

/// The highest pace, as a share of the capacity: the rest is for fresh entries, since retries leave before them.
const MAX_PACE_SHARE: f64 = 0.5;

/// By how much an accepted retry raises the pace, and a rejected one lowers it. They balance where one of seven is rejected.
const RAISE: f64 = 1.05;
const LOWER: f64 = 0.75;

/// One call raises it by this factor at most.
const MAX_RAISE: f64 = 2.0;

/// The longest time until an entry asks again for its turn, in seconds; the shortest is half of it. When for so
/// long no entry had to wait, the retries no longer have a pace of their own.
const MAX_TURN_WAIT: f64 = 1.0;

/// The golden ratio, without its whole part.
const GOLDEN: f64 = 0.618_033_988_75;

/// The delay before that retry. It doubles with each rejection, and half of it is random.
pub(super) fn retry_delay(retry: Retry, jitter: &Jitter) -> Duration {
    let doubled = 2_u32.saturating_pow(retry.number.saturating_sub(2));
    let max = retry.previous.map_or(MAX_DELAY, |previous| {
        previous.saturating_mul(MAX_GROWTH).max(FIRST_DELAY)
    });
    let ceiling = FIRST_DELAY.saturating_mul(doubled).min(max).min(MAX_DELAY);
    jitter.between(ceiling / 2, ceiling)
}

/// Compares retries with fresh entries, and gives the retries a pace of their own while they are rejected and fresh entries are not.
#[derive(Debug, Default)]
pub(super) struct RetryPace {
    /// Retries in calls that carried fresh entries as well …
    mixed: Trials,
    /// … and how many rejections of them were to be expected, with the variance of that.
    expected: f64,
    variance: f64,
    /// Entries a second; `None` while retries are rejected like all entries.
    pace: Option<f64>,
    turns: TokenBucket,
    /// When an entry had to wait for its turn last.
    waited_at: f64,
    /// Spreads the moments at which entries ask again.
    spread: f64,
}

impl RetryPace {
    /// Whether retries have a pace of their own.
    pub(super) fn are_paced(&self) -> bool {
        self.pace.is_some()
    }

    /// How long an entry waits until it asks again for its turn, in seconds; 0 if it is its turn.
    pub(super) fn wait(&mut self, now: f64) -> f64 {
        let Some(pace) = self.pace else {
            return 0.0;
        };
        self.turns.earn(now, pace, BURST);
        if self.turns.take_one() {
            return 0.0;
        }
        self.waited_at = now;
        // Not all at the same time: steps of the golden ratio are spread evenly.
        self.spread = (self.spread + GOLDEN).fract();
        MAX_TURN_WAIT * f64::midpoint(1.0, self.spread)
    }

    pub(super) fn observe(&mut self, answer: &Observation, capacity: f64) {
        let (fresh, retries) = (answer.fresh, answer.retries());
        self.compare(fresh, retries);
        let Some(pace) = self.pace else {
            if self.fail_on_their_own() {
                self.start_pace(answer.now, capacity);
            }
            return;
        };
        if answer.now - self.waited_at > MAX_TURN_WAIT {
            self.pace = None;
        } else {
            let factor = RAISE.powf(retries.not_rejected()).min(MAX_RAISE) * LOWER.powf(retries.rejected);
            self.pace = Some((pace * factor).min(MAX_PACE_SHARE * capacity).max(min_pace(capacity)));
        }
    }

    fn compare(&mut self, fresh: Trials, retries: Trials) {
        if fresh.sent > 0.0 && retries.sent > 0.0 {
            let all = fresh.plus(retries);
            let share = all.rejected / all.sent;
            let weight = (1.0 - retries.sent / MAX_MIXED).max(0.0);
            self.mixed = self.mixed.weighted(weight).plus(retries);
            self.expected = weight * self.expected + retries.sent * share;
            // Retries stand side by side in a call, and so may those that the service rejects.
            self.variance = weight * self.variance + variance(SPREAD * retries.sent * retries.sent, share);
        }
    }

    /// Whether far more of the retries are rejected than of the fresh entries of the same calls.
    fn fail_on_their_own(&self) -> bool {
        let excess = self.mixed.rejected - self.expected;
        self.mixed.share() > MIN_SHARE && excess > 1.0 + chance(self.variance)
    }

    /// Whether the rejections of a single call fell on its retries, and that not by chance.
    pub(super) fn are_singled_out(answer: &Observation) -> bool {
        let retries = answer.retries();
        let probability = (retries.not_rejected() + 1.0) / (answer.fresh.sent + retries.sent);
        answer.fresh.sent > 0.0
            && answer.fresh.rejected <= 0.0
            && retries.rejected > 0.0
            && probability < MAX_PROBABILITY
    }

    fn start_pace(&mut self, now: f64, capacity: f64) {
        self.mixed = Trials::default();
        self.expected = 0.0;
        self.variance = 0.0;
        self.pace = Some(min_pace(capacity));
        self.waited_at = now;
        self.turns = TokenBucket::empty(now);
    }
}

fn min_pace(capacity: f64) -> f64 {
    MIN_PACE.max(MIN_PACE_SHARE * capacity)
}

#[cfg(test)]
mod tests;
