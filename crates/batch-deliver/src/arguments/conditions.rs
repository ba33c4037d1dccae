//! The arguments for conditions and updates: expressions of DynamoDB, and what their placeholders stand for.

use std::collections::HashMap;
use std::path::PathBuf;

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Args;

use super::destinations::TableArguments;
use super::reads::{ReadPrice, ScanArguments, WritePrice};
use super::simulation::SimulatedContent;
use super::values::{name, value};
use crate::outcome::Failure;
use crate::sink::{Change, Expressions, Settings};
use crate::source::TableReads;

const SET: &str = "Set attributes: 'status = :status, n = if_not_exists(n, :zero)'";

const WHERE: &str = "The items for which this holds: '#year < :until'";

const CONDITION: &str = "Write only where this holds: 'attribute_not_exists(id) OR #v < :v'";

#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    #[command(flatten)]
    pub(crate) from: TableArguments,
    /// Put an item only if the table has none with its key
    #[arg(long, conflicts_with = "expression", help_heading = "Condition")]
    pub(crate) if_absent: bool,
    /// Refuse items with a vector that a vector index would leave out
    #[arg(long)]
    pub(crate) refuse_unindexed: bool,
    #[command(flatten)]
    pub(crate) condition: Condition,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    pub(crate) from: TableArguments,
    /// Start without asking on a terminal
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// All items of the table
    #[arg(long, conflicts_with_all = ["filter", "key_condition", "expression", "failed"], help_heading = "Items of the table instead of inputs")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) matching: MatchArguments,
    #[command(flatten)]
    pub(crate) condition: Condition,
}

/// Which items of the table are meant, instead of those of inputs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Items of the table instead of inputs")]
pub(crate) struct MatchArguments {
    #[arg(long = "where", help = WHERE, value_name = "EXPRESSION", conflicts_with_all = ["expression", "failed"])]
    pub(crate) filter: Option<String>,
    #[command(flatten)]
    scanning: ScanArguments,
    #[command(flatten)]
    pub(crate) read_price: ReadPrice,
    #[command(flatten)]
    pub(crate) write_price: WritePrice,
    #[command(flatten)]
    pub(crate) simulation: SimulatedContent,
}

impl MatchArguments {
    /// Refuses what is only about the items of a table that are read.
    pub(crate) fn is_about_inputs(&self) -> Result<(), Failure> {
        if self.simulation.simulate_with.is_some() {
            return Err(Failure::WrongUse(
                "--simulate-with is for --all: the keys of inputs are what is deleted".to_owned(),
            ));
        }
        match (self.read_price.read_price, self.write_price.write_price) {
            (None, None) => Ok(()),
            _ => Err(Failure::WrongUse(
                "--read-price and --write-price are for --all, --where and --key-condition: the keys of inputs do not show how large the items are"
                    .to_owned(),
            )),
        }
    }

    /// Whether items of one partition key are meant.
    pub(crate) fn is_of_one_key(&self) -> bool {
        self.scanning.key_condition.is_some()
    }

    /// What is read of a table: the items for which the expression holds, or all.
    pub(crate) fn reads(&self, table: &str, condition: &Condition) -> TableReads {
        let Condition { names, values, .. } = condition;
        self.scanning
            .of(table, self.filter.as_deref(), names.clone(), values.clone())
    }
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    #[command(flatten)]
    pub(crate) from: TableArguments,
    #[arg(long, help = SET, value_name = "ASSIGNMENTS", required_unless_present_any = ["remove", "add"])]
    pub(crate) set: Option<String>,
    /// Remove attributes: 'note, address.fax'
    #[arg(long, value_name = "NAMES")]
    pub(crate) remove: Option<String>,
    /// Add to numbers and sets: 'stock :more'; twice the write units, so that nothing is added twice
    #[arg(long, value_name = "ADDITIONS")]
    pub(crate) add: Option<String>,
    /// Update only items that are there: DynamoDB creates the others
    #[arg(long, help_heading = "Condition")]
    pub(crate) existing: bool,
    /// With --where, start without asking on a terminal
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) matching: MatchArguments,
    #[command(flatten)]
    pub(crate) condition: Condition,
}

impl UpdateArguments {
    /// The expression of all clauses.
    pub(crate) fn expression(&self) -> String {
        clauses([("SET", &self.set), ("REMOVE", &self.remove), ("ADD", &self.add)])
    }
}

/// The expression of the clauses that are given.
pub(super) fn clauses(clauses: [(&str, &Option<String>); 3]) -> String {
    let given = clauses
        .into_iter()
        .filter_map(|(clause, words)| Some(format!("{clause} {}", words.as_ref()?)));
    given.collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Condition")]
pub(crate) struct Condition {
    #[arg(long = "condition", help = CONDITION, value_name = "EXPRESSION")]
    pub(crate) expression: Option<String>,
    /// What #NAME stands for [default: attribute NAME]
    #[arg(long = "name", value_name = "#NAME=ATTRIBUTE", value_parser = name)]
    pub(super) names: Vec<(String, String)>,
    /// What :NAME stands for in expressions, as JSON or a text [default: the field NAME of the record]
    #[arg(long = "value", value_name = ":NAME=VALUE", value_parser = value)]
    pub(super) values: Vec<(String, AttributeValue)>,
    /// Keep records whose condition fails in this file
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
