//! The writes of a call, as far as they are known before it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::change::Change;
use super::keys::Keys;
use super::operation::Operation;
use super::table::Table;
use crate::registry::last_part;

/// The actions of a transaction.
const ACTIONS: [&str; 4] = ["Put", "Update", "Delete", "ConditionCheck"];

/// The name of a table as it is in a request, and without the path of an ARN.
pub(crate) type TableName = (String, String);

/// A write of one item.
pub(super) struct Write<'a> {
    /// The table among those of the call.
    pub(super) destination: usize,
    pub(super) change: Change<'a>,
    /// How often the units of the table count: twice in a transaction, from "Transactions: how it works". Those of its indexes do not,
    /// as measured on `DynamoDB` for nubo-db/dynoxide#188.
    pub(super) factor: f64,
}

/// The name and the content of an action of a transaction.
pub(super) fn content(action: &Value) -> Option<(&'static str, &Value)> {
    ACTIONS.into_iter().find_map(|name| Some((name, action.get(name)?)))
}

/// The writes of a call in the order of its tables; `None` if it has another form. `names` are as in the request.
pub(super) fn writes<'a>(operation: Operation, body: &'a Value, names: &[TableName]) -> Option<Vec<Write<'a>>> {
    let one = |change| Write {
        destination: 0,
        change,
        factor: 1.0,
    };
    match operation {
        Operation::BatchWriteItem => {
            let mut writes = Vec::new();
            for (destination, (name, _)) in names.iter().enumerate() {
                for write in body["RequestItems"][name].as_array()? {
                    let change = match (write.get("PutRequest"), write.get("DeleteRequest")) {
                        (Some(put), None) => Change::Put(&put["Item"]),
                        (None, Some(delete)) => Change::Delete(&delete["Key"]),
                        _ => return None,
                    };
                    writes.push(Write {
                        destination,
                        ..one(change)
                    });
                }
            }
            Some(writes)
        }
        Operation::TransactWriteItems => {
            let action = |action: &'a Value| {
                let (action, content) = content(action)?;
                let key = &content["Key"];
                Some(Write {
                    destination: names.iter().position(|(name, _)| content["TableName"] == **name)?,
                    change: match action {
                        "Put" => Change::Put(&content["Item"]),
                        "Update" => Change::Update(key, content),
                        "Delete" => Change::Delete(key),
                        _ => Change::Check(key),
                    },
                    factor: 2.0,
                })
            };
            body["TransactItems"].as_array()?.iter().map(action).collect()
        }
        Operation::PutItem => Some(vec![one(Change::Put(&body["Item"]))]),
        Operation::UpdateItem => Some(vec![one(Change::Update(&body["Key"], body))]),
        Operation::DeleteItem => Some(vec![one(Change::Delete(&body["Key"]))]),
        _ => Some(Vec::new()),
    }
}

/// The request for the items that a call replaces in tables with indexes; `None` if there are none. `tables` are those of `names`.
pub(crate) fn replaced_by(operation: &str, body: &Value, names: &[TableName], tables: &[Arc<Table>]) -> Option<Value> {
    let mut requests = json!({});
    for write in writes(Operation::named(operation)?, body, names)? {
        let table = &tables[write.destination];
        let key = table
            .keys
            .attributes(write.change.item())
            .filter(|_| table.has_indexes());
        let Some(key) = key else { continue };
        let request = &mut requests[&names[write.destination].0];
        if request.is_null() {
            *request = json!({"Keys": [], "ConsistentRead": true});
        }
        request["Keys"].as_array_mut()?.push(key);
    }
    let is_empty = requests == json!({});
    (!is_empty).then(|| json!({ "RequestItems": requests }))
}

/// The item with this key among those that were read of a table.
pub(super) fn replaced<'a>(read: &'a Value, name: &str, keys: &Keys, item: &Value) -> Option<&'a Value> {
    let key = keys.attributes(item)?;
    let tables = read["Responses"].as_object().into_iter().flatten();
    let of_table = tables.filter(|(other, _)| last_part(other) == last_part(name));
    let mut items = of_table.flat_map(|(_, items)| items.as_array().into_iter().flatten());
    items.find(|item| keys.attributes(item).is_some_and(|other| other == key))
}
