//! Which entries are held, joined and released.

use super::*;
use crate::engine::entry::EntryState;

fn entry(lane: Lane, position: u64) -> TrackedEntry<u64> {
    let mut state = EntryState::new(position, 10);
    state.lane = Some(lane);
    TrackedEntry { entry: position, state }
}

/// Returns the entry if it may leave.
fn enter<E>(lanes: &mut Lanes<E>, entry: TrackedEntry<E>) -> Option<TrackedEntry<E>> {
    let lane = entry.state.lane;
    let mut entry = Some(entry);
    lanes.enter(lane, || entry.take());
    entry
}

fn positions(entries: impl IntoIterator<Item = TrackedEntry<u64>>) -> Vec<u64> {
    entries.into_iter().map(|entry| entry.state.position).collect()
}

fn chunk(entries: impl IntoIterator<Item = TrackedEntry<u64>>) -> Chunk<u64> {
    let mut chunk = Chunk::with_capacity(0);
    entries.into_iter().for_each(|entry| chunk.push(entry));
    chunk
}

#[test]
fn one_of_a_lane_is_out_and_the_others_are_held_in_order() {
    let mut lanes = Lanes::new();
    let (one, other) = (Lane::exclusive("a"), Lane::exclusive("b"));
    let entered = [(one, 0), (one, 1), (other, 2), (one, 3)].map(|(lane, position)| entry(lane, position));
    assert_eq!(
        positions(entered.into_iter().filter_map(|entry| enter(&mut lanes, entry))),
        [0, 2]
    );
    assert_eq!((lanes.held(), lanes.bytes(), lanes.joinable()), (2, 20, 0));
    assert_eq!(positions(lanes.leave(one)), [1]);
    assert_eq!(positions(lanes.leave(other)), [0; 0]);
    assert_eq!(positions(lanes.leave(one)), [3]);
    assert_eq!((lanes.held(), lanes.bytes()), (0, 0));
    assert_eq!(positions(lanes.leave(one)), [0; 0]);
    assert!(lanes.occupied.is_empty());
}

#[test]
fn an_entry_without_a_lane_is_never_held() {
    let mut lanes = Lanes::new();
    for position in 0..2 {
        let free = TrackedEntry {
            entry: position,
            state: EntryState::new(position, 10),
        };
        assert!(enter(&mut lanes, free).is_some());
    }
    assert!(lanes.occupied.is_empty());
}

#[test]
fn an_entry_whose_lane_is_known_waits_until_those_of_unknown_lanes_are_settled() {
    let (unknown, known) = (Lane::unknown(), Lane::exclusive("a"));
    let mut lanes = Lanes::new();
    assert_eq!(lanes.lane_now(known), known);
    let mut call = chunk((0..3).filter_map(|position| enter(&mut lanes, entry(unknown, position))));
    assert_eq!((lanes.lane_now(unknown), lanes.is_learning()), (unknown, false));
    assert_eq!((lanes.lane_now(known), lanes.is_learning()), (unknown, true));
    assert!(enter(&mut lanes, entry(unknown, 3)).is_none());
    lanes.join(&mut call, |next| next.state.position < 3);
    assert_eq!(positions(call.into_tracked()), [0, 1, 2]);
    assert!((0..2).all(|_| lanes.leave(unknown).is_none()));
    assert_eq!(positions(lanes.leave(unknown)), [3]);
    assert!(lanes.is_learning());
    assert!(lanes.leave(unknown).is_none());
    assert_eq!((lanes.lane_now(known), lanes.is_learning()), (known, false));
}

#[test]
fn a_lane_without_held_entries_takes_up_sixteen_bytes() {
    assert_eq!(size_of::<LaneState<[u8; 100]>>(), 16);
}

#[test]
fn held_entries_join_the_call_and_the_rejected_ones_go_back_in_order() {
    let mut lanes = Lanes::new();
    let lane = Lane::ordered("a");
    let mut call = chunk((0..6).filter_map(|position| enter(&mut lanes, entry(lane, position))));
    assert_eq!((call.len(), lanes.joinable()), (1, 5));
    lanes.join(&mut call, |next| next.state.position < 4);
    assert_eq!((lanes.held(), lanes.joinable()), (2, 0));
    // The first one is accepted, the others are not.
    let mut rejected: Vec<_> = call.into_tracked().collect();
    rejected.remove(0);
    assert!(lanes.leave(lane).is_none());
    let first = rejected.into_iter().rev().filter_map(|entry| lanes.put_back(entry));
    assert_eq!(positions(first), [1]);
    assert_eq!((lanes.held(), lanes.joinable()), (4, 0));
    lanes.open(Some(lane));
    assert_eq!(lanes.joinable(), 4);
    assert_eq!(positions(lanes.leave(lane)), [2]);
    assert_eq!((lanes.held(), lanes.joinable()), (3, 3));
    assert_eq!(positions(lanes.take_all()), [3, 4, 5]);
}

#[test]
fn no_held_entry_joins_for_a_while_after_a_call_was_accepted_in_part() {
    let mut lanes = Lanes::new();
    let lane = Lane::ordered("a");
    lanes.stop_sharing();
    for call in 0..=UNSHARED_CALLS {
        let mut leaving = chunk((0..3).filter_map(|position| enter(&mut lanes, entry(lane, position))));
        let trusted = call == UNSHARED_CALLS;
        assert_eq!(lanes.joinable(), if trusted { 2 } else { 0 });
        lanes.join(&mut leaving, |_| true);
        assert_eq!(leaving.len(), if trusted { 3 } else { 1 });
        lanes.occupied.clear();
        (lanes.held, lanes.joinable) = (0, 0);
    }
}

#[test]
fn a_newcomer_supersedes_only_what_it_overwrites() {
    let mut lanes = Lanes::new();
    let lane = Lane::exclusive("a");
    // Two keys with the same hash: the even and the odd positions.
    let same_key = |newer: &u64, older: &u64| newer % 2 == older % 2;
    let out = enter(&mut lanes, entry(lane, 0)).unwrap();
    assert!(!lanes.is_superseded(&out, same_key));
    enter(&mut lanes, entry(lane, 1));
    assert!(!lanes.is_superseded(&out, same_key));
    assert_eq!(positions(lanes.supersede(&2, Some(lane), same_key)), [0; 0]);
    enter(&mut lanes, entry(lane, 2));
    assert!(lanes.is_superseded(&out, same_key));
    assert_eq!(positions(lanes.supersede(&3, Some(lane), same_key)), [1]);
    enter(&mut lanes, entry(lane, 3));
    assert_eq!((lanes.held(), lanes.bytes()), (2, 20));
    assert_eq!(positions(lanes.take_all()), [2, 3]);
}

#[test]
fn what_is_superseded_in_a_lane_that_shares_calls_can_join_none() {
    let mut lanes = Lanes::new();
    let lane = Lane::ordered("a");
    let same_key = |newer: &u64, older: &u64| newer % 2 == older % 2;
    let mut call = chunk((0..6).filter_map(|position| enter(&mut lanes, entry(lane, position))));
    assert_eq!(lanes.joinable(), 5);
    assert_eq!(positions(lanes.supersede(&7, Some(lane), same_key)), [1, 3, 5]);
    assert_eq!((lanes.held(), lanes.bytes(), lanes.joinable()), (2, 20, 2));
    lanes.join(&mut call, |_| false);
    // While its call is in flight, none may join.
    assert_eq!(positions(lanes.supersede(&6, Some(lane), same_key)), [2, 4]);
    assert_eq!((lanes.held(), lanes.bytes(), lanes.joinable()), (0, 0, 0));
}
