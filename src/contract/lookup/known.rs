//! An answer, and when it is asked for again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// An answer is asked for again when it is this old: what was asked for can be changed at any time, and a producer may live for months.
/// One such call an hour does not matter as load.
pub(super) const OLD: Duration = Duration::from_secs(60 * 60);

/// An answer that seems to be outdated is asked for again at once, unless the service was asked less than this ago: what contradicts it may
/// have another reason, which each call meets.
pub(super) const RECENT: Duration = Duration::from_secs(60);

/// What the service has answered last, or what was given.
#[derive(Debug)]
pub(super) struct KnownAnswer<T> {
    pub(super) answer: Arc<T>,
    /// `None` if the answer was given, so that it is never asked for.
    renewal: Option<Renewal>,
}

#[derive(Debug)]
struct Renewal {
    asked_at: Instant,
    /// When the service is asked again.
    due: Instant,
}

impl<T> KnownAnswer<T> {
    /// The answer is given, whatever the service would say.
    pub(super) fn given(answer: T) -> Self {
        Self {
            answer: Arc::new(answer),
            renewal: None,
        }
    }

    /// The service has just answered.
    pub(super) fn answered(answer: T) -> Self {
        let now = Instant::now();
        Self {
            answer: Arc::new(answer),
            renewal: Some(Renewal {
                asked_at: now,
                due: now + OLD,
            }),
        }
    }

    /// Whether the service is to be asked again.
    pub(super) fn is_due(&self) -> bool {
        self.renewal
            .as_ref()
            .is_some_and(|renewal| renewal.due <= Instant::now())
    }

    /// The service was asked again, and has not answered: the answer stays, and the service is left alone for this long.
    pub(super) fn stays_for(&mut self, wait: Duration) {
        if let Some(renewal) = &mut self.renewal {
            renewal.asked_at = Instant::now();
            renewal.due = renewal.asked_at + wait;
        }
    }

    /// Whether a contradiction makes it due earlier.
    #[cfg(feature = "_service")]
    #[allow(dead_code, reason = "not all services need it")]
    pub(super) fn can_be_doubted(&self) -> bool {
        self.renewal
            .as_ref()
            .is_some_and(|renewal| renewal.due > renewal.asked_at + RECENT)
    }

    /// Something contradicts it.
    #[cfg(feature = "_service")]
    #[allow(dead_code, reason = "not all services need it")]
    pub(super) fn seems_outdated(&mut self) {
        if let Some(renewal) = &mut self.renewal {
            renewal.due = renewal.due.min(renewal.asked_at + RECENT);
        }
    }
}
