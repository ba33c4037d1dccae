//! Keys, values and writes that the tests share.

use std::collections::HashMap;

use aws_batch_delivery::targets::dynamo::ItemWrite;
use aws_sdk_dynamodb::types::AttributeValue;

pub(crate) type Attributes = HashMap<String, AttributeValue>;

pub(crate) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn key(id: impl Into<String>) -> Attributes {
    HashMap::from([("id".to_owned(), text(id))])
}

/// An item that says whose it is.
pub(crate) fn item(id: impl Into<String>, by: &str) -> Attributes {
    let mut item = key(id);
    item.insert("by".to_owned(), text(by));
    item
}

/// Puts the item unless there is one.
pub(crate) fn put_if_absent(id: impl Into<String>, by: &str) -> ItemWrite {
    ItemWrite::put(item(id, by)).condition("attribute_not_exists(id)")
}

/// Makes the item that of `by`, unless it is somebody's.
pub(crate) fn claim(id: impl Into<String>, by: &str) -> ItemWrite {
    ItemWrite::update(key(id), "SET #by = :by")
        .condition("attribute_not_exists(#by)")
        .name("#by", "by")
        .value(":by", text(by))
}

/// Deletes the item if it is that of `by`.
pub(crate) fn delete_if(id: impl Into<String>, by: &str) -> ItemWrite {
    ItemWrite::delete(key(id))
        .condition("#by = :by")
        .name("#by", "by")
        .value(":by", text(by))
}
