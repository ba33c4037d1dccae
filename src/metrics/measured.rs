//! The metrics of one delivery.

use std::sync::Arc;
use std::time::Duration;

use aws_smithy_observability::Attributes;

use super::instruments::Instruments;
use super::paces::Registration;
use super::set;
use crate::backoff::Outcome;
use crate::contract::{Fault, ThrottlingReason};
use crate::pace::Gate;
use crate::report::Cause;

/// The metrics of deliveries to one destination. Nothing is measured unless a telemetry provider is set.
#[derive(Clone)]
pub(crate) struct Metrics(Option<Arc<DeliveryMetrics>>);

struct DeliveryMetrics {
    instruments: Arc<Instruments>,
    destination: Attributes,
    _pace: Option<Registration>,
}

impl Metrics {
    /// The metrics of a delivery to this destination, with the pace of the gate if there is one.
    pub(crate) fn of(destination: &str, gate: Option<&Arc<Gate>>) -> Self {
        Self(Instruments::current().map(|instruments| {
            let mut attributes = Attributes::new();
            set(&mut attributes, "destination", destination);
            Arc::new(DeliveryMetrics {
                destination: attributes,
                _pace: gate.map(|gate| instruments.paces.register(gate, destination)),
                instruments,
            })
        }))
    }

    /// Metrics that measure nothing.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// A call leaves with `sent` entries, of which `again` were sent before.
    pub(crate) fn call_leaves(&self, sent: u64, again: u64) {
        self.measure(|instruments, to| {
            instruments.in_flight.add(signed(sent), to, None);
            if again > 0 {
                instruments.waiting.add(-signed(again), to, None);
                instruments.resubmitted.add(again, to, None);
            }
        });
    }

    /// A call was answered. Of its accepted entries, `condition_failed` have a condition that does not hold. `error` is why none of it was
    /// accepted.
    pub(crate) fn call_ended(&self, outcome: &Outcome, condition_failed: usize, error: Option<&str>) {
        let Some(measured) = &self.0 else { return };
        let (instruments, to) = (&measured.instruments, Some(&measured.destination));
        instruments.in_flight.add(-signed(outcome.sent as u64), to, None);
        let delivered = outcome.accepted - condition_failed;
        if delivered > 0 {
            instruments.delivered.add(delivered as u64, to, None);
        }
        if condition_failed > 0 {
            instruments.condition_failed.add(condition_failed as u64, to, None);
        }
        if outcome.throttled > 0 {
            instruments.throttled.add(outcome.throttled as u64, to, None);
        }
        let took = outcome.answered_at.saturating_duration_since(outcome.sent_at);
        let attributes = measured.with([
            ("outcome", Some(in_a_word(outcome, condition_failed))),
            ("error.type", error),
        ]);
        instruments
            .call_duration
            .record(took.as_secs_f64(), Some(&attributes), None);
    }

    /// A call has exceeded this limit of the service.
    pub(crate) fn call_throttled_by(&self, limit: &ThrottlingReason) {
        let Some(measured) = &self.0 else { return };
        let attributes = measured.with([
            ("reason", Some(limit.reason.as_str())),
            ("resource", limit.resource.as_deref()),
        ]);
        measured.instruments.throttled_calls.add(1, Some(&attributes), None);
    }

    /// An entry was accepted, or its condition does not hold. `waited` returns the time since it was submitted, and is called only if that is measured.
    pub(crate) fn processed(&self, waited: impl FnOnce() -> Option<Duration>) {
        self.measure(|instruments, to| {
            if let Some(waited) = waited() {
                instruments.entry_duration.record(waited.as_secs_f64(), to, None);
            }
        });
    }

    /// This many entries begin to wait to be sent again.
    pub(crate) fn begin_to_wait(&self, entries: u64) {
        if entries > 0 {
            self.measure(|instruments, to| instruments.waiting.add(signed(entries), to, None));
        }
    }

    /// This many entries no longer wait to be sent again.
    pub(crate) fn end_to_wait(&self, entries: u64) {
        if entries > 0 {
            self.measure(|instruments, to| instruments.waiting.add(-signed(entries), to, None));
        }
    }

    /// The delivery has ended. A delivery that was dropped still has entries in flight or waiting; they are counted off.
    pub(crate) fn end(&self, in_flight: u64, waiting: u64) {
        self.end_to_wait(waiting);
        if in_flight > 0 {
            self.measure(|instruments, to| instruments.in_flight.add(-signed(in_flight), to, None));
        }
    }

    /// An entry was replaced by a newer one.
    pub(crate) fn superseded(&self) {
        self.measure(|instruments, to| instruments.superseded.add(1, to, None));
    }

    /// Entries are handed back.
    pub(crate) fn handed_back(&self, cause: &Cause, entries: u64) {
        let Some(measured) = self.0.as_ref().filter(|_| entries > 0) else {
            return;
        };
        let code = cause.fault().map(Fault::code);
        let attributes = measured.with([("cause", Some(cause.name())), ("error.type", code)]);
        measured.instruments.undelivered.add(entries, Some(&attributes), None);
    }

    fn measure(&self, measure: impl FnOnce(&Instruments, Option<&Attributes>)) {
        if let Some(measured) = &self.0 {
            measure(&measured.instruments, Some(&measured.destination));
        }
    }
}

impl DeliveryMetrics {
    /// The destination, and the attributes that have a value.
    fn with<const N: usize>(&self, more: [(&'static str, Option<&str>); N]) -> Attributes {
        let mut attributes = self.destination.clone();
        for (name, value) in more {
            if let Some(value) = value {
                set(&mut attributes, name, value);
            }
        }
        attributes
    }
}

/// The result of a call, as the attribute `outcome`.
fn in_a_word(outcome: &Outcome, condition_failed: usize) -> &'static str {
    match outcome {
        _ if condition_failed > 0 && condition_failed == outcome.sent => "condition_failed",
        _ if outcome.accepted == outcome.sent => "accepted",
        _ if outcome.accepted > 0 => "partial",
        _ if outcome.throttled > 0 => "throttled",
        _ if outcome.refused > 0 => "refused",
        _ => "failed",
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
