//! Exports the trace and the metrics of a throttled load with OTLP over HTTP, or prints them if no collector is set.
//!
//! ```text
//! docker run --rm --detach --publish 16686:16686 --publish 4318:4318 jaegertracing/all-in-one
//! OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_METRICS_EXPORTER=none \
//!     cargo run --package observability --bin otlp
//! ```
//!
//! The trace is then at `http://127.0.0.1:16686`. The second variable turns the metrics off, because Jaeger does not accept any.

use std::env;
use std::sync::Arc;

use anyhow::Result;
use aws_batch_delivery::events::CALL;
use aws_smithy_observability::TelemetryProvider;
use aws_smithy_observability::global::set_telemetry_provider;
use observability::{InRuntime, OpenTelemetry, load};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::task::spawn_blocking;
use tracing::Level;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Orders of the load: few enough for a readable trace.
const ORDERS: u64 = 500;

#[tokio::main]
async fn main() -> Result<()> {
    let collector = env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
    let tracers = tracers(collector)?;
    let meters = meters(collector)?;

    // Only the spans of this crate, because the SDK has many of its own. Events are left out: the span of a call has the same
    // fields.
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracers.tracer("aws_batch_delivery"))
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    let ours = filter_fn(|metadata| {
        let target = metadata.target();
        let is_ours = target.starts_with("aws_batch_delivery") && *metadata.level() <= Level::DEBUG;
        is_ours && (metadata.is_span() || target != CALL)
    });
    tracing_subscriber::registry().with(layer.with_filter(ours)).init();
    let provider = TelemetryProvider::builder().meter_provider(Arc::new(OpenTelemetry::new(meters.clone())));
    set_telemetry_provider(provider.build())?;

    let loaded = load(ORDERS).await;

    // Waits for the last exports, in a thread that may block. Those of a load that has failed matter most.
    let exported = spawn_blocking(move || {
        tracers.shutdown()?;
        meters.shutdown()
    })
    .await?;
    println!("{}", loaded?);
    Ok(exported?)
}

fn tracers(collector: bool) -> Result<SdkTracerProvider> {
    let tracers = SdkTracerProvider::builder().with_resource(resource());
    if collector {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(InRuntime::current());
        return Ok(tracers.with_batch_exporter(exporter.build()?).build());
    }
    let exporter = opentelemetry_stdout::SpanExporter::default();
    Ok(tracers.with_batch_exporter(exporter).build())
}

fn meters(collector: bool) -> Result<SdkMeterProvider> {
    let meters = SdkMeterProvider::builder().with_resource(resource());
    if env::var("OTEL_METRICS_EXPORTER").is_ok_and(|exporter| exporter == "none") {
        return Ok(meters.build());
    }
    if collector {
        let exporter = MetricExporter::builder()
            .with_http()
            .with_http_client(InRuntime::current());
        return Ok(meters.with_periodic_exporter(exporter.build()?).build());
    }
    let exporter = opentelemetry_stdout::MetricExporter::default();
    Ok(meters.with_periodic_exporter(exporter).build())
}

fn resource() -> Resource {
    Resource::builder().with_service_name("orders-load").build()
}
