//! Every kind of place that can be named as an output: what the program says that it has written is there, or it is no success.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use aws_batch_simulator::InjectedFault;
use serde_json::Value;

use crate::program::{Folder, Run, items, until_there};
use crate::served::Served;

const ENTRIES: u32 = 60;

/// Where another program finds what was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// In the file with this name.
    In(&'static str),
    /// At the reading end of the pipe with this name.
    Pipe(&'static str),
    StandardOutput,
    /// It is thrown away, as the user wants it.
    Nowhere,
    /// It cannot be written there.
    Refused,
}

/// A kind of output.
struct Output {
    name: &'static str,
    prepare: fn(&Folder),
    found: Found,
}

const OUTPUTS: [Output; 17] = [
    Output {
        name: "new.jsonl",
        prepare: |_| {},
        found: Found::In("new.jsonl"),
    },
    Output {
        name: "old.jsonl",
        prepare: |folder| {
            folder.write("old.jsonl", "");
            fs::set_permissions(folder.path("old.jsonl"), Permissions::from_mode(0o666)).unwrap();
        },
        found: Found::In("old.jsonl"),
    },
    Output {
        name: "link.jsonl",
        prepare: |folder| {
            folder.write("far/target.jsonl", "");
            symlink("far/target.jsonl", folder.path("link.jsonl")).unwrap();
        },
        found: Found::In("far/target.jsonl"),
    },
    Output {
        name: "link.jsonl",
        prepare: |folder| {
            fs::create_dir(folder.path("far")).unwrap();
            symlink("far/target.jsonl", folder.path("link.jsonl")).unwrap();
        },
        found: Found::In("far/target.jsonl"),
    },
    Output {
        name: "link.jsonl",
        prepare: |folder| symlink("link.jsonl", folder.path("link.jsonl")).unwrap(),
        found: Found::Refused,
    },
    Output {
        name: "other.jsonl",
        prepare: |folder| {
            folder.write("one.jsonl", "");
            fs::hard_link(folder.path("one.jsonl"), folder.path("other.jsonl")).unwrap();
        },
        found: Found::In("other.jsonl"),
    },
    Output {
        name: "pipe",
        prepare: make_pipe,
        found: Found::Pipe("pipe"),
    },
    Output {
        name: "link",
        prepare: |folder| {
            make_pipe(folder);
            symlink("pipe", folder.path("link")).unwrap();
        },
        found: Found::Pipe("pipe"),
    },
    Output {
        name: "-",
        prepare: |_| {},
        found: Found::StandardOutput,
    },
    Output {
        name: "/dev/fd/1",
        prepare: |_| {},
        found: Found::StandardOutput,
    },
    Output {
        name: "link",
        prepare: |folder| symlink("/proc/self/fd/1", folder.path("link")).unwrap(),
        found: Found::StandardOutput,
    },
    Output {
        name: "null",
        prepare: |folder| make_device(folder, "null", "3"),
        found: Found::Nowhere,
    },
    Output {
        name: "link",
        prepare: |folder| {
            make_device(folder, "null", "3");
            symlink("null", folder.path("link")).unwrap();
        },
        found: Found::Nowhere,
    },
    Output {
        name: "full",
        prepare: |folder| make_device(folder, "full", "7"),
        found: Found::Refused,
    },
    Output {
        name: "folder",
        prepare: |folder| fs::create_dir(folder.path("folder")).unwrap(),
        found: Found::Refused,
    },
    Output {
        name: "nowhere/new.jsonl",
        prepare: |_| {},
        found: Found::Refused,
    },
    Output {
        name: "new.jsonl/",
        prepare: |_| {},
        found: Found::Refused,
    },
];

/// Files of the user that are no output.
const BYSTANDERS: [&str; 4] = [
    "new.jsonl.new",
    "old.jsonl.new",
    "link.jsonl.new",
    "far/target.jsonl.new",
];

fn make_pipe(folder: &Folder) {
    assert!(
        Command::new("mkfifo")
            .arg(folder.path("pipe"))
            .status()
            .unwrap()
            .success()
    );
}

/// A device of the test's own, because one that is replaced is missed by the whole machine. Only root may make one, and only root may
/// replace one of the system.
fn make_device(folder: &Folder, name: &str, minor: &str) {
    let path = folder.path(name);
    let made = Command::new("mknod")
        .arg(&path)
        .args(["c", "1", minor])
        .stderr(Stdio::null())
        .status();
    if !made.unwrap().success() {
        symlink(Path::new("/dev").join(name), path).unwrap();
    }
}

/// A command that writes what a service has.
struct Writer {
    command: &'static str,
    fill: fn(&Folder, &Served),
    /// The number in a line.
    number: fn(&Value) -> Option<u64>,
    /// What the service still has afterwards.
    left: fn(&Served) -> BTreeSet<u64>,
}

const WRITERS: [Writer; 2] = [
    Writer {
        command: "export --table items --format json",
        fill: |folder, served| {
            folder.write("filled", items(0..ENTRIES));
            let load = format!("load --table items --format json {} filled", served.arguments());
            folder.run(&load).expect(0, "delivered");
        },
        number: |line| line["id"].as_u64(),
        left: |_| BTreeSet::new(),
    },
    Writer {
        command: "drain --queue q --max 60",
        fill: |folder, served| {
            folder.write(
                "filled",
                (0..ENTRIES).map(|number| number.to_string() + "\n").collect::<String>(),
            );
            let send = format!("send --queue q {} filled", served.arguments());
            folder.run(&send).expect(0, "delivered");
        },
        number: |line| line["body"].as_str()?.parse().ok(),
        left: |served| {
            let messages = served.queue.messages().into_iter();
            messages.map(|message| message.body.parse().unwrap()).collect()
        },
    },
];

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// By itself.
    Whole,
    /// The service refuses.
    Denied,
    /// The standard output is closed from the beginning.
    Closed,
}

