//! `GetItem`.

use serde_json::{Value, json};

use super::table::Tables;
use crate::wire::Refusal;

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
