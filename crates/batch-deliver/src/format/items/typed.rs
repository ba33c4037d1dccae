//! DynamoDB JSON: each value with its type, `{"year":{"N":"2013"}}`.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::Item;
use super::path::{LocatedFlaw, in_attribute, in_list};
use crate::format::dynamo_json::{TYPES, type_of};
use crate::source::Flaw;

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
    map.len() == 1 && map.keys().all(|name| type_of(name).is_some())
}

/// The same without the case of Data Pipeline, which writes no cells: a member that is named `s` or `m` there is no type.
fn has_type_in_capitals(value: &AttributeValue) -> bool {
    let in_capitals = |map: &Item| map.keys().all(|name| TYPES.contains(&name.as_str()));
    has_type(value) && value.as_m().is_ok_and(in_capitals)
}

/// The item that is written as DynamoDB JSON, with or without `Item` around it.
pub(crate) fn untyped(mut item: Item) -> Result<Item, Flaw> {
    if shape(&item) == Shape::Wrapped
        && let Some(AttributeValue::M(inner)) = item.remove(ITEM)
    {
        return Ok(attributes(inner)?);
    }
    Ok(attributes(item)?)
}

/// The value of a cell, which may be written as DynamoDB JSON: `{"S":"a"}`, a list of such values, or a map of them.
pub(crate) fn of_cell(value: AttributeValue) -> Result<AttributeValue, Flaw> {
    let is_typed = match &value {
        AttributeValue::L(values) => !values.is_empty() && values.iter().all(has_type_in_capitals),
        AttributeValue::M(map) => !map.is_empty() && map.values().all(has_type_in_capitals),
        _ => false,
    };
    if has_type_in_capitals(&value) {
        return Ok(typed(value)?);
    }
    Ok(match value {
        AttributeValue::L(values) if is_typed => AttributeValue::L(each(values, typed)?),
        AttributeValue::M(map) if is_typed => AttributeValue::M(attributes(map)?),
        value => value,
    })
}

/// Attributes that are written with their types.
///
/// Of several flaws, returns that of the first name: an item has no order, and a line must have the same flaw each time.
fn attributes(item: Item) -> Result<Item, LocatedFlaw> {
    let mut attributes = Item::with_capacity(item.len());
    let mut first: Option<(String, LocatedFlaw)> = None;
    for (name, value) in item {
        match typed(value) {
            Ok(value) => {
                attributes.insert(name, value);
            }
            Err(flaw) if first.as_ref().is_none_or(|(other, _)| name < *other) => first = Some((name, flaw)),
            Err(_) => {}
        }
    }
    first.map_or(Ok(attributes), |(name, flaw)| Err(in_attribute(&name, flaw)))
}

fn typed(value: AttributeValue) -> Result<AttributeValue, LocatedFlaw> {
    let AttributeValue::M(map) = value else {
        return Err(Flaw::new("a value has no type: DynamoDB JSON has {\"N\":\"1\"} where JSON has 1").into());
    };
    let mut pairs = map.into_iter();
    let (Some((kind, value)), None) = (pairs.next(), pairs.next()) else {
        return Err(Flaw::new("a value of DynamoDB JSON has exactly one type").into());
    };
    let Some(kind) = type_of(&kind) else {
        let words = format!("a value has no type of DynamoDB; the types are {}", TYPES.join(", "));
        return Err(Flaw::new(words).into());
    };
    Ok(match (kind, value) {
        ("S", AttributeValue::S(text)) => AttributeValue::S(text),
        ("N", AttributeValue::S(number)) => AttributeValue::N(number),
        ("B", AttributeValue::S(text)) => AttributeValue::B(bytes(&text)?),
        ("BOOL", AttributeValue::Bool(yes)) => AttributeValue::Bool(yes),
        ("NULL", AttributeValue::Bool(true)) => AttributeValue::Null(true),
        ("M", AttributeValue::M(map)) => AttributeValue::M(attributes(map)?),
        ("L", AttributeValue::L(values)) => AttributeValue::L(each(values, typed)?),
        ("SS", AttributeValue::L(values)) => AttributeValue::Ss(each(values, member)?),
        ("NS", AttributeValue::L(values)) => AttributeValue::Ns(each(values, member)?),
        ("BS", AttributeValue::L(values)) => AttributeValue::Bs(each(values, |value| Ok(bytes(&member(value)?)?))?),
        (kind, _) => {
            return Err(Flaw::new(format!("a value of the type {kind} is {}", written(kind))).into());
        }
    })
}

