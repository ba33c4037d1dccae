//! Warnings that would repeat.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two warnings.
const QUIET: Duration = Duration::from_secs(60);

/// Limits a warning to one a minute.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    last: Option<Instant>,
}

impl LogLimit {
    /// Whether the warning may be logged now: the one before it was a minute ago, or there was none.
    pub(crate) fn permits(&mut self) -> bool {
        let now = Instant::now();
        let permits = self.last.is_none_or(|last| now - last >= QUIET);
        if permits {
            self.last = Some(now);
        }
        permits
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_warning_is_logged_once_a_minute() {
        let mut limit = LogLimit::default();
        assert!(limit.permits() && !limit.permits());
        advance(QUIET / 2).await;
        assert!(!limit.permits());
        advance(QUIET / 2).await;
        assert!(limit.permits() && !limit.permits());
    }
}
