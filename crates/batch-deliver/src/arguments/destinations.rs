//! The arguments of the commands for tables and queues.

use std::ops::RangeInclusive;

use clap::Args;

use super::common::CommonArguments;
use crate::format::{Character, CsvOptions, Key, Quote, TableFormat, TextFormat, Types};
use crate::sink::QueueName;

#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// The table, by its name or ARN
    #[arg(long, value_name = "NAME", value_parser = table)]
    pub(crate) table: String,
    /// auto, json, dynamodb, csv or tsv
    #[arg(long, value_enum, default_value_t = TableFormat::Auto, hide_possible_values = true)]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) items: ItemArguments,
    /// An option of `load` alone.
    #[arg(skip)]
    pub(crate) refuses_unindexed: bool,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// The queue, by its URL, ARN or name
    #[arg(long, value_name = "URL")]
    pub(crate) queue: QueueName,
    #[arg(long, help = "Lines of text, or JSON with body, attributes, group_id, dedup_id, delay, trace_header", value_enum, default_value_t = TextFormat::Text)]
    pub(crate) format: TextFormat,
    #[arg(long, value_name = "ID", help = GROUP, value_parser = group)]
    pub(crate) group_id: Option<String>,
    #[arg(long, help = LOOSE_ORDER)]
    pub(crate) loose_order: bool,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ItemArguments {
    /// Key of the table: year:N,title:S [default: the table's]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<Key>,
    #[command(flatten)]
    pub(crate) rows: RowArguments,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "CSV")]
pub(crate) struct RowArguments {
    /// Types of columns: rating:N,seen:BOOL,tags:SS [default: those of the key, otherwise S]
    #[arg(long, value_name = "TYPES")]
    pub(crate) types: Option<Types>,
    /// The character between cells, or tab [default: that in the header]
    #[arg(long, value_name = "CHAR")]
    pub(crate) delimiter: Option<Character>,
    /// The names of columns, if the inputs have no header
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) header: Option<Vec<String>>,
    /// The character around cells, or none if quotes are text [default: "]
    #[arg(long, value_name = "CHAR")]
    pub(crate) quote: Option<Quote>,
    /// A character that escapes quotes in cells, such as \
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(crate) escape: Option<Character>,
    /// Leave out cells that are empty or this, such as \N
    #[arg(long, value_name = "TEXT")]
    pub(crate) null: Option<String>,
}

impl From<&RowArguments> for CsvOptions {
    fn from(rows: &RowArguments) -> Self {
        let trimmed = |names: &Vec<String>| names.iter().map(|name| name.trim().to_owned()).collect();
        Self {
            types: rows.types.clone(),
            delimiter: rows.delimiter,
            header: rows.header.as_ref().map(trimmed),
            quote: rows.quote,
            escape: rows.escape,
            null: rows.null.clone(),
        }
    }
}

/// The number of characters of a table's name, by DynamoDB's naming rules.
const LENGTH: RangeInclusive<usize> = 3..=255;

/// Precedes the name in an ARN.
const OF_ARN: &str = ":table/";

/// The name or ARN of a table, as DynamoDB accepts it.
pub(super) fn table(text: &str) -> Result<String, String> {
    let name = match text.strip_prefix("arn:") {
        None => text,
        Some(arn) => match arn.split_once(OF_ARN) {
            Some((_, name)) => name,
            None => return Err(format!("the ARN of a table has {OF_ARN} before its name")),
        },
    };
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    if let Some(other) = name.chars().find(|character| !is_allowed(*character)) {
        return Err(format!(
            "the name of a table consists of a-z, A-Z, 0-9, _, . and -, but this one contains {other:?}"
        ));
    }
    let (least, most) = (LENGTH.start(), LENGTH.end());
    if !LENGTH.contains(&name.len()) {
        let characters = name.len();
        return Err(format!(
            "the name of a table has {least} to {most} characters, but this one has {characters}"
        ));
    }
    Ok(text.to_owned())
}

/// The most characters of a group. From the API reference of `SendMessage`.
const LONGEST_GROUP: usize = 128;

pub(super) const GROUP: &str = "The group of messages that have none, for FIFO queues and topics";

pub(super) const LOOSE_ORDER: &str = "Faster for few FIFO groups; failures lose their order";

/// A group, as SQS and SNS accept it.
pub(super) fn group(text: &str) -> Result<String, String> {
    if (1..=LONGEST_GROUP).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "a group has 1 to {LONGEST_GROUP} letters, digits and punctuation characters of ASCII"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_around_the_names_of_a_header_are_no_part_of_them() {
        let rows = RowArguments {
            header: Some(["id", " name "].map(ToOwned::to_owned).to_vec()),
            ..RowArguments::default()
        };
        assert_eq!(CsvOptions::from(&rows).header.unwrap(), ["id", "name"]);
    }

    #[test]
    fn a_name_is_one_that_a_table_may_have() {
        for name in [
            "abc",
            "A_b.c-9",
            &"x".repeat(255),
            "arn:aws:dynamodb:eu-central-1:123456789012:table/films",
        ] {
            assert_eq!(table(name), Ok(name.to_owned()));
        }
        for (name, words) in [
            ("", "3 to 255 characters, but this one has 0"),
            ("ab", "3 to 255 characters, but this one has 2"),
            (&"x".repeat(256), "3 to 255 characters, but this one has 256"),
            ("a b", "this one contains ' '"),
            ("t\u{e4}ble", "this one contains '\u{e4}'"),
            (
                "arn:aws:sqs:eu-central-1:123456789012:films",
                "the ARN of a table has :table/",
            ),
            ("arn:aws:dynamodb:eu-central-1:123456789012:table/a", "this one has 1"),
        ] {
            let error = table(name).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
