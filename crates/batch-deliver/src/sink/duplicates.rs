//! Entries that a FIFO queue or topic has accepted and dropped, because it had another one with the same deduplication id.

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::Disposition;
use tokio::time::Instant;

/// How long a deduplication id counts. From the developer guides of SQS and SNS.
const INTERVAL: Duration = Duration::from_mins(5);

/// Accepted entries that are remembered at least, if there are as many within the interval; up to twice as many take 18 MB.
const REMEMBERED: usize = 450_000;

/// Recognizes what was accepted and dropped by the id of its message, which is that of the first one.
pub(crate) struct Duplicates<E> {
    /// A hash of what the receiver would get.
    content: fn(&E) -> u64,
    seen: Mutex<SeenMessages>,
}

/// How many entries were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DuplicateFigures {
    /// Those with the content of the one that was kept.
    pub(crate) equal: u64,
    /// Those with another one. One of both is not delivered.
    pub(crate) different: u64,
}

/// Hashes of the ids of messages, and of their contents.
struct SeenMessages {
    recent: HashMap<u64, u64>,
    earlier: HashMap<u64, u64>,
    /// When the first of the recent ones was accepted.
    since: Instant,
    hashes: RandomState,
    figures: DuplicateFigures,
}

/// A hash of the content of an entry.
pub(super) fn hash(content: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

/// The attributes of a message of SQS or SNS, in the order of their names.
macro_rules! sorted_attributes {
    ($message:expr) => {
        $message
            .message_attributes()
            .into_iter()
            .flatten()
            .map(|(name, value)| {
                let binary = value.binary_value().map(AsRef::<[u8]>::as_ref);
                (name, (value.data_type(), value.string_value(), binary))
            })
            .collect::<std::collections::BTreeMap<_, _>>()
    };
}
pub(super) use sorted_attributes;

impl<E> Duplicates<E> {
    pub(crate) fn new(content: fn(&E) -> u64) -> Self {
        let seen = SeenMessages {
            recent: HashMap::new(),
            earlier: HashMap::new(),
            since: Instant::now(),
            hashes: RandomState::new(),
            figures: DuplicateFigures::default(),
        };
        Self {
            content,
            seen: Mutex::new(seen),
        }
    }

    /// Notes an entry that was decided. Whether it is lost: it was dropped, and what was kept has another content.
    pub(super) fn note(&self, entry: &E, disposition: &Disposition) -> bool {
        let Disposition::Delivered(acknowledgement) = disposition else {
            return false;
        };
        acknowledgement.message_id.as_ref().is_some_and(|id| {
            let content = (self.content)(entry);
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.note(id, content)
        })
    }

    pub(crate) fn figures(&self) -> DuplicateFigures {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).figures
    }
}

impl SeenMessages {
    fn note(&mut self, id: &str, content: u64) -> bool {
        if self.recent.len() >= REMEMBERED || self.since.elapsed() >= INTERVAL {
            self.earlier = std::mem::take(&mut self.recent);
            self.since = Instant::now();
        }
        let id = self.hashes.hash_one(id);
        let Some(kept) = self.recent.get(&id).or_else(|| self.earlier.get(&id)) else {
            self.recent.insert(id, content);
            return false;
        };
        let is_equal = *kept == content;
        self.figures.equal += u64::from(is_equal);
        self.figures.different += u64::from(!is_equal);
        !is_equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded_and_is_there_for_the_interval() {
        let duplicates = Duplicates::<()>::new(|()| 0);
        let mut seen = duplicates.seen.into_inner().unwrap();
        seen.note("first", 1);
        tokio::time::sleep(INTERVAL.mul_f64(0.9)).await;
        for number in 0..REMEMBERED {
            seen.note(&number.to_string(), 1);
        }
        seen.note("first", 1);
        seen.note("first", 2);
        assert_eq!(seen.figures, DuplicateFigures { equal: 1, different: 1 });
        for number in 0..3 * REMEMBERED {
            seen.note(&format!("more {number}"), 1);
        }
        assert!(seen.recent.len() + seen.earlier.len() <= 2 * REMEMBERED);
        assert_eq!(seen.figures, DuplicateFigures { equal: 1, different: 1 });
    }
}
