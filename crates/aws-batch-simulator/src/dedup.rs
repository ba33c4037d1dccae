//! The deduplication ids that a FIFO queue or topic remembers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// A message with a deduplication id that was accepted within this time is not enqueued again.
const WINDOW: Duration = Duration::from_mins(5);

#[derive(Debug, Default)]
pub(crate) struct Dedup {
    seen: HashMap<Arc<str>, u64>,
    order: VecDeque<(Instant, Arc<str>)>,
}

impl Dedup {
    /// The number of the message that was accepted under this id, if it is still remembered.
    pub(crate) fn find(&mut self, id: &str, now: Instant) -> Option<u64> {
        while let Some((_, id)) = self.order.pop_front_if(|(at, _)| now.duration_since(*at) >= WINDOW) {
            self.seen.remove(&id);
        }
        self.seen.get(id).copied()
    }

    pub(crate) fn remember(&mut self, id: &str, message: u64, now: Instant) {
        let id: Arc<str> = id.into();
        self.seen.insert(Arc::clone(&id), message);
        self.order.push_back((now, id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_remembered_for_five_minutes() {
        let start = Instant::now();
        let mut dedup = Dedup::default();
        dedup.remember("a", 1, start);
        assert_eq!(dedup.find("a", start + Duration::from_secs(299)), Some(1));
        assert_eq!(dedup.find("b", start), None);
        assert_eq!(dedup.find("a", start + Duration::from_mins(5)), None);
    }
}
