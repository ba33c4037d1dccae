//! A table's primary key, and the order that its writes keep.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, KeyType, PutRequest, ScalarAttributeType, TableDescription, WriteRequest,
};

use super::number::Number;
use crate::contract::{Lane, hash_of};
use crate::invalid::InvalidEntry;
use crate::services::checks::check_size;

/// Bytes of a partition key. From the service quotas of DynamoDB.
pub(super) const MAX_PARTITION_KEY_BYTES: usize = 2_048;

/// Bytes of a sort key. From the service quotas of DynamoDB.
pub(super) const MAX_SORT_KEY_BYTES: usize = 1_024;

type Attributes = HashMap<String, AttributeValue>;

/// The attributes that make the primary key of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeySchema {
    partition: KeyAttribute,
    sort: Option<KeyAttribute>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyAttribute {
    name: String,
    /// The type; `None` if only the name was given.
    type_: Option<ScalarAttributeType>,
}

/// A key value as DynamoDB compares it: by type, and numbers by value.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum KeyValue<'a> {
    Text(&'a str),
    Number(Number),
    Binary(&'a [u8]),
}

impl KeySchema {
    /// The attributes with these names, of any type.
    pub(super) fn named(partition: String, sort: Option<String>) -> Self {
        let attribute = |name| KeyAttribute { name, type_: None };
        Self {
            partition: attribute(partition),
            sort: sort.map(attribute),
        }
    }

    /// The key in a description of a table.
    pub(super) fn described(table: &TableDescription) -> Option<Self> {
        let type_of = |name: &str| {
            let mut definitions = table.attribute_definitions().iter();
            definitions
                .find(|definition| definition.attribute_name() == name)
                .map(|definition| definition.attribute_type().clone())
        };
        let attribute = |key_type: KeyType| {
            let mut elements = table.key_schema().iter();
            let name = elements
                .find(|element| *element.key_type() == key_type)?
                .attribute_name();
            Some(KeyAttribute {
                name: name.to_owned(),
                type_: type_of(name),
            })
        };
        Some(Self {
            partition: attribute(KeyType::Hash)?,
            sort: attribute(KeyType::Range),
        })
    }

    /// Checks that the write has a key that the table accepts.
    pub(super) fn check(&self, request: &WriteRequest) -> Result<(), InvalidEntry> {
        let Some(attributes) = attributes(request) else {
            return Ok(());
        };
        self.partition
            .check("partition key", attributes, MAX_PARTITION_KEY_BYTES)?;
        if let Some(sort) = &self.sort {
            sort.check("sort key", attributes, MAX_SORT_KEY_BYTES)?;
        }
        let key_length = 1 + usize::from(self.sort.is_some());
        if request.delete_request().is_some() && attributes.len() > key_length {
            return Err(InvalidEntry::malformed(
                "key",
                "made of the table's key attributes alone",
            ));
        }
        Ok(())
    }

    /// The lane of all writes to one key of the table.
    pub(super) fn lane(&self, table: &str, request: &WriteRequest) -> Option<Lane> {
        Some(Lane::exclusive(&(table, self.values(request)?)))
    }

    /// A hash of the table and of the partition key's value, which determines the partition.
    pub(super) fn partition_key(&self, table: &str, request: &WriteRequest) -> Option<u64> {
        let partition = KeyValue::read(self.partition.value(attributes(request)?)?)?;
        Some(hash_of(&(table, partition)))
    }

    /// Whether two writes have the same key.
    pub(super) fn is_same(&self, one: &WriteRequest, other: &WriteRequest) -> bool {
        matches!((self.values(one), self.values(other)), (Some(one), Some(other)) if one == other)
    }

    fn values<'a>(&self, request: &'a WriteRequest) -> Option<(KeyValue<'a>, Option<KeyValue<'a>>)> {
        let attributes = attributes(request)?;
        let partition = KeyValue::read(self.partition.value(attributes)?)?;
        let sort = match &self.sort {
            Some(sort) => Some(KeyValue::read(sort.value(attributes)?)?),
            None => None,
        };
        Some((partition, sort))
    }
}

/// Up to this number of attributes, comparing names is faster than hashing one. Most items are that small.
const FEW: usize = 8;

