//! A bucket, and what is deleted from it.

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use tokio::time::Instant;

use super::condition::Condition;
use super::deletion::Deletion;
use super::object::Object;
use crate::admission::AdmissionControl;
use crate::calls::{Call, HOT_RANGE, Verdict};
use crate::capacity::{Capacity, TokenBucket};
use crate::fault::{InjectedFault, Predicate};
use crate::gate::Gate;
use crate::handles::handle;
use crate::journal::{Acknowledgement, Action, AnswerReceipt};
use crate::registry::lock;
use crate::wire::Refusal;

/// A bucket of the simulator. Clones are handles to the same bucket.
///
/// Puts, gets and deletes of single objects are accepted whatever the capacity, and are not in the journal. A script has the faults of
/// all calls but gets; those of single entries apply only to `DeleteObjects`. The success of a single put or delete is in its status
/// alone: [`InjectedFault::Empty`] is not a fault, and with [`InjectedFault::Garbage`] the connection is closed.
///
/// A request with an operation, a parameter or a header that is not modelled is refused with `NotImplemented`. It changes nothing, is not
/// counted, and uses no step of the script. `DeleteObjects` with an element that is not modelled is refused in the same way, but it is
/// counted and uses a step.
#[derive(Clone)]
pub struct Bucket {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    state: Mutex<BucketState>,
    /// Objects whose deletion is always denied.
    poison: Predicate,
}

struct BucketState {
    objects: BTreeMap<String, Object>,
    gate: Gate,
    /// The capacities for deletions, by the prefixes of their keys.
    prefixes: Vec<(String, TokenBucket)>,
    puts: u64,
    deletes: u64,
}

handle!(Bucket, "deletions of `DeleteObjects`", "arrive");

impl Bucket {
    /// All objects by their keys.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let objects = state.objects.iter();
        objects
            .map(|(key, object)| (key.clone(), object.body.to_vec()))
            .collect()
    }

    /// Puts an object without a call.
    pub fn insert(&self, key: impl Into<String>, body: impl Into<Vec<u8>>) {
        let body: Vec<u8> = body.into();
        self.state().objects.insert(key.into(), Object::new(body.into(), ""));
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.state().objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of puts that have arrived, including failed ones.
    pub fn puts(&self) -> u64 {
        self.state().puts
    }

    /// The number of deletes of single objects that have arrived, including failed ones.
    pub fn deletes(&self) -> u64 {
        self.state().deletes
    }

    /// Keys that begin with this prefix have this capacity, in deletions per second, in which each key of a call counts. Of several
    /// prefixes of a key, the longest one counts; without one there is no limit. S3 itself takes at least 3,500 deletions a second
    /// for each prefix.
    pub fn set_capacity(&self, prefix: impl Into<String>, deletions: impl Into<Capacity>) {
        let bucket = TokenBucket::new(deletions.into(), Instant::now());
        let prefix = prefix.into();
        let mut state = self.state();
        state.prefixes.retain(|(other, _)| *other != prefix);
        state.prefixes.push((prefix, bucket));
    }

    /// Deletions of `DeleteObjects` for which the predicate is true fail with `AccessDenied`, as those of locked objects.
    ///
    /// A deletion is JSON: `bucket.poison(|deletion| deletion["Key"] == "a")`, with the `VersionId` if there is one.
    pub fn poison(&self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        self.inner.poison.set(predicate);
    }
}

impl Bucket {
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        let control = AdmissionControl::new(Capacity::unlimited(), Instant::now(), seed);
        let state = BucketState {
            objects: BTreeMap::new(),
            gate: Gate::new(control, seed),
            prefixes: Vec::new(),
            puts: 0,
            deletes: 0,
        };
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                state: Mutex::new(state),
                poison: Predicate::default(),
            }),
        }
    }

    pub(super) fn read<R>(&self, key: &str, read: impl FnOnce(&Object) -> R) -> Option<R> {
        self.state().objects.get(key).map(read)
    }

    /// Puts an object, unless the condition or the fault of the request prevents it.
    pub(super) fn put(
        &self,
        key: &str,
        object: Object,
        condition: &Condition,
        answered: &AnswerReceipt,
    ) -> WriteResult {
        let mut state = self.state();
        state.puts += 1;
        state.write(key, condition, answered, |objects| {
            objects.insert(key.to_owned(), object);
        })
    }

    /// Counts a put whose body is cut off.
    pub(super) fn refuse_put(&self, answered: &AnswerReceipt) {
        let mut state = self.state();
        state.puts += 1;
        state.gate.call(answered);
        state.gate.statistics.refused_calls += 1;
    }

    /// Deletes an object, unless the condition or the fault of the request prevents it.
    pub(super) fn delete(&self, key: &str, condition: &Condition, answered: &AnswerReceipt) -> WriteResult {
        let mut state = self.state();
        state.deletes += 1;
        state.write(key, condition, answered, |objects| {
            objects.remove(key);
        })
    }

    pub(super) fn denies(&self, deletion: &Value) -> bool {
        self.inner.poison.holds(deletion)
    }

    pub(super) fn call(&self, answered: &AnswerReceipt) -> Call {
        self.state().gate.call(answered)
    }

    /// Counts a call that breaks a rule of S3.
    pub(super) fn count_refused_call(&self) {
        self.state().gate.statistics.refused_calls += 1;
    }

    /// Counts a call of which nothing was deleted for lack of capacity.
    pub(super) fn count_throttled_call(&self) {
        self.state().gate.statistics.throttled_calls += 1;
    }

    /// Deletes the objects as far as there is capacity, and returns a verdict for each. An error is a fault that replaces the answer.
    pub(super) fn delete_all(&self, call: &Call, deletions: &[Deletion]) -> Result<Vec<Verdict>, InjectedFault> {
        let mut state = self.state();
        match call.fault.replaces_answer() {
            None => Ok(state.apply(call, deletions, Verdict::acknowledgement)),
            Some(true) => {
                state.apply(call, deletions, |verdict| verdict.acknowledgement().without_answer());
                state.gate.count_failed_call(&call.fault, 0);
                Err(call.fault.clone())
            }
            Some(false) => {
                for deletion in deletions {
                    state.record(call, deletion, call.fault.acknowledgement_of_skipped());
                }
                state.gate.count_failed_call(&call.fault, deletions.len());
                Err(call.fault.clone())
            }
        }
    }

    fn with_gate<R>(&self, act: impl FnOnce(&mut Gate) -> R) -> R {
        act(&mut self.state().gate)
    }

    fn state(&self) -> MutexGuard<'_, BucketState> {
        lock(&self.inner.state)
    }
}

