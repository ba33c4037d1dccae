//! The wait for the last settlement.

use std::fmt;
use std::sync::Arc;

use super::figures::ReceiveFigures;
use super::held::Held;

/// Follows the settlements of a [`ReceivedMessages`](super::ReceivedMessages), also when the stream was given away or dropped.
#[derive(Clone)]
pub struct Settlements {
    held: Arc<Held>,
}

impl Settlements {
    pub(super) fn of(held: Arc<Held>) -> Self {
        Self { held }
    }

    /// The figures.
    pub fn figures(&self) -> ReceiveFigures {
        self.held.figures()
    }

    /// Waits until the stream has ended or was dropped, all its tickets as well, and the queue knows: accepted messages are deleted,
    /// the others are visible again, and no receive is underway.
    ///
    /// A receive that waits for messages takes up to its [wait](super::Receive::wait), 20 s.
    pub async fn finished(&self) -> ReceiveFigures {
        self.held.finished().await;
        self.held.figures()
    }
}

impl fmt::Debug for Settlements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settlements")
            .field("figures", &self.figures())
            .finish_non_exhaustive()
    }
}
