//! What the receipt handle of a message is good for, and how long.

use std::time::Duration;

use aws_batch_simulator::{InjectedFault, QueueOptions, Simulator};
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message,
};
use tokio::time::sleep;

use crate::queues::{delete, ordered, receive};
use crate::{message, messages, send};

#[tokio::test(start_paused = true)]
async fn a_message_in_flight_is_hidden_for_as_long_as_is_said_then() {
    let simulator = Simulator::new(1);
    let url = simulator.queue("orders", QueueOptions::default()).url();
    let sqs = simulator.sqs_client();
    send(&sqs, &url, [message("1", "a"), message("2", "b")].into())
        .await
        .unwrap();
    let received = receive(&sqs, &url).await;
    let entry = |id: &str, handle: &str, timeout: i32| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(id);
        entry
            .receipt_handle(handle)
            .visibility_timeout(timeout)
            .build()
            .unwrap()
    };
    let [first, second] = &received[..] else {
        panic!("{received:?}");
    };
    let output = sqs
        .change_message_visibility_batch()
        .queue_url(&url)
        .entries(entry("show", first.receipt_handle().unwrap(), 0))
        .entries(entry("hide", second.receipt_handle().unwrap(), 600))
        .entries(entry("none", "no handle", 0))
        .entries(entry("long", second.receipt_handle().unwrap(), 43_201))
        .send()
        .await
        .unwrap();
    let codes: Vec<_> = output
        .failed()
        .iter()
        .map(|failed| (failed.id(), failed.code()))
        .collect();
    assert_eq!(
        codes,
        [("none", "ReceiptHandleIsInvalid"), ("long", "InvalidParameterValue")]
    );
    assert_eq!(output.successful().len(), 2);
    let bodies =
        |messages: &[Message]| -> Vec<String> { messages.iter().filter_map(|message| message.body.clone()).collect() };
    let hide = |message: &Message| {
        let call = sqs.change_message_visibility_batch().queue_url(&url);
        let entry = entry("hide", message.receipt_handle().unwrap(), 600);
        async move { call.entries(entry).send().await.unwrap() }
    };
    // What is visible is not hidden again, without an error.
    assert!(hide(first).await.failed().is_empty());
    let again = receive(&sqs, &url).await;
    assert_eq!(bodies(&again), [first.body().unwrap()]);
    assert_eq!(
        hide(first).await.failed()[0].code(),
        "InvalidParameterValue",
        "it has a newer handle"
    );
    delete(&sqs, &url, &again).await;
    assert_eq!(
        hide(&again[0]).await.failed()[0].code(),
        "InvalidParameterValue",
        "it is deleted"
    );
    tokio::time::advance(Duration::from_secs(599)).await;
    assert_eq!(bodies(&receive(&sqs, &url).await), [""; 0]);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(bodies(&receive(&sqs, &url).await), [second.body().unwrap()]);
}

#[tokio::test(start_paused = true)]
async fn a_fifo_queue_refuses_an_expired_receipt_alone() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let sqs = simulator.sqs_client();
    let entries = (0..3).map(|body| ordered(&body.to_string(), body)).collect();
    send(&sqs, queue.url(), entries).await.unwrap();
    let received = receive(&sqs, &queue.url()).await;
    let handle = |message: &Message| message.receipt_handle().unwrap().to_owned();
    // The first one stays hidden for longer than the others.
    let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
        .id("0")
        .visibility_timeout(60);
    let entry = entry.receipt_handle(handle(&received[0])).build().unwrap();
    let call = sqs.change_message_visibility_batch().queue_url(queue.url());
    call.entries(entry).send().await.unwrap();
    sleep(Duration::from_secs(30)).await;
    let entries = received.iter().enumerate().map(|(id, message)| {
        let entry = DeleteMessageBatchRequestEntry::builder().id(id.to_string());
        entry.receipt_handle(handle(message)).build().unwrap()
    });
    let call = sqs
        .delete_message_batch()
        .queue_url(queue.url())
        .set_entries(Some(entries.collect()));
    let output = call.send().await.unwrap();
    let failed: Vec<_> = output.failed().iter().map(|entry| (entry.id(), entry.code())).collect();
    assert_eq!(failed, [("1", "InvalidParameterValue"), ("2", "InvalidParameterValue")]);
    assert_eq!((output.successful()[0].id(), queue.len()), ("0", 2));
}

