//! How many random cases a property tries.

/// So many in `cargo test`, which should not take long, and as many times more as the environment variable `CASES` says: those of a
/// night are 30 times as many.
pub(crate) fn cases(few: u32) -> u32 {
    let times = std::env::var("CASES").ok();
    few * times.map_or(1, |times| times.parse().expect("CASES is a number"))
}
