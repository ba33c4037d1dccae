//! Calls: their faults, the costs and verdicts of their entries, and their counts.

use std::borrow::Cow;

use crate::admission::{Demand, Throttle, ThroughputLimit};
use crate::fault::InjectedFault;
use crate::journal::{Acknowledgement, CallInfo};

/// Counts of the calls to a table, queue, stream, topic, bus, bucket, log stream or namespace since its creation, and of their entries.
///
/// Each method that returns it says which calls it counts. A write, put or delete of a single item or object is a call with one entry;
/// each action of a transaction is an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Calls that arrived.
    pub calls: u64,
    /// Calls that were refused because the request breaks a rule of the service.
    pub refused_calls: u64,
    /// Calls that were throttled as a whole.
    pub throttled_calls: u64,
    /// Calls that failed as a whole for another reason: errors, lost connections, answers that cannot be read.
    pub failed_calls: u64,
    /// Transactions that were canceled for one of their actions.
    pub canceled_calls: u64,
    /// Entries in the calls that were not refused.
    pub entries: u64,
    /// Entries that were applied.
    pub applied: u64,
    /// Entries that were not applied for lack of capacity.
    pub throttled: u64,
    /// Entries that were not applied because their condition is false.
    pub conditions_failed: u64,
    /// Entries that were not applied for another reason, such as another action of their transaction.
    pub failed: u64,
    /// Capacity that the entries have consumed: write units of a table, including those of entries whose condition is false and of canceled
    /// transactions; one for each call to a log stream or namespace; elsewhere one for each applied entry.
    pub units: f64,
}

/// A call that has arrived, and its fault.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) info: CallInfo,
    pub(crate) fault: InjectedFault,
    /// Whether the fault is that of a script: no entry fails at random.
    pub(crate) is_scripted: bool,
}

/// What an entry costs.
#[derive(Debug, Clone)]
pub(crate) struct Cost {
    pub(crate) demand: Demand,
    /// Whether the entry belongs to the key range that has a capacity of its own.
    pub(crate) is_hot: bool,
}

/// Whether an entry is accepted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    Accepted,
    Throttled(Throttle),
    /// Its condition is false.
    ConditionFailed,
    /// Another action of its transaction has failed.
    Canceled,
    Failed {
        code: Cow<'static, str>,
        sender_fault: bool,
    },
    Omitted {
        applied: bool,
    },
}

impl Verdict {
    pub(crate) fn is_applied(&self) -> bool {
        matches!(self, Self::Accepted | Self::Omitted { applied: true })
    }

    /// Whether capacity is consumed. A write whose condition is false has read the item, as has each action of a transaction.
    pub(crate) fn consumes(&self) -> bool {
        self.is_applied() || matches!(self, Self::ConditionFailed | Self::Canceled)
    }

    pub(crate) fn is_throttled(&self) -> bool {
        matches!(self, Self::Throttled(_))
    }

    pub(crate) fn acknowledgement(&self) -> Acknowledgement {
        match self {
            Self::Accepted => Acknowledgement::Accepted,
            Self::ConditionFailed => Acknowledgement::ConditionFailed,
            Self::Throttled(_) | Self::Canceled | Self::Failed { .. } => Acknowledgement::Rejected,
            Self::Omitted { applied } => Acknowledgement::Ambiguous { applied: *applied },
        }
    }

    pub(crate) fn is_internal_error(&self) -> bool {
        matches!(self, Self::Failed { code, .. } if code == INTERNAL_ERROR)
    }

    pub(crate) fn internal_error() -> Self {
        Self::Failed {
            code: Cow::Borrowed(INTERNAL_ERROR),
            sender_fault: false,
        }
    }

    pub(crate) fn conflict() -> Self {
        Self::Failed {
            code: Cow::Borrowed(CONFLICT),
            sender_fault: false,
        }
    }
}

/// The code of an entry that fails because of the service.
pub(crate) const INTERNAL_ERROR: &str = "InternalError";

/// The code of a write for which a transaction is in progress.
pub(crate) const CONFLICT: &str = "TransactionConflict";

/// The key range that has a capacity of its own has none left.
pub(crate) const HOT_RANGE: Throttle = Throttle {
    index: None,
    limit: ThroughputLimit::KeyRange,
};
