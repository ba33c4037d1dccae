//! The events of each source, and what the function answers to them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, Faults, InjectedFault, KeyType, Latency, Simulator, Table, TableOptions};
use lambda::Function;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

const SQS: &str = include_str!("../events/sqs.json");
const FIFO: &str = include_str!("../events/fifo.json");
const KINESIS: &str = include_str!("../events/kinesis.json");
const DYNAMODB: &str = include_str!("../events/dynamodb.json");

/// The time that Lambda gives an invocation by default.
const LEFT: Duration = Duration::from_secs(3);

fn event(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// A table of orders.
fn orders(simulator: &Simulator) -> (Table, Delivery<DynamoTable>) {
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
    (table, Delivery::to_dynamo(simulator.dynamo_client(), "orders"))
}

/// The response as the places of the records that it names. Every identifier is one of the event.
fn failures(event: &Value, response: &Value) -> Vec<usize> {
    let identifier = |record: &Value| {
        let of_stream = [
            &record["kinesis"]["sequenceNumber"],
            &record["dynamodb"]["SequenceNumber"],
        ];
        let identifier = [&record["messageId"]]
            .into_iter()
            .chain(of_stream)
            .find(|one| one.is_string());
        identifier.unwrap().clone()
    };
    let identifiers: Vec<Value> = event["Records"].as_array().unwrap().iter().map(identifier).collect();
    assert_eq!(response.as_object().unwrap().len(), 1, "{response}");
    let failures = response["batchItemFailures"].as_array().unwrap();
    let place = |failure: &Value| {
        assert_eq!(failure.as_object().unwrap().len(), 1, "{failure}");
        identifiers
            .iter()
            .position(|known| *known == failure["itemIdentifier"])
            .unwrap()
    };
    failures.iter().map(place).collect()
}

/// Invokes the function with an event after this change of it, while the table rejects some orders. Returns the places of the failed
/// records, and the orders that are in the table.
async fn invoke(json: &str, change: impl Fn(&mut Value), rejects: fn(&str) -> bool) -> (Vec<usize>, Vec<String>) {
    let simulator = Simulator::new(1);
    let (table, delivery) = orders(&simulator);
    table.reject_while(move |entry| rejects(entry["id"]["S"].as_str().unwrap()));
    let mut event = event(json);
    change(&mut event);
    let started = Instant::now();
    let function = Function::new(delivery, DeliveryOptions::default());
    let response = function.handle(event.clone(), LEFT).await.unwrap();
    assert!(started.elapsed() < LEFT, "{:?}", started.elapsed());
    let ids = table
        .items()
        .into_iter()
        .map(|item| item["id"]["S"].as_str().unwrap().to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    (failures(&event, &response), ids)
}

fn numbers(ids: &[String]) -> Vec<usize> {
    ids.iter()
        .map(|id| id.trim_start_matches("order-").parse().unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn without_a_failure_the_list_is_empty_and_everything_is_written() {
    for (json, written) in [
        (SQS, vec![1, 2, 3, 4]),
        (FIFO, vec![1, 2, 3, 4, 5, 6]),
        (KINESIS, vec![1, 2, 3, 4]),
        // The fourth change is a deletion.
        (DYNAMODB, vec![1, 2, 3]),
    ] {
        let (failed, ids) = invoke(json, |_| {}, |_| false).await;
        assert_eq!((failed, numbers(&ids)), (vec![], written));
    }
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_a_queue_has_all_of_them_and_a_stream_its_first_before_the_time_is_over() {
    for (json, failed) in [
        (SQS, vec![0, 1, 2, 3]),
        (FIFO, vec![0, 1, 2, 3, 4, 5]),
        (KINESIS, vec![0]),
        (DYNAMODB, vec![0]),
    ] {
        assert_eq!(invoke(json, |_| {}, |_| true).await, (failed, vec![]));
    }
}

/// The second record is not an order, or a change without an image.
fn break_second(event: &mut Value) {
    let record = &mut event["Records"][1];
    if record["body"].is_string() {
        record["body"] = json!("hello");
    } else if record["kinesis"].is_object() {
        record["kinesis"]["data"] = json!("aGVsbG8=");
    } else {
        record["dynamodb"].as_object_mut().unwrap().remove("NewImage");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_behind_a_record_that_is_no_order_is_not_written_where_it_has_an_order() {
    for (json, failed, written) in [
        (SQS, vec![1], vec![1, 3, 4]),
        // The second message and the others of its group.
        (FIFO, vec![1, 3, 5], vec![1, 3, 5]),
        (KINESIS, vec![1], vec![1]),
        (DYNAMODB, vec![1], vec![1]),
    ] {
        let (failures, ids) = invoke(json, break_second, |_| false).await;
        assert_eq!((failures, numbers(&ids)), (failed, written));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_behind_a_record_that_is_not_written_in_time_comes_again_with_it() {
    for (json, failed) in [
        (SQS, vec![2]),
        (FIFO, vec![2, 4]),
        (KINESIS, vec![2]),
        (DYNAMODB, vec![2]),
    ] {
        let (failures, ids) = invoke(json, |_| {}, |id| id == "order-3").await;
        assert_eq!(failures, failed);
        assert!(!numbers(&ids).contains(&3));
    }
}

/// Groups share a standard queue fairly, and are in no order.
#[tokio::test(start_paused = true)]
async fn the_groups_of_a_standard_queue_hold_nothing_back() {
    let with_groups = |event: &mut Value| {
        for record in event["Records"].as_array_mut().unwrap() {
            record["attributes"]["MessageGroupId"] = json!("anna");
        }
        break_second(event);
    };
    let (failures, ids) = invoke(SQS, with_groups, |_| false).await;
    assert_eq!((failures, numbers(&ids)), (vec![1], vec![1, 3, 4]));
}

/// floci-io/floci#3152: a response with an empty or a missing identifier, which some emulators take for a success.
#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_answered_record_by_record_fails_as_a_whole_and_writes_nothing() {
    let simulator = Simulator::new(1);
    let (table, delivery) = orders(&simulator);
    let function = Function::new(delivery, DeliveryOptions::default());
    let changed = |json: &str, path: &str, value: Value| {
        let mut event = event(json);
        *event.pointer_mut(path).unwrap() = value;
        event
    };
    for event in [
        changed(SQS, "/Records/0/messageId", Value::Null),
        changed(SQS, "/Records/3/messageId", json!("")),
        changed(KINESIS, "/Records/2/kinesis/sequenceNumber", json!("")),
        changed(DYNAMODB, "/Records/1/dynamodb/SequenceNumber", Value::Null),
        changed(SQS, "/Records/0/eventSource", json!("aws:s3")),
        json!({"Records": []}),
        json!({"orders": []}),
        Value::Null,
    ] {
        assert!(function.handle(event, LEFT).await.is_err());
    }
    assert!(table.is_empty());
}

/// As many messages of a standard queue.
fn of_queue(numbers: std::ops::Range<usize>) -> Value {
    let record = event(SQS)["Records"][0].clone();
    let records = numbers.map(|number| {
        let mut record = record.clone();
        record["messageId"] = json!(format!("message-{number}"));
        record["body"] = json!(json!({"id": format!("order-{number}"), "cents": number}).to_string());
        record
    });
    json!({"Records": records.collect::<Vec<_>>()})
}

/// The calls are throttled while the first invocation finds the pace of the table; later ones begin at it.
#[tokio::test(start_paused = true)]
async fn the_pace_is_kept_between_invocations() {
    let throttled = async |is_kept: bool| {
        let simulator = Simulator::new(1);
        simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
        let (_, delivery) = orders(&simulator);
        let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(1_000.0).burst(100.0));
        let table = simulator.table("orders", options);
        let new = || {
            Function::new(
                delivery.clone().options(DeliveryOptions::default()),
                DeliveryOptions::default(),
            )
        };
        let function = new();
        for invocation in 0..10 {
            let event = of_queue(invocation * 1_000..(invocation + 1) * 1_000);
            let of_its_own = new();
            let function = if is_kept { &function } else { &of_its_own };
            let response = function.handle(event.clone(), Duration::from_secs(30)).await.unwrap();
            assert_eq!(failures(&event, &response), [0_usize; 0]);
        }
        assert_eq!(table.len(), 10_000);
        table.statistics().throttled
    };
    let (kept, anew) = (throttled(true).await, throttled(false).await);
    assert!(kept * 3 < anew, "{kept} and {anew} rejections");
}

/// A message of a FIFO queue: the next version of an order.
#[derive(Debug, Clone)]
struct Message {
    number: usize,
    group: u8,
    order: u8,
}

impl Message {
    fn record(&self) -> Value {
        let mut record = event(FIFO)["Records"][0].clone();
        record["messageId"] = json!(self.number.to_string());
        record["attributes"]["MessageGroupId"] = json!(self.group.to_string());
        let order = json!({"id": format!("{}-{}", self.group, self.order), "cents": self.number});
        record["body"] = json!(order.to_string());
        record
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A queue that sends again what the response names, as Lambda does, while the table throttles, fails and loses answers.
    #[test]
    fn no_message_of_a_fifo_queue_is_settled_before_one_that_is_ahead_of_it_in_its_group(
        messages in proptest::collection::vec((0..3_u8, 0..3_u8), 1..60),
        seed: u64,
        rejected in proptest::collection::hash_set((0..3_u8, 0..3_u8), 0..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let simulator = Simulator::new(seed);
            let (table, delivery) = orders(&simulator);
            table.set_faults(Faults::none().unprocessed(0.3).calls(0.2, InjectedFault::Dropped { applied: true }));
            let rejected: HashSet<String> = rejected.iter().map(|(group, order)| format!("{group}-{order}")).collect();
            table.reject_while(move |entry| rejected.contains(entry["id"]["S"].as_str().unwrap()));
            let function = Function::new(delivery, DeliveryOptions::default());
            let messages = messages.iter().enumerate();
            let mut waiting: Vec<Message> = messages.map(|(number, (group, order))| Message { number, group: *group, order: *order }).collect();
            let mut newest = HashMap::new();
            for message in &waiting {
                newest.insert(format!("{}-{}", message.group, message.order), message.number);
            }
            let mut invocations = 0;
            while !waiting.is_empty() {
                invocations += 1;
                if invocations == 4 {
                    table.reject_while(|_| false);
                }
                assert!(invocations < 200, "{} messages are left", waiting.len());
                let batch: Vec<Message> = waiting.iter().take(10).cloned().collect();
                let event = json!({"Records": batch.iter().map(Message::record).collect::<Vec<_>>()});
                let response = function.handle(event.clone(), LEFT).await.unwrap();
                let failed = failures(&event, &response);
                let settled: Vec<&Message> = (0..batch.len()).filter(|place| !failed.contains(place)).map(|place| &batch[place]).collect();
                for message in settled {
                    let first = waiting.iter().find(|one| one.group == message.group).unwrap();
                    assert_eq!(first.number, message.number, "it has passed another one");
                    let id = format!("{}-{}", message.group, message.order);
                    let item = table.item(&json!({"id": {"S": id}})).expect("it was written");
                    let cents: usize = item["cents"]["N"].as_str().unwrap().parse().unwrap();
                    assert!(cents >= message.number);
                    waiting.retain(|one| one.number != message.number);
                }
            }
            for (id, number) in newest {
                let item = table.item(&json!({"id": {"S": id}})).unwrap();
                assert_eq!(item["cents"]["N"], json!(number.to_string()));
            }
        });
    }
}
