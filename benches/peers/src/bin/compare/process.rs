//! A program that is controlled line by line, and its use of resources.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use peers::Failure;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Ticks per second in Linux: `USER_HZ`, which is the same on every architecture that Rust supports.
const TICKS: f64 = 100.0;
/// The positions of the ticks in user mode and in kernel mode in `/proc/PID/stat`, counted after the name.
const USER_TICKS: usize = 11;

pub struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

/// What a process has used so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Use {
    pub processor: Duration,
    /// Bytes at its peak.
    pub memory: u64,
}

impl Process {
    pub fn start(mut command: Command) -> Result<Self, Failure> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        let output = BufReader::new(output).lines();
        Ok(Self { child, input, output })
    }

    pub async fn hear(&mut self) -> Result<String, Failure> {
        Ok(self
            .output
            .next_line()
            .await?
            .ok_or("the program ended without a result: run it by itself to see its error")?)
    }

    pub async fn say(&mut self) -> Result<(), Failure> {
        self.input.write_all(b"\n").await?;
        self.input.flush().await?;
        Ok(())
    }

    /// What it writes to its standard error until its end, if that is piped.
    pub async fn errors(mut self) -> Result<String, Failure> {
        let mut words = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_string(&mut words).await?;
        }
        self.child.wait().await?;
        Ok(words)
    }

    /// Of all its threads.
    pub fn used(&self) -> Result<Use, Failure> {
        let id = self.child.id().ok_or("it has ended")?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
        let behind_name = stat.rsplit(") ").next().unwrap_or_default();
        let ticks = behind_name.split(' ').skip(USER_TICKS).take(2);
        let ticks: f64 = ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes: u64 = peak
            .and_then(|peak| peak.trim().strip_suffix(" kB")?.parse().ok())
            .ok_or("no peak of memory")?;
        Ok(Use {
            processor: Duration::from_secs_f64(ticks / TICKS),
            memory: kilobytes * 1024,
        })
    }

    pub async fn end(mut self) -> Result<(), Failure> {
        self.child.kill().await?;
        Ok(())
    }
}
