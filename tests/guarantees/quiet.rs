//! The log of a test against the simulator: a fault that is injected is no error of the test.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use aws_batch_delivery::Delivery;
use aws_batch_simulator::InjectedFault;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::guarantees::entries::{no_delay, put, puts, with_table};
use crate::support::log::Log;

/// Counts the events of all crates, and keeps the targets of errors.
#[derive(Clone, Default)]
struct Counting {
    events: Arc<AtomicUsize>,
    errors: Arc<Mutex<Vec<&'static str>>>,
}

impl Subscriber for Counting {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.events.fetch_add(1, Relaxed);
        if *event.metadata().level() == Level::ERROR {
            self.errors.lock().unwrap().push(event.metadata().target());
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn injected_faults_are_not_logged_as_errors() {
    // Keeps the events of this thread enabled; see there.
    let _log = Log::start();
    let counting = Counting::default();
    let _guard = set_default(counting.clone());
    let (simulator, table) = with_table();
    let faults = || {
        [
            InjectedFault::internal_error(false),
            InjectedFault::Dropped { applied: false },
            InjectedFault::Garbage { applied: false },
            InjectedFault::Throttle,
            InjectedFault::error(503, "ServiceUnavailable", false),
        ]
    };
    table.script(faults());
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(no_delay());
    assert_eq!(delivery.deliver(puts(100)).await.unwrap().delivered, 100);
    table.script(faults());
    for _ in 0..5 {
        let call = simulator
            .dynamo_client()
            .batch_write_item()
            .request_items("orders", vec![put("a")]);
        let _ = call.send().await;
    }
    assert!(counting.events.load(Relaxed) > 0);
    assert_eq!(*counting.errors.lock().unwrap(), [""; 0]);
}
