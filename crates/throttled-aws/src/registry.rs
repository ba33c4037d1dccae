//! The tables, queues or streams that are known, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

/// What is known of the resources of one kind. Each is asked for once, also by many calls at the same time.
pub(crate) struct Registry<T> {
    known: Mutex<HashMap<String, Arc<OnceCell<Arc<T>>>>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
        }
    }
}

impl<T> Registry<T> {
    /// The resource with this name, which is described first if it is not known. What cannot be described is asked for again.
    pub(crate) async fn get(&self, name: &str, describe: impl Future<Output = Option<T>>) -> Option<Arc<T>> {
        let cell = Arc::clone(lock(&self.known).entry(name.to_owned()).or_default());
        let described = async { describe.await.map(Arc::new).ok_or(()) };
        let found = cell.get_or_try_init(|| described).await.ok().cloned();
        if found.is_none() {
            self.forget(name);
        }
        found
    }

    /// A resource that was created, changed or deleted.
    pub(crate) fn forget(&self, name: &str) {
        lock(&self.known).remove(name);
    }

    pub(crate) fn clear(&self) {
        lock(&self.known).clear();
    }
}

/// A panic elsewhere does not end all other calls.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last part of a name, URL or ARN.
pub(crate) fn last_part(name: &str) -> &str {
    name.rsplit(['/', ':']).next().unwrap_or(name)
}
