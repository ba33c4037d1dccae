//! The arguments of the commands for tables.

use std::ops::RangeInclusive;

use clap::Args;

use super::common::Common;
use super::items::Items;
use crate::format::TableFormat;

#[derive(Debug, Args)]
pub(crate) struct ToTable {
    /// The table, by its name or ARN
    #[arg(long, value_name = "NAME", value_parser = table)]
    pub(crate) table: String,
    /// auto, json, dynamodb, csv or tsv
    #[arg(long, value_enum, default_value_t = TableFormat::Auto, hide_possible_values = true)]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) items: Items,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ToDelete {
    #[command(flatten)]
    pub(crate) from: ToTable,
    /// Do not ask on a terminal before it begins
    #[arg(long, short)]
    pub(crate) yes: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

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
