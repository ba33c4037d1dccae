//! Every item that is in the table the whole time is returned: once, or after an interruption at least once.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_batch_delivery::sources::{Scan, ScanPosition};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Capacity, Faults, InjectedFault, Latency, Simulator};
use aws_sdk_dynamodb::Client;
use futures::StreamExt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::scans::{by_id, delete, filled, id, item, put_item};
use crate::support::cases::cases;
use crate::support::paused::paused;

/// What happens to the calls of a scan.
#[derive(Debug, Clone)]
struct Trouble {
    throttled: f64,
    dropped: f64,
    failed: f64,
    hung: f64,
    empty: f64,
    capacity: Option<f64>,
}

impl Trouble {
    fn faults(&self) -> Faults {
        Faults::none()
            .calls(self.throttled, InjectedFault::Throttle)
            .calls(self.dropped, InjectedFault::Dropped { applied: false })
            .calls(self.failed, InjectedFault::internal_error(false))
            .calls(self.hung, InjectedFault::Hung { applied: false })
            .calls(self.empty, InjectedFault::Empty { applied: true })
    }
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let share = || prop_oneof![Just(0.0), 0.0..0.15];
    (
        share(),
        share(),
        share(),
        share(),
        share(),
        proptest::option::of(5.0..200.0),
    )
        .prop_map(|(throttled, dropped, failed, hung, empty, capacity)| Trouble {
            throttled,
            dropped,
            failed,
            hung,
            empty,
            capacity,
        })
}

/// A part of a scan that ends before the table does: after so many items, of which so many per cent are settled.
type Part = (usize, u64);

async fn change(client: &Client, round: usize) {
    let writes = (0..6).map(|number| put_item(&item(format!("new {round} {number}"), 50)));
    let older = (0..6)
        .filter(|_| round > 0)
        .map(|number| delete(format!("new {} {number}", round - 1)));
    let delivery = Delivery::to_dynamo(client.clone(), "films");
    delivery.deliver(writes.chain(older)).await.unwrap();
}

/// How often each item was returned: of interrupted parts only those that are settled.
async fn scanned(
    items: usize,
    bytes: usize,
    segments: u32,
    page_items: Option<u32>,
    concurrency: usize,
    trouble: &Trouble,
    parts: &[Part],
) -> BTreeMap<String, u32> {
    let simulator = Simulator::new(7);
    let films = filled(&simulator, by_id(), items, bytes).await;
    films.set_read_faults(trouble.faults());
    if let Some(capacity) = trouble.capacity {
        films.set_read_capacity(Capacity::per_second(capacity));
    }
    simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
    let client = simulator.dynamo_client();
    let mut seen = BTreeMap::new();
    let mut position: Option<ScanPosition> = None;
    for (round, part) in parts.iter().map(Some).chain([None]).enumerate() {
        let mut scan = Scan::new(client.clone(), "films").segments(segments).options(
            DeliveryOptions::default()
                .concurrency(concurrency)
                .attempt_timeout(Duration::from_secs(1)),
        );
        if let Some(items) = page_items {
            scan = scan.page_items(items);
        }
        if let Some(position) = position.take() {
            scan = scan.from_position(position);
        }
        let mut items = scan.items();
        let progress = items.progress();
        let mut returned = Vec::new();
        let most = part.map_or(usize::MAX, |(most, _)| *most);
        while returned.len() < most
            && let Some(item) = items.next().await
        {
            returned.push(id(&item.unwrap()));
            if returned.len().is_multiple_of(20) {
                change(&client, round * 100 + returned.len() / 20).await;
            }
        }
        let settled = part.map_or(returned.len(), |(_, percent)| {
            returned.len() * usize::try_from(*percent).unwrap() / 100
        });
        let written = serde_json::to_string(&progress.position_after(settled as u64)).unwrap();
        let reached: ScanPosition = serde_json::from_str(&written).unwrap();
        for id in returned.into_iter().take(settled) {
            *seen.entry(id).or_insert(0) += 1;
        }
        let is_finished = reached.is_finished();
        position = Some(reached);
        assert!(part.is_some() || is_finished);
    }
    seen
}

proptest! {
    #![proptest_config(Config::with_cases(cases(8)))]

    #[test]
    fn each_item_is_returned_exactly_once(
        items in 0_usize..160,
        bytes in prop_oneof![10_usize..400, 20_000_usize..30_000],
        segments in 1_u32..12,
        page_items in proptest::option::of(1_u32..40),
        concurrency in 1_usize..6,
        trouble in trouble(),
    ) {
        let seen = paused(scanned(items, bytes, segments, page_items, concurrency, &trouble, &[]));
        for id in 0..items {
            prop_assert_eq!(seen.get(&id.to_string()).copied(), Some(1), "item {}", id);
        }
        prop_assert!(seen.values().all(|times| *times == 1), "{:?}", seen);
    }

    #[test]
    fn each_item_is_returned_at_least_once_however_often_the_scan_is_interrupted(
        items in 0_usize..160,
        segments in 1_u32..12,
        page_items in proptest::option::of(1_u32..40),
        concurrency in 1_usize..6,
        trouble in trouble(),
        parts in vec((0_usize..120, 0_u64..=100), 1..4),
    ) {
        let seen = paused(scanned(items, 100, segments, page_items, concurrency, &trouble, &parts));
        for id in 0..items {
            prop_assert!(seen.contains_key(&id.to_string()), "item {}", id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_wait_when_the_items_are_not_taken() {
    let simulator = Simulator::new(1);
    let films = filled(&simulator, by_id(), 2_000, 100).await;
    let scan = Scan::new(simulator.dynamo_client(), "films")
        .segments(20)
        .page_items(10);
    let mut items = scan.options(DeliveryOptions::default().concurrency(4)).items();
    items.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_hours(1)).await;
    // The page of the item, and one for each call that may be in flight.
    assert_eq!(films.read_statistics().calls, 5);
    assert_eq!(items.progress().figures().pages, 1);
    assert_eq!(items.count().await, 1_999);
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_is_dropped_reads_no_more() {
    let simulator = Simulator::new(1);
    let films = filled(&simulator, by_id(), 500, 100).await;
    films.set_read_capacity(Capacity::none());
    let mut items = Scan::new(simulator.dynamo_client(), "films").items();
    tokio::select! {
        _ = items.next() => unreachable!(),
        () = tokio::time::sleep(Duration::from_secs(10)) => {}
    }
    drop(items);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let calls = films.read_statistics().calls;
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(films.read_statistics().calls, calls);
}

#[tokio::test(start_paused = true)]
async fn items_are_counted_without_being_returned() {
    let simulator = Simulator::new(1);
    filled(&simulator, by_id(), 300, 1_000).await;
    let counted = Scan::new(simulator.dynamo_client(), "films").count().await.unwrap();
    assert_eq!((counted.items, counted.scanned), (300, 300));
    assert!(counted.units > 30.0, "{counted:?}");
}
