use super::super::tests::assert_about;
use super::*;

const SUSPICION: Suspicion = Suspicion {
    calls: 0.3,
    entries: 0.0,
};

/// A call of six entries that is rejected as a whole, or accepted.
fn call(is_rejected: bool) -> Evidence {
    let entries = Trials::new(6.0, 0.0);
    if is_rejected {
        whole_call(6.0)
    } else {
        Evidence {
            all: entries,
            calls: Trials::new(1.0, 0.0),
            entries,
        }
    }
}

/// A call of six entries that counts as rejected as a whole, and of which so many were rejected.
fn whole_call(rejected: f64) -> Evidence {
    Evidence {
        all: Trials::new(6.0, rejected),
        calls: Trials::new(1.0, 1.0),
        entries: Trials::default(),
    }
}

/// A probe from this rate on, with calls of 10 ms, where no loss is known.
fn probe_at(rate: f64, trip: f64) -> Probe {
    Probe::new(0.0, trip, rate, SUSPICION, Suspicion::default())
}

/// The finding of a probe of which every so many-th call is rejected at the first pace, and at the second.
fn probe(every: [u32; 2], suspicion: Suspicion) -> (Option<Finding>, f64) {
    let mut probe = Probe::new(0.0, 0.01, 1000.0, suspicion, Suspicion::default());
    for number in 1..=2000 {
        let now = 0.02 + 0.01 * f64::from(number);
        let is_rejected = number % every[usize::from(!probe.is_first)] == 0;
        if let Some(finding) = probe.observe(now, now, call(is_rejected)) {
            let mut loss = BaselineLoss::default();
            probe.apply(finding, &mut loss);
            return (Some(finding), loss.share());
        }
    }
    (None, 0.0)
}

#[test]
fn rejections_that_go_on_at_two_paces_are_a_loss() {
    let (finding, loss) = probe([5, 5], SUSPICION);
    assert_eq!(finding, Some(Finding::Loss));
    assert!((0.13..0.27).contains(&loss), "{loss}");
}

#[test]
fn a_share_that_is_a_third_of_the_suspected_one_is_a_loss_all_the_same() {
    let (finding, loss) = probe([10, 10], SUSPICION);
    assert_eq!(finding, Some(Finding::Loss));
    assert!((0.06..0.14).contains(&loss), "{loss}");
}

#[test]
fn rejections_that_end_at_the_first_pace_came_of_the_capacity() {
    assert_eq!(probe([u32::MAX, 1], SUSPICION), (Some(Finding::Capacity), 0.0));
}

#[test]
fn rejections_that_end_only_at_the_second_pace_came_of_the_capacity() {
    assert_eq!(probe([3, u32::MAX], SUSPICION).0, Some(Finding::Capacity));
}

#[test]
fn a_share_that_falls_from_pace_to_pace_came_of_the_capacity() {
    let suspicion = Suspicion {
        calls: 0.0,
        entries: 0.3,
    };
    let mut probe = Probe::new(0.0, 0.01, 1000.0, suspicion, Suspicion::default());
    let mut paces = vec![probe.pace];
    // Of ten entries so many are rejected at each pace.
    for call in 1..=200 {
        let rejected = [7.0, 3.0, 0.0][paces.len() - 1];
        let entries = Trials::new(10.0, rejected);
        let trial = Evidence {
            all: entries,
            calls: Trials::new(1.0, 0.0),
            entries,
        };
        let now = 0.02 + 0.02 * f64::from(call);
        let finding = probe.observe(now, now, trial);
        if probe.pace < paces[paces.len() - 1] {
            paces.push(probe.pace);
        }
        if let Some(finding) = finding {
            assert_eq!((finding, paces.len()), (Finding::Capacity, 3));
            return;
        }
    }
    panic!("no finding at {paces:?}");
}

#[test]
fn the_second_pace_follows_what_was_accepted_at_the_first() {
    let mut probe = probe_at(1000.0, 0.01);
    assert!((probe.pace - 600.0).abs() < 1e-9);
    for number in 0..8 {
        assert_eq!(probe.observe(0.02, 0.02 + 0.01 * f64::from(number), call(true)), None);
    }
    assert!(!probe.is_first && probe.pace < 100.0, "{}", probe.pace);
}

