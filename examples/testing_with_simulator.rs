//! How to test a program that delivers: with the simulator, in paused time, with the failures of AWS.
//!
//! The simulator replaces the SDK's HTTP client, so the program under test uses its usual SDK client. An hour of throttling
//! passes in an instant.
//!
//! ```text
//! cargo test --bin testing_with_simulator
//! ```

use anyhow::Result;
use aws_batch_delivery::{Delivery, DeliveryOptions, Undelivered};
use aws_sdk_dynamodb::Client;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Order {
    id: String,
    cents: u64,
}

/// The code under test: archives orders, and returns those that the table will never accept. If another one is left, the error has
/// all of them.
async fn archive(client: Client, orders: Vec<Order>, options: DeliveryOptions) -> Result<Vec<Order>> {
    let table = Delivery::to_dynamo(client, "archive").options(options).put_items();
    let Err(mut error) = table.deliver(orders).await else {
        return Ok(Vec::new());
    };
    let is_dead = |undelivered: &Undelivered<Order>| undelivered.cause.is_permanent();
    if !error.undelivered().iter().all(is_dead) {
        return Err(error.into());
    }
    let dead = error.take_undelivered().into_iter();
    Ok(dead.map(|undelivered| *undelivered.entry).collect())
}

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = aws_batch_simulator::Simulator::new(1);
    let refused = archive(simulator.dynamo_client(), Vec::new(), DeliveryOptions::default()).await?;
    println!(
        "{} refused; run the tests by `cargo test --bin testing_with_simulator`",
        refused.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use aws_batch_delivery::DeliveryError;
    use aws_batch_simulator::{Capacity, Faults, InjectedFault, KeyType, Simulator, Table, TableOptions};
    use tokio::time::Instant;

    use super::*;

    fn orders(count: u64) -> Vec<Order> {
        let order = |number| Order {
            id: format!("order-{number}"),
            cents: number,
        };
        (0..count).map(order).collect()
    }

    fn simulated() -> (Simulator, Table) {
        let simulator = Simulator::new(42);
        let table = simulator.table("archive", TableOptions::key("id", KeyType::S));
        (simulator, table)
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_without_capacity_is_outlasted() {
        let (simulator, table) = simulated();
        table.set_capacity(Capacity::none());
        table.schedule_capacity([(Duration::from_hours(1), Capacity::per_second(100.0))]);
        let started = Instant::now();
        let options = DeliveryOptions::default().give_up_after(Duration::from_hours(2));
        let refused = archive(simulator.dynamo_client(), orders(100), options).await.unwrap();
        assert_eq!((refused, table.len()), (Vec::new(), 100));
        assert!(started.elapsed() > Duration::from_hours(1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_table_refuses_is_returned_alone() {
        let (simulator, table) = simulated();
        table.poison(|item| item["id"]["S"] == "order-7");
        let refused = archive(simulator.dynamo_client(), orders(1_000), DeliveryOptions::default())
            .await
            .unwrap();
        assert_eq!((refused, table.len()), (vec![orders(8)[7].clone()], 999));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_lost_whatever_goes_wrong() {
        let (simulator, table) = simulated();
        table.set_faults(
            Faults::none()
                .unprocessed(0.1)
                .calls(0.05, InjectedFault::Throttle)
                .calls(0.05, InjectedFault::internal_error(true))
                .calls(0.05, InjectedFault::Dropped { applied: true }),
        );
        let refused = archive(simulator.dynamo_client(), orders(5_000), DeliveryOptions::default())
            .await
            .unwrap();
        assert_eq!((refused, table.len()), (Vec::new(), 5_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_table_that_stays_away_is_an_error() {
        let (simulator, table) = simulated();
        table.set_capacity(Capacity::none());
        let options = DeliveryOptions::default().give_up_after(Duration::from_mins(1));
        let error = archive(simulator.dynamo_client(), orders(3), options)
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("nothing was accepted: ProvisionedThroughputExceededException"),
            "{error}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_still_has_every_order() {
        let (simulator, table) = simulated();
        table.poison(|item| item["id"]["S"] == "order-1");
        table.set_capacity(Capacity::none());
        table.schedule_capacity([
            (Duration::from_secs(10), Capacity::per_second(2.0)),
            (Duration::from_secs(12), Capacity::none()),
        ]);
        let options = DeliveryOptions::default().give_up_after(Duration::from_mins(1));
        let error = archive(simulator.dynamo_client(), orders(100), options)
            .await
            .unwrap_err();
        let error: &DeliveryError<Order> = error.downcast_ref().unwrap();
        assert_eq!(error.undelivered().len() + table.len(), 100);
    }
}
