//! Updates and conditions of any form: one that is sent again after its answer was lost changes the item once.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::ItemWrite;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{InjectedFault, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use super::bytes::Bytes;

const NAMES: [&str; 8] = ["n", "s", "l", "tags", "m", "absent", "#n", "#other"];

const VALUES: [&str; 6] = [":one", ":n", ":s", ":l", ":tags", ":m"];

/// Spaces between two words, which are needed or not.
const SPACES: [&str; 4] = [" ", "  ", "\n", "\t"];

/// What belongs where something else was expected.
const STRAYS: [&str; 14] = [
    "", ",", "=", "(", ")", "[0]", ".", "SET", "ADD", "#", ":", "ä", "-", "NOT",
];

/// An update or a put of an item that exists or not, with a condition or none, each of whose placeholders has a value.
pub(crate) fn of_changes(data: &[u8]) {
    let mut bytes = Bytes(data);
    let (exists, is_put) = (bytes.one_in(2), bytes.one_in(8));
    let update = update(&mut bytes);
    let condition = bytes.one_in(2).then(|| condition(&mut bytes, 0));
    let change = || {
        let write = if is_put {
            ItemWrite::put(item(&[("s", AttributeValue::S("new".to_owned()))]))
        } else {
            ItemWrite::update(item(&[]), &update)
        };
        match &condition {
            Some(condition) => write.condition(condition),
            None => write,
        }
        .fields(&fields())
    };
    let what = || format!("exists: {exists}, put: {is_put}, {update}, {condition:?}");
    let once = delivered(exists, None, change());
    // What is refused is refused whatever happens before.
    for fault in [
        InjectedFault::Dropped { applied: true },
        InjectedFault::Dropped { applied: false },
        InjectedFault::internal_error(true),
    ] {
        let again = delivered(exists, Some(fault.clone()), change());
        assert_eq!(again.item, once.item, "{fault:?}, {}", what());
        // Whether a condition was true before is not always known after an answer was lost.
        if condition.is_none() {
            assert_eq!(again.is_delivered, once.is_delivered, "{fault:?}, {}", what());
        }
    }
    if let Some(condition) = condition.as_ref().filter(|_| !is_put && once.is_valid) {
        let negated = format!("NOT ({condition})");
        let negated = ItemWrite::update(item(&[]), &update)
            .condition(negated)
            .fields(&fields());
        let other = delivered(exists, None, negated);
        assert!(!other.is_valid || other.is_delivered != once.is_delivered, "{}", what());
    }
}

/// What has become of a change.
struct Outcome {
    is_delivered: bool,
    /// Whether it was applied, or its condition was false.
    is_valid: bool,
    item: Option<Value>,
}

fn delivered(exists: bool, fault: Option<InjectedFault>, change: ItemWrite) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let simulator = Simulator::new(1);
        let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
        let options = DeliveryOptions::default()
            .backoff(|_: u32| Duration::from_millis(1))
            .attempt_timeout(Duration::from_secs(1));
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders")
            .options(options)
            .item_writes();
        if exists {
            let filled = delivery.deliver([ItemWrite::put(item(&attributes()))]).await;
            filled.expect("the item is put");
        }
        table.script(fault);
        let (delivered, failed) = match delivery.deliver([change]).await {
            Ok(report) => (report.delivered, report.condition_failed),
            Err(error) => (error.report.delivered, error.report.condition_failed),
        };
        Outcome {
            is_delivered: delivered == 1,
            is_valid: delivered + failed == 1,
            item: table.items().into_iter().next(),
        }
    })
}

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

/// The values of `:one` and so on.
fn fields() -> HashMap<String, AttributeValue> {
    let mut fields: HashMap<_, _> = attributes().map(|(name, value)| (name.to_owned(), value)).into();
    fields.insert("one".to_owned(), number("1"));
    fields
}

