//! A service that takes all of a call or nothing.

use std::collections::HashSet;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{DeliveryError, DeliveryOptions, InvalidEntry};

/// Entries in a call, as many as `BatchWriteItem` takes.
pub(crate) const ENTRIES: usize = 25;

/// How long a call takes.
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(8);

/// Refuses calls that carry a poisoned entry or the same entry twice; `mishap` may answer before that, or each entry after
/// it.
pub(crate) struct Picky<M> {
    poisoned: HashSet<usize>,
    pub(crate) lane: fn(usize) -> Option<Lane>,
    calls: Arc<Mutex<Vec<Vec<usize>>>>,
    mishap: M,
    /// Entries that are throttled in every call that is not refused.
    pub(crate) hot: HashSet<usize>,
}

impl<M> Picky<M>
where
    M: Fn(usize, &[usize]) -> Option<Answer>,
{
    pub(crate) fn new(poisoned: impl IntoIterator<Item = usize>, mishap: M) -> (Self, Arc<Mutex<Vec<Vec<usize>>>>) {
        let calls = Arc::default();
        let target = Self {
            poisoned: poisoned.into_iter().collect(),
            lane: |_| None,
            calls: Arc::clone(&calls),
            mishap,
            hot: HashSet::new(),
        };
        (target, calls)
    }
}

pub(crate) fn no_mishap(_: usize, _: &[usize]) -> Option<Answer> {
    None
}

impl<M> BatchTarget for Picky<M>
where
    M: Fn(usize, &[usize]) -> Option<Answer> + Send + Sync + 'static,
{
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(ENTRIES, 1_000)
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    fn lane(&self, entry: &usize) -> Option<Lane> {
        (self.lane)(*entry)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(chunk.to_vec());
            calls.len()
        };
        tokio::time::sleep(ROUND_TRIP).await;
        if let Some(answer) = (self.mishap)(number, chunk) {
            return answer;
        }
        let distinct: HashSet<&usize> = chunk.iter().collect();
        if distinct.len() < chunk.len() {
            return refused("duplicates");
        }
        if chunk.iter().any(|entry| self.poisoned.contains(entry)) {
            return refused("one of the entries is poisoned");
        }
        let verdict = |entry: &usize| {
            if self.hot.contains(entry) {
                throttled()
            } else {
                Verdict::Accepted
            }
        };
        Answer::Each(chunk.iter().map(verdict).collect())
    }
}

pub(crate) fn refused(message: &'static str) -> Answer {
    let source: Box<dyn Error + Send + Sync> = message.into();
    Answer::Whole(Verdict::Refused(Fault::new("ValidationException").caused_by(source)))
}

pub(crate) fn throttled() -> Verdict {
    Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"))
}

pub(crate) fn no_rest() -> DeliveryOptions {
    DeliveryOptions::default().backoff(|_: u32| Duration::ZERO)
}

/// Calls that one guilty entry among n may cost beyond those that deliver the others.
pub(crate) fn allowed(n: usize) -> u64 {
    u64::from(2 * n.ilog2() + 2)
}

/// The entries that were handed back, in the order of the input.
pub(crate) fn handed_back(error: &DeliveryError<usize>) -> Vec<usize> {
    error
        .undelivered()
        .iter()
        .map(|undelivered| *undelivered.entry)
        .collect()
}
