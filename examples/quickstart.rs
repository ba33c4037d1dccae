//! 64 workers share one pace: they load a table that takes 1,000 writes/s, and then send as many messages to a queue that
//! rejects some now and then. Everything runs in this process, against the simulator.
//!
//! ```text
//! cargo run --release --example quickstart
//! cargo run --release --example quickstart -- --file films.jsonl --key year,title
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::future::Future;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use aws_batch_delivery::simulator::{
    Capacity, Faults, InjectedFault, KeyType, Latency, QueueOptions, Simulator, TableOptions,
};
use aws_batch_delivery::target::dynamo::{MAX_REQUESTS, item_size};
use aws_batch_delivery::target::sqs::MAX_MESSAGES;
use aws_batch_delivery::{
    DeliveryError, DeliveryOptions, Progress, Report, deliver_batch_to_dynamo, deliver_batch_to_sqs,
};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;
type Item = HashMap<String, AttributeValue>;

/// Write units a second that the table takes, and how many it saves up while nobody writes.
const CAPACITY: f64 = 1_000.0;
const BURST: f64 = 100.0;

/// The round trip to the simulated services.
const ROUND_TRIP: Duration = Duration::from_millis(8);

/// Loads a simulated table and a simulated queue with many workers at once.
#[derive(Parser)]
struct Arguments {
    /// Load the objects of this file, one JSON object a line, instead of generated orders
    #[arg(long, requires = "key")]
    file: Option<PathBuf>,
    /// The key of these objects: one attribute, or two with a comma between them
    #[arg(long, value_delimiter = ',', requires = "file")]
    key: Vec<String>,
    /// How many orders to generate
    #[arg(long, default_value_t = 20_000)]
    orders: usize,
    /// How many workers share the load
    #[arg(long, default_value_t = 64)]
    workers: usize,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let (items, key) = match &arguments.file {
        Some(file) => (read_items(file)?, arguments.key),
        None => (generate_orders(arguments.orders), vec!["id".to_owned()]),
    };
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::lognormal(ROUND_TRIP, 0.4));
    load_table(&simulator, &items, &key, arguments.workers).await?;
    fill_queue(&simulator, items.len(), arguments.workers).await
}

/// Loads the items into a table of [`CAPACITY`], and reads them back.
async fn load_table(simulator: &Simulator, items: &[Item], key: &[String], workers: usize) -> Result<(), Failure> {
    simulator.table("orders", table_options(items, key)?);
    let client = simulator.dynamo_client();
    let writes = items.iter().cloned().map(|item| {
        let put = PutRequest::builder().set_item(Some(item)).build()?;
        Ok(WriteRequest::builder().put_request(put).build())
    });
    let writes: Vec<WriteRequest> = writes.collect::<Result<_, Failure>>()?;

    let units: usize = items.iter().map(|item| item_size(item).div_ceil(1024)).sum();
    println!(
        "{} items into a table of {CAPACITY} writes/s, by {workers} workers",
        items.len()
    );
    share(writes, workers, MAX_REQUESTS, units, |batch, options| {
        let client = client.clone();
        async move { deliver_batch_to_dynamo(&client, "orders", batch, &options).await }
    })
    .await?;

    let mut pages = client.scan().table_name("orders").into_paginator().items().send();
    let mut found = HashMap::new();
    while let Some(item) = pages.next().await {
        let item = item?;
        found.insert(key_of(&item, key)?, item);
    }
    let expected: HashMap<_, _> = items
        .iter()
        .map(|item| Ok((key_of(item, key)?, item)))
        .collect::<Result<_, Failure>>()?;
    if found.len() != expected.len() || expected.iter().any(|(key, item)| found.get(key) != Some(item)) {
        return Err("what is in the table is not what was sent".into());
    }
    println!(
        "  read back        {} items, equal attribute by attribute\n",
        found.len()
    );
    Ok(())
}

/// Sends messages to a queue that rejects some now and then, for the reasons that SQS has.
async fn fill_queue(simulator: &Simulator, count: usize, workers: usize) -> Result<(), Failure> {
    let queue = simulator.queue("orders", QueueOptions::default());
    queue.set_faults(
        Faults::none()
            .failed(0.02, "InternalError", false)
            .calls(0.01, InjectedFault::Throttle)
            .calls(0.005, InjectedFault::internal_error(false)),
    );
    let client = simulator.sqs_client();
    let messages = (0..count).map(|number| {
        let message = SendMessageBatchRequestEntry::builder().id(number.to_string());
        Ok(message.message_body(format!("order {number}")).build()?)
    });
    let messages: Vec<SendMessageBatchRequestEntry> = messages.collect::<Result<_, Failure>>()?;

    println!("{count} messages into a queue that rejects some now and then, by {workers} workers");
    share(messages, workers, MAX_MESSAGES, 0, |batch, options| {
        let (client, url) = (client.clone(), queue.url().clone());
        async move { deliver_batch_to_sqs(&client, url, batch, &options).await }
    })
    .await?;

    let mut found: Vec<String> = queue.messages().into_iter().map(|message| message.body).collect();
    found.sort();
    let mut expected: Vec<String> = (0..count).map(|number| format!("order {number}")).collect();
    expected.sort();
    if found != expected {
        return Err("what is in the queue is not what was sent".into());
    }
    println!("  in the queue     {} messages, each once", found.len());
    Ok(())
}

