//! Projections of attributes at the top of an item, which need no evaluation.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::wire::Refusal;

/// The names in a projection, of attributes at the top of an item.
pub(super) fn attributes(body: &Value) -> Result<Option<BTreeSet<String>>, Refusal> {
    let Some(expression) = body["ProjectionExpression"].as_str() else {
        let names = body["AttributesToGet"].as_array();
        return Ok(names.map(|names| {
            names
                .iter()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect()
        }));
    };
    let name = |part: &str| {
        let part = part.trim();
        let name = if part.starts_with('#') {
            body["ExpressionAttributeNames"][part].as_str()
        } else {
            Some(part).filter(|part| !part.contains(['.', '[']) && !part.is_empty())
        };
        let message = "Invalid ProjectionExpression: the simulator knows names of attributes at the top of an item";
        name.map(str::to_owned).ok_or_else(|| Refusal::validation(message))
    };
    expression.split(',').map(name).collect::<Result<_, _>>().map(Some)
}

/// The item with only these attributes.
pub(super) fn only(item: Value, attributes: &BTreeSet<String>) -> Value {
    match item {
        Value::Object(mut item) => {
            item.retain(|name, _| attributes.contains(name));
            Value::Object(item)
        }
        item => item,
    }
}
