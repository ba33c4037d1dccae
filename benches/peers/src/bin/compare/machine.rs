//! The machine on which the figures were measured.

use std::fs;
use std::thread::available_parallelism;

/// Cores, processor, memory and kernel, without the host name.
pub fn describe() -> String {
    let cores = available_parallelism().map_or(0, usize::from);
    let processor = line_of("/proc/cpuinfo", "model name");
    let memory = line_of("/proc/meminfo", "MemTotal");
    let memory: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.split(['-', '\n']).next().unwrap_or_default();
    format!(
        "{cores} cores of {processor}, {} GB of memory, Linux {kernel}",
        memory.div_ceil(1_000_000)
    )
}

fn line_of(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split(':').nth(1).unwrap_or_default().trim().to_owned()
}
