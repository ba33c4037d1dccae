//! How many messages are received before they are asked for.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// What was settled in this time shows how fast the consumer is.
const SEEN: Duration = Duration::from_secs(8);

/// As many messages as were settled in this part of it are received in advance, and wait for two seconds: far longer than a round trip, and
/// short for a message that another consumer could have. Since the first messages count from the start of the process, one that is
/// restarted repeatedly has settled several for each that it has received in vain.
const PART: usize = 4;

/// What the consumer takes.
pub(super) struct ReadingAhead {
    /// When messages were settled lately, at most as many as may be held.
    settled: VecDeque<Instant>,
    most: usize,
    /// How many messages the consumer has in hand at once.
    concurrency: usize,
}

impl ReadingAhead {
    pub(super) fn new(window: usize) -> Self {
        Self {
            settled: VecDeque::new(),
            most: window,
            concurrency: 0,
        }
    }

    /// The consumer waits for another message while it has this many in hand.
    pub(super) fn is_awaited(&mut self, in_hand: usize) {
        self.concurrency = self.concurrency.max(in_hand + 1);
    }

    /// A message that was held for this time was taken, and is one of this many in hand.
    pub(super) fn was_taken(&mut self, held_for: Duration, in_hand: usize) {
        if held_for > SEEN {
            self.concurrency = in_hand;
        }
    }

    /// A message was settled. One that was released says nothing: a consumer that fails would be the fastest.
    pub(super) fn was_settled(&mut self, now: Instant) {
        if self.settled.len() >= self.most.saturating_mul(PART) {
            self.settled.pop_front();
        }
        self.settled.push_back(now);
    }

    /// How many messages are to be there for the consumer or on their way, in addition to those that it has in hand. If none may come in advance,
    /// as many as it has had in hand at once.
    pub(super) fn wanted(&mut self, now: Instant, in_hand: usize, may_come_in_advance: bool) -> usize {
        while self.settled.front().is_some_and(|at| *at + SEEN < now) {
            self.settled.pop_front();
        }
        let ahead = if may_come_in_advance {
            self.settled.len() / PART
        } else {
            0
        };
        (self.concurrency + ahead).saturating_sub(in_hand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_consumer_gets_the_messages_of_two_seconds_in_advance() {
        for (every, ahead) in [(60_000, 0), (2_000, 1), (1_000, 2), (100, 20), (1, 1_000)] {
            let mut reading_ahead = ReadingAhead::new(1_000);
            let mut now = Instant::now();
            for _ in 0..10_000 {
                reading_ahead.is_awaited(0);
                reading_ahead.was_settled(now);
                now += Duration::from_millis(every);
            }
            now -= Duration::from_millis(every);
            assert_eq!(reading_ahead.wanted(now, 0, true), 1 + ahead, "every {every} ms");
            assert_eq!(reading_ahead.wanted(now, 0, false), 1);
            assert_eq!(
                reading_ahead.wanted(now + 2 * SEEN, 0, true),
                1,
                "it takes nothing any more"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_consumer_of_many_at_once_has_asked_for_as_many() {
        let mut reading_ahead = ReadingAhead::new(1_000);
        (0..8).for_each(|in_hand| reading_ahead.is_awaited(in_hand));
        let now = Instant::now();
        let wanted = |reading_ahead: &mut ReadingAhead, in_hand| reading_ahead.wanted(now, in_hand, false);
        assert_eq!((wanted(&mut reading_ahead, 8), wanted(&mut reading_ahead, 3)), (0, 5));
        reading_ahead.was_taken(2 * SEEN, 3);
        assert_eq!(wanted(&mut reading_ahead, 3), 0);
    }
}
