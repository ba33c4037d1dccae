//! A target that takes numbers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{DeliveryOptions, InvalidEntry};

pub(crate) const LIMITS: Limits = Limits::new(4, 100);

/// Takes numbers, four a call and at most 100 bytes; a number's size is its value.
pub(crate) struct Numbers<A> {
    calls: Arc<Mutex<Vec<Vec<usize>>>>,
    answer: A,
}

impl<A> Numbers<A>
where
    A: Fn(usize, &[usize]) -> Answer,
{
    pub(crate) fn answering(answer: A) -> (Self, Arc<Mutex<Vec<Vec<usize>>>>) {
        let calls = Arc::default();
        let target = Self {
            calls: Arc::clone(&calls),
            answer,
        };
        (target, calls)
    }
}

impl<A> BatchTarget for Numbers<A>
where
    A: Fn(usize, &[usize]) -> Answer + Send + Sync + 'static,
{
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        Ok(*entry)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(chunk.to_vec());
            calls.len()
        };
        tokio::time::sleep(Duration::from_millis(8)).await;
        (self.answer)(number, chunk)
    }
}

pub(crate) fn accept(chunk: &[usize]) -> Answer {
    Answer::Each(vec![Verdict::Accepted; chunk.len()])
}

pub(crate) fn throttle() -> Verdict {
    Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"))
}

pub(crate) fn no_rest() -> DeliveryOptions {
    DeliveryOptions::default().backoff(|_: u32| Duration::ZERO)
}

pub(crate) fn one_at_a_time() -> DeliveryOptions {
    no_rest().concurrency(1)
}
