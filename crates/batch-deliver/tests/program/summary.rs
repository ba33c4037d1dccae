//! What the program says, and its exit codes.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::program::{Folder, Run, interrupt, items};

#[test]
fn wrong_use_is_told_with_what_to_do() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    let wrong = [
        ("load", "--table"),
        (
            "load --table items --simulate 10 a.jsonl",
            "a simulated table needs its key: --key year:N,title:S",
        ),
        (
            "load --table items --simulate 10 --key id:N b.jsonl",
            "b.jsonl cannot be read",
        ),
        ("load --table items --simulate 10 --key id:N b*", "no file matches b*"),
        ("load --table items --simulate 10 --key id:N .", "name the files in it"),
        (
            "load --table items --simulate 10 --key id:X a.jsonl",
            "of the type S, N or B",
        ),
        (
            "load --table id --simulate 10 --key id:N a.jsonl",
            "the name of a table has 3 to 255 characters, but this one has 2",
        ),
        (
            "load --table items --simulate 0 --key id:N a.jsonl",
            "give a number above 0",
        ),
        (
            "load --table items --simulate 10 --key id:N --strategy linear --max-rate 5 a.jsonl",
            "leave out --strategy",
        ),
        (
            "load --table items --simulate 10 --key id:N --deadline soon a.jsonl",
            "--deadline",
        ),
        (
            "load --table items --key id:N --endpoint-url localhost:4566 a.jsonl",
            "a URL is needed, such as http://127.0.0.1:4566",
        ),
    ];
    for (arguments, words) in wrong {
        let run = folder.run(arguments);
        run.expect(2, words);
        assert_eq!(run.stdout, "", "{arguments}");
    }
}

#[test]
fn a_load_of_which_nothing_was_read_has_nowhere_to_go_on() {
    let folder = Folder::new();
    folder.write("a.csv", "id,name\n1,a\n");
    let run = folder.load("--types size:N a.csv");
    run.expect(1, "--types has size, but the header has only id, name")
        .expect(1, "nothing was read");
    assert!(!run.stderr.contains("--resume"), "{}", run.stderr);
}

#[test]
fn without_credentials_it_says_where_to_name_some() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    let load = |profile: &str| {
        let mut load = folder.command(&format!("load --table items --key id:N {profile} a.jsonl"));
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            load.env_remove(name);
        }
        for name in ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"] {
            load.env(name, folder.path("none"));
        }
        Run::from(load.output().unwrap())
    };
    load("")
        .expect(2, "there are no AWS credentials: ")
        .expect(2, "Name a --profile that has some");
    load("--profile other").expect(2, "there is no profile other");
}

#[test]
fn an_entry_that_cannot_be_delivered_is_told_with_its_line_and_its_cause() {
    let folder = Folder::new();
    let large = format!("{{\"id\":1,\"large\":\"{}\"}}\n", "x".repeat(409_600));
    folder.write("a.jsonl", items(5..8) + &large + &items(9..12));
    folder
        .load("a.jsonl")
        .expect(1, "6 delivered to items")
        .expect(1, "a.jsonl:4: not sent: the item has 409609 bytes, the limit is 409600");
}

#[test]
fn machines_read_progress_and_report_as_json() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..100));
    let run = folder.load("--json a.jsonl");
    run.expect(0, "100 delivered");
    let report = run.report();
    assert_eq!(
        (&report["event"], &report["report"]["delivered"]),
        (&"report".into(), &100.into())
    );
    assert_eq!(folder.load("--quiet a.jsonl").expect(0, "").stderr, "");
}

#[test]
fn help_fits_two_screens() {
    const COLUMNS: usize = 80;
    const LINES: usize = 80;
    let folder = Folder::new();
    for command in ["", "load", "send", "delete", "plan", "worker"] {
        let mut help = folder.command(&format!("{command} --help"));
        let run = Run::from(help.env("COLUMNS", COLUMNS.to_string()).output().unwrap());
        assert_eq!(run.code, 0);
        assert!(run.stdout.lines().count() <= LINES, "{}", run.stdout);
        assert!(run.stdout.lines().all(|line| line.len() <= COLUMNS), "{}", run.stdout);
    }
}

#[cfg(unix)]
#[test]
fn a_service_that_accepts_nothing_is_warned_of() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    // Nothing listens there.
    let mut child = folder
        .command("load --table items --key id:N --endpoint-url http://127.0.0.1:9 --deadline 60s a.jsonl")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let warning = said.find(|line| line.contains("no connection")).unwrap();
    assert!(warning.contains("dynamodb/items"), "{warning}");
    interrupt(&child);
    assert!(said.any(|line| line.starts_with("a.jsonl:1 and 2 more: the delivery was cancelled")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_load_is_over_at_its_deadline() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..1_000));
    folder
        .run("load --simulate 10 --table items --key id:N --deadline 3s --dead-letter dead a.jsonl")
        .expect(1, "the deadline was reached")
        .expect(1, "read: a.jsonl to line ");
    assert!(!folder.read("dead").is_empty());
}
