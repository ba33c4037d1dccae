//! Conditions and updates as they were before expressions.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::comparison::{order, tag};
use super::condition::{Comparator, Condition, ConditionPart, Operand, Test};
use super::path::Path;
use super::update::{ActionKind, Assignment, Update, UpdateAction, UpdateTerm};
use crate::dynamo::value::{LONGEST_NAME, check_value, unexpected};
use crate::dynamo::wording::{Wording, invalid_member};
use crate::wire::Refusal;

const INVALID: &str = "One or more parameter values were invalid: ";

/// What `ComparisonOperator` may be, in the order of an error.
const OPERATORS: [&str; 13] = [
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
];

/// Conditions by the names of their attributes, joined by a `ConditionalOperator`.
pub(super) fn conditions(conditions: &Value, operator: &Value, wording: Wording) -> Result<Option<Condition>, Refusal> {
    let conditions = match conditions {
        Value::Null if operator.is_null() => return Ok(None),
        Value::Null => None,
        conditions => Some(conditions.as_object().ok_or_else(unexpected)?),
    };
    let joined = match operator.as_str() {
        _ if operator.is_null() => ConditionPart::And,
        _ if conditions.is_none_or(|conditions| conditions.len() < 2) => {
            return Err(wording.refuse("ConditionalOperator cannot be used without Filter or Expected"));
        }
        Some("AND") => ConditionPart::And,
        Some("OR") => ConditionPart::Or,
        _ => return Err(wording.refuse("ConditionalOperator must be AND or OR")),
    };
    let mut parts: Vec<ConditionPart> = Vec::new();
    for (name, condition) in conditions.into_iter().flatten() {
        let is_first = parts.is_empty();
        parts.extend(self::condition(name, condition, wording)?);
        if !is_first {
            parts.push(joined.clone());
        }
    }
    Ok(Some(Condition { parts }))
}

/// One condition, as the parts of the whole.
fn condition(name: &str, condition: &Value, wording: Wording) -> Result<Vec<ConditionPart>, Refusal> {
    let condition = condition.as_object().ok_or_else(unexpected)?;
    check_members(name, condition, wording)?;
    let path = Path::attribute(name);
    let Some(operator) = condition
        .get("ComparisonOperator")
        .filter(|operator| !operator.is_null())
    else {
        return Ok(vec![ConditionPart::Test(expected(path, condition, wording)?)]);
    };
    let values = match condition.get("AttributeValueList") {
        Some(Value::Array(values)) => values.clone(),
        _ => condition.get("Value").into_iter().cloned().collect(),
    };
    for value in &values {
        check_value(value, wording)?;
    }
    let operator = operator.as_str().ok_or_else(unexpected)?;
    check_values(operator, &values, wording)?;
    let mut operands = values.into_iter().map(Operand::Value);
    let attribute = Operand::Path(path.clone());
    let mut next = || operands.next().ok_or_else(unexpected);
    let compare = |comparator: Comparator, value: Operand| Test::Compare(attribute.clone(), comparator, value);
    let test = match operator {
        "EQ" => compare(Comparator::Equal, next()?),
        "NE" => compare(Comparator::NotEqual, next()?),
        "LT" => compare(Comparator::Less, next()?),
        "LE" => compare(Comparator::LessOrEqual, next()?),
        "GT" => compare(Comparator::Greater, next()?),
        "GE" => compare(Comparator::GreaterOrEqual, next()?),
        "NULL" => Test::NotExists(path),
        "NOT_NULL" => Test::Exists(path),
        "BEGINS_WITH" => Test::BeginsWith(attribute, next()?),
        "CONTAINS" => Test::Contains(attribute, next()?),
        // False if there is no such attribute, unlike `NE`.
        "NOT_CONTAINS" => {
            let contains = ConditionPart::Test(Test::Contains(attribute, next()?));
            return Ok(vec![
                contains,
                ConditionPart::Not,
                ConditionPart::Test(Test::Exists(path)),
                ConditionPart::And,
            ]);
        }
        "BETWEEN" => Test::Between(attribute, next()?, next()?),
        _ => Test::In(attribute, operands.collect()),
    };
    Ok(vec![ConditionPart::Test(test)])
}

/// Refuses a condition with members that exclude each other.
fn check_members(name: &str, condition: &Map<String, Value>, wording: Wording) -> Result<(), Refusal> {
    let has = |member: &str| condition.get(member).is_some_and(|value| !value.is_null());
    let problem = if has("Value") && has("AttributeValueList") {
        "Value and AttributeValueList cannot be used together"
    } else if has("Exists") && has("ComparisonOperator") {
        "Exists and ComparisonOperator cannot be used together"
    } else if has("AttributeValueList") && !has("ComparisonOperator") {
        "AttributeValueList can only be used with a ComparisonOperator"
    } else {
        return Ok(());
    };
    Err(wording.refuse(format!("{INVALID}{problem} for Attribute: {name}")))
}

