//! What a call came to, key by key.

use super::settle::Settled;
use super::ticket::{Ticket, Ticketed};
use crate::backoff::KeyOutcome;

/// What a call came to for each partition key of its entries.
pub(super) struct KeyCounts(Vec<KeyOutcome>);

impl KeyCounts {
    /// The entries of a call by their keys, if they have any and if that is `wanted`.
    pub(super) fn of<E>(tickets: &[Ticket<E>], wanted: impl FnOnce(()) -> bool) -> Self {
        let has_keys = tickets.iter().any(|ticket| ticket.key.is_some());
        let mut counts = Self(Vec::new());
        if has_keys && wanted(()) {
            for ticket in tickets {
                if let Some(count) = ticket.key.map(|key| counts.count(key)) {
                    count.sent += ticket.cost;
                    count.accepted += ticket.cost;
                    if ticket.rejections() == 0 {
                        count.fresh += ticket.cost;
                        count.first_attempts.0 += 1;
                    }
                }
            }
        }
        counts
    }

    fn count(&mut self, key: u64) -> &mut KeyOutcome {
        let place = self.0.iter().position(|count| count.key == key).unwrap_or_else(|| {
            self.0.push(KeyOutcome::new(key));
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    /// Takes off what was not accepted.
    pub(super) fn settle<E>(&mut self, settled: &Settled<E>) {
        if self.0.is_empty() {
            return;
        }
        if settled.disputed.is_some() || settled.stop.is_some() {
            self.0.clear();
            return;
        }
        for (Ticketed { ticket, .. }, rejection) in &settled.rejected {
            let Some(count) = ticket.key.map(|key| self.count(key)) else {
                continue;
            };
            count.accepted -= ticket.cost;
            if rejection.is_throttle() {
                count.throttled += ticket.cost;
                // The rejection is counted already.
                if ticket.rejections() == 1 {
                    count.fresh_throttled += ticket.cost;
                    count.first_attempts.1 += 1;
                }
            }
        }
        for (Ticketed { ticket, .. }, _) in &settled.refused {
            if let Some(count) = ticket.key.map(|key| self.count(key)) {
                count.accepted -= ticket.cost;
            }
        }
    }

    pub(super) fn outcomes(&mut self) -> &mut [KeyOutcome] {
        &mut self.0
    }
}
