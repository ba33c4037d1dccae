//! Numbers of the file, which are refused where they are if they are out of their range.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A number that is not negative.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    within(deserializer, "is 0 or more", |number| number >= 0.0)
}

/// The same, of which the option is that it is not there.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    deserialize(deserializer).map(Some)
}

pub(crate) fn above_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    within(deserializer, "is more than 0", |number| number > 0.0).map(Some)
}

/// A share of calls.
pub(crate) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    within(deserializer, "is from 0 to 1", |number| (0.0..=1.0).contains(&number))
}

/// How wide the latencies are distributed. With more, the longest would be that of years.
pub(crate) fn sigma<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    within(deserializer, "is from 0 to 3", |number| (0.0..=3.0).contains(&number))
}

/// How much slower slow calls are.
pub(crate) fn slow_factor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    within(deserializer, "is from 0 to 1000", |number| {
        (0.0..=1_000.0).contains(&number)
    })
    .map(Some)
}

pub(crate) fn optional_share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    share(deserializer).map(Some)
}

/// How many there are of something that cannot be missing.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(D::Error::custom("it is more than 0, not 0")),
        count => Ok(Some(count)),
    }
}

fn within<'de, D: Deserializer<'de>>(
    deserializer: D,
    range: &str,
    is_within: impl Fn(f64) -> bool,
) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if is_within(number) {
        Ok(number)
    } else {
        Err(D::Error::custom(format!("it {range}, not {number}")))
    }
}
