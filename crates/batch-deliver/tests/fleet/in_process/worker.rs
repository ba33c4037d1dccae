//! The programs of a fleet, which are tasks.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aws_config::SdkConfig;
use clap::Parser;
use tokio::task::{AbortHandle, spawn_local};

use super::clock::Clock;
use super::faults::Service;
use super::trace;
use crate::arguments::Arguments;
use crate::commands;
use crate::outcome::exit_code;
use crate::stop::Stop;

/// Whether dead letters and checkpoints may be in a folder. What a task has left in a file when it is dropped is another thing than
/// what a process has when it is killed.
pub(crate) const SHARES_FOLDERS: bool = false;

tokio::task_local! {
    /// The program that runs.
    static PROGRAM: Arc<Program>;
}

/// What the code of a program finds in the place of its process.
#[derive(Debug)]
pub(crate) struct Program {
    number: usize,
    config: SdkConfig,
    output: Mutex<Vec<u8>>,
    said: Mutex<String>,
    /// What a signal would trigger.
    stop: Mutex<Option<Stop>>,
    status: Mutex<Option<Status>>,
}

/// How a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Exit(u8),
    Killed,
}

impl Status {
    pub(crate) fn success(self) -> bool {
        self == Self::Exit(0)
    }
}

/// The AWS configuration of the program that runs, if it is one of a fleet.
pub(crate) fn config() -> Option<SdkConfig> {
    PROGRAM.try_with(|program| program.config.clone()).ok()
}

/// Whether a program of a fleet runs, which this is to stop when it is told to.
pub(crate) fn is_told_by(stop: &Stop) -> bool {
    let told = PROGRAM.try_with(|program| *program.stop.lock().unwrap() = Some(stop.clone()));
    told.is_ok()
}

/// Notes what a program of a fleet prints on its standard error. `false` if it is not one.
pub(crate) fn says(words: &str) -> bool {
    let said = PROGRAM.try_with(|program| {
        let _ = writeln!(program.said.lock().unwrap(), "{words}");
        trace::note(|| format!("worker {} says {words}", program.number));
    });
    said.is_ok() || trace::note(|| format!("{}{words}", trace::SAID))
}

/// The standard output of the program that runs, if it is one of a fleet.
pub(crate) fn standard_output() -> Option<Box<dyn Write>> {
    let program = PROGRAM.try_with(Arc::clone).ok()?;
    Some(Box::new(Output(program)))
}

