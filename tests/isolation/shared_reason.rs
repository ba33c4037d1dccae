//! A reason that all entries share: no search in each call, and every entry that may be valid is tried.

use aws_batch_delivery::targets::Lane;
use aws_batch_delivery::{Cause, Delivery};
use proptest::prelude::*;

use crate::isolation::all_or_nothing::{ENTRIES, all_or_nothing, allowed, handed_back, no_fault};
use crate::support::cases::cases;
use crate::support::options::{no_delay, one_at_a_time};
use crate::support::paused::paused;

/// Entries refused alone, in a row, after which each goes alone.
const REFUSED_BEFORE_SINGLE: u64 = 8;

/// Entries refused alone, in a row, after which a delivery that has delivered nothing stops.
const REFUSED_BEFORE_STOP: u64 = 1_000;

/// Calls beyond one for each entry: the bisections that have begun before entries are sent alone.
fn searched(concurrency: u64) -> u64 {
    (REFUSED_BEFORE_SINGLE + concurrency) * allowed(ENTRIES)
}

#[tokio::test(start_paused = true)]
async fn a_delivery_of_which_every_entry_is_refused_stops() {
    let (target, calls) = all_or_nothing(0..100_000, no_fault);
    let error = Delivery::new(target)
        .options(no_delay())
        .deliver(0..100_000)
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 100_000);
    assert!(
        error.report.calls <= REFUSED_BEFORE_STOP + 16 + searched(16),
        "{} calls",
        error.report.calls
    );
    let refused = |cause: &Cause| matches!(cause, Cause::Refused(fault) if fault.code() == "ValidationException");
    let stopped = |cause: &Cause| matches!(cause, Cause::Stopped(fault) if fault.code() == "ValidationException");
    let causes = || error.undelivered().iter().map(|undelivered| &undelivered.cause);
    assert!(causes().all(|cause| refused(cause) || stopped(cause)));
    let tried = causes().filter(|cause| refused(cause)).count() as u64;
    assert!(
        (REFUSED_BEFORE_STOP..=REFUSED_BEFORE_STOP + 16).contains(&tried),
        "{tried} tried"
    );
    let last = calls.lock().unwrap().iter().flatten().max().copied();
    assert!(last < Some(1_500), "{last:?} was sent");
}

#[tokio::test(start_paused = true)]
async fn if_all_are_poisoned_each_costs_one_call() {
    let (target, _) = all_or_nothing(0..500, no_fault);
    let error = Delivery::new(target)
        .options(no_delay())
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
async fn a_valid_entry_after_a_call_of_poisoned_ones_is_delivered() {
    for valid in [25, 300, 990] {
        let (target, _) = all_or_nothing((0..1_200).filter(|entry| *entry != valid), no_fault);
        let error = Delivery::new(target)
            .options(no_delay())
            .deliver(0..=valid)
            .await
            .unwrap_err();
        assert_eq!((error.report.delivered, error.undelivered().len()), (1, valid));
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_has_delivered_something_is_not_stopped() {
    let (target, _) = all_or_nothing(25..5_025, no_fault);
    let error = Delivery::new(target)
        .options(no_delay())
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
async fn calls_are_full_again_after_the_first_valid_entry() {
    let (target, calls) = all_or_nothing(0..50, no_fault);
    let error = Delivery::new(target)
        .options(one_at_a_time())
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
    #![proptest_config(ProptestConfig { cases: cases(50), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_of_poisoned_entries_cost_few_calls_and_no_valid_entry_is_refused(
        runs in prop::collection::vec((0..60_usize, 1..60_usize), 1..12),
        concurrency in 1..32_usize,
        ordered in any::<bool>(),
    ) {
        // Poisoned entries, then valid ones.
        let mut poisoned = Vec::new();
        let mut entries = 0;
        for (bad, valid) in runs {
            poisoned.extend(entries..entries + bad);
            entries += bad + valid;
        }
        let (mut target, _) = all_or_nothing(poisoned.clone(), no_fault);
        if ordered {
            target.lane = |entry| Some(Lane::ordered(&(entry % 40)));
        }
        let options = no_delay().concurrency(concurrency);
        let (report, undelivered) = match paused(Delivery::new(target).options(options).deliver(0..entries)) {
            Ok(report) => (report, Vec::new()),
            Err(error) => (error.report.clone(), handed_back(&error)),
        };
        prop_assert_eq!(report.delivered, (entries - poisoned.len()) as u64);
        let (least, at_fault) = (entries.div_ceil(ENTRIES) as u64, poisoned.len() as u64);
        prop_assert_eq!(undelivered, poisoned);
        prop_assert!(ordered || report.calls <= least + at_fault * allowed(ENTRIES), "{} calls", report.calls);
    }
}
