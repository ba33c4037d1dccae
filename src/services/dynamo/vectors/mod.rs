//! The vector indexes of a table. A build without the feature `vector-indexes` has `no_vectors` in the place of this module.
//!
//! - `figures`: what they make of the items, and whether one that they would leave out is refused.

mod figures;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeValue, IndexStatus, Projection, ProjectionType, SearchSchemaElementType, TableDescription,
    VectorIndexDescription, WriteRequest,
};

use super::index_keys::{IndexKey, IndexKeys, type_of, types};
use super::key::MAX_PARTITION_KEY_BYTES;
use super::size::{item_size, value_size};
use crate::attribute_path::AttributePath;
use crate::invalid::InvalidEntry;

pub(super) use figures::VectorCounts;
pub use figures::VectorFigures;

/// Bytes of an element in the index, and in the size that DynamoDB bills: a 32-bit float, however many digits it was sent with.
const ELEMENT_BYTES: usize = 4;

/// Bytes that a write to a vector index is billed at least. From "Pricing for Amazon DynamoDB".
const LEAST_WRITE_BYTES: usize = 1_024;

type Attributes = HashMap<String, AttributeValue>;

/// The vector indexes of a table.
///
/// DynamoDB refuses an item whose vector is not a list, has another number of elements than the index has dimensions, or an
/// element that is not a number or not in the range of a 32-bit float, together with the whole call: "Invalid size for parameter
/// embedding, Expected: 1024, Actual: 512". An item that has a vector but not the partition key of the index is written, and
/// silently not in the index. The types of that key and of the filters are checked like the [keys of other
/// indexes](super::index_keys).
#[derive(Debug, Default)]
pub(super) struct VectorIndexes {
    indexes: Vec<VectorIndex>,
    /// The keys and filters of all indexes.
    keys: IndexKeys,
}

#[derive(Debug)]
struct VectorIndex {
    name: String,
    /// The attribute that has the vector.
    attribute: String,
    dimensions: usize,
    /// The attribute by which the index is partitioned.
    key: Option<String>,
    projected: Projected,
}

/// The attributes that the index has in addition to the vector.
#[derive(Debug)]
enum Projected {
    All,
    These(Vec<String>),
}

impl VectorIndexes {
    /// Those that the description of a table has. One that is being deleted takes any item.
    pub(super) fn described(table: &TableDescription) -> Self {
        let keys = table.key_schema().iter();
        let keys: Vec<String> = keys.map(|element| element.attribute_name().to_owned()).collect();
        let indexes = table.vector_indexes().iter();
        let indexes = indexes.filter(|index| index.index_status() != Some(&IndexStatus::Deleting));
        let indexes = indexes.filter_map(|index| VectorIndex::described(index, &keys));
        Self {
            indexes: indexes.collect(),
            keys: schemas(table),
        }
    }

    /// Checks the keys, filters and vectors of a put. A deletion has none.
    pub(super) fn check(&self, request: &WriteRequest) -> Result<(), InvalidEntry> {
        self.keys.check(request)?;
        let Some(put) = request.put_request() else {
            return Ok(());
        };
        self.indexes
            .iter()
            .try_for_each(|index| match put.item().get(&index.attribute) {
                Some(vector) => index.check(vector),
                None => Ok(()),
            })
    }

    /// The size by which DynamoDB bills an item: that of its limit, but with the vectors as the indexes have them. Captured from
    /// DynamoDB in October 2026.
    pub(super) fn billed_size(&self, item: &Attributes) -> usize {
        let mut vectors: Vec<(&str, usize)> = Vec::new();
        for index in &self.indexes {
            if !vectors.iter().any(|(attribute, _)| *attribute == index.attribute) {
                vectors.push((&index.attribute, index.vector_bytes()));
            }
        }
        let billed = vectors.iter().filter_map(|(attribute, bytes)| {
            let sent = value_size(item.get(*attribute)?);
            Some((sent, *bytes))
        });
        billed.fold(item_size(item), |size, (sent, bytes)| size - sent + bytes)
    }

    /// Counts a put in the indexes that it is in. An item that one of them would leave out is an error, if it is refused.
    pub(super) fn count(&self, request: &WriteRequest, table: &str, counts: &VectorCounts) -> Result<(), InvalidEntry> {
        let Some(put) = request.put_request().filter(|_| !self.indexes.is_empty()) else {
            return Ok(());
        };
        let with_vector = self
            .indexes
            .iter()
            .filter(|index| put.item().contains_key(&index.attribute));
        let (mut bytes, mut leaving_out) = (0, None);
        for index in with_vector {
            match index.missing_key(put.item()) {
                None => bytes += index.write_bytes(put.item()),
                Some(key) => leaving_out = leaving_out.or(Some((index, key))),
            }
        }
        if let Some((index, key)) = leaving_out {
            if counts.refuses_unindexed {
                return Err(InvalidEntry::Unindexed {
                    index: index.name.clone(),
                    vector: AttributePath::of_name(&index.attribute).into_text(),
                    key: AttributePath::of_name(key).into_text(),
                });
            }
            counts.unindexed(table, &index.name, key);
        }
        counts.add(bytes);
        Ok(())
    }
}

