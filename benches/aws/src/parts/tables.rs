//! Deliveries to a table.

use std::time::Duration;

use anyhow::{Context, Result};
use aws_batch_delivery::{Delivery, DeliveryOptions, Report};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, Select, WriteRequest};
use tokio::time::Instant;

use crate::belongings::{Billing, Key};
use crate::figures::{Figures, Stored};
use crate::place::Place;
use crate::tell::tell;
use crate::tunnel::Tunnel;

/// Of the provisioned table, a second.
pub(crate) const BUCKET_WRITES: u32 = 1_000;
/// Enough to count the items within seconds.
pub(crate) const BUCKET_READS: u32 = 200;
/// How long a delivery may take: the hours of a provisioned table are limited.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(8);
/// Calls at once through the proxy.
const LOST_CALLS: usize = 4;
/// Items of one partition key in the sorted input.
const ITEMS_OF_KEY: u64 = 2_000;
/// Spreads the numbers, so that their order is not that of the input.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
/// A write unit each.
const TEXT: &str = "some sixty bytes of text, which a load of an application has";

pub(crate) fn options() -> DeliveryOptions {
    DeliveryOptions::default().deadline(Instant::now() + TIME_LIMIT)
}

fn put(key: [(&str, AttributeValue); 2]) -> WriteRequest {
    let mut put = PutRequest::builder().item("text", AttributeValue::S(TEXT.to_owned()));
    for (name, value) in key {
        put = put.item(name, value);
    }
    #[expect(clippy::expect_used, reason = "an item was given")]
    let put = put.build().expect("the put has an item");
    WriteRequest::builder().put_request(put).build()
}

/// Keys in no order.
pub(crate) fn spread(entries: u64) -> impl Iterator<Item = WriteRequest> {
    (0..entries).map(|number| {
        let id = format!("{:016x}", number.wrapping_mul(SPREAD));
        put([
            ("id", AttributeValue::S(id)),
            ("number", AttributeValue::N(number.to_string())),
        ])
    })
}

fn sorted(entries: u64) -> impl Iterator<Item = WriteRequest> {
    (0..entries).map(|number| {
        let owner = format!("owner-{:06}", number / ITEMS_OF_KEY);
        put([
            ("owner", AttributeValue::S(owner)),
            ("number", AttributeValue::N(number.to_string())),
        ])
    })
}

pub(crate) async fn bucket(place: &Place, entries: u64) -> Result<Figures> {
    let billing = Billing::Provisioned {
        writes: BUCKET_WRITES.into(),
        reads: BUCKET_READS.into(),
    };
    let table = place.belongings.table("bucket", Key::Id, billing).await?;
    load(place, &place.dynamo, &table, spread(entries), entries, options()).await
}

pub(crate) async fn cold(place: &Place, entries: u64) -> Result<Figures> {
    let table = place.belongings.table("cold", Key::Id, Billing::OnDemand).await?;
    load(place, &place.dynamo, &table, spread(entries), entries, options()).await
}

pub(crate) async fn hot_key(place: &Place, entries: u64) -> Result<Figures> {
    let table = place
        .belongings
        .table("hot-key", Key::OwnerAndNumber, Billing::OnDemand)
        .await?;
    load(place, &place.dynamo, &table, sorted(entries), entries, options()).await
}

pub(crate) async fn lost(place: &Place, entries: u64) -> Result<Figures> {
    let table = place.belongings.table("lost", Key::Id, Billing::OnDemand).await?;
    let tunnel = Tunnel::before(place.endpoint.as_deref()).await?;
    let client = place.dynamo_by(tunnel.endpoint().as_deref(), tunnel.http_client()?);
    // Few connections have many answers each, and only an answer that is not the first one is lost.
    let few = options().concurrency(LOST_CALLS);
    let mut figures = load(place, &client, &table, spread(entries), entries, few).await?;
    anyhow::ensure!(
        tunnel.lost() > 0,
        "the proxy lost no connection, so the part shows nothing"
    );
    figures
        .codes
        .insert("connections closed by the proxy".to_owned(), tunnel.lost());
    Ok(figures)
}

async fn load(
    place: &Place,
    client: &Client,
    table: &str,
    writes: impl Iterator<Item = WriteRequest> + Send,
    entries: u64,
    options: DeliveryOptions,
) -> Result<Figures> {
    let report = deliver(client, table, writes, options).await?;
    let counts = place.tally.take();
    let stored = count(&place.belongings.dynamo, table).await?;
    Ok(Figures::of(entries, &report, counts, Stored::Exactly(stored)))
}

/// What was not delivered is in the report. A delivery that ended before its input did is an error.
pub(crate) async fn deliver(
    client: &Client,
    table: &str,
    writes: impl Iterator<Item = WriteRequest> + Send,
    options: DeliveryOptions,
) -> Result<Report> {
    match Delivery::to_dynamo(client.clone(), table)
        .options(options)
        .deliver(writes)
        .await
    {
        Ok(report) => Ok(report),
        Err(error) => {
            tell!("{error}");
            let report = error.report.clone();
            anyhow::ensure!(report.delivered > 0, "nothing was delivered: {error}");
            Ok(report)
        }
    }
}

/// The items of a table, by a client that tries again: the table is small, and may throttle the scan.
pub(crate) async fn count(client: &Client, table: &str) -> Result<u64> {
    let scan = client
        .scan()
        .table_name(table)
        .select(Select::Count)
        .consistent_read(true);
    let (mut items, mut after) = (0, None);
    loop {
        let page = scan.clone().set_exclusive_start_key(after).send().await;
        let page = page.with_context(|| format!("Scan {table}"))?;
        items += u64::try_from(page.count).unwrap_or_default();
        after = page.last_evaluated_key;
        if after.is_none() {
            return Ok(items);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn value<'a>(write: &'a WriteRequest, name: &str) -> &'a AttributeValue {
        &write.put_request.as_ref().unwrap().item[name]
    }

    #[test]
    fn keys_are_different_and_spread() {
        let writes: Vec<_> = spread(10_000).collect();
        let ids: HashSet<_> = writes.iter().map(|write| value(write, "id").as_s().unwrap()).collect();
        assert_eq!(ids.len(), 10_000);
        assert_ne!(
            value(&writes[0], "id").as_s().unwrap()[..2],
            value(&writes[1], "id").as_s().unwrap()[..2]
        );
    }

    #[test]
    fn sorted_input_has_one_key_after_another() {
        let writes: Vec<_> = sorted(5_000).collect();
        let owners: Vec<_> = writes
            .iter()
            .map(|write| value(write, "owner").as_s().unwrap())
            .collect();
        assert!(owners.is_sorted());
        assert_eq!(owners.iter().collect::<HashSet<_>>().len(), 3);
    }
}
