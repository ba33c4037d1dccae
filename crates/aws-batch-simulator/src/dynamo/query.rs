//! `Query`: pages of the items of one partition key.

use serde_json::{Map, Value, json};

use super::evaluation::{Failure, Queried};
use super::key::Schema;
use super::scan::{LARGEST_PAGE, charged, ended_by_fault};
use super::table::Table;
use super::tables::Tables;
use crate::admission::{Demand, Place};
use crate::calls::Cost;
use crate::journal::Answered;
use crate::wire::{Outcome, Refusal};

/// Members that the simulator does not know. An answer without their effect would be wrong.
const UNKNOWN: [&str; 5] = [
    "IndexName",
    "AttributesToGet",
    "KeyConditions",
    "QueryFilter",
    "ConditionalOperator",
];

pub(super) fn query(tables: &Tables, body: &Value, answered: &Answered) -> Result<Outcome, Refusal> {
    let table = tables.of_request(body)?;
    let call = table.reads().call(answered);
    if let Some(member) = UNKNOWN.iter().find(|member| !body[**member].is_null()) {
        table.count_refused_read();
        return Err(Refusal::validation(format!(
            "The simulator does not know {member} of a query"
        )));
    }
    if let Some(ended) = ended_by_fault(&table, &call.fault) {
        return ended;
    }
    let hash = partition(table.schema(), body);
    let items = hash.map_or_else(Vec::new, |hash| all(&table, hash));
    let is_hot = items.iter().any(|item| table.is_hot_read(item));
    let queried = table.query(body, &items).map_err(Failure::into_refusal);
    let Queried { mut answer, units } = queried.inspect_err(|_| table.count_refused_read())?;
    let cost = Cost {
        demand: Demand::new(Place::new(hash.unwrap_or_default(), 0), units),
        is_hot,
    };
    charged(&table, &call, cost)?;
    if matches!(body["ReturnConsumedCapacity"].as_str(), Some("INDEXES" | "TOTAL")) {
        answer["ConsumedCapacity"] = json!({"TableName": table.name(), "CapacityUnits": units});
    }
    Ok(Outcome::Success(answer))
}

/// All items whose partition keys have this hash.
fn all(table: &Table, hash: u64) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let after = all.last().and_then(Value::as_object);
        let after = after.and_then(|last| table.schema().key_of_item(last).ok());
        let page = table.page(&(hash..=hash), after.as_deref(), usize::MAX, LARGEST_PAGE);
        let has_more = page.has_more && !page.items.is_empty();
        all.extend(page.items);
        if !has_more {
            return all;
        }
    }
}

/// The hash of the partition key that the key condition compares with; `None` if there is no such comparison, which the evaluation
/// of the condition refuses.
fn partition(schema: &Schema, body: &Value) -> Option<u64> {
    let condition = body["KeyConditionExpression"].as_str()?;
    let words = words(condition);
    let is_partition = |word: &str| {
        let attribute = body["ExpressionAttributeNames"][word].as_str().unwrap_or(word);
        attribute == schema.partition.0
    };
    let compared = words.windows(3).find_map(|words| match words {
        [name, "=", value] | [value, "=", name] if value.starts_with(':') && is_partition(name) => Some(value),
        _ => None,
    })?;
    let value = body["ExpressionAttributeValues"].get(compared)?;
    let alone = Schema {
        partition: schema.partition.clone(),
        sort: None,
    };
    let key = Map::from_iter([(schema.partition.0.clone(), value.clone())]);
    Some(alone.place(&key)?.partition_key)
}

/// The names, placeholders and operators of an expression, without parentheses.
fn words(expression: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = expression;
    let is_word = |character: char| character.is_alphanumeric() || "_-.#:".contains(character);
    let is_operator = |character: char| "<>=".contains(character);
    while let Some(first) = rest.chars().next() {
        let is_part: &dyn Fn(char) -> bool = if is_operator(first) { &is_operator } else { &is_word };
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let (word, more) = rest.split_at(end.max(first.len_utf8()));
        if end > 0 {
            words.push(word);
        }
        rest = more;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_an_expression_need_no_spaces() {
        assert_eq!(
            words("(#a=:b) AND begins_with(c-d, :e)"),
            ["#a", "=", ":b", "AND", "begins_with", "c-d", ":e"]
        );
        assert_eq!(words("a<=:b"), ["a", "<=", ":b"]);
    }
}
