//! Realistic tables and queues: partitions that share a table's capacity, indexes, growth, live traffic, and calls that are throttled
//! whatever the pace.
//!
//! The service is the simulator's [`AdmissionControl`](aws_batch_simulator::AdmissionControl), without HTTP and without the SDK. The
//! time of a run is compared with that of an oracle, which sees the capacity left in every partition and takes the entries in the
//! best order.

mod catalog;
mod latency;
mod loops;
mod oracle;
mod run;
mod scenario;
mod service;
mod shares;
mod table;
mod workload;

pub(crate) use catalog::scenarios;
pub(crate) use loops::Contestant;
pub(crate) use run::compare;
pub(crate) use table::{HEADER, Line};
