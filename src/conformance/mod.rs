//! Tests that a target keeps its contract, with a simulated service.
//!
//! A [`Fixture`] makes the target and its entries, and translates between the wire format of the service and [`Service`],
//! which simulates the service: it records which entries arrive and decides what to answer. [`check`] then runs random
//! deliveries with every kind of answer that the service can give, and compares the result of the delivery with what the
//! service has, entry by entry.
//!
//! ```
//! use aws_batch_delivery::InvalidEntry;
//! use aws_batch_delivery::conformance::{self, Fixture, Reply, Statement, Service};
//! use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
//!
//! /// Appends lines to a log service, which says `ok`, `busy` or `bad` of each.
//! struct Log {
//!     service: Service,
//!     limits: Limits,
//! }
//!
//! impl BatchTarget for Log {
//!     type Entry = String;
//!
//!     fn limits(&self) -> Limits {
//!         self.limits
//!     }
//!
//!     fn check(&self, line: &String) -> Result<usize, InvalidEntry> {
//!         Ok(line.len())
//!     }
//!
//!     async fn send(&self, lines: &[String]) -> Answer {
//!         // Real targets make a call here, whose other end asks the service.
//!         let numbers: Vec<usize> = lines.iter().map(|line| number(line)).collect();
//!         match self.service.call(&numbers) {
//!             Reply::Each { said, .. } => Answer::Each(said.into_iter().map(verdict).collect()),
//!             Reply::Whole(said) => Answer::Whole(verdict(said)),
//!         }
//!     }
//! }
//!
//! fn number(line: &str) -> usize {
//!     line.split(' ').next().unwrap().parse().unwrap()
//! }
//!
//! fn verdict(said: Statement) -> Verdict {
//!     match said {
//!         Statement::Accepted => Verdict::Accepted,
//!         Statement::Throttled => Verdict::Rejected(Rejection::Throttled, Fault::new("busy")),
//!         Statement::Refused => Verdict::Refused(Fault::new("bad")),
//!         _ => Verdict::Rejected(Rejection::Transient, Fault::new("no answer").ambiguous()),
//!     }
//! }
//!
//! struct LogFixture;
//!
//! impl Fixture for LogFixture {
//!     type Target = Log;
//!
//!     fn target(&self, service: Service, limits: Option<Limits>) -> Log {
//!         Log { service, limits: limits.unwrap_or(Limits::new(100, 10_000)) }
//!     }
//!
//!     fn entry(&self, number: usize, bytes: usize) -> String {
//!         format!("{number} {}", "x".repeat(bytes))
//!     }
//!
//!     fn number(&self, line: &String) -> usize {
//!         number(line)
//!     }
//!
//!     fn entry_replies(&self) -> &[Statement] {
//!         &[Statement::Accepted, Statement::Throttled, Statement::Refused]
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! // In a `#[tokio::test(start_paused = true)]`:
//! conformance::check(LogFixture, 200).await;
//! # }
//! ```
//!
//! # What is checked
//! - No call has more entries or bytes than the limits, none is empty or has an entry twice, and full calls are full.
//! - The bytes that the target counts grow with the entry.
//! - What the service has accepted, and has said so, is not sent again; nor is what it has refused.
//! - What it throttled, failed at, gave an unknown code for or said nothing about is sent again, until it is accepted.
//! - An entry for which a call is refused as a whole is found, and its neighbours are delivered.
//! - Each entry is delivered or handed back, exactly once. What is reported as delivered the service has, and of what is handed back as
//!   [surely not delivered](crate::Undelivered::may_have_been_delivered) it has nothing.
//! - What is reported as a failed condition the service has not: an earlier attempt whose answer was lost has not applied the entry.
//! - An entry that is too large is handed back unsent.

mod trial;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::contract::{BatchTarget, Limits};

pub use trial::check;

