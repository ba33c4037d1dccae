//! Messages that are too large for SQS: their bodies go to S3, and pointers to the queue.

mod attempt;
mod mark;
#[expect(clippy::module_inception, reason = "the type that users give is an offload")]
mod offload;
mod pointer;
mod store;
mod uploads;

pub(super) use self::attempt::send;
pub use self::offload::Offload;
pub use self::pointer::PAYLOAD_SIZE_ATTRIBUTE;
