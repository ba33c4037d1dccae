//! Deliveries over real sockets under mixed faults: the results of a delivery are compared with the state of the service.
//!
//! A [`Mix`] is drawn from a seed: what is delivered and how, what fails, and whether the delivery ends early. The served
//! simulator is behind a proxy that fails as networks and services do. The client is the SDK's own, with its connections, its
//! clock, and credentials that may be unavailable. Then these records are compared, entry by entry: the [`Ledger`] of the
//! reported fates, the proxy's and the client's records of each attempt, and the journal of the simulator. Instead of the simulator, an emulator
//! may be behind it, with `throttled-aws` in front of that, which keeps a journal as well.

pub(crate) mod answers;
pub(crate) mod check;
pub(crate) mod client;
pub(crate) mod conditions;
pub(crate) mod deliver;
pub(crate) mod fault;
pub(crate) mod http;
pub(crate) mod ledger;
pub(crate) mod limited;
pub(crate) mod load;
pub(crate) mod mix;
pub(crate) mod model;
pub(crate) mod produce;
pub(crate) mod proxy;
pub(crate) mod served;
pub(crate) mod strike;
pub(crate) mod tally;
pub(crate) mod trial;
pub(crate) mod verdicts;
pub(crate) mod witness;
