//! A service that records everything, with scripted answers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{DeliveryOptions, InvalidEntry};

/// A write of a key, or a message of a group. Its number tells it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Write {
    pub(crate) key: u8,
    pub(crate) number: usize,
}

pub(crate) fn writes(keys: impl IntoIterator<Item = u8>) -> Vec<Write> {
    let numbered = keys.into_iter().enumerate();
    numbered.map(|(number, key)| Write { key, number }).collect()
}

/// How lanes are made from the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// One write of a key at a time, as a table needs it. A call with two is refused.
    Exclusive,
    /// One call with messages of a group at a time, as a FIFO queue needs it.
    Ordered,
    /// The same for a service that accepts all messages of a group in a call or none.
    Together,
    /// As for a table, but the keys are not known.
    Unknown,
}

/// What the service has recorded.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) calls: Vec<Vec<Write>>,
    /// What was applied, in this order.
    pub(crate) log: Vec<Write>,
    /// Writes that were applied although the answer did not say so.
    pub(crate) ambiguous: HashSet<Write>,
    /// How many writes of each key are in flight.
    in_flight: HashMap<u8, usize>,
    pub(crate) violations: Vec<String>,
    applied: HashSet<Write>,
}

impl Seen {
    fn arrives(&mut self, chunk: &[Write]) {
        self.calls.push(chunk.to_vec());
        for write in chunk {
            if self.in_flight.contains_key(&write.key) {
                self.violations
                    .push(format!("two calls with key {} in flight", write.key));
            }
        }
        for write in chunk {
            *self.in_flight.entry(write.key).or_default() += 1;
        }
    }

    /// A FIFO queue recognizes a message by its deduplication id; a table applies a write twice.
    fn applies(&mut self, write: Write, order: Order) {
        if self.applied.insert(write) || order != Order::Ordered {
            self.log.push(write);
        }
    }

    fn leaves(&mut self, chunk: &[Write]) {
        for write in chunk {
            if let Some(of_key) = self.in_flight.get_mut(&write.key) {
                *of_key -= 1;
            }
        }
        self.in_flight.retain(|_, of_key| *of_key > 0);
    }
}

/// Decides on the call with this number and these writes. Boxed, because the engine is compiled anew for each type of target.
type FateOf = Box<dyn Fn(usize, &[Write]) -> Fate + Send + Sync>;

/// A service that takes writes; `fate` decides on each call.
pub(crate) struct Service {
    order: Order,
    entries: usize,
    call_bytes: usize,
    /// Bytes of each write by its number; those that are not listed have 1,000.
    bytes: Vec<usize>,
    seen: Arc<Mutex<Seen>>,
    fate: FateOf,
}

/// The fate of a call.
pub(crate) struct Fate {
    pub(crate) latency: Duration,
    pub(crate) answer: Answer,
    /// Applies the writes that the answer leaves in doubt.
    pub(crate) applied: bool,
}

impl Fate {
    pub(crate) fn after(latency: u64, answer: Answer) -> Self {
        Self {
            latency: Duration::from_millis(latency),
            answer,
            applied: false,
        }
    }
}

impl Service {
    pub(crate) fn new(
        order: Order,
        entries: usize,
        fate: impl Fn(usize, &[Write]) -> Fate + Send + Sync + 'static,
    ) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::<Mutex<Seen>>::default();
        let service = Self {
            order,
            entries,
            call_bytes: 1_000_000,
            bytes: Vec::new(),
            seen: Arc::clone(&seen),
            fate: Box::new(fate),
        };
        (service, seen)
    }

    /// Limits the bytes of a call. `bytes` are those of each write.
    pub(crate) fn with_bytes(mut self, call_bytes: usize, bytes: Vec<usize>) -> Self {
        (self.call_bytes, self.bytes) = (call_bytes, bytes);
        self
    }

    /// The record of the service.
    pub(crate) fn seen(&self) -> Arc<Mutex<Seen>> {
        Arc::clone(&self.seen)
    }

    fn bytes_of(&self, write: &Write) -> usize {
        self.bytes.get(write.number).copied().unwrap_or(1_000)
    }
}