struct Output(Arc<Program>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.output.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A program of a fleet, by its number.
pub(crate) struct Worker {
    program: Arc<Program>,
    task: AbortHandle,
    is_killed: bool,
    is_terminated: bool,
    /// The faults that freeze it. It is frozen until the last one is over.
    pub(crate) freezes: usize,
    was_frozen: bool,
    /// Until when it is cut off from which service, and whether what it sends arrives.
    pub(crate) cut: Option<Cut>,
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
    pub(crate) folder: NoFolder,
    workers: Mutex<Vec<Worker>>,
}

/// Where nothing is.
pub(crate) struct NoFolder;

impl NoFolder {
    #[expect(clippy::unused_self, reason = "processes have a folder")]
    pub(crate) fn path(&self, _: &str) -> PathBuf {
        Path::new("/nowhere").to_owned()
    }
}

impl Workers {
    pub(crate) fn new() -> Self {
        Self {
            folder: NoFolder,
            workers: Mutex::default(),
        }
    }

    /// Starts the program with these arguments, separated by blanks. `config` makes its configuration. Returns its number.
    pub(crate) fn start(&self, arguments: &str, config: impl FnOnce(usize) -> SdkConfig) -> usize {
        let mut workers = self.all();
        let number = workers.len();
        let program = Arc::new(Program {
            number,
            config: config(number),
            output: Mutex::default(),
            said: Mutex::default(),
            stop: Mutex::default(),
            status: Mutex::default(),
        });
        trace::note(|| format!("worker {number} starts: {arguments}"));
        let words = std::iter::once("batch-deliver").chain(arguments.split_whitespace());
        let arguments = Arguments::parse_from(words);
        let own = Arc::clone(&program);
        let running = PROGRAM.scope(Arc::clone(&program), async move {
            let ended = commands::run(arguments).await;
            let status = Status::Exit(exit_code(&ended));
            trace::note(|| format!("worker {number} ends: {status:?} {ended:?}"));
            if let Err(failure) = &ended {
                says(&format!("error: {failure}"));
            }
            *own.status.lock().unwrap() = Some(status);
        });
        workers.push(Worker {
            program,
            task: spawn_local(running).abort_handle(),
            is_killed: false,
            is_terminated: false,
            freezes: 0,
            was_frozen: false,
            cut: None,
        });
        number
    }

    pub(crate) fn all(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.workers.lock().unwrap()
    }

    /// What a program has written on its standard output.
    pub(crate) fn output(&self, number: usize) -> String {
        let workers = self.all();
        let output = workers[number].program.output.lock().unwrap();
        String::from_utf8(output.clone()).unwrap()
    }

    pub(crate) fn kill(&self, number: usize) {
        self.all()[number].kill();
    }

    pub(crate) fn was_killed(&self, number: usize) -> bool {
        self.all()[number].is_killed
    }

    /// Whether it no longer runs.
    pub(crate) fn has_ended(&self, number: usize) -> bool {
        self.all()[number].status().is_some()
    }

    /// Whether its end has a cause: it was killed, told to stop, or cut off from a service, which it takes for a fault of its own. A task
    /// that is frozen is cut off from all of them, because its clock goes on.
    pub(crate) fn may_have_ended(&self, number: usize) -> bool {
        let worker = &self.all()[number];
        worker.is_killed || worker.is_terminated || worker.cut.is_some() || worker.was_frozen
    }

    pub(crate) fn freeze(&self, number: usize) {
        let worker = &mut self.all()[number];
        worker.freezes += 1;
        worker.was_frozen = true;
    }

    pub(crate) fn thaw(&self, number: usize) {
        self.all()[number].freezes -= 1;
    }

    /// Tells it to stop. One that does not listen yet ends at once.
    pub(crate) fn terminate(&self, number: usize) {
        let worker = &mut self.all()[number];
        if worker.is_terminated || worker.status().is_some() {
            return;
        }
        worker.is_terminated = true;
        let stop = worker.program.stop.lock().unwrap().clone();
        match stop {
            Some(stop) => stop.interrupt(),
            None => worker.kill(),
        }
    }

    /// What the programs have said, for a failed test.
    pub(crate) fn said(&self) -> String {
        let workers = self.all();
        let said = workers.iter().map(|worker| {
            let Program {
                number, said, status, ..
            } = &*worker.program;
            let ended = if worker.is_killed {
                Some(Status::Killed)
            } else {
                *status.lock().unwrap()
            };
            format!("--- worker {number}, {ended:?}:\n{}", said.lock().unwrap())
        });
        said.chain([trace::said()]).collect()
    }

    /// A program that has panicked.
    pub(crate) fn panicked(&self) -> Option<usize> {
        trace::has_panicked().then(|| self.all().len() - 1)
    }
}

impl Worker {
    /// How it has ended, if it has.
    pub(crate) fn status(&mut self) -> Option<Status> {
        if self.is_killed {
            return Some(Status::Killed);
        }
        *self.program.status.lock().unwrap()
    }

    /// Whether it cannot reach the service now, and whether what it sends arrives nevertheless.
    pub(crate) fn cut_off(&self, service: Service, clock: Clock) -> Option<Cut> {
        self.cut.filter(|cut| cut.service == service && clock.now() < cut.until)
    }

    fn kill(&mut self) {
        self.is_killed = true;
        self.task.abort();
    }
}
