//! A bridge from the metrics of the SDK and of `aws-batch-delivery` to OpenTelemetry.
//!
//! AWS has a bridge of its own, `aws-smithy-observability-otel`, but its version 0.2.3 needs OpenTelemetry 0.26, which has no
//! exporter for Prometheus. This file is for the current version, and may be copied.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use aws_smithy_observability::instruments::{
    AsyncInstrumentBuilder, AsyncMeasure, Histogram, InstrumentBuilder, MonotonicCounter, ProvideInstrument,
    UpDownCounter,
};
use aws_smithy_observability::meter::{Meter, ProvideMeter};
use aws_smithy_observability::{AttributeValue, Attributes, Context};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{self, AsyncInstrument, MeterProvider};
use opentelemetry_sdk::metrics::SdkMeterProvider;

/// Boundaries of histograms in seconds, from OpenTelemetry's conventions. Its default boundaries are for milliseconds.
const SECONDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

/// A meter provider of OpenTelemetry for the SDK.
///
/// ```
/// use std::sync::Arc;
///
/// use aws_smithy_observability::TelemetryProvider;
/// use aws_smithy_observability::global::set_telemetry_provider;
/// use observability::OpenTelemetry;
/// use opentelemetry_sdk::metrics::SdkMeterProvider;
///
/// let meters = SdkMeterProvider::builder().build();
/// let provider = TelemetryProvider::builder().meter_provider(Arc::new(OpenTelemetry::new(meters)));
/// set_telemetry_provider(provider.build()).unwrap();
/// ```
#[derive(Debug)]
pub struct OpenTelemetry(SdkMeterProvider);

impl OpenTelemetry {
    /// Records with the instruments of this provider.
    pub fn new(provider: SdkMeterProvider) -> Self {
        Self(provider)
    }
}

impl ProvideMeter for OpenTelemetry {
    fn get_meter(&self, scope: &'static str, _: Option<&Attributes>) -> Meter {
        Meter::new(Arc::new(Instruments(self.0.meter(scope))))
    }

    fn provider_name(&self) -> &'static str {
        "otel"
    }
}

struct Instruments(metrics::Meter);

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instruments").finish_non_exhaustive()
    }
}

/// Builds an instrument of OpenTelemetry from the SDK's builder.
macro_rules! built {
    ($builder:ident, $instrument:expr) => {{
        let instrument = $instrument;
        let instrument = match $builder.get_units() {
            Some(unit) => instrument.with_unit(unit.clone()),
            None => instrument,
        };
        match $builder.get_description() {
            Some(description) => instrument.with_description(description.clone()),
            None => instrument,
        }
    }};
}

/// The same for an instrument that is read when it is exported.
macro_rules! observable {
    ($builder:ident, $instrument:expr) => {{
        let callback = $builder.get_callback();
        let instrument = built!($builder, $instrument);
        instrument.with_callback(move |to| callback(&Observer(to))).build();
        Arc::new(Registered(PhantomData))
    }};
}

impl ProvideInstrument for Instruments {
    fn create_gauge(
        &self,
        builder: AsyncInstrumentBuilder<'_, Arc<dyn AsyncMeasure<Value = f64>>, f64>,
    ) -> Arc<dyn AsyncMeasure<Value = f64>> {
        observable!(builder, self.0.f64_observable_gauge(builder.get_name().clone()))
    }

    fn create_up_down_counter(&self, builder: InstrumentBuilder<'_, Arc<dyn UpDownCounter>>) -> Arc<dyn UpDownCounter> {
        let counter = built!(builder, self.0.i64_up_down_counter(builder.get_name().clone()));
        Arc::new(Synchronous(counter.build()))
    }

    fn create_async_up_down_counter(
        &self,
        builder: AsyncInstrumentBuilder<'_, Arc<dyn AsyncMeasure<Value = i64>>, i64>,
    ) -> Arc<dyn AsyncMeasure<Value = i64>> {
        observable!(
            builder,
            self.0.i64_observable_up_down_counter(builder.get_name().clone())
        )
    }

    fn create_monotonic_counter(
        &self,
        builder: InstrumentBuilder<'_, Arc<dyn MonotonicCounter>>,
    ) -> Arc<dyn MonotonicCounter> {
        let counter = built!(builder, self.0.u64_counter(builder.get_name().clone()));
        Arc::new(Synchronous(counter.build()))
    }

    fn create_async_monotonic_counter(
        &self,
        builder: AsyncInstrumentBuilder<'_, Arc<dyn AsyncMeasure<Value = u64>>, u64>,
    ) -> Arc<dyn AsyncMeasure<Value = u64>> {
        observable!(builder, self.0.u64_observable_counter(builder.get_name().clone()))
    }

    fn create_histogram(&self, builder: InstrumentBuilder<'_, Arc<dyn Histogram>>) -> Arc<dyn Histogram> {
        let histogram = built!(builder, self.0.f64_histogram(builder.get_name().clone()));
        let histogram = match builder.get_units().as_deref() {
            Some("s") => histogram.with_boundaries(SECONDS.to_vec()),
            _ => histogram,
        };
        Arc::new(Synchronous(histogram.build()))
    }
}

/// An instrument that receives each value.
#[derive(Debug)]
struct Synchronous<I>(I);

impl Histogram for Synchronous<metrics::Histogram<f64>> {
    fn record(&self, value: f64, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.0.record(value, &key_values(attributes));
    }
}

impl MonotonicCounter for Synchronous<metrics::Counter<u64>> {
    fn add(&self, value: u64, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.0.add(value, &key_values(attributes));
    }
}

impl UpDownCounter for Synchronous<metrics::UpDownCounter<i64>> {
    fn add(&self, value: i64, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.0.add(value, &key_values(attributes));
    }
}

/// Receives the values of a callback.
struct Observer<'a, V>(&'a dyn AsyncInstrument<V>);

impl<V> fmt::Debug for Observer<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

impl<V> AsyncMeasure for Observer<'_, V> {
    type Value = V;

    fn record(&self, value: V, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.0.observe(value, &key_values(attributes));
    }

    fn stop(&self) {}
}

/// An instrument that is read at each export. OpenTelemetry reads it for as long as the provider exists.
#[derive(Debug)]
struct Registered<V>(PhantomData<V>);

impl<V: fmt::Debug + Send + Sync> AsyncMeasure for Registered<V> {
    type Value = V;

    fn record(&self, _: V, _: Option<&Attributes>, _: Option<&dyn Context>) {}

    fn stop(&self) {}
}

fn key_values(attributes: Option<&Attributes>) -> Vec<KeyValue> {
    let attributes = attributes.map(Attributes::attributes).into_iter().flatten();
    let key_value = |(name, value): (&String, &AttributeValue)| {
        let name = name.clone();
        match value {
            AttributeValue::I64(number) => Some(KeyValue::new(name, *number)),
            AttributeValue::F64(number) => Some(KeyValue::new(name, *number)),
            AttributeValue::String(text) => Some(KeyValue::new(name, text.clone())),
            AttributeValue::Bool(truth) => Some(KeyValue::new(name, *truth)),
            _ => None,
        }
    };
    attributes.filter_map(key_value).collect()
}
