//! Shared by the tests of the strategies.

use std::panic::{UnwindSafe, catch_unwind};
use std::time::Duration;

use proptest::prelude::*;

use super::{BackoffStrategy, Retry};

/// Checks that setting a value panics with a message about `option`. Returns the message.
#[track_caller]
pub(crate) fn assert_refused<T>(option: &str, set: impl FnOnce() -> T + UnwindSafe) -> String {
    let panic = catch_unwind(set).err().expect("the value was taken");
    let formatted = panic.downcast_ref::<String>().cloned();
    let message = formatted.unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).to_owned());
    assert!(message.starts_with(&format!("the {option} must ")), "{message}");
    message
}

/// The `number`th retry of an entry that has waited for `previous`.
pub(crate) fn retry(number: u32, previous: Option<Duration>) -> Retry {
    Retry::new(number, previous)
}

/// The delays before the first `count` retries of one entry, in milliseconds.
pub(super) fn delays(strategy: &impl BackoffStrategy, count: usize) -> Vec<u128> {
    let mut next = Retry::FIRST;
    let mut delays = Vec::new();
    for _ in 0..count {
        let delay = strategy.delay(next);
        delays.push(delay.as_millis());
        next = next.after(delay);
    }
    delays
}

/// 100,000 delays before the same retry.
pub(super) fn draws(strategy: &impl BackoffStrategy, retry: Retry) -> Vec<Duration> {
    (0..100_000).map(|_| strategy.delay(retry)).collect()
}

/// Checks that the draws reach from `low` to `high` and not beyond, and that their mean is the middle, all within 1% of
/// `high`.
pub(super) fn assert_uniform(draws: &[Duration], low: Duration, high: Duration) {
    let least = draws.iter().min().unwrap();
    let most = draws.iter().max().unwrap();
    assert!(
        low <= *least && *most <= high,
        "{least:?} to {most:?} is not within {low:?} to {high:?}"
    );
    assert!(
        *least <= low + high / 100 && *most + high / 100 >= high,
        "{least:?} to {most:?} does not fill {low:?} to {high:?}"
    );
    let mean = draws.iter().sum::<Duration>() / u32::try_from(draws.len()).unwrap();
    let middle = (low + high) / 2;
    assert!(
        mean.abs_diff(middle) <= middle / 100,
        "{mean:?} is not about {middle:?}"
    );
}

/// Any duration, with the ends and the usual lengths more often.
pub(crate) fn any_delay() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::from_nanos(1)),
        Just(Duration::MAX),
        (0..10_000_000_u64).prop_map(Duration::from_micros),
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
    ]
}

/// Any retry, including number 0, which does not occur.
pub(super) fn any_retry() -> impl Strategy<Value = Retry> {
    let number = prop_oneof![0..40_u32, any::<u32>(), Just(u32::MAX)];
    (number, proptest::option::of(any_delay())).prop_map(|(number, previous)| Retry::new(number, previous))
}
