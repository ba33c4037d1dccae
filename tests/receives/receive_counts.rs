//! A receive of a message is used up only by a hand-over: dead letters are messages whose handler has failed that often.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::{Receive, Received};
use aws_batch_simulator::{Latency, Queue, QueueOptions, Simulator};
use futures::StreamExt;
use tokio::time::{Instant, sleep};

use crate::receives::{message, number, ordered};

const MESSAGES: usize = 60;

/// How a consumer behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Consumer {
    Fast,
    /// It takes one message a minute, and after five of them another one goes on, which is fast.
    Slow,
    /// It has many messages in hand at once.
    Concurrent,
    /// It fails for all messages in its first half second.
    FailsAtFirst,
    /// It fails for one message of one group, always.
    FailsForOne,
    /// It is restarted after some messages, again and again.
    Restarting,
}

const CONSUMERS: [Consumer; 6] = [
    Consumer::Fast,
    Consumer::Slow,
    Consumer::Concurrent,
    Consumer::FailsAtFirst,
    Consumer::FailsForOne,
    Consumer::Restarting,
];

/// What the handler did.
#[derive(Default)]
struct Handled {
    done: Vec<usize>,
    failures: HashMap<usize, u32>,
}

/// A queue with messages whose dead letters go to another one, which is returned as well.
async fn filled(simulator: &Simulator, receives: u32, groups: Option<usize>) -> (Queue, Queue) {
    simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
    let (name, dead) = match groups {
        Some(_) => ("orders.fifo", "dead.fifo"),
        None => ("orders", "dead"),
    };
    let dead_letters = simulator.queue(dead, QueueOptions::default());
    let options = QueueOptions::default()
        .dead_letter_queue(dead)
        .maximum_receives(receives);
    let queue = simulator.queue(name, options);
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    match groups {
        Some(groups) => {
            delivery
                .deliver((0..MESSAGES).map(|number| ordered(number, groups)))
                .await
        }
        None => delivery.deliver((0..MESSAGES).map(message)).await,
    }
    .unwrap();
    (queue, dead_letters)
}

fn receive(simulator: &Simulator, queue: &Queue) -> Receive {
    Receive::new(simulator.sqs_client(), queue.url()).until_empty_for(Duration::from_secs(5))
}

/// As the documentation has it: the delay grows with each receive.
fn fails(received: &Received, handled: &mut Handled) {
    *handled.failures.entry(number(received)).or_default() += 1;
    let delay = Duration::from_secs(1) * 2_u32.pow(received.receive_count());
    received.ticket.release_after(delay);
}

async fn consume(simulator: &Simulator, queue: &Queue, consumer: Consumer) -> Handled {
    let mut handled = Handled::default();
    let started = Instant::now();
    let mut restarts = 0;
    loop {
        let mut messages = receive(simulator, queue).messages();
        let progress = messages.progress();
        let mut taken = 0;
        let mut in_hand = Vec::new();
        let is_over = loop {
            let Some(received) = messages.next().await else {
                break true;
            };
            let received = received.unwrap();
            taken += 1;
            let is_failing = match consumer {
                Consumer::FailsAtFirst => started.elapsed() < Duration::from_millis(500),
                Consumer::FailsForOne => number(&received) == 0,
                _ => false,
            };
            match consumer {
                Consumer::Slow if restarts == 0 => sleep(Duration::from_mins(1)).await,
                Consumer::Concurrent => {}
                _ => sleep(Duration::from_millis(5)).await,
            }
            if is_failing {
                fails(&received, &mut handled);
                continue;
            }
            handled.done.push(number(&received));
            if consumer == Consumer::Concurrent {
                // Groups have one message in hand each.
                in_hand.push(received);
                if in_hand.len() == 3 {
                    sleep(Duration::from_millis(300)).await;
                    in_hand.drain(..).for_each(|received| received.ticket.settle());
                }
            } else {
                received.ticket.settle();
            }
            match consumer {
                Consumer::Slow if restarts == 0 && taken == 5 => break false,
                Consumer::Restarting if taken == 7 => break false,
                _ => {}
            }
        };
        in_hand.drain(..).for_each(|received| received.ticket.settle());
        drop(messages);
        progress.finished().await;
        restarts += 1;
        if is_over {
            return handled;
        }
    }
}

/// As spring-attic/spring-cloud-aws#516 reports it, messages become dead letters whose handler was never called.
#[tokio::test(start_paused = true)]
async fn dead_letters_are_only_messages_whose_handler_has_failed_as_often() {
    for consumer in CONSUMERS {
        for receives in [1, 3] {
            for groups in [None, Some(3)] {
                let situation = format!("{consumer:?}, {receives} receives, groups: {groups:?}");
                let simulator = Simulator::new(1);
                let (queue, dead_letters) = filled(&simulator, receives, groups).await;
                let handled = consume(&simulator, &queue, consumer).await;
                assert!(queue.is_empty(), "{situation}: {} are left", queue.len());
                let dead: HashSet<usize> = dead_letters
                    .messages()
                    .iter()
                    .map(|message| message.body.parse().unwrap())
                    .collect();
                let failures = |number: &usize| handled.failures.get(number).copied().unwrap_or(0);
                let unseen: Vec<_> = dead.iter().filter(|number| failures(number) < receives).collect();
                assert!(unseen.is_empty(), "{situation}: not failed often enough: {unseen:?}");
                let mut all: Vec<usize> = handled.done.iter().copied().chain(dead).collect();
                all.sort_unstable();
                assert_eq!(all, (0..MESSAGES).collect::<Vec<_>>(), "{situation}");
                for group in 0..groups.unwrap_or(0) {
                    let of_group = |number: &&usize| **number % groups.unwrap_or(1) == group;
                    assert!(
                        handled.done.iter().filter(of_group).is_sorted(),
                        "{situation}, group {group}"
                    );
                }
            }
        }
    }
}
