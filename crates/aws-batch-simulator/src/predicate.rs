//! Tests of entries that users hand in.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

type Test = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// A test of an entry as it is on the wire, which may be set while calls are under way. Holds for nothing at first.
#[derive(Default)]
pub(crate) struct Predicate(RwLock<Option<Test>>);

impl Predicate {
    pub(crate) fn set(&self, test: impl Fn(&Value) -> bool + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(test));
    }

    pub(crate) fn holds(&self, entry: &Value) -> bool {
        // The test runs outside of the lock, since it may set another one.
        let test = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        test.is_some_and(|test| test(entry))
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Predicate")
    }
}
