//! DynamoDB JSON: each value with its type, `{"year":{"N":"2013"}}`.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use crate::flaw::Flaw;
use crate::item::Item;

const TYPES: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"];

/// The name of the item in the lines of an export.
const ITEM: &str = "Item";

/// How the types of a line are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `{"year":2013}`
    Plain,
    /// `{"year":{"N":"2013"}}`
    Typed,
    /// `{"Item":{"year":{"N":"2013"}}}`
    Wrapped,
}

/// How the types of this line are written. It is unambiguous for an item, because its key is a plain string or number in plain
/// JSON, and never an object.
pub(crate) fn shape(item: &Item) -> Shape {
    let is_typed = |item: &Item| !item.is_empty() && item.values().all(has_type);
    match item.get(ITEM) {
        Some(AttributeValue::M(inner)) if item.len() == 1 && is_typed(inner) => Shape::Wrapped,
        _ if is_typed(item) => Shape::Typed,
        _ => Shape::Plain,
    }
}

/// Whether the value is written with its type, `{"N":"1"}`.
pub(crate) fn has_type(value: &AttributeValue) -> bool {
    let AttributeValue::M(map) = value else { return false };
    map.len() == 1 && map.keys().all(|name| TYPES.contains(&name.as_str()))
}

/// The item that is written as DynamoDB JSON, with or without `Item` around it.
pub(crate) fn untyped(mut item: Item) -> Result<Item, Flaw> {
    if shape(&item) == Shape::Wrapped
        && let Some(AttributeValue::M(inner)) = item.remove(ITEM)
    {
        return attributes(inner);
    }
    attributes(item)
}

/// The value of a cell, which may be written as DynamoDB JSON: `{"S":"a"}`, a list of such values, or a map of them.
pub(crate) fn of_cell(value: AttributeValue) -> Result<AttributeValue, Flaw> {
    if has_type(&value) {
        return typed(value);
    }
    match value {
        AttributeValue::L(values) if !values.is_empty() && values.iter().all(has_type) => values
            .into_iter()
            .map(typed)
            .collect::<Result<_, _>>()
            .map(AttributeValue::L),
        AttributeValue::M(map) if !map.is_empty() && map.values().all(has_type) => {
            attributes(map).map(AttributeValue::M)
        }
        value => Ok(value),
    }
}

/// Of several flaws, returns that of the first name: an item has no order, and a line must have the same flaw each time.
fn attributes(item: Item) -> Result<Item, Flaw> {
    let mut attributes = Item::with_capacity(item.len());
    let mut first: Option<(String, Flaw)> = None;
    for (name, value) in item {
        match typed(value) {
            Ok(value) => {
                attributes.insert(name, value);
            }
            Err(flaw) if first.as_ref().is_none_or(|(other, _)| name < *other) => first = Some((name, flaw)),
            Err(_) => {}
        }
    }
    first.map_or(Ok(attributes), |(_, flaw)| Err(flaw))
}

fn typed(value: AttributeValue) -> Result<AttributeValue, Flaw> {
    let AttributeValue::M(map) = value else {
        return Err(Flaw::new(
            "a value has no type: DynamoDB JSON has {\"N\":\"1\"} where JSON has 1",
        ));
    };
    let mut pairs = map.into_iter();
    let (Some((kind, value)), None) = (pairs.next(), pairs.next()) else {
        return Err(Flaw::new("a value of DynamoDB JSON has exactly one type"));
    };
    Ok(match (kind.as_str(), value) {
        ("S", AttributeValue::S(text)) => AttributeValue::S(text),
        ("N", AttributeValue::S(number)) => AttributeValue::N(number),
        ("B", AttributeValue::S(text)) => AttributeValue::B(bytes(&text)?),
        ("BOOL", AttributeValue::Bool(yes)) => AttributeValue::Bool(yes),
        ("NULL", AttributeValue::Bool(true)) => AttributeValue::Null(true),
        ("M", AttributeValue::M(map)) => AttributeValue::M(attributes(map)?),
        ("L", AttributeValue::L(values)) => AttributeValue::L(values.into_iter().map(typed).collect::<Result<_, _>>()?),
        ("SS", AttributeValue::L(values)) => AttributeValue::Ss(texts(values)?),
        ("NS", AttributeValue::L(values)) => AttributeValue::Ns(texts(values)?),
        ("BS", AttributeValue::L(values)) => {
            let texts = texts(values)?;
            AttributeValue::Bs(texts.iter().map(|text| bytes(text)).collect::<Result<_, _>>()?)
        }
        (kind, _) => {
            return Err(Flaw::new(match TYPES.iter().find(|known| **known == kind) {
                Some(kind) => format!("a value of the type {kind} is not written as in DynamoDB JSON"),
                None => format!("a value has no type of DynamoDB; the types are {}", TYPES.join(", ")),
            }));
        }
    })
}

