use super::super::count::reckoned;
use super::*;

/// The answer to a call of 25 that was rejected as far as that.
fn answer(now: f64, rejected: f64) -> Answer {
    Answer {
        sent_at: now - 0.01,
        seen_at: now - 0.005,
        now,
        sent: 25.0,
        accepted: 25.0 - rejected,
        rejected,
        fresh: 25.0,
        fresh_rejected: rejected,
    }
}

/// What a search comes to that hears of so many rejections of 25, call by call, and how many calls that took.
fn search(rejections: impl IntoIterator<Item = f64>) -> (Option<End>, usize) {
    let mut search = Search::new();
    let mut calls = 0;
    for rejected in rejections {
        calls += 1;
        let answer = answer(0.0005 * reckoned(calls), rejected);
        if let Some(end) = search.hear(&answer, answer.trial(false), 1000.0, 0.01, false) {
            return (Some(end), calls);
        }
    }
    (None, calls)
}

#[test]
fn a_few_calls_in_a_row_of_which_nothing_is_accepted_end_it() {
    let rejections = std::iter::repeat_n(0.0, 20).chain(std::iter::repeat(25.0)).take(100);
    let (end, calls) = search(rejections);
    assert!(matches!(end, Some(End::Knee { .. })), "{end:?}");
    assert!((23..=28).contains(&calls), "{calls}");
}

#[test]
fn entries_of_which_only_a_third_is_accepted_end_it_and_tell_how_many_were() {
    let rejections = std::iter::repeat_n(0.0, 20).chain(std::iter::repeat(17.0)).take(100);
    let (end, calls) = search(rejections);
    let Some(End::Knee { from, until, accepted }) = end else {
        panic!("{end:?} after {calls} calls");
    };
    // Eight entries are accepted every half millisecond.
    assert!(
        (accepted / (until - from) - 16_000.0).abs() < 1.0,
        "{accepted} from {from} to {until}"
    );
}

#[test]
fn calls_that_are_rejected_as_a_whole_are_told_from_single_entries() {
    let suspicion = |rejections: &dyn Fn(i32) -> f64| {
        let mut search = Search::new();
        for call in 0..400 {
            let answer = answer(0.0005 * f64::from(call), rejections(call));
            search.hear(&answer, answer.trial(false), 1000.0, 0.01, false);
        }
        let Suspicion { calls, entries } = search.suspicion();
        (calls, entries)
    };
    let (calls, entries) = suspicion(&|call| if call % 4 == 3 { 25.0 } else { 0.0 });
    assert!((0.2..0.3).contains(&calls) && entries <= 0.0, "{calls}, {entries}");
    let (calls, entries) = suspicion(&|_| 1.0);
    assert!(calls <= 0.0 && (0.02..0.06).contains(&entries), "{calls}, {entries}");
}

#[test]
fn every_fourth_call_that_is_rejected_does_not_end_it() {
    let rejections = (0..2000).map(|call| if call % 4 == 3 { 25.0 } else { 0.0 });
    assert_eq!(search(rejections).0, None);
}

#[test]
fn three_calls_in_a_row_that_are_rejected_now_and_then_do_not_end_it_where_every_fifth_is() {
    let rejections = (0..2000).map(|call| if call % 15 < 3 { 25.0 } else { 0.0 });
    assert_eq!(search(rejections).0, None);
}

#[test]
fn rejections_that_go_on_for_two_seconds_leave_it_stuck() {
    let mut search = Search::new();
    let ends = (0..2100).find(|call| {
        let answer = answer(0.001 * f64::from(*call), 5.0);
        search.hear(&answer, answer.trial(false), 1.0, 0.01, false) == Some(End::Stuck)
    });
    // The first call begins the search anew.
    assert_eq!(ends, Some(2002));
}

#[test]
fn a_search_is_not_stuck_by_entries_that_are_rejected_again_and_again_while_others_pass() {
    let mut search = Search::new();
    for call in 0..2000 {
        let answer = answer(0.001 * f64::from(call), 5.0);
        assert_eq!(search.hear(&answer, answer.trial(false), 1.0, 0.01, true), None);
    }
}

#[test]
fn the_window_doubles_with_each_round_trip_at_first_and_does_not_grow_unused() {
    let mut search = Search::new();
    assert_eq!(search.admits(25.0, false, 0.0), Some(25.0));
    assert_eq!(search.admits(25.0, false, 25.0), None);
    let first = answer(0.01, 0.0);
    assert_eq!(search.hear(&first, first.trial(false), 25.0, 0.01, false), None);
    assert_eq!(search.admits(25.0, false, 25.0), Some(25.0));
    let unused = answer(0.02, 0.0);
    assert_eq!(search.hear(&unused, unused.trial(false), 10.0, 0.01, false), None);
    assert_eq!(search.admits(25.0, false, 50.0), None);
}
