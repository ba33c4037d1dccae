//! Where a spool is, how durable its entries are, and how large it may become.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many bytes the entries of a spool may take. At 1 KB an entry and 300 entries a second it covers an hour.
const MAX_BYTES: u64 = 1 << 30;

/// The smallest limit of bytes: a message of the largest size of SQS or an item of DynamoDB fits in it several times.
const LEAST_BYTES: u64 = 4 << 20;

/// Entries that may have been sent and are not removed from the folder yet. DynamoDB takes 40,000 writes a second by default, so four
/// times a second the removals of a whole window are written.
const WINDOW: usize = 10_000;

/// Where a [`Spool`](super::Spool) is, how durable its entries are, and how large it may become.
///
/// ```
/// # use std::time::Duration;
/// # use aws_batch_delivery::spool::{SpoolOptions, SyncPolicy};
/// let options = SpoolOptions::at("/var/lib/orders")
///     .sync(SyncPolicy::Every(Duration::from_millis(10)))
///     .max_bytes(8 << 30);
/// ```
///
/// # Default
/// - sync: [`SyncPolicy::EachGroup`]
/// - at most 1 GiB
/// - when it is full, entries wait for room
/// - window: 10,000 entries
#[derive(Debug, Clone)]
#[must_use]
pub struct SpoolOptions {
    pub(super) folder: PathBuf,
    pub(super) sync: SyncPolicy,
    pub(super) max_bytes: u64,
    pub(super) drops_oldest: bool,
    pub(super) window: usize,
    pub(super) any_destination: bool,
}

/// What an entry has survived when [`Spool::enqueue`](super::Spool::enqueue) returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// Power loss: the device has confirmed the entry. All entries that arrive while the device writes are written together next, so
    /// the more tasks submit entries, the more of them share the time of one write.
    #[default]
    EachGroup,
    /// A kill of the process: the operating system has the entry. The device is asked to store what it has after this time, so a loss
    /// of power takes at most the entries of this time and of one write. 10 ms is a good choice.
    Every(Duration),
    /// A kill of the process. The operating system decides when the device has the entry, usually within half a minute.
    Never,
}

impl SpoolOptions {
    /// A spool in this folder, which is created if it does not exist. Only one spool at a time may use it.
    pub fn at(folder: impl AsRef<Path>) -> Self {
        Self {
            folder: folder.as_ref().to_owned(),
            sync: SyncPolicy::default(),
            max_bytes: MAX_BYTES,
            drops_oldest: false,
            window: WINDOW,
            any_destination: false,
        }
    }

    /// What an entry has survived when it is acknowledged. Default: power loss, [`SyncPolicy::EachGroup`].
    ///
    /// # Panics
    /// When the time of [`SyncPolicy::Every`] is zero.
    #[track_caller]
    pub fn sync(mut self, policy: SyncPolicy) -> Self {
        assert!(
            policy != SyncPolicy::Every(Duration::ZERO),
            "the time between two syncs must be longer than zero"
        );
        self.sync = policy;
        self
    }

    /// How many bytes the entries may take on disk, refused ones included. Default: 1 GiB.
    ///
    /// The folder takes up to a tenth and 32 MiB more: for the structure of its file, for the changes that are not yet in it, and as a
    /// reserve of 16 MiB that lets entries be removed when the disk is full. A file that was large shrinks again, by 4 MiB a second. The
    /// changes that are not yet in the file have no limit while another process reads it for long. On a system of 32 bits the entries
    /// take at most 512 MiB.
    ///
    /// # Panics
    /// When it is below 4 MiB.
    #[track_caller]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        assert!(
            bytes >= LEAST_BYTES,
            "the bytes of a spool must be at least {LEAST_BYTES}, but are {bytes}"
        );
        self.max_bytes = bytes;
        self
    }

    /// When there is no room for an entry, the oldest ones are removed without being delivered: first those that were refused for good and
    /// are kept in the folder, then those that the delivery has not read. They are [counted](super::SpoolReport::dropped) and
    /// [logged](crate::events::SPOOL).
    ///
    /// Default: [`Spool::enqueue`](super::Spool::enqueue) waits for room as long as a [`Producer`](crate::Producer) tries an entry,
    /// [1 minute](crate::DeliveryOptions::give_up_after) by default, and then returns an error.
    pub fn drop_oldest(mut self) -> Self {
        self.drops_oldest = true;
        self
    }

    /// How many entries may have been sent while an earlier one is not settled, or while their removal is not yet on disk. So it is
    /// also the most entries that are sent twice after a crash, but not after a loss of power with [`SyncPolicy::Never`]. Default:
    /// 10,000.
    ///
    /// A smaller window costs more writes. One entry that is throttled for long, such as one of a hot key, holds up the entries behind
    /// the window.
    ///
    /// # Panics
    /// When it is 0.
    #[track_caller]
    pub fn window(mut self, entries: usize) -> Self {
        assert!(entries > 0, "the window must be at least 1 entry, but is 0");
        self.window = entries;
        self
    }

    /// Lets the spool be opened although it has entries for another destination, which go to this one then. Default: that is an
    /// [error](super::SpoolError::OtherDestination).
    ///
    /// A destination is known by the [name](crate::targets::BatchTarget::name) of its target, such as `sqs/orders`, without account and
    /// region. A spool without entries takes any.
    pub fn any_destination(mut self) -> Self {
        self.any_destination = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::testing::assert_refused;

    #[test]
    fn a_value_that_cannot_work_panics_where_it_is_set() {
        let options = || SpoolOptions::at("/nowhere");
        assert_refused("time between two syncs", || {
            options().sync(SyncPolicy::Every(Duration::ZERO))
        });
        let message = assert_refused("bytes of a spool", || options().max_bytes(1_000));
        assert_eq!(message, "the bytes of a spool must be at least 4194304, but are 1000");
        assert_refused("window", || options().window(0));
    }
}
