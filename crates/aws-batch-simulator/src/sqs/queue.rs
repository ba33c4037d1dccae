//! A queue.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::options::QueueOptions;
use super::store::{Store, StoredMessage};
use crate::admission::{AdmissionControl, Demand, Place};
use crate::calls::{Call, Cost, Statistics, Verdict};
use crate::capacity::Capacity;
use crate::fault::{Faults, InjectedFault, Predicate};
use crate::gate::Gate;
use crate::handles::{debug_fields, handle, handle_capacity};
use crate::journal::{Acknowledgement, Action};
use crate::message::{Deduplication, is_fifo};
use crate::registry::{ACCOUNT, REGION, Registry, lock};
use crate::wire::Refusal;

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

debug_fields!(Message, sequence, sent_at);

/// A queue of the simulator. Clones are handles to the same queue.
#[derive(Clone)]
pub struct Queue {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    options: QueueOptions,
    state: Mutex<QueueState>,
    /// Wakes the requests that wait for messages.
    arrivals: Notify,
    poison: Predicate,
    hot: Predicate,
}

pub(super) struct QueueState {
    gate: Gate,
    /// Of the calls that receive, delete and hide messages.
    pub(super) consumers: Gate,
    pub(super) store: Store,
    deduplication: Deduplication,
    sent: u64,
}

/// An entry of `SendMessageBatch`, checked, and what its answer contains.
pub(super) struct SendEntry {
    pub(super) id: String,
    pub(super) json: Value,
    /// Why this message alone fails.
    pub(super) failure: Option<Refusal>,
    pub(super) body_digest: String,
    pub(super) attributes_digest: Option<String>,
    pub(super) system_attributes_digest: Option<String>,
    pub(super) deduplication_id: Option<String>,
    pub(super) delay: Option<Duration>,
}

impl SendEntry {
    pub(super) fn body(&self) -> &str {
        self.json["MessageBody"].as_str().unwrap_or_default()
    }

    pub(super) fn group(&self) -> Option<&str> {
        self.json["MessageGroupId"].as_str()
    }
}

handle!(Queue, "messages", "are sent");

impl Queue {
    handle_capacity!(
        "messages",
        "queue(\"orders\", QueueOptions::default().capacity(1_000.0))"
    );

    /// The URL.
    pub fn url(&self) -> String {
        format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{}", self.inner.name)
    }

    /// The ARN.
    pub fn arn(&self) -> String {
        format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{}", self.inner.name)
    }

    /// Messages for which the predicate is true fail with `InvalidMessageContents`.
    ///
    /// The message is the JSON of the request: `queue.poison(|message| message["MessageBody"] == "7")`.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.poison.set(predicate);
    }

    /// Messages for which the predicate is true fail with `RequestThrottled`, whatever the capacity.
    pub fn reject_while(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.with_gate(|gate| gate.set_hot_range(Capacity::none()));
        self.inner.hot.set(predicate);
    }

    /// Messages of this group have a capacity of their own, in addition to that of the queue, like those of a hot partition of a
    /// FIFO queue. Replaces that of an earlier group, and the predicate of [`reject_while`](Self::reject_while).
    pub fn group_capacity(&self, group: impl Into<String>, capacity: impl Into<Capacity>) {
        let group = group.into();
        self.with_gate(|gate| gate.set_hot_range(capacity.into()));
        self.inner
            .hot
            .set(move |message| message["MessageGroupId"] == group.as_str());
    }

    /// Sets the random faults of the calls that receive, delete and hide messages. Default: none.
    pub fn set_consumer_faults(&self, faults: Faults) {
        self.with_consumers(|gate| gate.set_faults(faults));
    }

    /// Sets the faults of the next calls that receive, delete and hide messages, one for each call, even for one that is refused
    /// because of its contents.
    pub fn script_consumers(&self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.with_consumers(|gate| gate.set_script(faults));
    }

    /// The counts of the calls that receive, delete and hide messages. Entries are deletions and changes of the visibility timeout.
    pub fn consumer_statistics(&self) -> Statistics {
        self.with_consumers(|gate| gate.statistics)
    }

    /// The number of messages that were received and are hidden.
    pub fn in_flight(&self) -> usize {
        let mut state = self.state();
        state.store.settle(Instant::now());
        state.store.in_flight()
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
}

