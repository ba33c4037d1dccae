//! No message of this crate shows the content of an entry, and no event, span or target shows an account id.

use std::error::Error;
use std::time::Duration;

use aws_batch_delivery::events::{CALL, DELIVERY, STALLED, SUMMARY};
use aws_batch_delivery::{Delivery, DeliveryError, DeliveryOptions, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_batch_simulator::{Capacity, InjectedFault};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::time::Instant;

use crate::guarantees::entries::{message, no_delay, put, put_with, with_queue, with_table};
use crate::support::log::Log;

const SECRET: &str = "hunter2";

/// Everything that the error shows: `Display` and `Debug`.
fn said<E>(error: &DeliveryError<E>) -> String {
    let causes = error
        .undelivered()
        .iter()
        .map(|undelivered| format!("{undelivered:?} {}", undelivered.cause));
    format!("{error} {error:?} {}", causes.collect::<String>())
}

#[tokio::test(start_paused = true)]
async fn errors_do_not_show_the_content_of_an_entry() {
    let (simulator, table) = with_table();
    table.script([InjectedFault::Error {
        status: 400,
        code: "ValidationException".into(),
        message: format!("cannot be converted to a numeric value: {SECRET}").into(),
        applied: false,
    }]);
    let writes = [
        put_with("a", "password", AttributeValue::S(SECRET.into())),
        put_with("b", "password", AttributeValue::N(SECRET.into())),
    ];
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes, &no_delay())
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 2);
    assert!(!said(&error).contains(SECRET), "{}", said(&error));

    let (simulator, queue) = with_queue("orders");
    queue.script([InjectedFault::failed(1, "InvalidMessageContents", true)]);
    let entries = [message("a", SECRET), message("b", format!("{SECRET}\u{7}"))];
    let error = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), entries, &no_delay())
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 2);
    assert!(!said(&error).contains(SECRET), "{}", said(&error));
}

#[test]
fn what_shows_a_target_does_not_show_its_account() {
    const ACCOUNT: &str = "123456789012";
    let (simulator, _) = with_table();
    let table = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/orders");
    let queue = format!("https://sqs.us-east-1.amazonaws.com/{ACCOUNT}/orders");
    let shown = [
        format!("{:?}", Delivery::to_dynamo(simulator.dynamo_client(), &table)),
        format!("{:?}", Delivery::to_dynamo_tables(simulator.dynamo_client(), [&table])),
        format!("{:?}", Delivery::to_sqs(simulator.sqs_client(), &queue)),
    ];
    for shown in shown {
        assert!(shown.contains("orders") && !shown.contains(ACCOUNT), "{shown}");
    }
}

/// Everything that was logged and traced.
fn logged(log: &Log) -> String {
    let mut spans = log.spans();
    for span in &mut spans {
        // The first id of the simulator has as many zeros in a row as its account id.
        span.fields.remove("aws.request_id");
    }
    assert!(
        spans
            .iter()
            .all(|span| span.parent.is_some() || span.target == DELIVERY),
        "{spans:#?}"
    );
    format!("{:?} {spans:?}", log.events())
}

#[tokio::test(start_paused = true)]
async fn events_and_spans_show_neither_the_content_of_an_entry_nor_an_account_id() {
    const ACCOUNT: &str = "000000000000";
    let log = Log::start();
    let options = DeliveryOptions::default().deadline(Instant::now() + Duration::from_secs(30));
    let (simulator, table) = with_table();
    table.set_capacity(Capacity::none());
    let writes = (0..30).map(|number| put_with(format!("{SECRET}{number}"), SECRET, AttributeValue::S(SECRET.into())));
    let arn = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/orders");
    let writes: Vec<_> = writes.collect();
    deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes.clone(), &options)
        .await
        .unwrap_err();
    assert_eq!(log.of(STALLED)[0].field("destination"), "dynamodb/orders");
    assert!(!log.of(STALLED)[0].field("code").is_empty());
    // Whether it exists or not under this name: its account is not logged.
    _ = deliver_batch_to_dynamo(&simulator.dynamo_client(), arn, writes, &options).await;

    let (simulator, queue) = with_queue("orders.fifo");
    assert!(queue.url().contains(ACCOUNT), "{}", queue.url());
    queue.set_capacity(Capacity::none());
    let options = DeliveryOptions::default().deadline(Instant::now() + Duration::from_secs(30));
    let entry = SendMessageBatchRequestEntry::builder().id(SECRET).message_body(SECRET);
    let entry = entry.message_group_id(SECRET).build().unwrap();
    deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), [entry], &options)
        .await
        .unwrap_err();
    let stalled = log.of(STALLED);
    assert_eq!(stalled.last().unwrap().field("destination"), "sqs/orders.fifo");
    assert!(
        log.of(CALL).len() > 10 && log.of(SUMMARY).len() == 3 && log.spans().len() > 30,
        "{}",
        logged(&log)
    );
    for secret in [SECRET, ACCOUNT] {
        assert!(!logged(&log).contains(secret), "{}", logged(&log));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_shows_the_credentials() {
    const CREDENTIALS: [&str; 3] = ["AKIAIOSFODNN7EXAMPLE", "the-secret-key", "the-session-token"];
    let log = Log::start();
    let [id, key, token] = CREDENTIALS;
    let credentials = Credentials::new(id, key, Some(token.to_owned()), None, "test");
    let (simulator, table) = with_table();
    let client = simulator.dynamo_client();
    let config = client.config().to_builder().credentials_provider(credentials);
    table.script([
        InjectedFault::error(403, "InvalidSignatureException", false),
        InjectedFault::Dropped { applied: true },
        InjectedFault::internal_error(false),
        InjectedFault::error(403, "AccessDeniedException", false),
    ]);
    let delivery = Delivery::to_dynamo(Client::from_conf(config.build()), "orders").options(no_delay().concurrency(1));
    let error = delivery.deliver([put("a")]).await.unwrap_err();
    assert_eq!(error.report.calls, 4);
    let mut shown = vec![said(&error), format!("{delivery:?}"), logged(&log)];
    let mut source = error.undelivered()[0].cause.source();
    while let Some(error) = source {
        shown.push(format!("{error} {error:?}"));
        source = error.source();
    }
    let shown = shown.join(" ");
    assert!(shown.contains("AccessDeniedException"), "{shown}");
    for secret in CREDENTIALS {
        assert!(!shown.contains(secret), "{shown}");
    }
}
