//! The arguments for conditions and updates: expressions of DynamoDB, and what their placeholders stand for.

use std::collections::HashMap;
use std::path::PathBuf;

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;

use super::delivering::ToTable;
use crate::format::Json;
use crate::sink::{Change, Expressions, Settings};

const SET: &str = "Set attributes: 'status = :status, n = if_not_exists(n, :zero)'";

const CONDITION: &str = "Write only where this holds: 'attribute_not_exists(id) OR #version < :version'";

#[derive(Debug, Args)]
pub(crate) struct ToLoad {
    #[command(flatten)]
    pub(crate) from: ToTable,
    /// Put an item only if the table has none with its key
    #[arg(long, conflicts_with = "expression", help_heading = "Condition")]
    pub(crate) if_absent: bool,
    #[command(flatten)]
    pub(crate) condition: Condition,
}

#[derive(Debug, Args)]
pub(crate) struct ToDelete {
    #[command(flatten)]
    pub(crate) from: ToTable,
    /// Do not ask on a terminal before it begins
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) condition: Condition,
}

#[derive(Debug, Args)]
pub(crate) struct ToUpdate {
    #[command(flatten)]
    pub(crate) from: ToTable,
    #[arg(long, help = SET, value_name = "ASSIGNMENTS", required_unless_present_any = ["remove", "add"])]
    pub(crate) set: Option<String>,
    /// Remove attributes: 'note, address.fax'
    #[arg(long, value_name = "NAMES")]
    pub(crate) remove: Option<String>,
    /// Add to numbers and sets: 'stock :more'; twice the write units, so that nothing is added twice
    #[arg(long, value_name = "ADDITIONS")]
    pub(crate) add: Option<String>,
    #[command(flatten)]
    pub(crate) condition: Condition,
}

impl ToUpdate {
    /// The expression of all clauses.
    pub(crate) fn expression(&self) -> String {
        let clauses = [("SET", &self.set), ("REMOVE", &self.remove), ("ADD", &self.add)];
        let given = clauses
            .into_iter()
            .filter_map(|(clause, words)| Some(format!("{clause} {}", words.as_ref()?)));
        given.collect::<Vec<_>>().join(" ")
    }
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Condition")]
pub(crate) struct Condition {
    #[arg(long = "condition", help = CONDITION, value_name = "EXPRESSION")]
    pub(crate) expression: Option<String>,
    /// What #NAME stands for in expressions [default: the attribute NAME]
    #[arg(long = "name", value_name = "#NAME=ATTRIBUTE", value_parser = name)]
    names: Vec<(String, String)>,
    /// What :NAME stands for in expressions, as JSON or a text [default: the field NAME of the record]
    #[arg(long = "value", value_name = ":NAME=VALUE", value_parser = value)]
    values: Vec<(String, AttributeValue)>,
    /// Append the records whose condition does not hold to this file [default: they are counted]
    #[arg(long, value_name = "FILE")]
    pub(crate) failed: Option<PathBuf>,
}

impl Condition {
    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.expression.is_none() && self.names.is_empty() && self.values.is_empty() && self.failed.is_none()
    }

    /// How items become writes.
    pub(crate) fn expressions(&self, change: Change) -> Expressions {
        Expressions {
            change,
            condition: self.expression.clone(),
            names: self.names.iter().cloned().collect::<HashMap<_, _>>(),
            values: self.values.iter().cloned().collect::<HashMap<_, _>>(),
        }
    }

    /// The settings that identify a delivery.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::new();
        settings.extend(self.expression.clone().map(|condition| ("--condition", condition)));
        for (option, given) in [
            (
                "--name",
                self.names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>(),
            ),
            (
                "--value",
                self.values.iter().map(|value| format!("{value:?}")).collect(),
            ),
        ] {
            if !given.is_empty() {
                settings.push((option, given.join(", ")));
            }
        }
        settings
    }
}

/// A placeholder that begins with this sign, and what it stands for.
fn placeholder(text: &str, sign: char) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some((placeholder, meaning)) if placeholder.len() > 1 && placeholder.starts_with(sign) => {
            Ok((placeholder, meaning))
        }
        _ => Err(format!("give {sign}NAME=…, in quotes: the shell reads # and others")),
    }
}

pub(super) fn name(text: &str) -> Result<(String, String), String> {
    match placeholder(text, '#')? {
        (_, "") => Err("the attribute has no name".to_owned()),
        (placeholder, name) => Ok((placeholder.to_owned(), name.to_owned())),
    }
}

pub(super) fn value(text: &str) -> Result<(String, AttributeValue), String> {
    let (placeholder, value) = placeholder(text, ':')?;
    let json = Json::default().value(value.as_bytes());
    let value = json.unwrap_or_else(|_| AttributeValue::S(value.to_owned()));
    Ok((placeholder.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_or_a_text() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        for (given, expected) in [
            (":a=5", AttributeValue::N("5".to_owned())),
            (":a=\"5\"", text("5")),
            (":a=true", AttributeValue::Bool(true)),
            (":a=new", text("new")),
            (":a=", text("")),
            (":a=b=c", text("b=c")),
        ] {
            assert_eq!(value(given), Ok((":a".to_owned(), expected)), "{given}");
        }
        for wrong in ["a=1", ":=1", ":a", "#a=1"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_needs_an_attribute() {
        assert_eq!(name("#s=status"), Ok(("#s".to_owned(), "status".to_owned())));
        for wrong in ["s=status", "#s=", "#=status", ":s=status"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
