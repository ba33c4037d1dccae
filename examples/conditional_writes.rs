//! A put if absent, a counter, and a transaction over two tables, while every tenth answer is lost after the write was applied.
//!
//! ```text
//! cargo run --features aws-batch-simulator/expressions --example conditional_writes
//! ```

use anyhow::{Result, ensure};
use aws_batch_delivery::targets::dynamo::Transaction;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Faults, InjectedFault, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use serde::Serialize;

#[derive(Serialize)]
struct Order {
    id: String,
    cents: u64,
}

#[derive(Serialize)]
struct Product {
    sku: String,
}

#[derive(Serialize)]
struct Arrival {
    more: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let simulator = Simulator::new(7);
    let lossy = || Faults::none().calls(0.1, InjectedFault::Dropped { applied: true });
    let orders = simulator.table("orders", TableOptions::key("id", KeyType::S));
    let stock = simulator.table("stock", TableOptions::key("sku", KeyType::S));
    orders.set_faults(lossy());
    stock.set_faults(lossy());
    let client = simulator.dynamo_client();
    let options = DeliveryOptions::default();

    put_if_absent(&client, &options).await?;
    count(&client, &options).await?;
    sell(&client, &options).await?;
    println!("{} orders, stock: {:?}", orders.len(), stock.items());
    Ok(())
}

/// Loads 200 orders, of which the second half is there already.
async fn put_if_absent(client: &Client, options: &DeliveryOptions) -> Result<()> {
    let new_orders = Delivery::to_dynamo(client.clone(), "orders")
        .options(options.clone())
        .put_if("attribute_not_exists(id)");
    let order = |number: u64| Order {
        id: format!("order {number}"),
        cents: 100 * number,
    };
    new_orders.deliver((100..200).map(order)).await?;
    let report = new_orders.deliver((0..200).map(order)).await?;
    // Orders that stand there as they are loaded count as written if an answer was lost; all others are known.
    println!("put if absent: {report}");
    ensure!(report.delivered + report.condition_failed == 200);
    Ok(())
}

/// Counts 100 arrivals of two pieces. No arrival counts twice, although answers are lost.
async fn count(client: &Client, options: &DeliveryOptions) -> Result<()> {
    let arrivals = Delivery::to_dynamo(client.clone(), "stock")
        .options(options.clone())
        .update("ADD pieces :more");
    let arrival = || (Product { sku: "lamp".to_owned() }, Arrival { more: 2 });
    let report = arrivals.deliver((0..100).map(|_| arrival())).await?;
    println!("a counter: {report}");
    Ok(())
}

/// Sells 30 times seven pieces: an order and its pieces are written together, as long as there are enough.
async fn sell(client: &Client, options: &DeliveryOptions) -> Result<()> {
    let sales = Delivery::to_dynamo_transactions(client.clone())
        .options(options.clone().concurrency(1))
        .on_delivered(|position, sale: &Transaction, _| {
            for failed in sale.take_failed_conditions() {
                println!(
                    "sale {position} failed: the condition of action {} does not hold",
                    failed.action
                );
            }
        });
    let transactions = (0..30).map(sale).collect::<Result<Vec<_>>>()?;
    let report = sales.deliver(transactions).await?;
    println!("transactions: {report}");
    // There were 200 pieces.
    ensure!((report.delivered, report.condition_failed) == (28, 2));
    Ok(())
}

fn sale(number: usize) -> Result<Transaction> {
    let pieces = AttributeValue::N("7".to_owned());
    let order = Put::builder()
        .table_name("orders")
        .item("id", AttributeValue::S(format!("sale {number}")))
        .item("pieces", pieces.clone())
        .condition_expression("attribute_not_exists(id)")
        .build()?;
    let stock = Update::builder()
        .table_name("stock")
        .key("sku", AttributeValue::S("lamp".to_owned()))
        .update_expression("SET pieces = pieces - :sold")
        .condition_expression("pieces >= :sold")
        .expression_attribute_values(":sold", pieces)
        .build()?;
    let put = TransactWriteItem::builder().put(order).build();
    let update = TransactWriteItem::builder().update(stock).build();
    Ok(Transaction::new([put, update]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs() -> Result<()> {
        main()
    }
}
