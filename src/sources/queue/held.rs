//! The messages that are held, from the answer that brought them until the queue has deleted them or made them visible again.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use futures::task::AtomicWaker;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::held_message::{HeldMessage, Phase};
use super::progress::{ReceiveError, ReceiveFigures};
use crate::report::Cause;

/// Messages that were accepted elsewhere and could not be deleted: so many are remembered.
const MOST_REMEMBERED: usize = 100_000;

/// What the stream, its tickets, its calls and the task that settles share.
pub(super) struct Held {
    state: Mutex<State>,
    /// Wakes the task that settles.
    pub(super) work: Notify,
    /// Wakes the stream.
    pub(super) stream: AtomicWaker,
    /// Everything is settled.
    pub(super) ended: CancellationToken,
}

struct State {
    is_fifo: bool,
    visibility: Duration,
    /// The stream has ended.
    is_closed: bool,
    /// Receives that were not answered yet.
    calls: usize,
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
    failure: Option<ReceiveError>,
    figures: ReceiveFigures,
}

/// How much is held, for the decision whether to receive more.
pub(super) struct Load {
    /// Messages that count for the window.
    pub(super) underway: usize,
    /// Messages that wait to be taken.
    pub(super) ready: usize,
    pub(super) active_at: Instant,
}

/// What is to be done for held messages.
pub(super) struct Work {
    pub(super) deletions: Vec<(u64, String)>,
    pub(super) releases: Vec<(u64, String)>,
    pub(super) renewals: Vec<(u64, String, Duration)>,
    /// When there may be more.
    pub(super) next: Option<Instant>,
    /// Nothing is held, and nothing will be.
    pub(super) is_over: bool,
}

impl Held {
    pub(super) fn new(is_fifo: bool, visibility: Duration) -> Self {
        Self {
            state: Mutex::new(State {
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
            }),
            work: Notify::new(),
            stream: AtomicWaker::new(),
            ended: CancellationToken::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes both that depend on it.
    fn change<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        let result = act(&mut self.state());
        self.work.notify_one();
        self.stream.wake();
        result
    }

    pub(super) fn figures(&self) -> ReceiveFigures {
        let state = self.state();
        ReceiveFigures {
            held: state.messages.len() as u64,
            ..state.figures
        }
    }

    pub(super) async fn finished(&self) {
        self.ended.cancelled().await;
    }

    // The calls.

    pub(super) fn call_begins(&self) {
        self.state().calls += 1;
    }

    pub(super) fn call_ends(&self) {
        self.change(|state| state.calls -= 1);
    }

    pub(super) fn is_open(&self) -> bool {
        !self.state().is_closed
    }

    /// A call may have hidden messages without anybody here knowing them.
    pub(super) fn is_in_doubt(&self) {
        self.change(|state| state.active_at = Instant::now() + state.visibility);
    }

    pub(super) fn has_received(&self, messages: Vec<Message>) {
        self.change(|state| messages.into_iter().for_each(|message| state.hold(message)));
    }

    // The stream.

    pub(super) fn load(&self) -> Load {
        let state = self.state();
        Load {
            underway: state.messages.len() - state.aside,
            ready: state.ready.len(),
            active_at: state.active_at,
        }
    }

    /// Messages that may become ready: they wait behind others of their groups.
    pub(super) fn waiting(&self) -> usize {
        let state = self.state();
        state.ready.len() + state.groups.values().map(VecDeque::len).sum::<usize>()
    }

    /// The next message and its number, if one is ready.
    pub(super) fn take(&self) -> Option<(u64, Message)> {
        self.state().take()
    }

    pub(super) fn take_failure(&self) -> Option<ReceiveError> {
        self.state().failure.take()
    }

    /// The stream has ended: what was not handed out is released, and what was set aside.
    pub(super) fn close(&self) {
        self.change(State::close);
    }

    // The tickets.

    pub(super) fn settle(&self, number: u64) {
        self.change(|state| state.settle(number));
    }

    pub(super) fn release(&self, number: u64) {
        self.change(|state| state.give_back(number, Phase::Releasing));
    }

    pub(super) fn set_aside(&self, number: u64) {
        self.change(|state| {
            let phase = if state.is_closed {
                Phase::Releasing
            } else {
                Phase::Aside
            };
            state.give_back(number, phase);
        });
    }

    pub(super) fn is_current(&self, number: u64) -> bool {
        let state = self.state();
        state.messages.get(&number).is_some_and(|held| !held.has_expired)
    }

    // The task.

    pub(super) fn take_work(&self) -> Work {
        let work = self.state().take_work(Instant::now());
        // Messages may have expired.
        self.stream.wake();
        work
    }

    pub(super) fn deleted(&self, number: u64, outcome: Result<(), Cause>) {
        self.change(|state| state.deleted(number, outcome));
    }

    pub(super) fn released(&self, number: u64, outcome: Result<(), Cause>) {
        self.change(|state| {
            state.remove(number);
            match outcome {
                Ok(()) => state.figures.released += 1,
                Err(cause) => {
                    state.figures.expired += 1;
                    state.visibility_failed(cause);
                }
            }
        });
    }

    pub(super) fn renewed(&self, number: u64, at: Instant, timeout: Duration, outcome: Result<(), Cause>) {
        self.change(|state| match outcome {
            Ok(()) => state.reschedule(number, |held| held.has_been_renewed(at, timeout)),
            Err(cause) if is_of_the_handle(&cause) => state.expire(number),
            Err(cause) => state.visibility_failed(cause),
        });
    }
}

impl State {
    fn hold(&mut self, mut message: Message) {
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

    fn take(&mut self) -> Option<(u64, Message)> {
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

    fn close(&mut self) {
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

    fn settle(&mut self, number: u64) {
        let Some(held) = self.handed_out(number) else {
            return;
        };
        let group = held.group.clone();
        self.enter(number, Phase::Deleting);
        let Some(group) = group else { return };
        match self.groups.get_mut(&group).map(VecDeque::pop_front) {
            Some(Some(next)) => self.ready.push_back(next),
            Some(None) => drop(self.groups.remove(&group)),
            None => {}
        }
    }

    /// The message is released or set aside, and with it those that wait behind it.
    fn give_back(&mut self, number: u64, phase: Phase) {
        let Some(held) = self.handed_out(number) else {
            return;
        };
        let (group, has_expired) = (held.group.clone(), held.has_expired);
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

    fn deleted(&mut self, number: u64, outcome: Result<(), Cause>) {
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

    fn take_work(&mut self, now: Instant) -> Work {
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

const GROUP: MessageSystemAttributeName = MessageSystemAttributeName::MessageGroupId;

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
