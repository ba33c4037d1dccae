//! The time in which a fleet ends after the last of its faults, which follows from what is left and from the longest waits that are promised.
//! "It ends some time" is no bound: a wake-up that is lost, and found by chance a minute later, would keep it.

use std::time::Duration;

use super::activity::{HEARTBEAT, INTERVAL};
use super::faults::Fault;
use super::fleet::Plan;

/// How long a call, a lookup or a request to S3 without an answer takes until it is tried again.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(16);

/// The longest delay of a retry, of a call as of a request for a shard.
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// How long a pace that faults have lowered takes until it is no limit.
const PACE: Duration = Duration::from_secs(10);

/// How long a call takes at most that has no fault.
const CALL: Duration = Duration::from_secs(1);

/// Calls that a shard takes without its entries: it is handed out, its destination and its inputs are looked up, and so on.
const CALLS_OF_SHARD: u32 = 10;

impl Fault {
    /// How long it lasts from the request on that it meets.
    pub(crate) fn lasts(self) -> Duration {
        match self {
            Self::Silent { time, .. } | Self::Late(time) | Self::Freeze { time, .. } | Self::CutOff { time, .. } => {
                time
            }
            Self::Throttle | Self::InternalError { .. } | Self::Lost { .. } | Self::Kill { .. } | Self::Terminate => {
                Duration::ZERO
            }
        }
    }
}

impl Plan {
    /// The time from the end of the last fault to the end of the fleet: what is waited for at most, and then all entries, one shard after
    /// another: there may be one worker, and a shard without a checkpoint begins again.
    pub(crate) fn bound(&self) -> Duration {
        let entries = u32::try_from(self.load.entries().count()).unwrap_or(u32::MAX);
        let shards = u32::try_from(self.shards).unwrap_or(u32::MAX);
        let delivering = Duration::from_secs(1) * entries / self.rate;
        HEARTBEAT + INTERVAL + LONGEST_ATTEMPT + LONGEST_DELAY + PACE + delivering + CALL * CALLS_OF_SHARD * shards
    }
}
