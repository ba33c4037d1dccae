//! Both sides in turn: throughput, CPU time and allocations.

use std::alloc::System;
use std::io;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::runtime::Runtime;

use crate::SIDES;
use crate::side::{Load, Senders, Service, Side};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Default)]
struct Total {
    wall: Vec<Duration>,
    cpu: Duration,
    allocations: usize,
}

/// The cost of one turn.
pub(crate) struct Turn {
    wall: Duration,
    cpu: Duration,
    allocations: usize,
}

/// A process that takes turns.
pub(crate) struct Process {
    runtime: Runtime,
    senders: Senders,
}

impl Process {
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = Runtime::new()?;
        Ok(Self {
            runtime,
            senders: Senders::new(),
        })
    }

    pub(crate) fn turn(&self, service: Service, side: Side, entries: usize) -> Turn {
        let load = Load::new(service, side, entries);
        let senders = self.senders.clone();
        let region = Region::new(ALLOCATOR);
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        // In a task, as in a server: a future on the runtime's main thread costs a switch of threads for each call.
        let sent = async { tokio::spawn(load.send(senders)).await };
        self.runtime.block_on(sent).expect("no task panics");
        Turn {
            wall: wall.elapsed(),
            cpu: cpu.elapsed(),
            allocations: region.change().allocations,
        }
    }
}

/// One turn in this process: prints how long it took, its CPU time (both in seconds) and its allocations.
pub(crate) fn once(service: Service, side: Side, entries: usize) -> io::Result<()> {
    let Turn { wall, cpu, allocations } = Process::new()?.turn(service, side, entries);
    println!("{} {} {allocations}", wall.as_secs_f64(), cpu.as_secs_f64());
    Ok(())
}

/// A turn in a process of its own, so that the memory of one side does not affect the other.
pub(crate) fn of_its_own(service: Service, side: Side, entries: usize) -> io::Result<Turn> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--entries", &entries.to_string()])
        .args(["--turn", &format!("{service:?}"), &format!("{side:?}")])
        .output()?;
    if !output.status.success() {
        return Err(failed(&output));
    }
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = || {
        let mut parts = words.split_whitespace();
        Some(Turn {
            wall: Duration::from_secs_f64(parts.next()?.parse().ok()?),
            cpu: Duration::from_secs_f64(parts.next()?.parse().ok()?),
            allocations: parts.next()?.parse().ok()?,
        })
    };
    read().ok_or_else(|| failed(&output))
}

/// The error of a child process without a result.
pub(crate) fn failed(output: &Output) -> io::Error {
    io::Error::other(format!(
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Prints a table. Returns the crate's throughput as a share of the bare SDK's: the median over pairs of consecutive turns.
pub(crate) fn compare(
    service: Service,
    entries: usize,
    turns: usize,
    mut turn: impl FnMut(Side) -> io::Result<Turn>,
) -> io::Result<f64> {
    let mut totals = [Total::default(), Total::default()];
    for number in 0..turns {
        for place in [number % 2, 1 - number % 2] {
            let turn = turn(SIDES[place])?;
            totals[place].wall.push(turn.wall);
            totals[place].cpu += turn.cpu;
            totals[place].allocations += turn.allocations;
        }
    }
    let all = (entries * turns) as f64;
    println!("{service:?}: {turns} turns of {entries} entries");
    for (side, total) in SIDES.iter().zip(&totals) {
        let seconds: f64 = total.wall.iter().map(Duration::as_secs_f64).sum();
        println!(
            "  {:5}  {:>9.0} entries/s  {:>6.2} µs CPU  {:>6.1} allocations an entry",
            format!("{side:?}"),
            all / seconds,
            total.cpu.as_secs_f64() * 1e6 / all,
            total.allocations as f64 / all,
        );
    }
    let bare = SIDES.iter().position(|side| *side == Side::Bare).expect("it is there");
    let mut ratios: Vec<f64> = totals[bare]
        .wall
        .iter()
        .zip(&totals[1 - bare].wall)
        .map(|(bare, with_crate)| bare.as_secs_f64() / with_crate.as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let median = f64::midpoint(ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2]);
    println!("  throughput of the crate: {median:.3} of the bare SDK's");
    Ok(median)
}
