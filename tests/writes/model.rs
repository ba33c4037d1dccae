//! One writer: whatever fails, the table and the outcomes are those of a service that applies one write after another.

use proptest::prelude::*;

use crate::chaos::model::{Does, Model};
use crate::mix::{Mix, any_mix};
use crate::outcomes::{Outcome, outcomes};
use crate::paused::paused;

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
        (1..100_i64).prop_map(Does::AddBySet),
        (1..100_i64).prop_map(Does::AddIf),
    ];
    (0..4_usize, does)
}

async fn check(mix: &Mix, writes: &[(usize, Does)]) -> Result<(), TestCaseError> {
    let (simulator, table) = mix.table();
    let entry = |(position, (id, does)): (usize, &(usize, Does))| does.write("orders", &id.to_string(), position);
    let entries = writes.iter().enumerate().map(entry).collect();
    let outcomes = outcomes(&mix.writes(&simulator), entries).await;
    let mut model = Model::default();
    for (position, ((id, does), outcome)) in writes.iter().zip(outcomes).enumerate() {
        let holds = model.apply(&id.to_string(), position, *does);
        match outcome {
            Outcome::Delivered => prop_assert!(holds, "{position}: delivered, and its condition does not hold"),
            Outcome::ConditionFailed => prop_assert!(!holds, "{position}: condition failed, and it was applied"),
            // Only what has a condition and no token is ever undecided.
            Outcome::InDoubt => prop_assert!(
                matches!(does, Does::PutIfAbsent | Does::DeleteIf(_) | Does::Claim),
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
