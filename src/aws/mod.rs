//! What the calls to all services of AWS have in common.
//!
//! `request` makes one call without the SDK's retries, `renewal` renews its credentials, `transmission` and `answer_limit` see
//! what goes over the connection, and `signature` what an answer shows about that of its request. `classify` reads an error,
//! `correlate` an answer, and `whole_body` recognizes one that was cut off.

mod answer_limit;
mod classify;
#[cfg(feature = "_service")]
#[allow(dead_code, reason = "each service uses a part of it")]
pub(crate) mod correlate;
#[cfg(test)]
pub(crate) mod recording;
#[cfg_attr(not(feature = "_service"), expect(dead_code))]
pub(crate) mod renewal;
#[cfg(feature = "_service")]
pub(crate) mod request;
mod signature;
mod transmission;
#[cfg(feature = "aws")]
pub(crate) mod whole_body;

pub use answer_limit::AnswerLimit;
#[cfg(any(feature = "dynamodb", feature = "eventbridge"))]
pub(crate) use classify::of_named_resources;
#[cfg(feature = "s3-offload")]
pub(crate) use classify::of_upload;
#[cfg(all(test, feature = "dynamodb", feature = "eventbridge"))]
pub(crate) use classify::stops;
pub use classify::{classify, classify_entry};
pub use transmission::Transmission;
