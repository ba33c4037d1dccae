//! The program as a process of its own.

use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How often the process is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// The program, which runs in a folder of its own.
pub(crate) struct Program {
    folder: TempDir,
    more: String,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Run {
    /// `None` if it was killed.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed: Duration,
    /// The peak of its memory in kB, as far as it was seen.
    pub(crate) peak: u64,
}

impl Program {
    pub(crate) fn new(more: &str) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            more: more.to_owned(),
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.run_until(arguments, None)
    }

    /// Runs it to its end, or kills it after this time.
    pub(crate) fn run_until(&self, arguments: &str, killed_after: Option<Duration>) -> Run {
        let started = Instant::now();
        let mut child = self.start(arguments);
        let mut peak = 0;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            peak = memory(child.id()).unwrap_or_default().max(peak);
            if killed_after.is_some_and(|after| started.elapsed() >= after) {
                child.kill().expect("a child that runs");
                break child.wait().expect("a child");
            }
            sleep(LOOK);
        };
        self.ended(status, started.elapsed(), peak)
    }

    fn start(&self, arguments: &str) -> Child {
        let file = |name| File::create(self.folder.path().join(name)).expect("a file");
        Command::new(env!("CARGO_BIN_EXE_batch-deliver"))
            .current_dir(self.folder.path())
            .args(arguments.split_whitespace())
            .args(self.more.split_whitespace())
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("the program starts")
    }

    fn ended(&self, status: ExitStatus, elapsed: Duration, peak: u64) -> Run {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).expect("a file");
        Run {
            code: status.code(),
            stdout: read("stdout"),
            stderr: read("stderr"),
            elapsed,
            peak,
        }
    }
}

impl Run {
    /// That it has ended with this code.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        self
    }
}

/// The peak of the memory of a process in kB. Only Linux tells it.
fn memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
