//! The endpoint that Prometheus scrapes.

use std::sync::Arc;

use anyhow::Result;
use aws_smithy_observability::TelemetryProvider;
use aws_smithy_observability::global::set_telemetry_provider;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::{Registry, TextEncoder};
use tokio::net::TcpListener;

use crate::OpenTelemetry;

/// All metrics of this process, in the format of Prometheus.
pub struct Scrapes(Registry);

impl Scrapes {
    /// Starts to record metrics. Call it once, before the first delivery.
    ///
    /// # Errors
    /// If there is an exporter already, or another thread sets a provider.
    pub fn start() -> Result<Self> {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter().with_registry(registry.clone());
        let meters = SdkMeterProvider::builder()
            .with_reader(exporter.build()?)
            .with_resource(Resource::builder().with_service_name("orders-load").build())
            .build();
        let provider = TelemetryProvider::builder().meter_provider(Arc::new(OpenTelemetry::new(meters)));
        set_telemetry_provider(provider.build())?;
        Ok(Self(registry))
    }

    /// Answers requests for `/metrics`.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn serve(self, listener: TcpListener) -> Result<()> {
        let service = Router::new().route("/metrics", get(metrics)).with_state(self.0);
        Ok(axum::serve(listener, service).await?)
    }
}

async fn metrics(State(registry): State<Registry>) -> Result<String, StatusCode> {
    let text = TextEncoder::new().encode_to_string(&registry.gather());
    text.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}
