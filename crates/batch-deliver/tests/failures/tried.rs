//! Every operation of a run fails once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use aws_batch_simulator::InjectedFault;

use crate::program::{Folder, Run};
use crate::runs::{Fails, Use, failing};
use crate::served::Served;

/// Of how many operations one is tried, unless all are. Prime to the operations of a loop.
const SAMPLE: u32 = 29;

/// What the program is used for.
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    /// Makes what is needed.
    pub(crate) prepare: fn(&Folder, &Served),
    pub(crate) used: Use,
    /// Whether a run after a failure waits for what the failed one had in flight. Only `FAILURES=all` has time for that.
    pub(crate) waits: bool,
    /// Checks what holds after the failure.
    pub(crate) meanwhile: fn(&Folder, &Served),
    /// Checks what the run says that comes to its end after the failure.
    pub(crate) says: fn(&Run),
    /// Checks what holds in the end.
    pub(crate) holds: fn(&Folder, &Served),
}

impl Situation {
    fn prepared(&self) -> (Folder, Served) {
        let (folder, served) = (Folder::new(), Served::new(1e6));
        (self.prepare)(&folder, &served);
        (folder, served)
    }

    /// Runs it once more, to its end, and checks what holds.
    fn ends(&self, (folder, served): (Folder, Served), failed: &Run, what: &str) {
        assert!(
            failed.code != 101 && !failed.stderr.contains("panicked"),
            "{}, {what}: {}",
            self.name,
            failed.stderr
        );
        self.check(self.meanwhile, (&folder, &served), failed, what);
        if !(self.waits && is_sample()) {
            let (has_ended, again) = self.used.run(&folder, &served, |_| {});
            assert!(
                has_ended,
                "{}, {what}: {}\nafter: {}",
                self.name, again.stderr, failed.stderr
            );
            let said = catch_unwind(AssertUnwindSafe(|| (self.says)(&again)));
            assert!(said.is_ok(), "{}, {what}: after: {}", self.name, failed.stderr);
        }
        self.check(self.holds, (&folder, &served), failed, what);
    }

    fn check(&self, check: fn(&Folder, &Served), (folder, served): (&Folder, &Served), failed: &Run, what: &str) {
        let checked = catch_unwind(AssertUnwindSafe(|| check(folder, served)));
        assert!(
            checked.is_ok(),
            "{}, {what}: exit code {}: {}",
            self.name,
            failed.code,
            failed.stderr
        );
    }
}

/// Lets each operation on a file fail in each way. Afterwards the program runs without failures, and comes to its end.
pub(crate) fn each_operation_fails_once(situation: &Situation) {
    for fails in Fails::ALL {
        let mut tried = 0;
        let (first, step) = if is_sample() {
            (1 + fails as u32, SAMPLE)
        } else {
            (1, 1)
        };
        for number in (first..).step_by(step as usize) {
            let (folder, served) = situation.prepared();
            let (has_ended, run, is_tried) = failing(situation.used, &folder, &served, number, fails);
            if !is_tried {
                assert!(has_ended, "{}: {}", situation.name, run.stderr);
                break;
            }
            tried += 1;
            situation.ends((folder, served), &run, &format!("operation {number}, {fails:?}"));
        }
        println!("{}: {tried} operations failed: {fails:?}", situation.name);
        assert!(tried > 0, "{}: no operation was seen", situation.name);
    }
}

/// The calls of one kind.
pub(crate) struct Calls {
    /// Sets what happens to the next ones.
    pub(crate) script: fn(&Served, Vec<InjectedFault>),
    /// How many were made.
    pub(crate) made: fn(&Served) -> u64,
}

/// Lets each of the first calls, so many, fail in each way. The program comes to its end by itself.
pub(crate) fn each_call_fails_once(situation: &Situation, first: usize, calls: &Calls) {
    let all = [
        InjectedFault::Throttle,
        InjectedFault::Dropped { applied: false },
        InjectedFault::Dropped { applied: true },
        InjectedFault::internal_error(false),
        InjectedFault::internal_error(true),
        InjectedFault::Empty { applied: true },
    ];
    let mut tried = 0;
    for number in 0..first {
        let one = number % all.len();
        let faults = if is_sample() { &all[one..=one] } else { &all };
        tried += faults.len();
        for fault in faults {
            let (folder, served) = situation.prepared();
            let faults = vec![InjectedFault::None; number].into_iter().chain([fault.clone()]);
            (calls.script)(&served, faults.collect());
            let before = (calls.made)(&served);
            let (has_ended, run) = situation.used.run(&folder, &served, |_| {});
            let what = format!("call {}, {fault:?}", number + 1);
            let made = (calls.made)(&served) - before;
            assert!(made > number as u64, "{}, {what}: only {made} calls", situation.name);
            assert!(has_ended, "{}, {what}: {}", situation.name, run.stderr);
            situation.ends((folder, served), &run, &what);
        }
    }
    println!("{}: {tried} calls failed", situation.name);
}

fn is_sample() -> bool {
    std::env::var("FAILURES").is_err()
}
