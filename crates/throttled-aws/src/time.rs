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

pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_duration(*time))
}
