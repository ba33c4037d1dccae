//! A telemetry provider that keeps all that is measured, for looking at.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, Mutex};

use aws_smithy_observability::global::set_telemetry_provider;
use aws_smithy_observability::instruments::{
    AsyncInstrumentBuilder, AsyncMeasure, Histogram, InstrumentBuilder, MonotonicCounter, ProvideInstrument,
    UpDownCounter,
};
use aws_smithy_observability::meter::{Meter, ProvideMeter};
use aws_smithy_observability::{AttributeValue, Attributes, Context, TelemetryProvider};

/// Set for the whole process, as an application sets it.
static METERS: LazyLock<Meters> = LazyLock::new(|| {
    let meters = Meters::default();
    let provider = TelemetryProvider::builder().meter_provider(Arc::new(meters.clone()));
    set_telemetry_provider(provider.build()).unwrap();
    meters
});

/// Keeps all that is measured in this process.
#[derive(Clone, Default)]
pub(crate) struct Meters(Arc<Inner>);

#[derive(Default)]
struct Inner {
    instruments: Mutex<BTreeSet<Instrument>>,
    measured: Mutex<Vec<Measurement>>,
    observers: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
}

/// The name, the kind and the unit.
pub(crate) type Instrument = (String, &'static str, String);

#[derive(Clone)]
struct Measurement {
    name: String,
    value: f64,
    attributes: BTreeMap<String, String>,
}

/// Those that the process has, which are set at the first call.
pub(crate) fn meters() -> &'static Meters {
    &METERS
}

impl Meters {
    /// All that was measured by instruments of this name with these attributes, among others.
    pub(crate) fn values(&self, name: &str, attributes: &[(&str, &str)]) -> Vec<f64> {
        let measured = self.0.measured.lock().unwrap();
        let of_name = measured.iter().filter(|measurement| measurement.name == name);
        of_name
            .filter(|measurement| {
                let has =
                    |(name, value): &(&str, &str)| measurement.attributes.get(*name).is_some_and(|is| is == value);
                attributes.iter().all(has)
            })
            .map(|measurement| measurement.value)
            .collect()
    }

    /// The sum of it.
    pub(crate) fn sum(&self, name: &str, attributes: &[(&str, &str)]) -> f64 {
        self.values(name, attributes).iter().sum()
    }

    /// How often it was measured.
    pub(crate) fn count(&self, name: &str, attributes: &[(&str, &str)]) -> usize {
        self.values(name, attributes).len()
    }

    /// What a gauge says now.
    pub(crate) fn observed(&self, name: &str, attributes: &[(&str, &str)]) -> Option<f64> {
        let observers = self.0.observers.lock().unwrap();
        self.0
            .measured
            .lock()
            .unwrap()
            .retain(|measurement| measurement.name != name);
        for observe in &*observers {
            observe();
        }
        self.values(name, attributes).last().copied()
    }

    /// The instruments whose names begin like this.
    pub(crate) fn instruments(&self, prefix: &str) -> BTreeSet<Instrument> {
        let instruments = self.0.instruments.lock().unwrap();
        let chosen = instruments.iter().filter(|(name, ..)| name.starts_with(prefix));
        chosen.cloned().collect()
    }

    /// All names and attributes of what was measured.
    pub(crate) fn text(&self) -> String {
        let measured = self.0.measured.lock().unwrap();
        let lines = measured
            .iter()
            .map(|measurement| format!("{} {:?}\n", measurement.name, measurement.attributes));
        lines.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn made<V>(&self, name: &str, kind: &'static str, unit: Option<&str>) -> Kept<V> {
        let instrument = (name.to_owned(), kind, unit.unwrap_or_default().to_owned());
        self.0.instruments.lock().unwrap().insert(instrument);
        Kept {
            name: name.to_owned(),
            meters: self.clone(),
            value: PhantomData,
        }
    }

    fn observes<V: Number>(
        &self,
        builder: &AsyncInstrumentBuilder<'_, Arc<dyn AsyncMeasure<Value = V>>, V>,
        kind: &'static str,
    ) -> Arc<dyn AsyncMeasure<Value = V>> {
        let kept = Arc::new(self.made(builder.get_name(), kind, builder.get_units().as_deref()));
        let (callback, of) = (builder.get_callback(), Arc::clone(&kept));
        self.0.observers.lock().unwrap().push(Box::new(move || callback(&*of)));
        kept
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").finish_non_exhaustive()
    }
}

impl ProvideMeter for Meters {
    fn get_meter(&self, _: &'static str, _: Option<&Attributes>) -> Meter {
        Meter::new(Arc::new(self.clone()))
    }
}

impl ProvideInstrument for Meters {
    fn create_gauge(
        &self,
        builder: AsyncInstrumentBuilder<'_, Arc<dyn AsyncMeasure<Value = f64>>, f64>,
    ) -> Arc<dyn AsyncMeasure<Value = f64>> {
        self.observes(&builder, "gauge")
    }

