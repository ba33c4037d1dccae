//! Why a write is throttled.

/// Why a write is throttled, in the words of AWS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Throttle {
    /// The index whose capacity is missing, in the order in which they were declared, from 0; `None`: the table.
    pub index: Option<usize>,
    /// Which limit was passed.
    pub limit: ThroughputLimit,
}

/// A limit of a table or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThroughputLimit {
    /// The capacity that was provisioned.
    Provisioned,
    /// What one partition takes, or what the partitions of an on-demand table have grown to.
    KeyRange,
    /// The maximum that was set for on demand.
    MaxOnDemand,
    /// A quota of the account, which others use as well.
    Account,
}

impl Throttle {
    pub(super) fn of_table(limit: ThroughputLimit) -> Self {
        Self { index: None, limit }
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
