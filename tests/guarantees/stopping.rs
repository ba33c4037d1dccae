//! A delivery that is told to end hands back what it has not delivered.

use std::time::Duration;

use aws_batch_delivery::{Cause, DeliveryError, DeliveryOptions, deliver_batch_to_dynamo};
use aws_sdk_dynamodb::types::WriteRequest;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use aws_batch_simulator::InjectedFault;

use crate::guarantees::entries::{ROUND_TRIP, no_delay, puts, with_table};

const GRACE: Duration = Duration::from_millis(500);

/// Delivers 1,000 puts, four calls at a time. The third call hangs. Returns the error and how long it took.
async fn deliver_until(
    stop: impl FnOnce(DeliveryOptions) -> DeliveryOptions,
) -> (DeliveryError<WriteRequest>, Duration) {
    let (simulator, table) = with_table();
    table.script([
        InjectedFault::None,
        InjectedFault::None,
        InjectedFault::Hung { applied: true },
    ]);
    let options = stop(no_delay().concurrency(4).grace(GRACE));
    let started = Instant::now();
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", puts(1_000), &options)
        .await
        .unwrap_err();
    let took = started.elapsed();

    assert_eq!(error.report.delivered + error.report.undelivered, 1_000);
    assert_eq!(error.undelivered().len() as u64, error.report.undelivered);
    // The hung call was applied, although no answer confirmed it.
    assert_eq!(table.len() as u64, error.report.delivered + 25);
    (error, took)
}

fn assert_what_was_in_flight_is_marked(error: &DeliveryError<WriteRequest>) {
    for undelivered in error.undelivered() {
        let hung = (50..75).contains(&undelivered.position);
        assert_eq!(undelivered.may_have_been_delivered, hung, "{}", undelivered.position);
        assert_eq!(undelivered.attempts, u32::from(hung));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_in_the_middle_it_returns_within_the_grace() {
    let token = CancellationToken::new();
    let after = ROUND_TRIP * 3;
    let canceller = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        canceller.cancel();
    });
    let (error, took) = deliver_until(|options| options.cancellation(token)).await;
    assert_eq!(took, after + GRACE);
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Cancelled(_)))
    );
    assert_what_was_in_flight_is_marked(&error);
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_it_returns_within_the_grace() {
    let after = ROUND_TRIP * 3;
    let (error, took) = deliver_until(|options| options.deadline(Instant::now() + after)).await;
    assert_eq!(took, after + GRACE);
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::DeadlineReached(_)))
    );
    assert_what_was_in_flight_is_marked(&error);
}

#[tokio::test(start_paused = true)]
async fn cancelled_before_the_start_it_sends_nothing() {
    let (simulator, table) = with_table();
    let token = CancellationToken::new();
    token.cancel();
    let options = no_delay().cancellation(token);
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", puts(100), &options)
        .await
        .unwrap_err();
    assert_eq!((error.undelivered().len(), error.report.calls), (100, 0));
    assert_eq!(table.statistics().calls, 0);
}

#[tokio::test(start_paused = true)]
async fn cancelled_while_entries_rest_it_returns_at_once() {
    let (simulator, table) = with_table();
    table.script(vec![InjectedFault::Throttle; 4]);
    let token = CancellationToken::new();
    let canceller = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        canceller.cancel();
    });
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::from_mins(1))
        .cancellation(token);
    let started = Instant::now();
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", puts(100), &options)
        .await
        .unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    let causes = error.undelivered().iter().map(|undelivered| &undelivered.cause);
    assert_eq!(
        causes
            .filter(|cause| matches!(cause, Cause::Cancelled(Some(_))))
            .count(),
        100
    );
}
