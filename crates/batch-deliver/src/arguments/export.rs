//! The arguments of `export`.

use clap::Args;

use super::common::{Output, Service};
use super::destinations::table;
use super::reads::{Projection, ReadArguments, ReadPrice};
use super::simulation::SimulatedTable;
use crate::format::ItemFormat;
use crate::keeping::Location;

const FILE: &str = "A file, s3://bucket/key, or - for the standard output; gzip or zstd if it ends in .gz or .zst";

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The table, by its name or ARN
    #[arg(long, value_name = "NAME", value_parser = table)]
    pub(crate) table: String,
    #[arg(value_name = "FILE", help = FILE)]
    pub(crate) file: Location,
    /// dynamodb, which loses nothing, or json
    #[arg(long, value_enum, default_value_t = ItemFormat::Dynamodb, hide_possible_values = true)]
    pub(crate) format: ItemFormat,
    /// Print how many items and units this takes, and export nothing
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
    pub(crate) output: Output,
}
