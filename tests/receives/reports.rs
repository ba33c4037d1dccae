//! What others reported about consumers of queues.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::Receive;
use aws_batch_simulator::Simulator;
use futures::StreamExt;
use tokio::time::{sleep, timeout};

use crate::receives::{filled, filled_in_order, message, number};

/// awspring/spring-cloud-aws#137: messages that were received at a shutdown stay in flight until their visibility timeout is over.
#[tokio::test(start_paused = true)]
async fn nothing_stays_in_flight_after_a_shutdown() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 50).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    let progress = messages.progress();
    let first = messages.next().await.unwrap().unwrap();
    drop(messages);
    drop(first);
    progress.finished().await;
    assert_eq!((queue.len(), queue.in_flight()), (50, 0));
}

/// The same with messages that a receive gets that is still waiting, as in aws/aws-sdk-java-v2#1395.
#[tokio::test(start_paused = true)]
async fn what_a_waiting_receive_gets_after_the_shutdown_is_released() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 0).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    let progress = messages.progress();
    timeout(Duration::from_secs(5), messages.next()).await.unwrap_err();
    drop(messages);
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    delivery.deliver((0..5).map(message)).await.unwrap();
    let figures = progress.finished().await;
    assert_eq!((figures.received, figures.released), (1, 1));
    assert_eq!((queue.len(), queue.in_flight()), (5, 0));
}

/// elixir-broadway/broadway_sqs#78: when a message of a FIFO group fails, the later ones are processed before it comes again.
#[tokio::test(start_paused = true)]
async fn a_message_that_fails_is_not_overtaken_by_its_group() {
    let simulator = Simulator::new(1);
    let queue = filled_in_order(&simulator, 30, 3).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let mut failures = 0;
    let mut done: [Vec<usize>; 3] = Default::default();
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        let number = number(&received);
        // One message of each group fails twice.
        if (9..12).contains(&number) && failures < 6 {
            failures += 1;
            drop(received.ticket);
            continue;
        }
        done[number % 3].push(number);
        received.ticket.settle();
    }
    for (group, done) in done.iter().enumerate() {
        let expected: Vec<usize> = (0..30).filter(|number| number % 3 == group).collect();
        assert_eq!(done, &expected);
    }
    assert_eq!(failures, 6);
}

/// spulec/PyQS#29: messages that were received in advance wait in memory until their visibility timeout is over, and are processed twice.
#[tokio::test(start_paused = true)]
async fn messages_that_wait_in_memory_are_handed_out_once() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 30).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .visibility_timeout(Duration::from_secs(30))
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let mut handed_out = 0;
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        handed_out += 1;
        sleep(Duration::from_mins(5)).await;
        received.ticket.settle();
    }
    assert_eq!(handed_out, 30);
    assert!(queue.is_empty());
}
