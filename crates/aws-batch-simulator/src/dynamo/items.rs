//! The items that a table has, and the writes that change them.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};

use serde_json::{Map, Value};

use super::key::Rank;
use super::stored::stored;

/// A write unit is for each started kilobyte.
const WRITE_UNIT: usize = 1_024;

/// One put or delete.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) key: String,
    pub(super) is_put: bool,
    /// The item of a put, the key of a delete.
    pub(super) entry: Value,
    /// The bytes of the item, 0 for a delete.
    pub(super) size: usize,
}

impl Write {
    /// The original request.
    pub(super) fn into_request(self) -> Value {
        let (kind, member) = if self.is_put {
            ("PutRequest", "Item")
        } else {
            ("DeleteRequest", "Key")
        };
        let inner = Map::from_iter([(member.to_owned(), self.entry)]);
        Value::Object(Map::from_iter([(kind.to_owned(), Value::Object(inner))]))
    }
}

/// Items in the order of a scan: by the hashes of their partition keys, and then by their keys. The place of an item does not change
/// while others are written or deleted.
#[derive(Default)]
pub(super) struct Items {
    stored: BTreeMap<Rank, StoredItem>,
    /// Of all items together.
    bytes: usize,
}

/// Text takes a tenth of the memory that the parsed item takes.
struct StoredItem {
    json: Box<str>,
    size: usize,
}

impl Items {
    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, key: &str) -> Option<Value> {
        self.stored.get(&Rank::of(key)).map(StoredItem::parse)
    }

    /// The item with this key as text, and its size.
    pub(super) fn text(&self, key: &str) -> Option<(&str, usize)> {
        self.stored
            .get(&Rank::of(key))
            .map(|stored| (&*stored.json, stored.size))
    }

    /// The item with this key, and the write units of its size.
    pub(super) fn get_with_units(&self, key: &str) -> Option<(Value, f64)> {
        let stored = self.stored.get(&Rank::of(key))?;
        Some((stored.parse(), units_of(stored.size)))
    }

    pub(super) fn all(&self) -> Vec<Value> {
        self.stored.values().map(StoredItem::parse).collect()
    }

    /// The items behind this key, of those whose partition keys have these hashes, with their sizes: forward or backward.
    pub(super) fn after(
        &self,
        hashes: &RangeInclusive<u64>,
        after: Option<&Rank>,
        is_forward: bool,
    ) -> Box<dyn Iterator<Item = (Value, usize)> + '_> {
        let beyond = hashes.end().checked_add(1).map(Rank::first);
        let mut start = Bound::Included(Rank::first(*hashes.start()));
        let mut end = beyond.map_or(Bound::Unbounded, Bound::Excluded);
        match after {
            Some(after) if Rank::first(*hashes.start()) > *after || after.hash > *hashes.end() => {}
            Some(after) if is_forward => start = Bound::Excluded(after.clone()),
            Some(after) => end = Bound::Excluded(after.clone()),
            None => {}
        }
        let range = self
            .stored
            .range((start, end))
            .map(|(_, stored)| (stored.parse(), stored.size));
        if is_forward {
            Box::new(range)
        } else {
            Box::new(range.rev())
        }
    }

    /// What a write needs: a put counts by the larger one of the old and the new item, a delete by the old one.
    pub(super) fn units(&self, write: &Write) -> f64 {
        let old = self.stored.get(&Rank::of(&write.key)).map_or(0, |stored| stored.size);
        units_of(old.max(write.size))
    }

    pub(super) fn store(&mut self, write: &Write) {
        let old = if write.is_put {
            let stored = StoredItem {
                json: stored(&write.entry).to_string().into(),
                size: write.size,
            };
            self.stored.insert(Rank::of(&write.key), stored)
        } else {
            self.stored.remove(&Rank::of(&write.key))
        };
        self.bytes = self.bytes + write.size - old.map_or(0, |old| old.size);
    }
}

impl StoredItem {
    fn parse(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or(Value::Object(Map::new()))
    }
}

#[expect(clippy::cast_precision_loss, reason = "an item has at most 400 units")]
pub(super) fn units_of(bytes: usize) -> f64 {
    bytes.div_ceil(WRITE_UNIT).max(1) as f64
}
