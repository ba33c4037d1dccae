//! How refused calls are halved, and what is counted of them.

use std::time::Duration;

use super::*;
use crate::contract::{Fault, Lane};

/// An entry of one more byte than its position.
fn entry(position: u64) -> TrackedEntry<u64> {
    let bytes = usize::try_from(position).unwrap() + 1;
    TrackedEntry {
        entry: position,
        state: EntryState::new(position, bytes),
    }
}

fn chunk(entries: impl IntoIterator<Item = TrackedEntry<u64>>) -> Chunk<u64> {
    let mut chunk = Chunk::with_capacity(8);
    entries.into_iter().for_each(|entry| chunk.push(entry));
    chunk
}

/// A call of these entries that was refused.
fn refused(positions: std::ops::Range<u64>) -> Bisection<u64> {
    let mut bisection = Bisection::of(0);
    bisection.halve(chunk(positions.map(entry)));
    bisection
}

fn sent(bisections: &mut Bisections<u64>, count: usize) -> (Vec<u64>, Bisection<u64>) {
    let (chunk, bisection) = bisections.next(count, usize::MAX).unwrap();
    (chunk.entries, bisection)
}

#[test]
fn halves_are_sent_one_after_the_other_and_the_first_is_the_larger_one() {
    let mut bisections = Bisections::new();
    bisections.put(refused(0..5), None);
    assert_eq!(
        (bisections.len(), bisections.bytes(), bisections.next_len()),
        (5, 15, Some(3))
    );
    let (first, rest) = sent(&mut bisections, 10);
    assert_eq!(first, [0, 1, 2]);
    assert_eq!(
        (bisections.len(), bisections.bytes(), bisections.next_len()),
        (0, 0, None)
    );
    assert!(bisections.len() == 0 && bisections.next(10, usize::MAX).is_none());
    bisections.put(rest, None);
    assert_eq!((bisections.len(), bisections.bytes()), (2, 9));
    // No more than may leave.
    let (first, rest) = sent(&mut bisections, 1);
    assert_eq!((first, rest.len(), rest.bytes()), (vec![3], 1, 5));
    bisections.put(rest, None);
    let (last, rest) = sent(&mut bisections, 1);
    assert_eq!((last, rest.is_empty()), (vec![4], true));
    bisections.put(rest, None);
    assert!(bisections.len() == 0);
}

#[test]
fn of_a_single_entry_nothing_is_left_to_send_after_it() {
    let mut bisections = Bisections::new();
    bisections.put(refused(0..1), None);
    let (only, rest) = sent(&mut bisections, 9);
    assert_eq!((only, rest.is_empty()), (vec![0], true));
}

#[test]
fn a_bisection_that_waits_is_ready_at_its_time_and_not_before() {
    let now = Instant::now();
    let (soon, late) = (now + Duration::from_secs(1), now + Duration::from_secs(2));
    let mut bisections = Bisections::new();
    bisections.put(refused(0..2), Some(late));
    bisections.put(refused(2..6), Some(soon));
    assert_eq!((bisections.next_wake(), bisections.next_len()), (Some(soon), None));
    assert!(bisections.len() > 0);
    bisections.wake(now);
    assert_eq!(bisections.next_len(), None);
    bisections.wake(soon);
    assert_eq!((bisections.next_wake(), bisections.next_len()), (Some(late), Some(2)));
    bisections.wake_all();
    assert_eq!(bisections.next_wake(), None);
    assert_eq!(sent(&mut bisections, 9).0, [2, 3]);
    assert_eq!(sent(&mut bisections, 9).0, [0]);
}

#[test]
fn to_wake_all_starts_the_retries_of_all_from_one() {
    let now = Instant::now();
    let mut again = entry(0);
    again.state.rejected(now, Fault::new("Throttled"));
    let history = again.state.history.as_mut().unwrap();
    history.retry = history.retry.after(Duration::from_secs(1));
    let mut bisection = Bisection::of(0);
    bisection.push(chunk([again]));
    let mut bisections = Bisections::new();
    bisections.put(bisection, Some(now + Duration::from_secs(9)));
    bisections.wake_all();
    let (chunk, _) = bisections.next(1, usize::MAX).unwrap();
    assert_eq!(chunk.states[0].retry().number, 1);
}

#[test]
fn entries_whose_time_is_used_up_leave_and_the_others_stay() {
    let mut bisections = Bisections::new();
    bisections.put(refused(0..4), None);
    bisections.put(refused(4..5), Some(Instant::now()));
    let odd = |state: &EntryState<u64>| !state.position.is_multiple_of(2);
    let expired = bisections.take_if(odd);
    let mut positions: Vec<u64> = expired.iter().map(|entry| entry.entry).collect();
    positions.sort_unstable();
    assert_eq!(positions, [1, 3]);
    assert_eq!((bisections.len(), bisections.bytes()), (3, 1 + 3 + 5));
    assert!(bisections.take_if(odd).is_empty());
    // Those of which nothing is left are gone.
    assert_eq!(bisections.take_if(|state| state.position == 4).len(), 1);
    assert_eq!((bisections.len(), bisections.bytes()), (2, 4));
    let left: Vec<u64> = bisections.take_all().map(|entry| entry.entry).collect();
    assert_eq!((left.len(), bisections.len(), bisections.bytes()), (2, 0, 0));
}

#[test]
fn only_entries_of_its_lane_wait_behind_an_entry() {
    let lane = |position: u64, lane: Option<u64>| {
        let mut entry = entry(position);
        entry.state.lane = lane.map(|lane| Lane::exclusive(&lane));
        entry
    };
    let mut bisection = Bisection::of(0);
    bisection.push(chunk([lane(1, Some(7)), lane(2, Some(8)), lane(3, None)]));
    let first = chunk([lane(0, Some(7)), lane(9, None)]);
    assert!(bisection.has_behind(&first.states[0]));
    assert!(
        !bisection.has_behind(&first.states[1]),
        "what has no lane is before nothing"
    );
    let behind = bisection.take_behind(&first);
    let positions = |bisection: Bisection<u64>| bisection.into_entries().map(|entry| entry.entry).collect::<Vec<_>>();
    assert_eq!((positions(behind), positions(bisection)), (vec![1], vec![2, 3]));
}

#[test]
fn a_part_keeps_a_limit_of_bytes_that_was_learned_meanwhile_unless_it_is_one_entry() {
    let mut bisections = Bisections::new();
    bisections.put(refused(0..10), None);
    // The first half has 1 + 2 + 3 + 4 + 5 bytes.
    for (bytes, expected) in [(6, vec![0, 1, 2]), (4, vec![3]), (1, vec![4])] {
        let (chunk, rest) = bisections.next(10, bytes).unwrap();
        assert_eq!(chunk.entries, expected);
        bisections.put(rest, None);
    }
}
