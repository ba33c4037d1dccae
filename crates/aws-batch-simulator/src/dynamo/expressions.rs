//! Evaluates conditions and updates, queries, and the filters and projections of reads.
//!
//! `dynoxide`, an emulator that is verified against the service, decides what expressions mean. It sees one item at a time, or those
//! of a page: they are put into a table of its own in memory, the change or the scan is performed there, and its result is read.
//! The simulator's own store stays the only one.

use std::collections::HashMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dynoxide::actions::create_table::{self, CreateTableRequest};
use dynoxide::actions::delete_item::{self, DeleteItemRequest};
use dynoxide::actions::get_item::{self, GetItemRequest};
use dynoxide::actions::put_item::{self, PutItemRequest};
use dynoxide::actions::query::{self, QueryRequest};
use dynoxide::actions::scan::{self, ScanRequest};
use dynoxide::actions::transact_write_items::{self, TransactWriteItem, TransactWriteItemsRequest};
use dynoxide::actions::update_item::{self, UpdateItemRequest};
use dynoxide::storage::Storage;
use dynoxide::types::AttributeValue;
use dynoxide::{DynoxideError, Result as DynoxideResult};
use serde_json::{Value, json};

use super::change::{Change, Kind};
use super::evaluation::{Evaluation, Failure, Queried, Setting, delete, put};
use super::key::Schema;
use super::value::size_of_item;
use super::wording::Wording;
use crate::wire::Refusal;

/// The only table of the database. Its name is within the rules for names, which the simulator does not have.
const TABLE: &str = "item";

/// Bytes of items that are scanned together: half of a page of the database, and an item more.
const SCANNED_TOGETHER: usize = 524_288;

/// Evaluates the expressions of one table. The database is made for the first of them, and is empty between them.
#[derive(Default)]
pub(super) struct Expressions {
    storage: Option<Storage>,
}

/// What the database has done with a change.
enum Performed {
    Done { updated: Option<Value> },
    ConditionFailed,
}

impl Expressions {
    /// Evaluates a change of the item with this text, or of one that does not exist.
    pub(super) fn evaluate(
        &mut self,
        schema: &Schema,
        change: &Change,
        old: Option<&str>,
        setting: Setting,
    ) -> Result<Evaluation, Failure> {
        let (partition, sort) = key_of(schema, change.entry());
        // A database in which something went wrong is not used again.
        let storage = match self.storage.take() {
            Some(storage) => storage,
            None => create(schema).map_err(|error| internal(&error))?,
        };
        if let Some(old) = old {
            let put = storage.put_item_with_hash(TABLE, &partition, &sort, old, 0, "");
            put.map_err(|error| internal(&error))?;
        }
        let answer = perform(&storage, change, setting);
        let left = storage.delete_item(TABLE, &partition, &sort);
        let left = left.map_err(|error| internal(&error))?;
        self.storage = Some(storage);
        match answer? {
            Performed::ConditionFailed => Ok(Evaluation {
                holds: false,
                write: None,
                updated: None,
            }),
            Performed::Done { updated } => {
                let write = match change.kind {
                    Kind::Put => Some(put(change, change.entry().clone(), change.size)),
                    Kind::Delete => Some(delete(change)),
                    Kind::Check => None,
                    Kind::Update => {
                        let item = left
                            .as_deref()
                            .and_then(|item| serde_json::from_str::<Value>(item).ok());
                        let item = item.ok_or_else(|| unanswered("the updated item is missing"))?;
                        let attributes = item
                            .as_object()
                            .ok_or_else(|| unanswered("the updated item is no item"))?;
                        let size = size_of_item(attributes).map_err(Failure::Item)?;
                        Some(put(change, item, size))
                    }
                };
                Ok(Evaluation {
                    holds: true,
                    write,
                    updated,
                })
            }
        }
    }
}

/// Reads of the database.
impl Expressions {
    /// The items that the filter of a scan's request holds for, with the attributes of its projection, in any order.
    pub(super) fn select(&mut self, schema: &Schema, request: &Value, items: &[Value]) -> Result<Vec<Value>, Failure> {
        let mut scan = json!({"TableName": TABLE});
        for member in [
            "FilterExpression",
            "ProjectionExpression",
            "ExpressionAttributeNames",
            "ExpressionAttributeValues",
        ] {
            if !request[member].is_null() {
                scan[member] = request[member].clone();
            }
        }
        let mut selected = Vec::with_capacity(items.len());
        let mut rest = items;
        // An expression is checked even if there are no items.
        loop {
            let mut bytes = 0;
            let fits = |item: &&Value| {
                bytes += item
                    .as_object()
                    .and_then(|item| size_of_item(item).ok())
                    .unwrap_or_default();
                bytes <= SCANNED_TOGETHER
            };
            let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
            let (part, more) = rest.split_at(count);
            selected.extend(self.scan(schema, &scan, part)?);
            rest = more;
            if rest.is_empty() {
                return Ok(selected);
            }
        }
    }

