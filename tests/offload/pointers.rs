//! What is sent in place of a large message.

use std::panic::{AssertUnwindSafe, catch_unwind};

use aws_batch_delivery::targets::sqs::{MAX_MESSAGE_BYTES, Offload, SqsQueue};
use aws_batch_delivery::{Cause, Delivery};
use aws_sdk_sqs::types::MessageAttributeValue;

use crate::offload::entries::{Services, key, large, message, mixed, mixed_body, one_at_a_time, small};

#[tokio::test(start_paused = true)]
async fn large_messages_arrive_as_pointers_and_small_ones_as_they_are() {
    let services = Services::new("orders");
    let report = services.delivery(services.offload()).deliver(mixed(30)).await.unwrap();
    assert_eq!((report.delivered, report.calls), (30, 3));
    assert_eq!(services.queue.messages().iter().filter_map(key).count(), 10);
    assert_eq!((services.bucket.len(), services.bucket.puts()), (10, 10));
    assert_eq!(services.received(), (0..30).map(mixed_body).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn by_default_a_message_is_offloaded_that_is_larger_than_sqs_takes() {
    let services = Services::new("orders");
    let offload = Offload::to_s3(services.simulator.s3_client(), "large");
    let fits = "x".repeat(MAX_MESSAGE_BYTES);
    let does_not = "x".repeat(MAX_MESSAGE_BYTES + 1);
    let with_attribute = {
        let label = MessageAttributeValue::builder().data_type("String").string_value("x");
        let mut entry = message(fits.clone());
        let attributes = entry.message_attributes.get_or_insert_default();
        attributes.insert("label".to_owned(), label.build().unwrap());
        entry
    };
    let entries = [message(fits.clone()), message(does_not.clone()), with_attribute];
    let delivery = services.delivery(offload);
    // The first one fills a call.
    assert_eq!(delivery.deliver(entries).await.unwrap().calls, 2);
    let keys: Vec<bool> = services
        .queue
        .messages()
        .iter()
        .map(|message| key(message).is_some())
        .collect();
    assert_eq!(keys, [false, true, true]);
    assert!(services.received() == [fits.clone(), does_not, fits]);
}

#[tokio::test(start_paused = true)]
async fn ten_messages_of_two_megabytes_take_one_call() {
    let services = Services::new("orders");
    let offload = Offload::to_s3(services.simulator.s3_client(), "large");
    let bodies: Vec<String> = (0..10).map(|number| number.to_string().repeat(2_000_000)).collect();
    let report = services
        .delivery(offload)
        .deliver(bodies.iter().map(message))
        .await
        .unwrap();
    assert_eq!((report.delivered, report.calls), (10, 1));
    assert!(services.received() == bodies);
}

#[tokio::test(start_paused = true)]
async fn the_keys_have_the_prefix_and_are_all_different() {
    let services = Services::new("orders");
    let offload = services.offload().key_prefix("orders/2026/");
    let same = (0..100).map(|_| message(large(0)));
    services.delivery(offload).deliver(same).await.unwrap();
    let objects = services.bucket.objects();
    assert_eq!(objects.len(), 100);
    for key in objects.keys() {
        let uuid = key.strip_prefix("orders/2026/").unwrap();
        assert_eq!((uuid.len(), uuid.matches('-').count()), (36, 4), "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_queues_own_limit_decides_what_is_large() {
    let services = Services::new("orders");
    let queue = SqsQueue::new(services.simulator.sqs_client(), services.queue.url());
    let queue = queue
        .oversize(Offload::to_s3(services.simulator.s3_client(), "large"))
        .with_limits(aws_batch_delivery::targets::Limits::new(10, 1_048_576).with_entry_bytes(1_024));
    let entries = [message("x".repeat(1_024)), message("x".repeat(1_025))];
    Delivery::new(queue)
        .options(one_at_a_time())
        .deliver(entries)
        .await
        .unwrap();
    assert_eq!(services.bucket.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_threshold_of_zero_offloads_all() {
    let services = Services::new("orders");
    let offload = services.offload().threshold(0);
    services.delivery(offload).deliver([message("x")]).await.unwrap();
    assert_eq!((services.bucket.len(), services.received()), (1, vec!["x".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_offloaded_is_handed_back_as_it_was_and_nothing_is_uploaded() {
    let services = Services::new("orders");
    let attribute = || {
        let value = MessageAttributeValue::builder().data_type("Number").string_value("1");
        value.build().unwrap()
    };
    let named = |names: &[String]| {
        let mut entry = message(large(0));
        entry.message_attributes = Some(names.iter().map(|name| (name.clone(), attribute())).collect());
        entry
    };
    let numbered = |count: usize| (0..count).map(|number| format!("a{number}")).collect::<Vec<_>>();
    let entries = [
        named(&numbered(10)),
        named(&["ExtendedPayloadSize".to_owned()]),
        named(&["SQSLargePayloadSize".to_owned()]),
        named(&["x".repeat(256)]),
        named(&numbered(9)),
    ];
    let error = services
        .delivery(services.offload().threshold(300))
        .deliver(entries.clone())
        .await
        .unwrap_err();
    let causes: Vec<String> = error
        .undelivered()
        .iter()
        .map(|undelivered| undelivered.cause.to_string())
        .collect();
    let reserved = "not sent: the name of an attribute of an offloaded message must be other than `ExtendedPayloadSize` \
                    and `SQSLargePayloadSize`";
    assert_eq!(
        causes,
        [
            "not sent: there are 10 attributes of an offloaded message, the limit is 9",
            reserved,
            reserved,
        ]
    );
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Invalid(_)))
    );
    let handed_back: Vec<_> = error
        .into_undelivered()
        .into_iter()
        .map(|undelivered| *undelivered.entry)
        .collect();
    assert_eq!(handed_back, entries[..3]);
    assert_eq!((services.queue.len(), services.bucket.puts()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn attributes_that_are_too_large_by_themselves_are_no_matter_of_the_body() {
    let services = Services::new("orders");
    let mut entry = message(small(0));
    let value = MessageAttributeValue::builder()
        .data_type("String")
        .string_value("x".repeat(MAX_MESSAGE_BYTES));
    entry.message_attributes = Some([("a".to_owned(), value.build().unwrap())].into());
    let error = services
        .delivery(services.offload())
        .deliver([entry])
        .await
        .unwrap_err();
    let cause = error.undelivered()[0].cause.to_string();
    assert!(
        cause.starts_with("not sent: the message without its offloaded body has 1048"),
        "{cause}"
    );
    assert!(cause.ends_with("the limit is 1048576"), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn s3_keeps_characters_that_sqs_does_not_take() {
    let services = Services::new("orders");
    let (small, large) = ("\u{1}".to_owned(), format!("{}\u{1}\0", large(0)));
    let delivery = services
        .delivery(services.offload())
        .map_target(SqsQueue::encode_invalid_characters);
    delivery.deliver([message(&large), message(&small)]).await.unwrap();
    assert_eq!(services.received(), [large.clone(), "AQ==".to_owned()]);
    let attributes = services.queue.messages()[0].attributes.clone().unwrap();
    assert!(attributes.get("Content-Transfer-Encoding").is_none());

    // Without the option only what goes to SQS has to keep to its characters.
    let error = services
        .delivery(services.offload())
        .deliver([message(&large), message(&small)])
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.undelivered()[0].position), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_large_only_when_encoded_is_offloaded_as_it_is() {
    let services = Services::new("orders");
    let body = "\u{1}".repeat(900);
    let delivery = services
        .delivery(services.offload())
        .map_target(SqsQueue::encode_invalid_characters);
    delivery.deliver([message(&body)]).await.unwrap();
    assert_eq!((services.bucket.len(), services.received()), (1, vec![body]));
}

#[test]
fn a_prefix_that_a_reader_would_not_take_panics_where_it_is_set() {
    let services = Services::new("orders");
    let prefixed = |prefix: &str| catch_unwind(AssertUnwindSafe(|| services.offload().key_prefix(prefix))).is_ok();
    for prefix in ["", "orders/", "a_b-c.d/e", &"x".repeat(988)] {
        assert!(prefixed(prefix), "{prefix}");
    }
    for prefix in ["/orders", ".orders", "a/../b", "a b", "ü", "a\n", &"x".repeat(989)] {
        assert!(!prefixed(prefix), "{prefix}");
    }
}
