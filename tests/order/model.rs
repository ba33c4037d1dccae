//! Random deliveries compared with a sequential one.

use std::collections::{HashMap, HashSet};

use aws_batch_delivery::{Cause, Delivery, Undelivered};
use proptest::prelude::*;

use crate::order::scenario::{Input, Scenario, any_scenario};
use crate::order::service::{Order, Seen, Write};
use crate::support::cases::cases;

/// Delivers a random input with random faults, and compares the result with a sequential delivery.
fn is_delivered_in_order(scenario: &Scenario) -> Result<(), TestCaseError> {
    arrives_in_order(scenario, 1)
}

/// The same with the input split into several inputs, which are read in turn.
fn arrives_in_order(scenario: &Scenario, inputs: usize) -> Result<(), TestCaseError> {
    let input = scenario.input();
    let service = scenario.service(&input);
    let seen = service.seen();
    let result = scenario.run(async |options| {
        let dealt = (0..inputs).map(|first| input.writes.clone().into_iter().skip(first).step_by(inputs));
        Delivery::new(service).options(options).deliver_interleaved(dealt).await
    });
    let (report, undelivered) = match result {
        Ok(report) => (report, Vec::new()),
        Err(error) => (error.report.clone(), error.into_undelivered()),
    };
    let seen = seen.lock().unwrap();
    prop_assert_eq!(&seen.violations, &[""; 0]);

    // Delivered, undelivered and superseded make up the input.
    let all = report.delivered + report.undelivered + report.superseded;
    prop_assert_eq!(all, input.writes.len() as u64);
    prop_assert_eq!(report.undelivered, undelivered.len() as u64);
    let handed_back: HashMap<usize, &Undelivered<Write>> = undelivered
        .iter()
        .map(|undelivered| (undelivered.entry.number, undelivered))
        .collect();
    prop_assert_eq!(handed_back.len(), undelivered.len());
    for undelivered in &undelivered {
        prop_assert_eq!(undelivered.position, undelivered.entry.number as u64);
        prop_assert_eq!(&*undelivered.entry, &input.writes[undelivered.entry.number]);
        has_its_cause(scenario, &input, undelivered)?;
    }
    let drops = scenario.last_write_wins && scenario.order == Order::Exclusive;
    if !drops {
        prop_assert_eq!(report.superseded, 0);
    }
    if !scenario.is_impatient() && !drops {
        let cannot = |write: &&Write| input.poisoned.contains(&write.number) || input.is_too_large(write);
        prop_assert_eq!(handed_back.len(), input.writes.iter().filter(cannot).count());
    }

    for key in 0..scenario.keys {
        arrived_in_order(&input, key, &seen, &handed_back, drops)?;
    }
    Ok(())
}

/// Whether the scenario explains the cause of a handed back entry.
fn has_its_cause(scenario: &Scenario, input: &Input, undelivered: &Undelivered<Write>) -> Result<(), TestCaseError> {
    let write = &undelivered.entry;
    match &undelivered.cause {
        Cause::Invalid(_) => prop_assert!(input.is_too_large(write)),
        Cause::Refused(_) => prop_assert!(input.poisoned.contains(&write.number)),
        Cause::RetriesUsedUp(_) => {
            let retries = scenario.retries;
            prop_assert!(
                retries.is_some_and(|retries| undelivered.attempts > retries),
                "{:?}",
                undelivered
            );
        }
        _ => prop_assert!(scenario.is_impatient(), "{:?}", undelivered),
    }
    Ok(())
}

/// Compares the arrived entries of one key with its part of the input.
fn arrived_in_order(
    input: &Input,
    key: u8,
    seen: &Seen,
    handed_back: &HashMap<usize, &Undelivered<Write>>,
    drops: bool,
) -> Result<(), TestCaseError> {
    let of_key = |writes: &[Write]| -> Vec<usize> {
        let of_key = writes.iter().filter(|write| write.key == key);
        of_key.map(|write| write.number).collect()
    };
    let (sent, arrived) = (of_key(&input.writes), of_key(&seen.log));
    let arrived = without_repeats(&arrived, |number| seen.ambiguous.contains(&Write { key, number }))?;
    // An entry that was handed back may only have arrived if it is marked so.
    for number in &arrived {
        let is_told = handed_back
            .get(number)
            .is_none_or(|undelivered| undelivered.may_have_been_delivered);
        prop_assert!(is_told, "{} is there", number);
    }
    let is_delivered = |number: &&usize| !handed_back.contains_key(number);
    let last = (sent.last(), arrived.last());
    if !drops {
        let arrived: Vec<&usize> = arrived.iter().filter(is_delivered).collect();
        let delivered: Vec<&usize> = sent.iter().filter(is_delivered).collect();
        prop_assert_eq!(arrived, delivered);
    } else if last.0.is_some_and(|last| is_delivered(&last)) {
        // If the last write was handed back, those before it may have been superseded by it.
        prop_assert_eq!(last.0, last.1, "the last write of key {} does not stand", key);
    }
    Ok(())
}

/// What arrived, in order; an entry may have arrived several times in a row if an answer was ambiguous.
fn without_repeats(arrived: &[usize], is_ambiguous: impl Fn(usize) -> bool) -> Result<Vec<usize>, TestCaseError> {
    let mut once = arrived.to_vec();
    once.dedup();
    prop_assert!(once.is_sorted_by(|one, other| one < other), "out of order: {:?}", once);
    for pair in arrived.windows(2).filter(|pair| pair[0] == pair[1]) {
        prop_assert!(is_ambiguous(pair[0]), "{} was sent again though accepted", pair[0]);
    }
    Ok(once)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(600), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writes_of_a_key_arrive_in_input_order_whatever_happens(scenario in any_scenario(Order::Exclusive)) {
        is_delivered_in_order(&scenario)?;
    }

    #[test]
    fn messages_of_a_group_arrive_in_input_order_whatever_happens(scenario in any_scenario(Order::Ordered)) {
        is_delivered_in_order(&scenario)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(120), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_several_inputs_bring_arrives_in_the_order_in_which_they_are_read_in_turn(
        scenario in any_scenario(Order::Exclusive),
        inputs in 2_usize..6,
    ) {
        arrives_in_order(&scenario, inputs)?;
    }

    #[test]
    fn writes_of_an_unknown_key_keep_their_order_in_a_refused_call(
        scenario in any_scenario(Order::Unknown),
    ) {
        let scenario = scenario.in_one_call();
        // Otherwise no call is refused because of its keys, and the order does not matter.
        let keys: HashSet<u8> = scenario.input().writes.iter().map(|write| write.key).collect();
        prop_assume!(keys.len() < scenario.input().writes.len());
        is_delivered_in_order(&scenario)?;
    }
}