    /// The attributes that a request for an item with this key asks for.
    pub(super) fn project(
        &mut self,
        schema: &Schema,
        request: &Value,
        key: &Value,
        item: Option<&Value>,
    ) -> Result<Option<Value>, Failure> {
        let mut get = json!({"TableName": TABLE, "Key": key});
        for member in ["ProjectionExpression", "ExpressionAttributeNames", "AttributesToGet"] {
            if !request[member].is_null() {
                get[member] = request[member].clone();
            }
        }
        let request: GetItemRequest = read(serde_json::from_value(get), Wording::Plain)?;
        let items = item.map_or(&[][..], std::slice::from_ref);
        self.with(schema, items, |storage| {
            match now(get_item::execute(storage, request)) {
                Ok(answer) => Ok(answer.item.and_then(|item| serde_json::to_value(item).ok())),
                Err(error) => failed(error).and(Err(unanswered("a read has no condition"))),
            }
        })
    }

    fn scan(&mut self, schema: &Schema, request: &Value, items: &[Value]) -> Result<Vec<Value>, Failure> {
        self.with(schema, items, |storage| {
            let request: ScanRequest = read(serde_json::from_value(request.clone()), Wording::Plain)?;
            match now(scan::execute(storage, request)) {
                Ok(answer) => {
                    let items = answer.items.unwrap_or_default().into_iter().map(serde_json::to_value);
                    items
                        .collect::<Result<_, _>>()
                        .map_err(|error| unanswered(&error.to_string()))
                }
                Err(error) => failed(error).and(Err(unanswered("a scan has no condition"))),
            }
        })
    }
}

/// Queries of the database.
impl Expressions {
    /// What a query of these items, which have one partition key, returns.
    pub(super) fn query(&mut self, schema: &Schema, request: &Value, items: &[Value]) -> Result<Queried, Failure> {
        let mut request = request.clone();
        request["TableName"] = TABLE.into();
        // A wrong value is left to the database, which refuses it.
        if matches!(
            request["ReturnConsumedCapacity"].as_str(),
            None | Some("NONE" | "INDEXES")
        ) {
            request["ReturnConsumedCapacity"] = "TOTAL".into();
        }
        let answer = self.with(schema, items, |storage| {
            let request: QueryRequest = read(serde_json::from_value(request), Wording::Plain)?;
            match now(query::execute(storage, request)) {
                Ok(answer) => Ok(answer),
                Err(error) => failed(error).and(Err(unanswered("a query has no condition"))),
            }
        })?;
        let units = answer
            .consumed_capacity
            .as_ref()
            .map(|capacity| capacity.capacity_units);
        let mut answer = serde_json::to_value(answer).map_err(|error| unanswered(&error.to_string()))?;
        if let Some(members) = answer.as_object_mut() {
            members.remove("ConsumedCapacity");
        }
        Ok(Queried {
            answer,
            units: units.unwrap_or_default(),
        })
    }

    /// Does something with a database that has these items.
    fn with<T>(
        &mut self,
        schema: &Schema,
        items: &[Value],
        work: impl FnOnce(&Storage) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // A database in which something went wrong is not used again.
        let storage = match self.storage.take() {
            Some(storage) => storage,
            None => create(schema).map_err(|error| internal(&error))?,
        };
        for item in items {
            let (partition, sort) = key_of(schema, item);
            let put = storage.put_item_with_hash(TABLE, &partition, &sort, &item.to_string(), 0, "");
            put.map_err(|error| internal(&error))?;
        }
        let result = work(&storage);
        for item in items {
            let (partition, sort) = key_of(schema, item);
            let left = storage.delete_item(TABLE, &partition, &sort);
            left.map_err(|error| internal(&error))?;
        }
        self.storage = Some(storage);
        result
    }
}

/// A database with a table of this schema.
fn create(schema: &Schema) -> DynoxideResult<Storage> {
    let attributes = schema.attributes();
    let definitions = attributes.map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind.tag()}));
    let keys = schema.attributes().zip(["HASH", "RANGE"]);
    let request = json!({
        "TableName": TABLE,
        "AttributeDefinitions": definitions.collect::<Vec<_>>(),
        "KeySchema": keys.map(|((name, _), role)| json!({"AttributeName": name, "KeyType": role})).collect::<Vec<_>>(),
        "BillingMode": "PAY_PER_REQUEST",
    });
    let request = serde_json::from_value::<CreateTableRequest>(request)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))?;
    let storage = Storage::memory()?;
    now(create_table::execute(&storage, request))?;
    Ok(storage)
}