/// Checks that an operator is known, and that it takes these values.
fn check_values(operator: &str, values: &[Value], wording: Wording) -> Result<(), Refusal> {
    if !OPERATORS.contains(&operator) {
        return Err(invalid_member(format_args!(
            "Value '{operator}' at 'comparisonOperator' failed to satisfy constraint: Member must satisfy enum value set: [{}]",
            OPERATORS.join(", ")
        )));
    }
    let expected = match operator {
        "NULL" | "NOT_NULL" => 0..=0,
        "BETWEEN" => 2..=2,
        "IN" => 1..=usize::MAX,
        _ => 1..=1,
    };
    if !expected.contains(&values.len()) {
        return Err(wording.refuse(format!(
            "{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator"
        )));
    }
    if values.iter().any(|value| tag(value) != tag(&values[0])) {
        return Err(wording.refuse(format!(
            "{INVALID}AttributeValues inside AttributeValueList must be of same type"
        )));
    }
    if let Some(value) = values.iter().find(|value| !accepts(operator, tag(value))) {
        return Err(wording.refuse(format!(
            "{INVALID}ComparisonOperator {operator} is not valid for {} AttributeValue type",
            tag(value)
        )));
    }
    match values {
        [low, high] if operator == "BETWEEN" && order(low, high).is_some_and(Ordering::is_gt) => Err(wording.refuse(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        )),
        _ => Ok(()),
    }
}

/// A condition by `Value` and `Exists` alone.
fn expected(path: Path, condition: &Map<String, Value>, wording: Wording) -> Result<Test, Refusal> {
    let value = condition.get("Value").filter(|value| !value.is_null());
    let exists = condition.get("Exists").and_then(Value::as_bool).unwrap_or(true);
    match (value, exists) {
        (Some(value), true) => {
            check_value(value, wording)?;
            Ok(Test::Compare(
                Operand::Path(path),
                Comparator::Equal,
                Operand::Value(value.clone()),
            ))
        }
        (None, false) => Ok(Test::NotExists(path)),
        (Some(_), false) => Err(wording.refuse(format!(
            "{INVALID}Value cannot be used when Exists is false for Attribute: {}",
            path.root
        ))),
        (None, true) => Err(wording.refuse(format!(
            "{INVALID}Value must be provided when Exists is null or true for Attribute: {}",
            path.root
        ))),
    }
}

/// The `AttributeUpdates` of a request.
pub(super) fn updates(request: &Value, wording: Wording) -> Result<Option<Update>, Refusal> {
    let updates = match &request["AttributeUpdates"] {
        Value::Null => return Ok(None),
        updates => updates.as_object().ok_or_else(unexpected)?,
    };
    let mut update = Update {
        is_legacy: true,
        ..Update::default()
    };
    for (name, requested) in updates {
        if name.is_empty() {
            return Err(wording.refuse("Empty attribute name"));
        }
        if name.len() > LONGEST_NAME {
            return Err(wording.refuse("Attribute name is too large, must be less than 65536 bytes"));
        }
        let kind = kind_of_update(requested, wording)?;
        update.actions.push(UpdateAction {
            path: Path::attribute(name),
            kind,
        });
    }
    Ok(Some(update))
}

fn kind_of_update(requested: &Value, wording: Wording) -> Result<ActionKind, Refusal> {
    let value = requested.get("Value").filter(|value| !value.is_null());
    if let Some(value) = value {
        check_value(value, wording)?;
    }
    let action = requested.get("Action").and_then(Value::as_str).unwrap_or("PUT");
    let not_supported = |what: &str, value: &Value| {
        Err(Refusal::validation(format!(
            "{INVALID}{what} is not supported for the type {}",
            tag(value)
        )))
    };
    match (action, value) {
        ("PUT", Some(value)) => Ok(ActionKind::Set(Assignment::Term(UpdateTerm::Value(value.clone())))),
        ("DELETE", None) => Ok(ActionKind::Remove),
        ("DELETE", Some(value)) if matches!(tag(value), "SS" | "NS" | "BS") => Ok(ActionKind::Delete(value.clone())),
        ("DELETE", Some(value)) => not_supported("DELETE action with value", value),
        ("ADD", Some(value)) if matches!(tag(value), "N" | "SS" | "NS" | "BS" | "L") => {
            Ok(ActionKind::Add(value.clone()))
        }
        ("ADD", Some(value)) => not_supported("ADD action", value),
        ("PUT" | "ADD", None) => Err(Refusal::validation(format!(
            "{INVALID}Only DELETE action is allowed when no attribute value is specified"
        ))),
        // The quote is the service's own.
        _ => Err(wording.refuse("Member must satisfy enum value set: [ADD, DELETE, PUT]' for Action")),
    }
}

/// Whether an operator takes values of this type.
fn accepts(operator: &str, tag: &str) -> bool {
    match operator {
        "LT" | "LE" | "GT" | "GE" | "BETWEEN" | "IN" => matches!(tag, "S" | "N" | "B"),
        "BEGINS_WITH" => matches!(tag, "S" | "B"),
        "CONTAINS" | "NOT_CONTAINS" => matches!(tag, "S" | "N" | "B" | "BOOL" | "NULL"),
        _ => true,
    }
}

/// Refuses a request that has some of the one members and some of the others.
pub(super) fn check_mixed(
    request: &Value,
    legacy: &[&str],
    expressions: &[&str],
    wording: Wording,
) -> Result<(), Refusal> {
    let present = |members: &[&str]| -> Vec<String> {
        let present = members.iter().filter(|member| !request[**member].is_null());
        present.map(|member| (*member).to_owned()).collect()
    };
    let (legacy, expressions) = (present(legacy), present(expressions));
    if legacy.is_empty() || expressions.is_empty() {
        return Ok(());
    }
    Err(wording.refuse(format!(
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {{{}}} \
         Expression parameters: {{{}}}",
        legacy.join(", "),
        expressions.join(", ")
    )))
}
