//! Processes whose entropy is that of a seed: random numbers, the order of hash maps and the time of day.

use std::env;
use std::process::{Command, Stdio};

use super::preloaded::library;

/// Has the seed of this process.
const SEED: &str = "FLEET_ENTROPY";

/// The seed of this process, if it has one.
pub(super) fn seed() -> Option<u64> {
    env::var(SEED).ok()?.parse().ok()
}

/// Runs the test with this name and these variables in a process of this seed. Returns what that prints, or an error if it fails.
///
/// A process has one fleet, because tokio numbers the runtimes of a process, and their random numbers depend on that.
pub(super) fn run(test: &str, seed: u64, variables: &[(&str, &str)]) -> Result<String, String> {
    let tested = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(SEED, seed.to_string())
        .env("LD_PRELOAD", library("entropy", include_str!("entropy.c")))
        .env("RUST_BACKTRACE", "0")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if tested.status.success() {
        Ok(printed(&tested.stdout))
    } else {
        Err(printed(&tested.stdout) + &printed(&tested.stderr))
    }
}
