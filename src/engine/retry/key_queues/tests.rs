//! How entries wait by their keys.

use super::*;
use crate::contract::Fault;

fn queues(entries: impl IntoIterator<Item = (u64, bool)>) -> KeyQueues<u64> {
    let mut queues = KeyQueues::new();
    for (position, (key, is_hot)) in entries.into_iter().enumerate() {
        let state = EntryState::new(position as u64, 1);
        queues.push(key, is_hot, TrackedEntry { entry: key, state });
    }
    queues
}

fn take_drawn(queues: &mut KeyQueues<u64>, most: usize) -> Vec<(u64, u64)> {
    let (mut left, mut taken) = (most, Vec::new());
    let fits = |_: &TrackedEntry<u64>| left.checked_sub(1).inspect(|rest| left = *rest).is_some();
    queues.take_drawn(fits, |entry| taken.push((entry.entry, entry.state.position)));
    taken
}

#[test]
fn turns_are_in_proportion_to_what_waits_and_in_order_within_a_key() {
    // Sorted input: 300 entries of one key, and then 100 of another.
    let mut queues = queues((0..400).map(|position| (position / 300, false)));
    let taken = take_drawn(&mut queues, 40);
    let first = taken.iter().filter(|(key, _)| *key == 0).count();
    assert!((27..=33).contains(&first), "{first} of 40");
    for key in [0, 1] {
        let positions: Vec<u64> = taken
            .iter()
            .filter(|(of, _)| *of == key)
            .map(|(_, position)| *position)
            .collect();
        assert!(positions.is_sorted(), "{positions:?}");
    }
    assert_eq!(queues.len(), 360);
    assert_eq!(take_drawn(&mut queues, usize::MAX).len(), 360);
    assert_eq!((queues.len(), queues.bytes()), (0, 0));
}

#[test]
fn a_hot_key_goes_as_far_as_its_pace_lets_it_and_is_asked_again_when_it_says() {
    let now = Instant::now();
    let later = now + Duration::from_millis(5);
    let mut queues = queues([(7, true), (7, true), (7, true), (8, false)]);
    let (mut left, mut taken) = (Vec::new(), Vec::new());
    let depart = |key, cost| left.push((key, cost));
    queues.take_due(
        now,
        |_, wanted| Ok(wanted.min(2)),
        depart,
        |_| true,
        |entry| taken.push(entry.state.position),
    );
    assert_eq!((taken, left), (vec![0, 1], vec![(7, 2)]));
    queues.take_due(now, |_, _| Err(later), |_, _| {}, |_| true, |_| panic!("it waits"));
    assert_eq!(
        (queues.next_due(now), queues.ready(now, 25), queues.ready(later, 25)),
        (Some(later), 1, 2)
    );
    queues.wake_all();
    assert_eq!(queues.ready(now, 25), 2);
}

#[test]
fn a_key_that_becomes_hot_is_not_drawn_any_more_and_one_that_cools_is_again() {
    let mut queues = queues((0..100).map(|position| (position % 2, false)));
    queues.update_hot(|key| key == 0);
    let taken = take_drawn(&mut queues, 30);
    assert!(taken.iter().all(|(key, _)| *key == 1), "{taken:?}");
    queues.update_hot(|_| false);
    assert_eq!(take_drawn(&mut queues, usize::MAX).len(), 70);
}

#[test]
fn nothing_that_waits_is_lost_at_the_end() {
    let mut queues = queues((0..50).map(|position| (position % 5, position % 5 == 0)));
    let mut positions: Vec<u64> = queues.take_all().iter().map(|entry| entry.state.position).collect();
    positions.sort_unstable();
    assert_eq!(positions, (0..50).collect::<Vec<_>>());
    assert_eq!((queues.len(), queues.ready(Instant::now(), 25)), (0, 0));
}

#[test]
fn what_was_rejected_expires_whether_its_key_is_hot_or_has_cooled() {
    let now = Instant::now();
    let mut queues = queues([(8, false)]);
    for (position, key) in [(1, 7), (2, 7), (3, 9)] {
        let mut state = EntryState::new(position, 1);
        state.rejected(now, Fault::new("Throttled"));
        queues.push(key, true, TrackedEntry { entry: key, state });
    }
    queues.update_hot(|key| key == 9);
    let not_second = |state: &EntryState<u64>| state.history.is_some() && state.position != 2;
    assert_eq!(queues.take_expired(not_second, |_| false).len(), 2);
    assert_eq!(queues.len(), 2);
    assert_eq!(queues.take_expired(|state| state.history.is_some(), |_| false).len(), 1);
    assert_eq!((queues.len(), queues.bytes()), (1, 1));
    assert_eq!(take_drawn(&mut queues, usize::MAX), [(8, 0)]);
}

#[test]
fn the_time_of_what_waits_behind_an_expired_entry_of_a_hot_key_is_used_up_as_well() {
    let now = Instant::now();
    for (hot, taken) in [(7, 3), (8, 1)] {
        let mut queues = queues((0..4).map(|_| (7, false)).chain((0..4).map(|_| (8, false))));
        let mut state = EntryState::new(100, 1);
        state.rejected(now, Fault::new("Throttled"));
        queues.push(7, false, TrackedEntry { entry: 7, state });
        queues.update_hot(|key| key == hot);
        let expired = queues.take_expired(|state| state.history.is_some(), |state| state.position < 2);
        assert_eq!((expired.len(), queues.len()), (taken, 9 - taken));
    }
}

#[test]
fn an_entry_that_has_expired_is_not_counted_as_sendable() {
    let now = Instant::now();
    let mut queues = queues([]);
    for position in 0..2 {
        let mut state = EntryState::new(position, 1);
        state.rejected(now, Fault::new("Throttled"));
        queues.push(7, false, TrackedEntry { entry: 7, state });
    }
    assert_eq!(queues.ready(now, 25), 2);
    assert_eq!(queues.take_expired(|state| state.position == 0, |_| false).len(), 1);
    assert_eq!((queues.ready(now, 25), queues.len()), (1, 1));
}

#[test]
fn a_flush_does_not_linger_for_entries_that_wait_by_key() {
    let (now, linger) = (Instant::now(), Duration::from_secs(60));
    let mut queues = queues((0..4).map(|position| (position, false)));
    assert!(queues.lingers_until(now, linger, 0).is_some());
    assert!(queues.lingers_until(now, linger, 1).is_none());
    // Those that come after the flush linger again.
    assert_eq!(take_drawn(&mut queues, 4).len(), 4);
    let state = EntryState::new(4, 1);
    queues.push(4, false, TrackedEntry { entry: 4, state });
    assert!(queues.lingers_until(now, linger, 4).is_some());
}

#[test]
fn a_flush_does_not_linger_for_entries_of_a_key_that_has_cooled() {
    let (now, linger) = (Instant::now(), Duration::from_secs(60));
    let mut queues = queues([(7, true), (8, false)]);
    queues.queues.get_mut(&7).unwrap().next_at = Some(now + linger);
    assert!(queues.lingers_until(now, linger, 1).is_some());
    queues.update_hot(|_| false);
    assert!(queues.lingers_until(now, linger, 1).is_none());
    assert!(queues.lingers_until(now, linger, 0).is_some());
    // When it is hot again, what is drawn lingers.
    queues.update_hot(|key| key == 7);
    queues.queues.get_mut(&7).unwrap().next_at = Some(now + linger);
    assert!(queues.lingers_until(now, linger, 1).is_some());
}
