//! An event bus.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use crate::capacity::Capacity;
use crate::handles::{capacity_option, counts_only_option, intake_handle};
use crate::intake::{Entry, Intake, KeptEntry, Shard};
use crate::registry::{ACCOUNT, REGION, Registry};

/// The bus of events and requests that do not name one.
const DEFAULT: &str = "default";

/// The options of an event bus of EventBridge.
///
/// # Default
/// - capacity: unlimited
/// - events are kept
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct EventBusOptions {
    capacity: Capacity,
    counts_only: bool,
}

impl EventBusOptions {
    capacity_option!("events");
    counts_only_option!("events");
}

/// An event, as in its request.
pub(super) struct Event(Value);

impl KeptEntry for Event {
    fn of(entry: &Entry, _: u64, _: Instant) -> Self {
        Self(entry.json.clone())
    }
}

/// An event bus of the simulator, which keeps its events. Clones are handles to the same bus.
///
/// As with the service, events for a bus that does not exist are accepted and lost.
#[derive(Clone)]
pub struct EventBus {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    intake: Intake<Event>,
}

intake_handle!(EventBus, "events", "are put");

impl EventBus {
    /// The ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{}", self.inner.name)
    }

    /// Changes the capacity, in events per second. The level of the bucket stays, up to the new burst.
    pub fn set_capacity(&self, events: impl Into<Capacity>) {
        self.inner.intake.set_capacity(events.into());
    }

    /// Events for which the predicate is true fail with `NotAuthorizedForSourceException`.
    ///
    /// The event is the JSON of the request: `bus.poison(|event| event["Source"] == "shop")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.intake.poison.set(predicate);
    }

    /// All events as the JSON of their requests, in the order of acceptance.
    pub fn events(&self) -> Vec<Value> {
        let state = self.inner.intake.state();
        state.kept.iter().map(|Event(event)| event.clone()).collect()
    }
}

impl EventBus {
    pub(crate) fn new(name: &str, options: EventBusOptions, seed: u64) -> Self {
        let EventBusOptions { capacity, counts_only } = options;
        let shard = Shard::new(capacity, Capacity::unlimited());
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                intake: Intake::new(vec![shard], counts_only, seed),
            }),
        }
    }

    pub(super) fn intake(&self) -> &Intake<Event> {
        &self.inner.intake
    }
}

/// The buses of a simulator.
pub(crate) type Buses = Registry<EventBus>;

/// The name of a bus, which a request names by its name, by its ARN, or not at all.
pub(super) fn bus_name(named: &Value) -> &str {
    let named = named.as_str().unwrap_or(DEFAULT);
    named.rsplit_once(":event-bus/").map_or(named, |(_, name)| name)
}