impl Queue {
    pub(crate) fn new(name: &str, options: QueueOptions, seed: u64) -> Self {
        let state = QueueState {
            gate: Gate::new(AdmissionControl::new(options.capacity, Instant::now(), seed), seed),
            consumers: Gate::new(AdmissionControl::new(Capacity::unlimited(), Instant::now(), seed), seed),
            store: Store::new(is_fifo(name)),
            deduplication: Deduplication::default(),
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

    /// The id of the message with this number, which no message of another queue has.
    pub(super) fn message_id(&self, number: u64) -> String {
        let mut hasher = DefaultHasher::new();
        self.inner.name.hash(&mut hasher);
        format!("{:08x}-0000-4000-9000-{number:012x}", hasher.finish() >> 32)
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

    pub(super) fn with_gate<R>(&self, act: impl FnOnce(&mut Gate) -> R) -> R {
        act(&mut self.state().gate)
    }

    pub(super) fn with_consumers<R>(&self, act: impl FnOnce(&mut Gate) -> R) -> R {
        act(&mut self.state().consumers)
    }

    /// Enqueues the messages that the gate accepts, and returns their numbers.
    pub(super) fn apply(
        &self,
        entries: &[&SendEntry],
        call: &Call,
        acknowledgement: impl Fn(&Verdict) -> Acknowledgement,
    ) -> Vec<(Verdict, u64)> {
        let costs: Vec<Cost> = entries
            .iter()
            .map(|entry| Cost {
                demand: Demand::new(Place::default(), 1.0),
                is_hot: self.inner.hot.holds(&entry.json),
            })
            .collect();
        let mut state = self.state();
        let state = &mut *state;
        let verdicts = state.gate.decide(call, &costs);
        let mut sequences = Vec::with_capacity(entries.len());
        for (entry, verdict) in entries.iter().zip(verdicts) {
            state.record(call, entry, acknowledgement(&verdict));
            let sequence = if verdict.is_applied() {
                state.enqueue(entry, call.info.at, &self.inner.options)
            } else {
                0
            };
            sequences.push((verdict, sequence));
        }
        self.inner.arrivals.notify_waiters();
        sequences
    }

    /// Records messages that are not enqueued in the journal.
    pub(super) fn record<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a SendEntry>,
        call: &Call,
        acknowledgement: Acknowledgement,
    ) {
        let mut state = self.state();
        for entry in entries {
            state.record(call, entry, acknowledgement);
        }
    }

    /// Adds a message that was received too often in the queue with this ARN, in which it had this id.
    pub(super) fn add_dead_letter(&self, id: String, mut message: StoredMessage, source: &str) {
        let mut state = self.state();
        state.sent += 1;
        let own = state.sent;
        message.first_id.get_or_insert_with(|| id.into());
        message.dead_letter_of = Some(Arc::from(source));
        if self.is_fifo() {
            // Only in a FIFO queue its age starts over. From the guide to dead-letter queues.
            message.sent_at = Instant::now();
        }
        state.store.add(own, message, Duration::ZERO);
        drop(state);
        self.inner.arrivals.notify_waiters();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.inner.state)
    }
}

impl QueueState {
    fn enqueue(&mut self, entry: &SendEntry, now: Instant, options: &QueueOptions) -> u64 {
        if let Some(id) = &entry.deduplication_id {
            if let Some(sequence) = self.deduplication.find(id, now) {
                return sequence;
            }
            self.deduplication.remember(id, self.sent + 1, now);
        }
        self.sent += 1;
        if !options.counts_only {
            let mut message = StoredMessage::new(entry.body(), now);
            message.attributes = Some(&entry.json["MessageAttributes"])
                .filter(|attributes| attributes.is_object())
                .map(|attributes| Box::new(attributes.clone()));
            let trace = &entry.json["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"];
            message.trace = trace.as_str().map(Box::from);
            message.group = entry.group().map(Arc::from);
            message.deduplication_id = entry.deduplication_id.as_deref().map(Box::from);
            self.store.add(self.sent, message, entry.delay.unwrap_or(options.delay));
        }
        self.sent
    }

    fn record(&mut self, call: &Call, entry: &SendEntry, acknowledgement: Acknowledgement) {
        let group = entry.group().unwrap_or_default();
        let journal = &mut self.gate.journal;
        journal.write(&call.info, Action::Send, group, &entry.json, acknowledgement);
    }
}

/// The queues of a simulator.
pub(crate) type Queues = Registry<Queue>;
