//! Finds writes that DynamoDB would refuse, as far as that is possible without the table's key.
//!
//! One invalid request causes the whole call to be refused, so it is found before the call. Where AWS's documentation and
//! the service disagree, the write passes and the service decides.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};

use super::expression::check_placeholders;
use super::key::{MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES};
use super::number::Number;
use super::size::{CONTAINER, ELEMENT, value_size};
use crate::invalid::InvalidEntry;
use crate::services::checks::{check_count, check_size};

/// Levels of a value inside an item. The attribute's own value is the first level: 31 maps around a string are accepted, 32
/// are refused, even if the innermost one is empty.
const MAX_LEVELS: usize = 32;

/// Bytes of an attribute's name: less than 64 KiB.
const MAX_NAME_BYTES: usize = 65_535;

/// Bytes of an expression. From the service quotas of DynamoDB.
const MAX_EXPRESSION_BYTES: usize = 4 * 1024;

/// Bytes of all placeholders of a write with what they stand for. From the service quotas of DynamoDB.
const MAX_PLACEHOLDER_BYTES: usize = 2 * 1024 * 1024;

/// Attributes of a primary key: a partition key, and a sort key where the table has one.
const MAX_KEY_ATTRIBUTES: usize = 2;

type Attributes = HashMap<String, AttributeValue>;

/// Checks one write. An item may have at most `item_bytes`.
pub(super) fn check(request: &WriteRequest, item_bytes: usize) -> Result<(), InvalidEntry> {
    match (request.put_request(), request.delete_request()) {
        (Some(put), None) => item(put.item(), item_bytes),
        (None, Some(delete)) => key(delete.key()),
        (None, None) => Err(InvalidEntry::Missing {
            part: "put or delete request",
        }),
        (Some(_), Some(_)) => Err(InvalidEntry::malformed("write request", "either a put or a delete")),
    }
}

/// Checks the item of a put.
pub(super) fn item(item: &Attributes, limit: usize) -> Result<(), InvalidEntry> {
    if item.is_empty() {
        return Err(InvalidEntry::Missing { part: "item" });
    }
    check_size("item", limit, attributes(item, 1)?).map(drop)
}

/// Checks a primary key.
pub(super) fn key(key: &Attributes) -> Result<(), InvalidEntry> {
    if key.is_empty() {
        return Err(InvalidEntry::Missing { part: "key" });
    }
    check_count("key attributes", MAX_KEY_ATTRIBUTES, key.len())?;
    for (name, value) in key {
        key_value(value).map_err(|invalid| invalid.of_attribute(name))?;
    }
    attributes(key, 1)?;
    if key.len() == MAX_KEY_ATTRIBUTES {
        // Only the table knows which of the two is the sort key. It is at least as large as the smaller one.
        let sizes = key.values().map(value_size);
        check_size("sort key", MAX_SORT_KEY_BYTES, sizes.min().unwrap_or(0))?;
    }
    Ok(())
}

fn key_value(value: &AttributeValue) -> Result<(), InvalidEntry> {
    let part = "key attribute";
    match value {
        AttributeValue::S(_) | AttributeValue::B(_) if value_size(value) == 0 => Err(InvalidEntry::Missing { part }),
        AttributeValue::S(_) | AttributeValue::B(_) | AttributeValue::N(_) => {
            check_size(part, MAX_PARTITION_KEY_BYTES, value_size(value)).map(drop)
        }
        _ => Err(InvalidEntry::malformed(part, "a string, a number or binary")),
    }
}

/// Checks the expressions of a write and what their placeholders stand for, and returns their bytes.
pub(super) fn expressions(
    update: Option<&str>,
    condition: Option<&str>,
    names: Option<&HashMap<String, String>>,
    values: Option<&Attributes>,
) -> Result<usize, InvalidEntry> {
    let mut bytes = 0;
    for (part, expression) in [("update expression", update), ("condition", condition)] {
        if let Some(expression) = expression {
            if expression.trim_ascii().is_empty() {
                return Err(InvalidEntry::Missing { part });
            }
            check_size(part, MAX_EXPRESSION_BYTES, expression.len())?;
            bytes += expression.len();
        }
    }
    check_placeholders([update, condition], names, values)?;
    let names = names
        .into_iter()
        .flatten()
        .map(|(placeholder, name)| placeholder.len() + name.len());
    let values = values.map_or(Ok(0), |values| attributes(values, 1))?;
    let placeholders = names.sum::<usize>() + values;
    check_size("placeholders", MAX_PLACEHOLDER_BYTES, placeholders)?;
    Ok(bytes + placeholders)
}

