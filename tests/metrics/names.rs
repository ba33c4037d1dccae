//! The names are those of the documentation, and nothing has what is in an entry.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_batch_simulator::{Capacity, InjectedFault};
use tokio::time::Instant;

use crate::metrics::meters::meters;
use crate::metrics::{message, put, with_queue, with_table};

#[tokio::test(start_paused = true)]
async fn the_instruments_are_those_of_the_documentation() {
    meters();
    let (simulator, _table) = with_table("names");
    let options = DeliveryOptions::default();
    deliver_batch_to_dynamo(&simulator.dynamo_client(), "names", [put("a")], &options)
        .await
        .unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `aws_batch_delivery."));
    let documented = rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let kind = ["counter", "up-down counter", "gauge", "histogram"]
            .into_iter()
            .find(|kind| *kind == cells[2]);
        (cells[1].to_owned(), kind.unwrap(), cells[3].to_owned())
    });
    let documented: BTreeSet<_> = documented.collect();
    assert_eq!(documented.len(), 15);
    assert_eq!(meters().instruments("aws_batch_delivery"), documented);
}

#[tokio::test(start_paused = true)]
async fn metrics_show_neither_what_is_in_an_entry_nor_an_account_id() {
    const SECRET: &str = "hunter2";
    const ACCOUNT: &str = "000000000000";
    meters();
    let options = || DeliveryOptions::default().deadline(Instant::now() + Duration::from_secs(10));
    let (simulator, table) = with_table("secrets");
    table.set_capacity(Capacity::none());
    let writes: Vec<_> = (0..30).map(|number| put(&format!("{SECRET}{number}"))).collect();
    let client = simulator.dynamo_client();
    deliver_batch_to_dynamo(&client, "secrets", writes.clone(), &options())
        .await
        .unwrap_err();
    let arn = format!("arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/secrets");
    // Not there under this name, or there: either way its account is not told.
    _ = deliver_batch_to_dynamo(&client, arn, writes, &options()).await;

    let (simulator, queue) = with_queue("secrets");
    assert!(queue.url().contains(ACCOUNT), "{}", queue.url());
    queue.script([InjectedFault::failed(1, "InvalidMessageContents", true)]);
    let messages = [message(SECRET), message(&format!("{SECRET}\u{7}"))];
    deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), messages, &options())
        .await
        .unwrap_err();
    let text = meters().text();
    for known in ["dynamodb/secrets", "sqs/secrets", "InvalidMessageContents"] {
        assert!(text.contains(known), "{known} is not in {text}");
    }
    for secret in [SECRET, ACCOUNT] {
        assert!(!text.contains(secret), "{text}");
    }
}
