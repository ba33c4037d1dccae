//! A bucket of S3, to delete objects from.

use std::sync::Arc;

use aws_batch_delivery::targets::s3::S3Deletions;
use aws_batch_simulator::Simulator;

use super::destination::{Access, Destination, Measured, simulated_settings};
use super::simulated::Simulated;
use crate::connection::settings;
use crate::outcome::Failure;

/// The bucket with this name.
pub(crate) async fn bucket(name: String, access: &Access) -> Result<Destination<S3Deletions>, Failure> {
    let (client, settings, simulated) = if let Some(rate) = access.simulate {
        let simulated = Simulated::bucket(&name, rate);
        let client = simulated.simulator.s3_client();
        (client, simulated_settings(rate), Some(Arc::new(simulated)))
    } else if access.is_dry_run {
        (Simulator::new(1).s3_client(), Vec::new(), None)
    } else {
        let config = access.connection.config().await?;
        (access.connection.bucket(&name).await?, settings(&config, "S3"), None)
    };
    Ok(Destination {
        target: S3Deletions::new(client, &name),
        name,
        measure: |object| Measured {
            bytes: object.key().len() + object.version_id().map_or(0, str::len),
            units: 1,
        },
        unit: "deletions",
        settings,
        simulated,
    })
}
