//! What services and their tools put around an item: requests to write it, and records of its changes.

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;
use super::key::Key;
use crate::format::dynamo_json::is_of_answer;
use crate::source::Flaw;

/// What a line says about an item.
#[derive(Debug, PartialEq)]
pub(super) enum ItemChange {
    /// The item, or its key alone.
    Item(Item),
    /// A request to put this item.
    Put(Item),
    /// Expressly a key alone.
    Key(Item),
    /// A request to delete the item with this key.
    Delete(Item),
    /// A change: the item as it is now.
    Changed(Item),
    /// A change: the item with this key is not there any longer.
    Removed(Item),
}

/// Members of a change, in incremental exports and in streams.
const OF_CHANGES: [&str; 9] = [
    "Metadata",
    "Keys",
    "OldImage",
    "NewImage",
    "ApproximateCreationDateTime",
    "ApproximateCreationDateTimePrecision",
    "SequenceNumber",
    "SizeBytes",
    "StreamViewType",
];

/// What the line with these members says. It is an item if it has an attribute of the table's key.
pub(super) fn record(mut line: Item, key: Option<&Key>) -> Result<ItemChange, Flaw> {
    let has_key = key.is_some_and(|key| key.attributes().any(|attribute| line.contains_key(&attribute.name)));
    if has_key {
        return Ok(ItemChange::Item(line));
    }
    if let Some(AttributeValue::M(change)) = line.get("dynamodb")
        && is_change(change)
        && let Some(AttributeValue::S(event)) = line.get("eventName")
    {
        let is_removed = event == "REMOVE";
        let Some(AttributeValue::M(change)) = line.remove("dynamodb") else {
            return Ok(ItemChange::Item(line));
        };
        return changed(change, is_removed);
    }
    if is_change(&line) {
        // An export has all that is there, so what it does not have was deleted.
        let is_export = line.contains_key("Metadata");
        return changed(line, is_export);
    }
    if let Some(item) = inner(&mut line, &["PutRequest", "Item"]) {
        return Ok(ItemChange::Put(item));
    }
    if let Some(item) = inner(&mut line, &["Item"]) {
        return Ok(ItemChange::Item(item));
    }
    if let Some(key) = inner(&mut line, &["DeleteRequest", "Key"]) {
        return Ok(ItemChange::Delete(key));
    }
    if let Some(key) = inner(&mut line, &["Key"]) {
        return Ok(ItemChange::Key(key));
    }
    match advice(&line) {
        Some(advice) => Err(Flaw::new(advice)),
        None => Ok(ItemChange::Item(line)),
    }
}

fn is_change(line: &Item) -> bool {
    line.get("Keys").is_some_and(AttributeValue::is_m)
        && line.len() > 1
        && line.keys().all(|name| OF_CHANGES.contains(&name.as_str()))
}

/// The change with these members, of which one without a new image is a deletion if `is_removed`.
fn changed(mut change: Item, is_removed: bool) -> Result<ItemChange, Flaw> {
    match change.remove("NewImage") {
        Some(AttributeValue::M(image)) => return Ok(ItemChange::Changed(image)),
        Some(_) => {
            return Err(Flaw::new(
                "the NewImage of this change is not an item, so it is not known whether the item exists",
            ));
        }
        None => {}
    }
    match change.remove("Keys") {
        Some(AttributeValue::M(key)) if is_removed => Ok(ItemChange::Removed(key)),
        _ => Err(Flaw::new(
            "this change has no NewImage, so the item is not known: a stream with new images is needed",
        )),
    }
}

/// The object at this path, if there is nothing else next to it.
fn inner(line: &mut Item, path: &[&str]) -> Option<Item> {
    let [name, path @ ..] = path else {
        return Some(std::mem::take(line));
    };
    let is_alone = line.keys().all(|other| other == name || is_of_answer(other));
    match line.get_mut(*name) {
        Some(AttributeValue::M(object)) if is_alone => inner(object, path),
        _ => None,
    }
}

