//! How long entries wait while the service accepts nothing: their number makes no difference.

use std::time::Duration;

use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, KeyType, Latency, QueueOptions, Simulator, TableOptions};
use futures::future::join_all;
use tokio::time::Instant;

use crate::guarantees::entries::{ROUND_TRIP, message, puts};

/// How long one attempt may take in these tests.
const ATTEMPT: Duration = Duration::from_secs(30);

/// Sends this many messages at once to a queue that throttles each of them. Returns when the last sender had its entry back.
async fn last_of_senders(count: usize, options: DeliveryOptions) -> Duration {
    let simulator = Simulator::new(7);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let queue = simulator.queue("events", QueueOptions::default().capacity(Capacity::per_second(0.0)));
    let producer = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .options(options.attempt_timeout(ATTEMPT))
        .producer();
    let started = Instant::now();
    let send = |number: usize| {
        let producer = producer.clone();
        async move {
            let undelivered = producer.send(message(number.to_string(), "event")).await.unwrap_err();
            assert!(
                matches!(undelivered.cause, Cause::Outage { .. } | Cause::BufferFull),
                "{}",
                undelivered.cause
            );
            started.elapsed()
        }
    };
    let waited = join_all((0..count).map(send)).await;
    producer.close().await.unwrap();
    waited.into_iter().max().unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_sender_has_its_entry_back_within_its_patience_however_many_wait() {
    let patience = Duration::from_secs(5);
    let last = last_of_senders(500, DeliveryOptions::default().give_up_after(patience)).await;
    assert!(last <= Duration::from_secs(6) + ATTEMPT, "{last:?}");
    // Without an option the time is one minute.
    let last = last_of_senders(100, DeliveryOptions::default()).await;
    assert!(last <= Duration::from_secs(61) + ATTEMPT, "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_waits_for_room_in_the_buffer_has_its_entry_back_as_well() {
    let patience = Duration::from_secs(5);
    let options = DeliveryOptions::default()
        .give_up_after(patience)
        .buffer(10)
        .read_ahead(10);
    let last = last_of_senders(500, options).await;
    assert!(last <= Duration::from_secs(6) + ATTEMPT, "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_one_clock_for_all_entries_of_a_delivery() {
    let simulator = Simulator::new(7);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let capacity = Capacity::per_second(0.0);
    simulator.table("orders", TableOptions::key("id", KeyType::S).capacity(capacity));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders");
    let started = Instant::now();
    let error = delivery.deliver(puts(300)).await.unwrap_err();
    let quarter = Duration::from_mins(15);
    let elapsed = started.elapsed();
    assert!((quarter..=quarter + ATTEMPT).contains(&elapsed), "{elapsed:?}");
    assert_eq!(error.undelivered().len(), 300);
    for undelivered in error.undelivered() {
        let Cause::Outage { lasted, .. } = &undelivered.cause else {
            panic!("{}", undelivered.cause)
        };
        // An entry whose next retry would come too late is handed back before that.
        assert!(*lasted + ATTEMPT > quarter && *lasted <= elapsed, "{lasted:?}");
    }
}
