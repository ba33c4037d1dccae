//! What is held: the messages by their numbers, the groups whose messages wait, and what is due.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use tokio::time::Instant;

use crate::report::Cause;
use crate::sources::queue::held_message::{HeldMessage, Phase};
use crate::sources::queue::progress::{ReceiveError, ReceiveFigures};

/// Messages that were accepted elsewhere and could not be deleted: so many are remembered.
const MOST_REMEMBERED: usize = 100_000;

const GROUP: MessageSystemAttributeName = MessageSystemAttributeName::MessageGroupId;

/// What is held, and what is due for it.
pub(super) struct State {
    is_fifo: bool,
    visibility: Duration,
    /// The stream has ended.
    pub(super) is_closed: bool,
    /// Receives that were not answered yet.
    pub(super) calls: usize,
    next: u64,
    messages: HashMap<u64, HeldMessage>,
    ready: VecDeque<u64>,
    /// The groups of which a message is ready or handed out, and the messages that wait behind it.
    groups: HashMap<Arc<str>, VecDeque<u64>>,
    due: BTreeSet<(Instant, u64)>,
    aside: usize,
    to_delete: Vec<u64>,
    to_release: Vec<u64>,
    /// When a message was underway last, or may have been.
    active_at: Instant,
    /// The ids of messages that were settled and not deleted.
    undeleted: HashSet<String>,
    pub(super) failure: Option<ReceiveError>,
    figures: ReceiveFigures,
}

/// How much is held, for the decision whether to receive more.
pub(crate) struct Load {
    /// Messages that count for the window.
    pub(crate) underway: usize,
    /// Messages that wait to be taken.
    pub(crate) ready: usize,
    pub(crate) active_at: Instant,
}

/// What is to be done for held messages.
pub(crate) struct Work {
    pub(crate) deletions: Vec<(u64, String)>,
    pub(crate) releases: Vec<(u64, String)>,
    pub(crate) renewals: Vec<(u64, String, Duration)>,
    /// When there may be more.
    pub(crate) next: Option<Instant>,
    /// Nothing is held, and nothing will be.
    pub(crate) is_over: bool,
}

impl State {
    pub(super) fn new(is_fifo: bool, visibility: Duration) -> Self {
        Self {
            is_fifo,
            visibility,
            is_closed: false,
            calls: 0,
            next: 0,
            messages: HashMap::new(),
            ready: VecDeque::new(),
            groups: HashMap::new(),
            due: BTreeSet::new(),
            aside: 0,
            to_delete: Vec::new(),
            to_release: Vec::new(),
            active_at: Instant::now(),
            undeleted: HashSet::new(),
            failure: None,
            figures: ReceiveFigures::default(),
        }
    }

    pub(super) fn figures(&self) -> ReceiveFigures {
        ReceiveFigures {
            held: self.messages.len() as u64,
            ..self.figures
        }
    }

    /// A call may have hidden messages.
    pub(super) fn is_in_doubt(&mut self) {
        self.active_at = Instant::now() + self.visibility;
    }

    pub(super) fn load(&self) -> Load {
        Load {
            underway: self.messages.len() - self.aside,
            ready: self.ready.len(),
            active_at: self.active_at,
        }
    }

    /// Messages that may become ready.
    pub(super) fn waiting(&self) -> usize {
        self.ready.len() + self.groups.values().map(VecDeque::len).sum::<usize>()
    }

    pub(super) fn is_current(&self, number: u64) -> bool {
        self.messages.get(&number).is_some_and(|held| !held.has_expired)
    }

    pub(super) fn hold(&mut self, mut message: Message) {
        let Some(handle) = message.receipt_handle.take() else {
            return;
        };
        self.figures.received += 1;
        self.active_at = self.active_at.max(Instant::now());
        let group = message.attributes().and_then(|attributes| attributes.get(&GROUP));
        let group = group.filter(|_| self.is_fifo).map(|group| Arc::from(group.as_str()));
        let number = self.next;
        self.next += 1;
        let held = HeldMessage::new(message, handle, group, self.visibility);
        self.due.insert((held.due, number));
        let is_done = self.undeleted.contains(&held.id);
        let group = held.group.clone();
        self.messages.insert(number, held);
        if is_done {
            self.enter(number, Phase::Deleting);
        } else if self.is_closed {
            self.enter(number, Phase::Releasing);
        } else if let Some(waiting) = group.as_ref().and_then(|group| self.groups.get_mut(group)) {
            waiting.push_back(number);
        } else {
            self.groups.extend(group.map(|group| (group, VecDeque::new())));
            self.ready.push_back(number);
        }
    }

