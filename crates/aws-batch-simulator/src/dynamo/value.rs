//! Attribute values as JSON: whether they are valid, and how large they are.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::number::Number;
use super::wording::{Wording, invalid_member};
use crate::wire::Refusal;

/// Bytes of an item at most.
pub(super) const LARGEST_ITEM: usize = 409_600;
/// Lists and maps around a value, at most: the value itself is on the level after them, and the limit is 32 levels.
const DEEPEST: usize = 31;
/// Bytes that a list or a map counts in addition to its members.
const CONTAINER: usize = 3;
/// Bytes of the name of an attribute at most.
pub(super) const LONGEST_NAME: usize = 65_535;

/// The bytes that `DynamoDB` counts for an item: its attributes with their names, as JSON with type tags. `None`: not an item.
///
/// A write unit covers 1,024 of them, a read unit 4,096.
///
/// ```
/// use aws_batch_simulator::{item_size, json};
///
/// assert_eq!(item_size(&json!({"id": {"S": "a-1"}, "count": {"N": "17"}})), Some(2 + 3 + 5 + 2));
/// ```
pub fn item_size(item: &Value) -> Option<usize> {
    size_of_item(item.as_object()?).ok()
}

/// The bytes of all attributes with their names, or why `DynamoDB` refuses them.
pub(super) fn size_of_item(item: &Map<String, Value>) -> Result<usize, Refusal> {
    check_item(item, Wording::Plain)
}

/// The same, with the words of an operation.
pub(super) fn check_item(item: &Map<String, Value>, wording: Wording) -> Result<usize, Refusal> {
    size_of_members(item, 0, wording)
}

/// The bytes of a value without its name, or why it is not one of an item.
pub(super) fn check_value(value: &Value, wording: Wording) -> Result<usize, Refusal> {
    size_of(value, 0, wording)
}

fn size_of_members(members: &Map<String, Value>, depth: usize, wording: Wording) -> Result<usize, Refusal> {
    members
        .iter()
        .map(|(name, value)| {
            if name.is_empty() {
                return Err(wording.refuse("Empty attribute name"));
            }
            if name.len() > LONGEST_NAME {
                return Err(wording.refuse("Attribute name is too large, must be less than 65536 bytes"));
            }
            Ok(name.len() + size_of(value, depth, wording)?)
        })
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

fn size_of(value: &Value, depth: usize, wording: Wording) -> Result<usize, Refusal> {
    if depth > DEEPEST {
        return Err(wording.refuse(TOO_DEEP));
    }
    let (tag, content) = tagged(value)?;
    match tag {
        "S" => Ok(text(content)?.len()),
        "N" => Ok(Number::parse_as(text(content)?, wording)?.size()),
        "B" => Ok(decode(content)?.len()),
        "BOOL" => content.as_bool().map(|_| 1).ok_or_else(unexpected),
        "NULL" if content.as_bool() == Some(true) => Ok(1),
        "NULL" => Err(wording.refuse_invalid("Null attribute value types must have the value of true")),
        "SS" | "NS" | "BS" => size_of_set(tag, list(content)?, wording),
        "L" => {
            let elements = list(content)?.iter();
            let elements = elements.map(|element| Ok(size_of(element, depth + 1, wording)? + 1));
            Ok(CONTAINER + elements.sum::<Result<usize, Refusal>>()?)
        }
        "M" => {
            let members = content.as_object().ok_or_else(unexpected)?;
            Ok(CONTAINER + members.len() + size_of_members(members, depth + 1, wording)?)
        }
        _ => Err(Refusal::validation(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        )),
    }
}

/// Of a value inside too many lists and maps.
const TOO_DEEP: &str =
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";

fn size_of_set(tag: &str, members: &[Value], wording: Wording) -> Result<usize, Refusal> {
    if members.is_empty() {
        return Err(wording.refuse_invalid(match tag {
            "SS" => "An string set  may not be empty",
            "NS" => "An number set  may not be empty",
            _ => "Binary sets should not be empty",
        }));
    }
    let members: Vec<&str> = members.iter().map(text).collect::<Result<_, _>>()?;
    let mut seen = HashSet::with_capacity(members.len());
    let mut size = 0;
    let mut repeated = None;
    for (place, member) in members.iter().enumerate() {
        let identity = match tag {
            "SS" => {
                size += member.len();
                (*member).to_owned()
            }
            "NS" => {
                let number = Number::parse_as(member, wording)?;
                size += number.size();
                number.canonical()
            }
            _ => {
                size += bytes(member)?.len();
                (*member).to_owned()
            }
        };
        if !seen.insert(identity) && repeated.is_none() {
            repeated = Some(place);
        }
    }
    match repeated {
        Some(place) if tag == "BS" => {
            let order = |member: &str| bytes(member).unwrap_or_default();
            Err(wording.refuse_duplicate(tag, &members, place, order))
        }
        Some(place) => Err(wording.refuse_duplicate(tag, &members, place, str::to_owned)),
        None => Ok(size),
    }
}

/// The attributes of a member that must be there.
pub(super) fn attributes<'a>(value: Option<&'a Value>, member: &str) -> Result<&'a Map<String, Value>, Refusal> {
    value.and_then(Value::as_object).ok_or_else(|| missing(member))
}

pub(super) fn missing(member: &str) -> Refusal {
    invalid_member(format_args!(
        "Value null at '{member}' failed to satisfy constraint: Member must not be null"
    ))
}

pub(super) fn text(content: &Value) -> Result<&str, Refusal> {
    content.as_str().ok_or_else(unexpected)
}

pub(super) fn decode(content: &Value) -> Result<Vec<u8>, Refusal> {
    bytes(text(content)?)
}

pub(super) fn bytes(base64: &str) -> Result<Vec<u8>, Refusal> {
    STANDARD.decode(base64).map_err(|_| bad_base64())
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
        size_of(value, 0, Wording::Plain).unwrap_err().message().to_owned()
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

    /// The attribute itself is the first level: 31 lists around a string are accepted, 32 are refused. Captured in eu-west-2 in June
    /// 2026 by the authors of the suite `paritysuite/dynamodb-conformance`.
    #[test]
    fn thirty_two_levels_are_the_limit() {
        assert!(size_of(&nested(31), 0, Wording::Plain).is_ok());
        assert_eq!(
            refusal(&nested(32)),
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
        );
    }

    #[test]
    fn a_name_is_not_empty_at_any_depth() {
        for item in [json!({"": {"S": "x"}}), json!({"a": {"L": [{"M": {"": {"S": "x"}}}]}})] {
            let refusal = check_item(item.as_object().unwrap(), Wording::Member).unwrap_err();
            assert_eq!(refusal.message(), "1 validation error detected: Empty attribute name");
        }
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
