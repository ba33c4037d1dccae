//! The current outages, and the clock of the service.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::fault::Outage;

/// How far the clock jumps.
const JUMP: i64 = 3_600;

/// The current outages. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions(Arc<State>);

#[derive(Debug, Default)]
struct State {
    outages: Mutex<Vec<(Outage, Instant)>>,
    /// How far the clock of the service is ahead, in seconds.
    ahead: AtomicI64,
}

impl Conditions {
    pub(crate) fn begin(&self, outage: Outage, lasting: Duration) {
        match outage {
            Outage::ClockAhead => _ = self.0.ahead.fetch_add(JUMP, Ordering::Relaxed),
            Outage::ClockBack => _ = self.0.ahead.fetch_sub(JUMP, Ordering::Relaxed),
            _ => {
                let mut outages = self.0.outages.lock().unwrap_or_else(PoisonError::into_inner);
                let now = Instant::now();
                outages.retain(|(_, until)| *until > now);
                outages.push((outage, now + lasting));
            }
        }
    }

    pub(crate) fn has(&self, outage: Outage) -> bool {
        let now = Instant::now();
        let outages = self.0.outages.lock().unwrap_or_else(PoisonError::into_inner);
        outages.iter().any(|(other, until)| *other == outage && *until > now)
    }

    /// The time of the service's clock.
    pub(crate) fn time(&self) -> SystemTime {
        let ahead = self.0.ahead.load(Ordering::Relaxed);
        let distance = Duration::from_secs(ahead.unsigned_abs());
        if ahead < 0 {
            SystemTime::now() - distance
        } else {
            SystemTime::now() + distance
        }
    }
}
