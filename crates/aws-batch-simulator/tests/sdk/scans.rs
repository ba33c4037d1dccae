//! Scans.

use std::collections::{BTreeSet, HashMap};

use aws_batch_simulator::{Capacity, InjectedFault, KeyType, Simulator, Table};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, ReturnConsumedCapacity, Select};

use crate::{by_id, delete, put, put_of, puts, string, write};

fn scan(simulator: &Simulator) -> ScanFluentBuilder {
    simulator
        .dynamo_client()
        .scan()
        .table_name("orders")
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
}

/// One call without the SDK's own retries. Its error by its code and message.
async fn page(call: ScanFluentBuilder) -> Result<ScanOutput, (String, String)> {
    let once = aws_sdk_dynamodb::config::Config::builder().retry_config(RetryConfig::disabled());
    call.customize().config_override(once).send().await.map_err(|error| {
        let told = |text: Option<&str>| text.unwrap_or_default().to_owned();
        (told(error.code()), told(error.message()))
    })
}

fn ids(page: &ScanOutput) -> Vec<String> {
    page.items()
        .iter()
        .map(|item| item["id"].as_s().unwrap().clone())
        .collect()
}

fn units(page: &ScanOutput) -> Option<f64> {
    page.consumed_capacity().and_then(ConsumedCapacity::capacity_units)
}

/// The ids of all pages of a segment, page by page.
async fn segment(simulator: &Simulator, number: i32, total: i32, limit: i32) -> Vec<Vec<String>> {
    let (mut pages, mut start) = (Vec::new(), None);
    loop {
        let call = scan(simulator).segment(number).total_segments(total).limit(limit);
        let page = page(call.set_exclusive_start_key(start)).await.unwrap();
        pages.push(ids(&page));
        start = page.last_evaluated_key;
        if start.is_none() {
            return pages;
        }
    }
}

async fn filled(simulator: &Simulator, items: usize) -> Table {
    let orders = simulator.table("orders", by_id());
    let ids: Vec<usize> = (0..items).collect();
    for ids in ids.chunks(25) {
        let writes = puts(ids.iter().copied());
        write(&simulator.dynamo_client(), "orders", writes).await.unwrap();
    }
    orders
}

#[tokio::test(start_paused = true)]
async fn a_scan_returns_every_item_once() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id().sort_key("at", KeyType::N));
    let dynamo = simulator.dynamo_client();
    for chunk in 0..8 {
        let item = |number: usize| {
            put_of([
                ("id", string("same")),
                ("at", AttributeValue::N((chunk * 25 + number).to_string())),
                ("s", string("x".repeat(10_000))),
            ])
        };
        write(&dynamo, "orders", (0..25).map(item).collect()).await.unwrap();
    }
    for limit in [None, Some(1), Some(7), Some(200)] {
        let mut pages = 0;
        let mut start = None;
        let mut numbers = std::collections::BTreeSet::new();
        loop {
            let call = dynamo
                .scan()
                .table_name("orders")
                .set_limit(limit)
                .set_exclusive_start_key(start);
            let page = call.send().await.unwrap();
            pages += 1;
            for item in page.items() {
                assert!(
                    numbers.insert(item["at"].as_n().unwrap().clone()),
                    "every item comes once"
                );
            }
            start = page.last_evaluated_key().cloned();
            if start.is_none() {
                break;
            }
        }
        assert_eq!(numbers.len(), 200);
        assert!(pages > 1, "two megabytes take two pages");
    }
    assert_eq!(orders.items().len(), 200);
}

