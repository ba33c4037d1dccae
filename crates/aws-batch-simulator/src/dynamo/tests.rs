//! The simulator against the emulator that evaluates its expressions: the same calls have the same answers, and leave the same
//! items.

mod batches;
mod edges;

use dynoxide::{Database, DynoxideError};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, from_value, json, to_value};

use super::{API, KeyType, Table, TableOptions, Tables, Tokens, operate};
use crate::journal::Answered;
use crate::registry::Registry;
use crate::wire::Outcome;

const TABLES: [&str; 3] = ["orders", "events", "blobs"];

/// Both, with the same tables.
struct Pair {
    tables: Tables,
    tokens: Tokens,
    ours: Vec<Table>,
    emulator: Database,
}

/// The members of a call or of an action, and the name of what it does.
type Request = (&'static str, Map<String, Value>);

impl Pair {
    fn new() -> Self {
        let tables: Tables = Registry::new("table", 1);
        let emulator = Database::memory().unwrap();
        let ours = TABLES.map(|name| {
            let by_id = |kind: KeyType| {
                (
                    TableOptions::key("id", kind),
                    json!([{"AttributeName": "id", "KeyType": "HASH"}]),
                    json!([{"AttributeName": "id", "AttributeType": kind.tag()}]),
                )
            };
            let (options, keys, definitions) = match name {
                "orders" => by_id(KeyType::S),
                "blobs" => by_id(KeyType::B),
                _ => (
                    TableOptions::key("id", KeyType::N).sort_key("at", KeyType::S),
                    json!([{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]),
                    json!([
                        {"AttributeName": "id", "AttributeType": "N"},
                        {"AttributeName": "at", "AttributeType": "S"},
                    ]),
                ),
            };
            let request = json!({
                "TableName": name,
                "KeySchema": keys,
                "AttributeDefinitions": definitions,
                "BillingMode": "PAY_PER_REQUEST",
            });
            emulator.create_table(from_value(request).unwrap()).unwrap();
            tables.add(name, |seed| Table::new(name, options, seed))
        });
        Self {
            tables,
            tokens: Tokens::default(),
            ours: ours.into(),
            emulator,
        }
    }

    /// The answers of both to one call.
    fn call(&self, operation: &str, body: &Value) -> (Value, Value) {
        let answered = Answered::default();
        let ours = match operate(&self.tables, &self.tokens, operation, body.clone(), &answered) {
            Outcome::Success(answer) => answer,
            Outcome::Refused(refusal) => serde_json::from_slice(&API.error(&refusal, "")).unwrap(),
            Outcome::Fault(_) => panic!("there are no faults"),
        };
        let update = body.clone();
        let body = body.clone();
        let mut theirs = match operation {
            "PutItem" => answer(from_value(body), |request| {
                self.emulator.put_item(request).map(|answer| to_value(answer).unwrap())
            }),
            "UpdateItem" => answer(from_value(body), |request| {
                self.emulator
                    .update_item(request)
                    .map(|answer| to_value(answer).unwrap())
            }),
            "DeleteItem" => answer(from_value(body), |request| {
                self.emulator
                    .delete_item(request)
                    .map(|answer| to_value(answer).unwrap())
            }),
            "TransactWriteItems" => answer(from_value(body), |request| {
                self.emulator
                    .transact_write_items(request)
                    .map(|answer| to_value(answer).unwrap())
            }),
            _ => panic!("{operation}"),
        };
        // The service returns nothing if there was no item, as in the tests of other emulators. This one returns the key.
        if ours["Attributes"].is_null() && update["ReturnValues"] == "ALL_OLD" && theirs["Attributes"] == update["Key"]
        {
            theirs.as_object_mut().unwrap().remove("Attributes");
        }
        (comparable(ours), comparable(theirs))
    }

    /// The items of both, in the same order.
    fn items(&self) -> (Vec<String>, Vec<String>) {
        let sorted = |items: Vec<Value>| {
            let mut items: Vec<String> = items.into_iter().map(|item| comparable(item).to_string()).collect();
            items.sort();
            items
        };
        let ours = self.ours.iter().flat_map(Table::items).collect();
        let theirs = TABLES.iter().flat_map(|name| {
            let request = from_value(json!({"TableName": name})).unwrap();
            let items = self.emulator.scan(request).unwrap().items.unwrap_or_default();
            items.into_iter().map(|item| to_value(item).unwrap())
        });
        (sorted(ours), sorted(theirs.collect()))
    }
}

fn answer<Q>(request: serde_json::Result<Q>, perform: impl FnOnce(Q) -> Result<Value, DynoxideError>) -> Value {
    match request.map(perform) {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => serde_json::from_str(&error.to_json()).unwrap(),
        // Some checks are made while the request is read.
        Err(error) if error.to_string().starts_with("VALIDATION:") => {
            json!({"__type": "com.amazon.coral.validate#ValidationException"})
        }
        Err(error) => panic!("the emulator cannot read it: {error}"),
    }
}

/// Sets have no order, and neither have the tables of an answer. Which of several mistakes a request is refused for does not
/// matter.
fn comparable(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            let code = members.get("__type").and_then(Value::as_str).unwrap_or_default();
            if code.ends_with("#ValidationException") || code.ends_with("#IdempotentParameterMismatchException") {
                members.retain(|name, _| name == "__type");
            }
            let members = std::mem::take(members);
            let members = members.into_iter().map(|(name, mut member)| {
                if let ("SS" | "NS" | "ConsumedCapacity", Value::Array(elements)) = (name.as_str(), &mut member) {
                    elements.sort_by_key(Value::to_string);
                }
                (name, comparable(member))
            });
            members.collect()
        }
        Value::Array(elements) => std::mem::take(elements).into_iter().map(comparable).collect(),
        Value::Number(number) => json!(number.as_f64()),
        _ => value,
    }
}