/// Shares the entries out to workers that share one pace, shows a live line, and tells what it came to.
#[expect(clippy::cast_precision_loss, reason = "figures for the eye")]
async fn share<E, D, F>(
    mut entries: Vec<E>,
    workers: usize,
    chunk: usize,
    units: usize,
    deliver: D,
) -> Result<(), Failure>
where
    E: Send + Sync + 'static,
    D: Fn(Vec<E>, DeliveryOptions) -> F,
    F: Future<Output = Result<Report, DeliveryError<E>>> + Send + 'static,
{
    let progress = Progress::default();
    // Every worker clones these options, and so shares their strategy.
    let options = DeliveryOptions::default().concurrency(1).progress(&progress);
    let live_line = tokio::spawn(show(progress.clone(), entries.len() as u64));
    let total = entries.len();
    let started = Instant::now();
    let mut deliveries = JoinSet::new();
    for left in (1..=workers.max(1)).rev() {
        let batch = entries.split_off(entries.len() - entries.len().div_ceil(left));
        deliveries.spawn(deliver(batch, options.clone()));
    }
    let mut failures = Vec::new();
    while let Some(delivery) = deliveries.join_next().await {
        failures.extend(delivery?.err());
    }
    let elapsed = started.elapsed();
    live_line.abort();

    let figures = progress.snapshot();
    let seconds = elapsed.as_secs_f64();
    println!(
        "  delivered        {} of {total}, undelivered {}",
        figures.delivered, figures.undelivered
    );
    println!(
        "  calls            {}, at least {} are needed",
        figures.calls,
        total.div_ceil(chunk)
    );
    println!(
        "  sent again       {} entries, {} throttled",
        figures.resubmitted, figures.throttled
    );
    println!("  rate             {:.0} entries/s", figures.delivered as f64 / seconds);
    match (units as f64 - BURST) / CAPACITY {
        minimum if units > 0 => println!("  took             {seconds:.2} s, the physical minimum is {minimum:.2} s"),
        _ => println!("  took             {seconds:.2} s"),
    }
    failures
        .into_iter()
        .next()
        .map_or(Ok(()), |failure| Err(failure.into()))
}

/// The live line, until it is aborted. It shows itself only on a terminal.
async fn show(progress: Progress, total: u64) {
    let style =
        ProgressStyle::with_template("  {bar:24} {pos}/{len} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    let line = ProgressBar::new(total).with_style(style);
    loop {
        let figures = progress.snapshot();
        line.set_position(figures.delivered);
        line.set_message(format!(
            "{:.0}/s · {} in flight · {} waiting · {} calls · pause {} ms",
            figures.rate,
            figures.in_flight,
            figures.waiting,
            figures.calls,
            figures.delay.as_millis()
        ));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn generate_orders(count: usize) -> Vec<Item> {
    let order = |number: usize| {
        HashMap::from([
            ("id".to_owned(), AttributeValue::S(format!("order-{number:06}"))),
            (
                "customer".to_owned(),
                AttributeValue::S(format!("customer-{}", number % 977)),
            ),
            (
                "cents".to_owned(),
                AttributeValue::N((number * 37 % 100_000).to_string()),
            ),
            ("paid".to_owned(), AttributeValue::Bool(number.is_multiple_of(3))),
        ])
    };
    (0..count).map(order).collect()
}

/// One JSON object a line.
fn read_items(file: &Path) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    for line in BufReader::new(File::open(file)?).lines() {
        let object: serde_json::Value = serde_json::from_str(&line?)?;
        items.push(serde_dynamo::to_item(object)?);
    }
    Ok(items)
}

/// A table with this key; the types are those that the first item has.
fn table_options(items: &[Item], key: &[String]) -> Result<TableOptions, Failure> {
    let type_of = |name: &String| match items.first().and_then(|item| item.get(name)) {
        Some(AttributeValue::N(_)) => Ok(KeyType::N),
        Some(AttributeValue::S(_)) | None => Ok(KeyType::S),
        Some(_) => Err(format!("{name} is neither a text nor a number")),
    };
    let options = match key {
        [partition] => TableOptions::key(partition, type_of(partition)?),
        [partition, sort] => TableOptions::key(partition, type_of(partition)?).sort_key(sort, type_of(sort)?),
        _ => return Err("a key has one attribute or two".into()),
    };
    Ok(options.capacity(Capacity::per_second(CAPACITY).burst(BURST)))
}

/// The key of an item, for comparing.
fn key_of(item: &Item, key: &[String]) -> Result<String, Failure> {
    let values = key.iter().map(|name| item.get(name).map(|value| format!("{value:?}")));
    values
        .collect::<Option<Vec<_>>>()
        .map(|values| values.join("\u{0}"))
        .ok_or_else(|| "an item has no key".into())
}
