//! A bucket.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;

use crate::fault::InjectedFault;
use crate::lock;

/// A bucket of the simulator. Clones are handles to the same bucket.
#[derive(Clone)]
pub struct Bucket {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Bytes>,
    script: VecDeque<InjectedFault>,
    puts: u64,
    deletes: u64,
}

/// Handles for tests.
impl Bucket {
    /// The name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Sets the faults of the next puts and deletes, in this order; later ones have none. Replaces the rest of an earlier
    /// script. Faults of single entries apply only to batches and have no effect here.
    pub fn script(&self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.state().script = faults.into_iter().collect();
    }

    /// All objects by their keys.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let objects = state.objects.iter();
        objects.map(|(key, body)| (key.clone(), body.to_vec())).collect()
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

    /// The number of deletes that have arrived, including failed ones.
    pub fn deletes(&self) -> u64 {
        self.state().deletes
    }
}

impl Bucket {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                state: Mutex::default(),
            }),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Bytes> {
        self.state().objects.get(key).cloned()
    }

    /// Puts an object, unless the fault of the request prevents it.
    pub(super) fn put(&self, key: String, body: Bytes) -> InjectedFault {
        let mut state = self.state();
        state.puts += 1;
        let fault = state.next_fault();
        if fault.replaces_answer().unwrap_or(true) {
            state.objects.insert(key, body);
        }
        fault
    }

    /// Deletes an object, unless the fault of the request prevents it.
    pub(super) fn delete(&self, key: &str) -> InjectedFault {
        let mut state = self.state();
        state.deletes += 1;
        let fault = state.next_fault();
        if fault.replaces_answer().unwrap_or(true) {
            state.objects.remove(key);
        }
        fault
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.inner.state)
    }
}

impl State {
    fn next_fault(&mut self) -> InjectedFault {
        self.script.pop_front().unwrap_or(InjectedFault::None)
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}
