//! Messages that are moved from a queue to another, or back from a dead-letter queue.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use aws_batch_simulator::{Faults, InjectedFault, Latency, Queue, QueueOptions, Record, Server, Simulator};
use aws_sdk_sqs::types::{
    MessageSystemAttributeNameForSends, MessageSystemAttributeValue, SendMessageBatchRequestEntry,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::program::{Folder, Run};

/// A simulator with queues, which the program reaches as it reaches AWS.
pub(crate) struct Queues {
    pub(crate) simulator: Simulator,
    server: Server,
    runtime: Runtime,
    pub(crate) folder: Folder,
}

impl Queues {
    pub(crate) fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let simulator = Simulator::new(7);
        simulator.set_latency(Latency::fixed(Duration::from_millis(5)));
        let server = runtime.block_on(simulator.serve("127.0.0.1:0")).unwrap();
        Self {
            simulator,
            server,
            runtime,
            folder: Folder::new(),
        }
    }

    pub(crate) fn queue(&self, name: &str, options: QueueOptions) -> Queue {
        let _within = self.runtime.enter();
        self.simulator.queue(name, options)
    }

    /// A queue with messages that are numbered from 0, and have an attribute and in a FIFO queue a group.
    pub(crate) fn filled(&self, name: &str, messages: usize) -> Queue {
        let queue = self.queue(name, QueueOptions::default());
        let groups = if messages < 1_000 { 5 } else { 1_000 };
        let line = |number: usize| {
            let state = if number.is_multiple_of(3) { "failed" } else { "done" };
            let mut line = json!({
                "body": json!({"number": number, "order": {"state": state}}).to_string(),
                "attributes": {"state": state, "raw": {"type": "Binary", "value": "AQI="}},
            });
            if name.contains(".fifo") {
                line["group_id"] = json!((number % groups).to_string());
                line["dedup_id"] = json!(number.to_string());
            }
            format!("{line}\n")
        };
        self.folder
            .write("filled.jsonl", (0..messages).map(line).collect::<String>());
        self.run(&format!("send --queue {name} --format json filled.jsonl"))
            .expect(0, "delivered");
        queue
    }

    fn arguments(&self, arguments: &str) -> String {
        let (command, rest) = arguments.split_once(' ').unwrap();
        format!("{command} --endpoint-url {} {rest}", self.server.endpoint())
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.folder.run(&self.arguments(arguments))
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        self.folder.command(&self.arguments(arguments))
    }

    /// The program while it runs, with pipes for its outputs.
    pub(crate) fn started(&self, arguments: &str) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

fn number(body: &str) -> u64 {
    serde_json::from_str::<Value>(body).unwrap()["number"].as_u64().unwrap()
}

pub(crate) fn numbers(queue: &Queue) -> Vec<u64> {
    queue.messages().iter().map(|message| number(&message.body)).collect()
}

pub(crate) fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

#[test]
fn messages_are_moved_with_their_attributes() {
    let queues = Queues::new();
    let from = queues.filled("a", 300);
    let before = from.messages();
    let to = queues.queue("b", QueueOptions::default());
    queues
        .run("move --from a --to b")
        .expect(0, "300 messages moved from a to b");
    assert!(from.is_empty());
    assert_eq!(sorted(numbers(&to)), (0..300).collect::<Vec<_>>());
    let attributes = |message: &aws_batch_simulator::Message| message.attributes.clone();
    let moved = to.messages();
    let first = moved.iter().find(|message| message.body == before[0].body).unwrap();
    assert_eq!(attributes(first), attributes(&before[0]));
}

#[test]
fn groups_keep_their_order() {
    let queues = Queues::new();
    let from = queues.filled("a.fifo", 100);
    let to = queues.queue("b.fifo", QueueOptions::default());
    queues
        .run("move --from a.fifo --to b.fifo")
        .expect(0, "100 messages moved");
    assert!(from.is_empty());
    assert_eq!(to.len(), 100);
    let moved = to.messages();
    for group in 0..5 {
        let of_group = moved.iter().filter(|message| message.group == Some(group.to_string()));
        let of_group: Vec<u64> = of_group.map(|message| number(&message.body)).collect();
        assert_eq!(of_group, (0..20).map(|turn| turn * 5 + group).collect::<Vec<_>>());
    }
}

#[test]
fn a_message_keeps_its_trace() {
    let queues = Queues::new();
    let (from, to) = (
        queues.queue("a", QueueOptions::default()),
        queues.queue("b", QueueOptions::default()),
    );
    to.keep_journal();
    let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1";
    let trace = MessageSystemAttributeValue::builder()
        .data_type("String")
        .string_value(header);
    let entry = SendMessageBatchRequestEntry::builder()
        .id("0")
        .message_body("{}")
        .message_system_attributes(
            MessageSystemAttributeNameForSends::AwsTraceHeader,
            trace.build().unwrap(),
        );
    let client = queues.simulator.sqs_client();
    let send = client
        .send_message_batch()
        .queue_url(from.url())
        .entries(entry.build().unwrap());
    queues.runtime.block_on(send.send()).unwrap();
    queues.run("move --from a --to b").expect(0, "1 message moved");
    queues.run("drain --queue b out.jsonl").expect(0, "1 message of b");
    queues
        .run("send --queue b --format json out.jsonl")
        .expect(0, "1 delivered");
    let journal = to.journal();
    let arrived = journal
        .iter()
        .map(Record::entry)
        .filter(|entry| entry["MessageBody"].is_string());
    let traces: Vec<Value> = arrived
        .map(|entry| entry["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"].clone())
        .collect();
    assert_eq!(traces, [header, header]);
}

/// A FIFO queue drops a message whose deduplication id it has seen in the last five minutes.
#[test]
fn messages_that_come_back_at_once_are_not_dropped() {
    let queues = Queues::new();
    let from = queues.filled("a.fifo", 50);
    queues.queue("b.fifo", QueueOptions::default());
    for (from, to) in [("a", "b"), ("b", "a")] {
        queues
            .run(&format!("move --from {from}.fifo --to {to}.fifo"))
            .expect(0, "50 messages moved");
    }
    assert_eq!(sorted(numbers(&from)), (0..50).collect::<Vec<_>>());
    queues
        .run("drain --queue a.fifo out.jsonl")
        .expect(0, "50 messages of a.fifo");
    queues
        .run("send --queue a.fifo --format json out.jsonl")
        .expect(0, "50 delivered");
    assert_eq!(sorted(numbers(&from)), (0..50).collect::<Vec<_>>());
}

#[test]
fn messages_that_do_not_match_stay_and_are_received_once() {
    let queues = Queues::new();
    let from = queues.filled("a", 120);
    let to = queues.queue("b", QueueOptions::default());
    queues
        .run("move --from a --to b --attribute state=failed --pointer /order/state=failed")
        .expect(0, "kept in a: 80 messages that did not match");
    assert_eq!(sorted(numbers(&to)), (0..40).map(|turn| turn * 3).collect::<Vec<_>>());
    assert_eq!((from.len(), from.in_flight()), (80, 0));
    queues
        .run("move --from a --to b --pointer /number=7")
        .expect(0, "1 message moved");
    queues.run("move --from a --to b --max 9").expect(0, "9 messages moved");
    assert_eq!((from.len(), from.in_flight(), to.len()), (70, 0, 50));
}

#[test]
fn a_message_that_the_other_queue_refuses_stays() {
    let queues = Queues::new();
    let from = queues.filled("a", 30);
    let to = queues.queue("b", QueueOptions::default());
    to.poison(|message| message["MessageBody"].as_str().unwrap().contains(r#""number":17"#));
    queues
        .run("move --from a --to b")
        .expect(1, "kept in a: 1 message that could not be sent");
    assert_eq!(numbers(&from), [17]);
    assert_eq!((from.in_flight(), to.len()), (0, 29));
}

#[test]
fn a_message_that_is_refused_keeps_those_behind_it_in_its_group() {
    let queues = Queues::new();
    let from = queues.filled("a.fifo", 30);
    let to = queues.queue("b.fifo", QueueOptions::default());
    to.poison(|message| message["MessageBody"].as_str().unwrap().contains(r#""number":17"#));
    queues.run("move --from a.fifo --to b.fifo").expect(
        1,
        "1 message that could not be sent, and all behind them in the same groups, the first because",
    );
    assert_eq!(sorted(numbers(&from)), [17, 22, 27]);
    assert_eq!((from.in_flight(), to.len()), (0, 27));
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_received() {
    let queues = Queues::new();
    let from = queues.filled("a", 5);
    queues.queue("b.fifo", QueueOptions::default());
    for (arguments, words) in [
        ("move --from a --to a", "are the same queue"),
        ("move --from a --to b.fifo", "give --group-id"),
        ("move --from a --to none", "check --to"),
        ("move --from none --to a", "check --from"),
        ("move --from b.fifo --to a --attribute a=b", "are for standard queues"),
        ("move --from a --to b.fifo --simulate 1000", "leave out --simulate"),
        ("move --from a --to b.fifo --pointer state=a", "give a JSON pointer"),
        ("drain --queue b.fifo --pointer /a=b out", "are for standard queues"),
        ("drain --queue a --json -", "leave out --json"),
    ] {
        queues.run(arguments).expect(2, words);
    }
    // Another host of the same service.
    let port = queues.server.endpoint().rsplit(':').next().unwrap().to_owned();
    queues
        .run(&format!("move --from a --to http://localhost:{port}/000000000000/a"))
        .expect(2, "are the same queue");
    assert_eq!(from.consumer_statistics().calls, 0);
    queues
        .run("move --from a --to b.fifo --group-id g --json")
        .expect(0, "");
}

#[test]
fn an_interrupted_move_leaves_the_rest_and_the_same_command_goes_on() {
    let queues = Queues::new();
    let from = queues.filled("a", 400);
    let to = queues.queue("b", QueueOptions::default());
    let mut child = queues.started("move --from a --to b --max-rate 100 --json --every 50ms");
    // The first progress that says that something was moved.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let is_moved = |line: &str| serde_json::from_str::<Value>(line).unwrap()["moved"].as_u64() > Some(0);
    assert!(lines.any(|line| is_moved(&line.unwrap())));
    crate::program::interrupt(&child);
    lines.for_each(|line| drop(line.unwrap()));
    let run = Run::from(child.wait_with_output().unwrap());
    run.expect(130, "the rest stays in a");
    assert!(!from.is_empty() && !to.is_empty());
    assert_eq!((from.len() + to.len(), from.in_flight()), (400, 0));
    queues.run("move --from a --to b").expect(0, "moved");
    assert_eq!(sorted(numbers(&to)), (0..400).collect::<Vec<_>>());
}

/// Nothing was in other hands at that moment, so it ended with 0.
#[test]
fn a_move_whose_time_is_over_before_the_queue_is_empty_does_not_end_with_0() {
    let queues = Queues::new();
    let from = queues.filled("a", 40);
    let to = queues.queue("b", QueueOptions::default());
    let throttled = InjectedFault::error(400, "RequestThrottled", false);
    from.set_consumer_faults(Faults::none().calls(1.0, throttled));
    let run = queues.run("move --from a --to b --deadline 2s --json");
    run.expect(
        1,
        "a may have messages that were not received: the deadline was reached",
    );
    assert_eq!(run.report()["interrupted"], false);
    assert_eq!((from.len(), to.len()), (40, 0));
}

#[test]
fn a_move_whose_progress_has_no_reader_ends_cleanly() {
    let queues = Queues::new();
    let from = queues.filled("a", 400);
    let to = queues.queue("b", QueueOptions::default());
    let mut child = queues.started("move --from a --to b --max-rate 100 --json --every 50ms");
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().unwrap());
    run.expect(1, "the progress cannot be written")
        .expect(1, "moved from a to b in");
    assert_eq!((from.len() + to.len(), from.in_flight()), (400, 0));
}

/// It was told as if it was too late for them.
#[test]
fn deletions_that_are_refused_are_told_with_their_cause() {
    for command in ["move --from a --to b --max 5", "drain --queue a --max 5 out.jsonl"] {
        let queues = Queues::new();
        let from = queues.filled("a", 5);
        queues.queue("b", QueueOptions::default());
        let denied = InjectedFault::error(403, "AccessDenied", false);
        from.script_consumers(std::iter::once(InjectedFault::None).chain(std::iter::repeat_n(denied, 50)));
        let run = queues.run(command);
        run.expect(1, "may still be in a as well: ").expect(1, "AccessDenied");
        assert!(!run.stderr.contains("time to be deleted"), "{}", run.stderr);
    }
}

/// Moves messages undisturbed, and as many with kills. Prints the figures that the manual has.
fn move_many(from: &str, to: &str, messages: usize) {
    let queues = Queues::new();
    queues.simulator.set_latency(Latency::fixed(Duration::from_millis(20)));
    let source = queues.filled(from, messages);
    let target = queues.queue(to, QueueOptions::default());
    let run = queues.run(&format!("move --from {from} --to {to} --json"));
    run.expect(0, "");
    assert_eq!((source.len(), target.len()), (0, messages));
    println!("{from}: {}", run.report());
    let back = queues.queue("back", QueueOptions::default());
    let mut kills = 0;
    while !target.is_empty() {
        let mut child = queues.started(&format!("move --from {to} --to back --json --every 10ms"));
        let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        let moved = |line: &str| serde_json::from_str::<Value>(line).unwrap()["moved"].as_u64();
        for line in lines {
            // The first three runs are killed.
            if kills < 3 && moved(&line.unwrap()) > Some(messages as u64 / 5) {
                child.kill().unwrap();
                kills += 1;
                break;
            }
        }
        child.wait().unwrap();
    }
    let moved = sorted(numbers(&back));
    let mut once = moved.clone();
    once.dedup();
    assert_eq!(once, (0..messages as u64).collect::<Vec<_>>());
    println!("{from}: {} came twice after {kills} kills", moved.len() - once.len());
}

/// `cargo test --test program queues::many -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn many_messages_of_a_standard_queue_are_moved_in_spite_of_kills() {
    move_many("a", "b", 100_000);
}

#[test]
#[ignore = "takes minutes"]
fn many_messages_of_a_fifo_queue_are_moved_in_spite_of_kills() {
    move_many("a.fifo", "b.fifo", 20_000);
}

/// The manual says so: a message that does not match is received, and a redrive policy counts that.
#[test]
fn what_stays_again_and_again_becomes_a_dead_letter_of_its_queue_and_goes_back() {
    let queues = Queues::new();
    let letters = queues.queue("letters", QueueOptions::default());
    let options = QueueOptions::default().dead_letter_queue("letters").maximum_receives(1);
    let orders = queues.queue("orders", options);
    queues.folder.write("orders.txt", "one\ntwo\n");
    queues.run("send --queue orders orders.txt").expect(0, "2 delivered");
    let other = queues.queue("other", QueueOptions::default());
    let run = "move --from orders --to other --attribute state=failed";
    queues
        .run(run)
        .expect(0, "kept in orders: 2 messages that did not match");
    assert_eq!((orders.len(), letters.len()), (2, 0));
    queues.run(run).expect(0, "0 messages moved");
    assert_eq!((orders.len(), letters.len(), other.len()), (0, 2, 0));
    queues
        .run("redrive --queue letters")
        .expect(0, "2 messages moved from letters");
    assert_eq!((orders.len(), letters.len()), (2, 0));
}

#[test]
fn dead_letters_go_back_to_their_only_queue() {
    let queues = Queues::new();
    let letters = queues.filled("letters", 50);
    queues.run("redrive --queue letters").expect(2, "of any queue");
    let orders = queues.queue("orders", QueueOptions::default().dead_letter_queue("letters"));
    let refunds = queues.queue("refunds", QueueOptions::default());
    queues
        .run("redrive --queue letters --to refunds --max 10")
        .expect(0, "10 messages moved from letters to refunds");
    queues
        .run("redrive --queue letters --max 15")
        .expect(0, "15 messages moved from letters to orders in");
    queues.queue("returns", QueueOptions::default().dead_letter_queue("letters"));
    queues.run("redrive --queue letters").expect(2, "2 queues");
    assert_eq!((letters.len(), orders.len(), refunds.len()), (25, 15, 10));
}

/// Its policy has changed since then, so the service no longer lists it.
#[test]
fn a_dead_letter_of_another_queue_stays() {
    let queues = Queues::new();
    let letters = queues.queue("letters", QueueOptions::default());
    let lettered = || QueueOptions::default().dead_letter_queue("letters").maximum_receives(1);
    let returns = queues.queue("returns", lettered());
    let client = queues.simulator.sqs_client();
    for queue in [&queues.queue("orders", lettered()), &returns] {
        let name = queue.name();
        queues.folder.write("a.txt", format!("of {name}\n"));
        queues
            .run(&format!("send --queue {name} a.txt"))
            .expect(0, "1 delivered");
        for _ in 0..2 {
            let receive = client.receive_message().queue_url(queue.url()).visibility_timeout(0);
            queues.runtime.block_on(receive.send()).unwrap();
        }
    }
    assert_eq!(letters.len(), 2);
    let orders = queues.queue("orders", QueueOptions::default());
    let run = queues.run("redrive --queue letters --json");
    run.expect(
        1,
        "kept in letters: 1 message that came from another queue: give the queue",
    );
    assert_eq!(
        (&run.report()["moved"], &run.report()["foreign"]),
        (&1.into(), &1.into())
    );
    let bodies = |queue: &Queue| {
        queue
            .messages()
            .into_iter()
            .map(|message| message.body)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (bodies(&returns), bodies(&letters)),
        (vec!["of returns".to_owned()], vec!["of orders".to_owned()])
    );
    queues
        .run("redrive --queue letters --to orders")
        .expect(0, "1 message moved");
    assert_eq!(bodies(&orders), ["of orders"]);
}
