//! How long messages stay hidden.

use std::time::Duration;

use aws_batch_delivery::sources::Receive;
use aws_batch_simulator::{InjectedFault, Simulator};
use futures::StreamExt;
use tokio::time::{Instant, sleep, timeout};

use crate::receives::{filled, filled_in_order, number};

#[tokio::test(start_paused = true)]
async fn a_message_is_kept_hidden_while_its_ticket_exists_and_calls_are_throttled() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 1).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    let received = messages.next().await.unwrap().unwrap();
    for _ in 0..60 {
        queue.script_consumers(std::iter::repeat_n(InjectedFault::Throttle, 3));
        sleep(Duration::from_mins(1)).await;
        assert_eq!(queue.in_flight(), 1);
        assert!(received.ticket.is_current());
    }
    received.ticket.settle();
    let progress = messages.progress();
    drop(messages);
    assert_eq!(progress.finished().await.deleted, 1);
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn after_twelve_hours_a_message_is_visible_and_its_ticket_tells() {
    let simulator = Simulator::new(1);
    let queue = filled_in_order(&simulator, 2, 1).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    let progress = messages.progress();
    let received = messages.next().await.unwrap().unwrap();
    sleep(Duration::from_hours(11) + Duration::from_mins(55)).await;
    assert!(received.ticket.is_current());
    sleep(Duration::from_mins(5)).await;
    assert!(!received.ticket.is_current());
    // The one behind it was released, so that both come again in their order.
    let again = timeout(Duration::from_mins(1), messages.next())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(again.message.body(), received.message.body());
    // Too late: it is in other hands.
    received.ticket.settle();
    again.ticket.settle();
    let next = messages.next().await.unwrap().unwrap();
    assert_eq!(next.message.body(), Some("1"));
    next.ticket.settle();
    drop(messages);
    let figures = progress.finished().await;
    assert_eq!((figures.deleted, figures.undeleted), (2, 1));
    assert!(figures.expired >= 1);
    assert!(queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_set_aside_is_received_once_and_visible_at_the_end() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 100).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .window(10)
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let progress = messages.progress();
    let mut handed_out = 0;
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        handed_out += 1;
        if number(&received).is_multiple_of(2) {
            received.ticket.set_aside();
        } else {
            received.ticket.settle();
        }
    }
    assert_eq!(handed_out, 100);
    let figures = progress.finished().await;
    assert_eq!((figures.deleted, figures.released), (50, 50));
    assert_eq!((queue.len(), queue.in_flight()), (50, 0));
}

#[tokio::test(start_paused = true)]
async fn the_window_bounds_what_is_held() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 100).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).window(25).messages();
    let mut tickets = Vec::new();
    while let Ok(Some(received)) = timeout(Duration::from_mins(5), messages.next()).await {
        tickets.push(received.unwrap().ticket);
    }
    assert_eq!((tickets.len(), queue.in_flight()), (25, 25));
    tickets.clear();
    assert!(messages.next().await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_released_with_a_delay_comes_again_after_it() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 3).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url())
        .until_empty_for(Duration::from_secs(5))
        .messages();
    let mut released_at = None;
    while let Some(received) = messages.next().await {
        let received = received.unwrap();
        match (number(&received), received.receive_count()) {
            (2, 1) => {
                // It lasts longer than the visibility timeout, and than the queue may be empty.
                received.ticket.release_after(Duration::from_mins(5));
                released_at = Some(Instant::now());
            }
            (2, count) => {
                let after = released_at.unwrap().elapsed();
                assert_eq!(count, 2);
                assert!(
                    (Duration::from_mins(5)..Duration::from_secs(302)).contains(&after),
                    "{after:?}"
                );
                received.ticket.settle();
            }
            _ => received.ticket.settle(),
        }
    }
    assert!(queue.is_empty());
}

/// A message is hidden for twelve hours at most, also by its release.
#[tokio::test(start_paused = true)]
async fn a_delay_ends_twelve_hours_after_the_receive() {
    let simulator = Simulator::new(1);
    let queue = filled(&simulator, 1).await;
    let mut messages = Receive::new(simulator.sqs_client(), queue.url()).messages();
    let received = messages.next().await.unwrap().unwrap();
    sleep(Duration::from_hours(3)).await;
    received.ticket.release_after(Duration::from_hours(100));
    let started = Instant::now();
    assert_eq!(messages.next().await.unwrap().unwrap().receive_count(), 2);
    let after = started.elapsed();
    assert!(
        (Duration::from_mins(8 * 60 + 58)..Duration::from_hours(9)).contains(&after),
        "{after:?}"
    );
    assert_eq!(messages.progress().figures().expired, 0);
}
