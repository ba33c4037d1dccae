//! The simulator in the place of a service.

use aws_batch_simulator::{Capacity, Queue, QueueOptions, Simulator, Statistics, Table};

use crate::console::{counted, grouped};
use crate::key::Key;

/// Capacity that the simulator saves up for a moment, in seconds of its rate.
const BURST_SECONDS: f64 = 0.1;

/// A table or a queue of the simulator, which counts what it takes and keeps nothing.
pub(super) struct Simulated {
    pub(super) simulator: Simulator,
    stored: Stored,
}

enum Stored {
    Writes(Table),
    Messages(Queue),
}

impl Simulated {
    /// A table that takes so many write units a second.
    pub(super) fn table(name: &str, key: &Key, rate: f64) -> Self {
        let simulator = Simulator::new(1);
        let table = simulator.table(name, key.table().capacity(capacity(rate)).forgetful());
        Self {
            simulator,
            stored: Stored::Writes(table),
        }
    }

    /// A queue that takes so many messages a second, and its URL. It may be given by a URL: the name is the last part.
    pub(super) fn queue(queue: &str, rate: f64) -> (Self, String) {
        let name = queue.rsplit('/').next().unwrap_or(queue);
        let options = QueueOptions::default().content_based_deduplication();
        let simulator = Simulator::new(1);
        let queue = simulator.queue(name, options.capacity(capacity(rate)).forgetful());
        let url = queue.url();
        let stored = Stored::Messages(queue);
        (Self { simulator, stored }, url)
    }

    /// Whether it has what was delivered, in words.
    pub(super) fn compare(&self, delivered: u64) -> String {
        let (what, Statistics { applied, .. }) = match &self.stored {
            Stored::Writes(table) => ("write", table.statistics()),
            Stored::Messages(queue) => ("message", queue.statistics()),
        };
        let stored = counted(applied, what);
        if applied == delivered {
            format!("the simulator stored what was delivered: {stored}")
        } else {
            format!(
                "the simulator stored {stored}, and {} were delivered",
                grouped(delivered)
            )
        }
    }
}

fn capacity(rate: f64) -> Capacity {
    Capacity::per_second(rate).burst(rate * BURST_SECONDS)
}
