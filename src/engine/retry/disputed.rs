//! Bisections whose next entry was refused alone, while it is open whether the entry is at fault.
//!
//! They wait until another entry is accepted, or until there is nothing else to send. `health::disputes` decides who is at fault.

use std::time::Duration;

use tokio::time::Instant;

use super::bisection::Bisection;
use crate::contract::Fault;

/// The shortest and the longest delay before an entry that was refused alone is sent again when no other can be compared with it. In
/// between it is as long as that has lasted, so that it doubles.
const DELAYS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// Each with the end of its delay.
pub(super) struct DisputedBisections<E>(Vec<(Instant, Bisection<E>)>);

impl<E> DisputedBisections<E> {
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// The next entry of the bisection was refused alone.
    pub(super) fn add(&mut self, bisection: Bisection<E>, now: Instant) {
        let since = bisection.disputed_since().unwrap_or(now);
        let (shortest, longest) = DELAYS;
        self.0.push((now + (now - since).clamp(shortest, longest), bisection));
    }

    /// An entry of a call that left at `sent_at` was accepted: those that were refused alone before are sent again. What is not
    /// the service's own answer has its delay as well, so that it is not asked for at every acceptance.
    ///
    /// If all calls were refused before (`of_all`), and not by the service, that says nothing about the entries.
    pub(super) fn accepted(
        &mut self,
        sent_at: Instant,
        of_all: bool,
        now: Instant,
    ) -> impl Iterator<Item = Bisection<E>> {
        let goes = move |(until, bisection): &mut (Instant, Bisection<E>)| {
            let is_older = bisection.disputed_since().is_none_or(|since| since < sent_at);
            is_older && (*until <= now || bisection.is_of_service())
        };
        self.0.extract_if(.., goes).map(move |(_, mut bisection)| {
            if of_all && !bisection.is_of_service() {
                bisection.forget_dispute();
            }
            bisection
        })
    }

    /// One of them whose delay is over. Others may be accepted meanwhile.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Bisection<E>> {
        let due = self.0.iter().position(|(until, _)| *until <= now)?;
        Some(self.0.remove(due).1)
    }

    /// When the next delay is over.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        let delays = self.0.iter().map(|(until, _)| *until);
        delays.filter(|until| *until > now).min()
    }

    /// The fault of the first entry, if there is one.
    pub(super) fn first_fault(&self) -> Option<&Fault> {
        self.0.first()?.1.fault()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Bisection<E>> {
        self.0.iter_mut().map(|(_, bisection)| bisection)
    }

    /// Those whose refused entry is gone: the entries that waited behind it were not refused themselves.
    pub(super) fn take_free(&mut self) -> impl Iterator<Item = Bisection<E>> {
        self.0.retain(|(_, bisection)| !bisection.is_empty());
        let free = self
            .0
            .extract_if(.., |(_, bisection)| bisection.disputed_since().is_none());
        free.map(|(_, bisection)| bisection)
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Bisection<E>> + use<E> {
        std::mem::take(&mut self.0).into_iter().map(|(_, bisection)| bisection)
    }
}
