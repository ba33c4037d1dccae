//! Conditions, updates, filters, projections and key conditions: their grammar, and what they do with an item.
//!
//! [`docs/fidelity.md`](../../../../docs/fidelity.md) has the recordings of the service that they were compared with.

mod comparison;
mod condition;
mod function;
mod grammar;
mod key_condition;
mod legacy;
mod parser;
mod path;
mod placeholders;
mod projection;
mod reserved;
mod sections;
mod selection;
mod token;
mod update;

use serde_json::{Map, Value};

pub(super) use self::condition::Condition;
pub(super) use self::key_condition::KeyCondition;
use self::legacy::check_mixed;
use self::parser::Parser;
use self::placeholders::Placeholders;
pub(super) use self::selection::Selection;
use self::update::{TOO_LARGE, Update};
use super::change::{Change, ChangeKind};
use super::evaluation::{Evaluation, EvaluationFailure, Setting, delete, put};
use super::key::Schema;
use super::stored::stored;
use super::value::{LARGEST_ITEM, size_of_item};
use super::wording::Wording;
use crate::wire::Refusal;

/// What a change asks for in addition to its item or its key.
struct ChangeExpressions {
    condition: Condition,
    update: Option<Update>,
}

/// Evaluates a change of the item with this text, or of one that does not exist.
pub(super) fn evaluate(
    schema: &Schema,
    change: &Change,
    old: Option<&str>,
    setting: Setting,
) -> Result<Evaluation, EvaluationFailure> {
    let wording = match setting {
        Setting::Alone => Wording::Member,
        Setting::Transaction => Wording::Older,
    };
    let ChangeExpressions { condition, update } = requested(change, wording).map_err(EvaluationFailure::Request)?;
    let update = update.unwrap_or_default();
    if let Some((name, _)) = schema
        .attributes()
        .find(|(name, _)| update.roots().any(|root| root == name))
    {
        return Err(EvaluationFailure::Item(Refusal::validation(format!(
            "One or more parameter values were invalid: Cannot update attribute {name}. This attribute is part of the key"
        ))));
    }
    let old = old.and_then(|old| serde_json::from_str::<Map<String, Value>>(old).ok());
    if !condition.holds(old.as_ref().unwrap_or(&Map::new())) {
        return Ok(Evaluation {
            holds: false,
            write: None,
            updated: None,
        });
    }
    let mut updated = None;
    let write = match change.kind {
        ChangeKind::Put => Some(put(change, change.entry().clone(), change.size)),
        ChangeKind::Delete => Some(delete(change)),
        ChangeKind::Check => None,
        ChangeKind::Update => {
            let key = change.attributes().cloned().unwrap_or_default();
            let new = update.apply(old.as_ref(), &key);
            let new = new.map_err(|problem| EvaluationFailure::Item(Refusal::validation(problem)))?;
            updated = match change.request["ReturnValues"].as_str() {
                Some("UPDATED_OLD") => old.as_ref().and_then(|old| update.updated(old)),
                Some("UPDATED_NEW") => new.as_ref().and_then(|new| update.updated(&plain(new))),
                _ => None,
            };
            match new {
                Some(item) => {
                    let size = size_of_item(&item).map_err(EvaluationFailure::Item)?;
                    if size > LARGEST_ITEM {
                        return Err(EvaluationFailure::Item(Refusal::validation(TOO_LARGE)));
                    }
                    Some(put(change, Value::Object(item), size))
                }
                None => None,
            }
        }
    };
    Ok(Evaluation {
        holds: true,
        write,
        updated,
    })
}

/// The item as the service returns it.
fn plain(item: &Map<String, Value>) -> Map<String, Value> {
    match stored(&Value::Object(item.clone())).into_owned() {
        Value::Object(item) => item,
        _ => Map::new(),
    }
}

/// Refuses a change that is a call of its own if its expressions are wrong, whatever its table is.
pub(super) fn check(change: &Change) -> Result<(), Refusal> {
    requested(change, Wording::Member).map(|_| ())
}

fn requested(change: &Change, wording: Wording) -> Result<ChangeExpressions, Refusal> {
    let request = &change.request;
    check_mixed(
        request,
        &["AttributeUpdates", "Expected", "ConditionalOperator"],
        &["UpdateExpression", "ConditionExpression"],
        wording,
    )?;
    let expressions = ["ConditionExpression", "UpdateExpression"];
    let mut placeholders = Placeholders::of(request, &expressions, wording)?;
    // An empty condition is found before an empty update, but a wrong update before a wrong condition.
    if request["ConditionExpression"] == "" {
        Parser::of(request, "ConditionExpression", &mut placeholders)?;
    }
    let update = Parser::of(request, "UpdateExpression", &mut placeholders)?;
    let update = update.filter(|_| change.kind == ChangeKind::Update);
    let update = update.map(Parser::update).transpose()?;
    let condition = Parser::of(request, "ConditionExpression", &mut placeholders)?;
    let condition = condition.map(Parser::condition).transpose()?;
    placeholders.check_all_used()?;
    let expected = legacy::conditions(&request["Expected"], &request["ConditionalOperator"], wording)?;
    Ok(ChangeExpressions {
        condition: condition.or(expected).unwrap_or_default(),
        update: match update {
            Some(update) => Some(update),
            None => legacy::updates(request, wording)?,
        },
    })
}
