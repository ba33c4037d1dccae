use super::super::tests::{answer, answer_to, assert_about};
use super::*;

/// How a search whose window is used ends with so many rejections of 25, call by call, and how many calls that took.
fn search(rejections: impl IntoIterator<Item = f64>) -> (Option<End>, usize) {
    let mut search = Search::new();
    let (mut now, mut calls) = (0.0, 0);
    for rejected in rejections {
        calls += 1;
        now += 0.0005;
        let answer = answer(now, rejected);
        if let Some(end) = search.observe(&answer, answer.trial(false), f64::INFINITY, 0.01, false) {
            return (Some(end), calls);
        }
    }
    (None, calls)
}

#[test]
fn a_few_calls_in_a_row_of_which_nothing_is_accepted_end_it() {
    let rejections = std::iter::repeat_n(0.0, 20).chain(std::iter::repeat(25.0)).take(100);
    let (end, calls) = search(rejections);
    assert!(matches!(end, Some(End::Knee(_))), "{end:?}");
    // Each adds ln 3, as a fifth is usual and 0.6 would be too much.
    assert_eq!(calls, 27);
}

#[test]
fn entries_of_which_only_a_third_is_accepted_end_it_and_tell_how_many_were() {
    let rejections = std::iter::repeat_n(0.0, 20).chain(std::iter::repeat(17.0)).take(100);
    let (end, calls) = search(rejections);
    let Some(End::Knee(Span { from, until, accepted })) = end else {
        panic!("{end:?} after {calls} calls");
    };
    // Eight entries are accepted every half millisecond.
    assert!(
        (accepted / (until - from) - 16_000.0).abs() < 1.0,
        "{accepted} from {from} to {until}"
    );
}

