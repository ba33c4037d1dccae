//! Order and deduplication of messages whose bodies are in S3.

use std::collections::{HashMap, HashSet};

use aws_batch_simulator::{InjectedFault, QueueOptions};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use proptest::prelude::*;

use crate::offload::entries::{Services, large, message, mixed_body, one_at_a_time};
use crate::support::cases::cases;
use crate::support::paused::paused;

fn in_group(body: String, group: &impl ToString) -> SendMessageBatchRequestEntry {
    let mut entry = message(body);
    entry.message_group_id = Some(group.to_string());
    entry
}

#[tokio::test(start_paused = true)]
async fn each_large_message_without_a_deduplication_id_gets_its_own() {
    let services = Services::new("orders.fifo");
    services.queue.script([InjectedFault::Dropped { applied: true }]);
    let same = (0..10).map(|_| in_group(large(0), &"g"));
    services.delivery(services.offload()).deliver(same).await.unwrap();
    assert_eq!((services.queue.len(), services.bucket.len()), (10, 10));
    let ids: HashSet<_> = services
        .queue
        .messages()
        .into_iter()
        .map(|message| message.deduplication_id)
        .collect();
    assert_eq!(ids.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_deduplicates_by_content_still_looks_at_the_content() {
    let by_content = || QueueOptions::default().content_based_deduplication();
    let services = Services::with_options("orders.fifo", by_content());
    let entries = [0, 1, 0].map(|number| in_group(large(number), &"g"));
    services.delivery(services.offload()).deliver(entries).await.unwrap();
    assert_eq!(services.received(), [large(0), large(1)]);

    // The id that the queue would derive from the original body.
    let plain = Services::with_options("orders.fifo", by_content());
    let entries = [0, 1].map(|number| in_group(large(number), &"g"));
    plain
        .delivery(plain.offload().threshold(usize::MAX))
        .deliver(entries)
        .await
        .unwrap();
    let ids = |services: &Services| {
        let messages = services.queue.messages().into_iter();
        messages.map(|message| message.deduplication_id).collect::<Vec<_>>()
    };
    assert_eq!((ids(&services), plain.bucket.len()), (ids(&plain), 0));
}

#[tokio::test(start_paused = true)]
async fn a_message_does_not_pass_one_of_its_group_whose_upload_failed() {
    let services = Services::new("orders.fifo");
    services.bucket.script([InjectedFault::Throttle]);
    let entries = (0..10).map(|number| in_group(mixed_body(number), &(number % 2)));
    let report = services.delivery(services.offload()).deliver(entries).await.unwrap();
    assert_eq!(report.delivered, 10);
    let odd: Vec<String> = (0..10).filter(|number| number % 2 == 1).map(mixed_body).collect();
    let even: Vec<String> = (0..10).filter(|number| number % 2 == 0).map(mixed_body).collect();
    assert_eq!(services.received(), [odd, even].concat());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_an_upload_of_its_group_uses_up_none_of_its_retries() {
    let services = Services::new("orders.fifo");
    services.bucket.script([
        InjectedFault::Throttle,
        InjectedFault::Throttle,
        InjectedFault::Throttle,
    ]);
    let entries = [large(0), "one".to_owned(), "two".to_owned()].map(|body| in_group(body, &"g"));
    let delivery = services.delivery(services.offload());
    let error = delivery
        .options(one_at_a_time().retries(2))
        .deliver(entries)
        .await
        .unwrap_err();
    let positions: Vec<_> = error
        .undelivered()
        .iter()
        .map(|undelivered| undelivered.position)
        .collect();
    assert_eq!(positions, [0]);
    assert_eq!(services.received(), ["one", "two"]);
}

fn fault() -> impl Strategy<Value = InjectedFault> {
    prop_oneof![
        4 => Just(InjectedFault::None),
        1 => Just(InjectedFault::Throttle),
        1 => Just(InjectedFault::internal_error(false)),
        1 => Just(InjectedFault::Dropped { applied: true }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn groups_keep_their_order_whatever_happens_to_the_uploads(
        faults in prop::collection::vec(fault(), 0..40),
        groups in prop::collection::vec(0..4_u8, 0..60),
        concurrency in 1..6_usize,
    ) {
        paused(async {
            let services = Services::new("orders.fifo");
            services.bucket.script(faults);
            let entries = groups.iter().enumerate().map(|(number, group)| in_group(mixed_body(number), group));
            let options = one_at_a_time().concurrency(concurrency);
            services.delivery(services.offload()).options(options).deliver(entries).await.unwrap();
            let mut arrived: HashMap<String, Vec<String>> = HashMap::new();
            for (message, body) in services.queue.messages().into_iter().zip(services.received()) {
                arrived.entry(message.group.unwrap()).or_default().push(body);
            }
            assert_eq!(arrived.values().map(Vec::len).sum::<usize>(), groups.len());
            // Bodies begin with the number of their message.
            assert!(arrived.values().all(|bodies| bodies.is_sorted()));
        });
    }
}
