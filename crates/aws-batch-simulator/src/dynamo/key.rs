//! Primary keys.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::number::Number;
use super::value::{decode, tagged, text};
use crate::admission::Place;
use crate::wire::Refusal;

/// Bytes of a partition key at most.
pub(super) const LONGEST_PARTITION: usize = 2_048;
/// Bytes of a sort key at most.
pub(super) const LONGEST_SORT: usize = 1_024;

/// The type of a key attribute, named as the wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    /// A string.
    S,
    /// A number. Numbers are compared by value: 1 and 1.0 are the same key.
    N,
    /// Bytes.
    B,
}

impl KeyType {
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
        }
    }

    /// The bytes of a value; 0 for a number, whose length has no limit of its own.
    pub(super) fn bytes(self, content: &Value) -> Result<usize, Refusal> {
        Ok(match self {
            Self::S => text(content)?.len(),
            Self::B => decode(content)?.len(),
            Self::N => 0,
        })
    }

    /// As errors name it.
    pub(super) fn word(self) -> &'static str {
        if self == Self::B { "binary" } else { "string" }
    }
}

/// The attributes that make the primary key of a table.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) partition: (String, KeyType),
    pub(super) sort: Option<(String, KeyType)>,
}

impl Schema {
    /// With this partition key and no sort key.
    pub(super) fn new(name: impl Into<String>, kind: KeyType) -> Self {
        Self {
            partition: (name.into(), kind),
            sort: None,
        }
    }

    /// The position of an item among the partitions; `None` if it lacks a key. Sort keys are hashed as well, so their order
    /// does not matter.
    pub(super) fn place(&self, item: &Map<String, Value>) -> Option<Place> {
        let hash = |position: usize, attribute: &(String, KeyType)| {
            let (name, kind) = attribute;
            let (tag, content) = tagged(item.get(name)?).ok()?;
            let mut key = String::new();
            append(&mut key, name, *kind, content, position)
                .ok()
                .filter(|()| tag == kind.tag())?;
            Some(hash_of(&key))
        };
        let sort = match &self.sort {
            Some(sort) => hash(1, sort)?,
            None => 0,
        };
        Some(Place::new(hash(0, &self.partition)?, sort))
    }

    pub(super) fn attributes(&self) -> impl Iterator<Item = &(String, KeyType)> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// The key of an item as text, which is equal for equal keys.
    pub(super) fn key_of_item(&self, item: &Map<String, Value>) -> Result<String, Refusal> {
        let mut key = String::new();
        for (position, (name, expected)) in self.attributes().enumerate() {
            let value = item.get(name).ok_or_else(|| {
                Refusal::validation(format!(
                    "One or more parameter values were invalid: Missing the key {name} in the item"
                ))
            })?;
            let (tag, content) = tagged(value)?;
            if tag != expected.tag() {
                return Err(Refusal::validation(format!(
                    "One or more parameter values were invalid: Type mismatch for key {name} expected: {} actual: {tag}",
                    expected.tag()
                )));
            }
            append(&mut key, name, *expected, content, position)?;
        }
        Ok(key)
    }

    /// The same for an item of a batch, in the wording of keys of single calls.
    pub(super) fn key_of_batch_item(&self, item: &Map<String, Value>) -> Result<String, Refusal> {
        if !self.fits(item) {
            return Err(no_match());
        }
        self.key_of_item(item)
    }

    /// Whether all attributes of the key are there and of their types.
    fn fits(&self, item: &Map<String, Value>) -> bool {
        let mut attributes = self.attributes();
        attributes.all(|(name, expected)| item.get(name).is_some_and(|value| value.get(expected.tag()).is_some()))
    }

    /// The same for the key of a single call, as in a delete: it must have the attributes of the key and no others.
    pub(super) fn key_alone(&self, key: &Map<String, Value>) -> Result<String, Refusal> {
        if key.len() != self.attributes().count() || !self.fits(key) {
            return Err(no_match());
        }
        self.key_of_item(key)
    }

    /// Only the key attributes of an item.
    pub(super) fn project(&self, item: &Value) -> Value {
        let attributes = self.attributes();
        Value::Object(attributes.map(|(name, _)| (name.clone(), item[name].clone())).collect())
    }
}

/// The error of an empty value in a key.
pub(super) fn empty(name: &str, kind: KeyType) -> Refusal {
    Refusal::validation(format!(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty {} value. Key: \
         {name}",
        kind.word()
    ))
}

fn no_match() -> Refusal {
    Refusal::validation("The provided key element does not match the schema")
}

/// The place of a key in the order of reads: by the hash of its partition key, and then by its sort key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// As in the [`Place`] of the key.
    pub(super) hash: u64,
    partition: Box<str>,
    /// Bytes in the order of the sort keys.
    sort: Box<[u8]>,
}

impl Rank {
    /// The first of those with this hash.
    pub(super) fn first(hash: u64) -> Self {
        Self {
            hash,
            partition: Box::default(),
            sort: Box::default(),
        }
    }

    /// Of a key as text.
    pub(super) fn of(key: &str) -> Self {
        let (partition, sort) = key.split_at(end_of_attribute(key));
        let value = sort.split_once(':').map_or("", |(_, value)| value);
        let sort = match sort.as_bytes().first() {
            Some(b'N') => Number::order_of_canonical(value),
            Some(b'B') => super::value::bytes(value).unwrap_or_default(),
            _ => value.as_bytes().to_vec(),
        };
        Self {
            hash: hash_of(partition),
            partition: partition.into(),
            sort: sort.into(),
        }
    }
}

