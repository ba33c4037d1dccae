//! Loads that are ended by a signal at any moment, compared run by run.
//!
//! `BATCH_DELIVER_ENDINGS=100 cargo test --package batch-deliver --test program endings -- --nocapture` ends many more.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use crate::program::{Folder, Run, items};
use crate::served::Served;

/// The variable with the number of loads, and of sends.
const TIMES: &str = "BATCH_DELIVER_ENDINGS";

const ENTRIES: u32 = 2_000;

/// Entries that are accepted in a second.
const RATE: f64 = 3_000.0;

const SIGNALS: [&str; 3] = ["-KILL", "-TERM", "-HUP"];

/// Longer than a call takes whose process is gone.
const LAST_CALLS: Duration = Duration::from_millis(50);

fn times() -> u64 {
    env::var(TIMES).map_or(1, |times| times.parse().unwrap())
}

/// Runs it again and again until it comes to its end. Each run but the last one gets a signal after a random number of entries.
/// `arrived` counts the entries that have arrived, and those that have arrived before. Returns how many runs were killed.
fn end_again_and_again(folder: &Folder, arguments: &str, seed: u64, arrived: impl Fn() -> (u64, u64)) -> u64 {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut killed = 0;
    let mut twice = 0;
    loop {
        let mut command = folder.command(&format!(
            "{arguments} --json --every 2ms --concurrency 4 --resume state"
        ));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let entries = random.random_range(1..400);
        let signal = SIGNALS[random.random_range(0..SIGNALS.len())];
        let mut events = BufReader::new(child.stdout.as_mut().unwrap())
            .lines()
            .map(Result::unwrap);
        let is_there = |event: String| {
            let event: Value = serde_json::from_str(&event).unwrap();
            event["figures"]["delivered"].as_u64() >= Some(entries)
        };
        if events.any(is_there) {
            let told = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(told.unwrap().success());
        }
        let run = Run::from(child.wait_with_output().unwrap());
        assert!([0, 130, -1].contains(&run.code), "{signal}: {}", run.stderr);
        killed += u64::from(run.code == -1);
        sleep(LAST_CALLS);
        let (all, distinct) = arrived();
        let before = std::mem::replace(&mut twice, all - distinct);
        let bound = bound(&run.stderr);
        assert!(
            twice - before <= bound,
            "{} were sent twice, not up to {bound}: {}",
            twice - before,
            run.stderr
        );
        if run.code == 0 {
            return killed;
        }
    }
}

/// How many entries the run itself says it may send twice.
fn bound(said: &str) -> u64 {
    let number = said
        .split("up to ")
        .nth(1)
        .and_then(|rest| rest.split(" entries may be sent twice").next());
    number.map_or(0, |number| number.replace(',', "").parse().unwrap())
}

#[test]
fn a_load_loses_nothing_and_writes_twice_no_more_than_each_run_says() {
    for seed in 0..times() {
        let folder = Folder::new();
        let served = Served::new(RATE);
        folder.write("a.jsonl", items(0..ENTRIES / 2));
        folder.write("b.jsonl", items(ENTRIES / 2..ENTRIES));
        let load = format!("load --table items {} a.jsonl b.jsonl", served.arguments());
        let arrived = || (served.table.statistics().applied, served.table.items().len() as u64);
        let killed = end_again_and_again(&folder, &load, seed, arrived);
        assert_eq!(served.ids(), (0..ENTRIES).collect::<Vec<_>>());
        println!(
            "load {seed}: {killed} runs killed, {} written twice",
            arrived().0 - arrived().1
        );
    }
}

#[test]
fn a_send_loses_nothing_and_sends_twice_no_more_than_each_run_says() {
    for seed in 0..times() {
        let folder = Folder::new();
        let served = Served::new(RATE);
        let lines = (0..ENTRIES).map(|number| format!("{number}\n"));
        folder.write("a.txt", lines.collect::<String>());
        let send = format!("send --queue q {} a.txt", served.arguments());
        let bodies = || {
            let messages = served.queue.messages();
            let mut bodies: Vec<u32> = messages.iter().map(|message| message.body.parse().unwrap()).collect();
            bodies.sort_unstable();
            let all = bodies.len() as u64;
            bodies.dedup();
            (all, bodies)
        };
        let arrived = || (bodies().0, bodies().1.len() as u64);
        let killed = end_again_and_again(&folder, &send, seed, arrived);
        assert_eq!(bodies().1, (0..ENTRIES).collect::<Vec<_>>());
        println!(
            "send {seed}: {killed} runs killed, {} sent twice",
            arrived().0 - arrived().1
        );
    }
}
