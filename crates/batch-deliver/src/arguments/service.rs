//! Which service to deliver to.

use clap::Args;

use super::delivering::positive;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct Service {
    /// The profile of the shared AWS configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The AWS region
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// Another endpoint, such as that of an emulator
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint_url: Option<String>,
    /// Deliver to a simulator in this process that takes so many a second
    #[arg(long, value_name = "RATE", value_parser = positive)]
    pub(crate) simulate: Option<f64>,
}
