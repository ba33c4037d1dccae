//! Both sides in turns: throughput, CPU time and allocations.

use std::alloc::System;
use std::io;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::SIDES;
use crate::side::{Load, Service, Side};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[derive(Default)]
struct Total {
    wall: Vec<Duration>,
    cpu: Duration,
    allocations: usize,
}

/// One turn in this process: prints how long it took, its CPU time (both in seconds) and its allocations.
pub(crate) fn once(service: Service, side: Side, entries: usize) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let load = Load::new(service, side, entries);
    let region = Region::new(ALLOCATOR);
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    // In a task, as in a server: what the runtime's main thread awaits costs a switch of threads for each call.
    runtime.block_on(async { tokio::spawn(load.send()).await.expect("nobody panics") });
    let (wall, cpu) = (wall.elapsed(), cpu.elapsed());
    println!(
        "{} {} {}",
        wall.as_secs_f64(),
        cpu.as_secs_f64(),
        region.change().allocations
    );
}

/// A turn in a process of its own, so that nobody finds the memory as the other side has left it.
fn turn(service: Service, side: Side, entries: usize) -> io::Result<(Duration, Duration, usize)> {
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
        let wall = Duration::from_secs_f64(parts.next()?.parse().ok()?);
        let cpu = Duration::from_secs_f64(parts.next()?.parse().ok()?);
        Some((wall, cpu, parts.next()?.parse().ok()?))
    };
    read().ok_or_else(|| failed(&output))
}

/// Why a child process says nothing that counts.
pub(crate) fn failed(output: &Output) -> io::Error {
    io::Error::other(format!(
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Prints a table. Returns the crate's throughput as a share of the bare SDK's: the median of the turns, each of which is
/// compared with its neighbour.
pub(crate) fn compare(service: Service, entries: usize, turns: usize) -> io::Result<f64> {
    let mut totals = [Total::default(), Total::default()];
    for number in 0..turns {
        for place in [number % 2, 1 - number % 2] {
            let (wall, cpu, allocations) = turn(service, SIDES[place], entries)?;
            totals[place].wall.push(wall);
            totals[place].cpu += cpu;
            totals[place].allocations += allocations;
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
