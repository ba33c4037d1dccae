//! The seeds that are tried.

use std::env;
use std::ops::Range;

/// The seeds that the environment asks for.
pub(crate) fn seeds() -> Range<u64> {
    let number = |value: &str| {
        value
            .parse::<u64>()
            .unwrap_or_else(|error| panic!("`{value}`: {error}"))
    };
    if let Ok(seed) = env::var("FLEET_SEED") {
        return number(&seed)..number(&seed) + 1;
    }
    let seeds = env::var("FLEET_SEEDS").unwrap_or_else(|_| "10".into());
    let (first, end) = seeds.split_once("..").unwrap_or(("0", &seeds));
    number(first)..number(end)
}
