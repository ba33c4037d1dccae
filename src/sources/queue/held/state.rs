//! What is held: the messages by their numbers, and the groups whose messages wait.

mod results;
mod work;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use tokio::time::Instant;

use super::deletions::Deletions;
use super::groups::Groups;
use super::reading_ahead::ReadingAhead;
use crate::services::sqs::MAX_MESSAGES;
use crate::sources::error::SourceError;
use crate::sources::queue::held_message::{HeldMessage, Phase};
use crate::sources::queue::progress::ReceiveFigures;

/// Messages that may be set aside, less some for those that others have received: SQS hides about 120,000 of a queue, and answers further
/// receives that wait as if the queue was empty. From "Amazon SQS message quotas".
const MOST_ASIDE: usize = 115_000;

/// Messages that were settled and may not be deleted: this many are remembered.
const MOST_REMEMBERED: usize = 100_000;

const GROUP: MessageSystemAttributeName = MessageSystemAttributeName::MessageGroupId;

/// What is held, and what is due for it.
pub(crate) struct HeldState {
    is_fifo: bool,
    visibility: Duration,
    stage: Stage,
    /// Receives that were not answered yet.
    pub(crate) calls: usize,
    next: u64,
    messages: HashMap<u64, HeldMessage>,
    ready: VecDeque<u64>,
    groups: Groups,
    due: BTreeSet<(Instant, u64)>,
    aside: usize,
    handed_out: usize,
    reading_ahead: ReadingAhead,
    /// How often a message is received before it becomes a dead letter, if that is known.
    max_receives: Option<u32>,
    /// How often the message that came last was received.
    last_receives: u32,
    /// The queue was asked for it, and may have answered.
    pub(crate) is_prepared: bool,
    to_delete: Vec<u64>,
    to_release: Vec<u64>,
    /// When a message was last in progress, or may have been.
    active_at: Instant,
    /// When a message was received, taken or settled last.
    changed_at: Instant,
    /// The ids of messages that were settled, and may not be deleted: when one is received again, it is only deleted.
    undeleted: HashSet<String>,
    deletions: Deletions,
    pub(crate) failure: Option<SourceError>,
    figures: ReceiveFigures,
}

/// How far the stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Receiving,
    /// No more messages are received, so one that is released does not come again.
    Complete,
    /// The stream has ended.
    Closed,
}

/// How much is held, for the decision whether to receive more.
pub(crate) struct Load {
    /// Messages that count for the window.
    pub(crate) underway: usize,
    /// Messages that wait to be taken.
    pub(crate) ready: usize,
    /// Messages whose tickets exist.
    pub(crate) handed_out: usize,
    /// Messages that are to be there or on their way.
    pub(crate) wanted: usize,
    /// Messages of a call at most.
    pub(crate) together: usize,
    /// As many messages are set aside as SQS hides.
    pub(crate) is_full: bool,
    pub(crate) active_at: Instant,
    pub(crate) changed_at: Instant,
}

impl Load {
    /// Whether nothing continues before a message that was handed out is settled or released.
    pub(crate) fn is_held_up(&self) -> bool {
        self.handed_out > 0 && self.ready == 0
    }
}

/// What is to be done for held messages.
pub(crate) struct Work {
    pub(crate) deletions: Vec<(u64, String)>,
    pub(crate) releases: Vec<(u64, String, Duration)>,
    pub(crate) renewals: Vec<(u64, String, Duration)>,
    /// When there may be more.
    pub(crate) next: Option<Instant>,
    /// Nothing is held, and nothing will be.
    pub(crate) is_over: bool,
}

impl HeldState {
    pub(crate) fn new(is_fifo: bool, visibility: Duration, window: usize) -> Self {
        Self {
            is_fifo,
            visibility,
            stage: Stage::Receiving,
            calls: 0,
            next: 0,
            messages: HashMap::new(),
            ready: VecDeque::new(),
            groups: Groups::default(),
            due: BTreeSet::new(),
            aside: 0,
            handed_out: 0,
            reading_ahead: ReadingAhead::new(window),
            max_receives: None,
            last_receives: 1,
            is_prepared: false,
            to_delete: Vec::new(),
            to_release: Vec::new(),
            active_at: Instant::now(),
            changed_at: Instant::now(),
            undeleted: HashSet::new(),
            deletions: Deletions::default(),
            failure: None,
            figures: ReceiveFigures::default(),
        }
    }

