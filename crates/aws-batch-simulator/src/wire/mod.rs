//! Requests and answers on the wire.

#[cfg(feature = "cloudwatch")]
mod cbor;
mod exchange;
mod protocol;
mod query;
mod refusal;
mod responder;

#[cfg(feature = "cloudwatch")]
pub(crate) use self::cbor::decompressed;
pub(crate) use self::exchange::{CallEnd, LARGEST_BODY, OperationOutcome, Reply, Request};
pub(crate) use self::protocol::{Api, Protocol};
pub(crate) use self::query::{escaped, percent_decoded};
pub(crate) use self::refusal::Refusal;
pub(crate) use self::responder::Responder;
