//! Every kind of place that can be named as an output: what the program says that it has written is there, or it is no success.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use serde_json::Value;

use crate::number_of_cases::cases;
use crate::program::{Folder, Run, items, until_there};
use crate::served::Served;
use crate::writers::{DRAIN, ENTRIES, EXPORT, End, Takes, WRITERS, Writer, with_closed_output, with_the_rest};

/// Where another program finds what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
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
pub(crate) struct Output {
    pub(crate) name: &'static str,
    prepare: fn(&Folder),
    pub(crate) found: Found,
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

#[test]
fn a_success_is_found_where_the_output_is_and_nothing_else_has_changed() {
    // Each writer with each output, and all ends in turn, or all of them if `CASES` asks for more.
    let ends = if cases(1) > 1 { usize::MAX } else { 1 };
    let cases: Vec<_> = (WRITERS.iter().enumerate())
        .flat_map(|(first, writer)| {
            let outputs = OUTPUTS.iter().enumerate();
            outputs.map(move |(second, output)| (writer, output, first + second))
        })
        .flat_map(|(writer, output, turn)| {
            let ends = writer.ends.iter().cycle().skip(turn).take(ends.min(writer.ends.len()));
            ends.map(move |end| (writer, output, *end))
        })
        .collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // A run mostly waits.
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some((writer, output, end)) = cases.get(next.fetch_add(1, Relaxed)) {
                    let what = format!("{} to {}, {:?}, {end:?}", writer.command, output.name, output.found);
                    if let Err(words) = check(writer, output, *end) {
                        failed.lock().unwrap().push(format!("{what}: {words}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// How a run must end.
fn codes(writer: &Writer, output: &Output, end: End) -> &'static [i32] {
    let is_closed = end == End::Closed && output.found == Found::StandardOutput;
    match (writer.found(output), writer.takes) {
        // The shell does not begin it, or it finds no space.
        (Found::Refused, Takes::Redirected) => &[1, 2],
        // That there is no space is known when something is written.
        (Found::Refused, Takes::All | Takes::AllButADash) if output.name == "full" => match end {
            End::Interrupted => &[1, INTERRUPTED],
            _ => &[1],
        },
        (Found::Refused, _) => &[2],
        _ if is_closed => &[2],
        _ if end == End::Denied => &[1],
        // It may be done before the signal comes.
        _ if end == End::Interrupted && writer.command.starts_with("spool") => &[0, INTERRUPTED],
        _ if end == End::Interrupted => &[INTERRUPTED],
        _ if writer.code == 0 => &[0],
        _ => &[1],
    }
}

/// The exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;

fn check(writer: &Writer, output: &Output, end: End) -> Result<(), String> {
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
    let calls = || (served.table.calls(), served.queue.calls(), served.queue.in_flight());
    let before = calls();
    let (run, text) = writer.run(output, end, (&folder, &served));
    let (all, found, written) = ((writer.all)(), writer.found(output), writer.numbers(&text));
    let codes = codes(writer, output, end);
    let holds = |condition: bool, words: &str| {
        let told = || format!("{words}: {}: {}", run.code, run.stderr);
        condition.then_some(()).ok_or_else(told)
    };
    holds(codes.contains(&run.code), &format!("not one of {codes:?}"))?;
    holds(run.code != 2 || calls() == before, "refused, but sent")?;
    let is_kept = found != Found::Nowhere;
    if is_kept && found != Found::Refused {
        let is_whole = run.code == writer.code && matches!(end, End::Whole | End::Closed);
        holds(!is_whole || written == all, &format!("{written:?}"))?;
        let told = writer.told(&run).unwrap_or(written.len() as u64);
        holds(told == written.len() as u64, &format!("{written:?}"))?;
        // An export replaces a file when it is complete.
        let is_replaced = writer.command == EXPORT.command && matches!(found, Found::In(_));
        holds(
            !is_replaced || run.code == 0 || written.is_empty(),
            &format!("{written:?}"),
        )?;
    }
    if is_kept
        && run.code != 2
        && let Some(elsewhere) = writer.elsewhere
    {
        let elsewhere = elsewhere(&folder, &served);
        let both: BTreeSet<u64> = elsewhere.union(&written).copied().collect();
        let whole = if writer.takes == Takes::Files {
            Writer::read(&run)
        } else {
            all
        };
        holds(both == whole, &format!("{written:?} and {elsewhere:?}"))?;
        if writer.takes == Takes::Files {
            let causes = fs::read_to_string(folder.path(&format!("{}.causes.jsonl", output.name))).unwrap_or_default();
            let causes = causes
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let causes = causes.filter(|cause| cause["cause"].as_str().is_some_and(|words| !words.is_empty()));
            holds(causes.count() == text.lines().count(), "an entry without a cause")?;
        }
    }
    for name in bystanders {
        holds(folder.read(name) == "mine\n", name)?;
    }
    holds(!folder.path("-").exists(), "there is a file of the name -")?;
    holds_its_kind(writer, output, &folder, &run.stderr);
    Ok(())
}

/// Checks that an output is what it was, and that no other files were left.
fn holds_its_kind(writer: &Writer, output: &Output, folder: &Folder, what: &str) {
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
            // Dead letters are for their owner alone.
            if writer.takes == Takes::Files { 0o600 } else { 0o666 },
            "{what}"
        );
    }
    let left = fs::read_dir(folder.path("any").parent().unwrap()).unwrap();
    let left = left.map(|file| file.unwrap().file_name().into_string().unwrap());
    let strange: Vec<String> = left
        .filter(|name| name.contains(".new") && !BYSTANDERS.contains(&name.as_str()))
        .collect();
    assert!(strange.is_empty(), "{what}: {strange:?}");
}

/// Drains a queue to `out.jsonl`, and does this when all messages are deleted and it looks for more of them, which takes seconds. Returns
/// the messages that are in this file in the end.
fn drained(act: fn(&Folder), found: &str, words: &str) -> BTreeSet<u64> {
    let drain = &DRAIN;
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

/// Loads into a table that refuses all items, does this when all are dead letters. They must be there in the end.
fn dead_letters_after(name: &str, act: fn(&Path)) {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    served.table.poison(|_| true);
    let path = folder.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut command = folder.command(&format!(
        "load --table items {} --dead-letter {name} -",
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
    let has_all = || fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == 3);
    until_there("dead", || has_all().then_some(()));
    act(&path);
    drop(input);
    let words =
        "can no longer be written, so the delivery was stopped: it was removed while it was written: what it had is in";
    Run::from(child.wait_with_output().unwrap()).expect(1, &format!("{name} {words} {name}"));
    assert_eq!(
        folder.read(name).lines().collect::<BTreeSet<_>>(),
        items(0..3).lines().collect()
    );
}

#[test]
fn dead_letters_whose_file_is_removed_are_in_another_one() {
    dead_letters_after("dead", |path| fs::remove_file(path).unwrap());
    let remove_folders = |path: &Path| fs::remove_dir_all(path.ancestors().nth(2).unwrap()).unwrap();
    dead_letters_after("folder/of/dead", remove_folders);
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
    (EXPORT.fill)(&folder, &served);
    folder.write("out.jsonl", "mine\n");
    fs::set_permissions(folder.path("out.jsonl"), Permissions::from_mode(0o444)).unwrap();
    let command = folder.command(&EXPORT.arguments(&served, "out.jsonl"));
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
    (DRAIN.fill)(&folder, &served);
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
fn what_only_the_standard_output_has_is_not_lost_where_it_is_closed() {
    let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(1e6));
    folder.write("a.jsonl", items(0..3));
    let load = |served: &Served| folder.run(&format!("load --table items {} a.jsonl", served.arguments()));
    load(&from).expect(0, "3 delivered");
    let (one, other) = (from.endpoint(), to.endpoint());
    let diff = format!("diff items items --from-endpoint-url {one} --to-endpoint-url {other}");
    let closed = |arguments: &str| {
        let mut closed = with_closed_output(&folder.command(arguments));
        Run::from(closed.output().unwrap())
    };
    closed("completions bash").expect(2, "the standard output is closed");
    closed("man load").expect(2, "the standard output is closed");
    closed(&diff).expect(1, "the differences cannot be written: the standard output is closed");
    // Nothing would be written.
    load(&to).expect(0, "3 delivered");
    closed(&diff).expect(0, "3 items equal");
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

#[test]
fn records_of_a_failed_condition_and_events_are_not_mixed_and_no_file_is_named_as_a_dash() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..3));
    let load = format!("load --table items {} --if-absent a.jsonl", served.arguments());
    folder
        .run(&format!("{load} --failed -"))
        .expect(2, "name a file, /dev/stdout for the standard output, or ./-");
    let both = "the records of --failed and --json cannot both be written to the standard output";
    folder
        .run(&format!("{load} --json --failed /dev/stdout"))
        .expect(2, both);
    assert!(served.ids().is_empty());
    let run = folder.run(&format!("{load} --failed /dev/stdout"));
    assert_eq!(run.expect(0, "3 delivered").stdout, "");
    let run = folder.run(&format!("{load} --failed /dev/stdout"));
    assert_eq!(run.expect(0, "3 with a failed condition").stdout.lines().count(), 3);
    folder.run(&format!("{load} --json --failed ./-")).expect(0, "");
    assert_eq!(folder.read("-").lines().count(), 3);
}
