//! What the user asked for.

/// What the user asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// The part of the capacity to take.
    pub(super) share: f64,
    /// Entries a second at most.
    pub(super) max_rate: Option<f64>,
    /// Entries a second at first; `None` to search.
    pub(super) initial_rate: Option<f64>,
    /// Units of capacity are counted instead of entries.
    pub(super) counts_units: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            share: 1.0,
            max_rate: None,
            initial_rate: None,
            counts_units: true,
        }
    }
}
