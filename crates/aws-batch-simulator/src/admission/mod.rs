//! How `DynamoDB` decides which writes it accepts: the capacity of a table, its partitions and its indexes.

mod consumption;
mod control;
mod demand;
mod growth;
mod partition;
mod partitions;
mod pool;
mod provision;
mod resource;
mod scaling;
mod tenant;
#[cfg(test)]
mod tests;
mod throttle;
mod throughput;

pub use self::control::AdmissionControl;
pub use self::demand::{Demand, IndexDemand, Place};
pub use self::growth::OnDemand;
pub(crate) use self::provision::Provision;
pub use self::scaling::AutoScaling;
pub use self::tenant::Tenant;
pub use self::throttle::{Throttle, ThroughputLimit};
pub use self::throughput::Throughput;

/// Write units per second that one partition accepts. From the developer guide, "Designing partition keys to distribute your
/// workload".
pub(crate) const PARTITION_LIMIT: f64 = 1_000.0;
