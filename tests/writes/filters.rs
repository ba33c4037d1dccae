//! Scans with filters, whose pages may have no items.

use std::collections::HashMap;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::Scan;
use aws_batch_simulator::{KeyType, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures::TryStreamExt;

fn number(value: usize) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

async fn films(simulator: &Simulator) -> Table {
    let films = simulator.table("films", TableOptions::key("id", KeyType::N));
    let put = |id: usize| {
        let put = PutRequest::builder()
            .item("id", number(id))
            .item("year", number(1_900 + id));
        let put = put.build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "films");
    delivery.deliver((0..200).map(put)).await.unwrap();
    films
}

fn of_1950(simulator: &Simulator) -> Scan {
    Scan::new(simulator.dynamo_client(), "films")
        .filter("#year = :year")
        .name("#year", "year")
        .value(":year", number(1_950))
}

/// Loops that stop at a page without items miss the rest: <https://github.com/boto/boto/issues/1713>.
#[tokio::test(start_paused = true)]
async fn a_page_without_items_does_not_end_the_scan() {
    let simulator = Simulator::new(1);
    let films = films(&simulator).await;
    for segments in [1, 4] {
        let scan = of_1950(&simulator).segments(segments).page_items(3);
        let items: Vec<HashMap<_, _>> = scan.items().try_collect().await.unwrap();
        assert_eq!(items.len(), 1);
        assert_eq!(items[0]["id"], number(50));
    }
    assert!(films.read_statistics().calls > 2 * 60);
}

#[tokio::test(start_paused = true)]
async fn a_count_has_the_items_that_the_filter_holds_for() {
    let simulator = Simulator::new(1);
    films(&simulator).await;
    let counted = of_1950(&simulator).filter("#year < :year").count().await.unwrap();
    assert_eq!((counted.items, counted.scanned), (50, 200));
    // What only the projection names is left out with it.
    let projected = of_1950(&simulator).projection("#id").name("#id", "id");
    assert_eq!(projected.count().await.unwrap().items, 1);
    let all = Scan::new(simulator.dynamo_client(), "films")
        .projection("#id")
        .name("#id", "id");
    assert_eq!(all.count().await.unwrap().items, 200);
}

#[tokio::test(start_paused = true)]
async fn pages_without_items_are_settled_with_the_items_before_them() {
    let simulator = Simulator::new(1);
    films(&simulator).await;
    let mut items = of_1950(&simulator).page_items(3).items();
    let progress = items.progress();
    assert!(items.try_next().await.unwrap().is_some());
    assert!(items.try_next().await.unwrap().is_none());
    assert!(!progress.position_after(0).is_finished());
    assert!(progress.position_after(1).is_finished());
}
