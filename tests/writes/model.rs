//! One writer: whatever fails, the table and the outcomes are those of a service that applies one write after the other.

use std::collections::BTreeMap;

use aws_batch_delivery::targets::dynamo::ItemWrite;
use proptest::prelude::*;
use serde_json::Value;

use crate::entries::{claim, delete_if, item, key, number, put_if_absent};
use crate::mix::{Mix, any_mix};
use crate::outcomes::{Outcome, outcomes};
use crate::paused::paused;

/// What a write does to one of a few keys. Each write has a name of its own, its position.
#[derive(Debug, Clone, Copy)]
enum Does {
    Put,
    PutIfAbsent,
    Delete,
    /// Deletes if the item is that of the write this many positions before.
    DeleteIf(usize),
    Claim,
    /// Claims with a token.
    ClaimOnce,
    Release,
    /// Adds to a counter, which must not happen twice.
    Add(i64),
    /// Adds to the counter of an item that is somebody's.
    AddIf(i64),
}

fn any_write() -> impl Strategy<Value = (usize, Does)> {
    let does = prop_oneof![
        Just(Does::Put),
        Just(Does::PutIfAbsent),
        Just(Does::Delete),
        (1..8_usize).prop_map(Does::DeleteIf),
        Just(Does::Claim),
        Just(Does::ClaimOnce),
        Just(Does::Release),
        (1..100_i64).prop_map(Does::Add),
        (1..100_i64).prop_map(Does::AddIf),
    ];
    (0..4_usize, does)
}

fn name_of(position: usize) -> String {
    format!("write {position}")
}

fn write((position, (id, does)): (usize, &(usize, Does))) -> ItemWrite {
    let (id, name) = (id.to_string(), name_of(position));
    let add = |more: i64| ItemWrite::update(key(&id), "ADD n :more").value(":more", number(more));
    match does {
        Does::Put => ItemWrite::put(item(id, &name)),
        Does::PutIfAbsent => put_if_absent(id, &name),
        Does::Delete => ItemWrite::delete(key(id)),
        Does::DeleteIf(before) => delete_if(id, &name_of(position.saturating_sub(*before))),
        Does::Claim => claim(id, &name),
        Does::ClaimOnce => claim(id, &name).with_token(),
        Does::Release => ItemWrite::update(key(id), "REMOVE #by").name("#by", "by"),
        Does::Add(more) => add(*more),
        Does::AddIf(more) => add(*more).condition("attribute_exists(#by)").name("#by", "by"),
    }
}

/// An item of the model: whose it is, and its counter.
#[derive(Debug, Clone, Default, PartialEq)]
struct Item {
    by: Option<String>,
    n: Option<i64>,
}

/// A table that applies one write after the other.
#[derive(Debug, Default, PartialEq)]
struct Model(BTreeMap<String, Item>);

impl Model {
    /// Whether the condition of the write holds. Then it is applied.
    fn apply(&mut self, position: usize, (id, does): (usize, Does)) -> bool {
        let (id, name) = (id.to_string(), name_of(position));
        let owner = self.0.get(&id).and_then(|item| item.by.clone());
        let holds = match does {
            Does::Put | Does::Delete | Does::Release | Does::Add(_) => true,
            Does::PutIfAbsent => !self.0.contains_key(&id),
            Does::DeleteIf(before) => owner == Some(name_of(position.saturating_sub(before))),
            Does::Claim | Does::ClaimOnce => owner.is_none(),
            Does::AddIf(_) => owner.is_some(),
        };
        if !holds {
            return false;
        }
        match does {
            Does::Put | Does::PutIfAbsent => {
                let by = Some(name);
                self.0.insert(id, Item { by, n: None });
            }
            Does::Delete | Does::DeleteIf(_) => _ = self.0.remove(&id),
            Does::Claim | Does::ClaimOnce => self.0.entry(id).or_default().by = Some(name),
            Does::Release => self.0.entry(id).or_default().by = None,
            Does::Add(more) | Does::AddIf(more) => *self.0.entry(id).or_default().n.get_or_insert(0) += more,
        }
        true
    }

    fn of_table(items: &[Value]) -> Self {
        let item = |item: &Value| {
            let by = item["by"]["S"].as_str().map(str::to_owned);
            let n = item["n"]["N"].as_str().map(|n| n.parse().unwrap());
            (item["id"]["S"].as_str().unwrap().to_owned(), Item { by, n })
        };
        Self(items.iter().map(item).collect())
    }
}

async fn check(mix: &Mix, writes: &[(usize, Does)]) -> Result<(), TestCaseError> {
    let (simulator, table) = mix.table();
    let entries = writes.iter().enumerate().map(write).collect();
    let outcomes = outcomes(&mix.writes(&simulator), entries).await;
    let mut model = Model::default();
    for (position, (does, outcome)) in writes.iter().zip(outcomes).enumerate() {
        let holds = model.apply(position, *does);
        match outcome {
            Outcome::Delivered => prop_assert!(holds, "{position}: delivered, and its condition does not hold"),
            Outcome::ConditionFailed => prop_assert!(!holds, "{position}: condition failed, and it was applied"),
            // Only what has a condition and no token is ever undecided.
            Outcome::InDoubt => prop_assert!(
                matches!(does.1, Does::PutIfAbsent | Does::DeleteIf(_) | Does::Claim),
                "{position}: in doubt"
            ),
            Outcome::NotDelivered => prop_assert!(false, "{position}: every write is tried until it is decided"),
        }
    }
    prop_assert_eq!(Model::of_table(&table.items()), model);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_table_is_that_of_a_service_that_never_fails(
        mix in any_mix(),
        writes in prop::collection::vec(any_write(), 1..60),
    ) {
        paused(check(&mix, &writes))?;
    }
}
