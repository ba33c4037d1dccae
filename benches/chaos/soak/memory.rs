//! The memory and the processor time of a process on Linux.

use std::fmt;
use std::fs;
use std::time::Duration;

use crate::ALLOCATED;

/// The page size of the kernels that the bench runs on, as `getconf PAGESIZE` prints it.
const PAGE: usize = 4_096;

/// `USER_HZ`, on all architectures except Alpha and IA-64.
const TICKS_PER_SECOND: f64 = 100.0;

/// The memory at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    at: Duration,
    /// Resident, in bytes.
    bytes: usize,
    /// Allocated and not freed, in bytes. Freed memory may stay resident.
    allocated: usize,
    /// Tasks of the runtime.
    tasks: usize,
}

impl Sample {
    pub(crate) fn now(at: Duration, tasks: usize) -> Self {
        let pages = fs::read_to_string("/proc/self/statm").expect("Linux");
        let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        let bytes = resident.expect("the second number") * PAGE;
        Self {
            at,
            bytes,
            allocated: ALLOCATED.current_usage(),
            tasks,
        }
    }

    fn mebibytes(&self) -> f64 {
        mebibytes(self.bytes)
    }
}

#[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, tasks, allocated) = (self.at.as_secs(), self.tasks, mebibytes(self.allocated));
        write!(
            f,
            "{at:>5} s: {:.1} MiB resident, {allocated:.2} MiB allocated, {tasks} tasks",
            self.mebibytes()
        )
    }
}

/// Compares the memory at the end with that at an early time, and prints both.
pub(crate) fn compare(samples: &[Sample], warm: Duration, growth: f64) -> Option<String> {
    let early = samples.iter().find(|sample| sample.at >= warm);
    let (Some(early), Some(end)) = (early, samples.last()) else {
        return Some(format!("it was not run for {warm:?}"));
    };
    let ratio = end.mebibytes() / early.mebibytes();
    let most = samples.iter().map(Sample::mebibytes).fold(0.0, f64::max);
    println!("memory: {early}; {end}: {ratio:.3} of that; at most {most:.1} MiB");
    (ratio > growth).then(|| format!("the memory grew to {ratio:.3} of what it was"))
}

/// The processor time of a process, in seconds.
pub(crate) fn cpu_seconds(process: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("the process runs");
    // The name of the program, in parentheses, may have spaces.
    let numbers = stat.rsplit(')').next().expect("numbers");
    let ticks = numbers.split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / TICKS_PER_SECOND
}
