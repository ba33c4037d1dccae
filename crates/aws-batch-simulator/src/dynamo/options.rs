//! The options of a table.

use std::time::Duration;

use super::index::IndexOptions;
use super::key::{KeyType, Schema};
use crate::admission::{AutoScaling, OnDemand, Tenant, Throughput};
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
///         .capacity(4_000.0)
///         .partitions(10)
///         .burst(Duration::from_secs(60))
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
pub struct TableOptions {
    pub(super) schema: Schema,
    pub(super) throughput: Throughput,
    pub(super) indexes: Vec<(String, IndexOptions)>,
    pub(super) counts_only: bool,
}

impl TableOptions {
    counts_only_option!("items");

    /// A table with this partition key.
    pub fn key(name: impl Into<String>, kind: KeyType) -> Self {
        Self {
            schema: Schema::new(name, kind),
            throughput: Throughput::default(),
            indexes: Vec::new(),
            counts_only: false,
        }
    }

    /// Adds this sort key.
    #[must_use]
    pub fn sort_key(mut self, name: impl Into<String>, kind: KeyType) -> Self {
        self.schema.sort = Some((name.into(), kind));
        self
    }

    /// A provisioned capacity, in write units per second.
    #[must_use]
    pub fn capacity(mut self, capacity: impl Into<Capacity>) -> Self {
        self.throughput = self.throughput.capacity(capacity);
        self
    }

    /// The number of partitions that share the capacity. See [`Throughput::partitions`].
    #[must_use]
    pub fn partitions(mut self, count: usize) -> Self {
        self.throughput = self.throughput.partitions(count);
        self
    }

    /// How much unused capacity is banked. See [`Throughput::burst`].
    #[must_use]
    pub fn burst(mut self, time: Duration) -> Self {
        self.throughput = self.throughput.burst(time);
        self
    }

    /// An on-demand capacity. Replaces capacity, partitions and burst; see [`Throughput::on_demand`].
    #[must_use]
    pub fn on_demand(mut self, growth: OnDemand) -> Self {
        self.throughput = self.throughput.with_on_demand(growth);
        self
    }

    /// A partition that stays hot for this long splits. See [`Throughput::splits_after`].
    #[must_use]
    pub fn splits_after(mut self, time: Duration) -> Self {
        self.throughput = self.throughput.splits_after(time);
        self
    }

    /// The provisioned capacity follows consumption. See [`AutoScaling`].
    #[must_use]
    pub fn auto_scaling(mut self, scaling: AutoScaling) -> Self {
        self.throughput = self.throughput.auto_scaling(scaling);
        self
    }

    /// Another client uses some of the capacity. May be called several times.
    #[must_use]
    pub fn tenant(mut self, tenant: Tenant) -> Self {
        self.throughput = self.throughput.tenant(tenant);
        self
    }

    /// Adds a global secondary index. May be called several times.
    #[must_use]
    pub fn index(mut self, name: impl Into<String>, options: IndexOptions) -> Self {
        self.indexes.push((name.into(), options));
        self
    }
}
