//! The failed attempts of an entry.

use tokio::time::Instant;

use crate::backoff::Retry;
use crate::targets::Fault;

/// The failed attempts of an entry. Most entries have none.
#[derive(Debug)]
pub(crate) struct History {
    /// How often it was sent.
    pub(crate) attempts: u32,
    /// How often it was rejected. Less than `attempts` if calls were refused because of other entries.
    pub(crate) rejections: u32,
    /// When it was sent first.
    pub(crate) first_sent: Instant,
    /// Its next retry, as the strategy is told it.
    pub(crate) retry: Retry,
    /// Others of its lane waited behind it when it was rejected last.
    pub(crate) is_followed: bool,
    /// When it was first refused alone, without a word on whether because of this entry.
    pub(crate) disputed_since: Option<Instant>,
    /// Whether an answer left open if the service has it.
    pub(crate) ambiguous: bool,
    /// Why the last attempt failed.
    pub(crate) fault: Option<Fault>,
}

impl History {
    pub(crate) fn since(first_sent: Instant) -> Self {
        Self {
            attempts: 0,
            rejections: 0,
            first_sent,
            retry: Retry::FIRST,
            is_followed: false,
            disputed_since: None,
            ambiguous: false,
            fault: None,
        }
    }

    /// The entry was sent and not accepted.
    pub(crate) fn failed(&mut self, fault: Fault) {
        self.attempts = self.attempts.saturating_add(1);
        self.ambiguous |= fault.is_ambiguous();
        self.fault = Some(fault);
    }
}
