//! What came of sending an entry so far.

use tokio::time::Instant;

use crate::backoff::Retry;
use crate::targets::Fault;

/// What came of sending an entry, as long as it was in vain. Most entries have none.
#[derive(Debug)]
pub(crate) struct History {
    /// How often it was sent.
    pub(crate) attempts: u32,
    /// How often it was rejected. Less than the attempts when calls were refused on account of others.
    pub(crate) rejections: u32,
    /// When it was sent first.
    pub(crate) first_sent: Instant,
    /// Its next retry, for the strategy.
    pub(crate) retry: Retry,
    /// Some answer left open whether the service has it.
    pub(crate) ambiguous: bool,
    /// Why it was not accepted last.
    pub(crate) fault: Option<Fault>,
}

impl History {
    pub(crate) fn since(first_sent: Instant) -> Self {
        Self {
            attempts: 0,
            rejections: 0,
            first_sent,
            retry: Retry::FIRST,
            ambiguous: false,
            fault: None,
        }
    }

    /// It was sent, and was not accepted.
    pub(crate) fn failed(&mut self, fault: Fault) {
        self.attempts = self.attempts.saturating_add(1);
        self.ambiguous |= fault.is_ambiguous();
        self.fault = Some(fault);
    }
}