fn texts(values: Vec<AttributeValue>) -> Result<Vec<String>, Flaw> {
    let texts = values.into_iter().map(|value| match value {
        AttributeValue::S(text) => Ok(text),
        _ => Err(Flaw::new(
            "the members of a set are strings in DynamoDB JSON, also numbers and binary values",
        )),
    });
    texts.collect()
}

fn bytes(text: &str) -> Result<Blob, Flaw> {
    let bytes = BASE64_STANDARD.decode(text);
    bytes
        .map(Blob::new)
        .map_err(|_| Flaw::new("a binary value is not base64"))
}

/// The item as DynamoDB JSON.
pub(crate) fn to_json(item: &Item) -> Value {
    let fields: Map<String, Value> = item
        .iter()
        .map(|(name, value)| (name.clone(), value_to_json(value)))
        .collect();
    Value::Object(fields)
}

fn value_to_json(value: &AttributeValue) -> Value {
    let base64 = |blob: &Blob| BASE64_STANDARD.encode(blob);
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::B(blob) => json!({ "B": base64(blob) }),
        AttributeValue::Bool(yes) => json!({ "BOOL": yes }),
        AttributeValue::M(map) => json!({ "M": to_json(map) }),
        AttributeValue::L(values) => json!({ "L": values.iter().map(value_to_json).collect::<Vec<_>>() }),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(blobs) => json!({ "BS": blobs.iter().map(base64).collect::<Vec<_>>() }),
        // Other types exist only in newer versions of the SDK.
        _ => json!({ "NULL": true }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::json::Json;

    fn read(text: &str) -> Item {
        Json::default().item(text.as_bytes()).unwrap()
    }

    fn values() -> impl Strategy<Value = AttributeValue> {
        let blob = || prop::collection::vec(any::<u8>(), 0..9).prop_map(Blob::new);
        let leaf = prop_oneof![
            Just(AttributeValue::Null(true)),
            any::<bool>().prop_map(AttributeValue::Bool),
            any::<String>().prop_map(AttributeValue::S),
            any::<i64>().prop_map(|number| AttributeValue::N(number.to_string())),
            blob().prop_map(AttributeValue::B),
            prop::collection::vec(any::<String>(), 1..4).prop_map(AttributeValue::Ss),
            prop::collection::vec(blob(), 1..4).prop_map(AttributeValue::Bs),
            prop::collection::vec(any::<i32>().prop_map(|number| number.to_string()), 1..4)
                .prop_map(AttributeValue::Ns),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
                prop::collection::hash_map(any::<String>(), inner, 0..4).prop_map(AttributeValue::M),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_item_comes_back_as_it_was_written(item in prop::collection::hash_map(any::<String>(), values(), 1..6)) {
            let written = to_json(&item);
            let bare = read(&written.to_string());
            prop_assert_ne!(shape(&bare), Shape::Plain);
            prop_assert_eq!(&untyped(bare).unwrap(), &item);
            let wrapped = read(&json!({ "Item": written }).to_string());
            prop_assert_eq!(untyped(wrapped).unwrap(), item);
        }
    }

    #[test]
    fn of_several_flaws_the_same_one_is_reported_each_time() {
        for _ in 0..50 {
            let flaw = untyped(read(r#"{"b":{"B":"?"},"a":{"M":{"d":{"L":1},"c":1}},"e":{"B":"!"}}"#)).unwrap_err();
            assert!(flaw.reason.contains("has no type"), "{flaw}");
        }
    }

    #[test]
    fn the_shape_is_detected_from_the_content() {
        assert_eq!(shape(&read(r#"{"year":{"N":"1"},"title":{"S":"a"}}"#)), Shape::Typed);
        assert_eq!(shape(&read(r#"{"Item":{"year":{"N":"1"}}}"#)), Shape::Wrapped);
        assert_eq!(shape(&read(r#"{"year":1,"info":{"S":"a"}}"#)), Shape::Plain);
        assert_eq!(shape(&read(r#"{"Item":{"year":1}}"#)), Shape::Plain);
        assert_eq!(shape(&read("{}")), Shape::Plain);
    }

    #[test]
    fn a_flaw_in_dynamodb_json_does_not_quote_the_value() {
        let refusal = |text: &str| untyped(read(text)).unwrap_err().to_string();
        assert!(refusal(r#"{"a":1}"#).contains("has no type"));
        assert!(refusal(r#"{"a":{"N":1}}"#).contains("type N is not written"));
        assert!(refusal(r#"{"a":{"X":"secret"}}"#).contains("no type of DynamoDB"));
        assert!(refusal(r#"{"a":{"B":"?"}}"#).contains("not base64"));
        assert!(refusal(r#"{"a":{"SS":[1]}}"#).contains("members of a set"));
        assert!(refusal(r#"{"a":{"S":"x","N":"1"}}"#).contains("exactly one type"));
    }
}
