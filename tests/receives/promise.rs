//! No message is lost, whatever fails and whenever the process is killed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::sources::Receive;
use aws_batch_simulator::{Faults, InjectedFault, Queue, Simulator};
use futures::StreamExt;
use proptest::prelude::*;
use tokio::time::{Instant, sleep, sleep_until};

use crate::receives::{filled, filled_in_order, number};
use crate::support::cases::cases;
use crate::support::paused::paused;

const MESSAGES: usize = 60;
const GROUPS: usize = 4;
const WINDOW: usize = 15;

/// Where the messages are accepted: their numbers, in the order of acceptance.
type OtherSide = Arc<Mutex<Vec<usize>>>;

/// How a consumer behaves.
#[derive(Debug, Clone)]
struct Run {
    /// After how many messages the process is killed.
    killed_after: usize,
    /// The numbers that are released once.
    released: HashSet<usize>,
    /// How long the other side takes, in milliseconds, by the number of the message.
    delays: Vec<u64>,
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let released = prop::collection::hash_set(0..MESSAGES, 0..8);
    let delays = prop::collection::vec(0_u64..3_000, MESSAGES);
    let run = (1..MESSAGES, released, delays).prop_map(|(killed_after, released, delays)| Run {
        killed_after,
        released,
        delays,
    });
    prop::collection::vec(run, 1..4)
}

fn faults() -> impl Strategy<Value = Faults> {
    let share = || 0.0..0.15;
    (share(), share(), share(), share()).prop_map(|(entries, throttles, lost, errors)| {
        Faults::none()
            .unprocessed(entries)
            .calls(throttles, InjectedFault::Throttle)
            .calls(lost, InjectedFault::Dropped { applied: true })
            .calls(errors, InjectedFault::internal_error(true))
    })
}

/// Consumes the queue, up to a kill: then the runtime ends with all of its tasks, before anything can be tidied up. Each runtime has
/// a clock of its own, which starts where that of the one before has ended.
fn consume(
    simulator: &Simulator,
    queue: &Queue,
    other_side: &OtherSide,
    run: &Run,
    is_killed: bool,
    clock: Instant,
) -> Instant {
    paused(async {
        sleep_until(clock).await;
        let mut messages = Receive::new(simulator.sqs_client(), queue.url())
            .window(WINDOW)
            .until_empty_for(Duration::from_secs(90))
            .messages();
        let progress = messages.progress();
        let mut released = run.released.clone();
        let mut handed_out = 0;
        while let Some(received) = messages.next().await {
            let received = received.unwrap();
            let number = number(&received);
            handed_out += 1;
            if is_killed && handed_out == run.killed_after {
                return Instant::now();
            }
            if released.remove(&number) {
                continue;
            }
            let (other_side, delay) = (Arc::clone(other_side), Duration::from_millis(run.delays[number]));
            tokio::spawn(async move {
                sleep(delay).await;
                other_side.lock().unwrap().push(number);
                received.ticket.settle();
            });
        }
        let figures = progress.finished().await;
        assert_eq!((figures.held, figures.undeleted), (0, 0));
        Instant::now()
    })
}

fn assert_that_none_is_lost(queue: &Queue, other_side: &OtherSide) {
    let mut found: HashSet<usize> = other_side.lock().unwrap().iter().copied().collect();
    found.extend(
        queue
            .messages()
            .iter()
            .map(|message| message.body.parse::<usize>().unwrap()),
    );
    assert_eq!(found.len(), MESSAGES);
}

fn assert_that_groups_are_in_order(other_side: &OtherSide) {
    let mut seen = HashSet::new();
    let mut last: HashMap<usize, usize> = HashMap::new();
    for &number in other_side.lock().unwrap().iter() {
        if seen.insert(number)
            && let Some(before) = last.insert(number % GROUPS, number)
        {
            assert!(before < number, "{number} came after {before}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(8), ..ProptestConfig::default() })]

    #[test]
    fn whatever_fails_no_message_is_lost_and_groups_keep_their_order(
        seed in any::<u64>(),
        is_fifo in any::<bool>(),
        faults in faults(),
        runs in runs(),
    ) {
        let simulator = Simulator::new(seed);
        let (queue, mut clock) = paused(async {
            let queue = if is_fifo {
                filled_in_order(&simulator, MESSAGES, GROUPS).await
            } else {
                filled(&simulator, MESSAGES).await
            };
            (queue, Instant::now())
        });
        queue.set_consumer_faults(faults);
        let other_side = OtherSide::default();
        for run in &runs {
            clock = consume(&simulator, &queue, &other_side, run, true, clock);
            assert_that_none_is_lost(&queue, &other_side);
        }
        consume(&simulator, &queue, &other_side, &runs[0], false, clock);
        assert!(queue.is_empty());
        assert_that_none_is_lost(&queue, &other_side);
        let twice = other_side.lock().unwrap().len() - MESSAGES;
        assert!(twice <= WINDOW * runs.len(), "{twice} came twice");
        if is_fifo {
            assert_that_groups_are_in_order(&other_side);
        }
    }
}
