//! A put if absent, while every tenth answer is lost after the put was applied: no order is reported as known that was loaded here.
//!
//! ```text
//! cargo run --bin conditional_writes
//! ```

use anyhow::{Result, ensure};
use aws_batch_delivery::Delivery;
use aws_batch_simulator::{Faults, InjectedFault, KeyType, Simulator, TableOptions};
use serde::Serialize;

#[derive(Serialize)]
struct Order {
    id: String,
    cents: u64,
}

fn order(number: u64) -> Order {
    Order {
        id: format!("order {number}"),
        cents: 100 * number,
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let simulator = Simulator::new(7);
    let orders = simulator.table("orders", TableOptions::key("id", KeyType::S));
    orders.set_faults(Faults::none().calls(0.1, InjectedFault::Dropped { applied: true }));

    let new_orders = Delivery::to_dynamo(simulator.dynamo_client(), "orders").put_if("attribute_not_exists(id)");
    new_orders.deliver((100..200).map(order)).await?;
    // The second half is there already.
    let report = new_orders.deliver((0..200).map(order)).await?;
    println!("{report}; {} orders", orders.len());
    // Orders that stand there as they are loaded count as written if an answer was lost; all others are known.
    ensure!(report.delivered >= 100 && report.delivered + report.condition_failed == 200);
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
