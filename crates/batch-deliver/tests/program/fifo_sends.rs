//! Messages that are sent to FIFO queues: their order, and those that a queue drops.

use std::time::Duration;

use aws_batch_simulator::{InjectedFault, Latency, QueueOptions};
use serde_json::json;

use crate::queues::{Queues, numbers, sorted};

/// The first of ten messages fails alone. Those behind it must not arrive before it.
#[test]
fn a_message_that_a_fifo_queue_fails_once_keeps_its_place() {
    for (options, keeps) in [("", true), ("--loose-order", false)] {
        let queues = Queues::new();
        let queue = queues.queue("a.fifo", QueueOptions::default().content_based_deduplication());
        queue.script([InjectedFault::Unprocessed(1)]);
        let lines: Vec<String> = (0..40).map(|number| format!("{{\"number\":{number}}}\n")).collect();
        queues.folder.write("a.txt", lines.concat());
        queues
            .run(&format!("send --queue a.fifo --group-id g {options} a.txt"))
            .expect(0, "40 delivered");
        let (arrived, calls) = (numbers(&queue), queue.statistics().calls);
        assert_eq!(arrived == sorted(arrived.clone()), keeps, "{arrived:?}");
        assert_eq!(calls > 40, keeps, "{calls} calls");
    }
}

/// They were counted as delivered, and nothing showed that the queue has only one of them.
#[test]
fn lines_that_a_fifo_queue_drops_are_counted_and_are_undelivered_if_another_one_has_their_content() {
    let queues = Queues::new();
    let queue = queues.queue("a.fifo", QueueOptions::default().content_based_deduplication());
    let line = |body: &str, id: &str| json!({"body": body, "dedup_id": id, "group_id": "g"}).to_string() + "\n";
    let send = |name: &str, lines: &[String]| {
        queues.folder.write(name, lines.concat());
        queues.run(&format!("send --queue a.fifo --format json --json {name}"))
    };
    let run = send("a", &[line("one", "k"), line("two", "k"), line("three", "l")]);
    run.expect(
        1,
        "dropped by a.fifo: 1 line with the deduplication id of another message",
    )
    .expect(1, "1 of them with another content, which is not delivered")
    .expect(1, "a:2: refused: DuplicateMessage");
    assert_eq!(run.report()["dropped"], json!({"equal": 0, "different": 1}));
    assert_eq!(queue.len(), 2);
    send("b", &[line("one", "m"), line("one", "m")]).expect(0, "of the last five minutes, and with its content");
    // Lost answers: each message is sent twice, and is one line.
    queue.script([
        InjectedFault::Dropped { applied: true },
        InjectedFault::Dropped { applied: true },
    ]);
    let run = send("c", &[line("one", "n"), line("two", "o")]);
    run.expect(0, "2 delivered");
    assert!(!run.stderr.contains("dropped"), "{}", run.stderr);
    assert_eq!(queue.len(), 5);
}

/// Of two devices that send the same reading without ids of their own, one was nowhere, and the exit code was 0.
#[test]
fn a_message_of_another_group_or_with_other_attributes_is_another_one() {
    let queues = Queues::new();
    let queue = queues.queue("a.fifo", QueueOptions::default().content_based_deduplication());
    let line = |group: &str, attributes: &str| format!(r#"{{"body":"ping","group_id":"{group}"{attributes}}}"#) + "\n";
    let first = line("d1", r#","attributes":{"x":"1","y":"2"}"#);
    let same = line("d1", r#","attributes":{"y":"2","x":"1"}"#);
    queues.folder.write("a", first.clone() + &same);
    let run = queues.run("send --queue a.fifo --format json --json a");
    run.expect(0, "2 delivered");
    assert_eq!(run.report()["dropped"], json!({"equal": 1, "different": 0}));
    let lines = [first, line("d2", r#","attributes":{"x":"1","y":"2"}"#), line("d1", "")];
    queues.folder.write("b", lines.concat());
    let run = queues.run("send --queue a.fifo --format json --json --dead-letter dead b");
    run.expect(1, "2 of them with another content, which is not delivered");
    assert_eq!(queue.len(), 1);
    assert_eq!(queues.folder.read("dead"), lines[1..].concat());
}

/// The first run said it, and the second one, which did the rest, ended with 0.
#[test]
fn the_last_of_several_runs_says_what_a_fifo_queue_has_dropped_in_the_first() {
    let queues = Queues::new();
    let queue = queues.queue("a.fifo", QueueOptions::default());
    let line = |body: &str, id: &str| json!({"body": body, "dedup_id": id, "group_id": "g"}).to_string() + "\n";
    let lines = line("one", "k") + &line("two", "k");
    queues.folder.write("a", format!("{lines}oops\n"));
    let send = || queues.run("send --queue a.fifo --format json --resume state a");
    send().expect(1, "1 of them with another content");
    queues.folder.write("a", format!("{lines}{}", line("three", "l")));
    send()
        .expect(1, "earlier runs gave up 1 entry")
        .expect(1, "a:2: refused: DuplicateMessage");
    assert_eq!(queue.len(), 2);
}

/// For the figures in the manual: `cargo test --package batch-deliver --test program -- --ignored --nocapture what_an_order_costs`
#[test]
#[ignore = "takes half a minute, and prints figures"]
fn what_an_order_costs_a_queue() {
    for (groups, count) in [(1, 500), (10, 5_000), (100, 5_000)] {
        for options in ["", "--loose-order"] {
            let queues = Queues::new();
            queues.simulator.set_latency(Latency::fixed(Duration::from_millis(20)));
            queues.queue("a.fifo", QueueOptions::default().content_based_deduplication());
            let line = |number: usize| json!({"body": number.to_string(), "group_id": (number % groups).to_string()});
            let lines = (0..count).map(|number| format!("{}\n", line(number)));
            queues.folder.write("a", lines.collect::<String>());
            let run = queues.run(&format!("send --queue a.fifo --format json {options} a"));
            run.expect(0, "delivered");
            println!("{groups} groups {options}: {}", run.stderr.lines().last().unwrap());
        }
    }
}
