use super::super::tests::{answer, assert_about};
use super::*;

fn call(rejected: f64) -> Evidence {
    answer(1.0, rejected).trial(false)
}

#[test]
fn two_calls_in_a_row_that_are_rejected_at_a_low_pace_are_no_suspicion_yet_and_the_third_is() {
    let mut loss = BaselineLoss::default();
    assert_eq!(loss.observe_below(call(25.0)), None);
    assert_eq!(loss.observe_below(call(25.0)), None);
    let suspicion = loss.observe_below(call(25.0)).expect("three of three are suspicious");
    assert!((suspicion.calls - 3.0 / 9.0).abs() < 1e-9, "{suspicion:?}");
}

#[test]
fn few_rejections_at_a_low_pace_are_a_loss_without_a_probe() {
    let mut loss = BaselineLoss::default();
    for number in 0..200 {
        assert_eq!(
            loss.observe_below(call(if number % 40 == 39 { 25.0 } else { 0.0 })),
            None
        );
    }
    assert!((0.015..0.035).contains(&loss.share()), "{}", loss.share());
}

#[test]
fn without_a_loss_any_rejection_is_a_congestion_signal() {
    let mut loss = BaselineLoss::default();
    assert!(!loss.observe_elsewhere(call(0.0)));
    assert!(loss.observe_elsewhere(call(1.0)));
}

#[test]
fn what_a_known_loss_explains_is_no_signal_and_what_goes_beyond_it_is() {
    let mut loss = BaselineLoss::default();
    loss.calls.set(Trials::new(100.0, 20.0));
    for number in 0..100 {
        assert!(
            !loss.observe_elsewhere(call(if number % 5 == 0 { 25.0 } else { 0.0 })),
            "{number}"
        );
    }
    let signals = (0..20).filter(|_| loss.observe_elsewhere(call(25.0))).count();
    assert!(signals > 5, "{signals}");
}

#[test]
fn calls_and_entries_are_lost_one_way_or_the_other() {
    let mut loss = BaselineLoss::default();
    loss.calls.set(Trials::new(100.0, 20.0));
    loss.entries.set(Trials::new(100.0, 10.0));
    assert!((loss.share() - 0.28).abs() < 1e-9);
}

#[test]
fn more_than_six_in_ten_are_never_taken_for_a_loss_and_less_than_one_in_a_hundred_is_none() {
    let mut loss = BaselineLoss::default();
    loss.entries.set(Trials::new(100.0, 90.0));
    assert!((loss.share() - MAX_SHARE).abs() < 1e-9);
    loss.entries.set(Trials::new(1000.0, 9.0));
    assert!(!loss.is_known());
}

#[test]
fn a_baseline_explains_a_tenth_more_than_itself_and_a_margin() {
    let mut loss = BaselineLoss::default();
    assert_about(loss.calls.explained(), MARGIN);
    assert_about(loss.entries.explained(), MARGIN);
    loss.calls.set(Trials::new(100.0, 20.0));
    loss.entries.set(Trials::new(100.0, 10.0));
    assert_about(loss.calls.explained(), 0.26);
    assert_about(loss.entries.explained(), 0.13);
    let Suspicion { calls, entries } = loss.suspicion();
    assert_about(calls, 0.2);
    assert_about(entries, 0.1);
}

#[test]
fn chance_may_bring_two_rejections_and_some_deviations_of_the_baseline() {
    let mut loss = BaselineLoss::default();
    assert_about(loss.calls.max_excess(), 2.5);
    loss.calls.set(Trials::new(100.0, 20.0));
    loss.entries.set(Trials::new(100.0, 10.0));
    assert_about(loss.calls.max_excess(), 2.5 + 3.5 * 3.2_f64.sqrt());
    assert_about(loss.entries.max_excess(), 2.5 + 3.5 * 10.8_f64.sqrt());
}

#[test]
fn what_is_measured_again_weighs_no_less_than_two_hundred_calls_of_before() {
    let mut loss = BaselineLoss::default();
    loss.calls.set(Trials::new(150.0, 30.0));
    loss.calls.add(Trials::new(50.0, 30.0));
    assert_about(loss.calls.trials.sent, 200.0);
    assert_about(loss.share(), 0.3);
    loss.calls.add(Trials::new(50.0, 40.0));
    assert_about(loss.calls.trials.sent, 200.0);
    assert_about(loss.calls.trials.rejected, 80.0);
    assert_about(loss.share(), 0.4);
}

#[test]
fn three_rejections_that_are_at_most_a_twentieth_are_a_loss_without_a_probe() {
    let share = |trials, rejected| {
        let mut loss = BaselineLoss::default();
        loss.entries.add(Trials::new(trials, rejected));
        loss.share()
    };
    assert_about(share(60.0, 3.0), 0.05);
    assert_about(share(60.0, 2.0), 0.0);
    assert_about(share(60.0, 4.0), 0.0);
}

#[test]
fn an_excess_is_what_was_rejected_beyond_the_explained_since_it_was_none() {
    let mut share = LossOfKind::new(MAX_CALLS, CALLS_WINDOW, MARGIN);
    share.observe_below(Trials::new(10.0, 1.0));
    share.observe_below(Trials::new(5.0, 1.0));
    assert_about(share.below.sum, 2.0 - 15.0 * MARGIN);
    assert_eq!(share.below.since, Trials::new(15.0, 2.0));
    share.observe_below(Trials::new(100.0, 0.0));
    assert_eq!(share.below.since, Trials::default());
}