fn key() -> impl Strategy<Value = (&'static str, Value)> {
    let id = || 0..3_u8;
    prop_oneof![
        10 => id().prop_map(|id| ("orders", json!({"id": {"S": id.to_string()}}))),
        10 => (id(), select(vec!["early", "late"])).prop_map(|(id, at)| {
            ("events", json!({"id": {"N": id.to_string()}, "at": {"S": at}}))
        }),
        // Not keys of this table.
        1 => Just(("orders", json!({"id": {"N": "1"}}))),
        1 => Just(("events", json!({"id": {"N": "1"}}))),
    ]
}

fn attributes() -> impl Strategy<Value = Map<String, Value>> {
    let number = (-3..9_i8).prop_map(|number| json!({"N": number.to_string()}));
    let text = select(vec![0, 1, 7, 900, 5_000]).prop_map(|length: usize| json!({"S": "x".repeat(length)}));
    let set = select(vec![vec!["x"], vec!["x", "y"], vec!["y", "z"]]).prop_map(|set| json!({"SS": set}));
    let list = vec(0..3_u8, 0..3).prop_map(|list| {
        let elements: Vec<Value> = list
            .into_iter()
            .map(|number| json!({"N": number.to_string()}))
            .collect();
        json!({"L": elements})
    });
    let map = (0..3_u8).prop_map(|number| json!({"M": {"k": {"N": number.to_string()}}}));
    let parts = (
        option::of(number),
        option::of(text),
        option::of(set),
        option::of(list),
        option::of(map),
    );
    parts.prop_map(|(n, b, s, l, m)| {
        let parts = [("n", n), ("b", b), ("s", s), ("l", l), ("m", m)];
        let parts = parts
            .into_iter()
            .filter_map(|(name, part)| Some((name.to_owned(), part?)));
        parts.collect()
    })
}

