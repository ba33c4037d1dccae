//! Metrics and traces of `aws-batch-delivery` with OpenTelemetry and for Prometheus: the parts that the two programs share.
//!
//! ```text
//! cargo run --package observability --bin otlp
//! cargo run --package observability --bin prometheus
//! ```
//!
//! Both load a table of the simulator, whose index has half of the table's capacity. No AWS account is needed.

mod bridge;
mod in_runtime;
mod load;
mod scrapes;

pub use bridge::OpenTelemetry;
pub use in_runtime::InRuntime;
pub use load::load;
pub use scrapes::Scrapes;
