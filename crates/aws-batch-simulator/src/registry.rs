//! The tables, queues and other destinations of one kind, by name.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

pub(crate) struct Registry<T>(RwLock<HashMap<String, T>>);

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<T: Clone> Registry<T> {
    /// Adds a destination, replaces one with the same name, and returns a handle to it.
    pub(crate) fn add(&self, name: &str, one: T) -> T {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_owned(), one.clone());
        one
    }

    pub(crate) fn find(&self, name: &str) -> Option<T> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(name).cloned()
    }
}
