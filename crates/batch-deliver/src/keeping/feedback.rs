//! What was kept and comes back as input: a process reads their file and writes what it reads into the pipe from which the input comes.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::append_file::OpenedFile;
use crate::output::FileIdentity;

/// Texts that are remembered. Later ones replace them.
const MOST: usize = 1 << 20;

/// Recognizes lines that come back. The same line may be in an input twice, so it is also looked whether the process at the other end of
/// a pipe has the file open.
#[derive(Debug)]
pub(super) struct Feedback {
    kept: FileIdentity,
    pipes: Vec<FileIdentity>,
    seen: Mutex<SeenLines>,
}

#[derive(Debug, Default)]
struct SeenLines {
    checksums: HashSet<u64>,
    again: u64,
}

impl Feedback {
    /// For this file, if the input comes from pipes, which are these.
    pub(super) fn new(kept: &OpenedFile, pipes: &[FileIdentity]) -> Option<Self> {
        Some(Self {
            kept: kept.identity().filter(|_| !pipes.is_empty())?,
            pipes: pipes.to_vec(),
            seen: Mutex::default(),
        })
    }

    /// It is an error if this text was kept before and has come back.
    pub(super) fn check(&self, text: &[u8]) -> io::Result<()> {
        let is_looked_for = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.checksums.len() == MOST {
                seen.checksums.clear();
            }
            let is_new = seen.checksums.insert(checksum(text));
            seen.again += u64::from(!is_new);
            // It takes some milliseconds.
            !is_new && seen.again.is_power_of_two()
        };
        if is_looked_for && is_read_into(self.kept, &self.pipes) {
            let words = "the input comes from a process that reads this file, so that its lines come back without end";
            return Err(io::Error::other(words));
        }
        Ok(())
    }
}

fn checksum(text: &[u8]) -> u64 {
    u64::from(crc32fast::hash(text)) << 32 | text.len() as u64 & 0xffff_ffff
}

/// Whether a process has this file open and, by way of others or not, writes into one of these pipes. Only those of the same user can be
/// looked at.
#[cfg(target_os = "linux")]
fn is_read_into(file: FileIdentity, pipes: &[FileIdentity]) -> bool {
    let processes = processes();
    let mut pipes: HashSet<FileIdentity> = pipes.iter().copied().collect();
    loop {
        let before = pipes.len();
        for process in &processes {
            if process.pipes.is_disjoint(&pipes) {
                continue;
            }
            if process.files.contains(&file) {
                return true;
            }
            pipes.extend(&process.pipes);
        }
        if pipes.len() == before {
            return false;
        }
    }
}

/// What a process has open.
#[cfg(target_os = "linux")]
#[derive(Default)]
struct Process {
    files: HashSet<FileIdentity>,
    pipes: HashSet<FileIdentity>,
}

/// What the other processes have open.
#[cfg(target_os = "linux")]
fn processes() -> Vec<Process> {
    use std::fs;
    use std::os::unix::fs::FileTypeExt;

    let own = std::process::id().to_string();
    let mut processes = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = process.file_name();
        if name
            .to_str()
            .is_none_or(|name| name == own || name.parse::<u32>().is_err())
        {
            continue;
        }
        let mut open = Process::default();
        for descriptor in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let Ok(metadata) = fs::metadata(descriptor.path()) else {
                continue;
            };
            let Some(identity) = FileIdentity::of(&metadata) else {
                continue;
            };
            if metadata.is_file() {
                open.files.insert(identity);
            } else if metadata.file_type().is_fifo() {
                open.pipes.insert(identity);
            }
        }
        processes.push(open);
    }
    processes
}

/// Other systems do not say what a process has open.
#[cfg(not(target_os = "linux"))]
fn is_read_into(_: FileIdentity, _: &[FileIdentity]) -> bool {
    false
}