impl KeyAttribute {
    /// Its value in an item or in a key. Called twice for each entry, for the check and for the lane.
    fn value<'a>(&self, attributes: &'a Attributes) -> Option<&'a AttributeValue> {
        if attributes.len() > FEW {
            return attributes.get(&self.name);
        }
        let named = attributes.iter().find(|(name, _)| **name == self.name);
        named.map(|(_, value)| value)
    }

    fn check(&self, part: &'static str, attributes: &Attributes, limit: usize) -> Result<(), InvalidEntry> {
        let checked = self.check_value(part, attributes, limit);
        checked.map_err(|invalid| invalid.of_attribute(&self.name))
    }

    fn check_value(&self, part: &'static str, attributes: &Attributes, limit: usize) -> Result<(), InvalidEntry> {
        let value = self.value(attributes).ok_or(InvalidEntry::Missing { part })?;
        let (type_, actual) = match value {
            AttributeValue::S(text) => (ScalarAttributeType::S, text.len()),
            AttributeValue::B(bytes) => (ScalarAttributeType::B, bytes.as_ref().len()),
            // A number is never empty, nor too large for a key.
            AttributeValue::N(_) => (ScalarAttributeType::N, 1),
            _ => {
                return Err(InvalidEntry::malformed(part, "a string, a number or binary"));
            }
        };
        if let Some(expected) = self.type_.as_ref().filter(|expected| **expected != type_) {
            let rule = match expected {
                ScalarAttributeType::S => "a string, by the table's schema",
                ScalarAttributeType::N => "a number, by the table's schema",
                _ => "binary, by the table's schema",
            };
            return Err(InvalidEntry::malformed(part, rule));
        }
        if actual == 0 {
            return Err(InvalidEntry::Missing { part });
        }
        check_size(part, limit, actual).map(drop)
    }
}

impl<'a> KeyValue<'a> {
    pub(super) fn read(value: &'a AttributeValue) -> Option<Self> {
        match value {
            AttributeValue::S(text) => Some(Self::Text(text)),
            AttributeValue::N(number) => Number::parse(number).ok().map(Self::Number),
            AttributeValue::B(bytes) => Some(Self::Binary(bytes.as_ref())),
            _ => None,
        }
    }
}

