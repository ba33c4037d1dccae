//! How `DynamoDB` decides which writes it accepts: the capacity of a table, its partitions and its indexes.

mod consumption;
mod control;
mod demand;
mod growth;
mod partition;
mod partitions;
mod pool;
mod resource;
mod scaling;
mod tenant;
#[cfg(test)]
mod tests;
mod throttle;
mod throughput;

pub use self::control::AdmissionControl;
pub(crate) use self::demand::IndexDemand;
pub use self::demand::{Demand, Place};
pub use self::growth::OnDemand;
pub(crate) use self::resource::Provision;
pub use self::scaling::AutoScaling;
pub use self::tenant::Tenant;
pub use self::throttle::Throttle;
pub(crate) use self::throttle::ThroughputLimit;
pub use self::throughput::Throughput;
