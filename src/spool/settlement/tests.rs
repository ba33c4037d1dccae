use futures::FutureExt;
use futures::task::noop_waker_ref;

use super::*;

fn refusal(number: u64) -> Refusal {
    Refusal {
        number,
        cause: "refused".to_owned(),
    }
}

fn settlement(first: u64, end: u64, window: usize) -> Settlement {
    let opened = OpenedStore {
        first,
        end,
        ..OpenedStore::default()
    };
    Settlement::new(opened, window)
}

#[test]
fn the_delivery_reads_a_window_beyond_what_is_removed_from_the_disk() {
    let settlement = settlement(10, 100, 8);
    assert_eq!(settlement.readable_until(noop_waker_ref()), 18);
    settlement.settle(11..14);
    assert!(settlement.unwritten().is_none(), "an earlier entry is not settled");
    settlement.settle(10..11);
    assert_eq!(settlement.readable_until(noop_waker_ref()), 18);
    let unwritten = settlement.unwritten().unwrap();
    assert_eq!((unwritten.settled_until, unwritten.is_urgent), (14, true));
    assert!(settlement.is_urgent() && settlement.has_unwritten());
    settlement.written(&unwritten);
    settlement.durable_until(settlement.removed_until());
    assert_eq!(settlement.readable_until(noop_waker_ref()), 22);
    assert!(settlement.unwritten().is_none() && !settlement.has_unwritten());
}

#[test]
fn removals_that_a_loss_of_power_may_undo_do_not_move_the_window() {
    let settlement = settlement(0, 100, 8);
    settlement.settle(0..1);
    let unwritten = settlement.unwritten().unwrap();
    assert!(!unwritten.is_urgent);
    settlement.written(&unwritten);
    assert_eq!(settlement.readable_until(noop_waker_ref()), 8);
    assert!(settlement.unwritten().is_none());
    settlement.settle(1..2);
    let unwritten = settlement.unwritten().unwrap();
    assert!(unwritten.is_urgent, "a quarter of the window may come back");
    settlement.written(&unwritten);
    assert!(settlement.unwritten().is_some(), "it is to be made durable");
    settlement.durable_until(1);
    assert_eq!(settlement.readable_until(noop_waker_ref()), 9);
    assert!(settlement.unwritten().is_none());
}

#[test]
fn a_window_may_be_as_large_as_it_likes() {
    let settlement = settlement(10, 100, usize::MAX);
    assert_eq!(settlement.readable_until(noop_waker_ref()), 100);
    settlement.settle(10..90);
    assert!(!settlement.is_urgent());
}

#[test]
fn it_reads_no_further_than_there_are_entries() {
    let settlement = settlement(0, 3, 8);
    assert_eq!(settlement.readable_until(noop_waker_ref()), 3);
    settlement.spooled_until(5);
    assert_eq!(settlement.readable_until(noop_waker_ref()), 5);
}

#[test]
fn a_refused_entry_does_not_hold_the_mark() {
    let settlement = settlement(0, 10, 100);
    settlement.refuse(refusal(1));
    assert_eq!(settlement.unwritten().unwrap().refusals.len(), 1);
    settlement.settle(0..1);
    let unwritten = settlement.unwritten().unwrap();
    assert_eq!((unwritten.settled_until, unwritten.is_urgent), (2, false));
    settlement.refuse(refusal(2));
    settlement.written(&unwritten);
    let later = settlement.unwritten().unwrap();
    assert_eq!((later.settled_until, later.refusals[0].number), (3, 2));
}

#[test]
fn entries_that_are_missing_hold_the_mark_neither_before_nor_after_they_were_read() {
    let settlement = settlement(0, 10, 100);
    // 2 to 4 were dropped.
    settlement.read(0..6, std::iter::once(2..5));
    settlement.refuse(refusal(1));
    settlement.settle(0..1);
    assert_eq!(settlement.until(), 5);
    assert!(settlement.is_settled(1) && !settlement.is_settled(5));
    // The next delivery begins there, and finds no entry.
    settlement.refuse(refusal(5));
    settlement.read(5..10, std::iter::once(5..10));
    assert_eq!(settlement.until(), 10);
    assert!(settlement.settled_until(10).now_or_never().is_some());
    assert!(settlement.settled_until(11).now_or_never().is_none());
}
