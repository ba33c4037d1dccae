//! The arguments of `copy`.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::common::{Output, RecoveryArguments, Service};
use super::destinations::table;
use super::pace::PaceArguments;
use super::reads::{Projection, ReadArguments, ReadPrice, WritePrice};
use super::simulation::SimulatedTable;
use crate::connection::{Connection, url};

#[derive(Debug, Args)]
pub(crate) struct CopyArguments {
    /// The table that is read, by its name or ARN
    #[arg(long, value_name = "FROM", value_parser = table)]
    pub(crate) from: String,
    /// The table that is written
    #[arg(long, value_name = "TO", value_parser = table)]
    pub(crate) to: String,
    /// Copy an item only if the table has none with its key
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) if_absent: bool,
    /// Copy even if the table has items, and replace those with the same keys
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print how many items and units this takes, and copy nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) reads: ReadArguments,
    #[command(flatten)]
    pub(crate) read_price: ReadPrice,
    #[command(flatten)]
    pub(crate) write_price: WritePrice,
    #[command(flatten)]
    pub(crate) projection: Projection,
    #[command(flatten)]
    pub(crate) recovery: RecoveryArguments,
    #[command(flatten)]
    pub(crate) pace: PaceArguments,
    #[command(flatten)]
    pub(crate) service: Service,
    #[command(flatten)]
    pub(crate) simulation: SimulatedTable,
    #[command(flatten)]
    pub(crate) sides: Sides,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Where the tables are, if not both are where the other options say.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct Sides {
    #[command(flatten)]
    from: SourceSide,
    /// The region of TO [default: --region]
    #[arg(long, value_name = "REGION")]
    to_region: Option<String>,
    /// The profile for TO [default: --profile]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    to_profile: Option<String>,
    /// The endpoint of TO [default: --endpoint-url]
    #[arg(long, value_name = "URL", value_parser = url)]
    to_endpoint_url: Option<String>,
}

/// Where the table that is read is.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct SourceSide {
    /// Region of the table to read [default: --region]
    #[arg(id = "from_region", long = "from-region", value_name = "REGION")]
    region: Option<String>,
    /// Its profile [default: --profile]
    #[arg(id = "from_profile", long = "from-profile", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    profile: Option<String>,
    /// Its endpoint [default: --endpoint-url]
    #[arg(id = "from_endpoint_url", long = "from-endpoint-url", value_name = "URL", value_parser = url)]
    endpoint: Option<String>,
}

impl SourceSide {
    /// Whether anything is given.
    pub(crate) fn is_given(&self) -> bool {
        self.region.is_some() || self.profile.is_some() || self.endpoint.is_some()
    }

    /// How the table is reached.
    pub(crate) fn connection(&self, service: &Service) -> Connection {
        reached(service, [&self.profile, &self.region, &self.endpoint])
    }
}

/// The connection with this profile, region and endpoint, where they are given.
fn reached(service: &Service, [profile, region, endpoint]: [&Option<String>; 3]) -> Connection {
    let mut connection = Connection::from(service);
    connection.profile = profile.clone().or(connection.profile);
    connection.region = region.clone().or(connection.region);
    connection.endpoint_url = endpoint.clone().or(connection.endpoint_url);
    connection
}

impl Sides {
    /// How the table that is read and the one that is written are reached.
    pub(crate) fn connections(&self, service: &Service) -> (Connection, Connection) {
        (
            self.from.connection(service),
            reached(service, [&self.to_profile, &self.to_region, &self.to_endpoint_url]),
        )
    }
}
