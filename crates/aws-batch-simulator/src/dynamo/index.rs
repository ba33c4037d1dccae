//! Global secondary indexes, which consume capacity.

use serde_json::{Map, Value};

use super::key::{KeyType, LONGEST_PARTITION, LONGEST_SORT, Schema};
use crate::admission::{IndexDemand, Throughput};
use crate::wire::Refusal;

/// The options of a global secondary index. It projects all attributes.
///
/// An item that lacks one of the index's key attributes is not in it. A write for which the index has no capacity is throttled
/// by the table. `Query` and `Scan` read an index out of the read capacity of the table.
///
/// # Default
/// No sort key, unlimited capacity.
#[derive(Debug, Clone)]
#[must_use]
pub struct IndexOptions {
    pub(super) schema: Schema,
    pub(super) throughput: Throughput,
}

impl IndexOptions {
    /// An index with this partition key.
    pub fn key(name: impl Into<String>, kind: KeyType) -> Self {
        Self {
            schema: Schema::new(name, kind),
            throughput: Throughput::default(),
        }
    }

    /// Adds this sort key.
    pub fn sort_key(mut self, name: impl Into<String>, kind: KeyType) -> Self {
        self.schema.sort = Some((name.into(), kind));
        self
    }

    /// How much the index accepts. A plain number is a provisioned capacity without partitions.
    pub fn throughput(mut self, throughput: impl Into<Throughput>) -> Self {
        self.throughput = throughput.into();
        self
    }
}

/// An index of a table.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) schema: Schema,
}

impl Index {
    /// Refuses an item with an attribute of the index's key that has another type, is empty or too long.
    pub(super) fn check(&self, item: &Map<String, Value>) -> Result<(), Refusal> {
        for ((name, expected), longest) in self.schema.attributes().zip([LONGEST_PARTITION, LONGEST_SORT]) {
            let Some(value) = item.get(name) else { continue };
            let Some((actual, content)) = value.as_object().and_then(|value| value.iter().next()) else {
                continue;
            };
            if actual != expected.tag() {
                return Err(Refusal::validation(format!(
                    "One or more parameter values were invalid: Type mismatch for Index Key {name} Expected: {} Actual: \
                     {actual} IndexName: {}",
                    expected.tag(),
                    self.name
                )));
            }
            let bytes = bytes_of_key(&self.name, name, *expected, content)?;
            if bytes > longest {
                return Err(Refusal::validation(format!(
                    "One or more parameter values were invalid: Size limit exceeded for Index Key {name} Actual Size: {bytes} \
                     bytes Max Size: {longest} bytes IndexName: {}",
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// The capacity that a write needs of the index, for the new item and for the old item that it replaces.
    ///
    /// An item that moves to another key of the index is deleted in one place and put in another. One that stays as it is takes
    /// nothing, as measured on `DynamoDB` for nubo-db/dynoxide#176.
    pub(super) fn demands(
        &self,
        number: usize,
        old: Option<(&Value, f64)>,
        new: Option<(&Value, f64)>,
    ) -> impl Iterator<Item = IndexDemand> {
        let is_same = old.zip(new).is_some_and(|((before, _), (after, _))| before == after);
        let place = |(item, units): (&Value, f64)| Some((self.schema.place(item.as_object()?)?, units));
        let both = match (old.and_then(place), new.and_then(place)) {
            _ if is_same => [None, None],
            (Some((from, before)), Some((to, after))) if from == to => [Some((to, before.max(after))), None],
            (old, new) => [old, new],
        };
        both.into_iter().flatten().map(move |(place, units)| IndexDemand {
            index: number,
            place,
            units,
        })
    }
}

/// The bytes of a value in the key of an index with this name. Refuses an empty one.
pub(super) fn bytes_of_key(index: &str, name: &str, kind: KeyType, content: &Value) -> Result<usize, Refusal> {
    if content == "" {
        return Err(Refusal::validation(format!(
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The \
             AttributeValue for a key attribute cannot contain an empty {} value. IndexName: {index}, IndexKey: {name}",
            kind.word()
        )));
    }
    kind.bytes(content)
}
