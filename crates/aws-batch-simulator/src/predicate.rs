//! Predicates of entries that users set.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

type Test = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// A predicate of the JSON of an entry, which may be set while calls are in flight. It is false until it is set.
#[derive(Default)]
pub(crate) struct Predicate(RwLock<Option<Test>>);

impl Predicate {
    pub(crate) fn set(&self, test: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(test));
    }

    pub(crate) fn holds(&self, entry: &Value) -> bool {
        // It runs outside of the lock, because it may set another predicate.
        let test = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        test.is_some_and(|test| test(entry))
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}
