//! How far a receive is: the counts of its messages.

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
