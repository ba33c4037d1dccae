//! Since when nothing is accepted.

use std::time::Duration;

use tokio::time::Instant;

use crate::contract::Fault;
use crate::engine::entry::EntryState;
use crate::pace::Gate;
use crate::report::Cause;

/// How long nothing may be accepted or refused before a delivery is stalled. A call usually takes some 10 ms, and the SDK's timeout
/// for a connection is 3.1 s.
pub(super) const STALLED_AFTER: Duration = Duration::from_secs(5);

/// Nothing is accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outage<'a> {
    pub(crate) since: Instant,
    /// Why the last call failed.
    pub(crate) fault: &'a Fault,
}

impl Outage<'_> {
    /// The cause for an entry whose time is used up, if nothing was accepted since its first attempt.
    fn cause<E>(self, now: Instant, state: &mut EntryState<E>) -> Option<Cause> {
        let first_sent = state.history.as_ref().map(|history| history.first_sent);
        first_sent.is_none_or(|sent| self.since <= sent).then(|| Cause::Outage {
            lasted: now - self.since,
            fault: state.take_fault().unwrap_or_else(|| self.fault.clone()),
        })
    }

    /// The cause for an entry whose time is used up, during this outage if there is one.
    pub(crate) fn time_used_up<E>(outage: Option<Self>, state: &mut EntryState<E>, now: Instant) -> Cause {
        let of_outage = outage.and_then(|outage| outage.cause(now, state));
        of_outage.unwrap_or_else(|| {
            let fault = state.take_fault();
            Cause::TimeUsedUp(fault.unwrap_or_else(|| Fault::new("not sent in time")))
        })
    }
}

/// How long nothing was accepted although there were entries to try.
pub(super) struct OutageClock {
    /// When progress was made last, or when there were first entries to make progress with.
    since: Instant,
    /// Since when the preparation had failed, until progress was made.
    unprepared_since: Option<Instant>,
    /// Since when there is nothing to try.
    idle_since: Option<Instant>,
    /// How long there was nothing to try since the last progress, which is not part of an outage.
    idle: Duration,
    /// Why a call has failed since the last progress.
    fault: Option<Fault>,
}

impl OutageClock {
    pub(super) fn starting(now: Instant) -> Self {
        Self {
            since: now,
            unprepared_since: None,
            idle_since: None,
            idle: Duration::ZERO,
            fault: None,
        }
    }

    /// `None` while entries are accepted, or none is tried.
    pub(super) fn outage(&self) -> Option<Outage<'_>> {
        let since = self.unprepared_since.map_or(self.since, |since| since.min(self.since));
        Some(Outage {
            since: since + self.idle,
            fault: self.fault.as_ref()?,
        })
    }

    /// Why a call has failed since the last progress.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// The preparation has failed since this moment, if it has: that is a part of the outage if calls fail as well.
    pub(super) fn has_failed_since(&mut self, since: Option<Instant>) {
        self.unprepared_since = since;
    }

    /// Whether there are entries to try. Time without entries is not part of an outage. Returns whether there were none for so long that
    /// the next outage is a new one. This does not apply while calls wait because of an earlier answer: entries that arrive meanwhile
    /// wait for the same reason.
    pub(super) fn has_entries(&mut self, now: Instant, has_entries: bool, gate: &Gate) -> bool {
        if !has_entries {
            self.idle_since.get_or_insert(now);
            return false;
        }
        let Some(idle_since) = self.idle_since.take() else {
            return false;
        };
        let is_held = gate.held_since(now).is_some_and(|since| since <= idle_since);
        let is_over = now - idle_since >= STALLED_AFTER && !is_held;
        if is_over {
            self.unprepared_since = None;
        } else {
            self.idle += now - idle_since;
        }
        is_over
    }

    /// A call has failed.
    pub(super) fn call_failed(&mut self, fault: Option<Fault>) {
        self.fault = fault;
    }

    /// The service has made progress.
    pub(super) fn ends(&mut self) {
        self.unprepared_since = None;
    }

    pub(super) fn start_over(&mut self, now: Instant) {
        self.since = now;
        self.idle = Duration::ZERO;
        self.fault = None;
    }

    /// The process was frozen up to now, and this time had passed before.
    pub(super) fn goes_on(&mut self, now: Instant, lasted: Duration) {
        self.since = now.checked_sub(lasted).unwrap_or(now);
        self.idle = self.idle.min(lasted);
        self.idle_since = self.idle_since.map(|_| now);
    }
}
