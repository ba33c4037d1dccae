//! A queue.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::options::QueueOptions;
use super::request::Envelope;
use super::store::{Store, Stored};
use crate::admission::{AdmissionControl, Demand, Place};
use crate::bucket::Capacity;
use crate::dedup::Dedup;
use crate::fault::{Faults, InjectedFault};
use crate::gate::{Gate, Passage, Strike, Toll};
use crate::journal::{Acknowledgement, Action, CallMark, Heard, Record};
use crate::predicate::Predicate;
use crate::statistics::Statistics;
use crate::{ACCOUNT, REGION, lock};

/// A message in a queue.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// The number of the message, in the order of acceptance.
    pub sequence: u64,
    /// When the queue accepted it.
    pub sent_at: Instant,
    /// The body.
    pub body: String,
    /// The attributes as the JSON of the request.
    pub attributes: Option<Value>,
    /// The message group.
    pub group: Option<String>,
    /// The deduplication id.
    pub deduplication_id: Option<String>,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("sequence", &self.sequence)
            .field("sent_at", &self.sent_at)
            .finish_non_exhaustive()
    }
}

/// A queue of the simulator. Clones are handles to the same queue.
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    options: QueueOptions,
    state: Mutex<State>,
    /// Wakes the requests that wait for messages.
    arrivals: Notify,
    poison: Predicate,
    hot: Predicate,
}

pub(super) struct State {
    gate: Gate,
    pub(super) store: Store,
    dedup: Dedup,
    sent: u64,
}

/// Handles for tests.
impl Queue {
    /// The name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The URL.
    pub fn url(&self) -> String {
        format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{}", self.inner.name)
    }

    /// The ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{}", self.inner.name)
    }

    /// Changes the capacity, in messages per second. The level of the bucket stays, up to the new burst.
    pub fn set_capacity(&self, capacity: impl Into<Capacity>) {
        self.state().gate.set_capacity(capacity.into());
    }

    /// Changes the capacity at exactly each of these times after now.
    ///
    /// Replaces an earlier schedule; [`set_capacity`](Self::set_capacity) clears it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use aws_batch_simulator::{Simulator, QueueOptions};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let simulator = Simulator::new(1);
    /// let orders = simulator.queue("orders", QueueOptions::default().capacity(1_000.0));
    /// orders.schedule_capacity([(Duration::from_secs(30), 500.0), (Duration::from_secs(60), 2_000.0)]);
    /// # }
    /// ```
    pub fn schedule_capacity<C: Into<Capacity>>(&self, steps: impl IntoIterator<Item = (Duration, C)>) {
        self.state().gate.schedule_capacity(steps);
    }

    /// Another sender uses the capacity for up to this many messages. Returns how many it has used.
    pub fn drain(&self, messages: f64) -> f64 {
        self.state().gate.drain(messages)
    }

    /// Sets the random faults. Default: none.
    pub fn set_faults(&self, faults: Faults) {
        self.state().gate.set_faults(faults);
    }

    /// Sets the faults of the next batch calls, in this order; the random faults apply again after them. Replaces the rest of
    /// an earlier script. A call that is refused because of its contents uses its step of the script, too.
    pub fn script(&self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.state().gate.set_script(faults);
    }

    /// Messages for which the predicate is true fail with `InvalidMessageContents`.
    ///
    /// The message is the JSON of the request: `queue.poison(|message| message["MessageBody"] == "7")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.poison.set(predicate);
    }

    /// Messages for which the predicate is true fail with `RequestThrottled`, whatever the capacity.
    pub fn reject_while(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.state().gate.set_hot(Some(Capacity::none()));
        self.inner.hot.set(predicate);
    }

    /// Messages of this group have a capacity of their own, in addition to that of the queue, like those of a hot partition of a
    /// FIFO queue. Replaces that of an earlier group, and the predicate of [`reject_while`](Self::reject_while).
    pub fn group_capacity(&self, group: impl Into<String>, capacity: impl Into<Capacity>) {
        let group = group.into();
        self.state().gate.set_hot(Some(capacity.into()));
        self.inner
            .hot
            .set(move |message| message["MessageGroupId"] == group.as_str());
    }

    /// The number of messages: ready, delayed and in flight.
    pub fn len(&self) -> usize {
        self.state().store.len()
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All messages that have not been deleted, in the order of acceptance.
    pub fn messages(&self) -> Vec<Message> {
        let state = self.state();
        let mut messages: Vec<Message> = state
            .store
            .messages()
            .map(|(sequence, message)| Message {
                sequence,
                sent_at: message.sent_at,
                body: message.body.to_string(),
                attributes: message.attributes.as_deref().cloned(),
                group: message.group.as_deref().map(str::to_owned),
                deduplication_id: message.deduplication_id.as_deref().map(str::to_owned),
            })
            .collect();
        messages.sort_unstable_by_key(|message| message.sequence);
        messages
    }

    /// The number of batch calls that have arrived.
    pub fn calls(&self) -> u64 {
        self.state().gate.statistics.calls
    }

    /// The counts of calls and messages.
    pub fn statistics(&self) -> Statistics {
        self.state().gate.statistics
    }

    /// Keeps a record of every message sent from now on. Off by default, because it takes memory.
    pub fn keep_journal(&self) {
        self.state().gate.journal.switch_on();
    }

    /// What happened to every message since [`keep_journal`](Self::keep_journal), in the order of arrival.
    pub fn journal(&self) -> Vec<Record> {
        self.state().gate.journal.records()
    }
}

