//! What takes a process of its own: sockets under load, and the telemetry provider that all deliveries of a process share.

#![expect(
    clippy::incompatible_msrv,
    reason = "only the packages themselves are for older versions of Rust"
)]

mod chaos;
mod metrics;

mod support {
    pub(crate) mod cases;
    #[expect(dead_code, reason = "other tests have single writes and transactions")]
    pub(crate) mod chaos;
}