/// The attributes of the indexes other than the vectors. A filter may be empty, and has no limit.
fn schemas(table: &TableDescription) -> IndexKeys {
    let types = types(table);
    let keys = table.vector_indexes().iter().flat_map(|index| {
        let keys = index.search_schema().iter().filter_map(|element| {
            let is_partition = *element.search_schema_element_type() == SearchSchemaElementType::Hash;
            let limit = is_partition.then_some(MAX_PARTITION_KEY_BYTES);
            IndexKey::of(index.index_name()?, element.attribute_name(), &types, limit)
        });
        keys.collect::<Vec<_>>()
    });
    IndexKeys(keys.collect())
}

impl VectorIndex {
    fn described(index: &VectorIndexDescription, table_keys: &[String]) -> Option<Self> {
        let schema = index.search_schema();
        let key = schema
            .iter()
            .find(|element| *element.search_schema_element_type() == SearchSchemaElementType::Hash);
        let projection = index.projection();
        let projected = match projection.and_then(|projection| projection.projection_type()) {
            Some(ProjectionType::KeysOnly | ProjectionType::Include) => {
                let of_schema = schema.iter().map(|element| element.attribute_name().to_owned());
                let others = projection.map(Projection::non_key_attributes);
                let others = others.unwrap_or_default().iter().cloned();
                Projected::These(table_keys.iter().cloned().chain(of_schema).chain(others).collect())
            }
            _ => Projected::All,
        };
        Some(Self {
            name: index.index_name()?.to_owned(),
            attribute: index.vector_attribute()?.attribute_name().to_owned(),
            dimensions: usize::try_from(index.dimensions()?).ok()?,
            key: key.map(|element| element.attribute_name().to_owned()),
            projected,
        })
    }

    fn check(&self, vector: &AttributeValue) -> Result<(), InvalidEntry> {
        let AttributeValue::L(elements) = vector else {
            return Err(self.needs(None, "L", type_of(vector)));
        };
        if elements.len() != self.dimensions {
            return Err(InvalidEntry::Dimensions {
                index: self.name.clone(),
                attribute: AttributePath::of_name(&self.attribute).into_text(),
                needs: self.dimensions,
                has: elements.len(),
            });
        }
        elements
            .iter()
            .enumerate()
            .try_for_each(|(place, element)| match element {
                // Too large a number becomes an infinite one, and too small a one 0.
                AttributeValue::N(number) => match number.parse::<f32>() {
                    Ok(number) if number.is_infinite() => Err(self.needs(
                        Some(place),
                        "a 32-bit float from -3.4028235E38 to 3.4028235E38",
                        "a number beyond",
                    )),
                    _ => Ok(()),
                },
                other => Err(self.needs(Some(place), "N", type_of(other))),
            })
    }

    fn needs(&self, place: Option<usize>, needs: &str, has: &'static str) -> InvalidEntry {
        let path = AttributePath::of_name(&self.attribute);
        let path = match place {
            Some(place) => path.with(&AttributePath::of_index(place).into_text()),
            None => path,
        };
        InvalidEntry::IndexKey {
            index: self.name.clone(),
            attribute: path.into_text(),
            needs: needs.to_owned(),
            has,
        }
    }

    /// The key that an item with a vector needs and does not have.
    fn missing_key(&self, item: &Attributes) -> Option<&str> {
        let key = self.key.as_deref()?;
        (!item.contains_key(key)).then_some(key)
    }

    fn vector_bytes(&self) -> usize {
        ELEMENT_BYTES * self.dimensions
    }

    /// The `VectorWriteRequestBytes` of an item that is new in the index: the vector and the attributes that are projected.
    fn write_bytes(&self, item: &Attributes) -> usize {
        let is_projected = |name: &String| match &self.projected {
            Projected::All => true,
            Projected::These(names) => names.contains(name),
        };
        let others = item
            .iter()
            .filter(|(name, _)| **name != self.attribute && is_projected(name));
        let others: usize = others.map(|(name, value)| name.len() + value_size(value)).sum();
        (self.vector_bytes() + self.attribute.len() + others).max(LEAST_WRITE_BYTES)
    }
}

#[cfg(test)]
mod tests;
