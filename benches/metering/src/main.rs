//! What the metrics cost: entries to a target that accepts everything at once, so that nothing but the library works.
//!
//! `./run` builds it without the feature, with it, and with a provider of OpenTelemetry.

#[cfg(feature = "provider")]
#[path = "../../../examples/observability/src/bridge.rs"]
mod bridge;

use std::env;

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use cpu_time::ProcessTime;
use tokio::runtime::Builder;

/// Entries of a call, as of `BatchWriteItem`.
const CHUNK: usize = 25;

/// Accepts every entry.
struct Immediate;

impl BatchTarget for Immediate {
    type Entry = String;

    fn limits(&self) -> Limits {
        Limits::new(CHUNK, 16 << 20)
    }

    fn check(&self, entry: &String) -> Result<usize, InvalidEntry> {
        Ok(entry.len())
    }

    async fn send(&self, chunk: &[String]) -> Answer {
        Answer::Each(vec![Verdict::Accepted; chunk.len()])
    }
}

/// Measures by OpenTelemetry's SDK, whose reader is asked only at the end.
#[cfg(feature = "provider")]
fn measure() {
    use std::sync::Arc;

    use aws_smithy_observability::TelemetryProvider;
    use aws_smithy_observability::global::set_telemetry_provider;
    use opentelemetry_sdk::metrics::{ManualReader, SdkMeterProvider};

    let meters = SdkMeterProvider::builder().with_reader(ManualReader::builder().build());
    let provider = Arc::new(bridge::OpenTelemetry::new(meters.build()));
    let provider = TelemetryProvider::builder().meter_provider(provider).build();
    set_telemetry_provider(provider).expect("no other thread sets one");
}

/// Delivers so many entries, 100,000 unless an argument says otherwise, and prints the processor time in seconds.
fn main() {
    #[cfg(feature = "provider")]
    measure();
    let entries = env::args()
        .nth(1)
        .map_or(100_000, |count| count.parse().expect("a number of entries"));
    let load: Vec<String> = (0..entries).map(|_| "x".repeat(250)).collect();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let started = ProcessTime::now();
    let options = DeliveryOptions::default().concurrency(32);
    let delivered = runtime.block_on(Delivery::new(Immediate).options(options).deliver(load));
    assert_eq!(delivered.expect("the target accepts everything").delivered, entries);
    println!("{}", started.elapsed().as_secs_f64());
}
