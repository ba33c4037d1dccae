//! Deliveries over real sockets under mixed faults: what a delivery says is compared with what the service has.
//!
//! A [`Mix`] is drawn from a seed: what is delivered and how, what fails, and whether the delivery is cut short. The served
//! simulator is behind a proxy that fails as networks and services do. The client is the SDK's own, with its connections,
//! its clock and credentials that may be away. Then three records are compared, entry by entry: the [`Ledger`] of what the
//! delivery said, the proxy's and the client's own of each attempt, and the journal of the simulator.

pub(crate) mod answers;
pub(crate) mod check;
pub(crate) mod client;
pub(crate) mod conditions;
pub(crate) mod deliver;
pub(crate) mod fault;
pub(crate) mod http;
pub(crate) mod ledger;
pub(crate) mod load;
pub(crate) mod mix;
pub(crate) mod produce;
pub(crate) mod proxy;
pub(crate) mod served;
pub(crate) mod strike;
pub(crate) mod trial;
pub(crate) mod witness;