impl Writer {
    fn numbers(&self, lines: &str) -> BTreeSet<u64> {
        let lines = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter_map(|line| (self.number)(&line)).collect()
    }

    /// Runs it, and returns what another program finds in the end.
    fn run(&self, output: &Output, end: End, (folder, served): (&Folder, &Served)) -> (Run, String) {
        let arguments = format!("{} {} {}", self.command, served.arguments(), output.name);
        let mut command = folder.command(&arguments);
        if end == End::Closed {
            command = with_closed_output(&command);
        }
        let pipe = match output.found {
            Found::Pipe(pipe) => Some(folder.path(pipe)),
            _ => None,
        };
        let reader = pipe.clone().map(|pipe| {
            thread::spawn(move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        });
        let run = Run::from(command.stdin(Stdio::null()).output().unwrap());
        // A run that has written nothing has not opened the pipe, for which its reader waits.
        let opened = pipe.map(|pipe| fs::OpenOptions::new().read(true).write(true).open(pipe).unwrap());
        drop(opened);
        let found = match output.found {
            Found::In(name) => fs::read_to_string(folder.path(name)).unwrap_or_default(),
            Found::Pipe(_) => reader.unwrap().join().unwrap(),
            Found::StandardOutput => run.stdout.clone(),
            Found::Nowhere | Found::Refused => String::new(),
        };
        (run, found)
    }
}

/// The same command, of which the standard output is closed.
fn with_closed_output(command: &Command) -> Command {
    let mut closed = Command::new("sh");
    closed.args([
        OsStr::new("-c"),
        OsStr::new(r#"exec "$0" "$@" >&-"#),
        command.get_program(),
    ]);
    with_the_rest(closed, command)
}

fn with_the_rest(mut begun: Command, command: &Command) -> Command {
    begun
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        begun.env(name, value.unwrap());
    }
    begun
}

#[test]
fn a_success_is_found_where_the_output_is_and_nothing_else_has_changed() {
    let ends = [End::Whole, End::Denied, End::Closed];
    let cases: Vec<_> = WRITERS
        .iter()
        .flat_map(|writer| OUTPUTS.iter().map(move |output| (writer, output)))
        .flat_map(|(writer, output)| ends.map(|end| (writer, output, end)))
        .collect();
    // A run mostly waits.
    thread::scope(|scope| {
        for some in cases.chunks(cases.len().div_ceil(6)) {
            scope.spawn(move || {
                for (writer, output, end) in some {
                    check(writer, output, *end);
                }
            });
        }
    });
}

fn check(writer: &Writer, output: &Output, end: End) {
    let what = format!("{} {}, {end:?}", writer.command, output.name);
    let (folder, served) = (Folder::new(), Served::new(1e6));
    (writer.fill)(&folder, &served);
    (output.prepare)(&folder);
    let bystanders = BYSTANDERS
        .iter()
        .filter(|name| folder.path(name).parent().unwrap().exists());
    let bystanders: Vec<_> = bystanders.copied().collect();
    for name in &bystanders {
        folder.write(name, "mine\n");
    }
    if end == End::Denied {
        let denied = || std::iter::repeat_n(InjectedFault::error(400, "AccessDeniedException", false), 100);
        served.table.script_reads(denied());
        served.queue.script_consumers(denied());
    }
    let (run, found) = writer.run(output, end, (&folder, &served));
    let all: BTreeSet<u64> = (0..u64::from(ENTRIES)).collect();
    let written = writer.numbers(&found);
    let can_succeed = match (output.found, end) {
        (Found::Refused, _) | (_, End::Denied) | (Found::StandardOutput, End::Closed) => false,
        (_, End::Whole | End::Closed) => true,
    };
    assert_eq!(run.code == 0, can_succeed, "{what}: {}", run.stderr);
    if can_succeed && output.found != Found::Nowhere {
        assert_eq!(written, all, "{what}: {}", run.stderr);
    }
    if !can_succeed && writer.command.starts_with("drain") {
        let both: BTreeSet<u64> = (writer.left)(&served).union(&written).copied().collect();
        assert_eq!(both, all, "{what}: {}", run.stderr);
    }
    for name in bystanders {
        assert_eq!(folder.read(name), "mine\n", "{what}: {name}");
    }
    holds_its_kind(output, &folder, &what);
}

/// Checks that an output is what it was, and that no other files were left.
fn holds_its_kind(output: &Output, folder: &Folder, what: &str) {
    let kind = |path: &Path| path.symlink_metadata().unwrap().file_type();
    if output.name.starts_with("link") {
        assert!(kind(&folder.path(output.name)).is_symlink(), "{what}");
    }
    if matches!(output.found, Found::Pipe(_)) {
        assert!(kind(&folder.path("pipe")).is_fifo(), "{what}");
    }
    for device in ["null", "full"].map(|name| folder.path(name)) {
        let found = device.metadata().ok();
        assert!(found.is_none_or(|found| found.file_type().is_char_device()), "{what}");
    }
    if output.name == "old.jsonl" {
        assert_eq!(
            folder.path("old.jsonl").metadata().unwrap().mode() & 0o777,
            0o666,
            "{what}"
        );
    }
    let left = fs::read_dir(folder.path("filled").parent().unwrap()).unwrap();
    let left = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    let strange: Vec<String> = left
        .filter(|name| name.contains(".new") && !BYSTANDERS.contains(&name.as_str()))
        .collect();
    assert!(strange.is_empty(), "{what}: {strange:?}");
}

/// Drains a queue to `out.jsonl`, and does this when all messages are deleted and it looks for more of them, which takes seconds. Returns
/// the messages that are in this file in the end.
fn drained(act: fn(&Folder), found: &str, words: &str) -> BTreeSet<u64> {
    let drain = &WRITERS[1];
    let (folder, served) = (Folder::new(), Served::new(1e6));
    (drain.fill)(&folder, &served);
    let mut command = folder.command(&format!("drain --queue q {} out.jsonl", served.arguments()));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until_there("the deletions", || served.queue.messages().is_empty().then_some(()));
    act(&folder);
    Run::from(child.wait_with_output().unwrap()).expect(1, words);
    drain.numbers(&folder.read(found))
}

#[test]
fn messages_that_were_drained_to_a_file_that_is_removed_or_replaced_are_in_another_one() {
    let all: BTreeSet<u64> = (0..u64::from(ENTRIES)).collect();
    let remove = |folder: &Folder| fs::remove_file(folder.path("out.jsonl")).unwrap();
    let words = "out.jsonl: it was removed while it was written: what it had is in out.jsonl";
    assert_eq!(drained(remove, "out.jsonl", words), all);
    let replace = |folder: &Folder| {
        folder.write("mine", "mine\n");
        fs::rename(folder.path("mine"), folder.path("out.jsonl")).unwrap();
    };
    assert_eq!(drained(replace, "out.jsonl.1", "what it had is in out.jsonl.1"), all);
    let rename = |folder: &Folder| fs::rename(folder.path("out.jsonl"), folder.path("out.jsonl.old")).unwrap();
    let words = "out.jsonl: it was renamed or replaced while it was written";
    assert_eq!(drained(rename, "out.jsonl.old", words), all);
}

#[test]
fn dead_letters_whose_file_is_removed_are_in_another_one() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    served.table.poison(|_| true);
    let mut command = folder.command(&format!(
        "load --table items {} --dead-letter dead -",
        served.arguments()
    ));
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(items(0..3).as_bytes()).unwrap();
    let has_all = || fs::read_to_string(folder.path("dead")).is_ok_and(|text| text.lines().count() == 3);
    until_there("dead", || has_all().then_some(()));
    fs::remove_file(folder.path("dead")).unwrap();
    drop(input);
    let run = Run::from(child.wait_with_output().unwrap());
    run.expect(1, "dead can no longer be written, so the delivery was stopped: it was removed while it was written: what it had is in dead");
    assert_eq!(
        folder.read("dead").lines().collect::<BTreeSet<_>>(),
        items(0..3).lines().collect()
    );
}