/// A target under test, and the service that it calls.
pub trait Fixture: Send + Sync + 'static {
    /// The target under test.
    type Target: BatchTarget;

    /// A target whose calls are answered by `service`: with the limits of the service, or with these.
    fn target(&self, service: Service, limits: Option<Limits>) -> Self::Target;

    /// A valid entry that contains this number and is about this many bytes larger than the smallest one.
    fn entry(&self, number: usize, bytes: usize) -> <Self::Target as BatchTarget>::Entry;

    /// The number that the entry was made with.
    fn number(&self, entry: &<Self::Target as BatchTarget>::Entry) -> usize;

    /// What the service can say about a single entry, in an answer that speaks of each entry.
    fn entry_replies(&self) -> &[Statement];

    /// Whether the service can answer for an entry that was not sent, as far as the format of its answers allows. Default:
    /// no.
    fn answers_for_unsent_entries(&self) -> bool {
        false
    }

    /// Whether the service can refuse a whole call because of one entry. Default: yes.
    fn refuses_calls(&self) -> bool {
        true
    }
}

/// The simulated service that a target calls. Clones are the same service.
#[derive(Debug, Clone)]
pub struct Service(Arc<Mutex<ServiceState>>);

#[derive(Debug)]
struct ServiceState {
    random: Xoshiro256PlusPlus,
    plan: Plan,
    entries: HashMap<usize, EntryRecord>,
    calls: Vec<Vec<usize>>,
    /// Violations of the contract, reported when the delivery has ended: a panic during a call would be caught by the
    /// delivery.
    complaints: Vec<String>,
}

/// How the service answers.
#[derive(Debug, Clone, Default)]
struct Plan {
    entry_replies: Vec<Statement>,
    answers_for_unsent_entries: bool,
    refuses_calls: bool,
    /// The probability that a call or an entry goes wrong, from 0 to 1.
    trouble: f64,
    /// Entries that the service never acknowledges as accepted.
    poisoned: Vec<usize>,
    /// The number of answers that may go wrong; then all are right, so that the delivery ends.
    patience: u32,
}

/// What the service knows of an entry.
#[derive(Debug, Clone, Copy, Default)]
struct EntryRecord {
    is_stored: bool,
    /// The final answer for the entry, if the service has given one.
    settled: Option<Statement>,
    sent: u32,
}

/// What the service says about an entry or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statement {
    /// The service has the entry.
    Accepted,
    /// The entry or call is throttled, with a code that the service uses for it.
    Throttled,
    /// The service failed, with a code that it uses for it. It may have the entry.
    Failed,
    /// The service refuses the entry permanently, with a code that it uses for it. For a whole call: one of the entries is
    /// invalid.
    Refused,
    /// The condition of the entry does not hold, and the service has not written it in this call. For a target whose entries have
    /// conditions.
    ConditionFailed,
    /// A code that is not known, without a statement that the sender is at fault.
    Unknown,
    /// Nothing: the entry is left out of the answer. If answers are read by place, the list is too short.
    Nothing,
}

/// How the service answers a call.
#[derive(Debug, Clone)]
pub enum Reply {
    /// One statement for each entry, in the order of the call.
    Each {
        /// One for each entry.
        said: Vec<Statement>,
        /// The number of additional answers, for entries that were not sent. Zero if an entry is left out.
        strangers: usize,
    },
    /// One statement for the whole call: `Throttled`, `Failed` (status 500), `Refused`, or `Nothing` (status 200 and a body
    /// that cannot be read).
    Whole(Statement),
}

impl Service {
    fn new(plan: Plan, seed: u64) -> Self {
        Self(Arc::new(Mutex::new(ServiceState {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            plan,
            entries: HashMap::new(),
            calls: Vec::new(),
            complaints: Vec::new(),
        })))
    }

    /// Answers a call with the entries of these numbers.
    pub fn call(&self, numbers: &[usize]) -> Reply {
        let mut state = self.state();
        state.hear(numbers);
        state.answer(numbers)
    }

    fn record(&self, number: usize) -> EntryRecord {
        self.state().entries.get(&number).copied().unwrap_or_default()
    }

