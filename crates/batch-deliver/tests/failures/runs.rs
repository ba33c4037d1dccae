//! Runs of the program in which one operation fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::activity::Activity;
use crate::program::{Folder, Run};
use crate::served::Served;

/// A worker that has not answered by then is killed.
const HANGS: Duration = Duration::from_mins(1);

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fails {
    /// By an error of the disk.
    Error,
    /// The disk is full from then on.
    Full,
    /// The process is killed, within a write or after another operation.
    Torn,
    /// The machine loses its power after the operation, and files lose what was not synced. Each second time the journal does not: the
    /// system writes files for itself, in any order.
    Power,
}

impl Fails {
    pub(crate) const ALL: [Self; 4] = [Self::Error, Self::Full, Self::Torn, Self::Power];

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Full => "full",
            Self::Torn => "torn",
            Self::Power => "power",
        }
    }
}

/// How the program is used.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Use {
    /// A command that runs to its end. Its dead letters are no failure.
    Command(&'static str),
    /// A worker with these options, which is handed out a file as a shard, and ends when it has answered.
    Worker { options: &'static str, file: &'static str },
}

impl Use {
    /// What stands in the path of its journal.
    fn journal(self) -> &'static str {
        match self {
            Self::Command(_) => "state",
            Self::Worker { .. } => "checkpoints",
        }
    }

    /// Runs it, and returns whether it came to its end.
    pub(crate) fn run(self, folder: &Folder, served: &Served, set: impl FnOnce(&mut Command)) -> (bool, Run) {
        match self {
            Self::Command(command) => {
                let mut command = folder.command(&format!("{command} {}", served.arguments()));
                set(&mut command);
                let run = Run::from(command.stdin(Stdio::null()).output().unwrap());
                (matches!(run.code, 0 | 1), run)
            }
            Self::Worker { options, file } => {
                let bytes = folder.read(file).len();
                let activity = Activity::new([json!({"input": file, "begin": 0, "end": bytes, "execution": "one"})]);
                let arn = "arn:aws:states:us-east-1:000000000000:activity:deliver";
                let mut command = folder.command(&format!("worker --activity {arn} {options}"));
                command.env("AWS_ENDPOINT_URL_SFN", &activity.endpoint);
                command.env("AWS_ENDPOINT_URL_DYNAMODB", served.endpoint());
                set(&mut command);
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut worker = command.spawn().unwrap();
                let started = Instant::now();
                let answered = loop {
                    if started.elapsed() > HANGS {
                        worker.kill().unwrap();
                        break false;
                    }
                    let said = activity.said.recv_timeout(Duration::from_millis(20));
                    let operation = said.map_or(String::new(), |(operation, _)| operation);
                    if matches!(operation.as_str(), "SendTaskSuccess" | "SendTaskFailure") {
                        let id = worker.id().to_string();
                        let _ = Command::new("kill").args(["-TERM", &id]).status();
                        break operation == "SendTaskSuccess";
                    }
                    if worker.try_wait().unwrap().is_some() {
                        break false;
                    }
                };
                (answered, Run::from(worker.wait_with_output().unwrap()))
            }
        }
    }
}

/// The library that lets an operation fail, compiled once. It lies beside what cargo builds, because a static is never dropped.
fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("interpose-{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failures/interpose.c");
        // Whatever links Rust has it.
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .args(["-ldl", "-pthread"])
            .status();
        assert!(compiled.unwrap().success(), "{} cannot be compiled", source.display());
        library
    });
    &LIBRARY
}

/// Runs it in the folder, where the operation with this number fails. Also returns whether there was such an operation.
pub(crate) fn failing(used: Use, folder: &Folder, served: &Served, number: u32, fails: Fails) -> (bool, Run, bool) {
    let keeps = if number.is_multiple_of(2) { "" } else { used.journal() };
    failing_with(used, folder, served, (number, fails), &[("FAIL_KEEPS", keeps)])
}

/// The same, with further variables of the library.
pub(crate) fn failing_with(
    used: Use,
    folder: &Folder,
    served: &Served,
    (number, fails): (u32, Fails),
    variables: &[(&str, &str)],
) -> (bool, Run, bool) {
    let marks = tempfile::tempdir().unwrap();
    let mark = marks.path().join("mark");
    let (has_ended, run) = used.run(folder, served, |command| {
        command
            .env("LD_PRELOAD", library())
            .env("FAIL_FOLDER", folder.path("any").parent().unwrap())
            .env("FAIL_AT", number.to_string())
            .env("FAIL_HOW", fails.name())
            .env("FAIL_MARK", &mark)
            .envs(variables.iter().copied());
    });
    (has_ended, run, mark.exists())
}