    fn create_up_down_counter(&self, builder: InstrumentBuilder<'_, Arc<dyn UpDownCounter>>) -> Arc<dyn UpDownCounter> {
        Arc::new(self.made::<i64>(builder.get_name(), "up-down counter", builder.get_units().as_deref()))
    }

    fn create_async_up_down_counter(
        &self,
        builder: AsyncInstrumentBuilder<'_, Arc<dyn AsyncMeasure<Value = i64>>, i64>,
    ) -> Arc<dyn AsyncMeasure<Value = i64>> {
        self.observes(&builder, "up-down counter")
    }

    fn create_monotonic_counter(
        &self,
        builder: InstrumentBuilder<'_, Arc<dyn MonotonicCounter>>,
    ) -> Arc<dyn MonotonicCounter> {
        Arc::new(self.made::<u64>(builder.get_name(), "counter", builder.get_units().as_deref()))
    }

    fn create_async_monotonic_counter(
        &self,
        builder: AsyncInstrumentBuilder<'_, Arc<dyn AsyncMeasure<Value = u64>>, u64>,
    ) -> Arc<dyn AsyncMeasure<Value = u64>> {
        self.observes(&builder, "counter")
    }

    fn create_histogram(&self, builder: InstrumentBuilder<'_, Arc<dyn Histogram>>) -> Arc<dyn Histogram> {
        Arc::new(self.made::<f64>(builder.get_name(), "histogram", builder.get_units().as_deref()))
    }
}

/// An instrument that keeps its values.
#[derive(Debug)]
struct Kept<V> {
    name: String,
    meters: Meters,
    value: PhantomData<V>,
}

/// What an instrument measures in.
trait Number: fmt::Debug + Send + Sync + 'static {
    fn value(self) -> f64;
}

impl Number for f64 {
    fn value(self) -> f64 {
        self
    }
}

#[expect(clippy::cast_precision_loss, reason = "no test counts that far")]
impl Number for i64 {
    fn value(self) -> f64 {
        self as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "no test counts that far")]
impl Number for u64 {
    fn value(self) -> f64 {
        self as f64
    }
}

impl<V: Number> Kept<V> {
    fn keep(&self, value: V, attributes: Option<&Attributes>) {
        let attributes = attributes.map(Attributes::attributes).into_iter().flatten();
        let text = |value: &AttributeValue| match value {
            AttributeValue::String(text) => text.clone(),
            other => format!("{other:?}"),
        };
        self.meters.0.measured.lock().unwrap().push(Measurement {
            name: self.name.clone(),
            value: value.value(),
            attributes: attributes.map(|(name, value)| (name.clone(), text(value))).collect(),
        });
    }
}

impl Histogram for Kept<f64> {
    fn record(&self, value: f64, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.keep(value, attributes);
    }
}

impl MonotonicCounter for Kept<u64> {
    fn add(&self, value: u64, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.keep(value, attributes);
    }
}

impl UpDownCounter for Kept<i64> {
    fn add(&self, value: i64, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.keep(value, attributes);
    }
}

impl<V: Number> AsyncMeasure for Kept<V> {
    type Value = V;

    fn record(&self, value: V, attributes: Option<&Attributes>, _: Option<&dyn Context>) {
        self.keep(value, attributes);
    }

    fn stop(&self) {}
}
