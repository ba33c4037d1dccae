//! The primary key of a table.

use std::fmt;
use std::str::FromStr;

use aws_sdk_dynamodb::types::{AttributeValue, KeyType as Role, TableDescription};
use serde_json::Value;

use super::{Item, to_json};
use crate::source::Flaw;

/// The attributes of a table's primary key: the partition key, and the sort key if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) partition: KeyAttribute,
    pub(crate) sort: Option<KeyAttribute>,
}

/// One attribute of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyAttribute {
    pub(crate) name: String,
    pub(crate) kind: KeyType,
}

/// The type of a key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyType {
    S,
    N,
    B,
}

impl Key {
    /// The key of a table, from its description.
    pub(crate) fn of_table(table: &TableDescription) -> Option<Self> {
        let attribute = |role: &Role| {
            let element = table.key_schema().iter().find(|element| element.key_type() == role)?;
            let name = element.attribute_name();
            let definition = table
                .attribute_definitions()
                .iter()
                .find(|definition| definition.attribute_name() == name)?;
            Some(KeyAttribute {
                name: name.to_owned(),
                kind: KeyType::of(definition.attribute_type().as_str())?,
            })
        };
        Some(Self {
            partition: attribute(&Role::Hash)?,
            sort: attribute(&Role::Range),
        })
    }

    pub(crate) fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// Whether an attribute with this name is part of the key.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }

    /// The key of an item as DynamoDB's JSON; `None` if the item has not all of its attributes.
    pub(crate) fn json_of(&self, item: &Item) -> Option<Value> {
        let attribute = |name: &String| Some((name.clone(), item.get(name)?.clone()));
        let key = self.attributes().map(|KeyAttribute { name, .. }| attribute(name));
        Some(to_json(&key.collect::<Option<Item>>()?))
    }

    /// Checks that the item has this key, with the types of the table.
    pub(crate) fn check(&self, item: &Item) -> Result<(), Flaw> {
        for KeyAttribute { name, kind } in self.attributes() {
            let wanted = kind.words();
            let found = match item.get(name) {
                None => {
                    return Err(Flaw::new(format!(
                        "there is no {name}, which is part of the table's key"
                    )));
                }
                Some(AttributeValue::S(_)) => KeyType::S.words(),
                Some(AttributeValue::N(_)) => KeyType::N.words(),
                Some(AttributeValue::B(_)) => KeyType::B.words(),
                Some(_) => "neither a string nor a number nor binary",
            };
            if found != wanted {
                return Err(Flaw::new(format!(
                    "{name} is {found}, but in the table's key it is {wanted}"
                )));
            }
        }
        Ok(())
    }
}

impl KeyType {
    fn of(letter: &str) -> Option<Self> {
        match letter {
            "S" => Some(Self::S),
            "N" => Some(Self::N),
            "B" => Some(Self::B),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::S => "a string",
            Self::N => "a number",
            Self::B => "binary",
        }
    }
}

/// Reads `year:N,title:S`; without a type, an attribute is a string.
impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let attribute = |text: &str| {
            let (name, kind) = text.trim().rsplit_once(':').unwrap_or((text.trim(), "S"));
            Ok(KeyAttribute {
                name: name.to_owned(),
                kind: KeyType::of(kind)
                    .ok_or_else(|| format!("a key attribute is of the type S, N or B, not {kind}"))?,
            })
        };
        let attributes: Vec<_> = text.split(',').map(attribute).collect::<Result<_, String>>()?;
        let is_named = |attribute: &KeyAttribute| !attribute.name.is_empty();
        match &attributes[..] {
            [partition] if is_named(partition) => Ok(Self {
                partition: partition.clone(),
                sort: None,
            }),
            [partition, sort] if is_named(partition) && is_named(sort) && partition.name != sort.name => Ok(Self {
                partition: partition.clone(),
                sort: Some(sort.clone()),
            }),
            _ => Err("a key has one attribute, or two different ones: year:N,title:S".to_owned()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for KeyAttribute { name, kind } in self.attributes() {
            write!(f, "{separator}{name}:{kind:?}")?;
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for text in ["id:S", "year:N,title:S", "a:b:B"] {
            assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        }
        assert_eq!("id".parse::<Key>().unwrap().to_string(), "id:S");
        for text in ["", ":N", "a,a", "a,b,c", "a:X"] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_flaw_in_the_key_names_its_attributes_only() {
        let key: Key = "year:N,title:S".parse().unwrap();
        let mut item = Item::from([("year".to_owned(), AttributeValue::S("secret".to_owned()))]);
        let flaw = key.check(&item).unwrap_err().to_string();
        assert_eq!(flaw, "year is a string, but in the table's key it is a number");
        item.insert("year".to_owned(), AttributeValue::N("1".to_owned()));
        assert_eq!(
            key.check(&item).unwrap_err().to_string(),
            "there is no title, which is part of the table's key"
        );
        item.insert("title".to_owned(), AttributeValue::S("a".to_owned()));
        assert_eq!(key.check(&item), Ok(()));
    }
}