#[test]
fn a_probe_without_answers_that_count_ends_undecided() {
    let mut probe = probe_at(1000.0, 0.01);
    assert_eq!(probe.observe(0.5, 0.5, Evidence::default()), None);
    assert_eq!(probe.observe(5.5, 5.5, Evidence::default()), Some(Finding::Nothing));
}

#[test]
fn the_least_share_that_goes_on_is_a_part_of_the_suspected_one_and_more_than_what_is_known() {
    let least = |suspected, known| {
        let hypotheses = Hypotheses::new(suspected, known);
        (hypotheses.suspected, hypotheses.least, hypotheses.low())
    };
    let (suspected, at_least, low) = least(0.3, 0.0);
    assert_about(suspected, 0.3);
    assert_about(at_least, 0.09);
    assert_about(low, 0.018);
    let (suspected, at_least, low) = least(0.3, 0.4);
    assert_about(suspected, 0.6);
    assert_about(at_least, 0.6);
    assert_about(low, 0.4);
    assert_about(least(0.01, 0.0).1, MIN_SUSPECTED);
    assert_about(least(0.99, 0.0).0, MAX_SUSPECTED);
    assert_about(least(0.3, 0.99).1, MAX_SUSPECTED);
}

#[test]
fn a_share_that_goes_on_at_the_second_pace_is_at_least_half_of_that_at_the_first() {
    let mut first = Hypotheses::new(0.3, 0.0);
    first.trials = first.trials.plus(Trials::new(30.0, 10.0));
    first.trials = first.trials.plus(Trials::new(10.0, 10.0));
    assert_eq!(first.all(), Trials::new(40.0, 20.0));
    let mut second = first.at_next_pace();
    assert_about(second.least, 0.25);
    assert_about(second.suspected, 0.3);
    assert_about(second.low(), 0.05);
    second.trials = second.trials.plus(Trials::new(10.0, 1.0));
    assert_eq!(second.all(), Trials::new(50.0, 21.0));
    // More than was suspected, and then a known loss, which stays what it is.
    first.trials = first.trials.plus(Trials::new(60.0, 60.0));
    assert_about(first.at_next_pace().suspected, 0.4);
    let mut known = Hypotheses::new(0.3, 0.1);
    known.trials = known.trials.plus(Trials::new(4.0, 4.0));
    assert_about(known.at_next_pace().least, 0.5);
    assert_about(known.at_next_pace().low(), 0.1);
}

#[test]
fn the_evidence_is_the_likelihood_of_what_was_seen_if_rejections_go_on_over_that_if_they_do_not() {
    let evidence = |trials, rejected| {
        let mut hypotheses = Hypotheses::new(0.3, 0.0);
        hypotheses.trials = hypotheses.trials.plus(Trials::new(trials, rejected));
        hypotheses.evidence()
    };
    assert_about(evidence(0.0, 0.0), 0.0);
    let ratio = |high: f64| (high / 0.018).ln() * 2.0 + ((1.0 - high) / (1.0 - 0.018)).ln();
    // The share that was seen, within what is suspected.
    assert_about(evidence(3.0, 2.0), ratio(0.3));
    assert_about(evidence(10.0, 2.0), ratio(0.2) + 7.0 * (0.8_f64 / 0.982).ln());
    assert_about(evidence(10.0, 0.0), 10.0 * (0.91_f64 / 0.982).ln());
}

#[test]
fn a_share_has_fallen_if_chance_seldom_lowers_it_so_far() {
    let falls = |later| {
        let mut hypotheses = Hypotheses::new(0.3, 0.0);
        hypotheses.trials = hypotheses.trials.plus(Trials::new(100.0, 50.0));
        let mut hypotheses = hypotheses.at_next_pace();
        hypotheses.trials = hypotheses.trials.plus(Trials::new(100.0, later));
        hypotheses.has_fallen()
    };
    // Two standard deviations of the difference are 0.14 here.
    assert!(!falls(50.0) && !falls(37.0) && falls(35.0));
}

#[test]
fn calls_that_left_before_the_low_pace_do_not_count() {
    let mut probe = probe_at(1000.0, 0.01);
    assert_eq!(probe.observe(0.009, 0.02, call(true)), None);
    assert_eq!((probe.answers, probe.calls.unwrap().all()), (0, Trials::default()));
    assert_eq!(probe.observe(0.01, 0.02, call(true)), None);
    assert_eq!((probe.answers, probe.calls.unwrap().all()), (1, Trials::new(1.0, 1.0)));
    assert_about(probe.observed.sent, 6.0);
    assert_about(probe.observed.not_rejected(), 0.0);
}

