//! The first part: items into a table of limited capacity.

use std::collections::{HashMap, HashSet};

use aws_batch_delivery::deliver_batch_to_dynamo;
use aws_batch_delivery::targets::dynamo::{MAX_REQUESTS, item_size};
use aws_batch_simulator::{Capacity, Simulator};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};

use crate::input::Items;
use crate::key::Key;
use crate::load::{Loaded, Plan, share};
use crate::{Failure, Item, report};

/// Write units a second that the table accepts, and how many it saves while nothing is written.
const CAPACITY: f64 = 1_000.0;
const BURST: f64 = 100.0;

/// Loads the items into a table of [`CAPACITY`], and reads them back.
pub(crate) async fn load(simulator: &Simulator, items: &Items, key: &Key, workers: usize) -> Result<(), Failure> {
    let capacity = Capacity::per_second(CAPACITY).burst(BURST).starts_full();
    simulator.table("orders", key.table().capacity(capacity));
    let client = simulator.dynamo_client();
    let plan = Plan {
        total: items.len(),
        chunk: MAX_REQUESTS,
        workers,
    };
    report::title(&format!("items into a table of {CAPACITY} writes/s"), &plan)?;
    let loaded = share(writes(items)?, plan, |batch, options| {
        let client = client.clone();
        async move { deliver_batch_to_dynamo(&client, "orders", batch, &options).await }
    })
    .await?;
    report::figures(&loaded, &plan, Some(least(items, &loaded)))?;
    report::failure(&loaded, &plan, "items", |number| items.place(number))?;
    let found = read_back(&client, items, key).await?;
    report::line("read back", &format!("{found} items, equal attribute by attribute"))?;
    report::blank()?;
    Ok(())
}

fn writes(items: &Items) -> Result<Vec<WriteRequest>, Failure> {
    let write = |item: &Item| {
        let put = PutRequest::builder().set_item(Some(item.clone())).build()?;
        Ok(WriteRequest::builder().put_request(put).build())
    };
    items.iter().map(write).collect()
}

/// The minimal time of the table for the delivered items.
#[expect(clippy::cast_precision_loss, reason = "figures for the eye")]
fn least(items: &Items, loaded: &Loaded) -> String {
    let undelivered: HashSet<usize> = loaded.undelivered.iter().map(|(number, _)| *number).collect();
    let delivered = items
        .iter()
        .enumerate()
        .filter(|(number, _)| !undelivered.contains(number));
    let units: usize = delivered.map(|(_, item)| item_size(item).div_ceil(1024)).sum();
    let minimum = (units as f64 - BURST) / CAPACITY;
    if minimum > 0.0 {
        format!("the physical minimum is {minimum:.2} s")
    } else {
        format!("within the {BURST} writes that the table takes at once")
    }
}

/// Reads the table and compares it with the items. Returns their number.
async fn read_back(client: &Client, items: &Items, key: &Key) -> Result<usize, Failure> {
    let mut pages = client.scan().table_name("orders").into_paginator().items().send();
    let mut found = HashMap::new();
    while let Some(item) = pages.next().await {
        let item = item?;
        found.insert(key.value(&item), item);
    }
    let is_there = |item: &Item| found.get(&key.value(item)) == Some(item);
    match items.iter().position(|item| !is_there(item)) {
        Some(number) => Err(format!("{} is not in the table as it was sent", items.place(number)).into()),
        None if found.len() > items.len() => Err("there are more items in the table than were sent".into()),
        None => Ok(found.len()),
    }
}
