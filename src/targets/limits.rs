//! The limits of one call.

/// The limits of one call.
///
/// ```
/// # use aws_batch_delivery::targets::Limits;
/// let records = Limits::new(500, 5 << 20).with_entry_bytes(1 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Entries in a call. A limit of 0 counts as 1.
    pub entries: usize,
    /// Bytes in a call, as [`BatchTarget::check`](super::BatchTarget::check) counts them.
    pub bytes: usize,
    /// Bytes of a single entry, as the service counts an entry, which may differ from how it counts a call.
    /// [`BatchTarget::check`](super::BatchTarget::check) has to enforce it.
    pub entry_bytes: usize,
}

impl Limits {
    /// At most this many entries and bytes in a call, of which one entry may take all.
    pub const fn new(entries: usize, bytes: usize) -> Self {
        Self {
            entries,
            bytes,
            entry_bytes: bytes,
        }
    }

    /// With this limit for the bytes of a single entry.
    #[must_use]
    pub const fn with_entry_bytes(mut self, bytes: usize) -> Self {
        self.entry_bytes = bytes;
        self
    }
}
