//! The messages of a queue: ready, delayed, or in flight.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

/// A message, and its state.
#[derive(Debug)]
pub(super) struct StoredMessage {
    pub(super) body: Box<str>,
    pub(super) attributes: Option<Box<Value>>,
    pub(super) group: Option<Arc<str>>,
    pub(super) deduplication_id: Option<Box<str>>,
    /// `AWSTraceHeader`.
    pub(super) trace: Option<Box<str>>,
    pub(super) sent_at: Instant,
    pub(super) receives: u32,
    /// The id that another queue gave it, if it was sent to that one.
    pub(super) first_id: Option<Box<str>>,
    /// The ARN of the queue from which it was moved as a dead letter.
    pub(super) dead_letter_of: Option<Arc<str>>,
    /// When it was received last.
    pub(super) received_at: Option<Instant>,
    state: MessageState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageState {
    Ready,
    Delayed(Instant),
    InFlight(Instant),
}

impl StoredMessage {
    pub(super) fn new(body: &str, sent_at: Instant) -> Self {
        Self {
            body: body.into(),
            attributes: None,
            group: None,
            deduplication_id: None,
            trace: None,
            sent_at,
            receives: 0,
            first_id: None,
            dead_letter_of: None,
            received_at: None,
            state: MessageState::Ready,
        }
    }
}

/// One group of a FIFO queue.
#[derive(Debug, Default)]
struct Group {
    ready: BTreeSet<u64>,
    in_flight: BTreeSet<u64>,
    is_queued: bool,
}

impl Group {
    /// The next message: no message may overtake one in flight, but one that is ready again need not wait for those after it.
    fn next(&self) -> Option<u64> {
        let next = self.ready.first().copied();
        next.filter(|next| self.in_flight.first().is_none_or(|held| next < held))
    }

    /// All messages that may be handed out together.
    fn take(&mut self, most: usize) -> Vec<u64> {
        let held = self.in_flight.first().copied().unwrap_or(u64::MAX);
        let numbers: Vec<u64> = self.ready.range(..held).copied().take(most).collect();
        for number in &numbers {
            self.ready.remove(number);
            self.in_flight.insert(*number);
        }
        numbers
    }
}

/// Messages are numbered in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Store {
    is_fifo: bool,
    messages: HashMap<u64, StoredMessage>,
    /// May contain the numbers of messages that were deleted.
    ready: VecDeque<u64>,
    groups: HashMap<Arc<str>, Group>,
    /// Groups with a message that may be handed out.
    free_groups: VecDeque<Arc<str>>,
    delayed: BTreeSet<(Instant, u64)>,
    in_flight: BTreeSet<(Instant, u64)>,
}

