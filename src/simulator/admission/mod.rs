//! How `DynamoDB` decides what it takes: the capacity of a table, its partitions and its indexes.
//!
//! A write takes units of four limits, and is throttled when one of them has too little left:
//!
//! | limit | default | reason |
//! |---|---|---|
//! | the partition of its partition key | 1,000 units/s, whatever the table has left | `TableWriteKeyRangeThroughputExceeded` |
//! | the table: provisioned, or what on demand has grown to | unlimited | `TableWriteProvisionedThroughputExceeded` |
//! | the partition of each index that it is in | 1,000 units/s | `IndexWriteKeyRangeThroughputExceeded` |
//! | each index that it is in | unlimited | `IndexWriteProvisionedThroughputExceeded` |
//!
//! The table's units are one pool: a hot partition may use what others leave, up to its own limit. Nothing in here has a
//! clock or does I/O; the same seed and the same calls at the same times are answered alike. The simulator's tables are made
//! of it, and so can be targets of one's own:
//!
//! ```
//! use std::time::Duration;
//! use aws_batch_delivery::simulator::{AdmissionControl, Demand, Place, Throughput};
//! use tokio::time::Instant;
//!
//! let now = Instant::now();
//! let throughput = Throughput::provisioned(4_000.0).partitions(10).burst(Duration::from_secs(1)).starts_full();
//! let mut table = AdmissionControl::new(throughput, now, 42);
//! let hot = Demand::new(Place::new(7, 0), 1.0);
//! let accepted = table.admit(now, &vec![hot; 2_000]);
//! let accepted = accepted.iter().filter(|fate| fate.is_ok()).count();
//! assert_eq!(accepted, 1_000, "the table has 4,000 units left, the partition had 1,000");
//! ```

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
pub use self::demand::{Demand, IndexDemand, Place};
pub use self::growth::OnDemand;
pub use self::scaling::AutoScaling;
pub use self::tenant::Tenant;
pub use self::throttle::{Throttle, ThroughputLimit};
pub use self::throughput::Throughput;

/// Write units a second that one partition takes. From the developer guide, "Designing partition keys to distribute your
/// workload".
pub(crate) const PARTITION_LIMIT: f64 = 1_000.0;
