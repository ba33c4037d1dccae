//! The arguments of `diff`.

use clap::Args;

use super::common::{Output, Service};
use super::copy::Sides;
use super::destinations::table;
use super::reads::{Projection, ReadArguments, ReadPrice};
use super::simulation::SimulatedTable;

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The first table, by its name or ARN
    #[arg(value_name = "FROM", value_parser = table)]
    pub(crate) from: String,
    /// The second table
    #[arg(value_name = "TO", value_parser = table)]
    pub(crate) to: String,
    /// Print how many items and units this takes, and compare nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) reads: ReadArguments,
    #[command(flatten)]
    pub(crate) price: ReadPrice,
    #[command(flatten)]
    pub(crate) projection: Projection,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) simulation: SimulatedTable,
    #[command(flatten)]
    pub(crate) sides: Sides,
    #[command(flatten)]
    pub(crate) output: Output,
}
