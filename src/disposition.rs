//! What became of an entry that is not handed back.

use crate::contract::Acknowledgement;

/// What became of an entry that is not handed back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// The service has the entry and returned this about it.
    Delivered(Acknowledgement),
    /// The entry was dropped because a newer one has the same key, under
    /// [`last_write_wins`](crate::DeliveryOptions::last_write_wins).
    Superseded,
    /// The service has evaluated the entry's condition, and it does not hold, so nothing was written.
    ConditionFailed,
}
