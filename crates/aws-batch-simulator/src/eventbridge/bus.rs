//! An event bus.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::options::EventBusOptions;
use crate::bucket::Capacity;
use crate::intake::{Arrival, Intake, Kept, Shard, handles};
use crate::{ACCOUNT, REGION};

/// An event, as in its request.
pub(super) struct Event(Value);

impl Kept for Event {
    fn of(arrival: &Arrival, _: u64, _: Instant) -> Self {
        Self(arrival.entry.clone())
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

handles!(EventBus, "events", "are put");

impl EventBus {
    /// The ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:events:{REGION}:{ACCOUNT}:event-bus/{}", self.inner.name)
    }

    /// Changes the capacity, in events per second. The level of the bucket stays, up to the new burst.
    pub fn set_capacity(&self, events: impl Into<Capacity>) {
        let events = events.into();
        for shard in &mut self.inner.intake.state().shards {
            shard.set_capacity(events);
        }
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
        let EventBusOptions { capacity, is_forgetful } = options;
        let shard = Shard::new(capacity, Capacity::unlimited());
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                intake: Intake::new(vec![shard], is_forgetful, seed),
            }),
        }
    }

    pub(super) fn intake(&self) -> &Intake<Event> {
        &self.inner.intake
    }
}
