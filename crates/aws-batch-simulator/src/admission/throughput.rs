//! How much a table or an index accepts.

use std::time::Duration;

use super::growth::OnDemand;
use super::partition::PARTITION_LIMIT;
use super::scaling::AutoScaling;
use super::tenant::Tenant;
use crate::capacity::Capacity;

/// The unused capacity of an on-demand table is lost, except that of the last second.
const ON_DEMAND_BURST: Duration = Duration::from_secs(1);

/// How much a table or an index accepts, and how that changes.
///
/// A plain number or a [`Capacity`] is a single pool without partitions.
///
/// # Default
/// - capacity: unlimited
/// - burst: 300 s of unused capacity
/// - partitions: none, so no key range has a limit of its own; an on-demand table has as many as it needs, at first 4
/// - no splits, no auto scaling, no other tenants
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Throughput {
    pub(super) capacity: Capacity,
    pub(super) partitions: Option<usize>,
    pub(super) splits_after: Option<Duration>,
    pub(super) on_demand: Option<OnDemand>,
    pub(super) auto_scaling: Option<AutoScaling>,
    pub(super) tenants: Vec<Tenant>,
}

impl Throughput {
    /// A provisioned capacity, in units per second.
    pub fn provisioned(units: f64) -> Self {
        Capacity::per_second(units).into()
    }

    /// An on-demand capacity that grows in this way.
    pub fn on_demand(growth: OnDemand) -> Self {
        let capacity = Capacity::per_second(growth.first_rate()).burst_of(ON_DEMAND_BURST);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of partitions"
        )]
        let partitions = (growth.first_rate() / PARTITION_LIMIT).ceil().max(1.0) as usize;
        Self {
            partitions: Some(partitions),
            on_demand: Some(growth),
            ..capacity.starts_full().into()
        }
    }

    /// The number of partitions that share the capacity. Each accepts at most 1,000 units per second, even if the table has more
    /// left, and can use the unused capacity of the last second. With 0 there are none, and no key range has a limit of its own.
    pub fn partitions(mut self, count: usize) -> Self {
        self.partitions = Some(count).filter(|count| *count > 0);
        self
    }

    /// How much unused capacity can be used later as a burst, as a time at full capacity. At least 25 units. Default: 300 s.
    pub fn burst(mut self, time: Duration) -> Self {
        self.capacity = self.capacity.burst_of(time);
        self
    }

    /// The burst is full at the start, as if the table had been idle. Default: it is empty.
    pub fn starts_full(mut self) -> Self {
        self.capacity = self.capacity.starts_full();
        self
    }

    /// A partition of which more than its limit was requested for this long splits at the median of the requested places, unless
    /// they are a single item. AWS splits partitions within minutes; the time is not published. Default: no splits.
    pub fn splits_after(mut self, time: Duration) -> Self {
        self.splits_after = Some(time);
        self
    }

    /// The provisioned capacity follows consumption. Default: it does not.
    pub fn auto_scaling(mut self, scaling: AutoScaling) -> Self {
        self.auto_scaling = Some(scaling);
        self
    }

    /// Adds another client that uses some of the capacity. May be called several times.
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.tenants.push(tenant);
        self
    }
}

impl Default for Throughput {
    fn default() -> Self {
        Capacity::unlimited().into()
    }
}

impl From<Capacity> for Throughput {
    fn from(capacity: Capacity) -> Self {
        Self {
            capacity,
            partitions: None,
            splits_after: None,
            on_demand: None,
            auto_scaling: None,
            tenants: Vec::new(),
        }
    }
}

impl From<f64> for Throughput {
    fn from(units: f64) -> Self {
        Self::provisioned(units)
    }
}
