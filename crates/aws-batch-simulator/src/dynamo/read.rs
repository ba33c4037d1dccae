//! `GetItem` and `Scan`.

use serde_json::{Value, json};

use super::table::Tables;
use super::value::unexpected;
use crate::wire::Refusal;

/// A page of a scan ends after this many bytes: 1 MB.
const LARGEST_PAGE: usize = 1_048_576;

pub(super) fn get(tables: &Tables, body: &Value) -> Result<Value, Refusal> {
    let table = tables.of_request(body)?;
    let key = body["Key"]
        .as_object()
        .ok_or_else(|| Refusal::validation("The parameter 'Key' is required but was not present in the request"))?;
    table.schema().key_alone(key)?;
    Ok(match table.item(&body["Key"]) {
        Some(item) => json!({"Item": item}),
        None => json!({}),
    })
}

pub(super) fn scan(tables: &Tables, body: &Value) -> Result<Value, Refusal> {
    let table = tables.of_request(body)?;
    let most = match &body["Limit"] {
        Value::Null => usize::MAX,
        limit => limit
            .as_u64()
            .filter(|limit| *limit > 0)
            .and_then(|limit| usize::try_from(limit).ok())
            .ok_or_else(|| {
                Refusal::validation("1 validation error detected: Value at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1")
            })?,
    };
    let after = match &body["ExclusiveStartKey"] {
        Value::Null => None,
        Value::Object(key) => Some(table.schema().key_alone(key)?),
        _ => return Err(unexpected()),
    };
    let (items, more) = table.page(after.as_deref(), most, LARGEST_PAGE);
    let mut answer = json!({"Count": items.len(), "ScannedCount": items.len()});
    if let Some(last) = items.last().filter(|_| more) {
        answer["LastEvaluatedKey"] = table.schema().project(last);
    }
    if body["Select"] != "COUNT" {
        answer["Items"] = Value::Array(items);
    }
    Ok(answer)
}
