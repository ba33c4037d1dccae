//! Times as text: `"300ms"`, `"5m"`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

/// A time.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map_err(|error| {
        serde::de::Error::custom(format!("{text:?} is not a time such as \"300ms\" or \"5m\": {error}"))
    })
}

/// A time of which the option is that it is not there.
pub(crate) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    deserialize(deserializer).map(Some)
}

/// The longest median of latencies.
const LONGEST_MEDIAN: Duration = Duration::from_hours(1);

/// The median of latencies.
pub(crate) fn median<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let median = deserialize(deserializer)?;
    if median > LONGEST_MEDIAN {
        let [longest, median] = [LONGEST_MEDIAN, median].map(humantime::format_duration);
        return Err(serde::de::Error::custom(format!(
            "it is {longest} at most, not {median}"
        )));
    }
    Ok(Some(median))
}

pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_duration(*time))
}
