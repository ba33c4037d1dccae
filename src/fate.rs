//! The good end of an entry.

use crate::targets::Acknowledgement;

/// The good end of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The service has it, and told this of it.
    Delivered(Acknowledgement),
    /// It was dropped for a newer one of its key, under
    /// [`last_write_wins`](crate::DeliveryOptions::last_write_wins).
    Superseded,
}
