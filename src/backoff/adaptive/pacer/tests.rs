//! What the pacer does of what its parts tell it.

use super::*;
use crate::backoff::adaptive::trial::Finding;

const CHUNK: f64 = 25.0;
const PEAK: f64 = 1000.0;

/// Whole calls in dips without a rejection that prove an estimate.
const PROOF: usize = 14;

/// A pacer that has estimated [`PEAK`], for which a second vouches.
fn tracking() -> Pacer {
    let mut pacer = Pacer::new(Rules::default());
    pacer.trip.observe(0.008);
    pacer.chunk = CHUNK;
    pacer.capacity = Some(PEAK);
    pacer.state = State::Track;
    pacer.suspicion.keep_peak(PEAK, 1.0);
    // As after a few marks: periods of half a second and more.
    pacer.schedule.surprise();
    pacer
}

/// A call that is answered at that moment, with one entry of ten rejected or so.
fn answer(now: f64) -> Evidence {
    Evidence {
        sent_at: now - 0.008,
        seen_at: now - 0.004,
        now,
        sent: CHUNK,
        accepted: CHUNK - 3.0,
        rejected: 3.0,
        fresh: CHUNK,
        fresh_rejected: 3.0,
    }
}

#[test]
fn a_slow_service_gets_calls_of_half_a_second_at_most() {
    let mut pacer = tracking();
    for (capacity, millis) in [(500.0, 50), (50.0, 500), (5.0, 500), (1.0, 1000)] {
        pacer.capacity = Some(capacity);
        assert_eq!(pacer.call_time(), Duration::from_millis(millis));
    }
}

#[test]
fn what_is_rejected_for_the_pace_beside_a_known_loss_is_no_bad_luck() {
    let mut pacer = tracking();
    pacer.floor.declare(0.0, 100.0, 10.0, PEAK);
    (0..20).for_each(|_| pacer.retries.hear((15.0, 9.0), (10.0, 6.0)));
    assert!((pacer.bad_luck() - 0.1).abs() < 1e-9, "{}", pacer.bad_luck());
}

/// Whether an estimate is searched for again that has sunk far below its peak, within half a minute.
fn is_searched_again(mut pacer: Pacer) -> bool {
    (0..1200).any(|call| {
        let now = f64::from(call) * 0.025;
        pacer.capacity = Some(0.3 * PEAK);
        pacer.track(&answer(now));
        if matches!(pacer.state, State::Trial(_)) && pacer.floor.is_up() {
            let (sent, rejected) = (100.0, 10.0);
            pacer.conclude(Finding::Loss { sent, rejected }, now);
        }
        matches!(std::mem::replace(&mut pacer.state, State::Track), State::Search(_))
    })
}

#[test]
fn a_sunk_estimate_is_searched_for_again() {
    assert!(is_searched_again(tracking()));
}

#[test]
fn a_known_loss_is_looked_at_again_instead_of_a_search() {
    let mut pacer = tracking();
    pacer.floor.declare(0.0, 100.0, 10.0, PEAK);
    assert!(!is_searched_again(pacer));
}

#[test]
fn beside_hot_keys_a_known_loss_is_not_looked_at_so_a_search_is_left() {
    let mut pacer = tracking();
    pacer.floor.declare(0.0, 100.0, 10.0, PEAK);
    pacer.group.begin(0.0);
    assert!(is_searched_again(pacer));
}

/// Whether the pace is above a restored estimate soon.
fn climbs_soon(mut pacer: Pacer) -> bool {
    pacer.capacity = Some(0.5 * PEAK);
    pacer.restore(0.0);
    assert_eq!(pacer.capacity, Some(PEAK));
    pacer.pace(0.1) > PEAK
}

#[test]
fn a_restored_estimate_is_left_soon_if_nothing_has_proven_it() {
    assert!(climbs_soon(tracking()));
}

#[test]
fn a_proven_estimate_is_restored_and_kept_for_a_while() {
    let mut pacer = tracking();
    (0..PROOF).for_each(|_| pacer.suspicion.hear(CHUNK, 0.0, PEAK));
    assert!(!climbs_soon(pacer));
}

#[test]
fn beside_hot_keys_a_restored_estimate_is_kept_for_a_while() {
    let mut pacer = tracking();
    pacer.group.begin(0.0);
    assert!(!climbs_soon(pacer));
}

/// A pacer whose search is over, while calls of ten entries were accepted every hundredth of a second.
fn drained(accepted: f64, seconds: f64) -> Pacer {
    ended(accepted, seconds, 10.0)
}

/// The same, with so many entries accepted after the last rejection.
fn ended(accepted: f64, seconds: f64, at_last: f64) -> Pacer {
    let mut pacer = draining(accepted, seconds, at_last);
    pacer.end_drain_if_done(0.2);
    pacer
}

/// The same just before its end.
fn draining(accepted: f64, seconds: f64, at_last: f64) -> Pacer {
    let mut pacer = Pacer::new(Rules::default());
    pacer.trip.observe(0.05);
    (0..20).for_each(|call| pacer.recent.observe(f64::from(call) * 0.01, 10.0, 0.05));
    pacer.estimate.add(accepted, seconds);
    pacer.state = State::Drain {
        from: 0.2,
        until: 0.2,
        accepted: at_last,
        whole: Vec::new(),
    };
    pacer
}

