//! Why and when no more messages are received.

use std::error::Error;
use std::time::Duration;

use aws_batch_delivery::events::{UNCLAIMED, UNSETTLED};
use aws_batch_delivery::sources::{Receive, Received, ReceivedMessages, SourceError};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_batch_simulator::{InjectedFault, Latency, QueueOptions, Simulator};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::receives::{filled, filled_in_order, message, number};
use crate::support::log::Log;

/// How many messages are settled before the error, and the error. Nothing follows it.
async fn ended(mut messages: ReceivedMessages) -> (usize, SourceError) {
    let mut settled = 0;
    loop {
        match messages.next().await.expect("it fails") {
            Ok(received) => {
                received.ticket.settle();
                settled += 1;
            }
            Err(error) => {
                assert!(messages.next().await.is_none());
                return (settled, error);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_does_not_exist_ends_the_stream_at_once() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 0).await;
    let started = Instant::now();
    let url = queue.url().replace("orders", "none");
    let (settled, error) = ended(Receive::new(simulator.sqs_client(), url).messages()).await;
    assert_eq!((settled, error.operation), (0, "ReceiveMessage"));
    assert!(error.to_string().contains("NonExistentQueue"), "{error}");
    assert!(error.source().is_some());
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_ends_the_stream_and_names_the_operation() {
    let simulator = Simulator::new(1);
    let denied = || InjectedFault::error(403, "AccessDenied", false);
    let queue = filled(&simulator, 100).await;
    queue.script_consumers(std::iter::repeat_with(denied).take(100));
    let (settled, error) = ended(Receive::new(simulator.sqs_client(), queue.url()).messages()).await;
    assert_eq!((settled, error.operation), (0, "ReceiveMessage"));

    queue.script_consumers(std::iter::once(InjectedFault::None).chain(std::iter::repeat_with(denied).take(1_000)));
    let receive = Receive::new(simulator.sqs_client(), queue.url()).window(1);
    let (settled, error) = ended(receive.messages()).await;
    assert_eq!((settled, error.operation), (1, "DeleteMessageBatch"));
    assert!(error.to_string().contains("AccessDenied"), "{error}");
    assert_eq!(queue.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_ends_the_stream_if_that_is_wanted() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 25).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .until_empty_for(Duration::from_secs(30))
        .messages();
    let mut last = None;
    let mut settled = 0;
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        settled += 1;
        // The last one takes longer than the queue may be empty.
        if settled == 25 {
            sleep(Duration::from_mins(2)).await;
            last = Some(Instant::now());
        }
        received.ticket.settle();
    }
    assert_eq!(settled, 25);
    let quiet = last.unwrap().elapsed();
    assert!(
        (Duration::from_secs(30)..Duration::from_secs(80)).contains(&quiet),
        "{quiet:?}"
    );
    assert!(queue.is_empty());
}

/// Calls that have waited since before the last deletion say nothing about the queue after it: the next ones do.
#[tokio::test(start_paused = true)]
async fn the_end_takes_at_most_two_waits() {
    for messages in [10, 50, 1_000] {
        let simulator = Simulator::new(1);
        simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
        let queue = filled(&simulator, messages).await;
        let mut received = Receive::new(simulator.sqs_client(), queue.url())
            .until_empty_for(Duration::from_secs(5))
            .messages();
        let mut last = Instant::now();
        while let Some(received) = received.next().await {
            received.unwrap().ticket.settle();
            last = Instant::now();
        }
        assert!(queue.is_empty());
        let quiet = last.elapsed();
        let expected = Duration::from_secs(5)..Duration::from_secs(11);
        assert!(expected.contains(&quiet), "{messages} messages: {quiet:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_lost_answer_are_waited_for() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 10).await;
    queue.script_consumers([InjectedFault::Dropped { applied: true }]);
    let messages = Receive::new(simulator.sqs_client(), queue.url())
        .until_empty_for(Duration::from_secs(1))
        .messages();
    let settled = messages.map(|received| received.unwrap().ticket.settle()).count().await;
    assert_eq!(settled, 10);
}

/// The lost answer hides messages for a shorter time than the delay.
#[tokio::test(start_paused = true)]
async fn a_message_that_was_released_with_a_delay_is_waited_for_whatever_is_lost_meanwhile() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 1).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .visibility_timeout(Duration::from_secs(10))
        .until_empty_for(Duration::from_secs(2))
        .messages();
    let first = messages.next().await.unwrap().unwrap();
    first.ticket.release_after(Duration::from_mins(5));
    drop(first);
    let losing = queue.clone();
    let lost = tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        losing.script_consumers([InjectedFault::Dropped { applied: true }]);
    });
    let again = messages.next().await.expect("it is waited for").unwrap();
    again.ticket.settle();
    assert!(messages.next().await.is_none());
    lost.await.unwrap();
}

