//! What became of the entries of calls, and the figures of each destination.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};

use crate::digest::hex;

/// Names of operations that are counted each for itself.
const MOST_OPERATIONS: usize = 1_000;

/// Bytes of a key that is kept as it is. One of `DynamoDB` has 3 KiB at most; a call with a longer one is in the journal as refused.
const LONGEST: usize = 4_096;

/// Milliseconds for which a token is recognized, from `TransactWriteItems` of the API reference. FIFO queues recognize messages for half
/// of it.
const REMEMBERED: u64 = 600_000;

/// What became of an entry of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The answer says that it is applied, and so it is.
    Accepted,
    /// There was no capacity for it, or a fault throttled it. It was not forwarded.
    Throttled,
    /// A fault let it fail. It was not forwarded.
    Failed,
    /// The emulator refused it, or its whole call.
    Refused,
    /// It is applied, and the caller does not know it.
    Lost,
    /// It was not forwarded, and the caller does not know it.
    Dropped,
    /// The emulator ended the call without an answer.
    Unknown,
}

/// An entry of a call: a write, a message that is sent or deleted, a record.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct JournalEntry {
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    /// The number of the call, from 1.
    pub(crate) call: u64,
    pub(crate) service: &'static str,
    pub(crate) destination: String,
    pub(crate) action: &'static str,
    /// The primary key, the digest of a message's body, or the partition key and digest of a record.
    pub(crate) key: String,
    /// What the service recognizes a repetition by: the token of a transaction, or the sequence number of a message in a FIFO queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) known_as: Option<String>,
    pub(crate) outcome: Outcome,
}

/// The figures of a destination.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Figures {
    pub(crate) calls: u64,
    /// Calls of which nothing was accepted, because of the capacity or a fault.
    pub(crate) throttled_calls: u64,
    /// Calls with a fault.
    pub(crate) faults: u64,
    /// Entries by what became of them; reads count here, but are not in the journal.
    pub(crate) accepted: u64,
    pub(crate) throttled: u64,
    pub(crate) failed: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
    pub(crate) unknown: u64,
    /// Write units, messages or records that were accepted.
    pub(crate) written: f64,
    /// Read units that were accepted, or messages that were received.
    pub(crate) read: f64,
}

impl Figures {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Accepted => &mut self.accepted,
            Outcome::Throttled => &mut self.throttled,
            Outcome::Failed => &mut self.failed,
            Outcome::Refused => &mut self.refused,
            Outcome::Lost => &mut self.lost,
            Outcome::Dropped => &mut self.dropped,
            Outcome::Unknown => &mut self.unknown,
        } += 1;
    }
}

/// How often each key was applied, by action.
type Applied<'a> = BTreeMap<&'a str, HashMap<&'a str, u64>>;

/// The journal and the figures.
pub(crate) struct Ledger {
    most: usize,
    entries: VecDeque<JournalEntry>,
    /// Entries that had no room.
    dropped: u64,
    calls: u64,
    figures: BTreeMap<(&'static str, String), Figures>,
    /// Calls that take no capacity, by service and operation.
    passed: BTreeMap<String, u64>,
    upstream_failures: u64,
}

impl Ledger {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            entries: VecDeque::new(),
            dropped: 0,
            calls: 0,
            figures: BTreeMap::new(),
            passed: BTreeMap::new(),
            upstream_failures: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.most);
    }

    /// The number of a call that has arrived.
    pub(crate) fn call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    pub(crate) fn passed(&mut self, what: &str) {
        // Whatever targets a client makes up, they take no more memory than this.
        let has_room = self.passed.len() < MOST_OPERATIONS || self.passed.contains_key(what);
        let what = if has_room { what } else { "others" };
        *self.passed.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn upstream_failed(&mut self) {
        self.upstream_failures += 1;
    }

    pub(crate) fn figures_of(&mut self, service: &'static str, name: &str) -> &mut Figures {
        self.figures.entry((service, name.to_owned())).or_default()
    }

    pub(crate) fn record(&mut self, mut entry: JournalEntry) {
        if self.most == 0 {
            self.dropped += 1;
            return;
        }
        for text in entry.known_as.iter_mut().chain([&mut entry.key]) {
            if text.len() > LONGEST {
                *text = hex(text.as_bytes());
            }
        }
        if self.entries.len() == self.most {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(entry);
    }

    /// The journal of one destination or of all, and how often each key was applied.
    pub(crate) fn journal(&self, destination: Option<&str>) -> Value {
        let of_it = self
            .entries
            .iter()
            .filter(|entry| destination.is_none_or(|name| name == entry.destination));
        let of_it: Vec<&JournalEntry> = of_it.collect();
        json!({"dropped": self.dropped, "entries": of_it})
    }

    /// The figures of all destinations, by service and name.
    pub(crate) fn figures(&self) -> Value {
        let mut applied: HashMap<(&str, &str), Applied<'_>> = HashMap::new();
        let mut known = HashMap::new();
        for entry in &self.entries {
            if matches!(entry.outcome, Outcome::Accepted | Outcome::Lost) && !is_repeated(&mut known, entry) {
                let actions = applied.entry((entry.service, &entry.destination)).or_default();
                *actions.entry(entry.action).or_default().entry(&entry.key).or_default() += 1;
            }
        }
        let mut all = json!({
            "calls": self.calls,
            "passed": self.passed,
            "upstream_failures": self.upstream_failures,
            "journal_dropped": self.dropped,
        });
        for ((service, name), figures) in &self.figures {
            let mut shown = json!(figures);
            let actions = applied.get(&(*service, name.as_str())).into_iter().flatten();
            let count = |keys: &HashMap<&str, u64>| {
                let twice = keys.values().filter(|count| **count > 1).count();
                json!({"keys": keys.len(), "twice": twice})
            };
            shown["applied"] = actions
                .map(|(action, keys)| ((*action).to_owned(), count(keys)))
                .collect();
            all[service][name] = shown;
        }
        all
    }

    /// The figures as they are counted.
    pub(crate) fn counted(&self) -> &BTreeMap<(&'static str, String), Figures> {
        &self.figures
    }
}

/// What was applied, and when.
type Known<'a> = HashMap<[&'a str; 5], u64>;

