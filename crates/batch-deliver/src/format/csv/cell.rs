//! The types of columns, and the values of cells.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::set;
use crate::format::items::{KeyType, of_cell, value_of_json};

/// The type that the cells of a column become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellType {
    S,
    N,
    /// Base64.
    B,
    Bool,
    Null,
    /// Any JSON, such as a list or a map, also as DynamoDB JSON.
    Json,
    Ss,
    Ns,
    Bs,
}

/// The types and their names.
const TYPES: [(&str, CellType); 9] = [
    ("S", CellType::S),
    ("N", CellType::N),
    ("B", CellType::B),
    ("BOOL", CellType::Bool),
    ("NULL", CellType::Null),
    ("JSON", CellType::Json),
    ("SS", CellType::Ss),
    ("NS", CellType::Ns),
    ("BS", CellType::Bs),
];

/// The types of columns, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Types(BTreeMap<String, CellType>);

impl Types {
    pub(super) fn get(&self, name: &str) -> Option<CellType> {
        self.0.get(name).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }
}

/// `year:N,title:S`
impl FromStr for Types {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let typed = |text: &str| {
            let (name, kind) = text.trim().rsplit_once(':').ok_or("a type is needed: year:N,title:S")?;
            Ok((name.to_owned(), kind.parse()?))
        };
        text.split(',').map(typed).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.0.iter().map(|(name, kind)| format!("{name}:{kind}"));
        f.write_str(&types.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for CellType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = TYPES.iter().find(|(name, _)| *name == text);
        known
            .map(|(_, kind)| *kind)
            .ok_or_else(|| format!("a type is S, N, B, BOOL, NULL, JSON, SS, NS or BS, not {text}"))
    }
}

impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = TYPES.iter().find(|(_, kind)| kind == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

impl From<KeyType> for CellType {
    fn from(kind: KeyType) -> Self {
        match kind {
            KeyType::S => Self::S,
            KeyType::N => Self::N,
            KeyType::B => Self::B,
        }
    }
}

/// The value of a cell that is not empty; `None` for an empty set, which DynamoDB does not have.
pub(super) fn value(cell: &[u8], kind: CellType) -> Result<Option<AttributeValue>, String> {
    let text =
        || str::from_utf8(cell).map_err(|_| "this is not UTF-8 text: give its encoding as --encoding".to_owned());
    Ok(Some(match kind {
        CellType::S => AttributeValue::S(text()?.to_owned()),
        CellType::N => AttributeValue::N(number(text()?)?),
        CellType::B => AttributeValue::B(bytes(cell)?),
        CellType::Bool => AttributeValue::Bool(boolean(text()?)?),
        CellType::Null => match text()?.trim().to_ascii_lowercase().as_str() {
            "true" | "null" => AttributeValue::Null(true),
            _ => return Err("this is not null: a cell of the type NULL is true, null or empty".to_owned()),
        },
        CellType::Json => {
            let value = value_of_json(cell).map_err(|flaw| flaw.reason.into_owned())?;
            of_cell(value).map_err(|flaw| flaw.reason.into_owned())?
        }
        CellType::Ss | CellType::Ns | CellType::Bs => {
            let members = set::members(text()?)?;
            if members.is_empty() {
                return Ok(None);
            }
            match kind {
                CellType::Ss => AttributeValue::Ss(members),
                CellType::Ns => {
                    AttributeValue::Ns(members.iter().map(|member| number(member)).collect::<Result<_, _>>()?)
                }
                _ => AttributeValue::Bs(
                    members
                        .iter()
                        .map(|member| bytes(member.as_bytes()))
                        .collect::<Result<_, _>>()?,
                ),
            }
        }
    }))
}

fn number(text: &str) -> Result<String, String> {
    let number = text.trim();
    if !number.starts_with(|first: char| first.is_ascii_digit() || "-+.".contains(first)) {
        return Err("this is not a number".to_owned());
    }
    Ok(number.to_owned())
}

fn bytes(text: &[u8]) -> Result<Blob, String> {
    let bytes = BASE64_STANDARD.decode(text.trim_ascii());
    bytes.map(Blob::new).map_err(|_| "this is not base64".to_owned())
}

/// As databases print it.
fn boolean(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Ok(true),
        "false" | "f" | "no" | "n" | "0" => Ok(false),
        _ => Err("this is neither true nor false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_they_are_written() {
        let types = "a:BS,b:JSON,c:BOOL,d:NULL";
        assert_eq!(types.parse::<Types>().unwrap().to_string(), types);
        assert!("a".parse::<Types>().is_err() && "a:X".parse::<Types>().is_err());
    }

    #[test]
    fn booleans_are_read_as_databases_print_them() {
        for (text, expected) in [
            ("t", true),
            ("F", false),
            ("Yes", true),
            (" n", false),
            ("1", true),
            ("0", false),
        ] {
            assert_eq!(boolean(text), Ok(expected));
        }
        assert!(boolean("2").is_err());
    }
}
