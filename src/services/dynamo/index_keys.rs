//! The keys of a table's indexes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeValue, KeySchemaElement, KeyType, ScalarAttributeType, TableDescription, WriteRequest,
};

use super::key::{MAX_PARTITION_KEY_BYTES, MAX_SORT_KEY_BYTES};
use super::size::value_size;
use crate::attribute_path::AttributePath;
use crate::invalid::InvalidEntry;
use crate::services::checks::check_size;

/// The key attributes of a table's indexes with their types: of the global and local ones, or of those for vectors.
///
/// An item without such an attribute is not in the index. One of another type, or an empty one, is refused together with the
/// whole call: "Type mismatch for Index Key", "cannot contain an empty string value". So is one that is larger than a key of the table may
/// be: "Size of hashkey has exceeded the maximum size limit of2048 bytes", "Aggregated size of all range keys has exceeded the size limit of
/// 1024 bytes".
#[derive(Debug, Default)]
pub(super) struct IndexKeys(pub(super) Vec<IndexKey>);

#[derive(Debug)]
pub(super) struct IndexKey {
    index: String,
    attribute: String,
    type_: ScalarAttributeType,
    /// The most bytes of a value. `None` for the filter of a vector index, which may also be empty.
    limit: Option<usize>,
}

impl IndexKeys {
    /// The keys of the global and local indexes that the description of a table has.
    pub(super) fn described(table: &TableDescription) -> Self {
        let types = types(table);
        let global = table.global_secondary_indexes().iter();
        let global = global.map(|index| (index.index_name(), index.key_schema()));
        let local = table.local_secondary_indexes().iter();
        let local = local.map(|index| (index.index_name(), index.key_schema()));
        let key = |index: Option<&str>, element: &KeySchemaElement| {
            let limit = match element.key_type() {
                KeyType::Range => MAX_SORT_KEY_BYTES,
                _ => MAX_PARTITION_KEY_BYTES,
            };
            IndexKey::of(index?, element.attribute_name(), &types, Some(limit))
        };
        let keys = global.chain(local).flat_map(|(index, elements)| {
            let keys = elements.iter().filter_map(|element| key(index, element));
            keys.collect::<Vec<_>>()
        });
        Self(keys.collect())
    }

    /// Checks the item of a put. A deletion has no item.
    pub(super) fn check(&self, request: &WriteRequest) -> Result<(), InvalidEntry> {
        let Some(put) = request.put_request() else {
            return Ok(());
        };
        self.0.iter().try_for_each(|key| match put.item().get(&key.attribute) {
            Some(value) => key.check(value),
            None => Ok(()),
        })
    }
}

/// The types of the attributes that the description of a table names.
pub(super) fn types(table: &TableDescription) -> HashMap<&str, &ScalarAttributeType> {
    let definitions = table.attribute_definitions().iter();
    definitions
        .map(|definition| (definition.attribute_name(), definition.attribute_type()))
        .collect()
}

impl IndexKey {
    /// An attribute of an index, unless the table does not name its type.
    pub(super) fn of(
        index: &str,
        attribute: &str,
        types: &HashMap<&str, &ScalarAttributeType>,
        limit: Option<usize>,
    ) -> Option<Self> {
        Some(Self {
            index: index.to_owned(),
            attribute: attribute.to_owned(),
            type_: (*types.get(attribute)?).clone(),
            limit,
        })
    }

    fn check(&self, value: &AttributeValue) -> Result<(), InvalidEntry> {
        let (is_of_type, is_empty) = match (value, &self.type_) {
            (AttributeValue::S(text), ScalarAttributeType::S) => (true, text.is_empty()),
            (AttributeValue::B(bytes), ScalarAttributeType::B) => (true, bytes.as_ref().is_empty()),
            (AttributeValue::N(_), ScalarAttributeType::N) => (true, false),
            // A type that this version of the SDK does not know.
            (_, ScalarAttributeType::S | ScalarAttributeType::B | ScalarAttributeType::N) => (false, false),
            _ => (true, false),
        };
        let Some(limit) = self.limit else {
            return if is_of_type {
                Ok(())
            } else {
                Err(self.needs(type_of(value)))
            };
        };
        if is_of_type && !is_empty {
            let checked = check_size("index key", limit, value_size(value));
            return checked
                .map(drop)
                .map_err(|invalid| invalid.of_attribute(&self.attribute));
        }
        Err(self.needs(if is_empty { "an empty value" } else { type_of(value) }))
    }