impl Queue {
    pub(crate) fn new(name: &str, options: QueueOptions, seed: u64) -> Self {
        let state = State {
            gate: Gate::new(AdmissionControl::new(options.capacity, Instant::now(), seed), seed),
            store: Store::new(is_fifo(name)),
            dedup: Dedup::default(),
            sent: 0,
        };
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                options,
                state: Mutex::new(state),
                arrivals: Notify::new(),
                poison: Predicate::default(),
                hot: Predicate::default(),
            }),
        }
    }

    pub(super) fn is_fifo(&self) -> bool {
        is_fifo(&self.inner.name)
    }

    pub(super) fn options(&self) -> &QueueOptions {
        &self.inner.options
    }

    pub(super) fn poisons(&self, entry: &Value) -> bool {
        self.inner.poison.holds(entry)
    }

    pub(super) fn arrivals(&self) -> &Notify {
        &self.inner.arrivals
    }

    /// Counts a call and returns its fault.
    pub(super) fn strike(&self, heard: &Heard) -> (CallMark, Strike) {
        let mut state = self.state();
        let strike = state.gate.strike();
        let mark = CallMark {
            call: state.gate.statistics.calls,
            at: Instant::now(),
            heard: heard.clone(),
        };
        (mark, strike)
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Statistics)) {
        change(&mut self.state().gate.statistics);
    }

    /// Enqueues the messages that pass the gate, and returns their numbers.
    pub(super) fn apply(
        &self,
        envelopes: &[&Envelope],
        mark: &CallMark,
        strike: &Strike,
        acknowledgement: impl Fn(&Passage) -> Acknowledgement,
    ) -> Vec<(Passage, u64)> {
        let tolls: Vec<Toll> = envelopes
            .iter()
            .map(|envelope| Toll {
                demand: Demand::new(Place::default(), 1.0),
                hot: self.inner.hot.holds(&envelope.entry),
            })
            .collect();
        let mut state = self.state();
        let state = &mut *state;
        let passages = state.gate.sift(mark.at, strike, &tolls);
        let mut sequences = Vec::with_capacity(envelopes.len());
        for (envelope, passage) in envelopes.iter().zip(passages) {
            state.note(mark, envelope, acknowledgement(&passage));
            let sequence = if passage.is_applied() {
                state.enqueue(envelope, mark.at, &self.inner.options)
            } else {
                0
            };
            sequences.push((passage, sequence));
        }
        self.inner.arrivals.notify_waiters();
        sequences
    }

    /// Records messages that are not enqueued in the journal.
    pub(super) fn skip<'a>(
        &self,
        envelopes: impl IntoIterator<Item = &'a Envelope>,
        mark: &CallMark,
        acknowledgement: Acknowledgement,
    ) {
        let mut state = self.state();
        for envelope in envelopes {
            state.gate.statistics.entries += 1;
            state.note(mark, envelope, acknowledgement);
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.inner.state)
    }
}

impl State {
    fn enqueue(&mut self, envelope: &Envelope, now: Instant, options: &QueueOptions) -> u64 {
        if let Some(id) = &envelope.deduplication_id {
            if let Some(sequence) = self.dedup.find(id, now) {
                return sequence;
            }
            self.dedup.remember(id, self.sent + 1, now);
        }
        self.sent += 1;
        if !options.is_forgetful {
            let mut message = Stored::new(envelope.body(), now);
            message.attributes = Some(&envelope.entry["MessageAttributes"])
                .filter(|attributes| attributes.is_object())
                .map(|attributes| Box::new(attributes.clone()));
            message.group = envelope.group().map(Arc::from);
            message.deduplication_id = envelope.deduplication_id.as_deref().map(Box::from);
            self.store
                .add(self.sent, message, envelope.delay.unwrap_or(options.delay));
        }
        self.sent
    }

    fn note(&mut self, mark: &CallMark, envelope: &Envelope, acknowledgement: Acknowledgement) {
        if self.gate.journal.is_on() {
            let group = envelope.group().unwrap_or_default();
            self.gate
                .journal
                .write(mark, Action::Send, group, &envelope.entry, acknowledgement);
        }
    }
}

fn is_fifo(name: &str) -> bool {
    // A suffix of the name, always in lower case; not a file extension.
    name.strip_suffix(".fifo").is_some()
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}
