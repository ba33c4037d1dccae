//! How long the leftovers of one call rest.

use std::time::Duration;

use crate::backoff::Retry;

/// The rests drawn for the leftovers of one call.
///
/// Leftovers with the same history get the same draw, so that they leave together again, in one call and not in many.
#[derive(Default)]
pub(crate) struct Rests {
    drawn: Vec<(Retry, Duration)>,
}

impl Rests {
    /// The rest before that retry.
    pub(crate) fn before(&mut self, retry: Retry, draw: impl FnOnce(Retry) -> Duration) -> Duration {
        if let Some((_, rest)) = self.drawn.iter().find(|(drawn, _)| *drawn == retry) {
            return *rest;
        }
        let rest = draw(retry);
        self.drawn.push((retry, rest));
        rest
    }

    /// The shortest of them, or zero.
    pub(crate) fn shortest(&self) -> Duration {
        self.drawn.iter().map(|(_, rest)| *rest).min().unwrap_or_default()
    }
}