/// How a value of this type is written.
fn written(kind: &str) -> &'static str {
    match kind {
        "N" => "written as a string, {\"N\":\"1\"}",
        "B" => "written as a string of base64",
        "S" => "written as a string",
        "BOOL" => "true or false, without quotes",
        "NULL" => "true, without quotes",
        "M" => "an object, each of whose values has its type",
        "L" => "a list, each of whose values has its type",
        _ => "a list of strings",
    }
}

/// Reads each value of a list.
fn each<T>(
    values: Vec<AttributeValue>,
    read: impl Fn(AttributeValue) -> Result<T, LocatedFlaw>,
) -> Result<Vec<T>, LocatedFlaw> {
    let values = values.into_iter().enumerate();
    values
        .map(|(index, value)| read(value).map_err(|flaw| in_list(index, flaw)))
        .collect()
}

/// A member of a set.
fn member(value: AttributeValue) -> Result<String, LocatedFlaw> {
    match value {
        AttributeValue::S(text) => Ok(text),
        _ => Err(Flaw::new("the members of a set are strings in DynamoDB JSON, also numbers and binary values").into()),
    }
}

fn bytes(text: &str) -> Result<Blob, Flaw> {
    let bytes = BASE64_STANDARD.decode(text);
    bytes
        .map(Blob::new)
        .map_err(|_| Flaw::new("a binary value is not base64"))
}

/// The path of the first value inside of a plain item that is written with its type, `{"n":{"N":"5"}}`.
pub(crate) fn typed_part(item: &Item) -> Option<Flaw> {
    let first = first_typed(item)?;
    Some(first.into())
}

const MIXED: &str = "this value is written as in DynamoDB JSON, but the item is plain JSON: --format json stores it as the map that it \
                     is; otherwise write all values of the item with their types, or none";

fn first_typed(item: &Item) -> Option<LocatedFlaw> {
    let parts = item.iter().filter_map(|(name, value)| Some((name, typed_in(value)?)));
    let (name, part) = parts.min_by_key(|(name, _)| *name)?;
    Some(in_attribute(name, part))
}

fn typed_in(value: &AttributeValue) -> Option<LocatedFlaw> {
    match value {
        AttributeValue::M(_) if is_typed(value) => Some(Flaw::new(MIXED).into()),
        AttributeValue::M(map) => first_typed(map),
        AttributeValue::L(values) => {
            let mut parts = values.iter().enumerate();
            parts.find_map(|(index, value)| Some(in_list(index, typed_in(value)?)))
        }
        _ => None,
    }
}

