//! The items that a table has, and the writes that change them.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};

use serde_json::{Map, Value};

use super::key::place_of_key;
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
    stored: BTreeMap<(u64, Box<str>), Stored>,
    /// Of all items together.
    bytes: usize,
}

/// Some of the items, one after the other.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) items: Vec<Value>,
    /// Bytes of the items.
    pub(super) bytes: usize,
    /// Whether there may be more items.
    pub(super) has_more: bool,
}

/// Text takes a tenth of the memory that the parsed item takes.
struct Stored {
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
        self.stored.get(&ranked(key)).map(Stored::parse)
    }

    /// The item with this key as text, and its size.
    pub(super) fn text(&self, key: &str) -> Option<(&str, usize)> {
        self.stored.get(&ranked(key)).map(|stored| (&*stored.json, stored.size))
    }

    /// The item with this key, and the write units of its size.
    pub(super) fn get_with_units(&self, key: &str) -> Option<(Value, f64)> {
        let stored = self.stored.get(&ranked(key))?;
        Some((stored.parse(), units_of(stored.size)))
    }

    pub(super) fn all(&self) -> Vec<Value> {
        self.stored.values().map(Stored::parse).collect()
    }

    /// At most this many items or bytes of items after this key, of those whose partition keys have these hashes.
    pub(super) fn page(&self, hashes: &RangeInclusive<u64>, after: Option<&str>, most: usize, largest: usize) -> Page {
        let first = (*hashes.start(), Box::default());
        let start = after.map_or(Bound::Included(first), |key| Bound::Excluded(ranked(key)));
        let rest = self.stored.range((start, Bound::Unbounded));
        let mut rest = rest.take_while(|((hash, _), _)| hash <= hashes.end()).peekable();
        let mut page = Page {
            items: Vec::new(),
            bytes: 0,
            has_more: false,
        };
        while page.items.len() < most && page.bytes < largest {
            let Some((_, stored)) = rest.next() else { break };
            page.bytes += stored.size;
            page.items.push(stored.parse());
        }
        // The service stops at the limit without looking further.
        page.has_more = page.items.len() == most || rest.peek().is_some();
        page
    }

    /// What a write needs: a put counts by the larger one of the old and the new item, a delete by the old one.
    pub(super) fn units(&self, write: &Write) -> f64 {
        let old = self.stored.get(&ranked(&write.key)).map_or(0, |stored| stored.size);
        units_of(old.max(write.size))
    }

    pub(super) fn store(&mut self, write: &Write) {
        let old = if write.is_put {
            let stored = Stored {
                json: stored(&write.entry).to_string().into(),
                size: write.size,
            };
            self.stored.insert(ranked(&write.key), stored)
        } else {
            self.stored.remove(&ranked(&write.key))
        };
        self.bytes = self.bytes + write.size - old.map_or(0, |old| old.size);
    }
}

impl Stored {
    fn parse(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or(Value::Object(Map::new()))
    }
}

/// The key with its place in the order.
fn ranked(key: &str) -> (u64, Box<str>) {
    (place_of_key(key), key.into())
}

#[expect(clippy::cast_precision_loss, reason = "an item has at most 400 units")]
pub(super) fn units_of(bytes: usize) -> f64 {
    bytes.div_ceil(WRITE_UNIT).max(1) as f64
}
