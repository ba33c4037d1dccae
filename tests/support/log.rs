//! What is logged, for looking at.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Level, Metadata, Subscriber};

/// An event with its fields as text.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) target: &'static str,
    pub(crate) level: Level,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

impl Logged {
    /// A field of the event; empty where it has none of that name.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

/// The events of this crate that the current thread logs, as long as this is held.
pub(crate) struct Log {
    events: Arc<Mutex<Vec<Logged>>>,
    _guard: DefaultGuard,
}

impl Log {
    pub(crate) fn start() -> Self {
        let events = Arc::default();
        let collector = Collector(Arc::clone(&events));
        Self {
            events,
            _guard: set_default(collector),
        }
    }

    pub(crate) fn events(&self) -> Vec<Logged> {
        self.events.lock().unwrap().clone()
    }

    /// The events of this target.
    pub(crate) fn of(&self, target: &str) -> Vec<Logged> {
        let mut events = self.events();
        events.retain(|event| event.target == target);
        events
    }
}

struct Collector(Arc<Mutex<Vec<Logged>>>);

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("aws_batch_delivery")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.0.lock().unwrap().push(Logged {
            target: event.metadata().target(),
            level: *event.metadata().level(),
            fields: fields.0,
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
