//! By what a service recognizes an entry that is sent again, even by another process.

#![cfg_attr(
    not(all(feature = "dynamodb", feature = "spool")),
    allow(dead_code, reason = "a spool keeps the doubts, and DynamoDB's writes have some")
)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError};
#[cfg(feature = "spool")]
use std::time::Duration;

use tokio::sync::Notify;
#[cfg(feature = "spool")]
use tokio::time::Instant;

use crate::moment::Moment;
use crate::sync::{Mutex, MutexGuard};

/// By what a service recognizes an entry that is sent again, even by another delivery or process. Each entry of a
/// [spool](crate::Delivery::spooled) has one for as long as it is in the folder.
///
/// Its `Display` is the id as 32 hexadecimal digits, for example for the key of a request that is to be applied once.
#[derive(Debug, Clone)]
pub struct Identity {
    id: u128,
    number: u64,
    doubts: Arc<Doubts>,
}

/// Which entries may have been delivered although no answer has said so, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    since: Mutex<BTreeMap<u64, Moment>>,
    /// There is one after none was.
    noted: Notify,
}

impl Identity {
    /// That of an entry with this id, which no other one must have.
    pub fn new(id: u128) -> Self {
        Self::among(id, 0, &Arc::default())
    }

    /// That of the entry with this number.
    pub(crate) fn among(id: u128, number: u64, doubts: &Arc<Doubts>) -> Self {
        Self {
            id,
            number,
            doubts: Arc::clone(doubts),
        }
    }

    /// Since when the entry may have been delivered, if it may.
    #[cfg(feature = "dynamodb")]
    pub(crate) fn doubt(&self) -> Option<Moment> {
        self.doubts.all().get(&self.number).copied()
    }

    #[cfg(feature = "dynamodb")]
    pub(crate) fn set_doubt(&self, doubt: Option<Moment>) {
        let mut all = self.doubts.all();
        if all.is_empty() {
            self.doubts.noted.notify_one();
        }
        match doubt {
            Some(since) => _ = all.insert(self.number, since),
            None => _ = all.remove(&self.number),
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.id)
    }
}

impl Doubts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Moment>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "spool")]
impl Doubts {
    /// Those of an earlier process.
    pub(crate) fn of(doubts: impl IntoIterator<Item = (u64, Moment)>) -> Self {
        Self {
            since: Mutex::new(doubts.into_iter().collect()),
            noted: Notify::new(),
        }
    }

    /// Waits until there is one after none was.
    pub(crate) async fn noted(&self) {
        self.noted.notified().await;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Forgets those before this number, and returns those that have lasted so long.
    pub(crate) fn lasting(&self, from: u64, age: Duration) -> BTreeMap<u64, Moment> {
        let mut all = self.all();
        *all = all.split_off(&from);
        let now = Instant::now();
        let lasting = all.iter().filter(|(_, doubt)| doubt.age_at(now) >= age);
        lasting.map(|(number, doubt)| (*number, *doubt)).collect()
    }
}
