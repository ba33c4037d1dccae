//! Counters: no increment is applied twice, whatever is lost.

use std::collections::HashMap;
use std::iter::repeat_n;
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::ItemWrite;
use aws_batch_delivery::{Cause, DeliveryOptions};
use aws_batch_simulator::{InjectedFault, Table};
use aws_sdk_dynamodb::Client;
use futures::future::join_all;
use proptest::prelude::*;

use crate::entries::{key, number, text};
use crate::mix::{Mix, any_mix, without_retries};
use crate::outcomes::{Outcome, outcomes};
use crate::paused::paused;
use crate::races::applied;

const INCREMENTS: usize = 60;

/// Adds one to one of three counters, and leaves its name there, by which the journal knows it.
fn increment(place: usize, writer: &str) -> (String, ItemWrite) {
    let name = format!("{writer} {place}");
    let write = ItemWrite::update(key((place % 3).to_string()), "SET #by = :by ADD n :one")
        .name("#by", "by")
        .value(":by", text(&name))
        .value(":one", number(1));
    (name, write)
}

fn counted(table: &Table) -> u32 {
    let counts = table.items();
    let counts = counts
        .iter()
        .map(|item| item["n"]["N"].as_str().unwrap().parse::<u32>().unwrap());
    counts.sum()
}

/// Two writers add to the same counters.
async fn count(mix: &Mix) -> Result<(), TestCaseError> {
    let (simulator, table) = mix.table();
    let delivery = mix.writes(&simulator);
    let of = |writer: &'static str| (0..INCREMENTS).map(move |place| increment(place, writer)).unzip();
    let (one_names, one): (Vec<String>, Vec<ItemWrite>) = of("one");
    let (other_names, other): (Vec<String>, Vec<ItemWrite>) = of("other");
    let (one, other) = futures::join!(outcomes(&delivery, one), outcomes(&delivery, other));
    let applied: HashMap<String, u32> = applied(&table);
    for (name, outcome) in one_names.iter().zip(one).chain(other_names.iter().zip(other)) {
        let times = applied.get(name).copied().unwrap_or(0);
        prop_assert!(
            outcome == Outcome::Delivered && times == 1,
            "{}: {:?}, applied {} times",
            name,
            outcome,
            times
        );
    }
    prop_assert_eq!(counted(&table) as usize, 2 * INCREMENTS);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_increment_counts_once(mix in any_mix()) {
        paused(count(&mix))?;
    }
}

/// Repeats an increment until it is answered, as a client does that retries by itself.
async fn naively(client: &Client, place: usize) {
    loop {
        let update = client
            .update_item()
            .table_name("orders")
            .set_key(Some(key((place % 3).to_string())))
            .update_expression("ADD n :one")
            .expression_attribute_values(":one", number(1));
        match tokio::time::timeout(Duration::from_secs(3), update.send()).await {
            Ok(Ok(_)) => return,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// The mixes are sharp: without a token the same increments count twice, with a client that retries by itself as well as with
/// this crate, if the caller vouches for what is not so.
#[test]
fn in_these_mixes_increments_without_a_token_count_twice() {
    for seed in 0..5 {
        let mix = Mix::of_lost_answers(seed);
        let naive = paused(async {
            let (simulator, table) = mix.table();
            let client = without_retries(&simulator);
            join_all((0..INCREMENTS).map(|place| naively(&client, place))).await;
            counted(&table)
        });
        let of_ours = |vouched: bool| {
            paused(async {
                let (simulator, table) = mix.table();
                let writes = (0..INCREMENTS).map(|place| increment(place, "one").1);
                let writes = writes.map(|write| if vouched { write.idempotent() } else { write });
                outcomes(&mix.writes(&simulator), writes.collect()).await;
                counted(&table)
            })
        };
        let increments = u32::try_from(INCREMENTS).unwrap();
        assert!(naive > increments, "seed {seed}: {naive}");
        assert!(of_ours(true) > increments, "seed {seed}: the caller has vouched");
        assert_eq!(of_ours(false), increments, "seed {seed}");
    }
}

/// Clones have one token as long as the service has not decided on the write.
#[test]
fn clones_of_an_increment_are_increments_of_their_own() {
    for seed in 0..5 {
        let mix = Mix::of_lost_answers(seed);
        paused(async {
            let (simulator, table) = mix.table();
            let clones = vec![increment(0, "one").1; 20];
            outcomes(&mix.writes(&simulator), clones).await;
            assert_eq!(counted(&table), 20, "seed {seed}");
        });
    }
}

/// After ten minutes DynamoDB takes a token for a new one. The increment was applied, and is not sent again.
#[test]
fn an_increment_in_doubt_for_too_long_is_handed_back() {
    paused(async {
        let (simulator, table) = Mix::without_faults(7).table();
        let lost = InjectedFault::Dropped { applied: true };
        table.script(std::iter::once(lost).chain(repeat_n(InjectedFault::Throttle, 30)));
        let delivery = Mix::without_faults(7).writes(&simulator);
        let options = DeliveryOptions::default()
            .backoff(|_: u32| Duration::from_mins(1))
            .give_up_after(Duration::from_hours(2));
        let error = delivery
            .options(options)
            .deliver([increment(0, "one").1])
            .await
            .unwrap_err();
        let undelivered = &error.undelivered()[0];
        assert!(undelivered.may_have_been_delivered);
        let Cause::Refused(fault) = &undelivered.cause else {
            panic!("{:?}", undelivered.cause);
        };
        assert_eq!(fault.code(), "request token expired");
        assert_eq!(counted(&table), 1);
    });
}

/// What is handed back in doubt is delivered again as it is, and still counts once.
#[test]
fn an_increment_that_is_handed_back_in_doubt_may_be_delivered_again() {
    paused(async {
        let (simulator, table) = Mix::without_faults(7).table();
        let delivery = Mix::without_faults(7).writes(&simulator);
        table.script([InjectedFault::Dropped { applied: true }]);
        let once = delivery.clone().options(DeliveryOptions::default().retries(0));
        let mut error = once.deliver([increment(0, "one").1]).await.unwrap_err();
        let undelivered = error.take_undelivered();
        assert!(undelivered[0].may_have_been_delivered);
        let again: Vec<ItemWrite> = undelivered.into_iter().map(|undelivered| *undelivered.entry).collect();
        assert_eq!(delivery.deliver(again.clone()).await.unwrap().delivered, 1);
        assert_eq!(counted(&table), 1);
        // The service has decided on it: now it is another increment.
        assert_eq!(delivery.deliver(again).await.unwrap().delivered, 1);
        assert_eq!(counted(&table), 2);
    });
}
