//! The arguments of what is read from a table.

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;

use super::pace::at_least_one;
use super::values::{name, positive, value};
use crate::source::TableReads;

const FILTER: &str = "Only the items for which this holds: '#year < :until AND attribute_exists(info)'";

const KEY_CONDITION: &str = "The items of one partition key: 'customer = :c'";

const PROJECT: &str = "Only these attributes: 'title, #year, info.rating'";

#[derive(Debug, Args)]
#[command(next_help_heading = "Reads")]
pub(crate) struct ReadArguments {
    #[arg(long, help = FILTER, value_name = "EXPRESSION")]
    pub(crate) filter: Option<String>,
    #[command(flatten)]
    pub(crate) placeholders: Placeholders,
    /// Read consistently: every write that was accepted before, at twice the read units
    #[arg(long)]
    consistent: bool,
    #[command(flatten)]
    pub(crate) scanning: ScanArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Reads")]
pub(crate) struct Projection {
    #[arg(long, help = PROJECT, value_name = "ATTRIBUTES")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Reads")]
pub(crate) struct Placeholders {
    /// What #NAME stands for in expressions [default: the attribute NAME]
    #[arg(long = "name", value_name = "#NAME=ATTRIBUTE", value_parser = name)]
    pub(super) names: Vec<(String, String)>,
    /// What :NAME stands for in expressions, as JSON or a text
    #[arg(long = "value", value_name = ":NAME=VALUE", value_parser = value)]
    pub(super) values: Vec<(String, AttributeValue)>,
}

/// What reads cost, for a dry run. Prices differ by region and by the capacity mode of a table, so there is no default.
#[derive(Debug, Args)]
pub(crate) struct ReadPrice {
    /// For --dry-run, dollars of a million read units
    #[arg(long, value_name = "DOLLARS", value_parser = positive, requires = "dry_run")]
    pub(crate) read_price: Option<f64>,
}

/// The same for writes.
#[derive(Debug, Args)]
pub(crate) struct WritePrice {
    /// For --dry-run, dollars of a million write units
    #[arg(long, value_name = "DOLLARS", value_parser = positive, requires = "dry_run")]
    pub(crate) write_price: Option<f64>,
}

/// How a table is read, below the heading of what is read.
#[derive(Debug, Args)]
pub(crate) struct ScanArguments {
    #[arg(long, help = KEY_CONDITION, value_name = "KEY", conflicts_with = "segments")]
    pub(super) key_condition: Option<String>,
    /// Read the table in this many segments
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    segments: u32,
    /// Maximum read units per second [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = at_least_one)]
    max_read_rate: Option<f64>,
}

impl ReadArguments {
    /// What is read of a table, with these attributes or all.
    pub(crate) fn of(&self, table: &str, project: Option<&str>) -> TableReads {
        let Placeholders { names, values } = &self.placeholders;
        TableReads {
            project: project.map(ToOwned::to_owned),
            is_consistent: self.consistent,
            ..self
                .scanning
                .of(table, self.filter.as_deref(), names.clone(), values.clone())
        }
    }
}

impl ScanArguments {
    /// What is read of a table, all attributes, eventually consistent.
    pub(super) fn of(
        &self,
        table: &str,
        filter: Option<&str>,
        names: Vec<(String, String)>,
        values: Vec<(String, AttributeValue)>,
    ) -> TableReads {
        TableReads {
            table: table.to_owned(),
            key_condition: self.key_condition.clone(),
            filter: filter.map(ToOwned::to_owned),
            names: names.into_iter().collect(),
            values: values.into_iter().collect(),
            segments: if self.key_condition.is_some() { 1 } else { self.segments },
            max_rate: self.max_read_rate,
            ..TableReads::default()
        }
    }
}