    fn needs(&self, has: &'static str) -> InvalidEntry {
        InvalidEntry::IndexKey {
            index: self.index.clone(),
            attribute: AttributePath::of_name(&self.attribute).into_text(),
            needs: self.type_.as_str().to_owned(),
            has,
        }
    }
}

pub(super) fn type_of(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "S",
        AttributeValue::N(_) => "N",
        AttributeValue::B(_) => "B",
        AttributeValue::Bool(_) => "BOOL",
        AttributeValue::Null(_) => "NULL",
        AttributeValue::Ss(_) => "SS",
        AttributeValue::Ns(_) => "NS",
        AttributeValue::Bs(_) => "BS",
        AttributeValue::L(_) => "L",
        AttributeValue::M(_) => "M",
        _ => "another type",
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;
    use aws_sdk_dynamodb::types::{
        AttributeDefinition, DeleteRequest, GlobalSecondaryIndexDescription, LocalSecondaryIndexDescription,
    };

    use super::super::testing::{put, text};
    use super::*;

    /// A table with the index `g` by `email` and `age`, and the local index `l` by `photo`.
    fn keys() -> IndexKeys {
        let element = |name: &str, key_type: KeyType| {
            let element = KeySchemaElement::builder().attribute_name(name).key_type(key_type);
            element.build().unwrap()
        };
        let types = [
            ("id", ScalarAttributeType::S),
            ("email", ScalarAttributeType::S),
            ("age", ScalarAttributeType::N),
            ("photo", ScalarAttributeType::B),
        ];
        let definitions = types.map(|(name, type_)| {
            let definition = AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(type_);
            definition.build().unwrap()
        });
        let global = GlobalSecondaryIndexDescription::builder()
            .index_name("g")
            .key_schema(element("email", KeyType::Hash))
            .key_schema(element("age", KeyType::Range));
        let local = LocalSecondaryIndexDescription::builder()
            .index_name("l")
            .key_schema(element("id", KeyType::Hash))
            .key_schema(element("photo", KeyType::Range));
        let table = TableDescription::builder()
            .set_attribute_definitions(Some(definitions.to_vec()))
            .global_secondary_indexes(global.build())
            .local_secondary_indexes(local.build());
        IndexKeys::described(&table.build())
    }

    fn checked(attribute: &'static str, value: AttributeValue) -> Result<(), String> {
        let put = put([("id", text("a")), (attribute, value)]);
        keys().check(&put).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn an_item_has_index_keys_of_their_types_or_none() {
        for (attribute, value) in [
            ("name", text("")),
            ("email", text("a@example.com")),
            ("age", AttributeValue::N("7".to_owned())),
            ("photo", AttributeValue::B(Blob::new("p"))),
        ] {
            assert_eq!(checked(attribute, value), Ok(()), "{attribute}");
        }
        let delete = DeleteRequest::builder().key("email", AttributeValue::N("7".to_owned()));
        let delete = WriteRequest::builder().delete_request(delete.build().unwrap());
        assert_eq!(keys().check(&delete.build()), Ok(()));
    }

    /// One such item refuses the 24 others of its call.
    #[test]
    fn an_index_key_has_the_limits_of_a_key_of_the_table() {
        let bytes = |count: usize| AttributeValue::B(Blob::new(vec![0; count]));
        assert_eq!(checked("email", text(&"é".repeat(1_024))), Ok(()));
        assert_eq!(
            checked("email", text(&"e".repeat(2_049))),
            Err("`email`: the index key has 2049 bytes, the limit is 2048".to_owned())
        );
        assert_eq!(checked("photo", bytes(1_024)), Ok(()));
        assert_eq!(
            checked("photo", bytes(1_025)),
            Err("`photo`: the index key has 1025 bytes, the limit is 1024".to_owned())
        );
    }

    #[test]
    fn what_an_index_cannot_take_is_named_by_index_attribute_and_type() {
        for (attribute, value, words) in [
            (
                "email",
                AttributeValue::N("7".to_owned()),
                "the index `g` needs `email` as S, the item has N",
            ),
            (
                "email",
                AttributeValue::Null(true),
                "the index `g` needs `email` as S, the item has NULL",
            ),
            (
                "email",
                text(""),
                "the index `g` needs `email` as S, the item has an empty value",
            ),
            ("age", text("7"), "the index `g` needs `age` as N, the item has S"),
            (
                "photo",
                AttributeValue::B(Blob::new("")),
                "the index `l` needs `photo` as B, the item has an empty value",
            ),
        ] {
            assert_eq!(checked(attribute, value), Err(words.to_owned()));
        }
    }
}
