//! The description of the capacity of a table or an index.

/// The capacity in the answer of `DescribeTable`, in write units per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Provision {
    /// Whether it grows on demand. An unlimited table does not.
    pub(crate) is_on_demand: bool,
    /// `None`: on demand, or unlimited.
    pub(crate) provisioned: Option<f64>,
    /// The maximum that was set for on demand.
    pub(crate) most_on_demand: Option<f64>,
    /// The warm throughput. `None`: unlimited.
    pub(crate) warm: Option<f64>,
}
