//! The simulator, which the program reaches as it reaches AWS.

use std::time::Duration;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{
    Capacity, KeyType, Latency, Queue, QueueOptions, Server, Simulator, Statistics, Table, TableOptions, Throughput,
};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::options::Options;

/// From the call to its answer, as within a region.
const ROUND_TRIP: Duration = Duration::from_millis(8);

/// Seconds of unused capacity that a table banks. It starts without any, so that the minimum of time is known.
const BURST: f64 = 1.0;

/// A simulator on a socket.
pub(crate) struct Served {
    simulator: Simulator,
    server: Server,
    runtime: Runtime,
}

impl Served {
    pub(crate) fn new(seed: u64) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let simulator = Simulator::new(seed);
        let server = runtime.block_on(simulator.serve("127.0.0.1:0")).expect("a socket");
        simulator.set_latency(Latency::lognormal(ROUND_TRIP, 0.3));
        Self {
            simulator,
            server,
            runtime,
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// An empty table.
    pub(crate) fn table(&self, name: &str, options: TableOptions) -> Table {
        let _within = self.runtime.enter();
        self.simulator.table(name, options)
    }

    /// A table with these items, whose capacities begin after they were put.
    pub(crate) fn filled(
        &self,
        name: &str,
        options: TableOptions,
        items: impl IntoIterator<Item = Value, IntoIter: Send> + Send,
    ) -> Table {
        let table = self.table(name, options);
        let client = self.simulator.dynamo_client();
        self.simulator.set_latency(Latency::none());
        let puts = items.into_iter().map(|item| put(&item));
        let delivery = Delivery::to_dynamo(client, name).options(DeliveryOptions::default().concurrency(4));
        let report = self.runtime.block_on(delivery.deliver(puts));
        report.expect("a table that accepts everything");
        self.simulator.set_latency(Latency::lognormal(ROUND_TRIP, 0.3));
        table
    }

    /// Changes the table within the runtime of the simulator.
    pub(crate) fn within<R>(&self, act: impl FnOnce() -> R) -> R {
        let _within = self.runtime.enter();
        act()
    }

    /// Deletes items as another client does.
    pub(crate) fn delete(&self, table: &str, ids: impl IntoIterator<Item = u64>) {
        let client = self.simulator.dynamo_client();
        self.runtime.block_on(async {
            for id in ids {
                let key = AttributeValue::N(id.to_string());
                let call = client.delete_item().table_name(table).key("id", key);
                call.send().await.expect("an item that is deleted");
            }
        });
    }

    pub(crate) fn queue(&self, name: &str) -> Queue {
        self.within(|| self.simulator.queue(name, QueueOptions::default()))
    }

    /// The simulator, for clients in this process.
    pub(crate) fn simulator(&self) -> (&Simulator, &Runtime) {
        (&self.simulator, &self.runtime)
    }
}

/// A table with the key `id`. Its capacities are set when it has its items.
pub(crate) fn keyed() -> TableOptions {
    TableOptions::key("id", KeyType::N)
}

/// The same with the capacity for writes that is asked for.
pub(crate) fn written(table: TableOptions, options: &Options) -> TableOptions {
    if options.partitions > 1 {
        let throughput = Throughput::provisioned(options.writes).partitions(options.partitions);
        table.throughput(throughput.burst(Duration::from_secs_f64(BURST)))
    } else {
        table.capacity(capacity(options.writes))
    }
}

pub(crate) fn capacity(rate: f64) -> Capacity {
    Capacity::per_second(rate).burst(rate * BURST)
}

/// An item of about 150 bytes.
pub(crate) fn item(id: u64) -> Value {
    json!({
        "id": {"N": id.to_string()},
        "name": {"S": format!("item {id}")},
        "even": {"BOOL": id.is_multiple_of(2)},
        "text": {"S": format!("{:x<100}", id.wrapping_mul(0x9E37_79B9_7F4A_7C15))},
    })
}

fn put(item: &Value) -> WriteRequest {
    let attributes = item.as_object().into_iter().flatten();
    let mut put = PutRequest::builder();
    for (name, value) in attributes {
        put = put.item(name, attribute(value));
    }
    let put = put.build().expect("an item");
    WriteRequest::builder().put_request(put).build()
}

fn attribute(value: &Value) -> AttributeValue {
    let text = |kind: &str| value[kind].as_str().map(str::to_owned);
    let number = || text("N").map(AttributeValue::N);
    let flag = || value["BOOL"].as_bool().map(AttributeValue::Bool);
    let attribute = text("S").map(AttributeValue::S).or_else(number).or_else(flag);
    attribute.expect("a string, a number or a flag")
}

/// What a table did between two moments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    before: [Statistics; 2],
}

/// Which share was rejected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metered {
    pub(crate) applied: u64,
    pub(crate) written_rejected: f64,
    pub(crate) read_units: f64,
    pub(crate) read_rejected: f64,
}

impl Meter {
    pub(crate) fn of(table: &Table) -> Self {
        Self {
            before: [table.statistics(), table.read_statistics()],
        }
    }

    pub(crate) fn since(&self, table: &Table) -> Metered {
        let [writes, reads] = [table.statistics(), table.read_statistics()];
        let [writes_before, reads_before] = self.before;
        let share = |now: Statistics, before: Statistics| {
            let entries = (now.entries - before.entries).max(1) as f64;
            100.0 * (now.throttled - before.throttled) as f64 / entries
        };
        Metered {
            applied: writes.applied - writes_before.applied,
            written_rejected: share(writes, writes_before),
            read_units: reads.units - reads_before.units,
            read_rejected: share(reads, reads_before),
        }
    }
}