/// They say nothing about a message.
#[tokio::test(start_paused = true)]
async fn the_calls_of_a_dropped_stream_are_no_entries_whose_outcome_is_lost() {
    let log = Log::start();
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 1).await;
    let denied = || InjectedFault::error(400, "AccessDenied", false);
    queue.script_consumers(std::iter::repeat_with(denied).take(100));
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    while queue.consumer_statistics().calls == 0 {
        assert!(messages.next().now_or_never().is_none());
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_mins(1)).await;
    drop(messages);
    sleep(Duration::from_mins(1)).await;
    assert!(log.of(UNCLAIMED).is_empty(), "{:?}", log.of(UNCLAIMED));
}

#[tokio::test(start_paused = true)]
async fn no_more_messages_are_received_than_are_wanted() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 100).await;
    let messages = Receive::new(simulator.sqs_client(), queue.url()).max(37).messages();
    let progress = messages.progress();
    let settled = messages.map(|received| received.unwrap().ticket.settle()).count().await;
    let figures = progress.finished().await;
    assert_eq!((settled, figures.received, figures.deleted), (37, 37, 37));
    assert_eq!((queue.len(), queue.in_flight()), (63, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_stream_ends_without_an_error_and_releases_the_rest() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 100).await;
    let token = CancellationToken::new();
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .options(DeliveryOptions::default().cancellation(token.clone()))
        .messages();
    let progress = messages.progress();
    let first = messages.next().await.unwrap().unwrap();
    token.cancel();
    assert!(messages.next().await.is_none());
    first.ticket.settle();
    assert_eq!(progress.finished().await.deleted, 1);
    assert_eq!((queue.len(), queue.in_flight()), (99, 0));
}

/// A delivery without a handler of undelivered entries keeps them, and their tickets, until its input has ended.
#[tokio::test(start_paused = true)]
async fn messages_that_a_delivery_keeps_do_not_keep_it_from_ending() {
    let log = Log::start();
    let simulator = Simulator::new(1);
    for is_fifo in [false, true] {
        let queue = if is_fifo {
            filled_in_order(&simulator, 60, 3).await
        } else {
            filled(&simulator, 60).await
        };
        let copy = simulator.queue("copy", QueueOptions::default());
        let messages = Receive::new(simulator.sqs_client(), queue.url())
            .until_empty_for(Duration::from_secs(5))
            .messages();
        let progress = messages.progress();
        let started = Instant::now();
        let entry = |received: &Received| {
            let body = (number(received) != 30).then(|| received.message.body().unwrap());
            let entry = SendMessageBatchRequestEntry::builder().id("0");
            entry
                .message_body(body.ok_or("not a good number")?)
                .build()
                .map_err(Box::from)
        };
        let delivery = Delivery::to_sqs(simulator.sqs_client(), copy.url())
            .try_map_entries(move |received| -> Result<_, Box<dyn Error + Send + Sync>> { entry(received) })
            .on_delivered(|_, received: &Received, _| received.ticket.settle());
        let report = timeout(Duration::from_hours(2), delivery.try_deliver_stream(messages)).await;
        let error = report.expect("it ends").unwrap_err();
        assert_eq!(error.report.undelivered, 1);
        let took = started.elapsed();
        assert!(took < Duration::from_mins(16), "{took:?}");
        drop(error);
        progress.finished().await;
        assert_eq!(queue.in_flight(), 0);
        // In a FIFO queue those behind it stay as well.
        assert_eq!(queue.len(), if is_fifo { 10 } else { 1 });
        let warnings = log
            .events()
            .into_iter()
            .filter(|event| event.target == UNSETTLED)
            .count();
        assert_eq!(warnings, if is_fifo { 2 } else { 1 });
    }
    let events = log.events();
    let warning = events.iter().find(|event| event.target == UNSETTLED).unwrap();
    assert_eq!(
        (warning.field("destination"), warning.field("messages")),
        ("sqs/orders", "1")
    );
}

