//! What is put into streams, topics and buses, an entry on each line.

mod events;
mod notifications;
mod records;

pub(crate) use self::events::{EventDefaults, EventLines};
pub(crate) use self::notifications::Notifications;
pub(crate) use self::records::{DeliveryRecords, StreamRecords};
