//! The arguments of simulated tables and queues that are read.

use std::fmt;
use std::str::FromStr;

use clap::Args;

use crate::format::Key;

const WITH: &str = "Read N made-up entries, or those of a file";

/// A simulated queue that is read.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct SimulatedContent {
    #[arg(long, help = WITH, value_name = "N|FILE", requires = "simulate")]
    pub(crate) simulate_with: Option<Content>,
}

/// A table that is read, which may be simulated, by a command that otherwise asks it for its key.
#[derive(Debug, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct SimulatedTable {
    #[command(flatten)]
    pub(crate) simulated: SimulatedContent,
    /// Key of the tables: year:N,title:S [default: ask them; id:N for a number of simulated items]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<Key>,
}

/// What a simulated table or queue has at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// This many items or messages that are made up.
    Number(u64),
    /// Those of this file.
    File(String),
}

impl FromStr for Content {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("give a number, or the name of a file".to_owned());
        }
        Ok(text.parse().map_or_else(|_| Self::File(text.to_owned()), Self::Number))
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::File(name) => name.fmt(f),
        }
    }
}
