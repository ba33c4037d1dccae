//! Why a scan ends early.

use std::error::Error;
use std::future::ready;
use std::time::Duration;

use aws_batch_delivery::events::UNCLAIMED;
use aws_batch_delivery::sources::{Scan, SourceError};
use aws_batch_delivery::{Cause, DeliveryOptions};
use aws_batch_simulator::{Capacity, InjectedFault, Latency, Simulator};
use futures::StreamExt;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::scans::{by_id, filled};
use crate::support::log::Log;

/// How many items are returned before the error, and the error. Nothing follows it.
async fn ended(scan: Scan) -> (usize, SourceError) {
    let mut items = scan.items();
    let mut returned = 0;
    loop {
        match items.next().await.expect("the scan fails") {
            Ok(_) => returned += 1,
            Err(error) => {
                assert!(items.next().await.is_none());
                return (returned, error);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_that_does_not_exist_ends_the_scan_at_once() {
    let simulator = Simulator::new(1);
    let started = Instant::now();
    let (returned, error) = ended(Scan::new(simulator.dynamo_client(), "films")).await;
    assert_eq!(returned, 0);
    assert!(error.to_string().contains("ResourceNotFoundException"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_table_that_disappears_and_a_permission_that_is_taken_away_end_the_scan_midway() {
    for code in ["ResourceNotFoundException", "AccessDeniedException"] {
        let simulator = Simulator::new(1);
        let films = filled(&simulator, by_id(), 200, 100).await;
        let faults = std::iter::repeat_n(InjectedFault::None, 3);
        films.script_reads(faults.chain(std::iter::repeat_n(InjectedFault::error(400, code, false), 1_000)));
        let scan = Scan::new(simulator.dynamo_client(), "films").segments(2).page_items(10);
        let (returned, error) = ended(scan).await;
        assert_eq!(returned, 30, "{code}");
        assert!(
            matches!(&error.cause, Cause::Refused(fault) if fault.code() == code),
            "{error}"
        );
        assert!(error.source().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_is_wrong_is_refused_in_the_words_of_the_service() {
    let simulator = Simulator::new(1);
    filled(&simulator, by_id(), 10, 100).await;
    let scan = Scan::new(simulator.dynamo_client(), "films").filter("year <");
    let (_, error) = ended(scan).await;
    let Cause::Refused(fault) = &error.cause else {
        panic!("{error}");
    };
    assert_eq!(fault.code(), "ValidationException");
    assert!(fault.message().is_some());
}

#[tokio::test(start_paused = true)]
async fn credentials_that_stay_expired_end_the_scan_when_its_time_is_used_up() {
    let simulator = Simulator::new(1);
    let films = filled(&simulator, by_id(), 200, 100).await;
    let expired = InjectedFault::error(400, "ExpiredTokenException", false);
    films.script_reads(
        [InjectedFault::None]
            .into_iter()
            .chain(std::iter::repeat_n(expired, 100_000)),
    );
    let options = DeliveryOptions::default().give_up_after(Duration::from_mins(2));
    let scan = Scan::new(simulator.dynamo_client(), "films")
        .page_items(10)
        .options(options);
    let started = Instant::now();
    let (returned, error) = ended(scan).await;
    assert_eq!(returned, 10);
    assert!(
        error.to_string().contains("the AWS credentials have expired"),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_mins(4));
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_waited_out() {
    let simulator = Simulator::new(1);
    let films = filled(&simulator, by_id(), 200, 100).await;
    films.set_read_capacity(Capacity::none());
    let outage = films.clone();
    let end = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_mins(10)).await;
        outage.set_read_capacity(Capacity::unlimited());
    });
    let items = Scan::new(simulator.dynamo_client(), "films").items();
    assert_eq!(items.map(Result::unwrap).count().await, 200);
    end.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_scan_ends_and_can_be_continued() {
    let simulator = Simulator::new(1);
    filled(&simulator, by_id(), 200, 100).await;
    let token = CancellationToken::new();
    let scan = Scan::new(simulator.dynamo_client(), "films").segments(3).page_items(5);
    let mut items = scan
        .clone()
        .options(DeliveryOptions::default().cancellation(token.clone()))
        .items();
    let progress = items.progress();
    let mut settled = 0;
    while let Some(Ok(_)) = items.next().await {
        settled += 1;
        if settled == 50 {
            token.cancel();
        }
    }
    assert!((50..200).contains(&settled), "{settled}");
    let rest = scan.from_position(progress.position_after(settled)).items();
    assert_eq!(rest.map(Result::unwrap).count().await as u64 + settled, 200);
}

/// A page that was not read is no entry whose outcome is lost.
#[tokio::test(start_paused = true)]
async fn a_cancelled_scan_warns_of_nothing() {
    let log = Log::start();
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(100)));
    filled(&simulator, by_id(), 200, 100).await;
    let token = CancellationToken::new();
    let mut items = Scan::new(simulator.dynamo_client(), "films")
        .segments(8)
        .page_items(5)
        .options(DeliveryOptions::default().cancellation(token.clone()))
        .items();
    items.next().await.unwrap().unwrap();
    token.cancel();
    // What reads the stream takes its time.
    sleep(Duration::from_secs(10)).await;
    drop(items);
    sleep(Duration::from_secs(10)).await;
    assert!(log.of(UNCLAIMED).is_empty(), "{:?}", log.of(UNCLAIMED));
}

/// The cause is the same whether a page is read at that time or the next one is not asked for yet.
#[tokio::test(start_paused = true)]
async fn a_scan_that_is_ended_says_by_what() {
    for is_idle in [false, true] {
        for is_cancelled in [false, true] {
            let simulator = Simulator::new(1);
            simulator.set_latency(Latency::fixed(Duration::from_millis(100)));
            filled(&simulator, by_id(), 200, 100).await;
            let token = CancellationToken::new();
            let options = DeliveryOptions::default().cancellation(token.clone());
            let options = if is_cancelled {
                options
            } else {
                options.deadline(Instant::now() + Duration::from_secs(10))
            };
            let scan = Scan::new(simulator.dynamo_client(), "films")
                .page_items(5)
                .options(options);
            let mut items = scan.items();
            for _ in 0..6 {
                items.next().await.unwrap().unwrap();
            }
            if is_idle {
                sleep(Duration::from_secs(20)).await;
            }
            if is_cancelled {
                token.cancel();
            } else {
                sleep(Duration::from_secs(20)).await;
            }
            let error = items.filter_map(|item| ready(item.err())).next().await.unwrap();
            let is_named = match error.cause {
                Cause::Cancelled(_) => is_cancelled,
                Cause::DeadlineReached(_) => !is_cancelled,
                _ => false,
            };
            assert!(is_named, "idle: {is_idle}, cancelled: {is_cancelled}: {error}");
        }
    }
}