#[tokio::test(start_paused = true)]
async fn the_segments_together_return_every_item_once() {
    let simulator = Simulator::new(1);
    filled(&simulator, 300).await;
    for total in [1, 2, 7] {
        let mut all = Vec::new();
        for number in 0..total {
            let segment = segment(&simulator, number, total, 40).await;
            assert!(segment.iter().all(|page| page.len() <= 40));
            all.extend(segment.concat());
        }
        assert_eq!(all.len(), 300);
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 300);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_written_or_deleted_meanwhile_does_not_move_the_other_items() {
    let simulator = Simulator::new(1);
    filled(&simulator, 100).await;
    let first = page(scan(&simulator).limit(50)).await.unwrap();
    let gone: Vec<_> = ids(&first).into_iter().step_by(2).collect();
    let writes: Vec<_> = gone.iter().map(delete).collect();
    write(&simulator.dynamo_client(), "orders", writes).await.unwrap();
    write(
        &simulator.dynamo_client(),
        "orders",
        (0..20).map(|id| put(format!("new {id}"))).collect(),
    )
    .await
    .unwrap();
    let second = page(scan(&simulator).set_exclusive_start_key(first.last_evaluated_key.clone()))
        .await
        .unwrap();
    let seen: Vec<String> = ids(&first).into_iter().chain(ids(&second)).collect();
    for id in 0..100 {
        let id = id.to_string();
        assert_eq!(seen.iter().filter(|seen| **seen == id).count(), 1, "{id}");
    }
    // The key that the first page ended with may be deleted.
    let last = first.last_evaluated_key.clone().unwrap()["id"].as_s().unwrap().clone();
    write(&simulator.dynamo_client(), "orders", vec![delete(last)])
        .await
        .unwrap();
    let again = page(scan(&simulator).set_exclusive_start_key(first.last_evaluated_key))
        .await
        .unwrap();
    assert_eq!(ids(&again), ids(&second));
}

#[tokio::test(start_paused = true)]
async fn a_page_costs_the_bytes_that_it_has_read_together() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    for id in 0..8 {
        let item = put_of([("id", string(id.to_string())), ("text", string("x".repeat(4_090 / 2)))]);
        write(&simulator.dynamo_client(), "orders", vec![item]).await.unwrap();
    }
    // Two such items have 4,096 bytes and a few more.
    let two = page(scan(&simulator).limit(2)).await.unwrap();
    assert_eq!(units(&two), Some(1.0));
    let consistent = page(scan(&simulator).limit(2).consistent_read(true)).await.unwrap();
    assert_eq!(units(&consistent), Some(2.0));
    let count = page(scan(&simulator).select(Select::Count)).await.unwrap();
    assert_eq!((count.count(), count.scanned_count(), units(&count)), (8, 8, Some(2.5)));
    assert!(count.items.is_none());
    let statistics = orders.read_statistics();
    assert_eq!((statistics.calls, statistics.entries, statistics.units), (3, 3, 5.5));
}

