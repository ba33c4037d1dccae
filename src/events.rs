//! The log events and spans of this crate.
//!
//! [metrics]: crate::metrics
#![doc = include_str!("../docs/events.md")]

/// The service has accepted and refused nothing for a while, and does so again.
pub const STALLED: &str = "aws_batch_delivery::stalled";

/// The end of a delivery.
pub const SUMMARY: &str = "aws_batch_delivery::summary";

/// A producer's delivery was stopped by a fault.
pub const STOPPED: &str = "aws_batch_delivery::stopped";

/// A producer has undelivered entries whose receipts were dropped.
pub const UNCLAIMED: &str = "aws_batch_delivery::unclaimed";

/// The entries of a spool, on disk.
pub const SPOOL: &str = "aws_batch_delivery::spool";

/// What a target looks up before the first call.
pub const LOOKUP: &str = "aws_batch_delivery::lookup";

/// Answers for entries that were not sent.
pub const ANSWER: &str = "aws_batch_delivery::answer";

/// What was stored elsewhere for an undelivered entry could not be removed.
pub const CLEANUP: &str = "aws_batch_delivery::cleanup";

/// A handler panicked, failed, or did not finish within its time.
pub const HANDLER: &str = "aws_batch_delivery::handler";

/// Received messages that are neither settled nor released.
pub const UNSETTLED: &str = "aws_batch_delivery::unsettled";

/// Changes of the adaptive pace, and the congestion signals behind them.
pub const PACE: &str = "aws_batch_delivery::pace";

/// The span of a delivery.
pub const DELIVERY: &str = "aws_batch_delivery::delivery";

/// The span of a request to a service.
pub const REQUEST: &str = "aws_batch_delivery::request";

/// Items that a vector index leaves out.
pub const UNINDEXED: &str = "aws_batch_delivery::unindexed";

/// Single calls, as events and as spans.
pub const CALL: &str = "aws_batch_delivery::call";
