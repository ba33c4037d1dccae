//! The order that entries keep among each other.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A line of entries that must arrive in the order of the input.
///
/// Entries of different lanes pass each other freely. A lane is kept as a hash of what makes it: where two fall together,
/// entries wait for each other that need not, and nothing else happens. So it costs a few nanoseconds an entry, and no key
/// is ever copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    hash: u64,
    shares_calls: bool,
}

impl Lane {
    /// A lane with at most one entry in flight: the next one leaves when the fate of the one before it is known.
    ///
    /// For services that refuse two writes of one key in a call, such as DynamoDB. Keys that are equal to the service must
    /// have equal hashes.
    pub fn exclusive(key: &(impl Hash + ?Sized)) -> Self {
        Self::new(key, false)
    }

    /// A lane with at most one *call* in flight, which may carry several of its entries, in order.
    ///
    /// For services that take a call's entries in the order sent, such as a FIFO queue of SQS. When an entry is rejected,
    /// those after it wait until its fate is known; but such a service may already have accepted some that were in the
    /// same call. So a call carries different lanes where there are enough of them, and once a call is accepted in part, no
    /// lane shares one for the next 1,000 calls. Where nothing at all may pass, the lane has to be
    /// [exclusive](Self::exclusive).
    pub fn ordered(group: &(impl Hash + ?Sized)) -> Self {
        Self::new(group, true)
    }

    fn new(key: &(impl Hash + ?Sized), shares_calls: bool) -> Self {
        // Its keys are fixed, so that a delivery can be repeated exactly.
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        Self {
            hash: hasher.finish(),
            shares_calls,
        }
    }

    pub(crate) fn hash(self) -> u64 {
        self.hash
    }

    pub(crate) fn shares_calls(self) -> bool {
        self.shares_calls
    }
}
