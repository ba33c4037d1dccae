//! Situations from bug reports of other programs that scan tables.

use std::collections::HashSet;

use aws_batch_delivery::sources::{Scan, ScanPosition};
use aws_batch_simulator::{Capacity, Simulator};
use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, TryStreamExt};

use crate::scans::{by_id, delete, filled, id};

/// A scan with far more segments than items returned nothing: <https://github.com/boto/boto3/issues/3020>.
#[tokio::test(start_paused = true)]
async fn more_segments_than_items_return_all_items() {
    let simulator = Simulator::new(1);
    filled(&simulator, by_id(), 30, 100).await;
    let items = Scan::new(simulator.dynamo_client(), "films").segments(300).items();
    assert_eq!(items.map(Result::unwrap).count().await, 30);
}

/// A segment that had ended began again, without an end: <https://github.com/dynamoose/dynamoose/issues/460>.
#[tokio::test(start_paused = true)]
async fn a_segment_that_has_ended_is_not_read_again() {
    let simulator = Simulator::new(1);
    let films = filled(&simulator, by_id(), 40, 100).await;
    let scan = Scan::new(simulator.dynamo_client(), "films").segments(4);
    let mut items = scan.clone().items();
    let progress = items.progress();
    let mut settled = 0;
    while let Some(item) = items.try_next().await.unwrap() {
        assert!(!id(&item).is_empty());
        settled += 1;
    }
    let calls = films.read_statistics().calls;
    let position = progress.position_after(settled);
    assert!(position.is_finished());
    assert_eq!(scan.from_position(position).items().count().await, 0);
    assert_eq!(films.read_statistics().calls, calls);
}

/// A limit of 8 items was taken for 8 read units: <https://github.com/markitx/dynamo-backup-to-s3/issues/60>.
#[expect(clippy::cast_precision_loss, reason = "a few pages")]
#[tokio::test(start_paused = true)]
async fn large_items_count_by_their_read_units() {
    let simulator = Simulator::new(1);
    let films = filled(&simulator, by_id(), 100, 40_000).await;
    films.set_read_capacity(Capacity::per_second(10.0).burst(10.0));
    let items = Scan::new(simulator.dynamo_client(), "films").segments(2).items();
    assert_eq!(items.map(Result::unwrap).count().await, 100);
    let read = films.read_statistics();
    // Each has 5 units: a page of two would take a second.
    assert!(read.units / 5.0 < read.applied as f64 + 5.0, "{read:?}");
    assert!(read.throttled < 2 * read.applied, "{read:?}");
}

/// A run that was interrupted had to begin again: <https://github.com/amazon-archives/dynamodb-import-export-tool/issues/5>. And an
/// emulator lost its place when the item of the key was deleted: <https://github.com/faiscadev/fakecloud/pull/2518>.
#[tokio::test(start_paused = true)]
async fn a_scan_continues_after_an_item_that_was_deleted() {
    let simulator = Simulator::new(1);
    filled(&simulator, by_id(), 100, 100).await;
    let scan = Scan::new(simulator.dynamo_client(), "films").segments(1).page_items(10);
    let mut items = scan.clone().items();
    let progress = items.progress();
    let first: Vec<String> = items.by_ref().take(50).map(|item| id(&item.unwrap())).collect().await;
    let written = serde_json::to_string(&progress.position_after(50)).unwrap();
    let position: ScanPosition = serde_json::from_str(&written).unwrap();
    let delivery = aws_batch_delivery::Delivery::to_dynamo(simulator.dynamo_client(), "films");
    delivery.deliver(first.iter().map(delete)).await.unwrap();
    let rest: HashSet<String> = scan
        .from_position(position)
        .items()
        .map(|item| id(&item.unwrap()))
        .collect()
        .await;
    assert_eq!(rest.len(), 50);
    assert!(first.iter().all(|id| !rest.contains(id)));
}

/// A placeholder of a projection that is a reserved word.
#[tokio::test(start_paused = true)]
async fn a_projection_names_attributes_by_placeholders() {
    let simulator = Simulator::new(1);
    filled(&simulator, by_id(), 10, 100).await;
    let scan = Scan::new(simulator.dynamo_client(), "films")
        .projection("#text")
        .name("#text", "text");
    let items: Vec<_> = scan.items().try_collect().await.unwrap();
    assert_eq!(items.len(), 10);
    for item in items {
        assert_eq!(item.keys().collect::<Vec<_>>(), ["text"]);
        assert!(matches!(item["text"], AttributeValue::S(_)));
    }
}
