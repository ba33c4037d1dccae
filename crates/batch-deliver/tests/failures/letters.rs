//! Loads with dead letters that are killed, or whose machine loses its power, again and again: no letter is lost, made up, torn or
//! without its cause.
//!
//! `LETTER_RUNS` says how many loads are tried; a plain run tries a few.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::program::{Folder, items};
use crate::runs::{Fails, Use, failing_with};
use crate::served::Served;
use crate::{ITEMS, REFUSED, all_but_refused, refuse};

/// Operations on files of a load, about.
const OPERATIONS: u32 = 90;

/// Failures after another of one load at most.
const MOST_FAILURES: u32 = 3;

const LOAD: Use =
    Use::Command("load --table items --resume state --dead-letter dead --concurrency 2 --keep-going 9 a.jsonl b.jsonl");

/// Lines that are too large for an item. A write of one is torn more often than that of a short one.
const LARGE: [usize; 3] = [450_000, 1_100_000, 600_000];

struct Load {
    folder: Folder,
    served: Served,
    /// Each line that cannot be delivered, by its place.
    letters: BTreeMap<(String, u64), String>,
    bad_lines: BTreeMap<(String, u64), String>,
}

impl Load {
    fn new() -> Self {
        let (folder, served) = (Folder::new(), Served::new(1e6));
        refuse(&served);
        let mut lines: Vec<String> = items(0..ITEMS).lines().map(str::to_owned).collect();
        for (number, bytes) in LARGE.into_iter().enumerate() {
            let large = json!({"id": 1_000 + number, "large": "x".repeat(bytes)}).to_string();
            lines.insert(20 + 40 * number, large);
            lines.insert(10 + 40 * number, format!("oops {number}"));
        }
        let (mut letters, mut bad_lines) = (BTreeMap::new(), BTreeMap::new());
        let (first, second) = lines.split_at(lines.len() / 2);
        for (name, lines) in [("a.jsonl", first), ("b.jsonl", second)] {
            folder.write(name, lines.join("\n") + "\n");
            for (line, number) in lines.iter().zip(1..) {
                let place = (name.to_owned(), number);
                match serde_json::from_str::<Value>(line) {
                    Err(_) => _ = bad_lines.insert(place, line.clone()),
                    Ok(item) => {
                        let id = item["id"].as_u64().unwrap();
                        if id >= 1_000 || REFUSED.contains(&u32::try_from(id).unwrap()) {
                            letters.insert(place, line.clone());
                        }
                    }
                }
            }
        }
        Self {
            folder,
            served,
            letters,
            bad_lines,
        }
    }

    /// Fails it so often and in this way, and lets it come to its end.
    fn fails(&self, fails: Fails, random: &mut StdRng) -> u32 {
        let mut failures = 0;
        for _ in 0..random.random_range(1..=MOST_FAILURES) {
            let (number, seed) = (random.random_range(1..OPERATIONS), random.random::<u64>().to_string());
            let variables = [("FAIL_SEED", seed.as_str())];
            let (_, run, has_failed) = failing_with(LOAD, &self.folder, &self.served, (number, fails), &variables);
            assert_ne!(run.code, 101, "{}", run.stderr);
            failures += u32::from(has_failed);
        }
        let (has_ended, run) = LOAD.run(&self.folder, &self.served, |_| {});
        assert!(has_ended, "{}", run.stderr);
        failures
    }

    fn check(&self) {
        assert!(
            self.served.ids().into_iter().eq(all_but_refused()),
            "not all items are in the table"
        );
        self.check_letters("dead", &self.letters);
        self.check_letters("dead.bad", &self.bad_lines);
    }

    /// Each letter is there, as a line of the input at the place that its cause has.
    fn check_letters(&self, name: &str, expected: &BTreeMap<(String, u64), String>) {
        let letters = self.folder.read(name);
        let causes = self.folder.read(&format!("{name}.causes.jsonl"));
        assert!(
            letters.ends_with('\n') && causes.ends_with("}\n"),
            "{name} has a torn line"
        );
        assert_eq!(letters.lines().count(), causes.lines().count(), "{name}");
        let mut places = Vec::new();
        let mut at = 0;
        for (letter, cause) in letters.lines().zip(causes.lines()) {
            let cause: Value = serde_json::from_str(cause).unwrap();
            let place = (
                cause["file"].as_str().unwrap().to_owned(),
                cause["line"].as_u64().unwrap(),
            );
            let shown = &letter[..letter.len().min(50)];
            assert!(
                expected.get(&place).is_some_and(|line| line == letter),
                "{name}: {place:?}: {shown:?}"
            );
            assert_eq!(
                (cause["at"].as_u64(), cause["bytes"].as_u64()),
                (Some(at), Some(letter.len() as u64 + 1))
            );
            at += letter.len() as u64 + 1;
            places.push(place);
        }
        places.sort();
        places.dedup();
        assert!(places.iter().eq(expected.keys()), "{name}: {places:?}");
    }
}

fn fail_again_and_again(fails: Fails, seed: u64) {
    let runs = std::env::var("LETTER_RUNS").map_or(4, |runs| runs.parse().unwrap());
    let mut random = StdRng::seed_from_u64(seed);
    let mut failures = 0;
    for number in 0..runs {
        let load = Load::new();
        failures += load.fails(fails, &mut random);
        println!("load {number}: {failures} failures: {fails:?}");
        load.check();
    }
    assert!(failures >= runs, "only {failures} runs of {runs} loads have failed");
}

#[test]
fn each_dead_letter_has_its_cause_however_often_the_load_is_killed() {
    fail_again_and_again(Fails::Torn, 1);
}

#[test]
fn each_dead_letter_has_its_cause_however_often_the_power_is_lost() {
    fail_again_and_again(Fails::Power, 2);
}
