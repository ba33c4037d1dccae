//! LocalStack in Docker reports some writes as unprocessed.

use std::env;

use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};

use crate::emulators::Emulators;
use crate::table::{Table, numbered, puts};

/// The share of writes that are reported as unprocessed. `localstack/up` hands it on to the container.
const PROBABILITY: &str = "DYNAMODB_WRITE_ERROR_PROBABILITY";

const WRITES: usize = 2_000;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators in Docker: localstack/test"]
async fn unprocessed_writes_are_sent_again() {
    let emulators = Emulators::find().await;
    let share: f64 = env::var(PROBABILITY).map_or(0.0, |share| share.parse().unwrap());
    assert!(
        share > 0.0,
        "{PROBABILITY} is not set, or the emulators are not in Docker"
    );
    let table = Table::with_id(&emulators, "unprocessed").await;
    let report = deliver_batch_to_dynamo(&table.client, &table.name, puts(WRITES), &DeliveryOptions::default())
        .await
        .unwrap();
    assert_eq!(report.delivered, WRITES as u64);
    assert!(report.resubmitted > 0 && report.throttled > 0, "{report:?}");
    assert_eq!(table.ids().await, (0..WRITES).map(numbered).collect::<Vec<_>>());
    table.remove().await;
}