    pub(super) fn take(&mut self) -> Option<(u64, Message)> {
        while let Some(number) = self.ready.pop_front() {
            let Some(held) = self.messages.get_mut(&number) else {
                continue;
            };
            if let Some(message) = held.message.take() {
                held.phase = Phase::HandedOut;
                return Some((number, message));
            }
        }
        None
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.ready.clear();
        self.groups.clear();
        let is_left = |held: &HeldMessage| matches!(held.phase, Phase::Waiting | Phase::Aside);
        let left = self.messages.iter().filter(|(_, held)| is_left(held));
        let left: Vec<u64> = left.map(|(number, _)| *number).collect();
        for number in left {
            self.enter(number, Phase::Releasing);
        }
    }

    pub(super) fn settle(&mut self, number: u64) {
        let Some(held) = self.handed_out(number) else {
            return;
        };
        let group = held.current_group();
        self.enter(number, Phase::Deleting);
        let Some(group) = group else { return };
        match self.groups.get_mut(&group).map(VecDeque::pop_front) {
            Some(Some(next)) => self.ready.push_back(next),
            Some(None) => drop(self.groups.remove(&group)),
            None => {}
        }
    }

    pub(super) fn release(&mut self, number: u64) {
        self.give_back(number, Phase::Releasing);
    }

    pub(super) fn set_aside(&mut self, number: u64) {
        let phase = if self.is_closed { Phase::Releasing } else { Phase::Aside };
        self.give_back(number, phase);
    }

    /// The message is released or set aside, and with it those that wait behind it.
    fn give_back(&mut self, number: u64, phase: Phase) {
        let Some(held) = self.handed_out(number) else {
            return;
        };
        let (group, has_expired) = (held.current_group(), held.has_expired);
        self.hold_back(group.as_ref(), phase);
        if has_expired {
            self.remove(number);
        } else {
            self.enter(number, phase);
        }
    }

    /// The message, if it is handed out.
    fn handed_out(&self, number: u64) -> Option<&HeldMessage> {
        let held = self.messages.get(&number);
        held.filter(|held| held.phase == Phase::HandedOut)
    }

    fn hold_back(&mut self, group: Option<&Arc<str>>, phase: Phase) {
        let waiting = group.and_then(|group| self.groups.remove(group));
        for number in waiting.into_iter().flatten() {
            self.enter(number, phase);
        }
    }

    fn enter(&mut self, number: u64, phase: Phase) {
        let Some(held) = self.messages.get_mut(&number) else {
            return;
        };
        self.aside -= usize::from(held.phase == Phase::Aside);
        self.aside += usize::from(phase == Phase::Aside);
        held.phase = phase;
        held.message = None;
        match phase {
            Phase::Deleting => self.to_delete.push(number),
            Phase::Releasing => {
                self.due.remove(&(held.due, number));
                self.to_release.push(number);
            }
            Phase::Aside => self.active_at = self.active_at.max(Instant::now()),
            Phase::Waiting | Phase::HandedOut => {}
        }
    }

    fn remove(&mut self, number: u64) -> Option<HeldMessage> {
        let held = self.messages.remove(&number)?;
        self.due.remove(&(held.due, number));
        self.aside -= usize::from(held.phase == Phase::Aside);
        self.active_at = self.active_at.max(Instant::now());
        Some(held)
    }

    pub(super) fn deleted(&mut self, number: u64, outcome: Result<(), Cause>) {
        let Some(held) = self.remove(number) else {
            return;
        };
        let Err(cause) = outcome else {
            self.figures.deleted += 1;
            self.undeleted.remove(&held.id);
            return;
        };
        self.figures.undeleted += 1;
        if self.undeleted.len() < MOST_REMEMBERED {
            self.undeleted.insert(held.id);
        }
        if !is_of_the_handle(&cause) {
            self.fail("DeleteMessageBatch", cause);
        }
    }

    pub(super) fn released(&mut self, number: u64, outcome: Result<(), Cause>) {
        self.remove(number);
        match outcome {
            Ok(()) => self.figures.released += 1,
            Err(cause) => {
                self.figures.expired += 1;
                self.visibility_failed(cause);
            }
        }
    }

