//! What is due for held messages.

use std::time::Duration;

use tokio::time::Instant;

use super::{HeldState, Work};
use crate::sources::queue::held_message::Phase;

impl HeldState {
    pub(crate) fn take_work(&mut self, now: Instant) -> Work {
        let soon = now + self.visibility / 16;
        let mut due = Vec::new();
        while let Some(&(at, number)) = self.due.first().filter(|(at, _)| *at <= soon) {
            self.due.remove(&(at, number));
            due.push(number);
        }
        for number in self.groups.take_overdue(now) {
            self.enter(number, Phase::Releasing);
        }
        let mut renewals = Vec::new();
        for number in due {
            let Some(held) = self.messages.get_mut(&number) else {
                continue;
            };
            if let Some(timeout) = held.renewal(now, self.visibility) {
                renewals.push((number, held.handle.clone(), timeout));
            }
            if held.is_hidden(now) {
                self.due.insert((held.due, number));
            } else {
                self.expire(number);
            }
        }
        let deletions = std::mem::take(&mut self.to_delete);
        let releases = std::mem::take(&mut self.to_release);
        Work {
            deletions: self.with_handles(deletions),
            releases: self.with_delays(releases),
            renewals,
            next: self
                .due
                .first()
                .map(|(at, _)| *at)
                .into_iter()
                .chain(self.groups.next_overdue())
                .min(),
            is_over: self.is_closed() && self.calls == 0 && self.messages.is_empty(),
        }
    }

    fn with_delays(&self, numbers: Vec<u64>) -> Vec<(u64, String, Duration)> {
        let released = |number| {
            let held = self.messages.get(&number)?;
            Some((number, held.handle.clone(), held.released_for))
        };
        numbers.into_iter().filter_map(released).collect()
    }

    fn with_handles(&self, numbers: Vec<u64>) -> Vec<(u64, String)> {
        let handle = |number| Some((number, self.messages.get(&number)?.handle.clone()));
        numbers.into_iter().filter_map(handle).collect()
    }
}