#[test]
fn dead_letters_are_for_their_owner_alone_also_in_a_file_that_was_there() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3) + "oops\n");
    let names = ["dead", "dead.causes.jsonl", "dead.bad", "dead.bad.causes.jsonl"];
    for name in names {
        folder.write(name, "");
        fs::set_permissions(folder.path(name), Permissions::from_mode(0o666)).unwrap();
    }
    folder.load("--dead-letter dead a.jsonl").expect(1, "3 delivered");
    for name in names {
        assert_eq!(folder.path(name).metadata().unwrap().mode() & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    (WRITERS[0].fill)(&folder, &served);
    folder.write("out.jsonl", "mine\n");
    fs::set_permissions(folder.path("out.jsonl"), Permissions::from_mode(0o444)).unwrap();
    let command = folder.command(&format!("{} {} out.jsonl", WRITERS[0].command, served.arguments()));
    let output = if folder.path("out.jsonl").metadata().unwrap().uid() == 0 {
        without_privilege(&command).output()
    } else {
        { command }.output()
    };
    Run::from(output.unwrap()).expect(2, "out.jsonl cannot be written: Permission denied");
    assert_eq!(folder.read("out.jsonl"), "mine\n");
}

/// The same command as root, which may write what others may not.
fn without_privilege(command: &Command) -> Command {
    let mut without = Command::new("setpriv");
    without.args([OsStr::new("--bounding-set=-dac_override"), command.get_program()]);
    with_the_rest(without, command)
}

#[test]
fn a_plan_and_a_drained_queue_that_would_go_nowhere_are_refused() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..3));
    (WRITERS[1].fill)(&folder, &served);
    let drain = format!("drain --queue q {} -", served.arguments());
    for arguments in ["plan a.jsonl", &drain] {
        let mut closed = with_closed_output(&folder.command(arguments));
        Run::from(closed.output().unwrap()).expect(2, "the standard output is closed");
        // Nothing is to be kept of it.
        let null = File::options().write(true).open("/dev/null").unwrap();
        let run = folder.command(arguments).stdout(null).output().unwrap();
        assert_eq!(Run::from(run).code, 0, "{arguments}");
    }
}

#[test]
fn an_input_to_which_the_program_itself_would_write_is_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    let load = "load --simulate 1000000 --table items --key id:N --json a.jsonl";
    let opened = || File::options().append(true).open(folder.path("a.jsonl")).unwrap();
    let run = folder.command(load).stdout(opened()).output().unwrap();
    Run::from(run).expect(2, "the standard output is the same file as a.jsonl, which is an input");
    let run = folder.command(load).stderr(opened()).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let lines = folder.read("a.jsonl");
    let words = lines.strip_prefix(&items(0..3)).unwrap();
    assert!(
        words.contains("the standard error is the same file as a.jsonl, which is an input"),
        "{words}"
    );
}
