//! Messages, records and events, one on each line.

mod attribute;
#[cfg(feature = "put")]
mod events;
mod group;
#[cfg(feature = "put")]
mod notifications;
mod queue;
#[cfg(feature = "put")]
mod records;

#[cfg(feature = "put")]
pub(crate) use self::events::{EventDefaults, EventLines};
pub(crate) use self::group::{Groups, InGroups};
#[cfg(feature = "put")]
pub(crate) use self::notifications::Notifications;
pub(crate) use self::queue::Messages;
#[cfg(feature = "put")]
pub(crate) use self::records::{DeliveryRecords, StreamRecords};
