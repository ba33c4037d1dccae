//! What the user asked for: the part of the capacity to take, and bounds of the pace.

/// A call carries what this many seconds bring at most, so that a low estimate is soon tested.
const CALL_SECONDS: f64 = 1.0;

/// The same for the entries of a hot key. Several keys may share a partition: each is slow then, and a congestion signal costs what is
/// left of a call.
const HOT_KEY_CALL_SECONDS: f64 = 0.1;

/// Bounds of a pace in entries a second, so that it is always a positive number.
const MIN_PACE: f64 = 0.1;
const MAX_PACE: f64 = 1e9;

/// What the user asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// The part of the capacity to take.
    pub(super) share: f64,
    /// Entries a second at most.
    pub(super) max_rate: Option<f64>,
    /// Entries a second that the service accepts at first, of which `share` is taken; `None` to search.
    pub(super) initial_rate: Option<f64>,
    /// Units of capacity are counted instead of entries.
    pub(super) counts_units: bool,
    /// A call carries what this many seconds bring at most.
    pub(super) call_seconds: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            share: 1.0,
            max_rate: None,
            initial_rate: None,
            counts_units: true,
            call_seconds: CALL_SECONDS,
        }
    }
}

impl Settings {
    /// Those of a hot key that starts at this rate, and takes this part of what its partition can take.
    pub(super) fn of_hot_key(rate: f64, share: f64) -> Self {
        Self {
            share,
            initial_rate: Some(rate.max(1.0)),
            call_seconds: HOT_KEY_CALL_SECONDS,
            ..Self::default()
        }
    }

    /// The highest pace that is allowed.
    pub(super) fn max_pace(&self) -> f64 {
        self.max_rate.unwrap_or(MAX_PACE)
    }

    pub(super) fn within_bounds(&self, pace: f64) -> f64 {
        pace.min(self.max_pace()).clamp(MIN_PACE, MAX_PACE)
    }
}