/// What to do with a line that has items, but is none.
fn advice(line: &Item) -> Option<&'static str> {
    let is_list = |name: &str| {
        line.get(name)
            .is_some_and(|value| value.as_l().is_ok_and(|list| list.iter().all(AttributeValue::is_m)))
    };
    let is_map = |name: &str| line.get(name).is_some_and(AttributeValue::is_m);
    let is_text = |name: &str| line.get(name).is_some_and(AttributeValue::is_s);
    let is_answer = |name: &str| line.keys().all(|other| other == name || is_of_answer(other));
    if is_list("Items") && is_answer("Items") {
        return Some("this is the answer to a scan or query: `jq -c '.Items[]' FILE` makes lines of its items");
    }
    if is_map("Responses") && is_answer("Responses") {
        return Some("this is the answer to BatchGetItem: `jq -c '.Responses[][]' FILE` makes lines of its items");
    }
    if is_map("RequestItems") {
        return Some("this is a request of BatchWriteItem: `jq -c '.RequestItems[][]' FILE` makes lines of its writes");
    }
    if is_map("UnprocessedItems") && is_answer("UnprocessedItems") {
        return Some(
            "this is the answer to BatchWriteItem: `jq -c '.UnprocessedItems[][]' FILE` makes lines of its writes",
        );
    }
    if is_map("Item") && is_text("TableName") {
        return Some("this is a request of PutItem: `jq -c .Item FILE` makes lines of its items");
    }
    if is_list("Records") && line.len() == 1 {
        return Some("this is an event of Lambda: `jq -c '.Records[]' FILE` makes lines of its records");
    }
    if is_list("Messages") && line.len() == 1 {
        return Some(
            "this is the answer to ReceiveMessage: `jq -c '.Messages[].Body | fromjson' FILE` makes lines of its bodies",
        );
    }
    if is_text("Body") && is_text("ReceiptHandle") {
        return Some("this is a message of a queue: `jq -c '.Body | fromjson' FILE` makes lines of its bodies");
    }
    let is_request = |value: &AttributeValue| {
        let first = value.as_l().ok().and_then(|list| list.first()?.as_m().ok());
        first.is_some_and(|first| first.contains_key("PutRequest") || first.contains_key("DeleteRequest"))
    };
    (!line.is_empty() && line.values().all(is_request))
        .then_some("this is a request file of BatchWriteItem: `jq -c '.[][]' FILE` makes lines of its writes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::items::json::item_of_json;

    fn read(text: &str) -> Item {
        item_of_json(text.as_bytes()).unwrap()
    }

    fn said(text: &str) -> Result<ItemChange, Flaw> {
        record(read(text), Some(&"id".parse().unwrap()))
    }

    #[test]
    fn what_is_around_an_item_is_removed() {
        let item = || read(r#"{"id":{"S":"a"}}"#);
        for (text, expected) in [
            (r#"{"id":{"S":"a"}}"#, ItemChange::Item(item())),
            (r#"{"Item":{"id":{"S":"a"}}}"#, ItemChange::Item(item())),
            (
                r#"{"Item":{"id":{"S":"a"}},"ConsumedCapacity":null}"#,
                ItemChange::Item(item()),
            ),
            (r#"{"PutRequest":{"Item":{"id":{"S":"a"}}}}"#, ItemChange::Put(item())),
            (
                r#"{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}"#,
                ItemChange::Delete(item()),
            ),
            (r#"{"Key":{"id":{"S":"a"}}}"#, ItemChange::Key(item())),
            (
                r#"{"Metadata":{},"Keys":{},"OldImage":{},"NewImage":{"id":{"S":"a"}}}"#,
                ItemChange::Changed(item()),
            ),
            (
                r#"{"Metadata":{},"Keys":{"id":{"S":"a"}},"OldImage":{}}"#,
                ItemChange::Removed(item()),
            ),
            (
                r#"{"Keys":{},"NewImage":{"id":{"S":"a"}},"SequenceNumber":"1"}"#,
                ItemChange::Changed(item()),
            ),
            (
                r#"{"eventName":"MODIFY","dynamodb":{"Keys":{},"NewImage":{"id":{"S":"a"}}}}"#,
                ItemChange::Changed(item()),
            ),
            (
                r#"{"eventName":"REMOVE","dynamodb":{"Keys":{"id":{"S":"a"}},"SizeBytes":1}}"#,
                ItemChange::Removed(item()),
            ),
        ] {
            assert_eq!(said(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_change_from_a_kinesis_stream_is_repeated() {
        let record = |event: &str, images: &str| {
            format!(
                r#"{{"awsRegion":"us-east-1","eventID":"e","eventName":"{event}","userIdentity":null,
                "recordFormat":"application/json","tableName":"films","dynamodb":{{"ApproximateCreationDateTime":1,
                "ApproximateCreationDateTimePrecision":"MICROSECOND","Keys":{{"id":{{"S":"a"}}}},{images}"SizeBytes":9}},
                "eventSource":"aws:dynamodb"}}"#
            )
        };
        let item = read(r#"{"id":{"S":"a"}}"#);
        let insert = record("INSERT", r#""NewImage":{"id":{"S":"a"}},"#);
        assert_eq!(said(&insert), Ok(ItemChange::Changed(item.clone())));
        let remove = record("REMOVE", r#""OldImage":{"id":{"S":"a"}},"#);
        assert_eq!(said(&remove), Ok(ItemChange::Removed(item)));
    }

    #[test]
    fn a_deletion_is_not_guessed_from_a_stream_of_keys() {
        for text in [
            r#"{"Keys":{"id":{"S":"a"}},"SequenceNumber":"1"}"#,
            r#"{"eventName":"INSERT","dynamodb":{"Keys":{"id":{"S":"a"}},"SizeBytes":1}}"#,
        ] {
            assert!(said(text).unwrap_err().reason.contains("no NewImage"), "{text}");
        }
    }

    #[test]
    fn an_item_that_has_its_key_is_an_item_whatever_else_it_has() {
        for text in [
            r#"{"id":"a","Item":{"b":1}}"#,
            r#"{"id":"a","Keys":{},"NewImage":{}}"#,
            r#"{"id":"a","Items":[]}"#,
        ] {
            assert_eq!(said(text), Ok(ItemChange::Item(read(text))), "{text}");
        }
    }
}
