//! A target whose entries are numbers and whose answers are scripted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};

/// How long a call takes.
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(8);

/// The calls that were made, each with its entries.
pub(crate) type Calls = Arc<Mutex<Vec<Vec<usize>>>>;

/// The answer to a call with this number, from 1, and these entries. Boxed, because the engine is compiled anew for each type of
/// target.
type AnswerTo = Box<dyn Fn(usize, &[usize]) -> Answer + Send + Sync>;

/// Records each call, and answers it with a function of its number and of its entries.
pub(crate) struct Scripted {
    limits: Limits,
    /// The bytes of an entry.
    size: fn(usize) -> usize,
    pub(crate) lane: fn(usize) -> Option<Lane>,
    pub(crate) partition_key: fn(usize) -> Option<u64>,
    pub(crate) units: fn(usize) -> usize,
    calls: Calls,
    answer: AnswerTo,
}

impl Scripted {
    pub(crate) fn new(
        limits: Limits,
        size: fn(usize) -> usize,
        answer: impl Fn(usize, &[usize]) -> Answer + Send + Sync + 'static,
    ) -> (Self, Calls) {
        let calls = Calls::default();
        let target = Self {
            limits,
            size,
            lane: |_| None,
            partition_key: |_| None,
            units: |_| 1,
            calls: Arc::clone(&calls),
            answer: Box::new(answer),
        };
        (target, calls)
    }
}

impl BatchTarget for Scripted {
    type Entry = usize;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        Ok((self.size)(*entry))
    }

    fn lane(&self, entry: &usize) -> Option<Lane> {
        (self.lane)(*entry)
    }

    fn partition_key(&self, entry: &usize) -> Option<u64> {
        (self.partition_key)(*entry)
    }

    fn units(&self, entry: &usize) -> usize {
        (self.units)(*entry)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(chunk.to_vec());
            calls.len()
        };
        tokio::time::sleep(ROUND_TRIP).await;
        (self.answer)(number, chunk)
    }
}

pub(crate) fn throttle() -> Verdict {
    Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"))
}
