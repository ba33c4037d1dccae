//! A bucket of S3, to delete objects from.

use std::sync::Arc;

use aws_batch_delivery::targets::s3::S3Deletions;
use aws_batch_simulator::Simulator;

use super::destination::{Access, Destination, EntrySize, simulated_settings};
use super::object_lookup::ObjectLookup;
use super::simulated::SimulatedService;
use crate::connection::settings;
use crate::outcome::Failure;

/// The bucket with this name, and what looks its objects up, unless it is simulated.
pub(crate) async fn bucket(
    name: String,
    access: &Access,
) -> Result<(Destination<S3Deletions>, Option<ObjectLookup>), Failure> {
    let is_real = access.simulate.is_none() && !access.is_dry_run;
    let (client, settings, simulated, site) = if let Some(rate) = access.simulate {
        let simulated = SimulatedService::bucket(&name, rate);
        let client = simulated.simulator.s3_client();
        (client, simulated_settings(rate), Some(Arc::new(simulated)), None)
    } else if access.is_dry_run {
        (Simulator::new(1).s3_client(), Vec::new(), None, None)
    } else {
        let client = access.connection.bucket(&name).await?;
        let config = access.connection.config().await?;
        // The bucket may be in another region than that of the configuration.
        let config = config.to_builder().region(client.config().region().cloned()).build();
        let site = access.connection.site(&config, "S3", None);
        (client, settings(&config, "S3"), None, Some(site))
    };
    let lookup = is_real.then(|| ObjectLookup {
        client: client.clone(),
        bucket: name.clone(),
        time: access.connection.lookup_time,
    });
    let destination = Destination {
        target: S3Deletions::new(client, &name),
        name,
        measure: |_, object| EntrySize {
            bytes: object.key().len() + object.version_id().map_or(0, str::len),
            units: 1,
        },
        content: None,
        unit: "deletions",
        settings,
        site,
        simulated,
        vectors: None,
    };
    Ok((destination, lookup))
}
