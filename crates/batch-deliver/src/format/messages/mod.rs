//! Messages, records and events, one on each line.

mod attribute;
#[cfg(feature = "put")]
mod events;
mod group;
#[cfg(feature = "s3")]
mod inventory;
#[cfg(feature = "s3")]
mod listed;
#[cfg(feature = "put")]
mod notifications;
#[cfg(feature = "s3")]
mod objects;
mod queue;
#[cfg(feature = "put")]
mod records;

#[cfg(feature = "put")]
pub(crate) use self::events::{EventDefaults, EventLines};
pub(crate) use self::group::{Groups, InGroups};
#[cfg(feature = "put")]
pub(crate) use self::notifications::Notifications;
#[cfg(feature = "s3")]
pub(crate) use self::objects::Keys;
pub(crate) use self::queue::Messages;
#[cfg(feature = "put")]
pub(crate) use self::records::{DeliveryRecords, StreamRecords};
