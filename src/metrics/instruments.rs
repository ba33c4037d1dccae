//! The instruments that all deliveries share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use aws_smithy_observability::TelemetryProvider;
use aws_smithy_observability::global::get_telemetry_provider;
use aws_smithy_observability::instruments::{AsyncMeasure, Histogram, MonotonicCounter, UpDownCounter};
use aws_smithy_observability::meter::Meter;

use super::paces::Paces;
use crate::backoff::PaceSnapshot;

/// What was made for the last provider. A provider keeps every instrument that is registered with it, so they are made once
/// for each provider.
static MADE: Mutex<Option<ProviderInstruments>> = Mutex::new(None);

struct ProviderInstruments {
    by: Weak<TelemetryProvider>,
    /// `None` if the provider does nothing.
    instruments: Option<Arc<Instruments>>,
}

/// The instruments that all deliveries share.
pub(super) struct Instruments {
    pub(super) delivered: Arc<dyn MonotonicCounter>,
    pub(super) undelivered: Arc<dyn MonotonicCounter>,
    pub(super) superseded: Arc<dyn MonotonicCounter>,
    pub(super) condition_failed: Arc<dyn MonotonicCounter>,
    pub(super) resubmitted: Arc<dyn MonotonicCounter>,
    pub(super) throttled: Arc<dyn MonotonicCounter>,
    pub(super) throttled_calls: Arc<dyn MonotonicCounter>,
    pub(super) in_flight: Arc<dyn UpDownCounter>,
    pub(super) waiting: Arc<dyn UpDownCounter>,
    pub(super) entry_duration: Arc<dyn Histogram>,
    pub(super) call_duration: Arc<dyn Histogram>,
    pub(super) paces: Arc<Paces>,
    gauges: [Arc<dyn AsyncMeasure<Value = f64>>; 3],
    states: Arc<dyn AsyncMeasure<Value = i64>>,
}

impl Instruments {
    /// The instruments of the current provider; `None` if it does nothing.
    pub(super) fn current() -> Option<Arc<Self>> {
        // It fails only while another thread sets a provider, which has to be done before the first delivery.
        let provider = get_telemetry_provider().ok()?;
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.as_ref().filter(|made| made.by.as_ptr() == Arc::as_ptr(&provider));
        if let Some(known) = known {
            return known.instruments.clone();
        }
        let instruments = (!is_no_op(&provider)).then(|| {
            let meter = provider.meter_provider().get_meter("aws_batch_delivery", None);
            Arc::new(Self::of(&meter))
        });
        *made = Some(ProviderInstruments {
            by: Arc::downgrade(&provider),
            instruments: instruments.clone(),
        });
        instruments
    }

    fn of(meter: &Meter) -> Self {
        let counter = |name: &'static str, unit: &'static str, what: &'static str| {
            let builder = meter.create_monotonic_counter(name).set_units(unit);
            builder.set_description(what).build()
        };
        let entries = |name: &'static str, what: &'static str| counter(name, "{entry}", what);
        let up_down = |name: &'static str, what: &'static str| {
            let builder = meter.create_up_down_counter(name).set_units("{entry}");
            builder.set_description(what).build()
        };
        let seconds = |name: &'static str, what: &'static str| {
            let builder = meter.create_histogram(name).set_units("s");
            builder.set_description(what).build()
        };
        let paces: Arc<Paces> = Arc::default();
        let states = Arc::clone(&paces);
        let report = move |measure: &dyn AsyncMeasure<Value = i64>| states.report_states(measure);
        let states = meter.create_async_up_down_counter("aws_batch_delivery.pace.state", report);
        Self {
            delivered: entries(
                "aws_batch_delivery.entries.delivered",
                "Entries that the service accepted",
            ),
            undelivered: entries(
                "aws_batch_delivery.entries.undelivered",
                "Entries that were handed back, by cause",
            ),
            superseded: entries(
                "aws_batch_delivery.entries.superseded",
                "Entries that were dropped for newer ones of the same key",
            ),
            condition_failed: entries(
                "aws_batch_delivery.entries.condition_failed",
                "Entries whose condition does not hold",
            ),
            resubmitted: entries(
                "aws_batch_delivery.entries.resubmitted",
                "Times that an entry was sent again",
            ),
            throttled: entries(
                "aws_batch_delivery.entries.throttled",
                "Times that an entry was rejected for lack of capacity",
            ),
            throttled_calls: counter(
                "aws_batch_delivery.calls.throttled",
                "{call}",
                "Calls that have exceeded a limit that the service names",
            ),
            in_flight: up_down(
                "aws_batch_delivery.entries.in_flight",
                "Entries in calls that are not answered yet",
            ),
            waiting: up_down(
                "aws_batch_delivery.entries.waiting",
                "Rejected entries that wait to be sent again",
            ),
            entry_duration: seconds(
                "aws_batch_delivery.entry.duration",
                "From the time an entry is submitted until it is accepted, or its condition does not hold",
            ),
            call_duration: seconds(
                "aws_batch_delivery.call.duration",
                "From the departure of a call to its answer",
            ),
            gauges: gauges(meter, &paces),
            states: states
                .set_units("{pace}")
                .set_description("Paces in this state")
                .build(),
            paces,
        }
    }
}

/// Whether this is the SDK's provider that does nothing. Its name says so only since version 0.2 of `aws-smithy-observability`.
fn is_no_op(provider: &TelemetryProvider) -> bool {
    let no_op = TelemetryProvider::noop();
    format!("{:?}", provider.meter_provider()) == format!("{:?}", no_op.meter_provider())
}

/// The gauges of the paces, which are read whenever the provider collects them.
fn gauges(meter: &Meter, paces: &Arc<Paces>) -> [Arc<dyn AsyncMeasure<Value = f64>>; 3] {
    let gauge = |name: &'static str, unit: &'static str, what: &'static str, read: fn(&PaceSnapshot) -> Option<f64>| {
        let paces = Arc::clone(paces);
        let report = move |measure: &dyn AsyncMeasure<Value = f64>| paces.report(measure, read);
        let builder = meter.create_gauge(name, report).set_units(unit);
        builder.set_description(what).build()
    };
    [
        gauge(
            "aws_batch_delivery.pace.capacity",
            "{entry}/s",
            "The measured capacity of the service, in entries or, if the strategy counts them, in write units",
            |pace| pace.capacity,
        ),
        gauge(
            "aws_batch_delivery.pace.rate",
            "{entry}/s",
            "The rate at which entries may leave now, in the unit of the capacity",
            |pace| pace.rate,
        ),
        gauge(
            "aws_batch_delivery.pace.hot_keys",
            "{key}",
            "Partition keys that have a pace of their own",
            |pace| u32::try_from(pace.hot_keys).ok().map(f64::from),
        ),
    ]
}

impl Drop for Instruments {
    /// Another provider was set. Without this, the old one would keep reading the gauges.
    fn drop(&mut self) {
        for gauge in &self.gauges {
            gauge.stop();
        }
        self.states.stop();
    }
}
