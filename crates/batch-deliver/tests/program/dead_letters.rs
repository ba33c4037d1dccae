//! Entries that are not delivered.

#[cfg(unix)]
use std::process::Command;
#[cfg(target_os = "linux")]
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Folder, items};
use crate::served::Served;

/// Items that the service refuses while it is told to.
const REFUSED: [u32; 3] = [3, 40, 77];

fn refuse(served: &Served) {
    served.table.poison(|item| {
        let id = item["id"]["N"].as_str();
        id.and_then(|id| id.parse().ok())
            .is_some_and(|id: u32| REFUSED.contains(&id))
    });
}

#[test]
fn dead_letters_are_lines_of_the_input_and_can_be_loaded() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    refuse(&served);
    folder.write("a.jsonl", items(0..100));
    let load = format!("load --table items {} --dead-letter dead", served.arguments());
    folder
        .run(&format!("{load} a.jsonl"))
        .expect(1, "97 delivered to items")
        .expect(1, "3 dead letters in dead, with causes in dead.causes.jsonl");
    let mut lines: Vec<_> = folder.read("dead").lines().map(str::to_owned).collect();
    lines.sort();
    let mut expected: Vec<_> = items(REFUSED).lines().map(str::to_owned).collect();
    expected.sort();
    assert_eq!(lines, expected);
    let causes = folder.read("dead.causes.jsonl");
    for (line, cause) in folder.read("dead").lines().zip(causes.lines()) {
        let (item, cause): (Value, Value) = (
            serde_json::from_str(line).unwrap(),
            serde_json::from_str(cause).unwrap(),
        );
        assert_eq!(cause["line"], item["id"].as_u64().unwrap() + 1);
        assert_eq!(
            (&cause["file"], &cause["may_have_been_delivered"]),
            (&"a.jsonl".into(), &false.into())
        );
        assert!(
            cause["cause"].as_str().unwrap().contains("ValidationException"),
            "{cause}"
        );
    }

    served.table.poison(|_| false);
    folder
        .run(&format!("{load} dead"))
        .expect(2, "dead is an input and the file of dead letters");
    folder
        .run(&load.replace("--dead-letter dead", "dead"))
        .expect(0, "3 delivered to items");
    assert_eq!(served.ids(), (0..100).collect::<Vec<_>>());
}

#[test]
fn dead_letters_of_another_encoding_say_that_they_are_utf_8() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    served.table.poison(|_| true);
    folder.write("a.jsonl", b"{\"id\":1,\"street\":\"stra\xDFe\"}\n");
    let load = format!("load --table items {}", served.arguments());
    folder
        .run(&format!("{load} --dead-letter dead --encoding latin1 a.jsonl"))
        .expect(
            1,
            "1 dead letter in dead, with causes in dead.causes.jsonl: they are UTF-8, so load them without --encoding",
        );
    served.table.poison(|_| false);
    folder.run(&format!("{load} dead")).expect(0, "1 delivered");
    assert_eq!(served.items()[0]["street"]["S"], "stra\u{df}e");
}

#[test]
fn a_message_that_is_too_long_is_a_dead_letter_as_it_was_written() {
    let folder = Folder::new();
    let long = "x".repeat(1_100_000);
    folder.write("a.txt", format!("one\n{long}\nthree\n"));
    folder
        .run("send --simulate 1000 --queue q --dead-letter dead a.txt")
        .expect(1, "2 delivered to q")
        .expect(1, "a.txt:2: not sent: ");
    assert_eq!(folder.read("dead"), format!("{long}\n"));
    folder
        .run("send --simulate 1000 --queue q --dead-letter dead a.txt")
        .expect(1, "dead has dead letters of earlier runs, and keeps them");
    assert_eq!(folder.read("dead"), format!("{long}\n{long}\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_the_load_and_names_what_it_has_not_kept() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("/dev/full", folder.path("dead.causes.jsonl")).unwrap();
    let large = format!("{{\"id\":1,\"large\":\"{}\"}}\n", "x".repeat(409_600));
    folder.write("a.jsonl", items(5..8) + &large + &items(9..12));
    folder
        .load("--dead-letter dead a.jsonl")
        .expect(
            1,
            "dead can no longer be written, so the delivery was stopped: No space left on device",
        )
        .expect(1, "and only in the input: a.jsonl: ");
}

#[test]
fn dead_letters_go_to_a_file_or_to_s3_not_to_a_pipe_a_device_or_a_dash() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3) + "oops\n");
    for option in ["--dead-letter", "--resume"] {
        folder
            .load(&format!("{option} - a.jsonl"))
            .expect(2, "name a file, or ./-");
        assert!(!folder.path("-").exists());
    }
    #[cfg(unix)]
    {
        let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
        assert!(made.unwrap().success());
        for name in ["/dev/null", "/dev/stdout", "pipe"] {
            for option in ["--dead-letter", "--resume"] {
                let run = folder.load(&format!("{option} {name} a.jsonl"));
                run.expect(2, "this is a device or a pipe: name a file");
            }
        }
    }
    folder.load("--dead-letter ./- a.jsonl").expect(1, "3 delivered");
    assert_eq!(folder.read("-.bad"), "oops\n");
}