/// What is found by a search in which so many entries a second got through until the bucket was empty.
fn found_after(rate: f64) -> f64 {
    let mut pacer = Pacer::new(Rules::default());
    pacer.trip.observe(0.008);
    (0..100).for_each(|call| pacer.recent.observe(f64::from(call) * 0.01, 0.01 * rate, 0.008));
    pacer.state = State::Search(Search::from(1000.0));
    // The service saw them at about the same moment.
    let (full, part, whole) = (CHUNK, CHUNK - 5.0, 0.0);
    let calls = [(0, full), (1, whole), (1, whole), (5, part), (10, part), (12, whole)];
    for (seen_after, rejected) in calls {
        let evidence = Evidence {
            sent_at: 0.996,
            seen_at: 1.0 + 0.001 * f64::from(seen_after),
            now: 1.014,
            accepted: CHUNK - rejected,
            rejected,
            ..answer(1.0)
        };
        pacer.hear(&evidence, 1000.0, &Jitter::seeded(1));
    }
    pacer.end_drain_if_done(1.02);
    pacer.capacity.unwrap_or(0.0)
}

#[test]
fn what_got_through_whole_at_the_end_of_a_search_counts_unless_many_times_more_did_before() {
    assert!((found_after(5000.0) - 6000.0).abs() < 1.0);
    assert!((found_after(100_000.0) - 1000.0).abs() < 1.0);
}

#[test]
fn what_a_search_found_for_a_sunk_estimate_is_tried_out_at_once_but_a_guess_after_some_marks() {
    let is_tried_out = |pacer: &Pacer| matches!(pacer.state, State::Trial(_));
    let searched = |accepted, seconds| {
        let mut pacer = draining(accepted, seconds, 10.0);
        pacer.unconfirmed = Some((100.0, 0.2));
        pacer.end_drain_if_done(0.2);
        pacer
    };
    assert!(is_tried_out(&searched(100.0, 0.1)));
    let mut guessed = searched(0.0, 0.0);
    guessed.track(&answer(0.6));
    assert!(!is_tried_out(&guessed));
    guessed.track(&answer(0.8));
    assert!(is_tried_out(&guessed));
}

#[test]
fn a_search_that_measured_nothing_leaves_what_got_through_lately() {
    let pacer = drained(0.0, 0.0);
    assert!(matches!(pacer.state, State::Track));
    assert!(pacer.capacity.is_some_and(|capacity| (capacity - 1000.0).abs() < 1.0));
}

#[test]
fn a_service_that_takes_nothing_any_more_is_out_whatever_got_through_lately() {
    assert!(matches!(ended(0.0, 0.0, 0.0).state, State::Outage(_)));
}

#[test]
fn a_rate_of_less_than_half_a_round_trip_is_believed_if_as_much_got_through_lately() {
    let capacity = |accepted, seconds| drained(accepted, seconds).capacity.unwrap_or(0.0);
    assert!((capacity(5.0, 0.005) - 1000.0).abs() < 1.0);
    assert!((capacity(20.0, 0.001) - 1000.0).abs() < 1.0);
    assert!((capacity(50.0, 0.001) - 2000.0).abs() < 1.0);
}

/// The estimate after a stretch of two seconds in which every worker was held up for so long.
fn after_a_slow_call(seconds: f64, accepted: f64, in_a_dip: bool) -> f64 {
    let mut pacer = tracking();
    pacer.estimate = Estimate::guessed(PEAK, 0.3);
    pacer.mark_at = Some(0.0);
    pacer.cut(0.0);
    pacer.earn(0.5);
    pacer.credit = Credit::none(0.5);
    pacer.unused = 0.0;
    pacer.earn(0.5 + seconds);
    pacer.credit.spend(1000.0);
    pacer.accepted = accepted;
    pacer.mark(&answer(2.004), in_a_dip);
    pacer.capacity.unwrap_or(0.0)
}

#[test]
fn what_the_bucket_could_not_keep_during_a_slow_call_lowers_no_estimate() {
    assert!(after_a_slow_call(0.0, 1900.0, false) < 0.97 * PEAK);
    assert!((after_a_slow_call(0.15, 1900.0, false) - PEAK).abs() < 1.0);
    // What it kept raises none either.
    assert!((after_a_slow_call(0.15, 2000.0, false) - PEAK).abs() < 1.0);
    // A mark below the estimate lowers it all the same.
    assert!(after_a_slow_call(0.15, 1900.0, true) < 0.97 * PEAK);
}

#[test]
fn after_a_slow_call_the_pace_is_higher_until_the_next_mark() {
    let mut pacer = tracking();
    pacer.mark_at = Some(0.0);
    pacer.cut(0.0);
    pacer.earn(0.0);
    let usual = pacer.pace(0.2);
    pacer.earn(0.2);
    assert!(pacer.pace(0.2) > 1.2 * usual);
    pacer.mark(&answer(0.204), true);
    assert!(pacer.pace(0.4) < PEAK);
}
