//! When two writes are equal to DynamoDB, whatever their spelling.
//!
//! DynamoDB stores numbers by value and sets without an order, and `NULL` has a single value. So a returned write need not
//! equal the sent one byte by byte.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};

use super::Attributes;
use super::number::{Number, same_number};

pub(super) fn same_request(one: &WriteRequest, other: &WriteRequest) -> bool {
    let same = |one: Option<&Attributes>, other: Option<&Attributes>| match (one, other) {
        (Some(one), Some(other)) => same_attributes(one, other),
        (one, other) => one.is_none() && other.is_none(),
    };
    let (put, other_put) = (one.put_request(), other.put_request());
    let (delete, other_delete) = (one.delete_request(), other.delete_request());
    same(put.map(PutRequest::item), other_put.map(PutRequest::item))
        && same(delete.map(DeleteRequest::key), other_delete.map(DeleteRequest::key))
}

pub(super) fn same_attributes(one: &Attributes, other: &Attributes) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .all(|(name, value)| other.get(name).is_some_and(|other| same_value(value, other)))
}

pub(super) fn same_value(one: &AttributeValue, other: &AttributeValue) -> bool {
    match (one, other) {
        (AttributeValue::N(one), AttributeValue::N(other)) => same_number(one, other),
        (AttributeValue::Null(_), AttributeValue::Null(_)) => true,
        (AttributeValue::Ss(one), AttributeValue::Ss(other)) => {
            one.len() == other.len() && one.iter().collect::<HashSet<_>>() == other.iter().collect()
        }
        (AttributeValue::Bs(one), AttributeValue::Bs(other)) => {
            let members = |blobs| -> HashSet<&[u8]> { bytes(blobs).collect() };
            one.len() == other.len() && members(one) == members(other)
        }
        (AttributeValue::Ns(one), AttributeValue::Ns(other)) => one.len() == other.len() && same_numbers(one, other),
        (AttributeValue::L(one), AttributeValue::L(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_value(one, other))
        }
        (AttributeValue::M(one), AttributeValue::M(other)) => same_attributes(one, other),
        _ => one == other,
    }
}

fn bytes(blobs: &[aws_sdk_dynamodb::primitives::Blob]) -> impl Iterator<Item = &[u8]> {
    blobs.iter().map(AsRef::as_ref)
}

/// Sets with a member that is not a number are refused before they are sent, so they are never equal.
fn same_numbers(one: &[String], other: &[String]) -> bool {
    let members = |set: &[String]| {
        set.iter()
            .map(|number| Number::parse(number).ok())
            .collect::<Option<HashSet<_>>>()
    };
    matches!((members(one), members(other)), (Some(one), Some(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use aws_sdk_dynamodb::primitives::Blob;

    use super::super::testing::{delete, put, text};
    use super::*;

    fn strings(members: &[&str]) -> AttributeValue {
        AttributeValue::Ss(members.iter().map(ToString::to_string).collect())
    }

    fn numbers(members: &[&str]) -> AttributeValue {
        AttributeValue::Ns(members.iter().map(ToString::to_string).collect())
    }

    fn blobs(members: &[&str]) -> AttributeValue {
        AttributeValue::Bs(members.iter().map(|member| Blob::new(*member)).collect())
    }

    fn map(value: AttributeValue) -> AttributeValue {
        AttributeValue::L(vec![AttributeValue::M(HashMap::from([("a".to_owned(), value)]))])
    }

    #[test]
    fn spellings_of_one_value_are_the_same() {
        let number = |number: &str| AttributeValue::N(number.to_owned());
        for (one, other) in [
            (text("a"), text("a")),
            (number("1"), number("1.0")),
            (AttributeValue::Null(true), AttributeValue::Null(false)),
            (strings(&["a", "b"]), strings(&["b", "a"])),
            (numbers(&["1", "20"]), numbers(&["2e1", "1.0"])),
            (blobs(&["a", "b"]), blobs(&["b", "a"])),
            (map(numbers(&["1", "2"])), map(numbers(&["2", "1"]))),
        ] {
            assert!(same_request(&put([("a", one)]), &put([("a", other)])));
        }
    }

    #[test]
    fn different_values_are_not() {
        for (one, other) in [
            (text("a"), text("b")),
            (text("1"), AttributeValue::N("1".to_owned())),
            (AttributeValue::Bool(true), AttributeValue::Bool(false)),
            (strings(&["a", "b"]), strings(&["a", "c"])),
            (strings(&["a"]), strings(&["a", "b"])),
            (numbers(&["1", "2"]), numbers(&["1", "3"])),
            (blobs(&["a"]), blobs(&["b"])),
            (map(text("a")), map(text("b"))),
            (
                AttributeValue::L(vec![text("a"), text("b")]),
                AttributeValue::L(vec![text("b"), text("a")]),
            ),
        ] {
            assert!(!same_request(&put([("a", one)]), &put([("a", other)])));
        }
        let (one, other) = (put([("a", text("1"))]), delete([("a", text("1"))]));
        assert!(!same_request(&one, &other));
        assert!(!same_request(&one, &put([("a", text("1")), ("b", text("1"))])));
        assert!(!same_request(&one, &put([("b", text("1"))])));
    }
}