/// The item of a put, or the key of a deletion.
pub(super) fn attributes(request: &WriteRequest) -> Option<&Attributes> {
    let put = request.put_request().map(PutRequest::item);
    put.or_else(|| request.delete_request().map(DeleteRequest::key))
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;
    use aws_sdk_dynamodb::types::{AttributeDefinition, KeySchemaElement};
    use proptest::prelude::*;

    use super::super::testing::{delete, put, text};
    use super::*;

    fn number(number: &str) -> AttributeValue {
        AttributeValue::N(number.to_owned())
    }

    fn binary(bytes: &str) -> AttributeValue {
        AttributeValue::B(Blob::new(bytes))
    }

    fn by_name() -> KeySchema {
        KeySchema::named("pk".to_owned(), Some("sk".to_owned()))
    }

    fn described(attributes: &[(&str, KeyType, ScalarAttributeType)]) -> Option<KeySchema> {
        let mut table = TableDescription::builder();
        for (name, key_type, type_) in attributes {
            let element = KeySchemaElement::builder()
                .attribute_name(*name)
                .key_type(key_type.clone());
            let definition = AttributeDefinition::builder()
                .attribute_name(*name)
                .attribute_type(type_.clone());
            table = table
                .key_schema(element.build().unwrap())
                .attribute_definitions(definition.build().unwrap());
        }
        KeySchema::described(&table.build())
    }

    fn lane(partition: AttributeValue, sort: AttributeValue) -> Option<Lane> {
        by_name().lane("orders", &put([("pk", partition), ("sk", sort)]))
    }

    #[test]
    fn keys_that_look_alike_when_joined_are_different() {
        assert_ne!(lane(text("ab"), text("cd")), lane(text("a"), text("bcd")));
        assert_ne!(lane(text("a"), text("b")), lane(text("b"), text("a")));
        assert_ne!(lane(text("1"), text("1")), lane(number("1"), text("1")));
        assert_ne!(lane(text("1"), text("1")), lane(binary("1"), text("1")));
    }

    #[test]
    fn spellings_of_a_number_are_one_key() {
        for spelling in ["1.0", "1e0", "+01", "10e-1"] {
            assert_eq!(
                lane(number("1"), text("a")),
                lane(number(spelling), text("a")),
                "{spelling}"
            );
        }
        assert_ne!(lane(number("1"), text("a")), lane(number("10"), text("a")));
    }

    #[test]
    fn a_put_and_a_delete_of_one_key_share_a_lane_whatever_else_the_item_has() {
        let one = put([("other", number("7")), ("sk", number("1.0")), ("pk", text("a"))]);
        let other = delete([("pk", text("a")), ("sk", number("1"))]);
        assert_eq!(by_name().lane("orders", &one), by_name().lane("orders", &other));
        assert!(by_name().lane("orders", &one).is_some());
        assert_ne!(by_name().lane("orders", &one), by_name().lane("others", &one));
        assert!(by_name().is_same(&one, &other));
        assert!(!by_name().is_same(&one, &delete([("pk", text("a")), ("sk", text("1"))])));
    }

    #[test]
    fn writes_share_a_partition_key_whatever_their_sort_keys() {
        let hash = |table, partition, sort| by_name().partition_key(table, &put([("pk", partition), ("sk", sort)]));
        assert!(hash("orders", text("a"), text("1")).is_some());
        assert_eq!(
            hash("orders", text("a"), text("1")),
            hash("orders", text("a"), text("2"))
        );
        assert_eq!(
            hash("orders", number("1"), text("1")),
            hash("orders", number("1.0"), text("2"))
        );
        assert_ne!(
            hash("orders", text("a"), text("1")),
            hash("orders", text("b"), text("1"))
        );
        assert_ne!(
            hash("orders", text("1"), text("1")),
            hash("orders", number("1"), text("1"))
        );
        assert_ne!(
            hash("orders", text("a"), text("1")),
            hash("others", text("a"), text("1"))
        );
        let one = delete([("pk", text("a")), ("sk", text("1"))]);
        assert_eq!(
            by_name().partition_key("orders", &one),
            hash("orders", text("a"), text("2"))
        );
        assert_eq!(by_name().partition_key("orders", &put([("sk", text("1"))])), None);
    }

    #[test]
    fn a_schema_is_read_from_the_description() {
        let simple = described(&[("id", KeyType::Hash, ScalarAttributeType::N)]).unwrap();
        assert_eq!(simple.partition.name, "id");
        assert_eq!(simple.sort, None);
        let both = described(&[
            ("at", KeyType::Range, ScalarAttributeType::N),
            ("id", KeyType::Hash, ScalarAttributeType::S),
        ]);
        let sort = both.unwrap().sort.unwrap();
        assert_eq!((sort.name.as_str(), sort.type_), ("at", Some(ScalarAttributeType::N)));
        assert_eq!(described(&[]), None);
    }

    #[test]
    fn a_write_needs_the_keys_of_its_table() {
        let schema = described(&[
            ("id", KeyType::Hash, ScalarAttributeType::S),
            ("at", KeyType::Range, ScalarAttributeType::N),
        ])
        .unwrap();
        let refusal = |request: WriteRequest| schema.check(&request).unwrap_err().to_string();
        assert_eq!(schema.check(&put([("id", text("a")), ("at", number("1"))])), Ok(()));
        assert_eq!(schema.check(&delete([("id", text("a")), ("at", number("1"))])), Ok(()));
        assert_eq!(
            refusal(put([("at", number("1"))])),
            "`id`: the partition key is missing or empty"
        );
        assert_eq!(
            refusal(put([("id", text("a"))])),
            "`at`: the sort key is missing or empty"
        );
        assert_eq!(
            refusal(put([("id", text("")), ("at", number("1"))])),
            "`id`: the partition key is missing or empty"
        );
        assert_eq!(
            refusal(put([("id", number("1")), ("at", number("1"))])),
            "`id`: the partition key must be a string, by the table's schema"
        );
        assert_eq!(
            refusal(delete([("id", text("a")), ("at", text("1"))])),
            "`at`: the sort key must be a number, by the table's schema"
        );
        assert_eq!(
            refusal(put([("id", AttributeValue::Null(true)), ("at", number("1"))])),
            "`id`: the partition key must be a string, a number or binary"
        );
        assert_eq!(
            refusal(delete([("id", text("a")), ("at", number("1")), ("x", text("1"))])),
            "the key must be made of the table's key attributes alone"
        );
    }

    #[test]
    fn a_key_is_found_among_few_attributes_and_among_many() {
        for others in [0, FEW - 2, FEW - 1, FEW, 100] {
            let names: Vec<String> = (0..others).map(|number| format!("other {number}")).collect();
            let others = names.iter().map(|name| (name.as_str(), text("x")));
            let key = [("pk", text("a")), ("sk", number("1"))];
            let lane = by_name().lane("orders", &put(others.chain(key)));
            assert!(lane.is_some());
            assert_eq!(
                lane,
                by_name().lane("orders", &delete([("pk", text("a")), ("sk", number("1"))]))
            );
        }
    }

    #[test]
    fn keys_have_their_limits() {
        let item = |partition: usize, sort: usize| {
            put([("pk", text(&"p".repeat(partition))), ("sk", binary(&"s".repeat(sort)))])
        };
        assert_eq!(by_name().check(&item(2_048, 1_024)), Ok(()));
        assert_eq!(
            by_name().check(&item(2_049, 1)).unwrap_err().to_string(),
            "`pk`: the partition key has 2049 bytes, the limit is 2048"
        );
        assert_eq!(
            by_name().check(&item(1, 1_025)).unwrap_err().to_string(),
            "`sk`: the sort key has 1025 bytes, the limit is 1024"
        );
    }

    fn any_key_value() -> impl Strategy<Value = AttributeValue> {
        prop_oneof![
            "[ab]{1,3}".prop_map(|value| text(&value)),
            "[ab]{1,3}".prop_map(|value| binary(&value)),
            "[12]{1,2}(\\.0)?(e1)?".prop_map(|value| number(&value)),
        ]
    }

    proptest! {
        #[test]
        fn keys_share_a_lane_exactly_if_they_are_the_same(
            one in (any_key_value(), any_key_value()),
            other in (any_key_value(), any_key_value()),
        ) {
            let schema = by_name();
            let (one, other) = (put([("pk", one.0), ("sk", one.1)]), delete([("pk", other.0), ("sk", other.1)]));
            prop_assert_eq!(schema.lane("t", &one) == schema.lane("t", &other), schema.is_same(&one, &other));
        }
    }
}
