//! Loads that are interrupted or killed, and go on.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

#[cfg(unix)]
use aws_batch_simulator::Capacity;
use aws_batch_simulator::{Faults, InjectedFault};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use crate::program::{Folder, Run, interrupt, items};
use crate::served::Served;

/// Calls in flight at most.
const CALLS: u64 = 4;

/// Starts it with progress every few milliseconds.
fn start(folder: &Folder, arguments: &str) -> Child {
    folder
        .command(&format!(
            "{arguments} --json --every 5ms --concurrency {CALLS} --resume state"
        ))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until so many are delivered, or for the end.
fn wait_for(child: &mut Child, delivered: u64) {
    let output = BufReader::new(child.stdout.as_mut().unwrap());
    for line in output.lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["figures"]["delivered"].as_u64() >= Some(delivered) {
            return;
        }
    }
}

/// Kills it at random moments, so often at most, until it comes to its end. A run says these words if the one before it was killed.
/// Returns how often it was killed.
fn kill_again_and_again(folder: &Folder, arguments: &str, most: u64, words: &str) -> u64 {
    let mut random = SmallRng::seed_from_u64(20_261_123);
    let mut kills = 0;
    loop {
        // A run that is killed when all is delivered may have written that it has ended.
        let is_in_doubt = kills > 0 && !folder.read("state").ends_with("\"ended\"\n");
        let mut child = start(folder, arguments);
        if kills < most {
            wait_for(&mut child, random.random_range(1..120));
            child.kill().unwrap();
        }
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.stderr.contains(words), is_in_doubt, "{}", run.stderr);
        if run.code == 0 || kills == most {
            run.expect(0, "delivered");
            return kills;
        }
        kills += 1;
    }
}

#[test]
fn a_load_that_is_killed_again_and_again_is_complete_in_the_end() {
    const ITEMS: u32 = 5_000;
    const KILLS: u64 = 20;
    let folder = Folder::new();
    let served = Served::new(3_000.0);
    folder.write("a.jsonl", items((0..ITEMS).filter(|id| id % 3 > 0)));
    folder.write("b.jsonl", items((0..ITEMS).filter(|id| id % 3 == 0)));
    let load = format!("load --table items {} a.jsonl b.jsonl", served.arguments());
    let words = "up to 228 entries may be sent twice";
    let kills = kill_again_and_again(&folder, &load, KILLS, words);
    assert!(kills > 2, "a table this slow leaves time for more than {kills} kills");
    assert_eq!(served.ids(), (0..ITEMS).collect::<Vec<_>>());
    let twice = served.table.statistics().applied - u64::from(ITEMS);
    assert!(twice <= kills * 228, "{twice} were written twice");
    // All is settled: another run has nothing to do.
    folder
        .run(&format!("{load} --resume state"))
        .expect(0, "0 delivered to items");
}

#[test]
fn messages_are_sent_twice_only_if_they_were_in_flight() {
    const MESSAGES: u32 = 1_000;
    const KILLS: u64 = 5;
    let folder = Folder::new();
    let served = Served::new(1_000.0);
    folder.write(
        "a.txt",
        (0..MESSAGES)
            .map(|number| number.to_string() + "\n")
            .collect::<String>(),
    );
    let send = format!("send --queue q {} a.txt", served.arguments());
    let words = "up to 168 entries may be sent twice";
    let kills = kill_again_and_again(&folder, &send, KILLS, words);
    let mut arrived: Vec<u32> = served
        .queue
        .messages()
        .iter()
        .map(|message| message.body.parse().unwrap())
        .collect();
    let twice = arrived.len() as u64 - u64::from(MESSAGES);
    assert!(twice <= kills * 168, "{twice} were sent twice");
    arrived.sort_unstable();
    arrived.dedup();
    assert_eq!(arrived, (0..MESSAGES).collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn an_interrupted_load_stops_cleanly_and_sends_nothing_twice() {
    const ITEMS: u32 = 2_000;
    let folder = Folder::new();
    // For five seconds, of which the first tenths are enough.
    let served = Served::new(400.0);
    folder.write("a.jsonl", items(0..ITEMS));
    let load = format!("load --table items {} --dead-letter dead a.jsonl", served.arguments());
    let mut child = start(&folder, &load);
    wait_for(&mut child, 100);
    interrupt(&child);
    let run = Run::from(child.wait_with_output().unwrap());
    run.expect(130, "stopping: waiting for the calls in flight")
        .expect(130, "to continue, run the same command again");
    // The next run sends them: they are no dead letters.
    assert!(!folder.path("dead").exists());
    served.table.set_capacity(Capacity::unlimited());
    let run = Run::from(start(&folder, &load).wait_with_output().unwrap());
    run.expect(0, "lines are settled by earlier runs");
    assert!(!run.stderr.contains("twice"), "{}", run.stderr);
    assert_eq!(served.ids(), (0..ITEMS).collect::<Vec<_>>());
    assert_eq!(served.table.statistics().applied, u64::from(ITEMS));
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_at_once_and_the_next_run_sends_again_what_was_in_flight() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    // No answer ever comes.
    served
        .table
        .set_faults(Faults::none().calls(1.0, InjectedFault::Hung { applied: false }));
    folder.write("a.jsonl", items(0..10));
    let load = format!("load --table items {} a.jsonl", served.arguments());
    let mut child = start(&folder, &load);
    let output = BufReader::new(child.stdout.as_mut().unwrap());
    let in_flight = |line: Result<String, _>| line.unwrap().contains("\"in_flight\":10");
    assert!(output.lines().any(in_flight));
    interrupt(&child);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.starts_with("stopping")));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    served.table.set_faults(Faults::none());
    Run::from(start(&folder, &load).wait_with_output().unwrap()).expect(0, "up to 228 entries may be sent twice");
}

#[test]
fn another_load_and_the_standard_input_are_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..10));
    folder.load("a.jsonl --resume state").expect(0, "10 delivered");
    folder.write("a.jsonl", items(0..11));
    folder.load("a.jsonl --resume state").expect(2, "a.jsonl has changed");
    folder.load("- --resume other").expect(2, "--resume needs files");
}

#[test]
fn a_line_that_was_given_up_is_not_sent_by_the_next_run() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\": 1, \"at\": \"\"}\n{\"id\": 1, \"at\": \"b\"}\n");
    let load = "load --simulate 1000000 --table items --key id:N,at:S --resume state a.jsonl";
    folder.run(load).expect(1, "a.jsonl:1");
    let next = folder.run(load);
    next.expect(0, "settled by earlier runs");
    assert!(!next.stderr.contains("a.jsonl:1"), "{}", next.stderr);
}
