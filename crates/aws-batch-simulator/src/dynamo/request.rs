//! Checks a batch write as `DynamoDB` does.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::change::{CAPACITY, problem_of_enum};
use super::items::Write;
use super::table::Table;
use super::tables::{Tables, is_table_name};
use super::value::{LARGEST_ITEM, check_item, missing, unexpected};
use super::wording::{Wording, invalid_member, invalid_members};
use crate::wire::Refusal;

/// Puts and deletes in one call at most.
const MOST_WRITES: usize = 25;

/// What `ReturnItemCollectionMetrics` may be. The simulator has no local indexes, so that there are no metrics.
pub(super) const METRICS: [&str; 2] = ["SIZE", "NONE"];

/// The entries of a call to one table.
pub(super) struct TablePart<E> {
    /// The table's name or ARN, as in the request.
    pub(super) name: String,
    pub(super) table: Table,
    pub(super) entries: E,
}

/// The requests of a call by the names of their tables. The service has two wordings for a call without any.
pub(super) fn requests(body: &mut Value, none: &'static str) -> Result<Map<String, Value>, Refusal> {
    match body["RequestItems"].take() {
        Value::Object(requests) if !requests.is_empty() => Ok(requests),
        Value::Object(_) => Err(Refusal::validation(none)),
        Value::Null => Err(missing("requestItems")),
        _ => Err(unexpected()),
    }
}

/// Finds the tables of a call. A name that is not one of them may also break the rules for names.
pub(super) fn find(tables: &Tables, requests: &Map<String, Value>) -> Result<Vec<Table>, Refusal> {
    let find = |name: &String| {
        tables.named(name).map_err(|refusal| {
            if is_table_name(name) {
                return refusal;
            }
            invalid_member(
                "Value at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have \
                 length less than or equal to 255, Member must have length greater than or equal to 3, Member must satisfy \
                 regular expression pattern: [a-zA-Z0-9_.-]+]",
            )
        })
    };
    requests.keys().map(find).collect()
}

/// Checks what does not depend on a table: one invalid write causes the whole call to be refused. The writes have no keys yet.
pub(super) fn check(requests: Map<String, Value>, body: &Value) -> Result<Vec<(String, Vec<Write>)>, Refusal> {
    let mut lists = Vec::with_capacity(requests.len());
    for (name, requests) in requests {
        match requests {
            Value::Array(requests) => lists.push((name, requests)),
            _ => return Err(unexpected()),
        }
    }
    let problems = [
        problem_of_lengths(&lists),
        problem_of_enum(body, "ReturnConsumedCapacity", &CAPACITY)?,
        problem_of_enum(body, "ReturnItemCollectionMetrics", &METRICS)?,
    ];
    invalid_members(&problems.into_iter().flatten().collect::<Vec<_>>())?;
    if lists.iter().map(|(_, requests)| requests.len()).sum::<usize>() > MOST_WRITES {
        return Err(Refusal::validation(
            "Too many items requested for the BatchWriteItem call",
        ));
    }
    let writes = lists.into_iter().map(|(name, requests)| {
        let writes = requests.into_iter().map(check_write).collect::<Result<_, _>>()?;
        Ok((name, writes))
    });
    writes.collect()
}

/// What is wrong with the numbers of writes, if it is wrong for one table alone. The service prints the whole request, the simulator
/// only names.
fn problem_of_lengths(lists: &[(String, Vec<Value>)]) -> Option<String> {
    if lists.iter().any(|(_, requests)| requests.is_empty()) {
        let print = |(name, requests): &(String, Vec<Value>)| {
            format!("{name}=[{}]", if requests.is_empty() { "" } else { "..." })
        };
        return Some(format!(
            "Value '{{{}}}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: [Member must have \
             length less than or equal to 25, Member must have length greater than or equal to 1]",
            lists.iter().map(print).collect::<Vec<_>>().join(", ")
        ));
    }
    let (name, _) = lists.iter().find(|(_, requests)| requests.len() > MOST_WRITES)?;
    Some(format!(
        "Value at 'RequestItems.{name}.member' failed to satisfy constraint: Member must have length less than or equal to 25"
    ))
}

/// Finds the keys of the writes to a table, and checks that the writes fit the table.
pub(super) fn find_keys(table: &Table, writes: &mut [Write]) -> Result<(), Refusal> {
    for write in &mut *writes {
        let entry = write.entry.as_object().ok_or_else(unexpected)?;
        write.key = if write.is_put {
            let key = table.schema().key_of_batch_item(entry)?;
            table.check_indexes(entry)?;
            write.size = table.billed_size(&write.entry, write.size);
            key
        } else {
            table.schema().key_alone(entry)?
        };
    }
    let mut keys = HashSet::with_capacity(writes.len());
    if !writes.iter().all(|write| keys.insert(write.key.as_str())) {
        return Err(Refusal::validation("Provided list of item keys contains duplicates"));
    }
    if writes.iter().any(|write| table.poisons(&write.entry)) {
        return Err(Refusal::validation(
            "One or more parameter values were invalid: the simulator is set to refuse this item",
        ));
    }
    Ok(())
}

fn check_write(mut write: Value) -> Result<Write, Refusal> {
    let (put, delete) = match write.as_object_mut() {
        Some(members) => (members.remove("PutRequest"), members.remove("DeleteRequest")),
        None => return Err(unexpected()),
    };
    match (put, delete) {
        (Some(mut put), None) => {
            let entry = take_attributes(put.get_mut("Item"), "Item")?;
            let size = check_item(&entry, Wording::Older)?;
            if size > LARGEST_ITEM {
                return Err(Refusal::validation("Item size has exceeded the maximum allowed size"));
            }
            Ok(Write {
                key: String::new(),
                is_put: true,
                entry: Value::Object(entry),
                size,
            })
        }
        (None, Some(mut delete)) => {
            let entry = take_attributes(delete.get_mut("Key"), "Key")?;
            check_item(&entry, Wording::Older)?;
            Ok(Write {
                key: String::new(),
                is_put: false,
                entry: Value::Object(entry),
                size: 0,
            })
        }
        _ => Err(Refusal::validation(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        )),
    }
}

fn take_attributes(value: Option<&mut Value>, member: &str) -> Result<Map<String, Value>, Refusal> {
    match value.map(Value::take) {
        Some(Value::Object(attributes)) => Ok(attributes),
        _ => Err(missing(member)),
    }
}