/// Checks attributes, and returns the bytes that DynamoDB counts for them, in one pass.
fn attributes(attributes: &Attributes, level: usize) -> Result<usize, InvalidEntry> {
    attributes.iter().try_fold(0, |size, (name, attribute)| {
        if name.is_empty() {
            return Err(InvalidEntry::Missing { part: "attribute name" });
        }
        check_size("attribute name", MAX_NAME_BYTES, name.len())?;
        let of_value = value(attribute, level).map_err(|invalid| invalid.of_attribute(name))?;
        Ok(size + name.len() + of_value)
    })
}

fn value(value: &AttributeValue, level: usize) -> Result<usize, InvalidEntry> {
    let is_container = matches!(value, AttributeValue::L(_) | AttributeValue::M(_));
    if level + usize::from(is_container) > MAX_LEVELS {
        check_count("levels of nesting", MAX_LEVELS, level - 1 + levels(value))?;
    }
    match value {
        // Empty strings and binaries are allowed, in sets too; only keys and whole sets must not be empty.
        AttributeValue::S(text) => return Ok(text.len()),
        AttributeValue::B(_) | AttributeValue::Bool(_) | AttributeValue::Null(true) => {}
        AttributeValue::Null(false) => {
            return Err(InvalidEntry::malformed(
                "null attribute",
                "`true`, the only value of its type",
            ));
        }
        AttributeValue::N(number) => return Number::parse(number).map(Number::size),
        AttributeValue::Ss(texts) => set("string set", texts.iter().map(|text| Ok(text.as_str())))?,
        AttributeValue::Ns(numbers) => set("number set", numbers.iter().map(|number| Number::parse(number)))?,
        AttributeValue::Bs(blobs) => set("binary set", blobs.iter().map(|blob| Ok(blob.as_ref())))?,
        AttributeValue::L(values) => {
            return values.iter().enumerate().try_fold(CONTAINER, |size, (index, value)| {
                let of_value = self::value(value, level + 1).map_err(|invalid| invalid.of_member(index))?;
                Ok(size + ELEMENT + of_value)
            });
        }
        AttributeValue::M(map) => return Ok(CONTAINER + ELEMENT * map.len() + attributes(map, level + 1)?),
        _ => {
            return Err(InvalidEntry::malformed(
                "attribute value",
                "of a type that this version of the SDK can send",
            ));
        }
    }
    Ok(value_size(value))
}

fn set<T: Eq + Hash>(
    part: &'static str,
    members: impl ExactSizeIterator<Item = Result<T, InvalidEntry>>,
) -> Result<(), InvalidEntry> {
    if members.len() == 0 {
        return Err(InvalidEntry::Missing { part });
    }
    let mut seen = HashSet::with_capacity(members.len());
    for (index, member) in members.enumerate() {
        if !seen.insert(member.map_err(|invalid| invalid.of_member(index))?) {
            return Err(InvalidEntry::malformed(part, "free of duplicates"));
        }
    }
    Ok(())
}

