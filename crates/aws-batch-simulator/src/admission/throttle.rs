//! Why a write is throttled.

/// Why a write is throttled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Throttle {
    /// The number of the index that has no capacity left, from 0 in the order of declaration; `None`: the table.
    pub(crate) index: Option<usize>,
    /// The limit that was exceeded.
    pub(crate) limit: ThroughputLimit,
}

/// A limit of a table or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ThroughputLimit {
    /// The provisioned capacity.
    Provisioned,
    /// The limit of one partition, or the capacity to which the partitions of an on-demand table have grown.
    KeyRange,
    /// The maximum that is set for an on-demand table.
    MaxOnDemand,
    /// A quota of the account, which other clients use as well.
    Account,
}

impl Throttle {
    pub(crate) fn of_table(limit: ThroughputLimit) -> Self {
        Self { index: None, limit }
    }

    /// The number of the index that has no capacity left, from 0 in the order in which the indexes were added; `None`: the table.
    pub fn index(self) -> Option<usize> {
        self.index
    }

    /// The reason as AWS writes it in `ThrottlingReasons`, such as `TableWriteKeyRangeThroughputExceeded`.
    pub fn reason(self) -> &'static str {
        use ThroughputLimit::{Account, KeyRange, MaxOnDemand, Provisioned};
        match (self.index, self.limit) {
            (None, Provisioned) => "TableWriteProvisionedThroughputExceeded",
            (None, KeyRange) => "TableWriteKeyRangeThroughputExceeded",
            (None, MaxOnDemand) => "TableWriteMaxOnDemandThroughputExceeded",
            (None, Account) => "TableWriteAccountLimitExceeded",
            (Some(_), Provisioned) => "IndexWriteProvisionedThroughputExceeded",
            (Some(_), KeyRange) => "IndexWriteKeyRangeThroughputExceeded",
            (Some(_), MaxOnDemand) => "IndexWriteMaxOnDemandThroughputExceeded",
            (Some(_), Account) => "IndexWriteAccountLimitExceeded",
        }
    }
}
