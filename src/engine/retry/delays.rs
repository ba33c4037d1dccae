//! The delays of the rejected entries of one call.

use std::time::Duration;

use crate::backoff::Retry;

/// The delays drawn for the rejected entries of one call.
///
/// Entries with the same history get the same delay, so that they can leave together in one call.
#[derive(Default)]
pub(crate) struct SharedDelays {
    drawn: Vec<(Retry, Duration)>,
}

impl SharedDelays {
    /// The delay before that retry.
    pub(crate) fn before(&mut self, retry: Retry, draw: impl FnOnce(Retry) -> Duration) -> Duration {
        if let Some((_, delay)) = self.drawn.iter().find(|(drawn, _)| *drawn == retry) {
            return *delay;
        }
        let delay = draw(retry);
        self.drawn.push((retry, delay));
        delay
    }

    /// The shortest delay, or zero.
    pub(crate) fn shortest(&self) -> Duration {
        self.drawn.iter().map(|(_, delay)| *delay).min().unwrap_or_default()
    }
}
