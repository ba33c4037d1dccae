//! What the pacer does at the moment.

use super::outage::Outage;
use super::probe::Probe;
use super::search::Search;
use crate::backoff::PaceState;

/// A state with what belongs to it alone.
#[derive(Debug)]
pub(super) enum Phase {
    /// A window of entries in flight grows until more is not accepted.
    Searching(Search),
    /// The calls in flight come back, until then at the latest.
    Draining { until: f64 },
    /// The pace follows the schedule.
    Steady,
    /// The pace is low, to learn whether rejections depend on it.
    Probing(Probe),
    /// Single entries ask whether the service is back.
    Outage(Outage),
}

impl Phase {
    pub(super) fn state(&self) -> PaceState {
        match self {
            Self::Searching(_) => PaceState::Searching,
            Self::Draining { .. } => PaceState::Draining,
            Self::Steady => PaceState::Steady,
            Self::Probing(_) => PaceState::Probing,
            Self::Outage(_) => PaceState::Outage,
        }
    }
}
