//! What a target does before the first call.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits};
use aws_batch_delivery::{Cause, Delivery, InvalidEntry};
use tokio::time::Instant;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, one_at_a_time, throttle};

/// Takes a second to prepare.
#[derive(Clone)]
struct Prepared {
    preparations: Arc<AtomicUsize>,
    panics: bool,
    sent: Arc<Mutex<Vec<usize>>>,
}

impl Prepared {
    fn new(panics: bool) -> Self {
        Self {
            preparations: Arc::default(),
            panics,
            sent: Arc::default(),
        }
    }
}

impl BatchTarget for Prepared {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    async fn prepare(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!self.panics, "not ready");
        self.preparations.fetch_add(1, Relaxed);
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        assert!(self.preparations.load(Relaxed) > 0, "checked before it was prepared");
        Ok(*entry)
    }

    fn complete(&self, entry: &mut usize) {
        *entry += 1_000;
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        self.sent.lock().unwrap().extend_from_slice(chunk);
        if chunk.contains(&1_003) {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_is_prepared_once_a_delivery_if_there_is_an_entry() {
    let target = Prepared::new(false);
    let delivery = Delivery::new(target.clone()).options(no_delay());
    delivery.deliver([]).await.unwrap();
    assert_eq!(target.preparations.load(Relaxed), 0);
    let started = Instant::now();
    delivery.deliver(vec![1; 100]).await.unwrap();
    assert_eq!(target.preparations.load(Relaxed), 1);
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_ends_while_its_target_is_prepared_hands_everything_back() {
    let target = Prepared::new(false);
    let started = Instant::now();
    let options = no_delay().deadline(started + Duration::from_millis(500));
    let error = Delivery::new(target.clone())
        .options(options)
        .deliver(0..10)
        .await
        .unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_millis(500));
    assert_eq!((error.undelivered().len(), target.preparations.load(Relaxed)), (10, 0));
    assert!(matches!(error.undelivered()[0].cause, Cause::DeadlineReached(None)));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_preparation_loses_no_entry() {
    let error = Delivery::new(Prepared::new(true)).deliver(0..10).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 10);
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Stopped(_)) && undelivered.attempts == 0)
    );
}

#[tokio::test(start_paused = true)]
async fn an_entry_is_completed_once_and_stays_so() {
    let target = Prepared::new(false);
    let error = Delivery::new(target.clone())
        .options(one_at_a_time().retries(2))
        .deliver(1..=5)
        .await
        .unwrap_err();
    assert!(
        target
            .sent
            .lock()
            .unwrap()
            .iter()
            .all(|entry| (1_001..=1_005).contains(entry))
    );
    assert!(error.undelivered().iter().all(|undelivered| *undelivered.entry > 1_000));
}
