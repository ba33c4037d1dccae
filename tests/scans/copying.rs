//! A scan as the input of a delivery.

use aws_batch_delivery::sources::Scan;
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress};
use aws_batch_simulator::{Capacity, Faults, InjectedFault, Simulator};

use crate::scans::{by_id, filled, put_item};

#[tokio::test(start_paused = true)]
async fn a_table_is_copied_at_the_paces_of_both() {
    let simulator = Simulator::new(5);
    let films = filled(&simulator, by_id(), 1_000, 500).await;
    films.set_read_capacity(Capacity::per_second(100.0));
    films.set_read_faults(Faults::none().calls(0.1, InjectedFault::Dropped { applied: false }));
    let copied = simulator.table("copy", by_id().capacity(Capacity::per_second(150.0)));
    let items = Scan::new(simulator.dynamo_client(), "films").items();
    let scanned = items.progress();
    let progress = Progress::default();
    let copy = Delivery::to_dynamo(simulator.dynamo_client(), "copy")
        .options(DeliveryOptions::default().progress(&progress))
        .map_entries(put_item);
    let report = copy.try_deliver_stream(items).await.unwrap();
    assert_eq!(report.delivered, 1_000);
    assert_eq!(copied.items(), films.items());
    let settled = progress.snapshot().settled_until.unwrap();
    assert!(scanned.position_after(settled).is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_fails_is_the_error_of_the_stream() {
    let simulator = Simulator::new(5);
    let films = filled(&simulator, by_id(), 100, 500).await;
    simulator.table("copy", by_id());
    let gone = InjectedFault::error(400, "ResourceNotFoundException", false);
    films.script_reads([InjectedFault::None, gone]);
    let items = Scan::new(simulator.dynamo_client(), "films")
        .segments(1)
        .page_items(8)
        .items();
    let copy = Delivery::to_dynamo(simulator.dynamo_client(), "copy").map_entries(put_item);
    let error = copy.try_deliver_stream(items).await.unwrap_err();
    assert_eq!(error.report.delivered, 8);
    let reason = error.stream_error.as_ref().unwrap().to_string();
    assert!(
        reason.contains("because Scan failed: refused: ResourceNotFoundException"),
        "{reason}"
    );
}
