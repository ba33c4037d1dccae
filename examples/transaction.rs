//! A transaction over two tables, while every tenth answer is lost after both were written: each sale has its order and its pieces, or
//! neither, and no more is sold than is there.
//!
//! ```text
//! cargo run --bin transaction
//! ```

use anyhow::{Result, ensure};
use aws_batch_delivery::targets::dynamo::Transaction;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Faults, InjectedFault, KeyType, Simulator, TableOptions, json};
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};

#[tokio::main]
async fn main() -> Result<()> {
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await)
    let simulator = Simulator::new(7);
    let orders = simulator.table("orders", TableOptions::key("id", KeyType::S));
    let stock = simulator.table("stock", TableOptions::key("sku", KeyType::S));
    let client = simulator.dynamo_client();
    let lamps = client.put_item().table_name("stock");
    let lamps = lamps.item("sku", text("lamp")).item("pieces", number(200));
    lamps.send().await?;
    for table in [&orders, &stock] {
        table.set_faults(Faults::none().calls(0.1, InjectedFault::Dropped { applied: true }));
    }

    // All of them take from one item: with one call in flight none conflicts with another one.
    let sales = Delivery::to_dynamo_transactions(client)
        .options(DeliveryOptions::default().concurrency(1))
        .on_delivered(|position, sale: &Transaction, _| {
            for failed in sale.take_failed_conditions() {
                println!(
                    "sale {position}: the condition of action {} does not hold",
                    failed.action
                );
            }
        });
    let transactions = (0..30).map(sale).collect::<Result<Vec<_>>>()?;
    let report = sales.deliver(transactions).await?;
    let lamps = stock.item(&json!({"sku": {"S": "lamp"}})).unwrap_or_default();
    println!("{report}; {} orders, {lamps}", orders.len());
    ensure!((report.delivered, report.condition_failed) == (28, 2));
    ensure!(lamps["pieces"]["N"] == "4");
    Ok(())
}

/// Sells seven pieces: an order, and its pieces from the stock.
fn sale(place: usize) -> Result<Transaction> {
    let order = Put::builder()
        .table_name("orders")
        .item("id", text(&format!("sale {place}")))
        .item("pieces", number(7))
        .condition_expression("attribute_not_exists(id)")
        .build()?;
    let stock = Update::builder()
        .table_name("stock")
        .key("sku", text("lamp"))
        .update_expression("SET pieces = pieces - :sold")
        .condition_expression("pieces >= :sold")
        .expression_attribute_values(":sold", number(7))
        .build()?;
    let put = TransactWriteItem::builder().put(order).build();
    let update = TransactWriteItem::builder().update(stock).build();
    Ok(Transaction::new([put, update]))
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: u32) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs() -> Result<()> {
        main()
    }
}
