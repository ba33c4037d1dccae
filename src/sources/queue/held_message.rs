//! One message that is held.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use tokio::time::Instant;

use crate::moment::Moment;

/// How long a message may be hidden in all, less a minute for the difference between the clocks: it begins when SQS gives the message
/// out, and ends after twelve hours.
const LONGEST: Duration = Duration::from_secs((12 * 60 - 1) * 60);

/// How long a message that is set aside is hidden at least by one renewal. There may be as many as SQS hides, each of which would
/// otherwise be renewed every half of its visibility timeout.
const ASIDE: Duration = Duration::from_secs(15 * 60);

/// What is happening to a held message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits to be handed out.
    Waiting,
    /// Its ticket exists.
    HandedOut,
    /// It is hidden until the stream has ended.
    Aside,
    /// It was settled.
    Deleting,
    /// It is made visible again.
    Releasing,
}

/// A message that was received and is hidden.
pub(super) struct HeldMessage {
    pub(super) handle: String,
    pub(super) id: String,
    /// Its group in a FIFO queue.
    pub(super) group: Option<Arc<str>>,
    /// Until it is handed out.
    pub(super) message: Option<Message>,
    pub(super) phase: Phase,
    /// How often it was received, this time included.
    pub(super) receives: u32,
    /// How long it stays hidden when it is released.
    pub(super) released_for: Duration,
    /// Whether it may be visible to others.
    pub(super) has_expired: bool,
    /// Whether a renewal is in progress.
    is_being_renewed: bool,
    received_at: Moment,
    /// It is hidden for a time from then on.
    hidden_at: Moment,
    hidden_for: Duration,
    /// When something is to be done about its visibility timeout.
    pub(super) due: Instant,
}

/// How often the message was received, this time included.
pub(super) fn receive_count(message: &Message) -> u32 {
    let attributes = message.attributes();
    let count = attributes.and_then(|all| all.get(&MessageSystemAttributeName::ApproximateReceiveCount));
    count.and_then(|count| count.parse().ok()).unwrap_or(1)
}

impl HeldMessage {
    pub(super) fn new(message: Message, handle: String, group: Option<Arc<str>>, visibility: Duration) -> Self {
        let now = Moment::now();
        let receives = receive_count(&message);
        Self {
            handle,
            id: message.message_id().unwrap_or_default().to_owned(),
            group,
            message: Some(message),
            phase: Phase::Waiting,
            receives,
            released_for: Duration::ZERO,
            has_expired: false,
            is_being_renewed: false,
            received_at: now,
            hidden_at: now,
            hidden_for: visibility,
            due: now.instant + visibility / 2,
        }
    }

    /// The group in which it has its place; `None` if it has none. When a message expires, its group is given up, and is another one's if
    /// its messages come again.
    pub(super) fn current_group(&self) -> Option<Arc<str>> {
        self.group.clone().filter(|_| !self.has_expired)
    }

    /// For how long it is to be hidden from now on, in whole seconds; `None` if its time is over.
    pub(super) fn renewal(&mut self, now: Instant, visibility: Duration) -> Option<Duration> {
        // Until the renewal is accepted.
        self.due = self.hidden_at.instant + self.hidden_for;
        if !self.is_hidden(now) || self.is_being_renewed {
            return None;
        }
        let visibility = match self.phase {
            Phase::Aside => visibility.max(ASIDE),
            _ => visibility,
        };
        let timeout = Duration::from_secs(visibility.min(self.left(now)).as_secs());
        self.is_being_renewed = now + timeout > self.due;
        self.is_being_renewed.then_some(timeout)
    }

    /// For how long it may be hidden from now on.
    fn left(&self, now: Instant) -> Duration {
        LONGEST.saturating_sub(self.received_at.age_at(now))
    }

    /// It is to be hidden for this time when it is released, or as long as it may be.
    pub(super) fn release_for(&mut self, delay: Duration) {
        self.released_for = delay.min(self.left(Instant::now()));
    }

    /// Whether it is still hidden although it is no longer renewed.
    pub(super) fn is_hidden(&self, now: Instant) -> bool {
        self.hidden_at.age_at(now) < self.hidden_for
    }

    /// How long it is held.
    pub(super) fn age(&self, now: Instant) -> Duration {
        self.received_at.age_at(now)
    }

    /// It was hidden for this time, from a moment not before `at`.
    pub(super) fn has_been_renewed(&mut self, at: Moment, timeout: Duration) {
        self.is_being_renewed = false;
        (self.hidden_at, self.hidden_for) = (at, timeout);
        self.due = at.instant + timeout / 2;
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    const VISIBILITY: Duration = Duration::from_secs(60);

    fn at(instant: Instant) -> Moment {
        let time = SystemTime::now();
        Moment { instant, time }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_renewed_at_half_of_its_time_for_twelve_hours() {
        let mut held = HeldMessage::new(Message::builder().build(), "handle".into(), None, VISIBILITY);
        let start = Instant::now();
        let mut renewals = 0;
        loop {
            let now = held.due;
            match held.renewal(now, VISIBILITY) {
                Some(timeout) => {
                    renewals += 1;
                    assert!(now + timeout <= start + Duration::from_secs(12 * 60 * 60));
                    held.has_been_renewed(at(now), timeout);
                }
                None if held.is_hidden(now) => {}
                None => break,
            }
        }
        assert!((1_430..1_450).contains(&renewals), "{renewals}");
        assert!(held.due > start + Duration::from_secs((12 * 60 - 3) * 60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_is_set_aside_takes_few_renewals() {
        let mut held = HeldMessage::new(Message::builder().build(), "handle".into(), None, VISIBILITY);
        held.phase = Phase::Aside;
        let start = Instant::now();
        let mut renewals = 0;
        while held.due < start + Duration::from_secs(60 * 60) {
            let now = held.due;
            let timeout = held.renewal(now, VISIBILITY).unwrap();
            assert!(now < start + Duration::from_secs(60 * 60) && timeout == ASIDE);
            held.has_been_renewed(at(now), timeout);
            renewals += 1;
        }
        assert!((7..=9).contains(&renewals), "{renewals}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_visible_after_its_time_although_the_machine_has_slept() {
        let mut held = HeldMessage::new(Message::builder().build(), "handle".into(), None, VISIBILITY);
        let now = Instant::now();
        assert!(held.is_hidden(now));
        // The clock of the process has stopped.
        held.hidden_at.time -= VISIBILITY;
        assert!(!held.is_hidden(now));
        assert_eq!(held.renewal(now, VISIBILITY), None);
    }
}
