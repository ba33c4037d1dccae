//! The shards of a plan, which workers deliver.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::keeping::Location;
use crate::source::{Input, InputStorage, Part, Segments};

/// The most bytes of an input's name within a file name. File systems allow 255 in total.
const LONGEST_NAME: usize = 160;

/// The most bytes of the name of an execution within a file name, as in Step Functions. An ARN is longer.
const LONGEST_EXECUTION: usize = 80;

/// The characters of a hash, and one that separates it.
const HASHED: usize = 17;

/// A planned shard: the bytes of an input, or the segments of a table, from `begin` to before `end`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlannedShard {
    pub(crate) input: String,
    #[serde(flatten)]
    pub(crate) part: Part,
    /// The input of which this is a part. It is written without one, too, since a state machine takes each field of a shard by its name.
    #[serde(default)]
    pub(crate) version: Option<InputVersion>,
    /// The most units per second of its delivery. It is written without one, too, as the version is.
    #[serde(default)]
    pub(crate) max_rate: Option<f64>,
    /// The execution of the state machine that hands the shard out, which checkpoints need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) execution: Option<String>,
}

/// What a whole input was when it was planned. A file has its size alone, since its modification time may be another one on each
/// machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputVersion {
    pub(crate) bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

impl InputVersion {
    /// `None` if the size of the input is not known.
    pub(crate) fn of(input: &Input) -> Option<Self> {
        let etag = match &input.storage {
            InputStorage::Standard | InputStorage::File(_) => None,
            InputStorage::Object(object) => Some(object.etag.clone()),
        };
        Some(Self {
            bytes: input.bytes?,
            etag,
        })
    }
}

impl PlannedShard {
    /// Its segments if it is of a table, or what is wrong with them.
    pub(super) fn segments(&self) -> Result<Option<Segments>, String> {
        Segments::of(&self.input, self.part.begin, self.part.end).transpose()
    }

    /// Its checkpoint at this place. Another run of the same plan must not continue after it, so its name has the execution; `None` without
    /// one.
    pub(super) fn checkpoint(&self, place: &Location) -> Option<Location> {
        let name = self.name(Some(self.execution.as_deref()?));
        Some(place.below(&format!("{name}.state")))
    }

    /// A name that identifies the shard, and also the execution of a state machine if one is given.
    pub(super) fn name(&self, execution: Option<&str>) -> String {
        let mut name: String = self.input.chars().map(of_name).collect();
        let execution = execution
            .map(|execution| of_execution(execution) + "@")
            .unwrap_or_default();
        let longest = LONGEST_NAME - execution.len();
        // No pattern for dead letters matches a name that begins with a dot.
        if name.len() > longest || name.starts_with('.') || !is_plain(&self.input) {
            name = hashed(&self.input, &name, longest);
        }
        let (begin, end) = (self.part.begin, self.part.end);
        format!("{execution}{name}@{begin}-{end}")
    }
}

/// The name of an execution within a file name, which no other execution has.
fn of_execution(execution: &str) -> String {
    let name: String = execution.chars().map(of_name).collect();
    if name.len() <= LONGEST_EXECUTION && !name.contains('+') {
        name
    } else {
        hashed(execution, &name, LONGEST_EXECUTION - HASHED)
    }
}

/// A hash of what has this name, and the end of the name, which says more than its beginning.
fn hashed(of: &str, name: &str, longest: usize) -> String {
    // Another version of Rust may have another hash. A checkpoint that is not found costs a second delivery.
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    format!(
        "{:016x}@{}",
        hasher.finish(),
        &name[name.len().saturating_sub(longest)..]
    )
}

/// A character of a file name that stands for this one.
fn of_name(character: char) -> char {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => character,
        _ => '+',
    }
}

/// Whether no other input of which this holds has the same characters of a file name.
fn is_plain(input: &str) -> bool {
    let is_kept = |part: &str| part.chars().all(|character| of_name(character) != '+');
    match Segments::of(input, 0, 1) {
        Some(Ok(segments)) => is_kept(&segments.table),
        Some(Err(_)) => false,
        None => {
            let (scheme, path) = input.split_once("://").unwrap_or(("", input));
            is_kept(scheme) && !path.contains("//") && path.split('/').all(is_kept)
        }
    }
}

/// The shards of inputs, each given by its name, its version and its number of shards. The shards of each input are spread evenly
/// over the list, so that workers write to many places of a table at the same time.
pub(crate) fn interleaved(inputs: &[(String, InputVersion, u64)]) -> Vec<PlannedShard> {
    let shards = inputs.iter().flat_map(|(input, version, count)| {
        (0..*count).map(move |index| {
            let part = Part::of(version.bytes, index, *count);
            ((2 * index + 1, *count), (input, version), part)
        })
    });
    let mut shards: Vec<_> = shards.collect();
    shards.sort_by_key(|((numerator, count), ..)| (u128::from(*numerator) << 64) / u128::from(*count));
    let planned = shards.into_iter().map(|(_, (input, version), part)| PlannedShard {
        input: input.clone(),
        part,
        version: Some(version.clone()),
        max_rate: None,
        execution: None,
    });
    planned.collect()
}

/// Divides a rate among workers, and gives each shard the part of the one that will deliver it. Where there are fewer shards than workers,
/// the others have nothing to do. A part is 1 at least.
pub(crate) fn divide_rate(shards: &mut [PlannedShard], rate: f64, workers: u32) -> f64 {
    let parts = u32::try_from(shards.len()).unwrap_or(u32::MAX).clamp(1, workers.max(1));
    let part = (rate / f64::from(parts)).max(1.0);
    for shard in shards {
        shard.max_rate = Some(part);
    }
    part
}

