//! Whether the service accepts anything at all.
//!
//! - `circuit_breaker`: whether calls can be made (credentials, connection), and the probes that test it.
//! - `disputes`: whether an entry that was refused alone is at fault, or all calls are.
//! - `refused_alone`: whether all entries are refused for a reason that they share.
//! - `outage`: since when nothing is accepted.
//! - `watch`: notices that a delivery makes no progress, and logs it.
//! - `size_limit`: calls that are refused for their size.

mod circuit_breaker;
mod disputes;
mod outage;
mod refused_alone;
mod size_limit;
mod watch;

use tokio::time::Instant;

use self::circuit_breaker::CircuitBreaker;
use self::disputes::Disputes;
use self::refused_alone::RefusedAlone;
use super::calls::EndedCall;
use crate::contract::Fault;

pub(crate) use disputes::Blame;
pub(crate) use outage::Outage;
pub(crate) use size_limit::SizeLimit;
pub(crate) use watch::Watch;

/// Judges the answers to all calls of a delivery.
pub(crate) struct Health {
    pub(crate) breaker: CircuitBreaker,
    pub(crate) disputes: Disputes,
    refused_alone: RefusedAlone,
    pub(crate) watch: Watch,
}

/// What could still be accepted other than the entries of the call that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherEntries {
    InFlight,
    Waiting,
    None,
}

/// What the answer of a call means for the delivery.
pub(crate) enum Ruling {
    /// No later call can succeed either.
    Stop(Fault),
    Continue(Findings),
}

/// What the answer of a call shows about its entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Findings {
    /// Why its only entry was refused, if the answer leaves that open.
    pub(crate) blame: Option<Blame>,
    /// Whether all calls were refused before.
    pub(crate) all_were_refused: bool,
}

impl Health {
    /// Of a delivery to this destination.
    pub(crate) fn of(destination: String) -> Self {
        Self {
            breaker: CircuitBreaker::new(),
            disputes: Disputes::default(),
            refused_alone: RefusedAlone::default(),
            watch: Watch::new(destination),
        }
    }

    /// A call leaves, while `in_flight` entries are in flight.
    pub(crate) fn call_leaves(&mut self, sent_at: Instant, in_flight: u64) {
        self.watch.call_leaves(sent_at, in_flight);
        self.breaker.leaves(sent_at);
    }

    /// Evaluates the answer of a call, after which `delivered` entries are delivered.
    pub(crate) fn answered<E>(
        &mut self,
        settled: &EndedCall<E>,
        delivered: u64,
        others: OtherEntries,
        now: Instant,
    ) -> Ruling {
        let unavailable = self.breaker.answered(settled, now, delivered);
        let all_were_refused = self.disputes.are_of_all();
        let blame = self.disputes.answered(settled, others == OtherEntries::None, now);
        let is_last = others != OtherEntries::InFlight;
        let is_of_all = |fault: &&Fault| blame == Some(Blame::AllCalls) && self.disputes.stops(fault, is_last, now);
        let of_all = settled.fault().filter(is_of_all);
        let stop = None
            .or_else(|| settled.panic.clone())
            .or(unavailable)
            .or_else(|| settled.stop.as_ref().or(of_all).filter(|_| delivered == 0).cloned())
            .or_else(|| self.refused_alone.answered(settled));
        if let Some(fault) = stop {
            return Ruling::Stop(fault);
        }
        if blame == Some(Blame::AllCalls) {
            self.breaker.refused(settled.outcome.sent_at.into(), now);
        }
        Ruling::Continue(Findings {
            blame,
            all_were_refused,
        })
    }

    /// How many entries a call may carry at most.
    pub(crate) fn most(&self) -> usize {
        self.refused_alone.most().min(self.breaker.most())
    }

    /// Since when nothing is accepted, and why the last call failed; `None` while entries are accepted, or none is tried.
    pub(crate) fn outage(&self) -> Option<Outage<'_>> {
        self.watch.outage()
    }
}
