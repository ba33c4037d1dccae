//! Attribute values as JSON: whether they are valid, and how large they are.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::number::Number;
use crate::wire::Refusal;

/// Bytes of an item at most.
pub(super) const LARGEST_ITEM: usize = 409_600;
/// Lists and maps may be nested this deep.
const DEEPEST: usize = 32;
/// Bytes that a list or a map counts in addition to its members.
const CONTAINER: usize = 3;

/// The bytes of all attributes with their names, or why `DynamoDB` refuses them.
pub(super) fn size_of_item(item: &Map<String, Value>) -> Result<usize, Refusal> {
    size_of_members(item, 0)
}

fn size_of_members(members: &Map<String, Value>, depth: usize) -> Result<usize, Refusal> {
    members
        .iter()
        .map(|(name, value)| Ok(name.len() + size_of(value, depth)?))
        .sum()
}

/// The single type tag of a value, and what it holds.
pub(super) fn tagged(value: &Value) -> Result<(&str, &Value), Refusal> {
    let members = value.as_object().ok_or_else(unexpected)?;
    let mut members = members.iter();
    match (members.next(), members.next()) {
        (Some((tag, content)), None) => Ok((tag, content)),
        (None, _) => Err(Refusal::validation(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        )),
        _ => Err(Refusal::validation(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        )),
    }
}

fn size_of(value: &Value, depth: usize) -> Result<usize, Refusal> {
    let (tag, content) = tagged(value)?;
    match tag {
        "S" => Ok(text(content)?.len()),
        "N" => Ok(Number::parse(text(content)?)?.size()),
        "B" => Ok(decode(content)?.len()),
        "BOOL" => content.as_bool().map(|_| 1).ok_or_else(unexpected),
        "NULL" if content.as_bool() == Some(true) => Ok(1),
        "NULL" => Err(Refusal::validation(
            "One or more parameter values were invalid: Null attribute value types must have the value of true",
        )),
        "SS" | "NS" | "BS" => size_of_set(tag, list(content)?),
        "L" => {
            let depth = deeper(depth)?;
            let elements = list(content)?.iter().map(|element| Ok(size_of(element, depth)? + 1));
            Ok(CONTAINER + elements.sum::<Result<usize, Refusal>>()?)
        }
        "M" => {
            let depth = deeper(depth)?;
            let members = content.as_object().ok_or_else(unexpected)?;
            Ok(CONTAINER + members.len() + size_of_members(members, depth)?)
        }
        _ => Err(Refusal::validation(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        )),
    }
}

fn size_of_set(tag: &str, members: &[Value]) -> Result<usize, Refusal> {
    if members.is_empty() {
        return Err(Refusal::validation(match tag {
            "SS" => "One or more parameter values were invalid: An string set  may not be empty",
            "NS" => "One or more parameter values were invalid: An number set  may not be empty",
            _ => "One or more parameter values were invalid: Binary sets should not be empty",
        }));
    }
    let mut seen = HashSet::with_capacity(members.len());
    let mut size = 0;
    for member in members {
        let member = text(member)?;
        let identity = match tag {
            "SS" => {
                size += member.len();
                member.to_owned()
            }
            "NS" => {
                let number = Number::parse(member)?;
                size += number.size();
                number.canonical()
            }
            _ => {
                let bytes = STANDARD.decode(member).map_err(|_| bad_base64())?;
                size += bytes.len();
                member.to_owned()
            }
        };
        if !seen.insert(identity) {
            return Err(Refusal::validation(match tag {
                "NS" => "Input collection contains duplicates",
                _ => "One or more parameter values were invalid: Input collection contains duplicates.",
            }));
        }
    }
    Ok(size)
}

fn deeper(depth: usize) -> Result<usize, Refusal> {
    if depth >= DEEPEST {
        return Err(Refusal::validation("Nesting Levels have exceeded supported limits"));
    }
    Ok(depth + 1)
}

/// The attributes of a member that must be there.
pub(super) fn attributes<'a>(value: Option<&'a Value>, member: &str) -> Result<&'a Map<String, Value>, Refusal> {
    value.and_then(Value::as_object).ok_or_else(|| missing(member))
}

pub(super) fn missing(member: &str) -> Refusal {
    Refusal::validation(format!(
        "1 validation error detected: Value null at '{member}' failed to satisfy constraint: Member must not be null"
    ))
}

pub(super) fn text(content: &Value) -> Result<&str, Refusal> {
    content.as_str().ok_or_else(unexpected)
}

pub(super) fn decode(content: &Value) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(text(content)?).map_err(|_| bad_base64())
}

fn list(content: &Value) -> Result<&Vec<Value>, Refusal> {
    content.as_array().ok_or_else(unexpected)
}

pub(super) fn unexpected() -> Refusal {
    Refusal::serialization("Unexpected value type in payload")
}

fn bad_base64() -> Refusal {
    Refusal::serialization("Base64 encoded data is not valid")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn size(item: &Value) -> usize {
        size_of_item(item.as_object().unwrap()).unwrap()
    }

    fn refusal(value: &Value) -> String {
        size_of(value, 0).unwrap_err().message().to_owned()
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({"S": "x"}), |inner, _| json!({"L": [inner]}))
    }

    #[test]
    fn the_size_of_an_item_counts_its_names_and_its_values() {
        assert_eq!(size(&json!({"id": {"S": "äb"}})), 2 + 3);
        assert_eq!(
            size(&json!({"id": {"N": "123"}, "b": {"BOOL": false}, "n": {"NULL": true}})),
            2 + 3 + 2 + 2
        );
        assert_eq!(
            size(&json!({"b": {"B": "AAAA"}, "s": {"SS": ["a", "bc"]}, "t": {"NS": ["1", "2"]}})),
            4 + 4 + 5
        );
        assert_eq!(
            size(&json!({"l": {"L": [{"S": "ab"}, {"BOOL": true}]}})),
            1 + 3 + 2 + 1 + 1 + 1
        );
        assert_eq!(size(&json!({"m": {"M": {"ab": {"S": "c"}}}})), 1 + 3 + 1 + 2 + 1);
        assert_eq!(
            size(&json!({"e": {"M": {}}, "f": {"L": []}, "g": {"S": ""}})),
            1 + 3 + 1 + 3 + 1
        );
    }

    #[test]
    fn thirty_two_levels_are_the_limit() {
        assert!(size_of(&nested(32), 0).is_ok());
        assert_eq!(refusal(&nested(33)), "Nesting Levels have exceeded supported limits");
    }

    #[test]
    fn sets_are_neither_empty_nor_hold_a_member_twice() {
        for tag in ["SS", "NS", "BS"] {
            assert!(refusal(&json!({tag: []})).contains("be empty"), "{tag}");
        }
        assert!(refusal(&json!({"SS": ["a", "a"]})).contains("duplicates"));
        assert!(refusal(&json!({"NS": ["1", "1.0"]})).contains("duplicates"));
        assert!(refusal(&json!({"BS": ["AAAA", "AAAA"]})).contains("duplicates"));
    }

    #[test]
    fn a_value_has_exactly_one_type() {
        assert!(refusal(&json!({})).contains("is empty"));
        assert!(refusal(&json!({"S": "a", "N": "1"})).contains("more than one"));
        assert!(refusal(&json!({"X": "a"})).contains("is empty"));
        assert!(refusal(&json!({"NULL": false})).contains("Null attribute"));
        assert!(refusal(&json!({"S": 1})).contains("Unexpected"));
        assert!(refusal(&json!({"B": "!"})).contains("Base64"));
    }
}