    fn calls(&self) -> Vec<Vec<usize>> {
        self.state().calls.clone()
    }

    fn complaints(&self) -> Vec<String> {
        self.state().complaints.clone()
    }

    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServiceState {
    fn hear(&mut self, numbers: &[usize]) {
        if numbers.is_empty() {
            self.complaints.push("a call had no entries".to_owned());
        }
        for (place, number) in numbers.iter().enumerate() {
            if numbers[..place].contains(number) {
                self.complaints.push(format!("entry {number} was twice in a call"));
            }
            let record = self.entries.entry(*number).or_default();
            record.sent += 1;
            if let Some(said) = record.settled {
                let complaint = format!("entry {number} was sent again after the service had said {said:?}");
                self.complaints.push(complaint);
            }
        }
        self.calls.push(numbers.to_vec());
    }

    fn answer(&mut self, numbers: &[usize]) -> Reply {
        // Before the poisoned entries, so that one that is refused at last may have been applied by an earlier call.
        if self.has_trouble() && self.random.random_bool(0.5) {
            return self.of_the_call(numbers);
        }
        let is_poisoned = |number: &&usize| self.plan.poisoned.contains(number);
        let poisoned: Vec<usize> = numbers.iter().filter(is_poisoned).copied().collect();
        if self.plan.refuses_calls && !poisoned.is_empty() {
            if let [alone] = numbers {
                self.entry(*alone).settled = Some(Statement::Refused);
            }
            return Reply::Whole(Statement::Refused);
        }
        let said: Vec<Statement> = numbers.iter().map(|number| self.of_an_entry(*number)).collect();
        // If answers are read by place, one too many and one too few would give a list that looks right.
        let is_complete = !said.contains(&Statement::Nothing);
        let strangers = usize::from(is_complete && self.plan.answers_for_unsent_entries && self.has_trouble());
        let is_clean = is_complete && strangers == 0;
        for (number, said) in numbers.iter().zip(&said) {
            let stored = match said {
                Statement::Accepted => true,
                Statement::Throttled | Statement::Refused | Statement::ConditionFailed => false,
                Statement::Failed | Statement::Unknown | Statement::Nothing => self.random.random_bool(0.5),
            };
            let record = self.entry(*number);
            record.is_stored |= stored;
            if is_clean
                && matches!(
                    said,
                    Statement::Accepted | Statement::Refused | Statement::ConditionFailed
                )
            {
                record.settled = Some(*said);
            }
        }
        Reply::Each { said, strangers }
    }

    fn of_the_call(&mut self, numbers: &[usize]) -> Reply {
        let said = [Statement::Throttled, Statement::Failed, Statement::Nothing][self.random.random_range(0..3)];
        if said != Statement::Throttled {
            for number in numbers {
                let stored = self.random.random_bool(0.5);
                self.entry(*number).is_stored |= stored;
            }
        }
        Reply::Whole(said)
    }

    fn of_an_entry(&mut self, number: usize) -> Statement {
        let is_poisoned = self.plan.poisoned.contains(&number);
        let usual = if is_poisoned {
            Statement::Refused
        } else {
            Statement::Accepted
        };
        if !self.has_trouble() {
            return usual;
        }
        let passing = |said: &&Statement| match said {
            Statement::Refused => false,
            Statement::Accepted | Statement::ConditionFailed => !is_poisoned,
            _ => true,
        };
        let choices: Vec<Statement> = self.plan.entry_replies.iter().filter(passing).copied().collect();
        let place = self.random.random_range(0..choices.len().max(1));
        choices.get(place).copied().unwrap_or(usual)
    }

    fn entry(&mut self, number: usize) -> &mut EntryRecord {
        self.entries.entry(number).or_default()
    }

    /// Whether something goes wrong now.
    fn has_trouble(&mut self) -> bool {
        let has_trouble = self.plan.patience > 0 && self.random.random_bool(self.plan.trouble);
        self.plan.patience -= u32::from(has_trouble);
        has_trouble
    }
}
