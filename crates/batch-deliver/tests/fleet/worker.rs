//! The processes of a fleet.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use super::clock::{Clock, Skew, hasten};
use super::faults::Service;
use super::program::Folder;

/// How the access key of a program begins. Its number follows.
pub(crate) const KEY: &str = "worker";

/// Whether dead letters and checkpoints may be in a folder.
pub(crate) const SHARES_FOLDERS: bool = true;

/// A program of a fleet, by its number.
pub(crate) struct Worker {
    child: Child,
    said: PathBuf,
    is_killed: bool,
    is_terminated: bool,
    /// The faults that freeze it. It is frozen until the last one is over.
    pub(crate) freezes: usize,
    /// Until when it is cut off from which service, and whether what it sends arrives.
    pub(crate) cut: Option<Cut>,
    status: Option<ExitStatus>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) service: Service,
    pub(crate) until: Duration,
    pub(crate) applied: bool,
    pub(crate) is_silent: bool,
}

/// All programs of a fleet.
pub(crate) struct Workers {
    pub(crate) folder: Folder,
    workers: Mutex<Vec<Worker>>,
}

impl Workers {
    pub(crate) fn new() -> Self {
        Self {
            folder: Folder::new(),
            workers: Mutex::default(),
        }
    }

    /// Starts the program with these arguments, separated by blanks. Returns its number.
    ///
    /// It signs with a key of its own. An endpoint of its own would be another service to it, of which it would not take over a
    /// checkpoint.
    pub(crate) fn start(&self, arguments: &str, skew: Skew) -> usize {
        let mut workers = self.all();
        let number = workers.len();
        let said = self.folder.path(&format!("{number}.err"));
        let mut command = self.folder.command(arguments);
        command
            .env("AWS_ACCESS_KEY_ID", format!("{KEY}{number}"))
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(File::create(self.folder.path(&format!("{number}.out"))).unwrap())
            .stderr(File::create(&said).unwrap());
        hasten(&mut command, skew);
        workers.push(Worker {
            child: command.spawn().unwrap(),
            said,
            is_killed: false,
            is_terminated: false,
            freezes: 0,
            cut: None,
            status: None,
        });
        number
    }

    pub(crate) fn all(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.workers.lock().unwrap()
    }

    /// What a program has written on its standard output.
    pub(crate) fn output(&self, number: usize) -> String {
        self.folder.read(&format!("{number}.out"))
    }

    pub(crate) fn kill(&self, number: usize) {
        let worker = &mut self.all()[number];
        worker.is_killed = true;
        let _ = worker.child.kill();
    }

    /// Kills all that run, and waits for their ends.
    pub(crate) fn kill_all(&self) {
        self.all().iter_mut().for_each(Worker::end);
    }

    pub(crate) fn was_killed(&self, number: usize) -> bool {
        self.all()[number].is_killed
    }

    /// Whether it no longer runs.
    pub(crate) fn has_ended(&self, number: usize) -> bool {
        self.all()[number].status().is_some()
    }

    /// Whether its end has a cause: it was killed, told to stop, or cut off from a service, which it takes for a fault of its own.
    pub(crate) fn may_have_ended(&self, number: usize) -> bool {
        let worker = &self.all()[number];
        worker.is_killed || worker.is_terminated || worker.cut.is_some()
    }

    pub(crate) fn freeze(&self, number: usize) {
        self.all()[number].signal("-STOP");
        self.all()[number].freezes += 1;
    }

    pub(crate) fn thaw(&self, number: usize) {
        let worker = &mut self.all()[number];
        worker.freezes -= 1;
        if worker.freezes == 0 {
            worker.signal("-CONT");
        }
    }

    /// Tells it to stop. Told twice, it would end at once.
    pub(crate) fn terminate(&self, number: usize) {
        let worker = &mut self.all()[number];
        if !worker.is_terminated {
            worker.is_terminated = true;
            worker.signal("-TERM");
        }
    }

    /// What the programs have said, for a failed test.
    pub(crate) fn said(&self) -> String {
        let workers = self.all();
        let said = workers.iter().enumerate().map(|(number, worker)| {
            let words = fs::read_to_string(&worker.said).unwrap_or_default();
            let ended = worker.status.map_or("runs".to_owned(), |status| status.to_string());
            format!("--- worker {number}, {ended}:\n{words}")
        });
        said.collect()
    }

    /// A program that has panicked.
    pub(crate) fn panicked(&self) -> Option<usize> {
        self.all()
            .iter()
            .position(|worker| fs::read_to_string(&worker.said).is_ok_and(|words| words.contains("panicked")))
    }
}

impl Worker {
    /// How it has ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().unwrap();
        }
        self.status
    }

    /// Whether it cannot reach the service now, and whether what it sends arrives nevertheless.
    pub(crate) fn cut_off(&self, service: Service, clock: Clock) -> Option<Cut> {
        self.cut.filter(|cut| cut.service == service && clock.now() < cut.until)
    }

    fn end(&mut self) {
        if self.status().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn signal(&mut self, signal: &str) {
        if self.status().is_none() {
            let id = self.child.id().to_string();
            let _ = Command::new("kill").args([signal, &id]).status();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}