#[tokio::test(start_paused = true)]
async fn pages_have_the_capacity_and_the_faults_of_reads() {
    let simulator = Simulator::new(1);
    let orders = filled(&simulator, 10).await;
    orders.script_reads([InjectedFault::Throttle, InjectedFault::Unprocessed(1)]);
    let (code, _) = page(scan(&simulator)).await.unwrap_err();
    assert_eq!(code, "ProvisionedThroughputExceededException");
    let (code, _) = page(scan(&simulator)).await.unwrap_err();
    assert_eq!(code, "InternalServerError");
    orders.set_read_capacity(Capacity::per_second(1.0).burst(1.0).starts_full());
    assert!(page(scan(&simulator)).await.is_ok());
    assert!(page(scan(&simulator)).await.is_ok());
    let once = aws_sdk_dynamodb::config::Config::builder().retry_config(RetryConfig::disabled());
    let error = scan(&simulator)
        .customize()
        .config_override(once)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let aws_sdk_dynamodb::operation::scan::ScanError::ProvisionedThroughputExceededException(error) = error else {
        panic!("{error}");
    };
    assert_eq!(
        error.throttling_reasons()[0].reason(),
        Some("TableReadProvisionedThroughputExceeded")
    );
    let described = simulator
        .dynamo_client()
        .describe_table()
        .table_name("orders")
        .send()
        .await
        .unwrap();
    let throughput = described.table.unwrap().provisioned_throughput.unwrap();
    assert_eq!(throughput.read_capacity_units(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_range_of_items_has_a_read_capacity_of_its_own() {
    let simulator = Simulator::new(1);
    let orders = filled(&simulator, 100).await;
    orders.read_range(Capacity::none(), |item| item["id"]["S"] == "7");
    let mut throttled = 0;
    for number in 0..4 {
        throttled += i32::from(page(scan(&simulator).segment(number).total_segments(4)).await.is_err());
    }
    assert_eq!(throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_breaks_a_rule_is_refused() {
    let simulator = Simulator::new(1);
    let orders = filled(&simulator, 10).await;
    let of_segment = |number: i32, total: i32| scan(&simulator).segment(number).total_segments(total);
    let all = page(scan(&simulator)).await.unwrap();
    let last = HashMap::from([("id".to_owned(), string(ids(&all)[9].clone()))]);
    for (call, part) in [
        (scan(&simulator).limit(0), "greater than or equal to 1"),
        (scan(&simulator).segment(0), "The TotalSegments parameter is required"),
        (scan(&simulator).total_segments(2), "The Segment parameter is required"),
        (of_segment(0, 1_000_001), "less than or equal to 1000000"),
        (of_segment(2, 2), "Segment: 2 is not less than TotalSegments: 2"),
        (
            of_segment(0, 2).set_exclusive_start_key(Some(last)),
            "with correct Segment",
        ),
        (
            scan(&simulator).exclusive_start_key("at", string("1")),
            "does not match the schema",
        ),
        (
            scan(&simulator).index_name("by_customer"),
            "does not have the specified index: by_customer",
        ),
        (
            scan(&simulator).select(Select::Count).projection_expression("id"),
            "only the Count",
        ),
    ] {
        let (code, message) = page(call).await.unwrap_err();
        assert_eq!(code, "ValidationException");
        assert!(message.contains(part), "{message}");
    }
    let statistics = orders.read_statistics();
    assert_eq!((statistics.calls, statistics.refused_calls), (10, 9));
}

#[tokio::test(start_paused = true)]
async fn only_the_attributes_of_the_projection_come_back() {
    let simulator = Simulator::new(1);
    simulator.table("orders", by_id());
    let item = put_of([("id", string("1")), ("a", string("x")), ("b", string("y"))]);
    write(&simulator.dynamo_client(), "orders", vec![item]).await.unwrap();
    let call = scan(&simulator)
        .projection_expression("#0")
        .expression_attribute_names("#0", "b");
    let expected = HashMap::from([("b".to_owned(), string("y"))]);
    assert_eq!(page(call).await.unwrap().items(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn a_filter_leaves_items_out_of_a_page_that_it_costs() {
    let simulator = Simulator::new(1);
    let orders = simulator.table("orders", by_id());
    for id in 0..40 {
        let of = |number: usize| AttributeValue::N(number.to_string());
        let item = put_of([
            ("id", string(id.to_string())),
            ("n", of(id)),
            ("text", string("x".repeat(50_000))),
        ]);
        write(&simulator.dynamo_client(), "orders", vec![item]).await.unwrap();
    }
    let few = || {
        scan(&simulator)
            .filter_expression("#n < :most")
            .expression_attribute_names("#n", "n")
            .expression_attribute_values(":most", AttributeValue::N("3".into()))
    };
    let first = page(few()).await.unwrap();
    assert_eq!(first.scanned_count(), 21, "a page has a megabyte before the filter");
    let second = page(few().set_exclusive_start_key(first.last_evaluated_key.clone()))
        .await
        .unwrap();
    assert!(second.last_evaluated_key.is_none());
    let mut found: Vec<String> = ids(&first).into_iter().chain(ids(&second)).collect();
    found.sort_unstable();
    assert_eq!(found, ["0", "1", "2"]);
    let all = page(few().filter_expression("#n < :most AND attribute_exists(id)"))
        .await
        .unwrap();
    assert_eq!(all.count(), first.count());
    let projected = page(few().projection_expression("id")).await.unwrap();
    assert!(projected.items().iter().all(|item| item.len() == 1));
    let (code, message) = page(scan(&simulator).filter_expression("n <")).await.unwrap_err();
    assert_eq!(code, "ValidationException", "{message}");
    let (_, message) = page(scan(&simulator).filter_expression("n < :missing"))
        .await
        .unwrap_err();
    assert!(message.contains(":missing"), "{message}");
    assert_eq!(orders.read_statistics().calls, 6);
}