/// The key as the database has it; empty if it does not fit the schema, which the database refuses.
fn key_of(schema: &Schema, item: &Value) -> (String, String) {
    let mut texts = schema.attributes().map(|(name, _)| {
        let value = serde_json::from_value::<AttributeValue>(item[name].clone()).ok();
        value.and_then(|value| value.to_key_string()).unwrap_or_default()
    });
    let partition = texts.next().unwrap_or_default();
    (partition, texts.next().unwrap_or_default())
}

fn perform(storage: &Storage, change: &Change, setting: Setting) -> Result<Performed, Failure> {
    let mut request = change.request.clone();
    request["TableName"] = TABLE.into();
    let done = |result: DynoxideResult<Option<HashMap<String, AttributeValue>>>| match result {
        Ok(updated) => Ok(Performed::Done {
            updated: updated.and_then(|updated| serde_json::to_value(updated).ok()),
        }),
        Err(error) => failed(error),
    };
    match (setting, change.kind) {
        (Setting::Transaction, kind) | (_, kind @ Kind::Check) => {
            let action = json!({member(kind): request});
            let request = TransactWriteItemsRequest {
                transact_items: vec![read(
                    serde_json::from_value::<TransactWriteItem>(action),
                    Wording::Older,
                )?],
                ..TransactWriteItemsRequest::default()
            };
            let result = now(transact_write_items::execute(storage, request));
            done(result.map(|_| None))
        }
        (Setting::Alone, Kind::Put) => {
            let request: PutItemRequest = read(serde_json::from_value(request), Wording::Member)?;
            done(now(put_item::execute(storage, request)).map(|_| None))
        }
        (Setting::Alone, Kind::Delete) => {
            let request: DeleteItemRequest = read(serde_json::from_value(request), Wording::Member)?;
            done(now(delete_item::execute(storage, request)).map(|_| None))
        }
        (Setting::Alone, Kind::Update) => {
            let request: UpdateItemRequest = read(serde_json::from_value(request), Wording::Member)?;
            done(now(update_item::execute(storage, request)).map(|answer| answer.attributes))
        }
    }
}

/// The member of a transaction's action.
fn member(kind: Kind) -> &'static str {
    match kind {
        Kind::Put => "Put",
        Kind::Update => "Update",
        Kind::Delete => "Delete",
        Kind::Check => "ConditionCheck",
    }
}

fn failed(error: DynoxideError) -> Result<Performed, Failure> {
    match error {
        DynoxideError::ConditionalCheckFailedException(..) => Ok(Performed::ConditionFailed),
        DynoxideError::TransactionCanceledException(message, reasons) => match reasons.into_iter().next() {
            Some(reason) if reason.code == "ConditionalCheckFailed" => Ok(Performed::ConditionFailed),
            Some(reason) => Err(Failure::Item(Refusal::validation(reason.message.unwrap_or(message)))),
            None => Err(unanswered("the transaction is canceled without a reason")),
        },
        DynoxideError::SerializationException(message) => Err(Failure::Request(Refusal::serialization(message))),
        error if error.error_type().ends_with("#ValidationException") => {
            Err(Failure::Request(Refusal::validation(error.to_string())))
        }
        error => Err(internal(&error)),
    }
}

/// A request that is read. The reader marks errors of validation, which it returns as text. Some of them are errors of a member where
/// the change stands alone.
fn read<T>(request: serde_json::Result<T>, wording: Wording) -> Result<T, Failure> {
    request.map_err(|error| {
        let message = error.to_string();
        let marked = ["VALIDATION:", "VALIDATION_AS_READ:"];
        let marked = marked.iter().find_map(|mark| message.strip_prefix(mark));
        Failure::Request(match (marked, message.strip_prefix("VALIDATION_REQUEST:")) {
            (Some(rest), _) => Refusal::validation(rest.to_owned()),
            (None, Some(rest)) => wording.refuse(rest.to_owned()),
            _ if message.contains("Supplied AttributeValue") || message.contains("missing field") => {
                Refusal::validation(message)
            }
            _ => Refusal::serialization("Unexpected value type in payload"),
        })
    })
}

fn internal(error: &DynoxideError) -> Failure {
    unanswered(&error.to_string())
}

fn unanswered(problem: &str) -> Failure {
    let message = format!("The simulator could not evaluate an expression: {problem}");
    Failure::Request(Refusal::new("InternalServerError", message).status(500))
}

/// The result of work that never waits: the database is in memory.
fn now<T>(work: impl Future<Output = DynoxideResult<T>>) -> DynoxideResult<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(DynoxideError::InternalServerError("the database waits".to_owned())),
    }
}
