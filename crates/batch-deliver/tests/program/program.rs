//! Runs the program.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder for the files of a test, in which the program runs.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with these arguments, separated by blanks.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        command(self.0.path(), arguments)
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, "")
    }

    /// Runs it with this standard input.
    pub(crate) fn run_with(&self, arguments: &str, input: &str) -> Run {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The program may end before it has read all.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Run::from(child.wait_with_output().unwrap())
    }

    /// Loads into a simulated table with the key `id`.
    pub(crate) fn load(&self, arguments: &str) -> Run {
        self.run(&format!("load --simulate 1000000 --table items --key id:N {arguments}"))
    }
}

/// A worker whose test was killed would ask for shards for ever. Where there is `setpriv`, it ends with its test.
fn program() -> Command {
    static IS_THERE: LazyLock<bool> = LazyLock::new(|| {
        let tried = with_its_parent("true").stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    let program = env!("CARGO_BIN_EXE_batch-deliver");
    if *IS_THERE {
        with_its_parent(program)
    } else {
        Command::new(program)
    }
}

fn with_its_parent(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}

fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = program();
    command.current_dir(folder).args(arguments.split_whitespace());
    command
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true");
    command
}

/// As Ctrl-C does.
pub(crate) fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// How long is waited for what another process is to do.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_mins(3);

/// Looks again and again until something is there, which is named in case that it never is.
#[track_caller]
pub(crate) fn until_there<T>(name: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONGEST_WAIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{name}: not there after {LONGEST_WAIT:?}");
        thread::yield_now();
    }
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// That it ended with this code and said this.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, words: &str) -> &Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(self.stderr.contains(words), "{words:?} is not in:\n{}", self.stderr);
        self
    }

    /// The last event that it wrote, which is the report.
    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(self.stdout.lines().last().unwrap()).unwrap()
    }
}

/// Lines of items with these ids.
pub(crate) fn items(ids: impl IntoIterator<Item = u32>) -> String {
    let line = |id: u32| {
        format!(
            "{}\n",
            json!({"id": id, "name": format!("item {id}"), "even": id.is_multiple_of(2)})
        )
    };
    ids.into_iter().map(line).collect()
}
