//! The tables, queues or streams that are known, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

/// A resource as it is described.
pub(crate) struct Described<T> {
    pub(crate) resource: T,
    /// No change of it is in progress.
    pub(crate) is_settled: bool,
}

type Cell<T> = Arc<OnceCell<Described<Arc<T>>>>;

/// What is known of the resources of one kind. Each is asked for once, even by many calls at the same time, and as long as a
/// change is in progress.
pub(crate) struct Registry<T> {
    known: Mutex<HashMap<String, Cell<T>>>,
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
    pub(crate) async fn get(&self, name: &str, describe: impl Future<Output = Option<Described<T>>>) -> Option<Arc<T>> {
        let cell = Arc::clone(lock(&self.known).entry(name.to_owned()).or_default());
        let describe = async {
            let Described { resource, is_settled } = describe.await.ok_or(())?;
            let resource = Arc::new(resource);
            Ok::<_, ()>(Described { resource, is_settled })
        };
        let changing = cell.get().filter(|known| !known.is_settled);
        let found = match changing {
            None => cell
                .get_or_try_init(|| describe)
                .await
                .map(|known| Arc::clone(&known.resource)),
            // It has the limits that it had, until the change has ended.
            Some(known) => describe.await.map(|described| {
                if described.is_settled {
                    self.replace(name, &cell, described)
                } else {
                    Arc::clone(&known.resource)
                }
            }),
        };
        if found.is_err() {
            self.forget(name);
        }
        found.ok()
    }

    /// Replaces what is in the cell. If another call was faster, what it has found counts.
    fn replace(&self, name: &str, cell: &Cell<T>, described: Described<Arc<T>>) -> Arc<T> {
        let resource = Arc::clone(&described.resource);
        let mut known = lock(&self.known);
        match known.get_mut(name) {
            Some(current) if Arc::ptr_eq(current, cell) => *current = Arc::new(OnceCell::from(described)),
            Some(current) => {
                if let Some(current) = current.get() {
                    return Arc::clone(&current.resource);
                }
            }
            None => {}
        }
        resource
    }

    /// The resource with this name, if it is known already.
    pub(crate) fn known(&self, name: &str) -> Option<Arc<T>> {
        let cell = lock(&self.known).get(name).map(Arc::clone)?;
        cell.get().map(|known| Arc::clone(&known.resource))
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