/// An expression and the values that it uses.
type Expression = (&'static str, Value);

fn condition() -> impl Strategy<Value = Expression> {
    select(vec![
        ("attribute_not_exists(id)", json!({})),
        ("attribute_exists(id)", json!({})),
        ("attribute_exists(n) AND attribute_not_exists(b)", json!({})),
        ("n > :c", json!({":c": {"N": "2"}})),
        ("n = :c OR attribute_not_exists(id)", json!({":c": {"N": "1.0"}})),
        ("n BETWEEN :c AND :d", json!({":c": {"N": "0"}, ":d": {"N": "4"}})),
        ("NOT n IN (:c, :d)", json!({":c": {"N": "0"}, ":d": {"N": "4"}})),
        ("begins_with(b, :c)", json!({":c": {"S": "xx"}})),
        ("contains(s, :c)", json!({":c": {"S": "y"}})),
        (
            "size(l) >= :c AND attribute_type(m, :d)",
            json!({":c": {"N": "1"}, ":d": {"S": "M"}}),
        ),
        ("m.k <> :c", json!({":c": {"N": "1"}})),
        ("l[0] = :c", json!({":c": {"N": "1"}})),
        // Not expressions.
        ("n >", json!({})),
        ("n > :unknown", json!({})),
        ("attribute_exists(n)", json!({":unused": {"N": "1"}})),
    ])
}

fn update() -> impl Strategy<Value = Expression> {
    select(vec![
        ("SET n = :u", json!({":u": {"N": "5"}})),
        ("SET n = n + :u", json!({":u": {"N": "2"}})),
        (
            "SET n = if_not_exists(n, :u) - :v",
            json!({":u": {"N": "0"}, ":v": {"N": "1"}}),
        ),
        ("ADD n :u", json!({":u": {"N": "-1"}})),
        ("ADD s :u", json!({":u": {"SS": ["x", "z"]}})),
        ("DELETE s :u", json!({":u": {"SS": ["x", "y"]}})),
        ("REMOVE b, l[0]", json!({})),
        (
            "SET l = list_append(if_not_exists(l, :u), :u)",
            json!({":u": {"L": [{"N": "1"}]}}),
        ),
        ("SET m.k = :u REMOVE n", json!({":u": {"N": "7"}})),
        (
            "SET m = :u, b = :v",
            json!({":u": {"M": {"k": {"N": "1"}}}, ":v": {"S": "y".repeat(1_500)}}),
        ),
        ("SET b = n", json!({})),
        // Not updates.
        ("SET id = :u", json!({":u": {"S": "0"}})),
        ("SET n = ", json!({})),
        ("SET m.k = :u, m = :u", json!({":u": {"N": "7"}})),
    ])
}

/// A change of an item. Alone it may ask for values, which an action cannot.
fn change() -> impl Strategy<Value = Request> {
    let kind = select(vec!["Put", "Update", "Delete"]);
    let parts = (
        kind,
        key(),
        attributes(),
        option::weighted(0.6, condition()),
        update(),
        any::<bool>(),
    );
    parts.prop_map(|(kind, (table, key), attributes, condition, update, returns_item)| {
        let mut request = Map::from_iter([("TableName".to_owned(), json!(table))]);
        let mut values = Map::new();
        let mut add = |request: &mut Map<String, Value>, member: &str, (expression, used): Expression| {
            request.insert(member.to_owned(), json!(expression));
            values.extend(used.as_object().unwrap().clone());
        };
        if kind == "Put" {
            let mut item = attributes;
            item.extend(key.as_object().unwrap().clone());
            request.insert("Item".to_owned(), Value::Object(item));
        } else {
            request.insert("Key".to_owned(), key);
        }
        if kind == "Update" {
            add(&mut request, "UpdateExpression", update);
        }
        if let Some(condition) = condition {
            add(&mut request, "ConditionExpression", condition);
            if returns_item {
                request.insert("ReturnValuesOnConditionCheckFailure".to_owned(), json!("ALL_OLD"));
            }
        }
        if !values.is_empty() {
            request.insert("ExpressionAttributeValues".to_owned(), Value::Object(values));
        }
        (kind, request)
    })
}

fn check() -> impl Strategy<Value = Request> {
    (key(), condition()).prop_map(|((table, key), (condition, values))| {
        let mut request = json!({"TableName": table, "Key": key, "ConditionExpression": condition});
        if values != json!({}) {
            request["ExpressionAttributeValues"] = values;
        }
        ("ConditionCheck", request.as_object().unwrap().clone())
    })
}

/// A call: its operation and its body.
fn call() -> impl Strategy<Value = (String, Value)> {
    let values = select(vec!["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]);
    let single = (change(), values).prop_map(|((kind, mut request), values)| {
        request.insert("ReturnValues".to_owned(), json!(values));
        request.insert("ReturnConsumedCapacity".to_owned(), json!("INDEXES"));
        (format!("{kind}Item"), Value::Object(request))
    });
    // The emulator lets a transaction change the key of an item, which the service does not.
    let change = change().prop_filter("changes a key", |(_, request)| {
        request
            .get("UpdateExpression")
            .is_none_or(|update| update != "SET id = :u")
    });
    let action = prop_oneof![4 => change, 1 => check()];
    let token = option::weighted(0.3, select(vec!["one", "two", "three"]));
    let transaction = (vec(action, 1..4), token).prop_map(|(actions, token)| {
        let actions: Vec<Value> = actions
            .into_iter()
            .map(|(kind, request)| json!({kind: request}))
            .collect();
        let mut body = json!({"TransactItems": actions, "ReturnConsumedCapacity": "INDEXES"});
        if let Some(token) = token {
            body["ClientRequestToken"] = json!(token);
        }
        ("TransactWriteItems".to_owned(), body)
    });
    prop_oneof![3 => single, 2 => transaction]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_emulator_gives_the_same_answers_and_keeps_the_same_items(calls in vec(call(), 1..40), repeats in any::<bool>()) {
        let pair = Pair::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let _guard = runtime.enter();
        for (operation, body) in calls {
            for _ in 0..=usize::from(repeats) {
                let (ours, theirs) = pair.call(&operation, &body);
                prop_assert_eq!(ours, theirs, "{} {}", operation, body);
            }
            let (ours, theirs) = pair.items();
            prop_assert_eq!(ours, theirs, "{} {}", operation, body);
        }
    }
}