/// The segments of a table, each a shard.
pub(crate) fn segments(table: &str, count: u32) -> Vec<PlannedShard> {
    let shard = |number: u32| PlannedShard {
        input: Segments::input(table, count),
        part: Part {
            begin: number.into(),
            end: u64::from(number) + 1,
        },
        version: None,
        max_rate: None,
        execution: None,
    };
    (0..count).map(shard).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shards_cover_each_input_and_are_spread_evenly(inputs in prop::collection::vec((0_u64..1_000, 1_u64..20), 1..6)) {
            let inputs: Vec<_> = (0..).zip(inputs).map(|(number, (bytes, count))| (i32::to_string(&number), InputVersion { bytes, etag: None }, count)).collect();
            let shards = interleaved(&inputs);
            for (name, version, count) in &inputs {
                let mut end = 0;
                let places: Vec<_> = (0..shards.len()).filter(|place| shards[*place].input == *name).collect();
                prop_assert_eq!(places.len() as u64, *count);
                for (index, place) in (0..).zip(places) {
                    prop_assert_eq!(shards[place].part.begin, end);
                    end = shards[place].part.end;
                    // Its position without rounding.
                    let ideal = (2 * index + 1) * shards.len() as u64 / (2 * count);
                    prop_assert!(ideal.abs_diff(place as u64) <= inputs.len() as u64, "{} is at {}", ideal, place);
                }
                prop_assert_eq!(end, version.bytes);
            }
        }
    }

    proptest! {
        /// However many workers there are, those that are at work never write more than the rate, and all of it if a unit is enough for each.
        #[test]
        fn workers_never_write_more_than_the_divided_rate(count in 1_u32..2_000, workers in 1_u32..3_000, rate in 1.0_f64..100_000.0) {
            let mut shards = segments("films", count);
            let part = divide_rate(&mut shards, rate, workers);
            prop_assert!(shards.iter().all(|shard| shard.max_rate == Some(part)));
            let at_work = f64::from(workers.min(count));
            let sum = part * at_work;
            prop_assert!(sum <= rate.max(at_work) * 1.000_001 && sum >= rate * 0.999_999, "{} of {}", sum, rate);
        }
    }

    fn shard(input: &str) -> PlannedShard {
        PlannedShard {
            input: input.to_owned(),
            part: Part {
                begin: 0,
                end: u64::MAX,
            },
            version: None,
            max_rate: None,
            execution: None,
        }
    }

    proptest! {
        #[test]
        fn two_different_inputs_never_have_the_same_name(
            first in "(s3://|a:/|dynamodb://)?[/+:ä]{1,3}([?]segments=1)?",
            second in "(s3://|a:/|dynamodb://)?[/+:ä]{1,3}([?]segments=1)?",
        ) {
            prop_assert_eq!(shard(&first).name(None) == shard(&second).name(None), first == second);
        }
    }

    #[test]
    fn no_name_is_hidden_from_patterns() {
        let names = ["./a", "../a", ".c/a"].map(|input| shard(input).name(None));
        assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
        assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    }

    #[test]
    fn inputs_that_differ_in_characters_which_no_file_name_has_have_different_names() {
        for (first, second) in [
            ("s3://b/ä/p", "s3://b/ö/p"),
            ("a/b", "a+b"),
            ("s3://b/a", "s3///b/a"),
            ("a/://b", "a:///b"),
            ("dynamodb://a?segments=1", "dynamodb://a/segments/1"),
        ] {
            assert_ne!(
                shard(first).name(None),
                shard(second).name(None),
                "{first} and {second}"
            );
        }
    }

    #[test]
    fn two_executions_never_have_the_same_name() {
        let arn = |name: &str| {
            format!(
                "arn:aws:states:eu-central-1:123456789012:execution:{}:{name}",
                "m".repeat(80)
            )
        };
        let executions = [
            arn("one"),
            arn("two"),
            "e".repeat(81),
            "e".repeat(80) + "f",
            "a:b".to_owned(),
            "a+b".to_owned(),
            "a;b".to_owned(),
            String::new(),
        ];
        let names = executions.map(|execution| shard("a.jsonl").name(Some(&execution)));
        let different: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() < LONGEST_NAME), "{names:?}");
    }

    #[test]
    fn a_name_identifies_the_shard_and_fits_a_file_system() {
        let short = shard("s3://b/a.jsonl");
        assert_eq!(short.name(None), format!("s3+++b+a.jsonl@0-{}", u64::MAX));
        assert_eq!(short.name(Some("one")), format!("one@s3+++b+a.jsonl@0-{}", u64::MAX));
        let segment = shard("dynamodb://films?segments=64");
        assert_eq!(
            segment.name(None),
            format!("dynamodb+++films+segments+64@0-{}", u64::MAX)
        );
        let (long, other) = (
            shard(&format!("a{}", "ä".repeat(300))),
            shard(&format!("b{}", "ä".repeat(300))),
        );
        let names = [&long, &other].map(|shard| shard.name(Some(&"e".repeat(99))) + ".causes.jsonl");
        assert!(
            names[0] != names[1] && names.iter().all(|name| name.len() <= 255),
            "{names:?}"
        );
    }
}
