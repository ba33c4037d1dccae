//! A reason that all entries share: it is not searched for in each call, and every entry that may be good is tried.

use std::time::Duration;

use aws_batch_delivery::targets::Lane;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use proptest::prelude::*;

use crate::picky::{ENTRIES, Picky, allowed, handed_back, no_mishap, no_rest};

/// Entries refused alone, in a row, after which each goes alone.
const SUSPICIOUS: u64 = 8;

/// Entries refused alone, in a row, after which a delivery that has delivered nothing stops.
const HOPELESS: u64 = 1_000;

/// Calls beyond one an entry: the searches that are under way when the reason is suspected.
fn searched(concurrency: u64) -> u64 {
    (SUSPICIOUS + concurrency) * allowed(ENTRIES)
}

#[tokio::test(start_paused = true)]
async fn a_delivery_of_which_every_entry_is_refused_stops() {
    let (target, calls) = Picky::new(0..100_000, no_mishap);
    let error = Delivery::new(target)
        .options(no_rest())
        .deliver(0..100_000)
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 100_000);
    assert!(
        error.report.calls <= HOPELESS + 16 + searched(16),
        "{} calls",
        error.report.calls
    );
    let refused = |cause: &Cause| matches!(cause, Cause::Refused(fault) if fault.code() == "ValidationException");
    let stopped = |cause: &Cause| matches!(cause, Cause::Stopped(fault) if fault.code() == "ValidationException");
    let causes = || error.undelivered().iter().map(|undelivered| &undelivered.cause);
    assert!(causes().all(|cause| refused(cause) || stopped(cause)));
    let tried = causes().filter(|cause| refused(cause)).count() as u64;
    assert!((HOPELESS..=HOPELESS + 16).contains(&tried), "{tried} tried");
    let last = calls.lock().unwrap().iter().flatten().max().copied();
    assert!(last < Some(1_500), "{last:?} was sent");
}

#[tokio::test(start_paused = true)]
async fn where_all_are_guilty_each_costs_one_call() {
    let (target, _) = Picky::new(0..500, no_mishap);
    let error = Delivery::new(target)
        .options(no_rest())
        .deliver(0..500)
        .await
        .unwrap_err();
    assert_eq!(handed_back(&error), (0..500).collect::<Vec<_>>());
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Refused(_)))
    );
    assert!(error.report.calls <= 500 + searched(16), "{} calls", error.report.calls);
}

#[tokio::test(start_paused = true)]
async fn a_good_entry_after_a_call_of_bad_ones_is_delivered() {
    for good in [25, 300, 990] {
        let (target, _) = Picky::new((0..1_200).filter(|entry| *entry != good), no_mishap);
        let error = Delivery::new(target)
            .options(no_rest())
            .deliver(0..=good)
            .await
            .unwrap_err();
        assert_eq!((error.report.delivered, error.undelivered().len()), (1, good));
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_has_delivered_something_is_not_stopped() {
    let (target, _) = Picky::new(25..5_025, no_mishap);
    let error = Delivery::new(target)
        .options(no_rest())
        .deliver(0..5_050)
        .await
        .unwrap_err();
    assert_eq!(handed_back(&error), (25..5_025).collect::<Vec<_>>());
    assert!(
        error
            .undelivered()
            .iter()
            .all(|undelivered| matches!(undelivered.cause, Cause::Refused(_)))
    );
    assert!(
        error.report.calls <= 5_002 + searched(16),
        "{} calls",
        error.report.calls
    );
}

#[tokio::test(start_paused = true)]
async fn calls_are_full_again_after_the_first_good_entry() {
    let (target, calls) = Picky::new(0..50, no_mishap);
    let one_at_a_time = no_rest().concurrency(1);
    let error = Delivery::new(target)
        .options(one_at_a_time)
        .deliver(0..501)
        .await
        .unwrap_err();
    assert_eq!(handed_back(&error), (0..50).collect::<Vec<_>>());
    let calls = calls.lock().unwrap();
    let sizes: Vec<usize> = calls.iter().rev().take(19).map(Vec::len).collect();
    assert_eq!(sizes[..18], [ENTRIES; 18]);
    assert_eq!(sizes[18], 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_of_guilty_entries_cost_few_calls_and_take_no_innocent_one_down(
        runs in prop::collection::vec((0..60_usize, 1..60_usize), 1..12),
        concurrency in 1..32_usize,
        ordered in any::<bool>(),
    ) {
        // So many guilty ones, then so many innocent ones.
        let mut poisoned = Vec::new();
        let mut entries = 0;
        for (guilty, innocent) in runs {
            poisoned.extend(entries..entries + guilty);
            entries += guilty + innocent;
        }
        let (mut target, _) = Picky::new(poisoned.clone(), no_mishap);
        if ordered {
            target.lane = |entry| Some(Lane::ordered(&(entry % 40)));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let options = DeliveryOptions::default().backoff(|_: u32| Duration::ZERO).concurrency(concurrency);
        let (report, undelivered) = match runtime.block_on(Delivery::new(target).options(options).deliver(0..entries)) {
            Ok(report) => (report, Vec::new()),
            Err(error) => (error.report.clone(), handed_back(&error)),
        };
        prop_assert_eq!(report.delivered, (entries - poisoned.len()) as u64);
        let (least, guilty) = (entries.div_ceil(ENTRIES) as u64, poisoned.len() as u64);
        prop_assert_eq!(undelivered, poisoned);
        prop_assert!(ordered || report.calls <= least + guilty * allowed(ENTRIES), "{} calls", report.calls);
    }
}
