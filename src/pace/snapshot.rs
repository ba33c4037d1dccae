//! What the pace is doing, for people.

use std::fmt;
use std::time::Instant;

/// What a strategy with a pace, such as [`Adaptive`](crate::backoff::Adaptive), is doing.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PaceState {
    /// The capacity is not known: a window of entries in flight grows.
    Searching,
    /// The service has rejected something: nothing leaves until the calls in flight are back, for two round trips at most.
    Draining,
    /// The capacity is known: the pace is a little below it, and then a little above.
    Steady,
    /// The service takes nothing: single entries ask whether it is back.
    Outage,
}

impl fmt::Display for PaceState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Searching => "searching",
            Self::Draining => "draining",
            Self::Steady => "steady",
            Self::Outage => "outage",
        })
    }
}

/// Why the state was entered.
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PaceReason {
    /// Nothing is known yet.
    Start,
    /// The rate was given.
    InitialRate,
    /// The service is said to be back.
    Reset,
    /// More entries in flight are not accepted.
    Knee,
    /// What the calls in flight came to is known.
    Drained,
    /// Too little was accepted to know.
    NothingMeasured,
    /// Nothing is accepted.
    NothingAccepted,
    /// The service takes entries again.
    Recovered,
}

impl fmt::Display for PaceReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Start => "nothing is known yet",
            Self::InitialRate => "an initial rate was given",
            Self::Reset => "the service is said to be back",
            Self::Knee => "more in flight is not accepted",
            Self::Drained => "the calls in flight are back",
            Self::NothingMeasured => "too little was accepted to tell the capacity",
            Self::NothingAccepted => "nothing is accepted",
            Self::Recovered => "the service accepts entries again",
        })
    }
}

/// What a strategy with a pace, such as [`Adaptive`](crate::backoff::Adaptive), measures and does at one moment.
///
/// With the feature `serde` it can be serialized and deserialized, but for [`since`](Self::since), which means nothing to
/// another process.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PaceSnapshot {
    /// What it is doing.
    pub state: PaceState,
    /// Why.
    pub reason: PaceReason,
    /// The states before this one, each with its reason, the latest first; `None` before the first one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub earlier: [Option<(PaceState, PaceReason)>; 4],
    /// Since when; `None` before the first call.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub since: Option<Instant>,
    /// Entries a second that the service can take, as measured; `None` during a search, unless an initial rate was
    /// given. Write units where these are counted.
    pub capacity: Option<f64>,
    /// Entries a second that may leave now, where a pace limits them: the state steady of `Adaptive`. In the others the highest rate that was given, and `None` without one.
    pub rate: Option<f64>,
    /// Entries in flight.
    pub in_flight: usize,
    /// Partition keys that have a pace of their own at the moment.
    pub hot_keys: usize,
}

impl PaceSnapshot {
    /// A pace that is in this state for this reason, of which nothing is measured.
    pub const fn new(state: PaceState, reason: PaceReason) -> Self {
        Self {
            state,
            reason,
            earlier: [None; 4],
            since: None,
            capacity: None,
            rate: None,
            in_flight: 0,
            hot_keys: 0,
        }
    }
}
