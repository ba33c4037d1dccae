//! Runs a body in many orders of its tasks' steps.

use std::cell::Cell;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, MaxSteps, Runner};

use crate::time::clock;

/// The most steps of one execution. One that takes more is in an endless loop.
const MOST_STEPS: usize = 200_000;

/// The depth of probabilistic concurrency testing: the number of places at which the highest-priority task is preempted.
const DEPTH: usize = 3;

/// The clock is the first thread that the body's thread starts.
const CLOCK: usize = 1;

/// When time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// When no task can run otherwise, as on tokio's paused clock. A lost wake-up shows as the time until a timer fires instead, or,
    /// without a timer, as a deadlock.
    WhenIdle,
    /// At any moment, as if the machine had suspended a task: timers fire early and late.
    Whenever,
}

thread_local! {
    static WORKERS: Cell<usize> = const { Cell::new(2) };
}

/// The number of worker threads that the runtime reports.
pub(crate) fn workers() -> usize {
    WORKERS.get()
}

/// Runs `body` in this many random orders, and in the same number of orders by priorities. The seed is that of
/// `SHUTTLE_RANDOM_SEED`; without it, it is always the same.
pub fn check<F>(time: Time, workers: usize, executions: usize, body: impl Fn() -> F + Send + Sync + Clone + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    WORKERS.set(workers);
    let random = RandomScheduler::new_from_seed(20_261_124, executions);
    run(Timed::new(random, time), body.clone());
    let by_priority = PctScheduler::new_from_seed(20_261_124, DEPTH, executions);
    run(Timed::new(by_priority, time), body);
}

fn run<F>(scheduler: Timed<impl Scheduler + 'static>, body: impl Fn() -> F + Send + Sync + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.stack_size = 0x0010_0000;
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(move || {
        clock::restart();
        let clock = shuttle::thread::spawn(clock::run);
        shuttle::future::block_on(body());
        clock::stop();
        clock.join().expect("the clock ends");
    });
}

/// Lets time pass only when the wrapped scheduler has nothing else to run, or at any moment.
struct Timed<S> {
    scheduler: S,
    time: Time,
}

impl<S> Timed<S> {
    fn new(scheduler: S, time: Time) -> Self {
        Self { scheduler, time }
    }
}

impl<S: Scheduler> Scheduler for Timed<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.scheduler.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        if self.time == Time::Whenever {
            return self.scheduler.next_task(runnable, current, is_yielding);
        }
        let others: Vec<_> = runnable
            .iter()
            .copied()
            .filter(|task| usize::from(task.id()) != CLOCK)
            .collect();
        let may_run = if others.is_empty() { runnable } else { &others };
        self.scheduler.next_task(may_run, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.scheduler.next_u64()
    }
}
