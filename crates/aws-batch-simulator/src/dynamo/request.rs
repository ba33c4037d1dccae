//! Checks a batch write as `DynamoDB` does.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::table::Table;
use super::value::weigh_item;
use super::{find_table, invalid};
use crate::Inner;
use crate::wire::Refusal;

/// Puts and deletes in one call at most.
const MOST_WRITES: usize = 25;
/// Bytes of an item at most.
const LARGEST_ITEM: usize = 409_600;

/// One put or delete.
pub(super) struct Write {
    pub(super) key: String,
    pub(super) is_put: bool,
    /// The item of a put, the key of a delete.
    pub(super) entry: Value,
    /// The bytes of the item, 0 for a delete.
    pub(super) size: usize,
}

impl Write {
    /// The original request.
    pub(super) fn into_request(self) -> Value {
        let (kind, member) = if self.is_put {
            ("PutRequest", "Item")
        } else {
            ("DeleteRequest", "Key")
        };
        let inner = Map::from_iter([(member.to_owned(), self.entry)]);
        Value::Object(Map::from_iter([(kind.to_owned(), Value::Object(inner))]))
    }
}

/// The writes of a call to one table.
pub(super) struct Part<W> {
    /// The table's name or ARN, as in the request.
    pub(super) name: String,
    pub(super) table: Table,
    pub(super) writes: W,
}

/// Finds the tables of a call.
pub(super) fn split(simulator: &Inner, body: &mut Value) -> Result<Vec<Part<Value>>, Refusal> {
    let tables = match body["RequestItems"].take() {
        Value::Object(tables) if !tables.is_empty() => tables,
        Value::Object(_) => {
            return Err(invalid(
                "1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Member must \
                 have length greater than or equal to 1",
            ));
        }
        _ => {
            return Err(invalid(
                "1 validation error detected: Value null at 'requestItems' failed to satisfy constraint: Member must \
                 not be null",
            ));
        }
    };
    tables
        .into_iter()
        .map(|(name, writes)| {
            let table = find_table(simulator, &name)?;
            Ok(Part { name, table, writes })
        })
        .collect()
}

/// Checks the whole call: one invalid write causes all of it to be refused.
pub(super) fn check(parts: Vec<Part<Value>>) -> Result<Vec<Part<Vec<Write>>>, Refusal> {
    let mut count = 0;
    let mut checked = Vec::with_capacity(parts.len());
    for Part { name, table, writes } in parts {
        let Value::Array(writes) = writes else {
            return Err(Refusal::serialization("Unexpected value type in payload"));
        };
        if writes.is_empty() {
            return Err(invalid(format!(
                "The batch write request list for a table cannot be null or empty: {name}"
            )));
        }
        if writes.len() > MOST_WRITES {
            return Err(invalid(
                "1 validation error detected: Value at 'requestItems' failed to satisfy constraint: Map value must \
                 satisfy constraint: [Member must have length less than or equal to 25, Member must have length \
                 greater than or equal to 1]",
            ));
        }
        count += writes.len();
        if count > MOST_WRITES {
            return Err(invalid("Too many items requested for the BatchWriteItem call"));
        }
        let writes = check_writes(&table, writes)?;
        checked.push(Part { name, table, writes });
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
        return Err(invalid("Provided list of item keys contains duplicates"));
    }
    if writes.iter().any(|write| table.poisons(&write.entry)) {
        return Err(invalid(
            "One or more parameter values were invalid: the simulator is set to refuse this item",
        ));
    }
    Ok(writes)
}

fn check_write(table: &Table, mut write: Value) -> Result<Write, Refusal> {
    let (put, delete) = match write.as_object_mut() {
        Some(members) => (members.remove("PutRequest"), members.remove("DeleteRequest")),
        None => return Err(Refusal::serialization("Unexpected value type in payload")),
    };
    match (put, delete) {
        (Some(mut put), None) => {
            let entry = attributes(put.get_mut("Item"), "Item")?;
            let size = weigh_item(&entry)?;
            let key = table.schema().key_of_item(&entry)?;
            table.indexes().iter().try_for_each(|index| index.check(&entry))?;
            if size > LARGEST_ITEM {
                return Err(invalid("Item size has exceeded the maximum allowed size"));
            }
            Ok(Write {
                key,
                is_put: true,
                entry: Value::Object(entry),
                size,
            })
        }
        (None, Some(mut delete)) => {
            let entry = attributes(delete.get_mut("Key"), "Key")?;
            weigh_item(&entry)?;
            Ok(Write {
                key: table.schema().key_alone(&entry)?,
                is_put: false,
                entry: Value::Object(entry),
                size: 0,
            })
        }
        _ => Err(invalid(
            "Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest",
        )),
    }
}

fn attributes(value: Option<&mut Value>, member: &str) -> Result<Map<String, Value>, Refusal> {
    match value.map(Value::take) {
        Some(Value::Object(attributes)) => Ok(attributes),
        _ => Err(invalid(format!(
            "1 validation error detected: Value null at '{member}' failed to satisfy constraint: Member must not be null"
        ))),
    }
}
