//! Records the events and spans of a test.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, NoSubscriber, set_default};
use tracing::{Dispatch, Level, Metadata, Subscriber};
use tracing_core::span::Current;

/// An event with its fields as text.
#[derive(Debug, Clone)]
pub(crate) struct Logged {
    pub(crate) target: &'static str,
    pub(crate) level: Level,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

impl Logged {
    /// A field of the event; empty if it has none of this name.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

/// A span with its fields as text.
#[derive(Debug, Clone)]
pub(crate) struct Traced {
    pub(crate) target: &'static str,
    /// The index of its parent span.
    pub(crate) parent: Option<usize>,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

impl Traced {
    /// A field of the span; empty if nothing was recorded.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

#[derive(Default)]
struct Seen {
    events: Vec<Logged>,
    spans: Vec<Traced>,
    /// The indices of the spans that the thread has entered.
    entered: Vec<usize>,
    metadata: Vec<&'static Metadata<'static>>,
}

/// With a single subscriber, `tracing` asks only the subscriber of the thread in which an event or span occurs first. If
/// that thread belongs to another test without a subscriber, the event would be disabled for all tests.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

/// Records the events and spans of this crate on the current thread, until it is dropped.
pub(crate) struct Log {
    seen: Arc<Mutex<Seen>>,
    _guard: DefaultGuard,
}

impl Log {
    pub(crate) fn start() -> Self {
        LazyLock::force(&ANOTHER);
        let seen = Arc::default();
        let collector = Collector(Arc::clone(&seen));
        Self {
            seen,
            _guard: set_default(collector),
        }
    }

    pub(crate) fn events(&self) -> Vec<Logged> {
        self.seen.lock().unwrap().events.clone()
    }

    pub(crate) fn spans(&self) -> Vec<Traced> {
        self.seen.lock().unwrap().spans.clone()
    }

    /// The events of this target.
    pub(crate) fn of(&self, target: &str) -> Vec<Logged> {
        let mut events = self.events();
        events.retain(|event| event.target == target);
        events
    }
}

struct Collector(Arc<Mutex<Seen>>);

impl Collector {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap()
    }
}

/// Ids begin at 1.
fn id(place: usize) -> Id {
    Id::from_u64(place as u64 + 1)
}

fn place(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("aws_batch_delivery")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut seen = self.seen();
        let current = seen.entered.last().copied().filter(|_| attributes.is_contextual());
        seen.spans.push(Traced {
            target: attributes.metadata().target(),
            parent: attributes.parent().map(place).or(current),
            fields: fields.0,
        });
        seen.metadata.push(attributes.metadata());
        id(seen.spans.len() - 1)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.seen().spans[place(id)].fields.extend(fields.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.seen().events.push(Logged {
            target: event.metadata().target(),
            level: *event.metadata().level(),
            fields: fields.0,
        });
    }

    fn enter(&self, id: &Id) {
        self.seen().entered.push(place(id));
    }

    fn exit(&self, id: &Id) {
        let mut seen = self.seen();
        let entered = seen.entered.iter().rposition(|entered| *entered == place(id));
        seen.entered.remove(entered.unwrap());
    }

    fn current_span(&self) -> Current {
        let seen = self.seen();
        match seen.entered.last() {
            Some(&current) => Current::new(id(current), seen.metadata[current]),
            None => Current::none(),
        }
    }
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