#[cfg(unix)]
#[test]
fn a_file_of_dead_letters_is_no_input_by_another_name_either() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    served.table.poison(|_| true);
    let load = format!("load --table items {} --dead-letter dead", served.arguments());
    folder
        .run_with(&format!("{load} -"), &items(0..3))
        .expect(1, "3 dead letters");
    let before = folder.read("dead");
    std::fs::hard_link(folder.path("dead"), folder.path("hard")).unwrap();
    std::os::unix::fs::symlink("hard", folder.path("symbolic")).unwrap();
    for name in ["hard", "symbolic"] {
        folder
            .run(&format!("{load} {name}"))
            .expect(2, "dead is the file of dead letters, and the same file as ");
    }
    for name in ["-", "", "/dev/stdin"] {
        let dead = std::fs::File::open(folder.path("dead")).unwrap();
        let output = folder.command(&format!("{load} {name}")).stdin(dead).output().unwrap();
        let run = crate::program::Run::from(output);
        assert_eq!(run.code, 2, "{name}: {}", run.stderr);
    }
    assert_eq!(folder.read("dead"), before);
}

/// Starts these commands, each of which reads what the one before it writes, and returns what the last one writes.
#[cfg(target_os = "linux")]
fn piped(folder: &Folder, commands: &[&str]) -> (Vec<std::process::Child>, Stdio) {
    let (mut children, mut input) = (Vec::new(), Stdio::null());
    for command in commands {
        let mut words = command.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words).current_dir(folder.path("any").parent().unwrap());
        let mut child = command.stdin(input).stdout(Stdio::piped()).spawn().unwrap();
        input = child.stdout.take().unwrap().into();
        children.push(child);
    }
    (children, input)
}

/// Loads what these commands write, the first of which reads the file `kept`, and expects that it stops.
#[cfg(target_os = "linux")]
pub(crate) fn load_fed_back(folder: &Folder, load: &str, commands: &[&str]) -> crate::program::Run {
    folder.write("kept", items(0..3));
    let (children, input) = piped(folder, commands);
    let output = folder.command(load).stdin(input).output().unwrap();
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(folder.read("kept").lines().count() <= 9);
    output.into()
}

#[cfg(target_os = "linux")]
#[test]
fn dead_letters_that_come_back_by_a_pipe_end_the_load() {
    let tail = "tail -n +1 -f kept";
    for commands in [&[tail][..], &[tail, "grep --line-buffered id"]] {
        let (folder, served) = (Folder::new(), Served::new(1e6));
        served.table.poison(|_| true);
        let load = format!("load --table items {} --dead-letter kept -", served.arguments());
        load_fed_back(&folder, &load, commands).expect(1, "the input comes from a process that reads this file");
    }
}

#[test]
fn a_line_that_comes_twice_by_a_pipe_has_two_dead_letters() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    served.table.poison(|_| true);
    let load = format!("load --table items {} --dead-letter dead -", served.arguments());
    for kept in [2, 4] {
        folder
            .run_with(&load, &items([1, 2]))
            .expect(1, "2 dead letters in dead");
        assert_eq!(folder.read("dead").lines().count(), kept);
    }
    let messages = format!("{}\n", "x".repeat(1_100_000)).repeat(2);
    folder
        .run_with("send --simulate 1000 --queue q --dead-letter messages -", &messages)
        .expect(1, "2 dead letters in messages");
}

/// The end of a file of dead letters while it is written, or after a kill.
#[test]
fn dead_letters_of_which_the_last_one_is_not_whole_are_not_read() {
    let folder = Folder::new();
    let long = "x".repeat(1_100_000);
    folder.write("a.txt", format!("one\n{long}\n"));
    let send = "send --simulate 1000 --queue q";
    folder
        .run(&format!("{send} --dead-letter dead a.txt"))
        .expect(1, "1 delivered");
    let (whole, causes) = (folder.read("dead"), folder.read("dead.causes.jsonl"));
    folder.write("dead", &whole[..500_000]);
    folder.write("dead.causes.jsonl", causes.trim_end());
    for option in ["", "--dry-run "] {
        folder
            .run(&format!("{send} {option}dead"))
            .expect(2, "dead ends with a part of a dead letter");
    }
    folder
        .run(&format!("{send} --dead-letter dead a.txt"))
        .expect(1, "1 delivered");
    assert_eq!(folder.read("dead"), whole);
    folder.run(&format!("{send} dead")).expect(1, "0 delivered");
}
