//! The options of the service.

use clap::Args;

use super::delivering::positive;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Service")]
pub(crate) struct Service {
    /// The profile of the shared AWS configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The AWS region
    #[arg(long, value_name = "REGION")]
    pub(crate) region: Option<String>,
    /// The region of buckets [default: asked of S3]
    #[arg(long, value_name = "REGION")]
    pub(crate) s3_region: Option<String>,
    /// Pay for requests to buckets with Requester Pays
    #[arg(long)]
    pub(crate) request_payer: bool,
    /// Another endpoint, such as that of an emulator
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) endpoint_url: Option<String>,
    /// Simulate a service with this capacity per second
    #[arg(long, value_name = "RATE", value_parser = positive)]
    pub(crate) simulate: Option<f64>,
}

fn url(text: &str) -> Result<String, String> {
    let behind = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match behind {
        Some(host) if !host.is_empty() => Ok(text.to_owned()),
        _ => Err("a URL is needed, such as http://127.0.0.1:4566".to_owned()),
    }
}
