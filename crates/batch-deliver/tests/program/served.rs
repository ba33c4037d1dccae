//! A simulator that the program reaches as it reaches AWS.

use std::time::Duration;

use aws_batch_simulator::{Capacity, KeyType, Latency, Queue, QueueOptions, Server, Simulator, Table, TableOptions};
use serde_json::Value;
use tokio::runtime::Runtime;

/// A table `items` with the key `id` and a queue `q`, each of which takes so many entries a second, and a table `copy` with the same
/// key, which takes all of them.
pub(crate) struct Served {
    pub(crate) table: Table,
    pub(crate) queue: Queue,
    /// The table `copy`.
    pub(crate) copies: Table,
    simulator: Simulator,
    server: Server,
    runtime: Runtime,
}

impl Served {
    pub(crate) fn new(rate: f64) -> Self {
        let capacity = Capacity::per_second(rate).burst(rate / 10.0);
        Self::with_table(TableOptions::key("id", KeyType::N).capacity(capacity), rate)
    }

    /// With this table, and a queue that takes so many messages a second.
    pub(crate) fn with_table(table: TableOptions, rate: f64) -> Self {
        let runtime = Runtime::new().unwrap();
        let simulator = Simulator::new(7);
        simulator.set_latency(Latency::fixed(Duration::from_millis(5)));
        let within = runtime.enter();
        let capacity = Capacity::per_second(rate).burst(rate / 10.0);
        let table = simulator.table("items", table);
        let copies = simulator.table("copy", TableOptions::key("id", KeyType::N));
        let queue = simulator.queue("q", QueueOptions::default().capacity(capacity));
        let server = runtime.block_on(simulator.serve("127.0.0.1:0")).unwrap();
        drop(within);
        Self {
            table,
            queue,
            copies,
            simulator,
            server,
            runtime,
        }
    }

    /// Deletes the table `items`, and creates one of its name.
    pub(crate) fn create_again(&self) {
        let _within = self.runtime.enter();
        self.simulator.table("items", TableOptions::key("id", KeyType::N));
    }

    /// The arguments that lead to it.
    pub(crate) fn arguments(&self) -> String {
        format!("--endpoint-url {}", self.endpoint())
    }

    pub(crate) fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// The items in the table, by their ids.
    pub(crate) fn items(&self) -> Vec<Value> {
        let mut items = self.table.items();
        items.sort_by_key(|item| item["id"]["N"].as_str().and_then(|id| id.parse::<u32>().ok()));
        items
    }

    /// The ids in the table.
    pub(crate) fn ids(&self) -> Vec<u32> {
        let items = self.items();
        let ids = items
            .iter()
            .map(|item| item["id"]["N"].as_str().unwrap().parse().unwrap());
        ids.collect()
    }
}