/// Whether the service has recognized what it had applied before, and has not applied it again.
fn is_repeated<'a>(known: &mut Known<'a>, entry: &'a JournalEntry) -> bool {
    let Some(known_as) = &entry.known_as else {
        return false;
    };
    let name = [entry.service, &entry.destination, entry.action, &entry.key, known_as];
    let is_known = known
        .get(&name)
        .is_some_and(|at| entry.at.saturating_sub(*at) < REMEMBERED);
    if !is_known {
        known.insert(name, entry.at);
    }
    is_known
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, outcome: Outcome) -> JournalEntry {
        JournalEntry {
            at: 0,
            call: 1,
            service: "dynamodb",
            destination: "orders".to_owned(),
            action: "put",
            key: key.to_owned(),
            known_as: None,
            outcome,
        }
    }

    #[test]
    fn a_token_is_recognized_for_ten_minutes() {
        let mut ledger = Ledger::new(10);
        ledger.figures_of("dynamodb", "orders");
        for (at, twice) in [(1, 0), (600_000, 0), (600_001, 1), (1_200_000, 1)] {
            ledger.record(JournalEntry {
                at,
                known_as: Some("token".to_owned()),
                ..entry("a", Outcome::Accepted)
            });
            let applied = ledger.figures()["dynamodb"]["orders"]["applied"]["put"].clone();
            assert_eq!(applied, json!({"keys": 1, "twice": twice}), "{at}");
        }
    }

    #[test]
    fn a_key_that_was_applied_twice_is_counted() {
        let mut ledger = Ledger::new(10);
        ledger.figures_of("dynamodb", "orders");
        for (key, outcome) in [
            ("a", Outcome::Lost),
            ("a", Outcome::Accepted),
            ("b", Outcome::Throttled),
            ("b", Outcome::Accepted),
        ] {
            ledger.record(entry(key, outcome));
        }
        let figures = ledger.figures();
        let applied = &figures["dynamodb"]["orders"]["applied"];
        assert_eq!(*applied, json!({"put": {"keys": 2, "twice": 1}}));
    }

    #[test]
    fn the_journal_keeps_the_last_entries_and_counts_the_others() {
        let mut ledger = Ledger::new(2);
        for key in ["a", "b", "c"] {
            ledger.record(entry(key, Outcome::Accepted));
        }
        let journal = ledger.journal(Some("orders"));
        assert_eq!(journal["dropped"], 1);
        let keys: Vec<&Value> = journal["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| &entry["key"])
            .collect();
        assert_eq!(keys, ["b", "c"]);
        assert_eq!(ledger.journal(Some("other"))["entries"], json!([]));
    }

    #[test]
    fn made_up_operations_take_no_memory() {
        let mut ledger = Ledger::new(1);
        for number in 0..5_000 {
            ledger.passed(&number.to_string());
        }
        assert_eq!(ledger.passed.len(), 1_001);
        assert_eq!(ledger.passed["others"], 4_000);
    }
}
