//! How values compare.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::dynamo::number::Number;
use crate::dynamo::value::bytes;

/// The type of a value, and what it holds. Values of requests and of items are checked before.
pub(super) fn parts(value: &Value) -> (&str, &Value) {
    let member = value.as_object().and_then(|members| members.iter().next());
    member.map_or(("", &Value::Null), |(tag, content)| (tag.as_str(), content))
}

pub(super) fn tag(value: &Value) -> &str {
    parts(value).0
}

/// Whether two values are the same. Numbers are by value, and sets in any order.
pub(super) fn are_equal(one: &Value, other: &Value) -> bool {
    let ((tag, one), (of_other, other)) = (parts(one), parts(other));
    if tag != of_other {
        return false;
    }
    match (tag, one, other) {
        ("N", ..) => number(one) == number(other),
        ("SS" | "NS" | "BS", ..) => members(tag, one) == members(tag, other),
        ("L", Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| are_equal(one, other))
        }
        ("M", Value::Object(one), Value::Object(other)) => {
            let is_in = |(name, value)| other.get(name).is_some_and(|other| are_equal(value, other));
            one.len() == other.len() && one.iter().all(is_in)
        }
        _ => one == other,
    }
}

/// The order of two strings, numbers or binary values; `None` for all others, and for two that differ in type.
pub(super) fn order(one: &Value, other: &Value) -> Option<Ordering> {
    let ((tag, one), (of_other, other)) = (parts(one), parts(other));
    match tag {
        _ if tag != of_other => None,
        "S" => Some(one.as_str()?.cmp(other.as_str()?)),
        "N" => Some(number(one)?.cmp(&number(other)?)),
        "B" => Some(binary(one)?.cmp(&binary(other)?)),
        _ => None,
    }
}

/// Whether types have an order.
pub(super) fn is_ordered(tag: &str) -> bool {
    matches!(tag, "S" | "N" | "B")
}

/// What `size` is of a value; `None` if its type has none.
pub(super) fn size(value: &Value) -> Option<usize> {
    match parts(value) {
        ("S", Value::String(text)) => Some(text.encode_utf16().count()),
        ("B", content) => Some(binary(content)?.len()),
        ("SS" | "NS" | "BS" | "L", Value::Array(members)) => Some(members.len()),
        ("M", Value::Object(members)) => Some(members.len()),
        _ => None,
    }
}

pub(super) fn begins_with(value: &Value, prefix: &Value) -> bool {
    match (parts(value), parts(prefix)) {
        (("S", Value::String(value)), ("S", Value::String(prefix))) => value.starts_with(prefix.as_str()),
        (("B", value), ("B", prefix)) => match (binary(value), binary(prefix)) {
            (Some(value), Some(prefix)) => value.starts_with(&prefix),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a value is a part of a text, a member of a set or an element of a list.
pub(super) fn contains(container: &Value, value: &Value) -> bool {
    match (parts(container), parts(value)) {
        (("S", Value::String(text)), ("S", Value::String(part))) => text.contains(part.as_str()),
        (("B", whole), ("B", part)) => match (binary(whole), binary(part)) {
            (Some(whole), Some(part)) => part.is_empty() || whole.windows(part.len()).any(|window| window == part),
            _ => false,
        },
        (("SS", members), ("S", member)) | (("BS", members), ("B", member)) => {
            members.as_array().is_some_and(|members| members.contains(member))
        }
        (("NS", members), ("N", member)) => {
            let mut members = members.as_array().into_iter().flatten();
            members.any(|other| number(other) == number(member))
        }
        (("L", Value::Array(elements)), _) => elements.iter().any(|element| are_equal(element, value)),
        _ => false,
    }
}

/// The number that a text is.
pub(super) fn number(content: &Value) -> Option<Number> {
    Number::parse(content.as_str()?).ok()
}

fn binary(content: &Value) -> Option<Vec<u8>> {
    bytes(content.as_str()?).ok()
}

/// What distinguishes a member of a set of this type from the others.
pub(super) fn identity(tag: &str, member: &Value) -> String {
    let text = member.as_str().unwrap_or_default();
    match number(member).filter(|_| tag == "NS") {
        Some(number) => number.canonical(),
        None => text.to_owned(),
    }
}

fn members(tag: &str, content: &Value) -> BTreeSet<String> {
    let members = content.as_array().into_iter().flatten();
    members.map(|member| identity(tag, member)).collect()
}