    pub(crate) fn figures(&self) -> ReceiveFigures {
        ReceiveFigures {
            held: self.messages.len() as u64,
            ..self.figures
        }
    }

    /// A call may have hidden messages without anybody here knowing them.
    pub(crate) fn is_in_doubt(&mut self) {
        self.active_at = self.active_at.max(Instant::now() + self.visibility);
    }

    /// Messages become dead letters after this many receives; `None` if they never do.
    pub(crate) fn limit_receives(&mut self, max_receives: Option<u32>) {
        self.max_receives = max_receives;
    }

    /// The stream has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.stage == Stage::Closed
    }

    /// No more messages are received, and those that are held stay. What waits behind released ones is released as well.
    pub(crate) fn receives_no_more(&mut self) {
        self.stage = Stage::Complete;
        for number in self.groups.take_released() {
            self.enter(number, Phase::Releasing);
        }
    }

    fn receives(&self, number: u64) -> u32 {
        self.messages.get(&number).map_or(0, |held| held.receives)
    }

    /// Whether the message becomes a dead letter when it is received again.
    fn is_last_receive(&self, number: u64) -> bool {
        self.max_receives.is_some_and(|most| self.receives(number) >= most)
    }

    /// Whether messages can do with a receive less: one that is received and not handed out, when the process ends, has lost it. Those of
    /// now have used half of them at most.
    fn can_spare_receives(&self) -> bool {
        let next = self.ready.front().map_or(0, |number| self.receives(*number));
        let used = self.last_receives.max(next);
        self.max_receives.is_none_or(|most| used <= most / 2)
    }

    pub(crate) fn load(&mut self) -> Load {
        let can_spare = self.can_spare_receives();
        let wanted = self.reading_ahead.wanted(Instant::now(), self.handed_out, can_spare);
        Load {
            underway: self.messages.len() - self.aside,
            ready: self.ready.len(),
            handed_out: self.handed_out,
            wanted,
            // Several may be of one group.
            together: if can_spare || !self.is_fifo { MAX_MESSAGES } else { 1 },
            is_full: self.aside >= MOST_ASIDE,
            active_at: self.active_at,
            changed_at: self.changed_at,
        }
    }

    /// Messages that may become ready: they wait behind others of their groups.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() + self.groups.waiting()
    }

    pub(crate) fn is_current(&self, number: u64) -> bool {
        let now = Instant::now();
        let held = self.messages.get(&number);
        held.is_some_and(|held| !held.has_expired && held.is_hidden(now))
    }

    pub(crate) fn hold(&mut self, mut message: Message) {
        let Some(handle) = message.receipt_handle.take() else {
            return;
        };
        self.figures.received += 1;
        self.changed_at = Instant::now();
        self.active_at = self.active_at.max(self.changed_at);
        let group = message.attributes().and_then(|attributes| attributes.get(&GROUP));
        let group = group.filter(|_| self.is_fifo).map(|group| Arc::from(group.as_str()));
        let number = self.next;
        self.next += 1;
        let held = HeldMessage::new(message, handle, group, self.visibility);
        self.due.insert((held.due, number));
        let is_done = self.undeleted.contains(&held.id);
        let (group, id) = (held.group.clone(), held.id.clone());
        self.last_receives = held.receives;
        self.messages.insert(number, held);
        if is_done {
            self.enter(number, Phase::Deleting);
        } else if self.is_closed() {
            self.enter(number, Phase::Releasing);
        } else if group.is_none_or(|group| self.groups.enter(&group, number, &id)) {
            self.is_ready(number);
        }
    }

    /// The message is the next one of its group. One that must not be received again is handed out before the others.
    fn is_ready(&mut self, number: u64) {
        if self.is_last_receive(number) {
            self.ready.push_front(number);
        } else {
            self.ready.push_back(number);
        }
    }

    /// The next message and its number, if one is ready.
    pub(crate) fn take(&mut self) -> Option<(u64, Message)> {
        let now = Instant::now();
        while let Some(number) = self.ready.pop_front() {
            let Some(held) = self.messages.get_mut(&number) else {
                continue;
            };
            // The task that renews may not have had a turn.
            if !held.is_hidden(now) {
                self.expire(number);
            } else if let Some(message) = held.message.take() {
                let held_for = held.age(now);
                held.phase = Phase::HandedOut;
                self.handed_out += 1;
                self.changed_at = now;
                self.reading_ahead.was_taken(held_for, self.handed_out);
                return Some((number, message));
            }
        }
        self.reading_ahead.is_awaited(self.handed_out);
        None
    }

    /// The stream has ended: what was not handed out is released, and what was set aside.
    pub(crate) fn close(&mut self) {
        self.stage = Stage::Closed;
        self.ready.clear();
        self.groups.clear();
        let is_left = |held: &HeldMessage| matches!(held.phase, Phase::Waiting | Phase::Aside);
        let left = self.messages.iter().filter(|(_, held)| is_left(held));
        let left: Vec<u64> = left.map(|(number, _)| *number).collect();
        for number in left {
            self.enter(number, Phase::Releasing);
        }
    }

    pub(crate) fn settle(&mut self, number: u64) {
        let Some(held) = self.handed_out(number) else {
            return;
        };
        let group = held.current_group();
        self.enter(number, Phase::Deleting);
        self.reading_ahead.was_settled(Instant::now());
        self.go_on(group.as_ref());
    }

    /// The next message of the group is ready.
    fn go_on(&mut self, group: Option<&Arc<str>>) {
        if let Some(next) = group.and_then(|group| self.groups.leave(group)) {
            self.is_ready(next);
        }
    }

    /// The message becomes visible after the delay. Those behind it in its group are kept: SQS gives it out again alone, although they
    /// are hidden, and each of them has a receive less if it is received again.
    pub(crate) fn release(&mut self, number: u64, delay: Duration) {
        let Some(held) = self.handed_out(number) else {
            return;
        };
        if held.has_expired {
            self.remove(number);
            return;
        }
        let (group, id) = (held.current_group(), held.id.clone());
        if let Some(held) = self.messages.get_mut(&number) {
            held.release_for(delay);
            let visible_at = Instant::now() + held.released_for;
            self.active_at = self.active_at.max(visible_at);
            match &group {
                // It does not come again.
                _ if self.is_last_receive(number) => self.go_on(group.as_ref()),
                _ if self.stage == Stage::Complete => self.hold_back(group.as_ref(), Phase::Releasing),
                Some(group) => self.groups.release(group, &id, visible_at + self.visibility),
                None => {}
            }
        }
        self.enter(number, Phase::Releasing);
    }

    /// The message is set aside, and those that wait behind it.
    pub(crate) fn set_aside(&mut self, number: u64) {
        let Some(held) = self.handed_out(number) else {
            return;
        };
        let phase = if self.is_closed() {
            Phase::Releasing
        } else {
            Phase::Aside
        };
        let (group, has_expired) = (held.current_group(), held.has_expired);
        self.hold_back(group.as_ref(), phase);
        if has_expired {
            self.remove(number);
        } else {
            self.enter(number, phase);
            self.reading_ahead.was_settled(Instant::now());
        }
    }

    /// The message, if it is handed out.
    fn handed_out(&self, number: u64) -> Option<&HeldMessage> {
        let held = self.messages.get(&number);
        held.filter(|held| held.phase == Phase::HandedOut)
    }

    fn hold_back(&mut self, group: Option<&Arc<str>>, phase: Phase) {
        let waiting = group.map(|group| self.groups.remove(group));
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
        self.handed_out -= usize::from(held.phase == Phase::HandedOut);
        held.phase = phase;
        held.message = None;
        self.changed_at = Instant::now();
        match phase {
            Phase::Deleting => {
                // What is not SQS may give no ids.
                if !held.id.is_empty() && self.undeleted.len() < MOST_REMEMBERED {
                    self.undeleted.insert(held.id.clone());
                }
                self.to_delete.push(number);
            }
            Phase::Releasing => {
                self.due.remove(&(held.due, number));
                self.to_release.push(number);
            }
            Phase::Aside => self.active_at = self.active_at.max(self.changed_at),
            Phase::Waiting | Phase::HandedOut => {}
        }
    }

    fn remove(&mut self, number: u64) -> Option<HeldMessage> {
        let held = self.messages.remove(&number)?;
        self.due.remove(&(held.due, number));
        self.aside -= usize::from(held.phase == Phase::Aside);
        self.handed_out -= usize::from(held.phase == Phase::HandedOut);
        self.changed_at = Instant::now();
        self.active_at = self.active_at.max(self.changed_at);
        Some(held)
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
}

#[cfg(test)]
mod tests;