#[test]
fn calls_are_small_but_not_too_small() {
    let call = |rate| probe_at(rate, 0.01).call();
    assert_about(call(1000.0), 6.0);
    assert_about(call(100.0), 5.0);
}

#[test]
fn a_second_pace_follows_after_eight_calls_however_clear_the_first_ones_are() {
    let mut probe = probe_at(1000.0, 0.01);
    let half = whole_call(3.0);
    let calls = (1..20).find(|call| {
        probe.observe(0.02, 0.02 + 0.01 * f64::from(*call), half);
        !probe.is_first
    });
    assert_eq!(calls, Some(8));
    assert_about(probe.accepted_rate, 300.0);
    assert_about(probe.pace, 180.0);
    assert_about(probe.counts_from, 0.11);
    assert_eq!(
        (probe.answers, probe.calls.unwrap().earlier),
        (0, Trials::new(8.0, 8.0))
    );
}

#[test]
fn each_pace_takes_the_time_of_some_entries_between_one_and_five_seconds() {
    let longest = |rate| {
        let mut probe = probe_at(rate, 0.0);
        let tick = (1..1000).find(|tick| {
            let now = 0.01 * f64::from(*tick);
            probe.observe(now, now, Evidence::default()).is_some()
        });
        tick.unwrap_or(0)
    };
    assert_eq!([longest(1000.0), longest(100.0), longest(10.0)], [100, 200, 500]);
}

#[test]
fn a_capacity_has_fallen_to_what_was_accepted_but_by_few_rejections_not_far() {
    let fallen = |suspected, accepted_rate| {
        let suspicion = Suspicion {
            calls: suspected,
            entries: 0.1,
        };
        let probe = Probe::new(0.0, 0.01, accepted_rate, suspicion, Suspicion::default());
        assert_about(probe.suspected(), suspected);
        probe.fallen(1000.0)
    };
    assert_about(fallen(0.32, 300.0), 300.0);
    assert_about(fallen(0.2, 300.0), 400.0);
    assert_about(fallen(0.2, 2000.0), 1000.0);
}

/// The loss after a finding of a probe in which so many of 20 calls were rejected, and before which that loss was known.
fn reported(finding: Finding, known: f64, is_review: bool, rejected: f64) -> f64 {
    let mut loss = BaselineLoss::default();
    loss.calls.set(Trials::new(100.0, 100.0 * known));
    let mut probe = Probe::new(
        0.0,
        0.01,
        1000.0,
        SUSPICION,
        if is_review {
            Suspicion::default()
        } else {
            loss.suspicion()
        },
    );
    probe.calls.as_mut().unwrap().trials = Trials::new(20.0, rejected);
    probe.apply(finding, &mut loss);
    loss.share()
}

#[test]
fn a_finding_sets_the_loss() {
    assert_about(reported(Finding::Loss, 0.0, false, 8.0), 0.4);
    assert_about(reported(Finding::Loss, 0.1, false, 8.0), 0.4);
    assert_about(reported(Finding::Loss, 0.1, true, 8.0), 0.4);
    // Another kind of rejections was found: of this one there were few.
    assert_about(reported(Finding::Loss, 0.1, false, 0.0), 0.1);
    assert_about(reported(Finding::Nothing, 0.1, false, 8.0), 0.1);
    assert_about(reported(Finding::Nothing, 0.1, true, 8.0), 0.1);
    // What is known stays, unless it was in doubt.
    assert_about(reported(Finding::Capacity, 0.1, false, 8.0), 0.1);
    assert_about(reported(Finding::Capacity, 0.1, true, 0.0), 0.0);
}

#[test]
fn little_evidence_at_the_end_of_its_time_leaves_a_probe_undecided() {
    let finding = |rejected: i32, calls: i32| {
        let mut probe = probe_at(1000.0, 0.0);
        for number in 0..calls {
            assert_eq!(probe.observe(0.1, 0.1, call(number < rejected)), None);
        }
        probe.observe(1.0, 1.0, Evidence::default())
    };
    assert_eq!(finding(0, 39), Some(Finding::Nothing));
    assert_eq!(finding(0, 40), Some(Finding::Capacity));
    assert_eq!(finding(1, 3), Some(Finding::Nothing));
}