/// An attribute of each type, each with the name of its type.
fn attributes() -> [(&'static str, AttributeValue); 5] {
    [
        ("n", number("7")),
        ("s", AttributeValue::S("text".to_owned())),
        ("l", AttributeValue::L(vec![number("1"), number("2")])),
        ("tags", AttributeValue::Ns(vec!["1".to_owned(), "2".to_owned()])),
        ("m", AttributeValue::M([("n".to_owned(), number("3"))].into())),
    ]
}

fn item(attributes: &[(&str, AttributeValue)]) -> HashMap<String, AttributeValue> {
    let mut item: HashMap<_, _> = attributes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    item.insert("id".to_owned(), AttributeValue::S("1".to_owned()));
    item
}

/// Mostly a valid one, and the simplest where no bytes are left.
fn update(bytes: &mut Bytes<'_>) -> String {
    let clauses = (0..=bytes.next() % 4 / 3).map(|_| {
        let clause = *bytes.one_of(&["SET", "REMOVE", "ADD", "DELETE", "set", "Remove"]);
        let parts = (0..=bytes.next() % 8 / 5).map(|_| match clause {
            "SET" | "set" => joined(&[&path(bytes), "=", &sum(bytes)], bytes),
            "ADD" | "DELETE" => {
                let (name, value) = *bytes.one_of(&[
                    ("tags", ":tags"),
                    ("n", ":one"),
                    ("absent", ":n"),
                    ("m.n", ":n"),
                    ("l", ":s"),
                ]);
                joined(&[name, value], bytes)
            }
            _ => path(bytes),
        });
        let parts: Vec<_> = parts.collect();
        joined(&[clause, &parts.join(",")], bytes)
    });
    let clauses: Vec<_> = clauses.collect();
    clauses.join(*bytes.one_of(&SPACES))
}

fn sum(bytes: &mut Bytes<'_>) -> String {
    let first = operand(bytes, 0);
    match bytes.next() % 8 {
        6 => joined(&[&first, "+", &operand(bytes, 0)], bytes),
        7 => joined(&[&first, "-", &operand(bytes, 0)], bytes),
        _ => first,
    }
}

fn operand(bytes: &mut Bytes<'_>, level: usize) -> String {
    match bytes.next() % if level < 3 { 8 } else { 6 } {
        5 => path(bytes),
        6 => format!("if_not_exists({}, {})", path(bytes), operand(bytes, level + 1)),
        7 => format!("list_append({}, {})", operand(bytes, level + 1), ":l"),
        _ => value(bytes),
    }
}

fn value(bytes: &mut Bytes<'_>) -> String {
    (*bytes.one_of(&VALUES)).to_owned()
}

fn path(bytes: &mut Bytes<'_>) -> String {
    let name = *bytes.one_of(&NAMES);
    match bytes.next() % 24 {
        16 => "l[0]".to_owned(),
        17 => "l[1]".to_owned(),
        18 => "l[9]".to_owned(),
        19 => "m.n".to_owned(),
        20 => "m.#n".to_owned(),
        21 => "m.absent.n".to_owned(),
        22 => format!("{name}.n"),
        23 => format!("{name}[0]"),
        _ => name.to_owned(),
    }
}

/// Mostly a valid one.
fn condition(bytes: &mut Bytes<'_>, level: usize) -> String {
    let operand = |bytes: &mut Bytes<'_>| if bytes.one_in(2) { path(bytes) } else { value(bytes) };
    match bytes.next() % if level < 4 { 9 } else { 5 } {
        0 => {
            let comparison = *bytes.one_of(&["=", "<>", "<", "<=", ">", ">="]);
            joined(&[&path(bytes), comparison, &operand(bytes)], bytes)
        }
        1 => joined(
            &[&path(bytes), "BETWEEN", &operand(bytes), "AND", &operand(bytes)],
            bytes,
        ),
        2 => format!("{} IN ({}, {})", path(bytes), operand(bytes), operand(bytes)),
        3 => {
            let function = bytes.one_of(&["attribute_exists", "attribute_not_exists"]);
            format!("{function}({})", path(bytes))
        }
        4 => {
            let function = bytes.one_of(&["begins_with", "contains", "attribute_type"]);
            format!("{function}({}, {})", path(bytes), bytes.one_of(&[":s", ":n", ":one"]))
        }
        5 => joined(&["NOT", &condition(bytes, level + 1)], bytes),
        6 => joined(
            &[&condition(bytes, level + 1), "AND", &condition(bytes, level + 1)],
            bytes,
        ),
        7 => joined(
            &[&condition(bytes, level + 1), "OR", &condition(bytes, level + 1)],
            bytes,
        ),
        _ => format!("({})", condition(bytes, level + 1)),
    }
}

/// The parts with spaces between them, and sometimes with what belongs nowhere.
fn joined(parts: &[&str], bytes: &mut Bytes<'_>) -> String {
    let mut joined = String::new();
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            joined += *bytes.one_of(&SPACES);
        }
        if bytes.one_in(40) {
            joined += *bytes.one_of(&STRAYS);
        }
        joined += part;
    }
    joined
}