/// Records the end of a call, also if it is dropped.
pub(crate) struct InFlight<'a> {
    seen: &'a Mutex<Seen>,
    chunk: &'a [Write],
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .leaves(self.chunk);
    }
}

impl BatchTarget for Service {
    type Entry = Write;

    fn limits(&self) -> Limits {
        Limits::new(self.entries, self.call_bytes)
    }

    fn check(&self, write: &Write) -> Result<usize, InvalidEntry> {
        Ok(self.bytes_of(write))
    }

    fn lane(&self, write: &Write) -> Option<Lane> {
        match self.order {
            // A few keys have equal hashes.
            Order::Exclusive => Some(Lane::exclusive(&(write.key % 30))),
            Order::Ordered => Some(Lane::ordered(&write.key)),
            Order::Together => Some(Lane::together(&write.key)),
            Order::Unknown => Some(Lane::unknown()),
        }
    }

    fn supersedes(&self, newer: &Write, older: &Write) -> bool {
        self.order == Order::Exclusive && newer.key == older.key
    }

    async fn send(&self, chunk: &[Write]) -> Answer {
        let number = {
            let mut seen = self.seen.lock().unwrap();
            seen.arrives(chunk);
            let bytes: usize = chunk.iter().map(|write| self.bytes_of(write)).sum();
            if chunk.len() > self.entries || bytes > self.call_bytes {
                seen.violations
                    .push(format!("{} writes with {bytes} bytes in a call", chunk.len()));
            }
            seen.calls.len()
        };
        let in_flight = InFlight {
            seen: &self.seen,
            chunk,
        };
        let keys: HashSet<u8> = chunk.iter().map(|write| write.key).collect();
        let takes_keys_twice = matches!(self.order, Order::Ordered | Order::Together);
        if !takes_keys_twice && keys.len() < chunk.len() {
            tokio::time::sleep(Duration::from_millis(8)).await;
            return refused("duplicates");
        }
        let Fate {
            latency,
            answer,
            applied,
        } = (self.fate)(number, chunk);
        tokio::time::sleep(latency / 2).await;
        {
            let mut seen = self.seen.lock().unwrap();
            for (place, write) in chunk.iter().enumerate() {
                let verdict = match &answer {
                    Answer::Each(verdicts) => verdicts.get(place),
                    Answer::Whole(verdict) => Some(verdict),
                    Answer::Disputed(_) | Answer::Stop(_) => None,
                };
                match verdict {
                    Some(Verdict::Accepted) => seen.applies(*write, self.order),
                    Some(Verdict::Rejected(_, fault)) if applied && fault.is_ambiguous() => {
                        seen.applies(*write, self.order);
                        seen.ambiguous.insert(*write);
                    }
                    _ => {}
                }
            }
        }
        tokio::time::sleep(latency / 2).await;
        drop(in_flight);
        answer
    }
}

pub(crate) fn accepted(chunk: &[Write]) -> Answer {
    Answer::Each(vec![Verdict::Accepted; chunk.len()])
}

pub(crate) fn throttled() -> Verdict {
    Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled"))
}

pub(crate) fn refused(code: &'static str) -> Answer {
    Answer::Whole(Verdict::Refused(Fault::new(code)))
}

/// Throttles the numbers the first time, accepts all else.
pub(crate) fn throttling_once(numbers: &'static [usize]) -> impl Fn(usize, &[Write]) -> Fate {
    let throttled_before = Mutex::new(HashSet::new());
    move |_, chunk| {
        let mut before = throttled_before.lock().unwrap();
        let verdict = |write: &Write| {
            if numbers.contains(&write.number) && before.insert(write.number) {
                throttled()
            } else {
                Verdict::Accepted
            }
        };
        Fate::after(8, Answer::Each(chunk.iter().map(verdict).collect()))
    }
}

pub(crate) fn options(rest: u64) -> DeliveryOptions {
    DeliveryOptions::default().backoff(move |_: u32| Duration::from_millis(rest))
}

pub(crate) fn numbers(calls: &[Vec<Write>]) -> Vec<Vec<usize>> {
    let numbers = |call: &Vec<Write>| call.iter().map(|write| write.number).collect();
    calls.iter().map(numbers).collect()
}
