//! Chunks keep the limits of the services, count and bytes.

use aws_batch_delivery::{Cause, DeliveryOptions, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};

use crate::guarantees::entries::{message, messages, put, put_of_size, put_with, puts, with_queue, with_table};

#[tokio::test(start_paused = true)]
async fn a_hundred_and_one_puts_take_five_calls() {
    let (simulator, table) = with_table();
    let options = DeliveryOptions::default();
    let report = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", puts(101), &options)
        .await
        .unwrap();
    assert_eq!((report.calls, report.delivered, report.resubmitted), (5, 101, 0));
    assert_eq!((table.statistics().calls, table.len()), (5, 101));
}

#[tokio::test(start_paused = true)]
async fn eleven_messages_take_two_calls() {
    let (simulator, queue) = with_queue("orders");
    let options = DeliveryOptions::default();
    let report = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), messages(11), &options)
        .await
        .unwrap();
    assert_eq!((report.calls, report.delivered), (2, 11));
    assert_eq!(queue.messages().len(), 11);
}

#[tokio::test(start_paused = true)]
async fn no_entries_at_all_take_no_call() {
    let (simulator, table) = with_table();
    let options = DeliveryOptions::default();
    let report = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", Vec::new(), &options)
        .await
        .unwrap();
    assert_eq!((report.calls, report.delivered), (0, 0));
    assert_eq!(table.statistics().calls, 0);
}

/// How many calls it takes to send messages of these sizes.
async fn calls_for(sizes: impl IntoIterator<Item = usize>) -> u64 {
    let (simulator, queue) = with_queue("orders");
    let entries = sizes.into_iter().map(|bytes| message("m", "x".repeat(bytes)));
    let options = DeliveryOptions::default();
    deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), entries, &options)
        .await
        .unwrap();
    queue.statistics().calls
}

#[tokio::test(start_paused = true)]
async fn bytes_bind_before_the_count() {
    assert_eq!(calls_for([150_000; 10]).await, 2);
    assert_eq!(calls_for([104_857; 10]).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_exactly_the_limit_is_one_call_and_one_byte_more_is_two() {
    assert_eq!(calls_for([1_048_576 - 1_000, 1_000]).await, 1);
    assert_eq!(calls_for([1_048_576 - 1_000, 1_001]).await, 2);
}

#[tokio::test(start_paused = true)]
async fn attributes_count_with_name_type_and_value() {
    let with_attribute = |body: usize| {
        let value = MessageAttributeValue::builder()
            .data_type("String")
            .string_value("v".repeat(90));
        SendMessageBatchRequestEntry::builder()
            .id("m")
            .message_body("x".repeat(body))
            .message_attributes("name", value.build().unwrap())
            .build()
            .unwrap()
    };
    // The attribute takes 4 + 6 + 90 bytes.
    for (body, calls) in [(1_048_576 / 2 - 100, 1), (1_048_576 / 2 - 99, 2)] {
        let (simulator, queue) = with_queue("orders");
        let entries = [with_attribute(body), with_attribute(body)];
        let options = DeliveryOptions::default();
        deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), entries, &options)
            .await
            .unwrap();
        assert_eq!(queue.statistics().calls, calls, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_of_409_600_bytes_is_delivered_and_one_byte_more_is_handed_back_unsent() {
    let (simulator, table) = with_table();
    let writes = [put("a"), put_of_size("b", 409_600), put_of_size("c", 409_601), put("d")];
    let options = DeliveryOptions::default();
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes, &options)
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, table.len()), (3, 3));
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}")
    };
    assert_eq!((undelivered.position, undelivered.attempts), (2, 0));
    assert_eq!(
        undelivered.cause.to_string(),
        "not sent: the item has 409601 bytes, the limit is 409600"
    );
}

/// How many calls it takes to put 25 items of 390 KB with this value.
async fn calls_for_25_large(value: AttributeValue) -> u64 {
    let (simulator, table) = with_table();
    let writes = (0..25).map(|number| put_with(format!("{number:02}"), "value", value.clone()));
    let options = DeliveryOptions::default();
    let report = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes, &options)
        .await
        .unwrap();
    assert_eq!((report.delivered, table.statistics().refused_calls), (25, 0));
    report.calls
}

#[tokio::test(start_paused = true)]
async fn a_chunk_that_would_pass_16_mib_on_the_wire_is_split() {
    const LARGE: usize = 390 * 1024;
    // Base64 makes 13 MB of them; escaped quotation marks make 20 MB.
    assert_eq!(
        calls_for_25_large(AttributeValue::B(Blob::new(vec![7; LARGE]))).await,
        1
    );
    assert_eq!(calls_for_25_large(AttributeValue::S("\"".repeat(LARGE))).await, 2);
}

#[tokio::test(start_paused = true)]
async fn every_malformed_message_is_handed_back_unsent_with_its_own_cause() {
    let (simulator, queue) = with_queue("orders");
    let delayed = |seconds| {
        let entry = SendMessageBatchRequestEntry::builder().id("m").message_body("body");
        entry.delay_seconds(seconds).build().unwrap()
    };
    let entries = [
        message("m", "good"),
        message("m", "x".repeat(1_048_577)),
        message("m", "bell \u{7}"),
        delayed(901),
        message("m", ""),
        message("m", "also good"),
    ];
    let options = DeliveryOptions::default();
    let error = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), entries, &options)
        .await
        .unwrap_err();
    let causes: Vec<_> = error
        .undelivered()
        .iter()
        .map(|undelivered| {
            (
                undelivered.position,
                undelivered.attempts,
                undelivered.cause.to_string(),
            )
        })
        .collect();
    assert_eq!(
        causes,
        [
            (
                1,
                0,
                "not sent: the message has 1048577 bytes, the limit is 1048576".to_owned()
            ),
            (
                2,
                0,
                "not sent: the message body has U+0007 at byte 5, a character that is not allowed".to_owned()
            ),
            (
                3,
                0,
                "not sent: the delay in seconds is 901, the limits are 0 and 900".to_owned()
            ),
            (4, 0, "not sent: the message body is missing or empty".to_owned()),
        ]
    );
    assert_eq!((queue.messages().len(), queue.statistics().calls), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fifo_message_without_a_group_is_handed_back_and_the_others_are_delivered() {
    let (simulator, queue) = with_queue("orders.fifo");
    let in_group = |body: &str| {
        let entry = SendMessageBatchRequestEntry::builder().id("m").message_body(body);
        entry
            .message_group_id("g")
            .message_deduplication_id(body)
            .build()
            .unwrap()
    };
    let entries = [in_group("first"), message("m", "stray"), in_group("second")];
    let options = DeliveryOptions::default();
    let error = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), entries, &options)
        .await
        .unwrap_err();
    assert!(matches!(error.undelivered()[0].cause, Cause::Invalid(_)));
    assert_eq!((error.undelivered()[0].position, error.report.delivered), (1, 2));
    assert_eq!(queue.messages().len(), 2);
}
