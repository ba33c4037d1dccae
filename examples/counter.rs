//! A counter, while every tenth answer is lost after the increment was applied: none counts twice, and none is lost.
//!
//! ```text
//! cargo run --bin counter
//! ```

use anyhow::{Result, ensure};
use aws_batch_delivery::Delivery;
use aws_batch_simulator::{Faults, InjectedFault, KeyType, Simulator, TableOptions, json};
use serde::Serialize;

/// The key of an item.
#[derive(Serialize)]
struct Product {
    sku: &'static str,
}

/// What the placeholders of the update stand for: `:more` is this field.
#[derive(Serialize)]
struct Arrival {
    more: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let simulator = Simulator::new(7);
    let stock = simulator.table("stock", TableOptions::key("sku", KeyType::S));
    stock.set_faults(Faults::none().calls(0.1, InjectedFault::Dropped { applied: true }));

    // `ADD` is sent with a token, by which DynamoDB recognizes that it is sent again.
    let arrivals = Delivery::to_dynamo(simulator.dynamo_client(), "stock").update("ADD pieces :more");
    let arrival = |number: u64| {
        let sku = if number.is_multiple_of(2) { "lamp" } else { "chair" };
        (Product { sku }, Arrival { more: 2 })
    };
    let report = arrivals.deliver((0..200).map(arrival)).await?;
    let lamps = stock.item(&json!({"sku": {"S": "lamp"}})).unwrap_or_default();
    println!("{report}; {lamps}");
    ensure!(lamps["pieces"]["N"] == "200");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs() -> Result<()> {
        main()
    }
}
