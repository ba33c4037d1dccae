//! An interrupted load continues where its report says.

use std::error::Error;
use std::time::Duration;

use aws_batch_delivery::{Cause, Delivery, Progress, Report};
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use futures::{StreamExt, stream};
use proptest::prelude::*;
use tokio::time::Instant;

use crate::guarantees::entries::{ROUND_TRIP, no_delay, put_with, with_table};
use crate::support::paused::paused;

const WRITES: u64 = 400;

/// Several versions of a few keys.
fn write(number: u64, keys: u64) -> WriteRequest {
    let version = AttributeValue::N(number.to_string());
    put_with(format!("{}", number % keys), "version", version)
}

/// Delivers a stream, a few calls at a time, and continues where each report says.
async fn interrupted(keys: u64, round_trips: u32, last_write_wins: bool) -> Report {
    let (simulator, table) = with_table();
    table.keep_journal();
    let (mut position, mut handed_back) = (0, Vec::<WriteRequest>::new());
    let mut total = Report::default();
    loop {
        let progress = Progress::default();
        let options = no_delay()
            .concurrency(2)
            .progress(&progress)
            .deadline(Instant::now() + ROUND_TRIP * round_trips);
        let options = if last_write_wins {
            options.last_write_wins()
        } else {
            options
        };
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders")
            .options(options)
            .map_target(|table| table.key("id"));
        let mut read = 0;
        let rest = stream::iter((position..WRITES).map(|number| {
            read += 1;
            write(number, keys)
        }));
        // The entries that were handed back are older, so they go first.
        let again = handed_back.len() as u64;
        let entries = stream::iter(std::mem::take(&mut handed_back)).chain(rest);
        let mut first_left = None;
        let report = match delivery.deliver_stream(entries).await {
            Ok(report) => report,
            Err(error) => {
                let report = error.report.clone();
                assert_eq!(error.interruption().is_some(), !report.finished);
                first_left = error.undelivered().first().map(|left| left.position);
                handed_back = error
                    .into_undelivered()
                    .into_iter()
                    .map(|undelivered| *undelivered.entry)
                    .collect();
                report
            }
        };
        let settled_until = progress.snapshot().settled_until;
        assert_eq!(settled_until, Some(first_left.unwrap_or(report.next_position())));
        assert!(report.next_position() >= again, "what was handed back is read first");
        assert_eq!(
            report.next_position() - again,
            read,
            "where it goes on is what was not read"
        );
        assert!(!report.finished || position + read == WRITES, "{report}");
        position += report.next_position() - again;
        total.delivered += report.delivered;
        total.superseded += report.superseded;
        if report.finished && handed_back.is_empty() {
            break;
        }
    }
    assert_eq!((position, total.delivered + total.superseded), (WRITES, WRITES));
    assert_eq!(table.len() as u64, keys);
    total
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_stream_that_is_interrupted_again_and_again_is_delivered_once(keys in 1_u64..60, round_trips in 2_u32..6, wins: bool) {
        let total = paused(interrupted(keys, round_trips, wins));
        prop_assert_eq!(total.superseded > 0, wins);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_finished_however_early_it_ends() {
    let (simulator, _table) = with_table();
    for wins in [false, true] {
        let options = no_delay().concurrency(1).deadline(Instant::now() + ROUND_TRIP * 2);
        let options = if wins { options.last_write_wins() } else { options };
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders")
            .options(options)
            .map_target(|table| table.key("id"));
        let writes = (0..WRITES).map(|number| write(number, 40));
        let error = delivery.deliver(writes).await.unwrap_err();
        assert!(error.report.finished && error.report.undelivered > 0, "{error}");
        assert!(error.interruption().is_none(), "{error}");
        assert_eq!(error.report.next_position(), WRITES);
        assert!(!error.to_string().contains("position"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_not_read_to_its_end_is_an_error_that_says_why_and_where_to_go_on() {
    let (simulator, _table) = with_table();
    let deadline = Instant::now() + Duration::from_secs(1);
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders")
        .options(no_delay().deadline(deadline))
        .map_target(|table| table.key("id"));
    // All that was read is delivered when the deadline comes.
    let writes = stream::iter((0..50).map(|number| write(number, 50))).chain(stream::pending());
    let error = delivery.deliver_stream(writes).await.unwrap_err();
    let report = &error.report;
    assert_eq!(
        (report.finished, report.next_position(), report.delivered),
        (false, 50, 50)
    );
    assert!(error.undelivered().is_empty());
    let interruption = error.interruption().unwrap();
    assert!(matches!(interruption, Cause::DeadlineReached(None)), "{interruption}");
    let where_to_go_on = "; the input was not read to its end, continue at position 50";
    assert_eq!(error.to_string(), format!("the deadline was reached{where_to_go_on}"));
    assert!(error.source().is_none());
    assert!(report.to_string().ends_with(where_to_go_on), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_is_not_finished() {
    let (simulator, _table) = with_table();
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").map_target(|table| table.key("id"));
    let writes = stream::iter((0..10).map(|number| {
        if number == 7 {
            Err("torn")
        } else {
            Ok(write(number, 10))
        }
    }));
    let error = delivery.try_deliver_stream(writes).await.unwrap_err();
    assert_eq!((error.report.finished, error.report.next_position()), (false, 7));
    assert_eq!(error.to_string(), "the stream failed after 7 entries");
}
