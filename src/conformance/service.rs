//! The simulated service that a target calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// The simulated service that a target calls. Clones are the same service.
#[derive(Debug, Clone)]
pub struct Service(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    random: Xoshiro256PlusPlus,
    plan: Plan,
    entries: HashMap<usize, Heard>,
    calls: Vec<Vec<usize>>,
    /// Violations of the contract, reported when the delivery has ended: a panic during a call would be caught by the
    /// delivery.
    complaints: Vec<String>,
}

/// How the service answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) says_of_an_entry: Vec<Said>,
    pub(super) answers_for_strangers: bool,
    pub(super) refuses_calls: bool,
    /// The probability that a call or an entry goes wrong, from 0 to 1.
    pub(super) trouble: f64,
    /// Entries that the service never accepts.
    pub(super) poisoned: Vec<usize>,
    /// The number of answers that may go wrong; then all are right, so that the delivery ends.
    pub(super) patience: u32,
}

/// What the service knows of an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    pub(super) is_stored: bool,
    /// The final answer for the entry, if the service has given one.
    settled: Option<Said>,
    pub(super) sent: u32,
}

/// What the service says about an entry or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Said {
    /// The service has the entry.
    Accepted,
    /// The entry or call is throttled, with a code that the service uses for it.
    Throttled,
    /// The service failed, with a code that it uses for it. It may have the entry.
    Failed,
    /// The service refuses the entry permanently, with a code that it uses for it. For a whole call: one of the entries is
    /// invalid.
    Refused,
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
        said: Vec<Said>,
        /// The number of additional answers, for entries that were not sent. Zero if an entry is left out.
        strangers: usize,
    },
    /// One statement for the whole call: `Throttled`, `Failed` (status 500), `Refused`, or `Nothing` (status 200 and a body
    /// that cannot be read).
    Whole(Said),
}

impl Service {
    pub(super) fn new(plan: Plan, seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
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

    pub(super) fn heard(&self, number: usize) -> Heard {
        self.state().entries.get(&number).copied().unwrap_or_default()
    }

    pub(super) fn calls(&self) -> Vec<Vec<usize>> {
        self.state().calls.clone()
    }

    pub(super) fn complaints(&self) -> Vec<String> {
        self.state().complaints.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn hear(&mut self, numbers: &[usize]) {
        if numbers.is_empty() {
            self.complaints.push("a call had no entries".to_owned());
        }
        for number in numbers {
            let heard = self.entries.entry(*number).or_default();
            heard.sent += 1;
            if let Some(said) = heard.settled {
                let complaint = format!("entry {number} was sent again after the service had said {said:?}");
                self.complaints.push(complaint);
            }
        }
        self.calls.push(numbers.to_vec());
    }

    fn answer(&mut self, numbers: &[usize]) -> Reply {
        let is_poisoned = |number: &&usize| self.plan.poisoned.contains(number);
        let poisoned: Vec<usize> = numbers.iter().filter(is_poisoned).copied().collect();
        if self.plan.refuses_calls && !poisoned.is_empty() {
            if let [alone] = numbers {
                self.entry(*alone).settled = Some(Said::Refused);
            }
            return Reply::Whole(Said::Refused);
        }
        if self.has_trouble() && self.random.random_bool(0.5) {
            return self.of_the_call(numbers);
        }
        let said: Vec<Said> = numbers.iter().map(|number| self.of_an_entry(*number)).collect();
        // If answers are read by place, one too many and one too few would give a list that looks right.
        let is_complete = !said.contains(&Said::Nothing);
        let strangers = usize::from(is_complete && self.plan.answers_for_strangers && self.has_trouble());
        let is_clean = is_complete && strangers == 0;
        for (number, said) in numbers.iter().zip(&said) {
            let stored = match said {
                Said::Accepted => true,
                Said::Throttled | Said::Refused => false,
                Said::Failed | Said::Unknown | Said::Nothing => self.random.random_bool(0.5),
            };
            let heard = self.entry(*number);
            heard.is_stored |= stored;
            if is_clean && matches!(said, Said::Accepted | Said::Refused) {
                heard.settled = Some(*said);
            }
        }
        Reply::Each { said, strangers }
    }

    fn of_the_call(&mut self, numbers: &[usize]) -> Reply {
        let said = [Said::Throttled, Said::Failed, Said::Nothing][self.random.random_range(0..3)];
        if said != Said::Throttled {
            for number in numbers {
                let stored = self.random.random_bool(0.5);
                self.entry(*number).is_stored |= stored;
            }
        }
        Reply::Whole(said)
    }

    fn of_an_entry(&mut self, number: usize) -> Said {
        if self.plan.poisoned.contains(&number) {
            return Said::Refused;
        }
        if !self.has_trouble() {
            return Said::Accepted;
        }
        let passing = |said: &&Said| !matches!(said, Said::Refused);
        let choices: Vec<Said> = self.plan.says_of_an_entry.iter().filter(passing).copied().collect();
        let place = self.random.random_range(0..choices.len().max(1));
        choices.get(place).copied().unwrap_or(Said::Accepted)
    }

    fn entry(&mut self, number: usize) -> &mut Heard {
        self.entries.entry(number).or_default()
    }

    /// Whether something goes wrong now.
    fn has_trouble(&mut self) -> bool {
        let has_trouble = self.plan.patience > 0 && self.random.random_bool(self.plan.trouble);
        self.plan.patience -= u32::from(has_trouble);
        has_trouble
    }
}