/// Where the first attribute of a key as text ends.
fn end_of_attribute(key: &str) -> usize {
    let end = key.split_once(':').and_then(|(head, rest)| {
        let length: usize = head.get(1..)?.parse().ok()?;
        rest.get(..length)?;
        Some(head.len() + 1 + length)
    });
    end.unwrap_or(key.len())
}

fn hash_of(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Appends type, length and value, so that ("ab", "cd") and ("a", "bcd") differ.
fn append(key: &mut String, name: &str, kind: KeyType, content: &Value, position: usize) -> Result<(), Refusal> {
    let value = match kind {
        KeyType::N => Number::parse(text(content)?)?.canonical(),
        KeyType::S | KeyType::B => text(content)?.to_owned(),
    };
    if content == "" {
        return Err(empty(name, kind));
    }
    let bytes = kind.bytes(content)?;
    // The service's message lacks the space, too.
    if position == 0 && bytes > LONGEST_PARTITION {
        return Err(Refusal::validation(
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes",
        ));
    }
    if position == 1 && bytes > LONGEST_SORT {
        return Err(Refusal::validation(
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit \
             of 1024 bytes",
        ));
    }
    key.extend([kind.tag(), &value.len().to_string(), ":", &value]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema {
            partition: ("p".into(), KeyType::S),
            sort: Some(("s".into(), KeyType::S)),
        }
    }

    fn key(partition: &str, sort: &str) -> String {
        let item = json!({"p": {"S": partition}, "s": {"S": sort}, "more": {"S": "x"}});
        schema().key_of_item(item.as_object().unwrap()).unwrap()
    }

    fn refusal(item: &Value) -> String {
        let refusal = schema().key_of_item(item.as_object().unwrap()).unwrap_err();
        refusal.message().to_owned()
    }

    #[test]
    fn keys_that_read_the_same_when_joined_differ() {
        assert_ne!(key("ab", "cd"), key("a", "bcd"));
        assert_eq!(key("ab", "cd"), key("ab", "cd"));
    }

    #[test]
    fn a_key_as_text_has_the_place_of_its_item() {
        for (partition, sort) in [("a", "b"), ("a:b", "c"), ("ü😀", "7:x"), ("S1:a", "S")] {
            let item = json!({"p": {"S": partition}, "s": {"S": sort}});
            let place = schema().place(item.as_object().unwrap()).unwrap();
            assert_eq!(Rank::of(&key(partition, sort)).hash, place.partition_key);
        }
    }

    #[test]
    fn keys_are_in_the_order_of_their_sort_keys() {
        let ranks = |kind: KeyType, ordered: &[&str]| -> Vec<Rank> {
            let schema = Schema {
                sort: Some(("s".into(), kind)),
                ..schema()
            };
            let item = |value: &&str| json!({"p": {"S": "a"}, "s": {kind.tag(): value}});
            let key = |value: &&str| schema.key_of_item(item(value).as_object().unwrap()).unwrap();
            ordered.iter().map(|value| Rank::of(&key(value))).collect()
        };
        let texts = ranks(KeyType::S, &["1", "10", "2", "a", "aa", "b", "ü"]);
        assert!(texts.is_sorted(), "not by their lengths");
        assert!(ranks(KeyType::N, &["-10", "-9.5", "-1", "0", "0.5", "2", "10", "1E30"]).is_sorted());
        assert!(
            ranks(KeyType::B, &["AA==", "AAE=", "AQ==", "f/8=", "gA=="]).is_sorted(),
            "as unsigned bytes"
        );
    }

    #[test]
    fn numbers_are_the_same_key_when_their_values_are() {
        let schema = Schema {
            partition: ("p".into(), KeyType::N),
            sort: None,
        };
        let key = |number: &str| {
            schema
                .key_alone(json!({"p": {"N": number}}).as_object().unwrap())
                .unwrap()
        };
        assert_eq!(key("1"), key("1.0"));
    }

    #[test]
    fn a_key_is_complete_of_its_type_and_not_empty() {
        assert!(refusal(&json!({"p": {"S": "a"}})).contains("Missing the key s"));
        assert!(refusal(&json!({"p": {"S": "a"}, "s": {"N": "1"}})).contains("expected: S actual: N"));
        assert!(refusal(&json!({"p": {"S": ""}, "s": {"S": "a"}})).contains("empty string value. Key: p"));
    }

    #[test]
    fn a_key_has_its_longest_length() {
        let longest = json!({"p": {"S": "p".repeat(2_048)}, "s": {"S": "s".repeat(1_024)}});
        assert!(schema().key_of_item(longest.as_object().unwrap()).is_ok());
        assert!(refusal(&json!({"p": {"S": "p".repeat(2_049)}, "s": {"S": "s"}})).contains("limit of2048"));
        assert!(refusal(&json!({"p": {"S": "p"}, "s": {"S": "s".repeat(1_025)}})).contains("1024 bytes"));
    }

    #[test]
    fn a_key_alone_has_no_other_attributes() {
        let more = json!({"p": {"S": "a"}, "s": {"S": "b"}, "more": {"S": "c"}});
        let refusal = schema().key_alone(more.as_object().unwrap()).unwrap_err();
        assert_eq!(refusal.message(), "The provided key element does not match the schema");
    }
}
