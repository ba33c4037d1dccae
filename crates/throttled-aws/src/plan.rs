//! What a call asks of the capacity of its destinations.

use serde_json::Value;

use crate::refusal::Refusal;

/// A call that takes capacity, in entries that are decided on one by one.
pub(crate) trait Plan: Send + Sync {
    fn service(&self) -> &'static str;

    /// The names of the tables, the queue or the stream.
    fn destinations(&self) -> Vec<&str>;

    fn entries(&self) -> &[Entry];

    /// Decides on all entries that no fault is for, and charges for those that are accepted.
    fn admit(&mut self, decisions: &mut [Decision]);

    /// The error of the whole call, if nothing of it is accepted or the service takes it only as a whole.
    fn refusal(&self, decisions: &[Decision]) -> Option<Refusal>;

    /// The error of a call that a fault throttles.
    fn throttle(&self) -> Refusal;

    /// The request with the accepted entries.
    fn request(&self, decisions: &[Decision]) -> Value;

    /// Adds to the answer what was not accepted and what was consumed, and charges for what only the answer shows. The emulator
    /// may have refused entries by itself: their decisions are changed.
    fn complete(&mut self, answer: &mut Value, decisions: &mut [Decision]);

    /// The call is refused as a whole, here or by the emulator: what the accepted entries were charged for is given back.
    fn give_back(&mut self, decisions: &[Decision]);
}

/// A write, a read, a message or a record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Its destination among those of the call.
    pub(crate) destination: usize,
    pub(crate) action: &'static str,
    /// Empty for reads, which are not in the journal.
    pub(crate) key: String,
    /// What it takes of the capacity.
    pub(crate) units: f64,
    /// What the service recognizes a repetition by.
    pub(crate) known_as: Option<String>,
}

impl Entry {
    pub(crate) fn is_read(&self) -> bool {
        self.key.is_empty()
    }
}

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    Accepted,
    Throttled(Throttling),
    Failed {
        code: Option<String>,
        sender_fault: bool,
    },
    /// By the emulator.
    Refused,
}

impl Decision {
    pub(crate) fn is_accepted(&self) -> bool {
        *self == Self::Accepted
    }
}

/// Why there is no capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Throttling {
    /// As in `ThrottlingReasons`, for writes.
    pub(crate) reason: &'static str,
    /// The number of the index that has none left.
    pub(crate) index: Option<usize>,
    pub(crate) cause: Cause,
}

/// What throttles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// There is no capacity left for the entry.
    Capacity,
    /// There is no call left in the quota of calls.
    Calls,
    Fault,
}

/// By a fault.
pub(crate) const BY_FAULT: Throttling = Throttling {
    reason: "TableWriteProvisionedThroughputExceeded",
    index: None,
    cause: Cause::Fault,
};

impl Throttling {
    /// Of a queue or a stream, which have no reasons.
    pub(crate) fn by(cause: Cause) -> Self {
        Self { cause, ..BY_FAULT }
    }
}

/// Keeps the elements whose decision is of this kind. There is a decision for each element.
pub(crate) fn keep(list: &[Value], decisions: &[Decision], is_kept: impl Fn(&Decision) -> bool) -> Vec<Value> {
    let pairs = list.iter().zip(decisions);
    pairs
        .filter(|(_, decision)| is_kept(decision))
        .map(|(value, _)| value.clone())
        .collect()
}
