//! The pace and its state.

use std::time::Duration;

use aws_batch_delivery::backoff::Exponential;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, KeyType, TableOptions};
use tokio::time::sleep;

use crate::metrics::meters::meters;
use crate::metrics::{puts, simulator};

const STATE: &str = "aws_batch_delivery.pace.state";
const STATES: [&str; 4] = ["searching", "draining", "steady", "outage"];

fn state(destination: &str, state: &str) -> Option<f64> {
    meters().observed(STATE, &[("destination", destination), ("state", state)])
}

#[tokio::test(start_paused = true)]
async fn the_pace_of_a_throttled_load_is_reported_while_it_runs() {
    meters();
    let simulator = simulator();
    for table in ["paced", "paced-too"] {
        let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(200.0));
        simulator.table(table, options);
    }
    let options = DeliveryOptions::default();
    let deliver = |table: &str| {
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), table).map_target(|table| table.key("id"));
        let delivery = delivery.options(options.clone());
        async move { delivery.deliver(puts(4_000)).await.unwrap() }
    };
    // Both share a pace, which is told once for each destination.
    let look = async {
        sleep(Duration::from_secs(10)).await;
        let told: f64 = STATES.iter().map(|name| state("dynamodb/paced", name).unwrap()).sum();
        assert!((told - 1.0).abs() < f64::EPSILON, "{told} states");
        assert_eq!(state("dynamodb/paced-too", "outage"), Some(0.0));
        let number = |name: &str| meters().observed(name, &[("destination", "dynamodb/paced")]);
        let capacity = number("aws_batch_delivery.pace.capacity").unwrap();
        assert!((150.0..800.0).contains(&capacity), "{capacity}");
        assert_eq!(number("aws_batch_delivery.pace.hot_keys"), Some(0.0));
    };
    tokio::join!(deliver("paced"), deliver("paced"), deliver("paced-too"), look);
    assert_eq!(state("dynamodb/paced", "steady"), None);
}

#[tokio::test(start_paused = true)]
async fn a_strategy_without_a_snapshot_reports_no_pace() {
    meters();
    let simulator = simulator();
    let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(200.0));
    simulator.table("unpaced", options);
    let options = DeliveryOptions::default().backoff(Exponential::full_jitter());
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "unpaced").map_target(|table| table.key("id"));
    let look = async {
        sleep(Duration::from_secs(1)).await;
        for name in STATES {
            assert_eq!(state("dynamodb/unpaced", name), None);
        }
    };
    let delivery = delivery.options(options);
    let (report, ()) = tokio::join!(delivery.deliver(puts(1_000)), look);
    report.unwrap();
}