/// Levels of a value, computed without recursion because the nesting is unlimited. A list or a map has a level inside, even
/// if it is empty.
fn levels(value: &AttributeValue) -> usize {
    let mut deepest = 0;
    let mut waiting = vec![(value, 1)];
    while let Some((value, level)) = waiting.pop() {
        deepest = deepest.max(match value {
            AttributeValue::L(values) => {
                waiting.extend(values.iter().map(|value| (value, level + 1)));
                level + 1
            }
            AttributeValue::M(map) => {
                waiting.extend(map.values().map(|value| (value, level + 1)));
                level + 1
            }
            _ => level,
        });
    }
    deepest
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;

    use super::super::testing::{delete, put, text};
    use super::super::{MAX_ITEM_BYTES, item_size};
    use super::*;

    fn refusal(request: &WriteRequest) -> String {
        check(request, MAX_ITEM_BYTES).unwrap_err().to_string()
    }

    /// What is wrong with the value, without its path.
    fn refused_value(value: AttributeValue) -> String {
        let refusal = refusal(&put([("id", text("1")), ("value", value)]));
        let (path, words) = refusal.split_once("`: ").unwrap();
        assert!(path.starts_with("`value"), "{refusal}");
        words.to_owned()
    }

    fn accepted(value: AttributeValue) -> bool {
        check(&put([("id", text("1")), ("value", value)]), MAX_ITEM_BYTES).is_ok()
    }

    /// As many maps around a value.
    fn maps(count: usize, innermost: AttributeValue) -> AttributeValue {
        (0..count).fold(innermost, |value, _| {
            AttributeValue::M([("map".to_owned(), value)].into())
        })
    }

    #[test]
    fn an_empty_container_has_a_level_inside() {
        for empty in [AttributeValue::L(Vec::new()), AttributeValue::M(HashMap::new())] {
            assert!(accepted(maps(30, empty.clone())));
            assert_eq!(
                refused_value(maps(31, empty)),
                "there are 33 levels of nesting, the limit is 32"
            );
        }
    }

    #[test]
    fn a_null_is_true() {
        assert!(accepted(AttributeValue::Null(true)));
        assert_eq!(
            refused_value(AttributeValue::Null(false)),
            "the null attribute must be `true`, the only value of its type"
        );
    }

    fn number(number: &str) -> AttributeValue {
        AttributeValue::N(number.to_owned())
    }

    fn nested(wraps: usize, inner: AttributeValue) -> AttributeValue {
        (0..wraps).fold(inner, |value, wrap| {
            if wrap % 2 == 0 {
                AttributeValue::L(vec![value])
            } else {
                AttributeValue::M(HashMap::from([("a".to_owned(), value)]))
            }
        })
    }

    #[test]
    fn an_item_of_exactly_the_limit_passes_and_one_byte_more_is_refused() {
        let item = |bytes: usize| put([("id", text("1")), ("value", text(&"x".repeat(bytes - 8)))]);
        assert_eq!(item_size(item(409_600).put_request().unwrap().item()), 409_600);
        assert_eq!(check(&item(409_600), MAX_ITEM_BYTES), Ok(()));
        assert_eq!(
            refusal(&item(409_601)),
            "the item has 409601 bytes, the limit is 409600"
        );
    }

    #[test]
    fn a_write_is_a_put_or_a_delete() {
        let both = WriteRequest::builder()
            .set_put_request(put([("id", text("1"))]).put_request)
            .set_delete_request(delete([("id", text("1"))]).delete_request)
            .build();
        assert_eq!(
            refusal(&WriteRequest::builder().build()),
            "the put or delete request is missing or empty"
        );
        assert_eq!(refusal(&both), "the write request must be either a put or a delete");
        assert_eq!(refusal(&put([])), "the item is missing or empty");
        assert_eq!(
            refusal(&put([("", text("1"))])),
            "the attribute name is missing or empty"
        );
    }

    #[test]
    fn thirty_two_levels_pass_and_one_more_is_refused() {
        assert!(accepted(nested(31, text("leaf"))));
        assert_eq!(
            refused_value(nested(32, text("leaf"))),
            "there are 33 levels of nesting, the limit is 32"
        );
        assert_eq!(
            refused_value(nested(99, text("leaf"))),
            "there are 100 levels of nesting, the limit is 32"
        );
    }

    #[test]
    fn numbers_are_checked_wherever_they_stand() {
        for value in [
            number("x"),
            AttributeValue::Ns(vec!["x".to_owned()]),
            nested(3, number("x")),
        ] {
            assert_eq!(refused_value(value), "the number must be a decimal number");
        }
        assert_eq!(
            refusal(&delete([("id", number("x"))])),
            "`id`: the number must be a decimal number"
        );
    }

    #[test]
    fn an_error_names_the_path_of_its_attribute() {
        let map = |name: &str, value| AttributeValue::M(HashMap::from([(name.to_owned(), value)]));
        let number_in_a_list = || AttributeValue::L(vec![text("1"), map("price", number("x"))]);
        for (value, path) in [
            (map("zip", number("x")), "value.zip"),
            (number_in_a_list(), "value[1].price"),
            (map("lines", number_in_a_list()), "value.lines[1].price"),
            (
                map("a.b", AttributeValue::Ns(vec!["1".to_owned(), "x".to_owned()])),
                "value.\"a.b\"[1]",
            ),
        ] {
            assert_eq!(
                refusal(&put([("id", text("1")), ("value", value)])),
                format!("`{path}`: the number must be a decimal number")
            );
        }
        assert_eq!(
            refusal(&put([("value", map("tags", AttributeValue::Ss(Vec::new())))])),
            "`value.tags`: the string set is missing or empty"
        );
        assert_eq!(
            refusal(&put([("value", map("", text("1")))])),
            "`value`: the attribute name is missing or empty"
        );
        let deep = refusal(&put([("value", maps(40, text("leaf")))]));
        assert!(
            deep.starts_with("`value.map.map.") && deep.ends_with("`: there are 41 levels of nesting, the limit is 32"),
            "{deep}"
        );
    }

    #[test]
    fn sets_have_members_and_no_member_twice() {
        let strings = |members: &[&str]| AttributeValue::Ss(members.iter().map(ToString::to_string).collect());
        let numbers = |members: &[&str]| AttributeValue::Ns(members.iter().map(ToString::to_string).collect());
        let blobs = |members: &[&str]| AttributeValue::Bs(members.iter().map(|member| Blob::new(*member)).collect());
        assert_eq!(refused_value(strings(&[])), "the string set is missing or empty");
        assert_eq!(refused_value(numbers(&[])), "the number set is missing or empty");
        assert_eq!(refused_value(blobs(&[])), "the binary set is missing or empty");
        assert_eq!(
            refused_value(strings(&["a", "a"])),
            "the string set must be free of duplicates"
        );
        assert_eq!(
            refused_value(numbers(&["1", "1.0"])),
            "the number set must be free of duplicates"
        );
        assert_eq!(
            refused_value(blobs(&["", ""])),
            "the binary set must be free of duplicates"
        );
        assert!(accepted(strings(&["", "a"])));
        assert!(accepted(blobs(&["", "a"])));
        assert!(accepted(numbers(&["1", "-1"])));
    }

    #[test]
    fn empty_values_are_left_to_the_service() {
        for value in [
            text(""),
            AttributeValue::B(Blob::new([])),
            AttributeValue::L(Vec::new()),
            AttributeValue::M(HashMap::new()),
        ] {
            assert!(accepted(value));
        }
    }

    #[test]
    fn keys_are_one_or_two_scalars() {
        assert_eq!(check(&delete([("id", text("1"))]), MAX_ITEM_BYTES), Ok(()));
        assert_eq!(
            check(&delete([("id", text("1")), ("at", number("0"))]), MAX_ITEM_BYTES),
            Ok(())
        );
        assert_eq!(refusal(&delete([])), "the key is missing or empty");
        assert_eq!(
            refusal(&delete([("a", text("1")), ("b", text("1")), ("c", text("1"))])),
            "there are 3 key attributes, the limit is 2"
        );
        assert_eq!(
            refusal(&delete([("id", text(""))])),
            "`id`: the key attribute is missing or empty"
        );
        assert_eq!(
            refusal(&delete([("id", AttributeValue::Bool(true))])),
            "`id`: the key attribute must be a string, a number or binary"
        );
    }

    #[test]
    fn keys_have_their_limits() {
        let long = |bytes: usize| text(&"k".repeat(bytes));
        assert_eq!(
            check(&delete([("id", long(2_048)), ("at", long(1_024))]), MAX_ITEM_BYTES),
            Ok(())
        );
        assert_eq!(
            refusal(&delete([("id", long(2_049))])),
            "`id`: the key attribute has 2049 bytes, the limit is 2048"
        );
        assert_eq!(
            refusal(&delete([("id", long(2_048)), ("at", long(1_025))])),
            "the sort key has 1025 bytes, the limit is 1024"
        );
    }
}
