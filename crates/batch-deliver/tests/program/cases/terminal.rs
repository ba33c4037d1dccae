//! What is printed on a terminal, and how the program ends when it cannot be printed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use aws_batch_simulator::Capacity;
use serde_json::Value;

use crate::program::{Folder, Run, items};
use crate::served::Served;

/// Colours the terminal red, pretends to be an error, and turns the direction of the text.
const NAME: &str = "a\u{1b}[31m\nerror: b\u{202e}\u{9b}\u{7}.jsonl";

/// The same, as it is printed.
const PRINTED: &str = "a\\u{1b}[31m\\nerror: b\\u{202e}\\u{9b}\\u{7}.jsonl";

const SIMULATED: &str = "load --simulate 1000000 --table items --key id:N";

/// Runs the program with the arguments of the line, and with these ones.
fn run(folder: &Folder, line: &str, arguments: &[&str]) -> Run {
    let mut command = folder.command(line);
    Run::from(command.args(arguments).stdin(Stdio::null()).output().unwrap())
}

/// That the text was printed, and nothing that a terminal obeys.
#[track_caller]
fn printed(run: &Run, code: i32, text: &str) {
    run.expect(code, text);
    let is_obeyed = |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
    assert!(!run.stderr.contains(is_obeyed), "{:?}", run.stderr);
    assert!(!run.stderr.contains("\nerror: b"), "{:?}", run.stderr);
}

#[cfg(unix)]
#[test]
fn a_name_is_printed_without_what_a_terminal_obeys() {
    let folder = Folder::new();
    printed(&run(&folder, SIMULATED, &[NAME]), 2, PRINTED);
    printed(&run(&folder, "plan", &[NAME]), 2, PRINTED);
    folder.write(NAME, items(0..2) + "oops\n");
    printed(&run(&folder, SIMULATED, &[NAME]), 1, &format!("{PRINTED}:3: "));
    printed(
        &run(&folder, SIMULATED, &["--dry-run", NAME]),
        1,
        &format!("{PRINTED}:3: "),
    );
    printed(&run(&folder, SIMULATED, &[NAME, "--resume", NAME]), 2, PRINTED);
    printed(
        &run(&folder, SIMULATED, &[NAME, "--dead-letter", "\u{1b}c/dead"]),
        2,
        "\\u{1b}c/dead",
    );
    let json = run(&folder, SIMULATED, &["--json", NAME]);
    assert!(!json.stdout.contains('\u{1b}'), "{:?}", json.stdout);
}

#[test]
fn names_of_attributes_are_printed_without_what_a_terminal_obeys() {
    let folder = Folder::new();
    folder.write("a.csv", "id,\"a\u{1b}]0title\u{7}\nerror: b\"\n1,x\n");
    let types = "a\u{1b}]0title\u{7}\nerror: b:N";
    printed(
        &run(&folder, SIMULATED, &["a.csv"]),
        0,
        "columns: id:N,a\\u{1b}]0title\\u{7}\\nerror: b:S",
    );
    printed(
        &run(&folder, SIMULATED, &["--types", types, "a.csv"]),
        1,
        "a\\u{1b}]0title\\u{7}\\nerror: b: this is not a number",
    );
}

