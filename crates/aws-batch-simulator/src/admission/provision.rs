//! What a table or an index says of its capacity.

/// What `DescribeTable` tells of a table or an index, in write units a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Provision {
    /// Whether it grows by itself. What has no limit at all does not.
    pub(crate) is_on_demand: bool,
    /// `None`: on demand, or without any limit.
    pub(crate) provisioned: Option<f64>,
    /// The maximum that was set for on demand.
    pub(crate) most_on_demand: Option<f64>,
    /// What it can take at once. `None`: without any limit.
    pub(crate) warm: Option<f64>,
}
