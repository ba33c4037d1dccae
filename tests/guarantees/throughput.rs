//! A load begins at the throughput that `DescribeTable` tells.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_simulator::{
    Capacity, IndexOptions, KeyType, Latency, OnDemand, Simulator, Statistics, TableOptions, Tenant, Throughput,
};
use tokio::time::Instant;

use crate::guarantees::entries::puts;

/// The round trip to a table that is far away.
const FAR: Duration = Duration::from_millis(80);

/// The time and the statistics of 1,000 writes to such a table, which is asked for its key or not.
async fn load(table: TableOptions, is_asked: bool) -> (Duration, Statistics) {
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::fixed(FAR));
    let table = simulator.table("orders", table);
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders");
    let delivery = if is_asked {
        delivery
    } else {
        delivery.map_target(|table| table.key("id"))
    };
    let started = Instant::now();
    delivery.deliver(puts(1_000)).await.unwrap();
    (started.elapsed(), table.statistics())
}

fn by_id() -> TableOptions {
    TableOptions::key("id", KeyType::S)
}

#[tokio::test(start_paused = true)]
async fn a_load_begins_at_the_throughput_that_the_table_tells() {
    let provisioned = by_id().throughput(Throughput::provisioned(4_000.0).burst(Duration::from_secs(1)));
    let on_demand = by_id().throughput(Throughput::on_demand(OnDemand::default()));
    let narrow = IndexOptions::key("customer", KeyType::S).throughput(4_000.0);
    let with_index = by_id().capacity(40_000.0).index("by_customer", narrow);
    for table in [provisioned, on_demand, with_index] {
        let (unasked, _) = load(table.clone(), false).await;
        let (asked, statistics) = load(table, true).await;
        // The question takes a round trip, as long as the window takes from 5 entries in flight to 40.
        assert!(asked < unasked + FAR, "{asked:?} instead of {unasked:?}");
        assert!(asked < 6 * FAR, "{asked:?}");
        assert!(statistics.throttled * 100 <= statistics.entries, "{statistics:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_that_takes_more_than_it_tells_is_loaded_no_slower() {
    // Tells 5 units a second, as one of an emulator that enforces nothing, and takes any number at once.
    let table = by_id().capacity(Capacity::per_second(5.0).burst(1e6).starts_full());
    let (unasked, _) = load(table.clone(), false).await;
    let (asked, _) = load(table, true).await;
    assert!(
        asked <= unasked + FAR,
        "{asked:?} instead of {unasked:?}, and {FAR:?} for the question"
    );
}

#[tokio::test(start_paused = true)]
async fn a_table_that_takes_a_tenth_of_what_it_tells_is_loaded_no_slower() {
    // Other clients use nine tenths of it.
    let throughput = Throughput::provisioned(4_000.0)
        .burst(Duration::from_secs(1))
        .tenant(Tenant::new(3_600.0));
    let table = by_id().throughput(throughput);
    let (unasked, _) = load(table.clone(), false).await;
    let (asked, _) = load(table, true).await;
    assert!(asked <= unasked.mul_f64(1.05), "{asked:?} instead of {unasked:?}");
}