#[test]
fn wrong_arguments_are_printed_without_what_a_terminal_obeys() {
    let folder = Folder::new();
    for arguments in [
        &[NAME][..],
        &["load", "--table", "items", &format!("--{NAME}")],
        &["load", "--table", "items", "--key", NAME],
        &["load", "--table", NAME],
        &["load", "--table", "items", "--types", NAME],
        &["load", "--table", "items", "--format", NAME],
        &["load", "--table", "items", "--endpoint-url", NAME],
    ] {
        let refused = run(&folder, "", arguments);
        printed(&refused, 2, "error: ");
        assert!(
            refused.stderr.contains("\\u{1b}[31m\\nerror: b"),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
}

/// The program, started by a shell that does this first.
#[cfg(unix)]
fn through_a_shell(folder: &Folder, first: &str, arguments: &str, redirections: &str) -> Command {
    let program = folder.command(arguments);
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("{first}\nexec \"$0\" \"$@\" {redirections}"));
    shell.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell.current_dir(program.get_current_dir().unwrap());
    shell.stdin(Stdio::null());
    shell
}

#[cfg(target_os = "linux")]
#[test]
fn the_exit_codes_do_not_depend_on_what_can_be_printed() {
    let folder = Folder::new();
    folder.write("good.jsonl", items(0..100));
    folder.write("bad.jsonl", items(0..100) + "oops\n");
    let load = |arguments: &str| format!("{SIMULATED} {arguments}");
    let cases = [
        (load("good.jsonl"), 0),
        (load("bad.jsonl"), 1),
        (load("--keep-going 1 bad.jsonl"), 1),
        (load("--dry-run bad.jsonl"), 1),
        (load("--json good.jsonl"), 0),
        (load("none.jsonl"), 2),
        (load("--key"), 2),
        ("plan good.jsonl".to_owned(), 0),
        ("plan none.jsonl".to_owned(), 2),
        ("oops".to_owned(), 2),
    ];
    for (arguments, code) in cases {
        for redirection in ["2>&-", "2>/dev/full", ">&- 2>&-"] {
            let output = through_a_shell(&folder, "", &arguments, redirection).output().unwrap();
            // A plan that goes nowhere is lost.
            let is_lost = arguments == "plan good.jsonl" && redirection.starts_with(">&-");
            let code = if is_lost { 2 } else { code };
            assert_eq!(output.status.code(), Some(code), "{arguments} {redirection}");
        }
    }
    for (arguments, words) in [
        (
            load("--json good.jsonl"),
            "the report cannot be written: No space left on device",
        ),
        (
            load("--json --dry-run good.jsonl"),
            "the report cannot be written: No space left on device",
        ),
        (
            "plan good.jsonl".to_owned(),
            "the plan cannot be written: No space left on device",
        ),
    ] {
        let output = through_a_shell(&folder, "", &arguments, ">/dev/full").output().unwrap();
        Run::from(output).expect(1, words);
    }
}

/// Starts a load, ends its connection when it delivers, and returns what it came to.
#[cfg(unix)]
fn hung_up(folder: &Folder, served: &Served, first: &str) -> Run {
    let load = format!(
        "load --table items {} --resume state --json --every 5ms a.jsonl",
        served.arguments()
    );
    let mut load = through_a_shell(folder, first, &load, "");
    let mut child = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let has_begun = |event: String| {
        let event: Value = serde_json::from_str(&event).unwrap();
        event["figures"]["delivered"].as_u64() >= Some(100)
    };
    assert!(events.any(|event| has_begun(event.unwrap())));
    // A shell and the system may both say it.
    for _ in 0..2 {
        let told = Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
        assert!(told.unwrap().success());
    }
    Run::from(child.wait_with_output().unwrap())
}

/// Whether this test was started so that it outlives its connection, which the program that it starts then does as well.
#[cfg(target_os = "linux")]
fn outlives_its_connection() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 1
}

#[cfg(target_os = "linux")]
#[test]
fn a_load_whose_connection_ends_stops_cleanly() {
    const ITEMS: u32 = 2_000;
    if outlives_its_connection() {
        return;
    }
    let folder = Folder::new();
    // For five seconds, of which the first tenths are enough.
    let served = Served::new(400.0);
    folder.write("a.jsonl", items(0..ITEMS));
    hung_up(&folder, &served, "").expect(130, "stopping: waiting for the calls in flight");
    served.table.set_capacity(Capacity::unlimited());
    let rest = folder.run(&format!(
        "load --table items {} --resume state a.jsonl",
        served.arguments()
    ));
    rest.expect(0, "lines are settled by earlier runs");
    assert!(!rest.stderr.contains("twice"), "{}", rest.stderr);
    assert_eq!(served.table.statistics().applied, u64::from(ITEMS));
}

#[cfg(unix)]
#[test]
fn a_load_that_is_to_outlive_its_connection_does() {
    let folder = Folder::new();
    let served = Served::new(2_000.0);
    folder.write("a.jsonl", items(0..2_000));
    hung_up(&folder, &served, "trap '' HUP").expect(0, "2,000 delivered");
}
