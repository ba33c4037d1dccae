//! What a target has asked its service changes while a producer lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Lookup, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry, Producer};
use tokio::time::sleep;

/// Takes numbers up to a limit, for which it asks.
#[derive(Clone, Default)]
struct Topic {
    limit: Lookup<usize>,
    says: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
}

impl BatchTarget for Topic {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(10, self.limit.get().map_or(10, |limit| *limit))
    }

    fn check(&self, number: &usize) -> Result<usize, InvalidEntry> {
        let limit = *self.limit.get().unwrap();
        if *number > limit {
            let (part, actual) = ("number", *number);
            return Err(InvalidEntry::TooLarge { part, limit, actual });
        }
        Ok(*number)
    }

    async fn prepare(&self) {
        let ask = async || {
            self.asked.fetch_add(1, Relaxed);
            Ok(self.says.load(Relaxed))
        };
        self.limit.ask(ask).await.unwrap();
    }

    fn preparation_fault(&self) -> Option<Fault> {
        self.limit.missing()
    }

    async fn send(&self, _: &[usize]) -> Answer {
        Answer::Whole(Verdict::Accepted)
    }
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_lives_for_hours_learns_of_a_change_without_a_restart() {
    let topic = Topic::default();
    topic.says.store(10, Relaxed);
    let producer = Delivery::new(topic.clone()).producer();
    let accepted = async |number: usize| producer.enqueue(number).await.unwrap().await.is_ok();
    assert!(accepted(10).await && !accepted(11).await);
    topic.says.store(20, Relaxed);
    sleep(Duration::from_mins(59)).await;
    assert!(!accepted(11).await);
    assert_eq!(topic.asked.load(Relaxed), 1);
    sleep(Duration::from_mins(2)).await;
    // The first entry after an hour lets it ask; no entry waits for that.
    assert!(accepted(1).await);
    sleep(Duration::from_secs(1)).await;
    assert!(accepted(11).await);
    assert_eq!(topic.asked.load(Relaxed), 2);
    assert_eq!(producer.close().await.unwrap().delivered, 3);
}

/// The entries of one producer may be all that let the target ask.
#[tokio::test(start_paused = true)]
async fn a_producer_learns_of_a_change_that_another_one_of_the_same_target_has_asked_for() {
    let topic = Topic::default();
    topic.says.store(10, Relaxed);
    let producer = || Delivery::new(topic.clone()).producer();
    let (one, other) = (producer(), producer());
    let accepted =
        async |producer: &Producer<usize>, number: usize| producer.enqueue(number).await.unwrap().await.is_ok();
    assert!(accepted(&one, 10).await && accepted(&other, 10).await);
    topic.says.store(20, Relaxed);
    sleep(Duration::from_mins(61)).await;
    assert!(accepted(&one, 1).await);
    sleep(Duration::from_secs(1)).await;
    assert!(accepted(&one, 20).await && accepted(&other, 20).await);
    assert_eq!(topic.asked.load(Relaxed), 2);
}
