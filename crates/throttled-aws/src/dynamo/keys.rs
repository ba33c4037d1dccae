//! A primary key: that of a table or of an index.

use std::hash::{DefaultHasher, Hash, Hasher};

use aws_batch_simulator::Place;
use serde_json::{Map, Value};

use super::key_condition::partition_value;

/// The names of the attributes of a primary key.
pub(super) struct Keys {
    partition: String,
    sort: Option<String>,
}

impl Keys {
    /// From a `KeySchema`.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let schema = schema.as_array()?;
        let with = |role: &str| {
            let attribute = schema.iter().find(|attribute| attribute["KeyType"] == role)?;
            attribute["AttributeName"].as_str().map(str::to_owned)
        };
        Some(Self {
            partition: with("HASH")?,
            sort: with("RANGE"),
        })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.partition).chain(&self.sort).map(String::as_str)
    }

    /// The key attributes of an item; `None` if it lacks one.
    pub(super) fn attributes(&self, item: &Value) -> Option<Value> {
        let value = |name: &str| Some((name.to_owned(), item.get(name)?.clone()));
        let key = self.names().map(value).collect::<Option<Map<String, Value>>>()?;
        Some(Value::Object(key))
    }

    /// The same as in the journal.
    pub(super) fn key_of(&self, item: &Value) -> Option<String> {
        Some(self.attributes(item)?.to_string())
    }

    /// Its position among the partitions; `None` if it lacks a key.
    pub(super) fn place(&self, item: &Value) -> Option<Place> {
        let sort = match &self.sort {
            Some(name) => hash(item.get(name)?),
            None => 0,
        };
        Some(Place::new(hash(item.get(&self.partition)?), sort))
    }

    /// The position of what a query reads; `None` if its partition key is not known.
    pub(super) fn place_of_query(&self, query: &Value) -> Option<Place> {
        Some(Place::new(hash(partition_value(query, &self.partition)?), 0))
    }
}

/// The same in each run.
fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