#[tokio::test(start_paused = true)]
async fn a_message_is_hidden_for_no_more_than_twelve_hours_in_all() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let sqs = simulator.sqs_client();
    send(&sqs, queue.url(), [message("1", "a")].into()).await.unwrap();
    let received = receive(&sqs, &queue.url()).await;
    let handle = received[0].receipt_handle().unwrap();
    let hide = |seconds| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id("hide");
        let entry = entry
            .receipt_handle(handle)
            .visibility_timeout(seconds)
            .build()
            .unwrap();
        let call = sqs.change_message_visibility_batch().queue_url(queue.url());
        call.entries(entry).send()
    };
    assert_eq!(hide(43_200).await.unwrap().failed().len(), 0);
    tokio::time::advance(Duration::from_hours(1)).await;
    let beyond = hide(43_200).await.unwrap();
    assert_eq!(beyond.failed()[0].code(), "InvalidParameterValue");
    assert_eq!(hide(39_600).await.unwrap().failed().len(), 0);
    tokio::time::advance(Duration::from_hours(11)).await;
    assert_eq!(receive(&sqs, &queue.url()).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_of_consumers_have_faults_of_their_own() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let sqs = simulator.sqs_client();
    queue.script_consumers([
        InjectedFault::error(400, "RequestThrottled", false),
        InjectedFault::internal_error(true),
        InjectedFault::None,
        InjectedFault::failed(1, "InternalError", false),
        InjectedFault::internal_error(true),
    ]);
    send(&sqs, queue.url(), [message("1", "a"), message("2", "b")].into())
        .await
        .unwrap();
    let once = aws_sdk_sqs::config::Builder::new().retry_config(RetryConfig::disabled());
    let call = || {
        let call = sqs.receive_message().queue_url(queue.url()).max_number_of_messages(10);
        call.customize().config_override(once.clone()).send()
    };
    assert!(call().await.is_err());
    assert_eq!(queue.in_flight(), 0);
    assert!(call().await.is_err());
    assert_eq!(queue.in_flight(), 2, "their answer is lost");
    tokio::time::advance(Duration::from_secs(30)).await;
    let received = call().await.unwrap().messages.unwrap();
    let delete = || {
        let entries = received.iter().zip(["1", "2"]).map(|(message, id)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(id);
            entry.receipt_handle(message.receipt_handle().unwrap()).build().unwrap()
        });
        let call = sqs.delete_message_batch().queue_url(queue.url());
        call.set_entries(Some(entries.collect()))
            .customize()
            .config_override(once.clone())
            .send()
    };
    let output = delete().await.unwrap();
    assert_eq!((output.successful().len(), output.failed().len()), (1, 1));
    assert_eq!(queue.len(), 1);
    assert!(delete().await.is_err());
    assert!(queue.is_empty());
    assert_eq!(queue.consumer_statistics().calls, 5);
}

#[tokio::test(start_paused = true)]
async fn deletions_are_counted_by_what_became_of_them_and_meet_every_fault() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let config = simulator.sqs_client().config().to_builder();
    let sqs = aws_sdk_sqs::Client::from_conf(config.retry_config(RetryConfig::disabled()).build());
    send(&sqs, queue.url(), messages(0..10)).await.unwrap();
    let received = receive(&sqs, &queue.url()).await;
    let handles: Vec<&str> = received.iter().filter_map(Message::receipt_handle).collect();
    let delete = |handles: &[&str]| {
        let entries = handles.iter().enumerate().map(|(id, handle)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(id.to_string());
            entry.receipt_handle(*handle).build().unwrap()
        });
        let call = sqs.delete_message_batch().queue_url(queue.url());
        call.set_entries(Some(entries.collect())).send()
    };
    let counts = || {
        let statistics = queue.consumer_statistics();
        [statistics.entries, statistics.applied, statistics.failed]
    };
    queue.script_consumers([
        InjectedFault::Dropped { applied: true },
        InjectedFault::Repeated(1),
        InjectedFault::Unknown(2),
        InjectedFault::Unprocessed(1),
    ]);
    assert!(delete(&handles[..2]).await.is_err());
    assert_eq!((queue.len(), counts()), (8, [2, 2, 0]));
    let repeated = delete(&handles[2..4]).await.unwrap();
    assert_eq!((repeated.successful().len(), repeated.failed().len()), (1, 2));
    assert_eq!((queue.len(), counts()), (7, [4, 3, 1]));
    let unknown = delete(&handles[4..6]).await.unwrap();
    assert_eq!((unknown.successful().len(), unknown.failed().len()), (4, 2));
    assert!(
        unknown
            .failed()
            .iter()
            .all(|entry| entry.id().starts_with("never-sent"))
    );
    assert_eq!((queue.len(), counts()), (5, [6, 5, 1]));
    // A wrong handle fails by itself: the fault is one of the others.
    let wrong = delete(&["no handle", handles[6]]).await.unwrap();
    let codes: Vec<&str> = wrong.failed().iter().map(BatchResultErrorEntry::code).collect();
    assert_eq!(codes, ["ReceiptHandleIsInvalid", "InternalError"]);
    assert_eq!((queue.len(), counts()), (5, [8, 5, 3]));
    assert!(delete(&[]).await.is_err());
    assert!(
        sqs.receive_message()
            .queue_url(queue.url())
            .max_number_of_messages(11)
            .send()
            .await
            .is_err()
    );
    let statistics = queue.consumer_statistics();
    assert_eq!(
        (statistics.calls, statistics.refused_calls, statistics.failed_calls),
        (7, 2, 1)
    );
}