/// Whether the value is valid as DynamoDB JSON.
fn is_typed(value: &AttributeValue) -> bool {
    let AttributeValue::M(map) = value else { return false };
    let mut pairs = map.iter();
    let (Some((kind, value)), None) = (pairs.next(), pairs.next()) else {
        return false;
    };
    let texts = |is_one: fn(&str) -> bool| {
        let values = value.as_l().map(Vec::as_slice).unwrap_or_default();
        !values.is_empty() && values.iter().all(|value| value.as_s().is_ok_and(|text| is_one(text)))
    };
    match kind.as_str() {
        "S" => value.is_s(),
        "N" => value.as_s().is_ok_and(|text| is_number(text)),
        "B" => value.as_s().is_ok_and(|text| bytes(text).is_ok()),
        "BOOL" => value.is_bool(),
        "NULL" => value.as_bool() == Ok(&true),
        "M" => value.as_m().is_ok_and(|map| map.values().all(is_typed)),
        "L" => value.as_l().is_ok_and(|values| values.iter().all(is_typed)),
        "SS" => texts(|_| true),
        "NS" => texts(is_number),
        "BS" => texts(|text| bytes(text).is_ok()),
        _ => false,
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The item as DynamoDB JSON.
pub(crate) fn to_json(item: &Item) -> Value {
    let fields: Map<String, Value> = item
        .iter()
        .map(|(name, value)| (name.clone(), value_to_json(value)))
        .collect();
    Value::Object(fields)
}

/// The same with the members of sets in one order: equal for equal items.
pub(crate) fn comparable(item: &Item) -> Value {
    let fields = item.iter().map(|(name, value)| (name.clone(), ordered(value)));
    to_json(&fields.collect())
}

fn ordered(value: &AttributeValue) -> AttributeValue {
    let texts = |texts: &[String]| {
        let mut texts = texts.to_vec();
        texts.sort_unstable();
        texts
    };
    match value {
        AttributeValue::M(map) => {
            let members = map.iter().map(|(name, value)| (name.clone(), ordered(value)));
            AttributeValue::M(members.collect())
        }
        AttributeValue::L(values) => AttributeValue::L(values.iter().map(ordered).collect()),
        AttributeValue::Ss(members) => AttributeValue::Ss(texts(members)),
        AttributeValue::Ns(members) => AttributeValue::Ns(texts(members)),
        AttributeValue::Bs(members) => {
            let mut members = members.clone();
            members.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
            AttributeValue::Bs(members)
        }
        value => value.clone(),
    }
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
    use crate::format::items::json::item_of_json;

    fn read(text: &str) -> Item {
        item_of_json(text.as_bytes()).unwrap()
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
    fn types_may_be_written_in_any_case() {
        let item = untyped(read(
            r#"{"id":{"s":"a"},"n":{"n":"5"},"t":{"sS":["x"]},"b":{"bOOL":true},"m":{"m":{"k":{"l":[{"nULL":true}]}}}}"#,
        ));
        let upper = read(
            r#"{"id":{"S":"a"},"n":{"N":"5"},"t":{"SS":["x"]},"b":{"BOOL":true},"m":{"M":{"k":{"L":[{"NULL":true}]}}}}"#,
        );
        assert_eq!(item.unwrap(), untyped(upper).unwrap());
    }

    #[test]
    fn typed_parts_of_plain_items_are_named() {
        for (text, path) in [
            (r#"{"id":2,"n":{"N":"5"},"zone":{"S":"east"}}"#, "n"),
            (r#"{"id":2,"nets":[{"a":1},{"S":"net-1"}]}"#, "nets[1]"),
            (r#"{"id":2,"a":{"b":[{"c":{"M":{"d":{"L":[]}}}}]}}"#, "a.b[0].c"),
        ] {
            let flaw = typed_part(&read(text)).unwrap().to_string();
            assert!(flaw.starts_with(&format!("{path}: this value is written as")), "{flaw}");
        }
        // Sizes and grades, for example, have such names, too.
        for text in [
            r#"{"id":2,"sizes":{"S":1}}"#,
            r#"{"id":2,"sizes":{"S":"a","M":"b"}}"#,
            r#"{"id":2,"a":{"N":"x"},"b":{"n":"5"},"c":{"M":{"d":1}},"d":{"B":"?"},"e":{}}"#,
        ] {
            assert_eq!(typed_part(&read(text)), None, "{text}");
        }
    }

    #[test]
    fn a_flaw_in_dynamodb_json_does_not_quote_the_value() {
        let refusal = |text: &str| untyped(read(text)).unwrap_err().to_string();
        assert!(refusal(r#"{"a":1}"#).contains("has no type"));
        assert_eq!(
            refusal(r#"{"a":{"M":{"n":{"L":[{"S":"b"},{"N":1}]}}}}"#),
            "a.n[1]: a value of the type N is written as a string, {\"N\":\"1\"}"
        );
        assert!(refusal(r#"{"a":{"X":"secret"}}"#).contains("no type of DynamoDB"));
        assert!(refusal(r#"{"a":{"B":"?"}}"#).contains("not base64"));
        assert!(refusal(r#"{"a":{"SS":[1]}}"#).contains("members of a set"));
        assert!(refusal(r#"{"a":{"S":"x","N":"1"}}"#).contains("exactly one type"));
    }
}
