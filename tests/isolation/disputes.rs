//! Refusals that leave open whether an entry is the reason, or something that all calls share at the moment.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, Fault, Lane, Limits, Verdict};
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions};
use proptest::prelude::*;
use tokio::time::Instant;

use crate::isolation::all_or_nothing::{ENTRIES, allowed, handed_back};
use crate::support::cases::cases;
use crate::support::options::no_delay;
use crate::support::paused::paused;
use crate::support::scripted::{Calls, Scripted};

/// Disputes calls with a denied entry, and all calls that are answered within some time from now on.
fn disputing(denied: impl IntoIterator<Item = usize>, outage: Range<Duration>) -> (Scripted, Calls) {
    let denied: HashSet<usize> = denied.into_iter().collect();
    let started = Instant::now();
    Scripted::new(
        Limits::new(ENTRIES, 1_000),
        |_| 1,
        move |_, chunk| {
            let is_denied = chunk.iter().any(|entry| denied.contains(entry));
            if is_denied || outage.contains(&started.elapsed()) {
                Answer::Disputed(Fault::new("AccessDeniedException"))
            } else {
                Answer::Each(vec![Verdict::Accepted; chunk.len()])
            }
        },
    )
}

const NO_OUTAGE: Range<Duration> = Duration::ZERO..Duration::ZERO;

fn assert_all_refused(error: &DeliveryError<usize>) {
    for undelivered in error.undelivered() {
        let is_refused = matches!(&undelivered.cause, Cause::Refused(fault) if fault.code() == "AccessDeniedException");
        assert!(is_refused, "{}", undelivered.cause);
    }
}

#[tokio::test(start_paused = true)]
async fn entries_of_a_denied_key_are_handed_back_alone() {
    // One key in 50, its entries spread over the input, side by side in the middle, or at its end.
    let spread: Vec<usize> = (0..20_000).filter(|entry| entry % 50 == 7).collect();
    let side_by_side: Vec<usize> = (8_000..8_400).collect();
    let at_the_end: Vec<usize> = (19_990..20_000).collect();
    for denied in [spread, side_by_side, at_the_end] {
        let (target, _) = disputing(denied.clone(), NO_OUTAGE);
        let delivery = Delivery::new(target).options(no_delay());
        let error = delivery.deliver(0..20_000).await.unwrap_err();
        assert_eq!(handed_back(&error), denied);
        assert_all_refused(&error);
        assert!(error.report.elapsed < Duration::from_mins(1), "{}", error.report);
        // Each is sent once more after others were accepted, or now and then for some seconds.
        let most = 20_000_u64.div_ceil(ENTRIES as u64) + denied.len() as u64 * (allowed(ENTRIES) + 8);
        assert!(error.report.calls <= most, "{} calls", error.report.calls);
    }
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_is_missing_for_all_entries_stops_the_delivery_soon() {
    for (count, most) in [(1, 1), (20, 40), (100_000, 200)] {
        let (target, calls) = disputing(0..100_000, NO_OUTAGE);
        let started = Instant::now();
        let error = Delivery::new(target).deliver(0..count).await.unwrap_err();
        assert_eq!(error.undelivered().len(), count);
        for undelivered in error.undelivered() {
            assert!(matches!(&undelivered.cause, Cause::Stopped(fault) if fault.code() == "AccessDeniedException"));
        }
        let calls = calls.lock().unwrap().len();
        assert!(
            calls <= most && started.elapsed() < Duration::from_secs(1),
            "{calls} calls"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn some_seconds_in_which_every_call_is_refused_cost_no_entry() {
    for concurrency in [4, 16] {
        let outage = Duration::from_millis(40)..Duration::from_secs(3);
        let (target, calls) = disputing([], outage.clone());
        let options = DeliveryOptions::default().concurrency(concurrency);
        let started = Instant::now();
        let report = Delivery::new(target).options(options).deliver(0..6_000).await.unwrap();
        assert_eq!(report.delivered, 6_000);
        assert!(
            started.elapsed() < outage.end + Duration::from_secs(2),
            "{:?}",
            started.elapsed()
        );
        let calls = calls.lock().unwrap().len();
        assert!(calls < 600, "{calls} calls");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_for_as_long_as_entries_may_be_tried_is_an_outage() {
    let patience = Duration::from_mins(1);
    let (target, _) = disputing([], Duration::from_millis(40)..Duration::from_hours(1));
    let options = DeliveryOptions::default().give_up_after(patience);
    let started = Instant::now();
    let error = Delivery::new(target)
        .options(options)
        .deliver(0..6_000)
        .await
        .unwrap_err();
    assert!(started.elapsed() <= patience + Duration::from_secs(1));
    assert_eq!(error.report.delivered + error.report.undelivered, 6_000);
    for undelivered in error.undelivered() {
        assert!(
            matches!(undelivered.cause, Cause::Outage { .. }),
            "{}",
            undelivered.cause
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_reason_to_stop_does_not_stop_a_delivery_that_has_delivered_something() {
    let started = Instant::now();
    let (target, _) = Scripted::new(
        Limits::new(ENTRIES, 1_000),
        |_| 1,
        move |number, chunk| {
            let millis = started.elapsed().as_millis();
            if number == 40 || (1_000..2_000).contains(&millis) {
                Answer::Stop(Fault::new("UnrecognizedClientException"))
            } else {
                Answer::Each(vec![Verdict::Accepted; chunk.len()])
            }
        },
    );
    let report = Delivery::new(target).deliver(0..6_000).await.unwrap();
    assert_eq!(report.delivered, 6_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(32), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exactly_the_denied_entries_are_refused_whatever_happens_beside_them(
        runs in prop::collection::vec((100..400_usize, 1..40_usize), 1..8),
        starts in 10..200_u64,
        millis in 0..3_000_u64,
        concurrency in 1..32_usize,
        ordered in any::<bool>(),
    ) {
        // Valid entries, then denied ones.
        let mut denied = Vec::new();
        let mut entries = 0;
        for (valid, bad) in runs {
            denied.extend(entries + valid..entries + valid + bad);
            entries += valid + bad;
        }
        let starts = Duration::from_millis(starts);
        let outage = starts..starts + Duration::from_millis(millis);
        let delivered = paused(async {
            let (mut target, calls) = disputing(denied.clone(), outage);
            if ordered {
                target.lane = |entry| Some(Lane::ordered(&(entry % 40)));
            }
            let options = no_delay().concurrency(concurrency);
            (Delivery::new(target).options(options).deliver(0..entries).await, calls)
        });
        let (report, undelivered) = match delivered.0 {
            Ok(report) => (report, Vec::new()),
            Err(error) => {
                assert_all_refused(&error);
                (error.report.clone(), handed_back(&error))
            }
        };
        prop_assert_eq!(report.delivered, (entries - denied.len()) as u64);
        prop_assert_eq!(undelivered, denied);
        if ordered {
            // Of each lane, an entry is sent last after all earlier ones were.
            let calls = delivered.1.lock().unwrap();
            let mut last = vec![0; entries];
            for (number, call) in calls.iter().enumerate() {
                for entry in call {
                    last[*entry] = number;
                }
            }
            for entry in 40..entries {
                prop_assert!(last[entry - 40] <= last[entry], "{} passed {}", entry, entry - 40);
            }
        }
    }
}