#[test]
fn calls_that_are_rejected_as_a_whole_are_distinguished_from_single_entries() {
    let suspicion = |rejections: &dyn Fn(i32) -> f64| {
        let mut search = Search::new();
        for call in 0..400 {
            let answer = answer(0.0005 * f64::from(call), rejections(call));
            search.observe(&answer, answer.trial(false), f64::INFINITY, 0.01, false);
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
fn every_other_call_that_is_rejected_from_the_start_does_not_end_it() {
    let rejections = (0..2000).map(|call| if call % 2 == 1 { 25.0 } else { 0.0 });
    assert_eq!(search(rejections).0, None);
}

#[test]
fn half_of_the_entries_that_are_rejected_from_the_start_do_not_end_it() {
    assert_eq!(search(std::iter::repeat_n(12.0, 2000)).0, None);
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
        search.observe(&answer, answer.trial(false), 1.0, 0.01, false) == Some(End::Stuck)
    });
    assert_eq!(ends, Some(2001));
}

#[test]
fn rejections_that_go_on_for_ten_round_trips_while_the_window_is_not_used_leave_it_stuck() {
    let calls_until_stuck = |in_flight, rejected| {
        let mut search = Search::from(1000.0);
        (1..=150).find(|call| {
            let answer = answer(0.001 * f64::from(*call), rejected);
            search.observe(&answer, answer.trial(false), in_flight, 0.01, false) == Some(End::Stuck)
        })
    };
    assert_eq!(calls_until_stuck(400.0, 8.0), Some(102));
    assert_eq!(
        calls_until_stuck(900.0, 5.0),
        None,
        "a used window grows, and tells more"
    );
    assert_eq!(calls_until_stuck(400.0, 4.0), None, "few rejections are no reason");
}

#[test]
fn a_search_is_not_stuck_by_entries_that_are_rejected_again_and_again_while_others_pass() {
    let mut search = Search::new();
    for call in 0..2000 {
        let answer = answer(0.001 * f64::from(call), 5.0);
        assert_eq!(search.observe(&answer, answer.trial(false), 1.0, 0.01, true), None);
    }
}

#[test]
fn the_window_grows_eightfold_in_the_first_round_trip_and_not_while_it_is_unused() {
    let mut search = Search::new();
    assert_eq!(search.admit(25.0, false, 0.0, 0.0), Ok(25.0));
    assert_eq!(search.admit(25.0, false, 25.0, 0.0), Err(ASK_AGAIN));
    let first = answer(0.01, 0.0);
    assert_eq!(search.observe(&first, first.trial(false), 25.0, 0.01, false), None);
    assert_eq!(search.admit(25.0, false, 175.0, 0.0), Ok(25.0));
    let unused = answer(0.02, 0.0);
    assert_eq!(search.observe(&unused, unused.trial(false), 10.0, 0.01, false), None);
    assert_eq!(search.admit(25.0, false, 200.0, 0.0), Err(ASK_AGAIN));
}

#[test]
fn after_a_rejection_the_window_doubles_with_each_round_trip_from_the_start_on() {
    let mut search = Search::new();
    assert_eq!(search.admit(25.0, false, 0.0, 0.0), Ok(25.0));
    let first = answer(0.01, 5.0);
    assert_eq!(search.observe(&first, first.trial(false), 25.0, 0.01, false), None);
    assert_about(search.window, 25.0 + 20.0);
}

/// A search that has sent these many entries, none of which was rejected, call by call in 10 ms each, with room for more.
fn undisturbed(calls: u32) -> Search {
    let mut search = Search::new();
    for call in 1..=calls {
        let answer = answer(0.01 * f64::from(call), 0.0);
        assert_eq!(search.observe(&answer, answer.trial(false), 1e9, 0.01, false), None);
    }
    search
}

#[test]
fn the_usual_share_is_what_was_rejected_before_within_bounds_and_is_assumed_at_first() {
    let usual = |all, rejected| {
        let before = Rise {
            usual: Trials::new(all, rejected),
            ..Rise::default()
        };
        before.usual_share()
    };
    assert_about(usual(0.0, 0.0), MIN_USUAL);
    assert_about(usual(10.0, 4.0), 0.3);
    assert_about(usual(1000.0, 0.0), MIN_USUAL);
    assert_about(usual(1000.0, 1000.0), MAX_USUAL);
}

#[test]
fn rejections_are_evidence_of_a_rise_and_accepted_trials_are_evidence_against_it() {
    let rejected = (0.6_f64 / 0.2).ln();
    let accepted = 0.5_f64.ln();
    let mut rise = Rise::default();
    assert_eq!(rise.observe(&answer(1.0, 25.0), Trials::new(1.0, 1.0), 10.0), None);
    assert_about(rise.evidence.sum, rejected);
    assert_eq!(rise.observe(&answer(1.1, 0.0), Trials::new(1.0, 0.0), 10.0), None);
    assert_about(rise.evidence.sum, rejected + accepted);
    assert!(rise.evidence.since.is_some());
    // What was rejected while there was less evidence than none is no part of a knee.
    assert_eq!(rise.observe(&answer(1.2, 0.0), Trials::new(1.0, 0.0), 10.0), None);
    assert_about(rise.evidence.sum, 0.0);
    assert_eq!(rise.evidence.since, None);
}

#[test]
fn what_was_rejected_at_clearly_smaller_windows_is_usual() {
    let mut rise = Rise::default();
    let usual = |rise: &Rise| (rise.usual.sent, rise.usual.rejected);
    let mut observe = |rejected: f64, window| {
        rise.observe(&answer(1.0, 25.0 * rejected), Trials::new(1.0, rejected), window);
        usual(&rise)
    };
    assert_eq!(observe(1.0, 10.0), (0.0, 0.0));
    assert_eq!(observe(0.0, 14.9), (0.0, 0.0));
    // The trials before the latest step and those before the step ahead of it.
    assert_eq!(observe(1.0, 15.0), (0.0, 0.0));
    assert_eq!(observe(0.0, 22.4), (0.0, 0.0));
    assert_eq!(observe(0.0, 22.5), (2.0, 1.0));
    assert_eq!(observe(0.0, 22.5), (2.0, 1.0));
    assert_eq!(observe(0.0, 40.0), (4.0, 2.0));
}

#[test]
fn the_first_entries_are_usual_whatever_became_of_them() {
    let mut entries = Search::new().entries;
    let mut calls = Search::new().calls;
    let five = answer(1.0, 15.0);
    for _ in 0..6 {
        entries.observe(&five, Trials::new(5.0, 3.0), 5.0);
        calls.observe(&five, Trials::new(1.0, 1.0), 5.0);
    }
    assert_eq!((entries.usual.sent, entries.usual.rejected), (15.0, 9.0));
    assert_about(calls.usual.sent, 0.0);
}

#[test]
fn one_call_is_little_evidence_either_way_however_many_entries_it_has() {
    let mut rise = Rise::default();
    rise.observe(&answer(1.0, 24.0), Trials::new(1000.0, 999.0), 25.0);
    assert_about(rise.evidence.sum, MAX_EVIDENCE);
    rise.observe(&answer(1.1, 24.0), Trials::new(1000.0, 999.0), 25.0);
    assert_about(rise.evidence.sum, 2.0 * MAX_EVIDENCE);
    rise.observe(&answer(1.2, 0.0), Trials::new(1000.0, 0.0), 25.0);
    assert_about(rise.evidence.sum, MAX_EVIDENCE);
}

#[test]
fn a_knee_reaches_from_the_first_to_the_last_rejection_whatever_the_order_of_the_answers() {
    let mut rise = Rise::default();
    assert_eq!(rise.evidence.since, None);
    for (now, rejected) in [(1.0, 20.0), (1.3, 22.0), (1.2, 23.0), (0.9, 21.0), (1.4, 0.0)] {
        rise.observe(&answer(now, rejected), Trials::new(1.0, 1.0), 25.0);
    }
    // What was accepted before the first rejection that was observed lies outside.
    let Some(Span { from, until, accepted }) = rise.evidence.since else {
        panic!("no knee");
    };
    assert_about(from, 0.995);
    assert_about(until, 1.295);
    assert_about(accepted, 3.0 + 2.0 + 25.0);
}

#[test]
fn a_window_grows_by_what_was_accepted_at_first_and_in_a_long_search_by_the_time_that_has_passed() {
    let mut search = undisturbed(19);
    let window = search.window;
    // Eightfold until a hundred entries were sent, then twice.
    assert_about(window, 3.0 * 7.0 * 25.0 + 16.0 * 25.0);
    // With these the search is one of 500 entries.
    let long = answer(0.2, 0.0);
    search.observe(&long, long.trial(false), 1e9, 0.01, false);
    assert_about(search.window, window + 25.0 * (0.4_f64.exp2() - 1.0));
    // An answer that took 10 ms stands for 20 ms of a usual round trip at most, for an eighth of a doubling at least, and for
    // one doubling at most.
    for (took, trip, doublings) in [
        (0.01, 1.0, 0.8),
        (1.0, 0.001, 0.125),
        (1.0, 0.5, 1.0),
        (1.0, 0.0125, 0.5),
    ] {
        let window = search.window;
        let answer = Observation {
            sent_at: 0.2 - took,
            ..answer(0.2, 0.0)
        };
        search.observe(&answer, answer.trial(false), 1e9, trip, false);
        assert_about(search.window, window + 25.0 * (f64::exp2(doublings) - 1.0));
    }
}

#[test]
fn a_window_of_which_nothing_was_ever_accepted_halves_down_to_one_entry() {
    let mut search = Search::from(5.0);
    let mut windows = Vec::new();
    for call in 1..=4 {
        let rejected = answer_to(0.01 * f64::from(call), Trials::new(1.0, 1.0), Trials::default());
        search.observe(&rejected, rejected.trial(false), 5.0, 0.01, false);
        windows.push(search.window);
    }
    assert_eq!(windows, [2.5, 1.25, 1.0, 1.0]);
    assert_about(Search::from(0.3).window, 1.0);
}

#[test]
fn a_window_that_is_half_used_grows() {
    let grows = |in_flight| {
        let mut search = Search::from(100.0);
        let answer = answer(0.01, 0.0);
        search.observe(&answer, answer.trial(false), in_flight, 0.01, false);
        search.window > 100.0
    };
    assert!(grows(50.0) && !grows(49.0));
}

#[test]
fn the_first_call_may_be_a_whole_one_but_not_where_many_wait() {
    let first = |more| Search::new().admit(25.0, more, 0.0, 0.0);
    assert_eq!((first(false), first(true)), (Ok(25.0), Ok(FIRST_CALL)));
    assert_eq!(Search::new().admit(3.0, true, 0.0, 0.0), Ok(3.0));
    // A call that the window has no room for leaves when no other is on its way.
    let mut search = Search::from(10.0);
    assert_eq!(search.admit(25.0, true, 1.0, 0.0), Err(ASK_AGAIN));
    assert_eq!(search.admit(25.0, true, 0.0, 0.0), Ok(10.0));
    assert_eq!(search.admit(5.0, true, 5.0, 0.0), Ok(5.0));
    assert_eq!(search.admit(5.0, true, 6.0, 0.0), Err(ASK_AGAIN));
}

#[test]
fn rejections_that_stop_for_half_a_second_have_not_gone_on() {
    let is_stuck_after = |pause| {
        let mut search = undisturbed(1);
        let mut now = 0.01;
        let mut observe = |pause, rejected| {
            now += pause;
            let answer = answer(now, rejected);
            search.observe(&answer, answer.trial(false), 1.0, 0.01, false) == Some(End::Stuck)
        };
        let mut is_stuck = (0..12).any(|_| observe(0.1, 5.0));
        is_stuck |= observe(pause, 5.0);
        is_stuck |= (0..9).any(|_| observe(0.1, 5.0));
        is_stuck
    };
    assert!(is_stuck_after(0.45) && !is_stuck_after(0.55));
}

#[test]
fn few_rejections_leave_no_search_stuck() {
    let is_stuck = |rejected| {
        let mut search = undisturbed(1);
        (2..400).any(|call| {
            let answer = answer(0.01 * f64::from(call), rejected);
            search.observe(&answer, answer.trial(false), 1.0, 0.01, false) == Some(End::Stuck)
        })
    };
    assert!(is_stuck(1.5) && !is_stuck(1.2));
}

#[test]
fn the_suspicion_is_the_share_of_calls_or_of_entries_that_was_rejected() {
    let mut search = Search::new();
    search.calls = Rise {
        so_far: Trials::new(10.0, 3.0),
        ..Rise::default()
    };
    // Calls explain more than half of the rejected entries, and then less.
    search.all = Trials::new(250.0, 0.45 * 250.0);
    let Suspicion { calls, entries } = search.suspicion();
    assert_about(calls, 0.3);
    assert_about(entries, 0.0);
    search.all = Trials::new(250.0, 0.7 * 250.0);
    let Suspicion { calls, entries } = search.suspicion();
    assert_about(calls, 0.0);
    assert_about(entries, 0.7);
}

#[test]
fn an_announced_pace_is_taken_before_the_first_answer_of_a_search_that_has_seen_no_rejection() {
    let begins = |mut search: Search| {
        search.announce(1000.0);
        search.announced.is_some()
    };
    assert!(begins(Search::new()) && begins(Search::from(5.0)) && !begins(undisturbed(1)));
    // The first one counts.
    let mut search = Search::new();
    search.announce(1000.0);
    search.depart(25.0, 0.0);
    search.announce(1_000_000.0);
    assert_eq!(search.admit(25.0, false, 25.0, 0.01), Err(0.015));
    // What leaves at it is in flight with the window that follows.
    let first = answer(0.01, 0.0);
    search.observe(&first, first.trial(false), 75.0, 0.01, false);
    assert_about(search.window, 75.0 + 7.0 * 25.0);
}

/// How many calls of 25 leave within so many seconds, none of which is answered.
fn calls(search: &mut Search, from: f64, until: f64) -> u32 {
    let (mut now, mut in_flight, mut calls) = (from, 0.0, 0);
    while now < until {
        match search.admit(25.0, false, in_flight, now) {
            Ok(entries) => {
                search.depart(entries, now);
                in_flight += entries;
                calls += 1;
            }
            Err(seconds) => now += seconds + 1e-6,
        }
    }
    calls
}

#[test]
fn before_the_first_answer_calls_leave_at_the_announced_pace() {
    let mut search = Search::new();
    assert_eq!(calls(&mut search, 0.0, 0.1), 1);
    let mut search = Search::new();
    search.announce(10_000.0);
    assert_eq!(calls(&mut search, 0.0, 0.1), 40);
}

#[test]
fn an_announced_pace_that_is_too_low_lets_go_as_much_as_none() {
    let mut search = Search::new();
    search.announce(5.0);
    assert_eq!(calls(&mut search, 0.0, 0.1), 1);
}

#[test]
fn after_a_rejection_only_the_window_counts() {
    let mut search = Search::new();
    search.announce(10_000.0);
    assert_eq!(calls(&mut search, 0.0, 0.01), 4);
    for (now, rejected) in [(0.01, 0.0), (0.012, 5.0)] {
        let answer = answer(now, rejected);
        search.observe(&answer, answer.trial(false), 100.0, 0.01, false);
    }
    assert_eq!(search.admit(25.0, false, 1_000.0, 1.0), Err(ASK_AGAIN));
    // What was in flight then is what the search goes on with.
    assert_eq!(search.admit(25.0, false, 75.0, 0.0), Ok(25.0));
}

#[test]
fn what_is_announced_later_than_the_first_answer_is_ignored() {
    let mut search = Search::new();
    let first = answer(0.01, 0.0);
    search.observe(&first, first.trial(false), 25.0, 0.01, false);
    search.announce(10_000.0);
    assert_eq!(search.admit(25.0, false, 175.0, 1.0), Err(ASK_AGAIN));
}
