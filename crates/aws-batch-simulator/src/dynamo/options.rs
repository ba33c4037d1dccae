//! The options of a table.

use super::index::IndexOptions;
use super::key::{KeyType, Schema};
use super::vector_index::VectorIndexOptions;
use crate::admission::Throughput;
use crate::capacity::Capacity;
use crate::handles::counts_only_option;

/// The options of a table.
///
/// A table that only has a [`capacity`](Self::capacity) is a single pool: any key may use all of it. Real tables consist of
/// partitions, each of which accepts at most 1,000 units per second:
///
/// ```
/// use std::time::Duration;
/// use aws_batch_simulator::{IndexOptions, KeyType, Simulator, TableOptions, Throughput};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let simulator = Simulator::new(42);
/// let by_customer = IndexOptions::key("customer", KeyType::S);
/// let orders = simulator.table(
///     "orders",
///     TableOptions::key("id", KeyType::S)
///         .throughput(Throughput::provisioned(4_000.0).partitions(10).burst(Duration::from_secs(60)))
///         .index("by_customer", by_customer.throughput(Throughput::provisioned(2_000.0).partitions(4))),
/// );
/// # let _ = orders;
/// # }
/// ```
///
/// # Default
/// - no sort key, no indexes
/// - unlimited capacity without partitions; 300 s of unused capacity are banked, none at the start
/// - items are kept
#[derive(Debug, Clone)]
#[must_use]
pub struct TableOptions {
    pub(super) schema: Schema,
    pub(super) throughput: Throughput,
    pub(super) reads: Capacity,
    pub(super) indexes: Vec<(String, IndexOptions)>,
    pub(super) vector_indexes: Vec<(String, VectorIndexOptions)>,
    pub(super) counts_only: bool,
}

impl TableOptions {
    counts_only_option!("items");

    /// A table with this partition key.
    pub fn key(name: impl Into<String>, kind: KeyType) -> Self {
        Self {
            schema: Schema::new(name, kind),
            throughput: Throughput::default(),
            reads: Capacity::unlimited(),
            indexes: Vec::new(),
            vector_indexes: Vec::new(),
            counts_only: false,
        }
    }

    /// Adds this sort key.
    pub fn sort_key(mut self, name: impl Into<String>, kind: KeyType) -> Self {
        self.schema.sort = Some((name.into(), kind));
        self
    }

    /// A provisioned capacity, in write units per second, without partitions. Replaces the [`throughput`](Self::throughput).
    pub fn capacity(self, capacity: impl Into<Capacity>) -> Self {
        self.throughput(capacity.into())
    }

    /// The capacity for batch reads and scans, in read units per second. Default: unlimited.
    pub fn read_capacity(mut self, capacity: impl Into<Capacity>) -> Self {
        self.reads = capacity.into();
        self
    }

    /// How much the table accepts: with partitions, on demand, with other clients.
    pub fn throughput(mut self, throughput: impl Into<Throughput>) -> Self {
        self.throughput = throughput.into();
        self
    }

    /// Adds a global secondary index. May be called several times.
    pub fn index(mut self, name: impl Into<String>, options: IndexOptions) -> Self {
        self.indexes.push((name.into(), options));
        self
    }

    /// Adds a vector index. May be called several times. DynamoDB has them only in tables on demand, which the simulator does not
    /// check.
    pub fn vector_index(mut self, name: impl Into<String>, options: VectorIndexOptions) -> Self {
        self.vector_indexes.push((name.into(), options));
        self
    }
}
