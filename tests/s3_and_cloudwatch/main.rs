//! Deletions of objects, metrics and log events, whatever goes wrong on the way.

mod deletions;
mod log_events;
mod metrics;

use std::time::Duration;

use aws_batch_simulator::{Faults, InjectedFault, Latency, Simulator};

/// A client of one service's SDK for the simulator.
macro_rules! client {
    ($sdk:ident, $simulator:expr) => {{
        use $sdk::config::{BehaviorVersion, Config, Credentials, Region};
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("simulator", "simulator", None, None, "simulator"))
            .sleep_impl(aws_smithy_async::rt::sleep::TokioSleep::new())
            .http_client($simulator.http_client());
        $sdk::Client::from_conf(config.build())
    }};
}

pub(crate) use client;

fn simulator() -> Simulator {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(10)));
    simulator
}

/// Calls that are throttled, calls that fail after they were applied, and answers that are lost or cannot be read.
fn faults_of_calls() -> Faults {
    Faults::none()
        .calls(0.05, InjectedFault::Throttle)
        .calls(0.05, InjectedFault::internal_error(true))
        .calls(0.05, InjectedFault::Dropped { applied: true })
        .calls(0.05, InjectedFault::Dropped { applied: false })
        .calls(0.05, InjectedFault::Garbage { applied: false })
}
