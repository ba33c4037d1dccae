//! What goes wrong in the middle of a load, over sockets.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;

use aws_batch_simulator::{Capacity, Faults, InjectedFault};

use crate::program::{Folder, Run, items, until_there};
use crate::served::Served;

/// Items of a load that takes six seconds, unless it goes on without a limit.
const ITEMS: u32 = 3_000;

/// Items per second.
const RATE: f64 = 500.0;

/// Starts a load into the served table.
fn start(folder: &Folder, served: &Served) -> Child {
    let load = format!(
        "load --table items {} --resume state --json --every 5ms a.jsonl",
        served.arguments()
    );
    let mut load = folder.command(&load);
    load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts it, and waits until it delivers.
fn start_delivering(folder: &Folder, served: &Served) -> Child {
    let mut child = start(folder, served);
    let mut events = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let is_there = |event: String| {
        let event: serde_json::Value = serde_json::from_str(&event).unwrap();
        event["figures"]["delivered"].as_u64() >= Some(100)
    };
    assert!(events.any(|event| is_there(event.unwrap())));
    child
}

fn end(child: Child) -> Run {
    Run::from(child.wait_with_output().unwrap())
}

#[test]
fn credentials_that_expire_are_waited_for_and_the_load_says_so() {
    let folder = Folder::new();
    let served = Served::new(RATE);
    folder.write("a.jsonl", items(0..ITEMS));
    let mut child = start_delivering(&folder, &served);
    let expired = InjectedFault::error(400, "ExpiredTokenException", false);
    served.table.set_faults(Faults::none().calls(1.0, expired));
    // Progress that is not read would hold it up.
    let mut progress = child.stdout.take().unwrap();
    thread::spawn(move || io::copy(&mut progress, &mut io::sink()));
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let warning = said.find(|line| line.contains("ExpiredTokenException")).unwrap();
    assert!(
        warning.contains("nothing is accepted: the delivery keeps trying"),
        "{warning}"
    );
    served.table.set_capacity(Capacity::unlimited());
    served.table.set_faults(Faults::none());
    let said: Vec<String> = said.collect();
    let is_there = |words: &str| said.iter().any(|line| line.starts_with(words));
    assert!(is_there("renew the credentials"), "{said:?}");
    assert!(is_there("3,000 delivered to items"), "{said:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(served.ids(), (0..ITEMS).collect::<Vec<_>>());
}

#[test]
fn a_table_that_is_gone_for_a_while_is_waited_for() {
    let folder = Folder::new();
    let served = Served::new(RATE);
    folder.write("a.jsonl", items(0..ITEMS));
    let child = start_delivering(&folder, &served);
    let gone = InjectedFault::error(400, "ResourceNotFoundException", false);
    served.table.set_faults(Faults::none().calls(1.0, gone));
    let calls = served.table.statistics().calls;
    until_there("three calls", || {
        (served.table.statistics().calls >= calls + 3).then_some(())
    });
    served.table.set_capacity(Capacity::unlimited());
    served.table.set_faults(Faults::none());
    end(child).expect(0, "delivered");
    assert_eq!(served.ids(), (0..ITEMS).collect::<Vec<_>>());
}

#[test]
fn a_load_whose_progress_is_not_read_stops_cleanly() {
    let folder = Folder::new();
    let served = Served::new(RATE);
    folder.write("a.jsonl", items(0..ITEMS));
    let mut child = start_delivering(&folder, &served);
    drop(child.stdout.take());
    let run = end(child);
    run.expect(1, "the delivery was cancelled")
        .expect(1, "the report cannot be written: Broken pipe");
    served.table.set_capacity(Capacity::unlimited());
    let rest = end(start(&folder, &served));
    assert!(!rest.stderr.contains("twice"), "{}", rest.stderr);
    rest.expect(0, "lines are settled by earlier runs");
    assert_eq!(served.table.statistics().applied, u64::from(ITEMS));
}

#[test]
fn a_closed_standard_error_does_not_end_a_load() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..100) + "oops\n");
    let mut load = folder.command("load --simulate 1000000 --table items --key id:N --keep-going 1 a.jsonl");
    let mut child = load.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
