//! The sink of a streaming engine: rows with barriers between them go to a table, and a barrier is committed when everything before it
//! is there.
//!
//! - **A barrier flushes.** It is committed as soon as all rows before it are settled; a call that is not full leaves after the linger.
//! - **Steps overlap.** Rows behind a barrier are sent while those before it are in flight. Rows of one key keep their order.
//! - **Acknowledgement by position.** The delivery knows up to which row everything is settled.
//! - **Bounded memory.** Rows are read only as fast as the table accepts them.
//! - **Restart.** A killed sink starts again behind the last barrier that was committed, and writes some rows again.
//!
//! `cargo run --bin sink_with_barriers` kills the sink five times, and continues.

use std::collections::VecDeque;
use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Delivery, DeliveryError, DeliveryOptions, Progress};
use aws_batch_simulator::{Capacity, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::{Stream, StreamExt, stream};
use tokio::time::timeout;

/// What the engine sends to its sinks.
enum Event {
    Row(WriteRequest),
    /// Everything before it belongs to this epoch or to an earlier one.
    Barrier(u64),
}

/// A barrier that is not committed.
struct Barrier {
    epoch: u64,
    /// The number of rows before it.
    rows: u64,
}

/// Writes the rows to the table until the events end, and commits each epoch when all of its rows are there.
///
/// Dropping the future is a kill: its calls are dropped with it, and what they have written is written again after the restart.
///
/// # Errors
/// When a row is refused or cannot be written: its epoch and the later ones are not committed. The engine starts the sink again behind
/// the last epoch, or hands the row to its dead letters.
async fn run_sink(
    table: Delivery<DynamoTable>,
    options: DeliveryOptions,
    events: impl Stream<Item = Event>,
    mut commit: impl FnMut(u64),
) -> Result<(), DeliveryError<WriteRequest>> {
    let progress = Progress::default();
    let barriers = Mutex::new(VecDeque::<Barrier>::new());
    let lock = || barriers.lock().unwrap_or_else(PoisonError::into_inner);
    let mut rows = 0;
    let writes = events.filter_map(|event| {
        ready(match event {
            Event::Row(write) => {
                rows += 1;
                Some(write)
            }
            Event::Barrier(epoch) => {
                let mut barriers = lock();
                // Of epochs without rows only the last one matters.
                barriers.pop_back_if(|last| last.rows == rows);
                barriers.push_back(Barrier { epoch, rows });
                None
            }
        })
    });
    // A row that was not written ends the delivery, so that nothing behind it is committed.
    let table = table
        .options(options.progress(&progress))
        .on_undelivered(|undelivered| ready(Err::<(), _>(undelivered.cause.to_string())));
    let mut delivering = pin!(table.deliver_stream(writes));
    let delivered = poll_fn(|context| {
        let delivered = delivering.as_mut().poll(context);
        let settled = progress.snapshot().settled_until.unwrap_or_default();
        while let Some(barrier) = lock().pop_front_if(|first| first.rows <= settled) {
            commit(barrier.epoch);
        }
        delivered
    });
    delivered.await.map(drop)
}

/// The engine's source, which can be read again from the beginning of any epoch: changes of counters, ten for each epoch.
fn changes(after: u64, epochs: u64) -> impl Stream<Item = Event> {
    let of_epoch = |epoch: u64| {
        let rows = (0..10).map(move |row| Event::Row(change(&format!("counter-{}", row % 4), epoch * 10 + row)));
        stream::iter(rows.chain([Event::Barrier(epoch)]))
    };
    stream::iter(after + 1..=epochs).flat_map(of_epoch)
}

fn change(counter: &str, version: u64) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(counter.to_owned()))
        .item("version", AttributeValue::N(version.to_string()));
    let put = put.build().expect("an item is all that a put needs");
    WriteRequest::builder().put_request(put).build()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let simulator = Simulator::new(1);
    let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(2_000.0));
    let table = simulator.table("counters", options);
    // The engine keeps it with its own state.
    let mut committed = 0;
    for kill in 1..=5 {
        let counters = Delivery::to_dynamo(simulator.dynamo_client(), "counters");
        let events = changes(committed, u64::MAX - 1);
        let sink = run_sink(counters, DeliveryOptions::default(), events, |epoch| committed = epoch);
        let _ = timeout(Duration::from_millis(300), sink).await;
        println!("kill {kill}: everything up to epoch {committed} is in the table");
    }
    let epochs = committed + 10;
    let counters = Delivery::to_dynamo(simulator.dynamo_client(), "counters");
    let events = changes(committed, epochs);
    run_sink(counters, DeliveryOptions::default(), events, |epoch| committed = epoch).await?;
    println!("epoch {committed} of {epochs}: {:?}", table.items());
    Ok(())
}

#[cfg(test)]
mod tests;
