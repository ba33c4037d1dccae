//! What happened to every entry of every call.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

/// What a request does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// An item was put.
    Put,
    /// An item was updated.
    Update,
    /// An item was deleted.
    Delete,
    /// A transaction checked a condition of an item.
    Check,
    /// A message, a record, an event or a metric was sent.
    Send,
}

/// Whether an entry was applied, and whether the caller could know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// Applied, and the caller received that answer.
    Accepted,
    /// Not applied, and the caller received that answer.
    Rejected,
    /// Not applied because its condition is false, and the caller received that answer.
    ConditionFailed,
    /// The caller could not know: the call failed, or the caller dropped it before its answer arrived.
    Ambiguous {
        /// Whether it was applied.
        applied: bool,
    },
}

impl Acknowledgement {
    /// Whether the service has applied the entry.
    pub fn is_applied(self) -> bool {
        matches!(self, Self::Accepted | Self::Ambiguous { applied: true })
    }

    /// The same for a caller that does not receive the answer.
    pub(crate) fn without_answer(self) -> Self {
        Self::Ambiguous {
            applied: self.is_applied(),
        }
    }
}

/// One entry of one call.
#[derive(Clone)]
pub struct Record {
    /// The number of the call, counted from 1 for each table, queue, stream, topic or bus.
    pub call: u64,
    /// When the call arrived.
    pub at: Instant,
    /// What the request did with the entry.
    pub action: Action,
    /// The key whose entries are in order: the primary key in a table (see [`Table::key_of`](super::Table::key_of)), the
    /// message group in a queue or topic, the partition key in a stream, the key in a bucket; empty if there is none.
    pub key: Arc<str>,
    /// As text, which takes a tenth of the memory of the parsed entry.
    entry: Arc<str>,
    acknowledgement: Acknowledgement,
    answered: AnswerReceipt,
}

impl Record {
    /// The JSON of the item, of the key of a delete or a check, of the request of an update, or of the message.
    pub fn entry(&self) -> Value {
        serde_json::from_str(&self.entry).unwrap_or_default()
    }

    /// The result of the entry. It is [`Acknowledgement::Ambiguous`] until the answer has reached the caller.
    pub fn acknowledgement(&self) -> Acknowledgement {
        if self.answered.is_true() {
            self.acknowledgement
        } else {
            self.acknowledgement.without_answer()
        }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("call", &self.call)
            .field("at", &self.at)
            .field("action", &self.action)
            .field("acknowledgement", &self.acknowledgement())
            .finish_non_exhaustive()
    }
}

/// Whether the answer of a call reached the caller, and how much longer than usual it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerReceipt(Arc<Arrival>);

#[derive(Debug, Default)]
struct Arrival {
    has_happened: AtomicBool,
    /// In nanoseconds.
    delay: AtomicU64,
}

impl AnswerReceipt {
    pub(crate) fn set(&self) {
        self.0.has_happened.store(true, Ordering::Release);
    }

    fn is_true(&self) -> bool {
        self.0.has_happened.load(Ordering::Acquire)
    }

    /// The answer takes at least this much longer, whatever it says.
    pub(crate) fn delay_by(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.0.delay.fetch_max(delay, Ordering::Relaxed);
    }

    pub(crate) fn delay(&self) -> Duration {
        Duration::from_nanos(self.0.delay.load(Ordering::Relaxed))
    }
}

/// What the records of a call have in common.
#[derive(Debug, Clone)]
pub(crate) struct CallInfo {
    /// The number of the call.
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) answered: AnswerReceipt,
}

/// The records of all entries. Off until it is switched on, because it keeps every entry.
#[derive(Default)]
pub(crate) struct Journal {
    records: Option<Vec<Record>>,
}

impl Journal {
    pub(crate) fn switch_on(&mut self) {
        self.records.get_or_insert_with(Vec::new);
    }

    pub(crate) fn write(
        &mut self,
        call: &CallInfo,
        action: Action,
        key: &str,
        entry: &Value,
        acknowledgement: Acknowledgement,
    ) {
        if let Some(records) = &mut self.records {
            records.push(Record {
                call: call.number,
                at: call.at,
                action,
                key: Arc::from(key),
                entry: Arc::from(entry.to_string()),
                acknowledgement,
                answered: call.answered.clone(),
            });
        }
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.records.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_did_not_reach_the_caller_is_ambiguous() {
        let mut journal = Journal::default();
        journal.switch_on();
        let call = CallInfo {
            number: 1,
            at: Instant::now(),
            answered: AnswerReceipt::default(),
        };
        journal.write(&call, Action::Send, "", &Value::Null, Acknowledgement::Accepted);
        journal.write(&call, Action::Send, "", &Value::Null, Acknowledgement::Rejected);
        let acknowledgements = |journal: &Journal| {
            journal
                .records()
                .iter()
                .map(Record::acknowledgement)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            acknowledgements(&journal),
            [
                Acknowledgement::Ambiguous { applied: true },
                Acknowledgement::Ambiguous { applied: false }
            ]
        );
        call.answered.set();
        assert_eq!(
            acknowledgements(&journal),
            [Acknowledgement::Accepted, Acknowledgement::Rejected]
        );
    }

    #[test]
    fn a_journal_that_is_off_keeps_nothing() {
        let mut journal = Journal::default();
        let call = CallInfo {
            number: 1,
            at: Instant::now(),
            answered: AnswerReceipt::default(),
        };
        journal.write(&call, Action::Send, "", &Value::Null, Acknowledgement::Accepted);
        assert!(journal.records().is_empty());
    }
}
