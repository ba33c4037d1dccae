//! A table with one key that is hot at first, so that a delivery reads ahead from then on.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry, Progress};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::stream;
use tokio::time::sleep;

/// The number of first entries among which the hot key occurs, and at which interval.
const HOT: std::ops::Range<usize> = 0..100_000;
const HOT_EVERY: usize = 20;
/// The capacity of the hot key, in entries per second.
const HOT_RATE: f64 = 1_000.0;
const ROUND_TRIP: Duration = Duration::from_millis(1);
/// Entries after which the figures are read again.
const LOOK_EVERY: usize = 1_000;

/// A table whose hot key has the capacity [`HOT_RATE`]; all other keys are unlimited.
struct HotTable {
    table: DynamoTable,
    /// When the hot key was last written, and the capacity that was banked then.
    hot: Mutex<(Instant, f64)>,
}

impl BatchTarget for HotTable {
    type Entry = WriteRequest;

    fn name(&self) -> Cow<'_, str> {
        self.table.name()
    }

    fn limits(&self) -> Limits {
        BatchTarget::limits(&self.table)
    }

    fn check(&self, entry: &WriteRequest) -> Result<usize, InvalidEntry> {
        self.table.check(entry)
    }

    fn lane(&self, entry: &WriteRequest) -> Option<Lane> {
        self.table.lane(entry)
    }

    fn partition_key(&self, entry: &WriteRequest) -> Option<u64> {
        self.table.partition_key(entry)
    }

    async fn send(&self, chunk: &[WriteRequest]) -> Answer {
        sleep(ROUND_TRIP).await;
        let mut hot = self.hot.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let saved = (hot.1 + HOT_RATE * (now - hot.0).as_secs_f64()).min(HOT_RATE / 10.0);
        *hot = (now, saved);
        let verdict = |entry: &WriteRequest| {
            if !is_hot(entry) {
                return Verdict::Accepted;
            }
            if hot.1 < 1.0 {
                return Verdict::Rejected(Rejection::Unprocessed, Fault::new("UnprocessedItems"));
            }
            hot.1 -= 1.0;
            Verdict::Accepted
        };
        Answer::Each(chunk.iter().map(verdict).collect())
    }
}

fn is_hot(entry: &WriteRequest) -> bool {
    let customer = entry.put_request().and_then(|put| put.item().get("customer"));
    customer.is_some_and(|customer| customer.as_s().is_ok_and(|name| name == "hot"))
}

fn write(number: usize, note: &str) -> WriteRequest {
    let customer = if HOT.contains(&number) && number.is_multiple_of(HOT_EVERY) {
        "hot".to_owned()
    } else {
        format!("customer-{number}")
    };
    let put = PutRequest::builder()
        .item("customer", AttributeValue::S(customer))
        .item("id", AttributeValue::S(format!("order-{number:012}")))
        .item("note", AttributeValue::S(note.to_owned()))
        .build()
        .expect("an item is there");
    WriteRequest::builder().put_request(put).build()
}

/// Delivers this many entries with a note of `note` bytes. Returns how many were delivered, and the most entries and bytes that
/// were read ahead.
pub(crate) async fn deliver(client: Client, entries: usize, note: usize) -> (u64, u64, u64) {
    let progress = Progress::default();
    let table = HotTable {
        table: DynamoTable::new(client, "orders").key_with_sort("customer", "id"),
        hot: Mutex::new((Instant::now(), 0.0)),
    };
    let options = DeliveryOptions::default().progress(&progress);
    let most = Arc::new(Mutex::new((0, 0)));
    let (figures, seen) = (progress.clone(), Arc::clone(&most));
    let note = "n".repeat(note);
    let writes = (0..entries).map(move |number| {
        if number.is_multiple_of(LOOK_EVERY) {
            let now = figures.snapshot();
            let mut most = seen.lock().unwrap_or_else(PoisonError::into_inner);
            *most = (most.0.max(now.read_ahead), most.1.max(now.read_ahead_bytes));
        }
        write(number, &note)
    });
    let delivery = Delivery::new(table).options(options);
    let delivered = delivery.deliver_stream(stream::iter(writes)).await;
    let report = delivered.expect("the table takes everything in time");
    let (entries, bytes) = *most.lock().unwrap_or_else(PoisonError::into_inner);
    (report.delivered, entries, bytes)
}
