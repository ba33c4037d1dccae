//! What the service, the contestants and the comparison agree on.

mod offered;
mod scenario;
mod tally;
mod told;
mod work;

pub use offered::{Offered, number_of_body};
pub use scenario::{Load, SCENARIOS, Scenario, Service, Trouble};
pub use tally::Tally;
pub use told::Told;
pub use work::Work;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The table.
pub const TABLE: &str = "orders";
/// The queue, and the FIFO queue.
pub const QUEUE: &str = "orders";
pub const FIFO_QUEUE: &str = "orders.fifo";