impl Store {
    pub(super) fn new(is_fifo: bool) -> Self {
        Self {
            is_fifo,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn delayed(&self) -> usize {
        self.delayed.len()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = (u64, &StoredMessage)> {
        self.messages.iter().map(|(number, message)| (*number, message))
    }

    pub(super) fn get(&self, number: u64) -> Option<&StoredMessage> {
        self.messages.get(&number)
    }

    pub(super) fn add(&mut self, number: u64, mut message: StoredMessage, delay: Duration) {
        if delay.is_zero() {
            self.messages.insert(number, message);
            self.make_ready(number);
        } else {
            let due = message.sent_at + delay;
            message.state = MessageState::Delayed(due);
            self.delayed.insert((due, number));
            self.messages.insert(number, message);
        }
    }

    /// Hands out up to `most` messages of those that were ready when the store was [settled](Self::settle) last. No other request gets
    /// them for the time of `visibility`.
    pub(super) fn take(&mut self, now: Instant, most: usize, visibility: Duration) -> Vec<u64> {
        let numbers = if self.is_fifo {
            self.take_from_groups(most)
        } else {
            self.take_any(most)
        };
        for &number in &numbers {
            if let Some(message) = self.messages.get_mut(&number) {
                message.receives += 1;
                message.received_at = Some(now);
                message.state = MessageState::InFlight(now + visibility);
                self.in_flight.insert((now + visibility, number));
            }
        }
        numbers
    }

    /// When the next delay or visibility timeout ends.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let first = |set: &BTreeSet<(Instant, u64)>| set.first().map(|(due, _)| *due);
        match (first(&self.delayed), first(&self.in_flight)) {
            (Some(delayed), Some(in_flight)) => Some(delayed.min(in_flight)),
            (delayed, in_flight) => delayed.or(in_flight),
        }
    }

    /// Whether the message is still hidden and was not received again after its receive with this count.
    pub(super) fn is_held(&self, number: u64, receives: u32) -> bool {
        let message = self.messages.get(&number);
        message
            .is_some_and(|message| message.receives == receives && matches!(message.state, MessageState::InFlight(_)))
    }

    /// Hides a message until this time if it is in flight.
    pub(super) fn hide(&mut self, number: u64, until: Instant) {
        let Some(message) = self.messages.get_mut(&number) else {
            return;
        };
        if let MessageState::InFlight(due) = message.state {
            message.state = MessageState::InFlight(until);
            self.in_flight.remove(&(due, number));
            self.in_flight.insert((until, number));
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<StoredMessage> {
        let message = self.messages.remove(&number)?;
        match message.state {
            MessageState::Ready => {}
            MessageState::Delayed(due) => {
                self.delayed.remove(&(due, number));
            }
            MessageState::InFlight(due) => {
                self.in_flight.remove(&(due, number));
            }
        }
        if let Some(name) = message.group.as_ref().filter(|_| self.is_fifo) {
            if let Some(group) = self.groups.get_mut(name) {
                group.ready.remove(&number);
                group.in_flight.remove(&number);
            }
            self.offer(name);
        }
        Some(message)
    }

    /// Makes the messages ready whose delay or visibility timeout is over.
    pub(super) fn settle(&mut self, now: Instant) {
        while let Some(&(_, number)) = self.delayed.first().filter(|(due, _)| *due <= now) {
            self.delayed.pop_first();
            self.make_ready(number);
        }
        let mut groups = Vec::new();
        while let Some(&(_, number)) = self.in_flight.first().filter(|(due, _)| *due <= now) {
            self.in_flight.pop_first();
            let group = self.messages.get(&number).and_then(|message| message.group.as_ref());
            if let Some(group) = group.and_then(|name| self.groups.get_mut(name)) {
                group.in_flight.remove(&number);
            }
            groups.extend(self.show(number));
        }
        // In the order in which the last message of each has become ready.
        let mut seen = HashSet::new();
        groups.reverse();
        groups.retain(|name| seen.insert(Arc::clone(name)));
        for name in groups.iter().rev() {
            self.offer(name);
        }
    }

    fn make_ready(&mut self, number: u64) {
        if let Some(name) = self.show(number) {
            self.offer(&name);
        }
    }

    /// Makes a message ready, and returns its group in a FIFO queue, which is not offered yet.
    fn show(&mut self, number: u64) -> Option<Arc<str>> {
        let message = self.messages.get_mut(&number)?;
        message.state = MessageState::Ready;
        let name = message.group.clone().filter(|_| self.is_fifo);
        match &name {
            Some(name) => {
                self.groups.entry(Arc::clone(name)).or_default().ready.insert(number);
            }
            None => self.ready.push_back(number),
        }
        name
    }

    /// Queues a group that has a message to hand out, and forgets a group that has none at all.
    fn offer(&mut self, name: &Arc<str>) {
        let Some(group) = self.groups.get_mut(name) else {
            return;
        };
        if group.is_queued {
            return;
        }
        if group.ready.is_empty() && group.in_flight.is_empty() {
            self.groups.remove(name);
        } else if group.next().is_some() {
            group.is_queued = true;
            self.free_groups.push_back(Arc::clone(name));
        }
    }

    fn take_any(&mut self, most: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < most {
            let Some(number) = self.ready.pop_front() else { break };
            let message = self.messages.get(&number);
            if message.is_some_and(|message| message.state == MessageState::Ready) {
                numbers.push(number);
            }
        }
        numbers
    }

    fn take_from_groups(&mut self, most: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < most {
            let Some(name) = self.free_groups.pop_front() else {
                break;
            };
            if let Some(group) = self.groups.get_mut(&name) {
                group.is_queued = false;
                numbers.extend(group.take(most - numbers.len()));
            }
            self.offer(&name);
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn take(store: &mut Store, now: Instant, most: usize) -> Vec<u64> {
        store.settle(now);
        store.take(now, most, TIMEOUT)
    }

    fn add(store: &mut Store, number: u64, group: Option<&str>, now: Instant) {
        let message = StoredMessage {
            group: group.map(Arc::from),
            ..StoredMessage::new("body", now)
        };
        store.add(number, message, Duration::ZERO);
    }

    #[test]
    fn a_message_in_flight_is_hidden_until_its_timeout() {
        let now = Instant::now();
        let mut store = Store::new(false);
        add(&mut store, 1, None, now);
        assert_eq!(take(&mut store, now, 10), [1]);
        assert!(take(&mut store, now, 10).is_empty());
        assert_eq!(take(&mut store, now + TIMEOUT, 10), [1]);
        store.remove(1);
        assert!(take(&mut store, now + TIMEOUT * 3, 10).is_empty());
        assert_eq!((store.len(), store.in_flight()), (0, 0));
    }

    #[test]
    fn a_delayed_message_is_ready_when_its_delay_is_over() {
        let now = Instant::now();
        let mut store = Store::new(false);
        store.add(1, StoredMessage::new("body", now), Duration::from_secs(5));
        assert!(take(&mut store, now + Duration::from_secs(4), 1).is_empty());
        assert_eq!(store.next_due(), Some(now + Duration::from_secs(5)));
        assert_eq!(take(&mut store, now + Duration::from_secs(5), 1), [1]);
    }

    #[test]
    fn a_group_with_messages_in_flight_is_held() {
        let now = Instant::now();
        let mut store = Store::new(true);
        for (number, group) in [(1, "a"), (2, "a"), (3, "b"), (4, "a")] {
            add(&mut store, number, Some(group), now);
        }
        assert_eq!(take(&mut store, now, 2), [1, 2]);
        assert_eq!(take(&mut store, now, 10), [3], "the group a is held");
        store.remove(1);
        assert!(take(&mut store, now, 10).is_empty(), "2 is still in flight");
        assert_eq!(
            take(&mut store, now + TIMEOUT, 10),
            [2, 4, 3],
            "a message that is ready again comes before later ones"
        );
    }

    #[test]
    fn a_message_that_is_ready_again_overtakes_none_in_flight() {
        let now = Instant::now();
        let mut store = Store::new(true);
        for number in 1..=4 {
            add(&mut store, number, Some("a"), now);
        }
        assert_eq!(take(&mut store, now, 3), [1, 2, 3]);
        store.hide(1, now);
        assert_eq!(
            take(&mut store, now, 10),
            [1],
            "2 and 3 are in flight, 4 comes after them"
        );
        store.hide(2, now);
        assert!(take(&mut store, now, 10).is_empty(), "1 is in flight");
        store.remove(1);
        assert_eq!(take(&mut store, now, 10), [2]);
    }

    #[test]
    fn a_message_that_is_not_hidden_is_handed_out_once_for_each_time_that_is_settled() {
        let now = Instant::now();
        for is_fifo in [false, true] {
            let mut store = Store::new(is_fifo);
            add(&mut store, 1, Some("a"), now);
            store.settle(now);
            assert_eq!(store.take(now, 10, Duration::ZERO), [1]);
            assert!(store.take(now, 10, Duration::ZERO).is_empty());
            assert_eq!(take(&mut store, now, 10), [1]);
        }
    }

    #[test]
    fn groups_that_are_empty_are_forgotten() {
        let now = Instant::now();
        let mut store = Store::new(true);
        for number in 0..100 {
            add(&mut store, number, Some(&number.to_string()), now);
        }
        for number in take(&mut store, now, 100) {
            store.remove(number);
        }
        assert!(store.groups.is_empty());
    }
}
