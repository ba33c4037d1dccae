//! Checks a batch write as `DynamoDB` does.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::items::Write;
use super::table::{Table, Tables};
use super::value::{LARGEST_ITEM, missing, size_of_item, unexpected};
use crate::wire::Refusal;

/// Puts and deletes in one call at most.
const MOST_WRITES: usize = 25;

/// The entries of a call to one table.
pub(super) struct Part<E> {
    /// The table's name or ARN, as in the request.
    pub(super) name: String,
    pub(super) table: Table,
    pub(super) entries: E,
}

/// Finds the tables of a call.
pub(super) fn split(tables: &Tables, body: &mut Value) -> Result<Vec<Part<Value>>, Refusal> {
    let requests = match body["RequestItems"].take() {
        Value::Object(requests) if !requests.is_empty() => requests,
        Value::Object(_) => {
            return Err(Refusal::validation(
                "1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must \
                 have length greater than or equal to 1",
            ));
        }
        _ => {
            return Err(Refusal::validation(
                "1 validation error detected: Value null at 'requestItems' failed to satisfy constraint: Member must \
                 not be null",
            ));
        }
    };
    requests
        .into_iter()
        .map(|(name, entries)| {
            let table = tables.named(&name)?;
            Ok(Part { name, table, entries })
        })
        .collect()
}

/// Checks the whole call: one invalid write causes all of it to be refused.
pub(super) fn check(parts: Vec<Part<Value>>) -> Result<Vec<Part<Vec<Write>>>, Refusal> {
    let mut count = 0;
    let mut checked = Vec::with_capacity(parts.len());
    for Part { name, table, entries } in parts {
        let Value::Array(writes) = entries else {
            return Err(unexpected());
        };
        if writes.is_empty() {
            return Err(Refusal::validation(format!(
                "The batch write request list for a table cannot be null or empty: {name}"
            )));
        }
        if writes.len() > MOST_WRITES {
            return Err(Refusal::validation(
                "1 validation error detected: Value at 'requestItems' failed to satisfy constraint: Map value must \
                 satisfy constraint: [Member must have length less than or equal to 25, Member must have length \
                 greater than or equal to 1]",
            ));
        }
        count += writes.len();
        if count > MOST_WRITES {
            return Err(Refusal::validation(
                "Too many items requested for the BatchWriteItem call",
            ));
        }
        let entries = check_writes(&table, writes)?;
        checked.push(Part { name, table, entries });
    }
    Ok(checked)
}

fn check_writes(table: &Table, writes: Vec<Value>) -> Result<Vec<Write>, Refusal> {
    let writes = writes
        .into_iter()
        .map(|write| check_write(table, write))
        .collect::<Result<Vec<_>, _>>()?;
    let mut keys = HashSet::with_capacity(writes.len());
    if !writes.iter().all(|write| keys.insert(write.key.as_str())) {
        return Err(Refusal::validation("Provided list of item keys contains duplicates"));
    }
    if writes.iter().any(|write| table.poisons(&write.entry)) {
        return Err(Refusal::validation(
            "One or more parameter values were invalid: the simulator is set to refuse this item",
        ));
    }
    Ok(writes)
}

fn check_write(table: &Table, mut write: Value) -> Result<Write, Refusal> {
    let (put, delete) = match write.as_object_mut() {
        Some(members) => (members.remove("PutRequest"), members.remove("DeleteRequest")),
        None => return Err(unexpected()),
    };
    match (put, delete) {
        (Some(mut put), None) => {
            let entry = take_attributes(put.get_mut("Item"), "Item")?;
            let size = size_of_item(&entry)?;
            let key = table.schema().key_of_item(&entry)?;
            table.indexes().iter().try_for_each(|index| index.check(&entry))?;
            if size > LARGEST_ITEM {
                return Err(Refusal::validation("Item size has exceeded the maximum allowed size"));
            }
            Ok(Write {
                key,
                is_put: true,
                entry: Value::Object(entry),
                size,
            })
        }
        (None, Some(mut delete)) => {
            let entry = take_attributes(delete.get_mut("Key"), "Key")?;
            size_of_item(&entry)?;
            Ok(Write {
                key: table.schema().key_alone(&entry)?,
                is_put: false,
                entry: Value::Object(entry),
                size: 0,
            })
        }
        _ => Err(Refusal::validation(
            "Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest",
        )),
    }
}

fn take_attributes(value: Option<&mut Value>, member: &str) -> Result<Map<String, Value>, Refusal> {
    match value.map(Value::take) {
        Some(Value::Object(attributes)) => Ok(attributes),
        _ => Err(missing(member)),
    }
}
