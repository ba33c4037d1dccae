//! Records, messages and events that are put.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_batch_delivery::targets::kinesis::deaggregate;
use aws_batch_simulator::{
    Capacity, DeliveryStream, DeliveryStreamOptions, EventBus, EventBusOptions, InjectedFault, Latency, Server,
    Simulator, Stream, StreamOptions, Topic, TopicOptions,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::program::Folder;

const TOPIC: &str = "arn:aws:sns:us-east-1:000000000000:orders.fifo";

/// A simulator that the program reaches as it reaches AWS, with one of each.
struct Services {
    stream: Stream,
    delivery_stream: DeliveryStream,
    topic: Topic,
    bus: EventBus,
    server: Server,
    _runtime: Runtime,
}

impl Services {
    fn new() -> Self {
        Self::with_latency(Duration::from_millis(5))
    }

    fn with_latency(latency: Duration) -> Self {
        let runtime = Runtime::new().unwrap();
        let simulator = Simulator::new(7);
        simulator.set_latency(Latency::fixed(latency));
        let within = runtime.enter();
        let services = Self {
            stream: simulator.stream("orders", StreamOptions::shards(4).capacity(Capacity::unlimited())),
            delivery_stream: simulator.delivery_stream("orders", DeliveryStreamOptions::default()),
            topic: simulator.topic("orders.fifo", TopicOptions::default()),
            bus: simulator.event_bus("orders", EventBusOptions::default()),
            server: runtime.block_on(simulator.serve("127.0.0.1:0")).unwrap(),
            _runtime: Runtime::new().unwrap(),
        };
        drop(within);
        Self {
            _runtime: runtime,
            ..services
        }
    }

    fn put(&self, arguments: &str) -> String {
        format!("put --endpoint-url {} {arguments}", self.server.endpoint())
    }

    /// The lines in the data stream, in the order of their numbers.
    fn stored(&self) -> String {
        let records = self.stream.records().into_iter();
        numbered(records.map(|record| record.data).map(|mut data| {
            data.push(b'\n');
            data
        }))
    }
}

/// The lines that a stream has, in the order of their numbers.
fn numbered(stored: impl Iterator<Item = Vec<u8>>) -> String {
    let mut stored: Vec<String> = stored.map(|line| String::from_utf8(line).unwrap()).collect();
    stored.sort_by_key(|line| line.trim()["line ".len()..].parse::<u32>().unwrap());
    stored.concat()
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.flat_map(|line| [line, "\n".to_owned()]).collect()
}

fn lines(count: usize) -> String {
    joined((0..count).map(|number| format!("line {number}")))
}

#[test]
fn lines_become_records_of_a_stream_whatever_fails_meanwhile() {
    let folder = Folder::new();
    let services = Services::new();
    services.stream.script([
        InjectedFault::Unprocessed(5),
        InjectedFault::Throttle,
        InjectedFault::internal_error(false),
    ]);
    folder.write("a.txt", lines(1_000));
    folder
        .run(&services.put("--stream orders a.txt"))
        .expect(0, "1,000 delivered to orders");
    assert_eq!(services.stored(), lines(1_000));
    let shards = services.stream.records().into_iter().map(|record| record.shard);
    assert_eq!(shards.collect::<std::collections::BTreeSet<_>>().len(), 4);
}

/// An emulator loses records of calls at the same time, see `localstack/README.md`. The program loses none.
#[test]
fn calls_at_the_same_time_put_each_line_once() {
    const LATENCY: Duration = Duration::from_millis(200);
    let folder = Folder::new();
    let services = Services::with_latency(LATENCY);
    services.stream.keep_journal();
    folder.write("a.txt", lines(10_000));
    folder
        .run(&services.put("--stream orders --strategy full-jitter --concurrency 16 a.txt"))
        .expect(0, "10,000 delivered to orders");
    assert_eq!(services.stored(), lines(10_000));
    let arrivals: BTreeMap<u64, Instant> = services
        .stream
        .journal()
        .into_iter()
        .map(|record| (record.call, record.at))
        .collect();
    // Two calls that arrive within the time of an answer are in flight together.
    let together = |begin: &Instant| {
        let until = *begin + LATENCY;
        arrivals.values().filter(|at| (*begin..until).contains(at)).count()
    };
    assert!(arrivals.values().map(together).max() > Some(1));
}

#[test]
fn records_have_the_partition_keys_that_they_are_given() {
    let folder = Folder::new();
    let services = Services::new();
    folder.write(
        "a.jsonl",
        "{\"data\":{\"id\":1},\"partition_key\":\"own\"}\n{\"data\":\"two\"}\n",
    );
    folder
        .run(&services.put("--stream orders --format json --partition-key given a.jsonl"))
        .expect(0, "2 delivered");
    let mut records: Vec<_> = services
        .stream
        .records()
        .into_iter()
        .map(|record| (record.partition_key, String::from_utf8(record.data).unwrap()))
        .collect();
    records.sort();
    let expected = [("given", "two"), ("own", r#"{"id":1}"#)];
    assert_eq!(records, expected.map(|(key, data)| (key.to_owned(), data.to_owned())));
}

#[test]
fn many_lines_become_one_record_if_they_are_aggregated() {
    let folder = Folder::new();
    let services = Services::new();
    folder.write("a.txt", lines(2_000));
    folder
        .run(&services.put("--stream orders --aggregate a.txt"))
        .expect(0, "2,000 delivered");
    let records = services.stream.records();
    assert!(records.len() < 50, "{} records", records.len());
    let users = records.iter().flat_map(|record| deaggregate(&record.data).unwrap());
    let read = numbered(users.map(|user| [user.data().as_ref(), b"\n"].concat()));
    assert_eq!(read, lines(2_000));
    folder
        .run("put --simulate 1000 --stream orders --aggregate a.txt")
        .expect(0, "Kinesis record");
    folder
        .run("put --stream orders --aggregate --dry-run a.txt")
        .expect(0, "bytes in payload units of 25 KiB; nothing was sent");
    folder
        .run("put --delivery-stream orders --aggregate --dry-run a.txt")
        .expect(2, "cannot be used with");
}

#[test]
fn lines_of_a_delivery_stream_keep_their_line_feeds() {
    let folder = Folder::new();
    let services = Services::new();
    folder.write("a.txt", lines(700));
    folder
        .run(&services.put("--delivery-stream orders --order file a.txt"))
        .expect(0, "700 delivered to orders");
    let stored = services.delivery_stream.records().into_iter();
    assert_eq!(numbered(stored), lines(700));
}

#[test]
fn messages_of_a_group_are_published_in_the_order_of_their_lines() {
    let folder = Folder::new();
    let services = Services::new();
    services
        .topic
        .script([InjectedFault::Unprocessed(3), InjectedFault::Unprocessed(3)]);
    let line =
        |number: usize| json!({"message": number.to_string(), "subject": "s", "group_id": format!("g{}", number % 7)});
    folder.write("a.jsonl", joined((0..200).map(|number| line(number).to_string())));
    folder
        .run(&services.put(&format!("--topic {TOPIC} --format json a.jsonl")))
        .expect(0, "200 delivered");
    let messages = services.topic.messages();
    assert_eq!((messages.len(), messages[0].subject.as_deref()), (200, Some("s")));
    for group in 0..7 {
        let of_group = messages
            .iter()
            .filter(|message| message.group == Some(format!("g{group}")));
        let numbers: Vec<usize> = of_group.map(|message| message.message.parse().unwrap()).collect();
        assert_eq!(
            numbers,
            (0..200).filter(|number| number % 7 == group).collect::<Vec<_>>()
        );
    }
    folder.run(&services.put(&format!("--topic {TOPIC} a.jsonl"))).expect(
        2,
        "messages of a FIFO topic have a group_id: give them by --format json",
    );
    folder.write("b.txt", "one\ntwo\n");
    folder
        .run(&services.put(&format!("--topic {TOPIC} --group-id all b.txt")))
        .expect(0, "2 delivered");
    let published = services.topic.messages();
    let last = published[200..]
        .iter()
        .map(|message| (message.group.as_deref(), message.message.as_str()));
    assert_eq!(last.collect::<Vec<_>>(), [(Some("all"), "one"), (Some("all"), "two")]);
    folder.write("c.jsonl", "{\"message\":\"one\"}\n");
    folder
        .run(&services.put(&format!("--topic {TOPIC} --format json c.jsonl")))
        .expect(1, "c.jsonl:1: a message of a FIFO topic needs a group_id");
    folder
        .run(&services.put("--topic orders a.jsonl"))
        .expect(2, "an ARN is needed");
}

#[test]
fn events_that_are_refused_are_dead_letters_and_can_be_put_again() {
    let folder = Folder::new();
    let services = Services::new();
    services
        .bus
        .poison(|event| event["Detail"].as_str().unwrap().contains("bad"));
    folder.write("a.jsonl", "{\"id\":1}\n{\"id\":\"bad\"}\n{\"id\":3}\n");
    let put = services.put("--bus orders --source shop --detail-type order");
    folder
        .run(&format!("{put} --dead-letter dead a.jsonl"))
        .expect(1, "2 delivered to orders")
        .expect(1, "NotAuthorizedForSourceException")
        .expect(1, "1 dead letter in dead");
    assert_eq!(folder.read("dead"), "{\"id\":\"bad\"}\n");
    services.bus.poison(|_| false);
    folder.run(&format!("{put} dead")).expect(0, "1 delivered");
    let events = services.bus.events();
    assert_eq!(events.len(), 3);
    assert_eq!(
        (&events[2]["Source"], &events[2]["DetailType"]),
        (&Value::from("shop"), &Value::from("order"))
    );
    folder
        .run(&services.put("--bus missing --source shop --detail-type order a.jsonl"))
        .expect(1, "ResourceNotFoundException");
}

#[test]
fn a_put_goes_on_where_it_was_stopped() {
    let folder = Folder::new();
    let services = Services::new();
    folder.write("a.txt", lines(300) + &"x".repeat(1_100_000) + "\n" + &lines(2));
    let put = services.put("--delivery-stream orders --resume state a.txt");
    folder.run(&put).expect(1, "302 delivered").expect(1, "a.txt:301: ");
    folder.run(&put).expect(0, "303 lines are settled by earlier runs");
    assert_eq!(services.delivery_stream.len(), 302);
    folder
        .run(&put.replace("--delivery-stream", "--stream"))
        .expect(2, "the command was put --delivery-stream, and is put --stream");
}

#[test]
fn a_simulated_service_stores_what_is_put() {
    let folder = Folder::new();
    folder.write("a.txt", lines(500));
    folder.write("a.jsonl", "{\"id\":1}\n".repeat(30));
    for (arguments, words) in [
        (
            "--stream arn:aws:kinesis:us-east-1:1:stream/orders a.txt",
            "500 records",
        ),
        ("--delivery-stream orders a.txt", "500 records"),
        ("--topic arn:aws:sns:us-east-1:1:orders a.txt", "500 messages"),
        (
            "--topic arn:aws:sns:us-east-1:1:orders.fifo --group-id g a.txt",
            "500 messages",
        ),
        ("--bus orders --source shop --detail-type order a.jsonl", "30 events"),
    ] {
        folder
            .run(&format!("put --simulate 100000 {arguments}"))
            .expect(0, &format!("the simulator stored what was delivered: {words}"));
    }
}

#[test]
fn a_dry_run_of_a_put_needs_no_account_and_one_destination() {
    let folder = Folder::new();
    folder.write("a.txt", lines(1) + &"x".repeat(30_000) + "\n");
    folder
        .run("put --stream orders --dry-run a.txt")
        .expect(0, "2 good lines: ")
        .expect(0, "3 payload units of 25 KiB; nothing was sent");
    folder
        .run("put --bus orders --source shop --detail-type order --dry-run a.txt")
        .expect(
            1,
            "a.txt:1: the detail of an event is a JSON object, but this is not one",
        );
    folder.run("put --bus orders --dry-run a.txt").expect(
        2,
        "give the rest by --source and --detail-type, or all of it by --format json",
    );
    folder.run("put --dry-run a.txt").expect(2, "--stream <NAME>");
    folder
        .run("put --stream orders --bus orders --dry-run a.txt")
        .expect(2, "cannot be used with");
}

#[test]
fn an_option_of_another_destination_is_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "a\n");
    let topic = "--topic arn:aws:sns:eu-central-1:123456789012:orders";
    for (destination, option) in [
        ("--delivery-stream logs", "--partition-key a"),
        (topic, "--partition-key a"),
        ("--stream orders", "--group-id a"),
        ("--stream orders", "--loose-order"),
        (topic, "--ordered"),
        ("--bus orders", "--group-id a"),
        ("--stream orders", "--source a"),
        (topic, "--detail-type a"),
    ] {
        folder
            .run(&format!("put --simulate 10 {destination} {option} a.txt"))
            .expect(2, "cannot be used with");
    }
}

/// A fault of a call fails one of its records or messages alone. Those behind it in its group or key must not pass it.
#[test]
fn what_fails_alone_is_not_passed_by_what_is_behind_it() {
    let lines =
        joined((0..40).map(|number: usize| json!({"message": number.to_string(), "group_id": "g"}).to_string()));
    for (options, keeps) in [("", true), ("--loose-order", false)] {
        let (folder, services) = (Folder::new(), Services::new());
        services.topic.script([InjectedFault::Unprocessed(1)]);
        folder.write("a.jsonl", &lines);
        folder
            .run(&services.put(&format!("--topic {TOPIC} --format json {options} a.jsonl")))
            .expect(0, "40 delivered");
        let arrived: Vec<u32> = services
            .topic
            .messages()
            .iter()
            .map(|message| message.message.parse().unwrap())
            .collect();
        assert_eq!(arrived.is_sorted(), keeps, "{arrived:?}");
    }
    for (options, keeps) in [("--ordered", true), ("--ordered --aggregate", true), ("", false)] {
        let (folder, services) = (Folder::new(), Services::new());
        services.stream.script([InjectedFault::Unprocessed(1)]);
        folder.write("a.txt", joined((0..40).map(|number: usize| number.to_string())));
        folder
            .run(&services.put(&format!("--stream orders --partition-key k {options} a.txt")))
            .expect(0, "40 delivered");
        let records = services.stream.records();
        let users = records.iter().flat_map(|record| match deaggregate(&record.data) {
            Some(users) => users.iter().map(|user| user.data().as_ref().to_vec()).collect(),
            None => vec![record.data.clone()],
        });
        let arrived: Vec<u32> = users
            .map(|data| String::from_utf8(data).unwrap().parse().unwrap())
            .collect();
        assert_eq!(arrived.is_sorted(), keeps, "{options}: {arrived:?}");
    }
}

/// For the figures in the manual: `cargo test --package batch-deliver --features put --test program -- --ignored --nocapture what_an_order_costs`
#[test]
#[ignore = "takes half a minute, and prints figures"]
fn what_an_order_costs_a_stream() {
    for (keys, count) in [(1, 500), (100, 20_000)] {
        for options in ["", "--ordered", "--ordered --aggregate"] {
            let (folder, services) = (Folder::new(), Services::with_latency(Duration::from_millis(20)));
            let line = |number: usize| json!({"data": number, "partition_key": (number % keys).to_string()});
            folder.write("a", joined((0..count).map(|number| line(number).to_string())));
            let run = folder.run(&services.put(&format!("--stream orders --format json {options} a")));
            run.expect(0, "delivered");
            println!("{keys} keys {options}: {}", run.stderr.lines().last().unwrap());
        }
    }
}
