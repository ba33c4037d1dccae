//! The counts of the messages, and the wait for the last settlement.

use std::fmt;
use std::sync::Arc;

use super::held::Held;

/// What became of the messages so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiveFigures {
    /// Messages that were received. One that comes again counts again.
    pub received: u64,
    /// Messages that were settled and deleted.
    pub deleted: u64,
    /// Messages that were made visible again: released, or held back behind a released message of their group, or received but no
    /// longer wanted.
    pub released: u64,
    /// Messages that could not be kept hidden: they may have been received by others, or come again.
    pub expired: u64,
    /// Messages that were settled, but that the queue did not delete because their receipt handle had expired. One that comes again to
    /// this receiver is deleted without being handed out.
    pub undeleted: u64,
    /// Messages that are hidden now: handed out, waiting to be handed out, or set aside, or on their way to be deleted or released.
    pub held: u64,
}

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
