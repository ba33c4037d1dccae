//! Answers of the service that others have recorded: the authors of `ScyllaDB`'s `test/alternator`, whose tests pass on it, of moto and of
//! LocalStack.
//!
//! - `expressions`: conditions, updates and projections, even in transactions.
//! - `reads`: the order of reads, indexes, and what is selected.
//! - `older`: the conditions of requests before there were expressions.
//! - `limits`: how long, deep and many things may be, and which refusal comes first.

#![expect(clippy::needless_pass_by_value, reason = "nearly all values are made for one call")]

mod expressions;
mod limits;
mod older;
mod reads;

use serde_json::{Map, Value, json};

use super::{API, KeyType, Table, TableOptions, Tables, Tokens, operate};
use crate::admission::{OnDemand, Throughput};
use crate::dynamo::IndexOptions;
use crate::journal::AnswerReceipt;
use crate::registry::Registry;
use crate::wire::OperationOutcome;

/// The codes of the two errors of a condition.
const INVALID: Option<&str> = Some("ValidationException");
const FALSE: Option<&str> = Some("ConditionalCheckFailedException");

/// A simulator with five tables.
struct Recorded {
    tables: Tables,
}

impl Recorded {
    fn new() -> Self {
        let tables: Tables = Registry::new("table", 1);
        let by_kind = IndexOptions::key("kind", KeyType::S).sort_key("rank", KeyType::N);
        let by_label = IndexOptions::key("rank", KeyType::N).sort_key("label", KeyType::S);
        for (name, options) in [
            ("items", TableOptions::key("p", KeyType::S)),
            ("pairs", TableOptions::key("p", KeyType::S).sort_key("c", KeyType::S)),
            ("numbers", TableOptions::key("p", KeyType::N)),
            (
                "indexed",
                TableOptions::key("p", KeyType::S)
                    .index("by_kind", by_kind)
                    .index("by_label", by_label),
            ),
            (
                "on_demand",
                TableOptions::key("p", KeyType::S).throughput(Throughput::on_demand(OnDemand::default())),
            ),
        ] {
            tables.add(name, |seed| Table::new(name, options, seed));
        }
        Self { tables }
    }

    /// The answer to a call, or the code and the message of its error.
    fn call(&self, operation: &str, body: Value) -> Result<Value, (String, String)> {
        match operate(
            &self.tables,
            &Tokens::default(),
            operation,
            body,
            &AnswerReceipt::default(),
        ) {
            OperationOutcome::Success(answer) => Ok(answer),
            OperationOutcome::Refused(refusal) => {
                let error: Value = serde_json::from_slice(&API.error(&refusal, "")).unwrap();
                let code = error["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
                let message = error["message"]
                    .as_str()
                    .or(error["Message"].as_str())
                    .unwrap_or_default();
                Err((code, message.to_owned()))
            }
            OperationOutcome::Fault(_) => panic!("no fault is set"),
        }
    }

    fn put(&self, table: &str, item: Value) {
        self.call("PutItem", json!({"TableName": table, "Item": item})).unwrap();
    }

    fn item(&self, table: &str, key: Value) -> Option<Value> {
        let answer = self.call("GetItem", json!({"TableName": table, "Key": key})).unwrap();
        answer.get("Item").cloned()
    }

    /// The code of the error of a put of an item on a condition, or `None` if it is true. `a` is 1 and `b` is 2 before.
    fn condition(&self, condition: &str, values: Value) -> Option<(String, String)> {
        let item =
            json!({"p": {"S": "1"}, "a": {"N": "1"}, "b": {"N": "2"}, "l": {"L": [{"S": "x"}]}, "s": {"S": "text"}});
        self.put("items", item.clone());
        let mut request = json!({"TableName": "items", "Item": item, "ConditionExpression": condition});
        if values != json!({}) {
            request["ExpressionAttributeValues"] = values;
        }
        self.call("PutItem", request).err()
    }

    /// The item after an update of one with these attributes, or of none.
    fn update(&self, before: Option<Value>, update: &str, values: Value) -> Result<Option<Value>, String> {
        let key = json!({"p": {"S": "updated"}});
        let of_key = |body: Value| {
            let mut body = body;
            body["TableName"] = "items".into();
            body["Key"] = key.clone();
            body
        };
        self.call("DeleteItem", of_key(json!({}))).unwrap();
        if let Some(mut before) = before {
            before["p"] = key["p"].clone();
            self.put("items", before);
        }
        let mut request = of_key(json!({"UpdateExpression": update}));
        if values != json!({}) {
            request["ExpressionAttributeValues"] = values;
        }
        self.call("UpdateItem", request).map_err(|(code, message)| {
            assert_eq!(code, "ValidationException", "{update}");
            message
        })?;
        let mut item = self.item("items", key.clone());
        if let Some(Value::Object(item)) = &mut item {
            item.remove("p");
        }
        Ok(item)
    }

    /// What the operations answer that have a condition from before there were expressions.
    fn legacy(&self, condition: &Value) -> [Result<Value, (String, String)>; 4] {
        let of_partition = json!({"p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "1"}]}});
        let mut of_both = of_partition.clone();
        of_both["c"] = condition.clone();
        [
            (
                "DeleteItem",
                json!({"TableName": "items", "Key": {"p": {"S": "none"}}, "Expected": {"a": condition}}),
            ),
            ("Scan", json!({"TableName": "items", "ScanFilter": {"a": condition}})),
            (
                "Query",
                json!({"TableName": "items", "KeyConditions": of_partition, "QueryFilter": {"a": condition}}),
            ),
            ("Query", json!({"TableName": "pairs", "KeyConditions": of_both})),
        ]
        .map(|(operation, body)| self.call(operation, body))
    }

    /// The code of the error of a deletion that expects this of an item whose `a` is 3 and whose `s` is a text; `None` if it succeeds.
    fn expected(&self, expected: Value, joined: Option<&str>) -> Option<String> {
        self.put("items", json!({"p": {"S": "1"}, "a": {"N": "3"}, "s": {"S": "text"}}));
        let request = json!({"TableName": "items", "Key": {"p": {"S": "1"}}, "Expected": expected,
            "ConditionalOperator": joined});
        self.call("DeleteItem", request).err().map(|(code, _)| code)
    }
}
