//! Calls that are refused for their size, although they keep the limits of the crate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aws_batch_delivery::Delivery;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{DeliveryOptions, InvalidEntry};

use aws_batch_simulator::{QueueOptions, Simulator};

use crate::guarantees::entries::{message, no_delay};

/// Takes calls of at most `limit` bytes; what it says of larger ones is this.
struct Proxied {
    limit: usize,
    fault: fn() -> Fault,
    refused: Arc<AtomicU64>,
}

impl BatchTarget for Proxied {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(10, 1 << 20)
    }

    fn check(&self, bytes: &usize) -> Result<usize, InvalidEntry> {
        Ok(*bytes)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        if chunk.iter().sum::<usize>() <= self.limit {
            return Answer::Whole(Verdict::Accepted);
        }
        self.refused.fetch_add(1, Relaxed);
        Answer::Whole(Verdict::Refused((self.fault)()))
    }
}

/// The calls for 400 entries of this size, and how many of them were refused.
async fn calls(entry: usize, limit: usize, options: DeliveryOptions) -> (u64, u64) {
    let refused = Arc::new(AtomicU64::new(0));
    let target = Proxied {
        limit,
        fault: || Fault::new("HTTP 413").for_the_size_of_the_call(),
        refused: Arc::clone(&refused),
    };
    let report = Delivery::new(target)
        .options(options)
        .deliver(vec![entry; 400])
        .await
        .unwrap();
    assert_eq!(report.delivered, 400);
    (report.calls, refused.load(Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_smaller_limit_of_a_proxy_is_learned_once() {
    for (entry, limit) in [
        (100_000, 262_144),
        (20_000, 100_000),
        (100_000, 1_000_000),
        (5_000, 49_999),
        (60_000, 60_000),
    ] {
        // So many calls may be refused before any of them is answered: all that are in flight two round trips after the start.
        for (options, at_once) in [
            (no_delay().concurrency(1), 1),
            (no_delay(), 16),
            (DeliveryOptions::default(), 16),
        ] {
            let least = 400_u64.div_ceil((limit / entry).min(10) as u64);
            let (calls, refused) = calls(entry, limit, options).await;
            let shown = format!("{entry} bytes, limit {limit}: {calls} calls, {refused} refused, at least {least}");
            assert!(refused <= 3 * at_once + 3, "{shown}");
            assert!(calls <= least + least / 20 + refused + 2 * at_once, "{shown}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_its_queue_would_refuse_is_handed_back_unsent() {
    let simulator = Simulator::new(42);
    let queue = simulator.queue("orders", QueueOptions::default().maximum_message_size(262_144));
    let body = |number: usize| "x".repeat(if number == 7 { 262_145 } else { 200_000 });
    let messages = (0..20).map(|number| message(number.to_string(), body(number)));
    let error = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .options(no_delay())
        .deliver(messages)
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, queue.len()), (19, 19));
    // The limit is one of a message, not of a call.
    assert_eq!(error.report.calls, 4);
    let undelivered = &error.undelivered()[0];
    assert_eq!((undelivered.position, undelivered.attempts), (7, 0));
    assert_eq!(
        undelivered.cause.to_string(),
        "not sent: the message has 262145 bytes, the limit is 262144"
    );
}
