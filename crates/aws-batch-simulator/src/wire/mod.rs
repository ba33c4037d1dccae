//! Requests and answers on the wire.

mod exchange;
mod protocol;
mod query;
mod refusal;
mod responder;

pub(crate) use self::exchange::{Ending, LARGEST_BODY, Outcome, Reply, Request};
pub(crate) use self::protocol::{Api, Protocol};
pub(crate) use self::query::percent_decoded;
pub(crate) use self::refusal::Refusal;
pub(crate) use self::responder::Responder;