    pub(super) fn renewed(&mut self, number: u64, at: Instant, timeout: Duration, outcome: Result<(), Cause>) {
        match outcome {
            Ok(()) => self.reschedule(number, |held| held.has_been_renewed(at, timeout)),
            Err(cause) if is_of_the_handle(&cause) => self.expire(number),
            Err(cause) => self.visibility_failed(cause),
        }
    }

    fn visibility_failed(&mut self, cause: Cause) {
        // When the time for a call is used up, the messages come again, as after any other expiry.
        let is_late = matches!(cause, Cause::TimeUsedUp(_) | Cause::Outage { .. });
        if !is_late && !is_of_the_handle(&cause) {
            self.fail("ChangeMessageVisibilityBatch", cause);
        }
    }

    fn fail(&mut self, operation: &'static str, cause: Cause) {
        self.failure.get_or_insert(ReceiveError { operation, cause });
    }

    /// Changes when the message is due.
    fn reschedule(&mut self, number: u64, change: impl FnOnce(&mut HeldMessage)) {
        let Some(held) = self.messages.get_mut(&number) else {
            return;
        };
        let was_scheduled = self.due.remove(&(held.due, number));
        change(held);
        if was_scheduled {
            self.due.insert((held.due, number));
        }
    }

    /// The message may be visible to others.
    fn expire(&mut self, number: u64) {
        let Some(held) = self.messages.get_mut(&number) else {
            return;
        };
        // A renewal that comes after the deletion says nothing, and a released message is to be visible.
        if held.has_expired || matches!(held.phase, Phase::Deleting | Phase::Releasing) {
            return;
        }
        held.has_expired = true;
        self.due.remove(&(held.due, number));
        let (phase, group) = (held.phase, held.group.clone());
        self.figures.expired += 1;
        match phase {
            Phase::Waiting => {
                self.ready.retain(|ready| *ready != number);
                self.messages.remove(&number);
                self.hold_back(group.as_ref(), Phase::Releasing);
            }
            Phase::Aside => drop(self.remove(number)),
            _ => self.hold_back(group.as_ref(), Phase::Releasing),
        }
    }

    pub(super) fn take_work(&mut self, now: Instant) -> Work {
        let soon = now + self.visibility / 16;
        let mut due = Vec::new();
        while let Some(&(at, number)) = self.due.first().filter(|(at, _)| *at <= soon) {
            self.due.remove(&(at, number));
            due.push(number);
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
            releases: self.with_handles(releases),
            renewals,
            next: self.due.first().map(|(at, _)| *at),
            is_over: self.is_closed && self.calls == 0 && self.messages.is_empty(),
        }
    }

    fn with_handles(&self, numbers: Vec<u64>) -> Vec<(u64, String)> {
        let handle = |number| Some((number, self.messages.get(&number)?.handle.clone()));
        numbers.into_iter().filter_map(handle).collect()
    }
}

/// Whether only this receipt handle is refused: its message was received again, its time is over, it was deleted.
fn is_of_the_handle(cause: &Cause) -> bool {
    match cause {
        Cause::Invalid(_) => true,
        Cause::Refused(fault) => [
            "ReceiptHandle",
            "InvalidParameterValue",
            "NotInflight",
            "InvalidIdFormat",
        ]
        .iter()
        .any(|code| fault.code().contains(code)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: u32) -> Message {
        let message = Message::builder()
            .message_id(id.to_string())
            .receipt_handle(id.to_string());
        message.attributes(GROUP, "group").build()
    }

    fn taken(state: &mut State) -> Option<u64> {
        state.take().map(|(number, _)| number)
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_has_expired_moves_nothing_of_its_group() {
        let settled: fn(&mut State, u64) = State::settle;
        for end in [settled, State::release, State::set_aside] {
            let mut state = State::new(true, Duration::from_mins(1));
            state.hold(message(1));
            let expired = taken(&mut state).unwrap();
            state.expire(expired);
            // It is received again, with what stands behind it.
            for id in [1, 2, 3] {
                state.hold(message(id));
            }
            let again = taken(&mut state).unwrap();
            end(&mut state, expired);
            assert_eq!((taken(&mut state), state.waiting()), (None, 2));
            state.settle(again);
            assert!(taken(&mut state).is_some_and(|next| next > again));
            assert_eq!(taken(&mut state), None);
        }
    }
}