impl BucketState {
    /// Performs a call of a single object, unless its condition or its fault prevents it.
    fn write(
        &mut self,
        key: &str,
        condition: &Condition,
        answered: &AnswerReceipt,
        change: impl FnOnce(&mut BTreeMap<String, Object>),
    ) -> WriteResult {
        let fault = match self.gate.whole_call(answered).fault {
            // The success of a put or a delete is in its status alone, and would be read.
            InjectedFault::Garbage { applied } => InjectedFault::Dropped { applied },
            fault => fault,
        };
        let replaces = fault.replaces_answer();
        let checked = condition.check(self.objects.get(key));
        if replaces.unwrap_or(true) {
            let verdict = if checked.is_ok() {
                change(&mut self.objects);
                Verdict::Accepted
            } else {
                Verdict::ConditionFailed
            };
            self.gate.count(iter::once(1.0), &[verdict]);
        }
        if let Some(is_applied) = replaces {
            self.gate.count_failed_call(&fault, usize::from(!is_applied));
        }
        (fault, checked)
    }

    fn apply(
        &mut self,
        call: &Call,
        deletions: &[Deletion],
        acknowledgement: impl Fn(&Verdict) -> Acknowledgement,
    ) -> Vec<Verdict> {
        let good: Vec<&Deletion> = deletions.iter().filter(|deletion| deletion.failure.is_none()).collect();
        let Self { gate, prefixes, .. } = self;
        let decided = gate.decide_by(call, good.len(), |order, verdicts| {
            charge(prefixes, &good, call.info.at, order, verdicts);
        });
        gate.count_refused_entries(deletions.len() - good.len());
        let mut decided = decided.into_iter();
        let mut verdicts = Vec::with_capacity(deletions.len());
        for deletion in deletions {
            let failed = |code: &'static str| Verdict::Failed {
                code: code.into(),
                sender_fault: true,
            };
            let verdict = match deletion.failure {
                Some(code) => failed(code),
                None => decided.next().unwrap_or_else(Verdict::internal_error),
            };
            if verdict.is_applied() {
                self.objects.remove(&deletion.key);
            }
            self.record(call, deletion, acknowledgement(&verdict));
            verdicts.push(verdict);
        }
        verdicts
    }

    fn record(&mut self, call: &Call, deletion: &Deletion, acknowledgement: Acknowledgement) {
        let journal = &mut self.gate.journal;
        journal.write(
            &call.info,
            Action::Delete,
            &deletion.key,
            &deletion.json(),
            acknowledgement,
        );
    }
}

/// The fault of a call of a single object, and its result without the fault.
pub(super) type WriteResult = (InjectedFault, Result<(), Refusal>);

/// Charges the deletions to the capacities of their prefixes, in this order, and throttles those for which there is none.
fn charge(
    prefixes: &mut [(String, TokenBucket)],
    deletions: &[&Deletion],
    now: Instant,
    order: &[usize],
    verdicts: &mut [Verdict],
) {
    for (_, bucket) in &mut *prefixes {
        bucket.fill(now);
    }
    for &place in order {
        let own = prefixes
            .iter_mut()
            .filter(|(prefix, _)| deletions[place].key.starts_with(&**prefix))
            .max_by_key(|(prefix, _)| prefix.len());
        let Some((_, bucket)) = own.filter(|_| verdicts[place].is_applied()) else {
            continue;
        };
        if bucket.fits(1.0) {
            bucket.take(1.0);
        } else {
            verdicts[place] = Verdict::Throttled(HOT_RANGE);
        }
    }
}
