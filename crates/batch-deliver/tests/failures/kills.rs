//! Loads that are killed at any moment, again and again. A plain run tries a few; `KILLS=500` tries as many kills.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use aws_batch_simulator::Capacity;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::program::{Folder, Run, items};
use crate::served::Served;
use crate::{ids, number};

/// Kills in a plain run.
const FEW: u64 = 12;

/// The most kills of one load.
const OF_ONE: u64 = 8;

/// The longest that a run may take before it is killed. A whole load takes about as long.
const LONGEST: Duration = Duration::from_millis(900);

const ITEMS: u32 = 1_500;

/// Items that the service refuses, and one that is too large for it.
const REFUSED: [u32; 2] = [17, 1_200];
const LARGE: u32 = 600;

/// A line that cannot be read, behind this item.
const BAD_LINE: &str = "oops";
const BEHIND: u32 = 900;

/// What all runs together are to tell of.
const UNDELIVERED: u64 = 3;

fn input() -> String {
    let line = |id: u32| match id {
        LARGE => format!("{}\n", json!({"id": id, "text": "x".repeat(500_000)})),
        BEHIND => format!("{}{BAD_LINE}\n", items([id])),
        _ => items([id]),
    };
    (0..ITEMS).map(line).collect()
}

/// The undelivered entries and the bad lines that a report tells of, of this run and of those before it.
fn told(report: &Value) -> (u64, u64) {
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap();
    (
        number("/report/undelivered") + number("/earlier_runs/undelivered"),
        number("/bad_lines") + number("/earlier_runs/bad_lines"),
    )
}

/// The report that a run has written, if it was not killed before.
fn report(run: &Run) -> Option<Value> {
    let mut lines = run.stdout.lines().rev();
    let last = lines.find_map(|line| serde_json::from_str::<Value>(line).ok());
    last.filter(|event| event["event"] == "report")
}

/// What became of one load.
#[derive(Default)]
struct Killed {
    kills: u64,
    /// Whether the run that told all was killed before it could end.
    after_its_report: bool,
}

/// Kills a load at random moments until it comes to its end, and checks what all runs together have done and told.
fn killed(seed: u64, most: u64) -> Killed {
    let mut random = SmallRng::seed_from_u64(seed);
    let (folder, served) = (Folder::new(), Served::new(2_500.0));
    served.table.poison(|item| REFUSED.contains(&number(item)));
    folder.write("a.jsonl", input());
    let load = format!(
        "load --table items {} --json --every 20ms --concurrency 2 --keep-going 1 --resume state --dead-letter dead.jsonl a.jsonl",
        served.arguments()
    );
    let mut killed = Killed::default();
    let mut reports = Vec::new();
    let last = loop {
        let mut command = folder.command(&load);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if killed.kills < most {
            // Whatever it does then: the moment is the input of this test.
            thread::sleep(random.random_range(Duration::ZERO..LONGEST));
            child.kill().unwrap();
        } else {
            served.table.set_capacity(Capacity::unlimited());
        }
        let run = Run::from(child.wait_with_output().unwrap());
        reports.extend(report(&run));
        if run.code >= 0 {
            break run;
        }
        killed.kills += 1;
    };
    let what = format!("seed {seed}, {} kills: {}", killed.kills, last.stderr);
    // Nothing is lost.
    let unsent: BTreeSet<u32> = REFUSED.into_iter().chain([LARGE]).collect();
    let expected: Vec<u32> = (0..ITEMS).filter(|id| !unsent.contains(id)).collect();
    assert_eq!(served.ids(), expected, "{what}");
    assert_eq!(ids(&folder.read("dead.jsonl")), unsent, "{what}");
    assert!(
        folder.read("dead.jsonl.bad").lines().any(|line| line == BAD_LINE),
        "{what}"
    );
    // The exit code is that of all runs together: the run that does the last of it tells all.
    let tells_all = |report: &Value| told(report) == (UNDELIVERED, 1);
    match last.code {
        1 => assert!(reports.last().is_some_and(tells_all), "{what}"),
        0 => {
            killed.after_its_report = true;
            assert!(reports.iter().rev().skip(1).any(tells_all), "{what}");
        }
        code => panic!("exit code {code}: {what}"),
    }
    // It is told once.
    folder.run(&load).expect(0, "0 delivered");
    killed
}

#[test]
fn a_load_that_is_killed_at_any_moment_loses_nothing_and_ends_with_the_exit_code_of_all_runs() {
    let most = std::env::var("KILLS").map_or(FEW, |kills| kills.parse().unwrap());
    let (mut kills, mut loads, mut after) = (0, 0, 0);
    while kills < most {
        let killed = killed(20_261_128 + loads, OF_ONE.min(most - kills));
        kills += killed.kills;
        after += u64::from(killed.after_its_report);
        // A load that has ended before its first kill.
        loads += 1;
        assert!(loads < 10 * most, "runs end before they are killed");
    }
    println!("{kills} kills of {loads} loads; {after} were killed after their last report");
}
