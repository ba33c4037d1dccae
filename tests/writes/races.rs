//! Two writers of the same keys: neither is told that a write of its own has failed that was applied.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::targets::dynamo::ItemWrite;
use aws_batch_simulator::{Action, Record, Table};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use futures::future::join_all;
use proptest::prelude::*;

use crate::entries::{claim, delete_if, item, put_if_absent};
use crate::mix::{Mix, any_mix, without_retries};
use crate::outcomes::{Outcome, outcomes};
use crate::paused::paused;

const KEYS: usize = 30;

fn id(number: usize) -> String {
    format!("{number:02}")
}

/// How often the write with each name was applied.
pub(crate) fn applied(table: &Table) -> HashMap<String, u32> {
    let mut applied = HashMap::new();
    for record in table.journal() {
        if record.acknowledgement().is_applied() {
            *applied.entry(name_of(&record)).or_default() += 1;
        }
    }
    applied
}

/// The name that a write has put, or the key that it has deleted.
fn name_of(record: &Record) -> String {
    let entry = record.entry();
    let name = match record.action {
        Action::Put => &entry["by"]["S"],
        Action::Update => &entry["ExpressionAttributeValues"][":by"]["S"],
        _ => &entry["id"]["S"],
    };
    name.as_str().unwrap().to_owned()
}

/// Fails if the outcome of a write contradicts what was applied of it.
pub(crate) fn contradictions(names: &[String], outcomes: &[Outcome], applied: &HashMap<String, u32>) -> Vec<String> {
    let contradicts = |(name, outcome): (&String, &Outcome)| {
        let times = applied.get(name).copied().unwrap_or(0);
        let fits = match outcome {
            Outcome::Delivered => times > 0,
            Outcome::ConditionFailed | Outcome::NotDelivered => times == 0,
            Outcome::InDoubt => true,
        };
        (!fits).then(|| format!("{name}: {outcome:?}, applied {times} times"))
    };
    names.iter().zip(outcomes).filter_map(contradicts).collect()
}

/// A write of a key for the one or the other writer.
type Writes = fn(usize, &str) -> ItemWrite;

const CONTESTED: [(&str, Writes); 4] = [
    ("put if absent", |number, by| put_if_absent(id(number), by)),
    ("put if absent, with a token", |number, by| {
        put_if_absent(id(number), by).with_token()
    }),
    ("claim", |number, by| claim(id(number), by)),
    ("claim, with a token", |number, by| claim(id(number), by).with_token()),
];

fn names(writer: &str) -> Vec<String> {
    (0..KEYS).map(|number| format!("{writer} of {}", id(number))).collect()
}

/// Two writers want each key for themselves.
async fn contest(mix: &Mix, write: Writes) -> Result<(), TestCaseError> {
    let (simulator, table) = mix.table();
    let delivery = mix.writes(&simulator);
    let (one, other) = (names("one"), names("other"));
    let entries = |names: &[String]| {
        names
            .iter()
            .enumerate()
            .map(|(number, name)| write(number, name))
            .collect()
    };
    let both = futures::join!(outcomes(&delivery, entries(&one)), outcomes(&delivery, entries(&other)),);
    let applied = applied(&table);
    for (names, outcomes) in [(&one, &both.0), (&other, &both.1)] {
        let contradictions = contradictions(names, outcomes, &applied);
        prop_assert!(contradictions.is_empty(), "{:?}", contradictions);
    }
    // The key is the one's of whom it is said so, and never both's.
    for item in table.items() {
        let number: usize = item["id"]["S"].as_str().unwrap().parse().unwrap();
        let owner = item["by"]["S"].as_str().unwrap();
        let (of_owner, of_loser) = if owner == one[number] {
            (both.0[number], both.1[number])
        } else {
            (both.1[number], both.0[number])
        };
        prop_assert!(
            matches!(of_owner, Outcome::Delivered | Outcome::InDoubt),
            "{}: {:?}",
            owner,
            of_owner
        );
        prop_assert!(
            matches!(of_loser, Outcome::ConditionFailed | Outcome::InDoubt),
            "{}: {:?}",
            owner,
            of_loser
        );
    }
    prop_assert_eq!(table.len(), KEYS);
    Ok(())
}

/// One deletes what it has put, while another one puts items with the same keys.
async fn deletions(mix: &Mix) -> Result<(), TestCaseError> {
    let (simulator, table) = mix.table();
    let delivery = mix.writes(&simulator);
    let puts = |names: Vec<String>| {
        names
            .iter()
            .enumerate()
            .map(|(number, name)| ItemWrite::put(item(id(number), name)))
            .collect()
    };
    outcomes(&delivery, puts(names("one"))).await;
    let ids: Vec<String> = (0..KEYS).map(id).collect();
    let deletions = ids
        .iter()
        .zip(names("one"))
        .map(|(id, by)| delete_if(id, &by))
        .collect();
    let (deleted, put) = futures::join!(
        outcomes(&delivery, deletions),
        outcomes(&delivery, puts(names("other")))
    );
    prop_assert!(put.iter().all(|outcome| *outcome == Outcome::Delivered));
    let applied = applied(&table);
    let contradictions = contradictions(&ids, &deleted, &applied);
    prop_assert!(contradictions.is_empty(), "{:?}", contradictions);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_key_is_won_by_one_writer_and_both_know_it(mix in any_mix()) {
        for (_, write) in CONTESTED {
            paused(contest(&mix, write))?;
        }
    }

    #[test]
    fn a_deletion_is_reported_as_it_was_decided(mix in any_mix()) {
        paused(deletions(&mix))?;
    }
}

/// Repeats a put until the service has said something of it, as a client does that retries by itself.
async fn naively(client: &Client, number: usize, by: &str) -> Outcome {
    loop {
        let put = client
            .put_item()
            .table_name("orders")
            .set_item(Some(item(id(number), by)))
            .condition_expression("attribute_not_exists(id)");
        match tokio::time::timeout(Duration::from_secs(3), put.send()).await {
            Ok(Ok(_)) => return Outcome::Delivered,
            Ok(Err(SdkError::ServiceError(error))) if error.err().code() == Some("ConditionalCheckFailedException") => {
                return Outcome::ConditionFailed;
            }
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// The mixes are sharp: a client that takes every answer for that of its own attempt is wrong in them.
#[test]
fn in_these_mixes_a_client_that_retries_by_itself_reports_applied_puts_as_failed() {
    let wrong_of = |seed: u64| {
        let mix = Mix::of_lost_answers(seed);
        let naive = paused(async {
            let (simulator, table) = mix.table();
            let client = without_retries(&simulator);
            let names = names("one");
            let writes = names
                .iter()
                .enumerate()
                .map(|(number, by)| naively(&client, number, by));
            let outcomes = join_all(writes).await;
            contradictions(&names, &outcomes, &applied(&table)).len()
        });
        let ours = paused(async {
            let (simulator, table) = mix.table();
            let names = names("one");
            let writes = names
                .iter()
                .enumerate()
                .map(|(number, by)| put_if_absent(id(number), by));
            let outcomes = outcomes(&mix.writes(&simulator), writes.collect()).await;
            contradictions(&names, &outcomes, &applied(&table)).len()
        });
        (naive, ours)
    };
    let wrong: Vec<_> = (0..20).map(wrong_of).collect();
    assert!(wrong.iter().all(|(_, ours)| *ours == 0), "{wrong:?}");
    assert!(wrong.iter().filter(|(naive, _)| *naive > 0).count() >= 15, "{wrong:?}");
}
