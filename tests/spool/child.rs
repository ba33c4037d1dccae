//! The process that is killed: this test binary, which runs one of its tests with a task in its environment.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use aws_batch_delivery::spool::{SpoolError, SpoolOptions, SyncPolicy};
use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use serde::{Deserialize, Serialize};

/// The variable of the environment that has the task as JSON.
const TASK: &str = "SPOOL_TASK";

/// The message groups, of each of which one task hands over the messages one after another.
pub(crate) const GROUPS: u64 = 5;

/// A process that does not say what it is to say for so long hangs.
const SILENCE: Duration = Duration::from_mins(5);

/// What the process does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) folder: PathBuf,
    pub(crate) endpoint: String,
    pub(crate) queue_url: String,
    pub(crate) sync: Sync,
    pub(crate) window: usize,
    pub(crate) max_bytes: u64,
    /// The bytes of each message besides its numbers.
    pub(crate) padding: usize,
    /// The first number; `None` to deliver what is left, and to end.
    pub(crate) first: Option<u64>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Sync {
    EachGroup,
    Every10Ms,
    Never,
}

/// A message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Numbered {
    pub(crate) group: u64,
    pub(crate) number: u64,
    padding: String,
}

/// The process, and the lines that it prints.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn start(task: &Task) -> Self {
        Self::start_by(Command::new(env::current_exe().unwrap()), task)
    }

    /// Starts it by a command that takes the arguments of this binary.
    pub(crate) fn start_by(mut command: Command, task: &Task) -> Self {
        let mut child = command
            .args(["--exact", "child::does_its_task", "--nocapture", "--ignored"])
            .arg("--test-threads=2")
            .env(TASK, serde_json::to_string(task).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (line, lines) = channel();
        thread::spawn(move || {
            for read in output.lines().map_while(Result::ok) {
                if line.send(read).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    /// The next line with this word, without the word. `None` when the process has ended.
    pub(crate) fn next(&mut self, word: &str) -> Option<String> {
        let until = Instant::now() + SILENCE;
        loop {
            let line = match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    panic!("the process does not say {word:?}");
                }
            };
            if let Some(rest) = line.strip_prefix(word) {
                return Some(rest.trim().to_owned());
            }
        }
    }

    /// Kills it, and returns what it has said with this word before.
    pub(crate) fn kill(mut self, word: &str) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::iter::from_fn(|| self.next(word)).collect()
    }

    pub(crate) fn wait(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

/// Prints a line at once, because the process may be killed next.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

fn client(endpoint: &str) -> aws_sdk_sqs::Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .endpoint_url(endpoint);
    aws_sdk_sqs::Client::from_conf(config.build())
}

fn options(task: &Task, folder: &Path) -> SpoolOptions {
    let policy = match task.sync {
        Sync::EachGroup => SyncPolicy::EachGroup,
        Sync::Every10Ms => SyncPolicy::Every(Duration::from_millis(10)),
        Sync::Never => SyncPolicy::Never,
    };
    SpoolOptions::at(folder)
        .sync(policy)
        .window(task.window)
        .max_bytes(task.max_bytes)
}

#[test]
#[ignore = "a process of its own runs it"]
fn does_its_task() {
    let Ok(task) = env::var(TASK) else { return };
    let task: Task = serde_json::from_str(&task).unwrap();
    // Several threads, as in a service.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run(&task));
}

async fn run(task: &Task) {
    let delivery = Delivery::to_sqs(client(&task.endpoint), task.queue_url.clone())
        .map_target(SqsQueue::strict_order)
        .json::<Numbered>()
        .group(|message| message.group.to_string())
        .options(DeliveryOptions::default().give_up_after(Duration::from_secs(2)));
    let spool = delivery.spooled(options(task, &task.folder)).await.unwrap();
    say(&format!("begins {}", spool.figures().await.unwrap().entries));
    let Some(first) = task.first else {
        spool.flush().await.unwrap();
        let report = spool.close().await.unwrap();
        return say(&format!("left {}", report.left));
    };
    let groups = (0..GROUPS).map(|group| {
        let (spool, padding) = (spool.clone(), "x".repeat(task.padding));
        tokio::spawn(async move {
            for number in (first..).filter(|number| number % GROUPS == group) {
                let padding = padding.clone();
                match spool.enqueue(&Numbered { group, number, padding }).await {
                    Ok(()) => say(&format!("spooled {number}")),
                    Err(error @ (SpoolError::Storage { .. } | SpoolError::Full { .. })) => {
                        say(&format!("failed {number} {error}"));
                        // Not in a circle without an end.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    futures::future::join_all(groups).await;
}