/// As many messages are kept as may be held: no call tells that nothing goes on any more.
#[tokio::test(start_paused = true)]
async fn messages_that_are_kept_end_a_receive_that_may_not_receive_more() {
    let log = Log::start();
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 8).await;
    let receive = Receive::new(simulator.sqs_client(), queue.url()).window(2);
    let messages = receive.until_empty_for(Duration::from_secs(5)).messages();
    let progress = messages.progress();
    let started = Instant::now();
    let all = messages.map(Result::unwrap).collect::<Vec<_>>();
    let kept = timeout(Duration::from_hours(2), all).await.expect("it ends");
    assert_eq!((started.elapsed().as_secs() / 60, kept.len()), (15, 2));
    let warnings = log.events().into_iter().filter(|event| event.target == UNSETTLED);
    assert_eq!(warnings.count(), 1);
    drop(kept);
    progress.finished().await;
    assert_eq!((queue.len(), queue.in_flight()), (8, 0));
}

/// Without an end, there is the warning, and what is settled later makes room.
#[tokio::test(start_paused = true)]
async fn messages_that_are_kept_do_not_end_a_receive_that_never_ends() {
    let log = Log::start();
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 8).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).window(2).messages();
    let kept = [messages.next().await.unwrap(), messages.next().await.unwrap()];
    timeout(Duration::from_hours(2), messages.next()).await.unwrap_err();
    let warnings = log.events().into_iter().filter(|event| event.target == UNSETTLED);
    assert_eq!(warnings.count(), 1);
    for received in kept {
        received.unwrap().ticket.settle();
    }
    assert!(messages.next().await.unwrap().is_ok());
}

/// aws/aws-sdk-go#3262: a client whose timeout is not longer than the wait of a receive fails whenever there are no messages.
#[tokio::test(start_paused = true)]
async fn a_client_with_short_timeouts_waits_for_messages_as_long_as_any() {
    let seconds = Duration::from_secs;
    let timeouts = [
        TimeoutConfig::builder().operation_timeout(seconds(5)),
        TimeoutConfig::builder().operation_attempt_timeout(seconds(5)),
        TimeoutConfig::builder().read_timeout(seconds(5)),
    ];
    for timeouts in timeouts {
        let simulator = Simulator::new(1);
        let queue = filled(&simulator, 0).await;
        let config = simulator.sqs_client().config().to_builder();
        let client = Client::from_conf(config.timeout_config(timeouts.build()).build());
        let mut messages = Receive::new(client, queue.url()).messages();
        timeout(Duration::from_hours(2), messages.next()).await.unwrap_err();
        let calls = queue.consumer_statistics().calls;
        assert!((360..=362).contains(&calls), "{calls} calls of 20 s");
        let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
        delivery.deliver([message(1)]).await.unwrap();
        assert!(messages.next().await.unwrap().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_stream_with_its_cause() {
    for pause in [0, 30] {
        let simulator = Simulator::new(1);
        let queue = filled(&simulator, 2).await;
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut messages = Receive::new(simulator.sqs_client(), queue.url())
            .options(DeliveryOptions::default().deadline(deadline))
            .messages();
        let first = messages.next().await.unwrap().unwrap();
        // With and without a call in flight.
        sleep(Duration::from_secs(pause)).await;
        first.ticket.settle();
        let (_, error) = ended(messages).await;
        assert!(matches!(error.cause, Cause::DeadlineReached(_)), "{error}");
    }
}
