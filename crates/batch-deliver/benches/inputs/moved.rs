//! Messages that are moved from one queue to another.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use aws_batch_delivery::Delivery;
use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_simulator::Queue;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::options::Options;
use crate::program::Program;
use crate::served::Served;

/// Groups of a FIFO queue.
const GROUPS: u64 = 1_000;

/// Of the messages of a standard queue, one in so many does not match.
const UNMATCHED: u64 = 10;

/// Messages that may be moved twice after a kill: as many as the program has underway.
const WINDOW: u64 = 2_000;

/// How long messages in flight are hidden after a kill.
const HIDDEN: Duration = Duration::from_mins(1);

pub(crate) fn run(options: &Options) {
    let count = options.count.unwrap_or(100_000);
    for suffix in ["", ".fifo"] {
        moved(options, count, suffix);
    }
}

fn moved(options: &Options, count: u64, suffix: &str) {
    let is_fifo = !suffix.is_empty();
    let served = Served::new(options.seed);
    let (from, to) = (
        served.queue(&format!("from{suffix}")),
        served.queue(&format!("to{suffix}")),
    );
    fill(&served, &from, count, is_fifo);
    let program = Program::new(&options.more);
    let filter = if is_fifo { "" } else { "--attribute state=failed" };
    let arguments = format!(
        "move --from from{suffix} --to to{suffix} {filter} --endpoint-url {}",
        served.endpoint()
    );
    let matching = (0..count).filter(|number| is_fifo || matches(*number)).count() as u64;
    let started = Instant::now();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let (mut kills, mut peak, mut waited) = (0, 0, Duration::ZERO);
    while sent(&from, &to, is_fifo, count) < matching || kills == 0 {
        let after = Duration::from_secs_f64(
            random.random_range(0.0..2.0) * count as f64 / 4_000.0 / f64::from(options.kills + 1),
        );
        let run = program.run_until(&arguments, (kills < options.kills).then_some(after));
        peak = run.peak.max(peak);
        match run.code {
            None => {
                kills += 1;
                println!(
                    "killed after {:.1} s: {} left, {} of them in flight",
                    run.elapsed.as_secs_f64(),
                    from.len(),
                    from.in_flight()
                );
            }
            Some(0) => {
                print!("{}", run.stderr);
                if kills == 0 {
                    break;
                }
            }
            Some(code) => panic!("{code}: {}", run.stderr),
        }
        if from.in_flight() > 0 && kills >= options.kills {
            sleep(HIDDEN);
            waited += HIDDEN;
        }
    }
    let in_flight = from.in_flight();
    let numbers: Vec<u64> = to.messages().iter().map(|message| number(&message.body)).collect();
    let mut once = numbers.clone();
    once.sort_unstable();
    once.dedup();
    let twice = numbers.len() - once.len();
    let expected: Vec<u64> = (0..count).filter(|number| is_fifo || matches(*number)).collect();
    println!(
        "move{suffix} of {count} messages, {kills} kills: {:.1} s, {:.0} messages a second; lost {}, twice {twice}, at most {}; {} that \
         do not match are in the queue, {in_flight} hidden; peak of the memory {} MB",
        started.elapsed().saturating_sub(waited).as_secs_f64(),
        count as f64 / started.elapsed().saturating_sub(waited).as_secs_f64(),
        expected.len() - once.len(),
        WINDOW * u64::from(kills),
        from.len(),
        peak / 1_000,
    );
    assert_eq!(once, expected);
    assert_eq!((from.len() as u64, in_flight), (count - matching, 0));
    assert!(twice as u64 <= WINDOW * u64::from(kills));
    if is_fifo {
        println!("messages out of the order of their group: {}", disordered(&to));
        assert_eq!(disordered(&to), 0);
    }
}

/// Messages of the other queue, each once.
fn sent(from: &Queue, to: &Queue, is_fifo: bool, count: u64) -> u64 {
    let left = from
        .messages()
        .iter()
        .filter(|message| is_fifo || matches(number(&message.body)))
        .count() as u64;
    if to.is_empty() {
        0
    } else {
        (0..count).filter(|number| is_fifo || matches(*number)).count() as u64 - left
    }
}

fn matches(number: u64) -> bool {
    !number.is_multiple_of(UNMATCHED)
}

fn number(body: &str) -> u64 {
    body.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .expect("a number in the body")
}

/// Messages that came behind a later one of their group, the second and further times that a message came not counted.
fn disordered(queue: &Queue) -> usize {
    let mut last: HashMap<String, u64> = HashMap::new();
    let mut messages = queue.messages();
    messages.sort_by_key(|message| message.sequence);
    let mut seen = std::collections::HashSet::new();
    messages
        .into_iter()
        .filter(|message| seen.insert(number(&message.body)))
        .filter(|message| {
            let number = number(&message.body);
            let before = last.insert(message.group.clone().unwrap_or_default(), number);
            before.is_some_and(|before| before > number)
        })
        .count()
}

fn fill(served: &Served, queue: &Queue, count: u64, is_fifo: bool) {
    let (simulator, runtime) = served.simulator();
    let entry = move |number: u64| {
        let state = if matches(number) { "failed" } else { "done" };
        let state = MessageAttributeValue::builder().data_type("String").string_value(state);
        let entry = SendMessageBatchRequestEntry::builder()
            .id("0")
            .message_body(format!("message {number} {:x<100}", ""))
            .message_attributes("state", state.build().expect("an attribute"));
        let entry = if is_fifo {
            let group = number % GROUPS;
            entry
                .message_group_id(group.to_string())
                .message_deduplication_id(number.to_string())
        } else {
            entry
        };
        entry.build().expect("a message")
    };
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url());
    let delivery = if is_fifo {
        delivery.map_target(SqsQueue::strict_order)
    } else {
        delivery
    };
    let report = runtime.block_on(delivery.deliver((0..count).map(entry)));
    report.expect("a queue that accepts everything");
}
