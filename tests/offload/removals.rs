//! The fate of the object when its message is handed back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::{Cause, Undelivered};
use aws_batch_simulator::{InjectedFault, Latency};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::offload::entries::{Services, key, large, message, mixed, one_at_a_time};

#[tokio::test(start_paused = true)]
async fn the_object_of_a_refused_message_is_removed_and_the_message_comes_back_as_it_was() {
    let services = Services::new("orders");
    services
        .queue
        .poison(|message| message["MessageAttributes"].is_object());
    let entries = mixed(20);
    let error = services
        .delivery(services.offload())
        .deliver(entries.clone())
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.undelivered().len()), (13, 7));
    for undelivered in error.undelivered() {
        assert!(matches!(undelivered.cause, Cause::Refused(_)));
        assert_eq!(
            *undelivered.entry,
            entries[usize::try_from(undelivered.position).unwrap()]
        );
    }
    assert_eq!((services.bucket.puts(), services.bucket.deletes()), (7, 7));
    assert!(services.bucket.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_object_stays_when_its_message_may_have_been_delivered() {
    for applied in [true, false] {
        let services = Services::new("orders");
        services.queue.script([InjectedFault::Dropped { applied }]);
        let entry = message(large(0));
        let error = services
            .delivery(services.offload())
            .options(one_at_a_time().retries(0))
            .deliver([entry.clone()])
            .await
            .unwrap_err();
        assert!(error.undelivered()[0].may_have_been_delivered);
        assert_eq!(*error.undelivered()[0].entry, entry);
        assert_eq!((services.bucket.len(), services.bucket.deletes()), (1, 0));
        assert_eq!(
            services.queue.messages().iter().filter_map(key).count(),
            usize::from(applied)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_may_have_arrived_is_removed_too() {
    let services = Services::new("orders");
    services.bucket.script([InjectedFault::Dropped { applied: true }]);
    let error = services
        .delivery(services.offload())
        .options(one_at_a_time().retries(0))
        .deliver([message(large(0))])
        .await
        .unwrap_err();
    assert!(!error.undelivered()[0].may_have_been_delivered);
    assert!(services.bucket.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_may_have_arrived_is_removed_also_when_the_next_one_is_refused() {
    let services = Services::new("orders");
    services.bucket.script([
        InjectedFault::internal_error(true),
        InjectedFault::error(403, "AccessDenied", false),
    ]);
    let error = services
        .delivery(services.offload())
        .deliver([message(large(0))])
        .await
        .unwrap_err();
    assert!(matches!(error.undelivered()[0].cause, Cause::Refused(_)));
    assert!(services.bucket.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_fails_or_hangs_holds_nothing_up() {
    for fault in [
        InjectedFault::error(403, "AccessDenied", false),
        InjectedFault::internal_error(false),
        InjectedFault::Hung { applied: false },
    ] {
        let services = Services::new("orders");
        services
            .queue
            .script([InjectedFault::failed(1, "InvalidMessageContents", true)]);
        services.bucket.script([InjectedFault::None, fault]);
        let started = Instant::now();
        let error = services
            .delivery(services.offload())
            .deliver([message(large(0))])
            .await
            .unwrap_err();
        assert_eq!((error.undelivered().len(), services.bucket.len()), (1, 1));
        assert!(started.elapsed() < Duration::from_secs(31));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_when_the_delivery_ended_is_as_it_was_and_leaves_nothing_behind() {
    const GRACE: Duration = Duration::from_millis(500);
    let services = Services::new("orders");
    services
        .simulator
        .set_latency(Latency::fixed(Duration::from_millis(20)));
    // Uploads are done, and nothing is accepted.
    services.queue.reject_while(|_| true);
    let token = CancellationToken::new();
    let options = one_at_a_time().concurrency(4).grace(GRACE).cancellation(token.clone());
    let entries = mixed(500);
    let delivery = services.delivery(services.offload()).options(options);
    let delivering = delivery.deliver(entries.clone());
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(210)).await;
        assert!(!services.bucket.is_empty());
        token.cancel();
        Instant::now()
    };
    let (ended, cancelled) = tokio::join!(delivering, cancelling);
    assert!(cancelled.elapsed() <= GRACE);
    let handed_back: Vec<_> = ended
        .unwrap_err()
        .into_undelivered()
        .into_iter()
        .map(|one| *one.entry)
        .collect();
    assert_eq!(handed_back, entries);
    assert!(services.bucket.is_empty(), "{} objects", services.bucket.len());
}

/// The handler is slow, and messages of a group that wait are handed back last, when there is no time left to remove objects.
#[tokio::test(start_paused = true)]
async fn messages_that_are_handed_back_long_after_the_end_have_their_own_ids() {
    const GRACE: Duration = Duration::from_millis(500);
    let services = Services::new("orders.fifo");
    services.queue.reject_while(|_| true);
    let token = CancellationToken::new();
    let options = one_at_a_time().grace(GRACE).cancellation(token.clone()).read_ahead(100);
    let ids = Arc::new(Mutex::new(Vec::new()));
    let handled = Arc::clone(&ids);
    let delivery = services.delivery(services.offload()).options(options);
    let delivery = delivery.on_undelivered(move |one: &Undelivered<SendMessageBatchRequestEntry>| {
        handled.lock().unwrap().push(one.entry.id.clone());
        tokio::time::sleep(GRACE)
    });
    let cancelling = async {
        tokio::time::sleep(GRACE).await;
        token.cancel();
    };
    let mut entries = mixed(2_000);
    for entry in &mut entries {
        entry.message_group_id = Some("g".to_owned());
    }
    let (ended, ()) = tokio::join!(delivery.deliver(entries), cancelling);
    let mut ids = ids.lock().unwrap().clone();
    ids.extend(
        ended
            .unwrap_err()
            .into_undelivered()
            .into_iter()
            .map(|one| one.entry.id),
    );
    assert!(ids.len() >= 2_000, "{}", ids.len());
    assert!(ids.iter().all(|id| id == "the caller's own"), "{ids:?}");
}

#[tokio::test(start_paused = true)]
async fn a_removal_takes_no_longer_than_the_grace_when_the_delivery_was_stopped() {
    const GRACE: Duration = Duration::from_millis(500);
    let services = Services::new("orders");
    services
        .queue
        .script([InjectedFault::error(403, "AccessDeniedException", false)]);
    services
        .bucket
        .script([InjectedFault::None, InjectedFault::Hung { applied: false }]);
    let started = Instant::now();
    let entry = message(large(0));
    let error = services
        .delivery(services.offload())
        .options(one_at_a_time().grace(GRACE))
        .deliver([entry.clone()])
        .await
        .unwrap_err();
    assert!(matches!(error.undelivered()[0].cause, Cause::Stopped(_)));
    assert_eq!(*error.undelivered()[0].entry, entry);
    assert!(started.elapsed() < GRACE * 2);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_back_may_be_delivered_again() {
    let services = Services::new("orders");
    services
        .queue
        .script([InjectedFault::failed(3, "InvalidMessageContents", true)]);
    let delivery = services.delivery(services.offload());
    let entries = (0..3).map(|number| message(large(number)));
    let error = delivery.deliver(entries).await.unwrap_err();
    delivery
        .deliver(
            error
                .into_undelivered()
                .into_iter()
                .map(|undelivered| *undelivered.entry),
        )
        .await
        .unwrap();
    assert_eq!(services.received(), (0..3).map(large).collect::<Vec<_>>());
    assert_eq!(services.bucket.len(), 3);
}
