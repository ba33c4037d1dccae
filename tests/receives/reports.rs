//! What others reported about consumers of queues.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::Receive;
use aws_batch_simulator::{Latency, QueueOptions, Simulator};
use futures::StreamExt;
use tokio::time::{Instant, sleep, timeout};

use crate::receives::{filled, filled_in_order, message, number, ordered};

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

/// JaidenAshmore/java-dynamic-sqs-listener#369: while the first message of a group fails, the second one loses its receives, and both become
/// dead letters, the second one after one attempt. localstack/localstack#3013: after a dead letter the group goes on.
#[tokio::test(start_paused = true)]
async fn each_message_of_a_group_has_all_of_its_attempts() {
    let simulator = Simulator::new(1);
    let dead_letters = simulator.queue("dead.fifo", QueueOptions::default());
    let options = QueueOptions::default().dead_letter_queue("dead.fifo");
    let queue = simulator.queue("orders.fifo", options.maximum_receives(3));
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    delivery
        .deliver((0..40).map(|number| ordered(number, 1)))
        .await
        .unwrap();
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let mut attempts = [0; 40];
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        attempts[number(&received)] += 1;
        if number(&received) < 30 {
            received.ticket.settle();
        }
    }
    assert_eq!((&attempts[..30], &attempts[30..]), (&[1; 30][..], &[3; 10][..]));
    assert_eq!((queue.len(), dead_letters.len()), (0, 10));
}

/// google/go-cloud#2871: a message that is released at once is received again dozens of times a second.
#[tokio::test(start_paused = true)]
async fn a_message_whose_handler_fails_comes_again_less_and_less_often() {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
    let queue = filled(&simulator, 1).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    let mut attempts = 0;
    let failing = async {
        while let Some(received) = messages.next().await {
            let received = received.unwrap();
            attempts += 1;
            let delay = Duration::from_secs(1 << received.receive_count());
            received.ticket.release_after(delay);
        }
    };
    timeout(Duration::from_mins(1), failing).await.unwrap_err();
    assert_eq!(attempts, 5, "at 0, 2, 6, 14 and 30 s");
}

/// bbc/sqs-consumer#260: the heartbeat of a message comes after its deletion, and fails. impalasys/talon#69: it comes after the message was
/// released, and hides it for another visibility timeout.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_underway_neither_fails_after_a_deletion_nor_hides_a_released_message() {
    const VISIBILITY: Duration = Duration::from_secs(30);
    // The renewal leaves after half of the timeout, and is answered 2 s later.
    for milliseconds in (14_000..18_000).step_by(250) {
        let handled = Duration::from_millis(milliseconds);
        let simulator = Simulator::new(1);
        let queue = filled(&simulator, 2).await;
        simulator.set_latency(Latency::fixed(Duration::from_secs(2)));
        let mut messages = Receive::new(simulator.sqs_client(), queue.url())
            .visibility_timeout(VISIBILITY)
            .until_empty_for(Duration::from_secs(5))
            .messages();
        let progress = messages.progress();
        let first = messages.next().await.unwrap().unwrap();
        let second = messages.next().await.unwrap().unwrap();
        sleep(handled).await;
        first.ticket.settle();
        drop(second);
        let released = Instant::now();
        let again = messages.next().await.unwrap().unwrap();
        let after = released.elapsed();
        assert_eq!((number(&again), again.receive_count()), (1, 2));
        assert!(after < VISIBILITY / 3, "{handled:?}: it comes again after {after:?}");
        again.ticket.settle();
        assert!(messages.next().await.is_none());
        let figures = progress.finished().await;
        assert_eq!(
            (figures.deleted, figures.released, figures.expired),
            (2, 1, 0),
            "{handled:?}"
        );
        assert!(queue.is_empty());
    }
}
