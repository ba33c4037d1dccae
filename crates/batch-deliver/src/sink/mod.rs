//! Where entries go: a destination of each service, and their delivery to it by the library.

mod bucket;
mod delivery;
mod destination;
mod draining;
mod duplicates;
mod filled;
mod hidden_messages;
mod item_writes;
mod json_value;
mod lines;
mod message_filter;
mod moved_message;
mod moving;
mod object_lookup;
mod pace;
#[cfg(feature = "put")]
mod put;
mod queue;
mod queue_name;
mod recognized;
mod simulated;
mod table;
mod undelivered;

pub(crate) use aws_batch_delivery::sources::ReceiveProgress;
pub(crate) use aws_batch_delivery::targets::BatchTarget;
pub(crate) use aws_batch_delivery::targets::dynamo::{DynamoTable, ItemWrite, VectorFigures};
pub(crate) use aws_batch_delivery::{DeliveryOptions, Disposition, Progress, Report, Snapshot};

pub(crate) use self::bucket::bucket;
pub(crate) use self::delivery::deliver;
pub(crate) use self::destination::{Access, Destination, EntrySize, Settings, Target};
pub(crate) use self::draining::{Drain, SafeLines};
pub(crate) use self::duplicates::{DuplicateFigures, Duplicates};
pub(crate) use self::filled::{made_up_item, made_up_message};
pub(crate) use self::hidden_messages::HiddenMessages;
pub(crate) use self::item_writes::{Change, Expressions, ItemWrites};
pub(crate) use self::lines::{LineWriter, packing};
pub(crate) use self::message_filter::MessageFilter;
pub(crate) use self::moving::{Move, MoveResult};
pub(crate) use self::object_lookup::ObjectLookup;
pub(crate) use self::pace::{GRACE, PaceOptions, Strategy};
#[cfg(feature = "put")]
pub(crate) use self::put::{delivery_stream, event_bus, stream, topic};
pub(crate) use self::queue::{ExistingQueue, existing_queue, existing_queue_in, queue};
pub(crate) use self::queue_name::QueueName;
pub(crate) use self::recognized::{ENDPOINT_OF_INPUTS, KEY, OF_PLACE, TABLE_ARN, UNKNOWN};
pub(crate) use self::simulated::SimulatedService;
pub(crate) use self::table::{ExistingTable, existing, existing_in, item_writes, table};
pub(crate) use self::undelivered::UndeliveredEntry;
