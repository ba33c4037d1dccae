//! What the pacer is asked to keep to.

/// A part of the pacer that can be switched off, to see what it buys. For the benchmarks of the crate alone.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// The pace is below the estimate at first.
    Dip,
    /// The dip is shallow, and the climb after it fast, while all is as expected.
    Calm,
    /// The dip is deep, and the climb after it fast, while others share the capacity.
    Shared,
    /// A capacity that has changed is found out.
    Change,
    /// A service that takes nothing is asked with single entries.
    Outage,
    /// Entries that were rejected twice rest.
    Parking,
    /// Rejections that do not depend on the pace are found out.
    Floor,
    /// An estimate that has sunk is searched for again.
    SearchAgain,
    /// Retries that are rejected while fresh entries are accepted have a pace of their own.
    Group,
    /// First periods are short.
    ShortPeriods,
    /// Costly marks are rarer.
    Thrift,
    /// While nobody sends nothing is measured, and it is made up for afterwards.
    Unused,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Dip,
        Self::Calm,
        Self::Shared,
        Self::Change,
        Self::Outage,
        Self::Parking,
        Self::Floor,
        Self::SearchAgain,
        Self::Group,
        Self::ShortPeriods,
        Self::Thrift,
        Self::Unused,
    ];
}

/// What the pacer is asked to keep to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// The part of the capacity to take.
    pub(super) share: f64,
    /// Entries a second at most.
    pub(super) max_rate: Option<f64>,
    /// Entries a second at first; `None` to search.
    pub(super) initial_rate: Option<f64>,
    /// What is counted are units of capacity.
    pub(super) counts_units: bool,
    switched_off: Option<Rule>,
}

impl Rules {
    pub(super) fn switch_off(&mut self, rule: Rule) {
        self.switched_off = Some(rule);
    }

    pub(super) fn has(&self, rule: Rule) -> bool {
        self.switched_off != Some(rule)
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            share: 1.0,
            max_rate: None,
            initial_rate: None,
            counts_units: false,
            switched_off: None,
        }
    }
}
