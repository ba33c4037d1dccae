//! The messages that a queue has deleted, of which some are remembered.

use std::collections::HashMap;

/// Messages that are remembered.
const REMEMBERED: usize = 1_000;

/// So often one message is deleted at most. A standard queue returns a message now and then that it has deleted, because it delivers at
/// least once, but not repeatedly.
const MOST_TIMES: u32 = 5;

/// Notices that a queue returns messages repeatedly although it has deleted them, so that it is never empty.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    count: usize,
    /// How often each of the messages was deleted.
    times: HashMap<String, u32>,
}

impl Deletions {
    /// The queue has deleted the message with this id. Returns whether it has done so too often.
    ///
    /// Others are remembered whenever the deletions have doubled, so that in time they are some of those that come again, however many
    /// they are.
    pub(super) fn has_deleted(&mut self, id: String) -> bool {
        self.count += 1;
        if self.count > REMEMBERED && self.count.is_power_of_two() {
            self.times.clear();
        }
        if let Some(times) = self.times.get_mut(&id) {
            *times += 1;
            return *times >= MOST_TIMES;
        }
        // What is not SQS may give no ids.
        if !id.is_empty() && self.times.len() < REMEMBERED {
            self.times.insert(id, 1);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_come_again_and_again_are_noticed_however_many_they_are() {
        for (others, cycle) in [(0, 1), (0, 7), (5_000, 1), (100, 5_000), (123_456, 20_000)] {
            let mut deletions = Deletions::default();
            assert!((0..others).all(|id| !deletions.has_deleted(format!("other {id}"))));
            let mut again = (0..cycle).cycle().take(40 * (cycle + others));
            assert!(
                again.any(|id| deletions.has_deleted(id.to_string())),
                "{others}, {cycle}"
            );
        }
    }

    #[test]
    fn a_few_repeats_and_messages_without_ids_are_not() {
        let mut deletions = Deletions::default();
        for id in 0..100_000 {
            for _ in 1..MOST_TIMES {
                assert!(!deletions.has_deleted(id.to_string()));
            }
            assert!(!deletions.has_deleted(String::new()));
        }
    }
}
