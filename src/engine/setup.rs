//! Calls that could not be made: credentials, endpoint or signing failed.

use std::time::Duration;

use tokio::time::Instant;

/// How often in a row. A credentials provider that hiccups is back after a try or two; a wrong endpoint never is.
const RETRIES: u32 = 3;

/// How long entries of such a call rest at least. Credential providers answer within a second or not at all.
pub(crate) const REST: Duration = Duration::from_secs(1);

/// Counts failures in a row.
///
/// Calls in flight together fail together, so that only those count that left after the last one that was counted.
#[derive(Debug, Default)]
pub(crate) struct SetupFailures {
    in_a_row: u32,
    counted_at: Option<Instant>,
}

impl SetupFailures {
    /// A call could not be made. Returns whether that is once too often.
    pub(crate) fn failed(&mut self, sent_at: Instant, now: Instant) -> bool {
        if self.counted_at.is_none_or(|counted_at| sent_at >= counted_at) {
            self.in_a_row += 1;
            self.counted_at = Some(now);
        }
        self.in_a_row > RETRIES
    }

    /// A call was made.
    pub(crate) fn succeeded(&mut self) {
        self.in_a_row = 0;
    }
}
