//! How a target cleans up after entries that are handed back.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits};
use aws_batch_delivery::{Delivery, InvalidEntry, Undelivered};
use tokio::time::Instant;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, throttle};

#[derive(Clone, Copy)]
enum End {
    Returns,
    Panics,
    Hangs,
}

/// Marks the entries that it completes, and removes the marks when it cleans up. It never accepts the entry 3.
#[derive(Clone)]
struct Marking {
    end: End,
    cleaned_up: Arc<Mutex<Vec<Vec<u64>>>>,
}

impl Marking {
    fn new(end: End) -> Self {
        Self {
            end,
            cleaned_up: Arc::default(),
        }
    }
}

impl BatchTarget for Marking {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        match entry {
            5 => Err(InvalidEntry::Missing { part: "number" }),
            _ => Ok(*entry),
        }
    }

    fn complete(&self, entry: &mut usize) {
        *entry += 1_000;
    }

    async fn clean_up(&self, undelivered: &mut [Undelivered<usize>]) {
        for undelivered in &mut *undelivered {
            *undelivered.entry %= 1_000;
        }
        let positions = undelivered.iter().map(|undelivered| undelivered.position).collect();
        self.cleaned_up.lock().unwrap().push(positions);
        match self.end {
            End::Returns => {}
            End::Panics => panic!("a slip"),
            End::Hangs => pending().await,
        }
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        if chunk.contains(&1_003) {
            Answer::Whole(throttle())
        } else {
            accept(chunk)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_back_is_cleaned_up_once_and_nothing_else_is() {
    let target = Marking::new(End::Returns);
    let delivery = Delivery::new(target.clone()).options(no_delay().retries(2));
    delivery.deliver([1]).await.unwrap();
    assert!(target.cleaned_up.lock().unwrap().is_empty());
    let error = delivery.deliver([5, 3]).await.unwrap_err();
    let entries: Vec<usize> = error
        .undelivered()
        .iter()
        .map(|undelivered| *undelivered.entry)
        .collect();
    assert_eq!(entries, [5, 3]);
    let mut cleaned_up = target.cleaned_up.lock().unwrap();
    assert_eq!(cleaned_up.len(), 1);
    cleaned_up[0].sort_unstable();
    assert_eq!(cleaned_up[0], [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_target_that_panics_or_hangs_as_it_takes_back_loses_no_entry() {
    for end in [End::Panics, End::Hangs] {
        let started = Instant::now();
        let options = no_delay().retries(2).attempt_timeout(Duration::from_secs(7));
        let error = Delivery::new(Marking::new(end))
            .options(options)
            .deliver([3, 5])
            .await
            .unwrap_err();
        assert_eq!(error.undelivered().len(), 2);
        assert!(started.elapsed() <= Duration::from_secs(7));
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_early_end_it_has_the_grace() {
    const GRACE: Duration = Duration::from_millis(300);
    let started = Instant::now();
    let options = no_delay().grace(GRACE).deadline(started);
    let error = Delivery::new(Marking::new(End::Hangs))
        .options(options)
        .deliver([3, 5])
        .await
        .unwrap_err();
    assert_eq!((error.undelivered().len(), started.elapsed()), (2, GRACE));
}

#[tokio::test(start_paused = true)]
async fn for_the_rest_of_a_long_batch_it_has_the_grace_once() {
    const GRACE: Duration = Duration::from_millis(300);
    let started = Instant::now();
    let options = no_delay().grace(GRACE).deadline(started).read_ahead(2_000);
    let error = Delivery::new(Marking::new(End::Hangs))
        .options(options)
        .on_undelivered(|_| std::future::ready(()))
        .deliver(vec![3; 20_000])
        .await
        .unwrap_err();
    assert_eq!((error.report.undelivered, started.elapsed()), (20_000, GRACE));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_an_entry_gets_it_as_it_was() {
    let target = Marking::new(End::Returns);
    let producer = Delivery::new(target.clone()).options(no_delay().retries(2)).producer();
    let undelivered = producer.send(3).await.unwrap_err();
    assert_eq!((*undelivered.entry, undelivered.attempts), (3, 3));
    // No receipt waits for this one.
    drop(producer.enqueue(3).await.unwrap());
    let error = producer.close().await.unwrap_err();
    assert_eq!(*error.undelivered()[0].entry, 3);
    assert_eq!(*target.cleaned_up.lock().unwrap(), [[0], [1]]);
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_an_input_is_cleaned_up_in_large_groups() {
    let target = Marking::new(End::Returns);
    let handed_back = Arc::new(Mutex::new(0));
    let count = Arc::clone(&handed_back);
    let error = Delivery::new(target.clone())
        .options(no_delay().deadline(Instant::now()))
        .on_undelivered(move |_| {
            *count.lock().unwrap() += 1;
            std::future::ready(())
        })
        .deliver(vec![1; 2_500])
        .await
        .unwrap_err();
    assert_eq!((error.report.undelivered, *handed_back.lock().unwrap()), (2_500, 2_500));
    let groups = target
        .cleaned_up
        .lock()
        .unwrap()
        .iter()
        .map(Vec::len)
        .collect::<Vec<_>>();
    assert_eq!(groups, [1_000, 1_000, 500]);
}
