//! What users of other clients have reported, rebuilt small: what was applied, and was said not to be.

use std::collections::HashMap;

use aws_batch_delivery::targets::dynamo::ItemWrite;

use crate::entries::{key, number, put_if_absent, text};
use crate::mix::Mix;
use crate::outcomes::{Outcome, outcomes};
use crate::paused::paused;

/// Every tenth answer is lost, with other faults.
const SEEDS: std::ops::Range<u64> = 0..10;

/// Batch files whose keys are unique are loaded with `attribute_not_exists`. Now and then a client reports that a key exists
/// already: it has written it itself, in an attempt that timed out.
#[test]
fn unique_keys_are_never_known_already() {
    for seed in SEEDS {
        let mix = Mix::of_lost_answers(seed);
        paused(async {
            let (simulator, table) = mix.table();
            let writes = (0..300).map(|number| put_if_absent(format!("{number:03}"), "file 7"));
            let outcomes = outcomes(&mix.writes(&simulator), writes.collect()).await;
            assert!(
                outcomes.iter().all(|outcome| *outcome == Outcome::Delivered),
                "seed {seed}"
            );
            assert_eq!(table.len(), 300);
        });
    }
}

/// Optimistic locking: each update demands the version before it. A client whose attempt timed out is told that another
/// writer was faster, and gives up its own write, or makes it twice.
#[test]
fn a_version_of_ones_own_is_not_taken_for_that_of_another_writer() {
    const VERSIONS: i64 = 20;
    for seed in SEEDS {
        let mix = Mix::of_lost_answers(seed);
        paused(async {
            let (simulator, table) = mix.table();
            let delivery = mix.writes(&simulator);
            let items = || (0..10).map(|number| format!("{number}"));
            let first = |id| {
                let mut item = key(id);
                item.insert("version".to_owned(), number(0));
                ItemWrite::put(item)
            };
            let next = |id: String, version: i64| {
                ItemWrite::update(key(id), "SET version = :new, changed = :by")
                    .condition("version = :old")
                    .value(":old", number(version - 1))
                    .value(":new", number(version))
                    .value(":by", text(format!("{version}")))
            };
            let mut writes: Vec<ItemWrite> = items().map(first).collect();
            for version in 1..=VERSIONS {
                writes.extend(items().map(|id| next(id, version)));
            }
            let outcomes = outcomes(&delivery, writes).await;
            assert!(
                outcomes.iter().all(|outcome| *outcome == Outcome::Delivered),
                "seed {seed}"
            );
            let versions: HashMap<_, _> = table
                .items()
                .iter()
                .map(|item| (item["id"].clone().to_string(), item["version"]["N"].clone()))
                .collect();
            let newest = VERSIONS.to_string();
            assert_eq!(versions.len(), 10);
            assert!(versions.values().all(|version| *version == newest), "{versions:?}");
        });
    }
}
