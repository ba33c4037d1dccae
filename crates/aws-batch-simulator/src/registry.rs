//! The tables, queues and other resources of one kind, by name.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// The region in the names of resources.
pub(crate) const REGION: &str = "us-east-1";
/// The account id in the names of resources.
pub(crate) const ACCOUNT: &str = "000000000000";

pub(crate) struct Registry<T> {
    kind: &'static str,
    seed: u64,
    resources: RwLock<HashMap<String, T>>,
}

impl<T: Clone> Registry<T> {
    pub(crate) fn new(kind: &'static str, seed: u64) -> Self {
        Self {
            kind,
            seed,
            resources: RwLock::default(),
        }
    }

    /// Creates a resource with a seed of its own, replaces one with the same name, and returns a handle to it.
    pub(crate) fn add(&self, name: &str, create: impl FnOnce(u64) -> T) -> T {
        let resource = create(self.seed_for(name));
        let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
        resources.insert(name.to_owned(), resource.clone());
        resource
    }

    /// Removes a resource, and returns whether there was one.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let mut resources = self.resources.write().unwrap_or_else(PoisonError::into_inner);
        resources.remove(name).is_some()
    }

    pub(crate) fn find(&self, name: &str) -> Option<T> {
        let resources = self.resources.read().unwrap_or_else(PoisonError::into_inner);
        resources.get(name).cloned()
    }

    /// Handles to all of them, in no order.
    pub(crate) fn all(&self) -> Vec<T> {
        let resources = self.resources.read().unwrap_or_else(PoisonError::into_inner);
        resources.values().cloned().collect()
    }

    /// Each resource has random numbers of its own, so that calls to one do not change another.
    fn seed_for(&self, name: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, self.kind, name).hash(&mut hasher);
        hasher.finish()
    }
}

/// A panic in a caller's iterator must not make the whole simulator fail.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
