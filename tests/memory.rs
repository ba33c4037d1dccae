//! Neither retries nor long streams need memory, and what waits is counted by what it takes. A separate test binary, because it
//! counts the allocations of the whole process.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry, Report};
use aws_batch_simulator::Simulator;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::stream;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// One test at a time, because each counts the allocations of the whole process.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const ROUNDS: usize = 100_001;

/// The allocations of each round.
static ALLOCATED_BY_ROUND: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Rejects everything before the last round.
struct Stubborn;

impl BatchTarget for Stubborn {
    type Entry = ();

    fn limits(&self) -> Limits {
        Limits::new(10, 10).with_entry_bytes(1)
    }

    fn check(&self, (): &()) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, _: &[()]) -> Answer {
        let mut allocated = ALLOCATED_BY_ROUND.lock().unwrap();
        allocated.push(ALLOCATED.current_usage());
        if allocated.len() < ROUNDS {
            Answer::Whole(Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")))
        } else {
            Answer::Whole(Verdict::Accepted)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_resubmissions_cost_no_memory() {
    let _alone = ALONE.lock().await;
    ALLOCATED_BY_ROUND.lock().unwrap().reserve_exact(ROUNDS);
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::ZERO)
        .give_up_after(Duration::MAX);
    let report = Delivery::new(Stubborn).options(options).deliver([()]).await.unwrap();
    assert_eq!(report.resubmitted, 100_000);

    let allocated = ALLOCATED_BY_ROUND.lock().unwrap();
    let (early, late) = allocated.split_at(ROUNDS / 10);
    let (early, late) = (early.iter().max().unwrap(), late.iter().max().unwrap());
    assert!(
        late <= &(early + 4096),
        "{early} bytes in the first tenth, {late} bytes later"
    );
}

/// Accepts everything, and records the peak while the first tenth of a stream was delivered.
struct Greedy;

impl BatchTarget for Greedy {
    type Entry = Vec<u8>;

    fn limits(&self) -> Limits {
        Limits::new(500, usize::MAX)
    }

    fn check(&self, entry: &Vec<u8>) -> Result<usize, InvalidEntry> {
        Ok(entry.len())
    }

    async fn send(&self, chunk: &[Vec<u8>]) -> Answer {
        Answer::Each(vec![Verdict::Accepted; chunk.len()])
    }
}

const ENTRIES: usize = 1_000_000;

/// The peak in the first tenth of a stream, and in all of it.
async fn peaks<F: Future<Output = Report>>(
    deliver: impl FnOnce(Box<dyn Iterator<Item = Vec<u8>>>) -> F,
) -> (usize, usize) {
    let early = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&early);
    let entries = (0..ENTRIES).map(move |number| {
        if number == ENTRIES / 10 {
            noted.store(ALLOCATED.peak_usage(), Relaxed);
        }
        vec![0; 100]
    });
    ALLOCATED.reset_peak_usage();
    let report = deliver(Box::new(entries)).await;
    assert_eq!(report.delivered, ENTRIES as u64);
    (early.load(Relaxed), ALLOCATED.peak_usage())
}

/// All calls are in flight from the start.
fn greedy() -> Delivery<Greedy> {
    Delivery::new(Greedy).options(DeliveryOptions::default().backoff(|_: u32| Duration::ZERO))
}

#[tokio::test(start_paused = true)]
async fn the_length_of_a_stream_costs_no_memory() {
    let _alone = ALONE.lock().await;
    let (early, peak) = peaks(async |entries| greedy().deliver_stream(stream::iter(entries)).await.unwrap()).await;
    assert!(
        peak <= early + early / 10,
        "{peak} bytes at the end, {early} after a tenth"
    );
}

#[tokio::test(start_paused = true)]
async fn the_length_of_a_stream_of_values_costs_no_memory() {
    let _alone = ALONE.lock().await;
    let (early, peak) = peaks(async |entries| {
        let values = greedy().map_entries(|value: &Vec<u8>| value.clone());
        values.deliver_stream(stream::iter(entries)).await.unwrap()
    })
    .await;
    assert!(
        peak <= early + early / 10,
        "{peak} bytes at the end, {early} after a tenth"
    );
}

/// An item of so many attributes of so many bytes, and a list and a map of such values.
fn write(attributes: usize, text: usize) -> WriteRequest {
    let text = || AttributeValue::S("x".repeat(text));
    let mut item = HashMap::from([("id".to_owned(), AttributeValue::S("1".to_owned()))]);
    for number in 0..attributes {
        item.insert(format!("attribute_{number}"), text());
    }
    item.insert("list".to_owned(), AttributeValue::L((0..10).map(|_| text()).collect()));
    item.insert(
        "set".to_owned(),
        AttributeValue::Ns((0..10).map(|number| number.to_string()).collect()),
    );
    item.insert(
        "map".to_owned(),
        AttributeValue::M(HashMap::from([("text".to_owned(), text())])),
    );
    let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
    WriteRequest::builder().put_request(put).build()
}

#[tokio::test(start_paused = true)]
async fn a_write_weighs_what_it_takes_of_the_memory() {
    let _alone = ALONE.lock().await;
    let table = DynamoTable::new(Simulator::new(1).dynamo_client(), "items").key("id");
    for (attributes, text) in [(1, 1), (40, 13), (100, 1), (1, 30_000)] {
        // The median, as a runtime of another test may start or end meanwhile.
        let mut taken = [0; 11].map(|_| {
            let before = ALLOCATED.current_usage();
            let write = write(attributes, text);
            let after = ALLOCATED.current_usage();
            drop(write);
            after.saturating_sub(before)
        });
        taken.sort_unstable();
        let (taken, write) = (taken[5], write(attributes, text));
        let bytes = table.check(&write).unwrap();
        let weight = table.weight(&write, bytes);
        println!("{attributes} attributes of {text} B: {bytes} B in a call, {taken} B of the heap, weight {weight}");
        assert!((taken..=taken + taken / 2).contains(&weight), "{weight} for {taken}");
    }
}
