//! A target behind a pointer.

use std::borrow::Cow;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Answer, BatchTarget, Fault, Identity, Lane, Limits};
use crate::invalid::InvalidEntry;
use crate::report::Undelivered;

/// A [`BatchTarget`] whose type is not known, only that of its entries.
///
/// The engine is compiled once for each type of entry, however many targets, closures and inputs a program has. What this costs
/// is an indirect call or two for each entry, and for each call to the service one allocation more.
pub(crate) trait ErasedTarget<E>: Send + Sync {
    fn name(&self) -> Cow<'_, str>;
    fn limits(&self) -> Limits;
    fn preparation_fault(&self) -> Option<Fault>;
    fn prepare(&self) -> BoxFuture<'_, ()>;
    fn identify(&self, entry: &mut E, identity: &Identity);
    fn check(&self, entry: &E) -> Result<usize, InvalidEntry>;
    fn weight(&self, entry: &E, bytes: usize) -> usize;
    fn supersedes(&self, newer: &E, older: &E) -> bool;

    /// Completes an entry that was checked and needs these bytes, and says what the delivery has to know of it.
    fn complete(&self, entry: &mut E, bytes: usize, wanted: WantedTraits) -> Traits;

    /// Makes a call. Units are returned only if they are wanted.
    fn send<'a>(&'a self, chunk: &'a [E], wants_units: bool) -> BoxFuture<'a, (Answer, Option<f64>)>;

    fn restore(&self, entry: &mut E);
    fn clean_up<'a>(&'a self, undelivered: &'a mut [Undelivered<E>]) -> BoxFuture<'a, ()>;
}

/// What the strategy of a delivery wants to know of each entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedTraits {
    pub(crate) units: bool,
    pub(crate) partition_keys: bool,
}

/// What a delivery has to know of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    pub(crate) weight: usize,
    pub(crate) lane: Option<Lane>,
    pub(crate) partition_key: Option<u64>,
    /// `None` where they are not wanted.
    pub(crate) units: Option<usize>,
}

impl<T: BatchTarget> ErasedTarget<T::Entry> for T {
    fn name(&self) -> Cow<'_, str> {
        BatchTarget::name(self)
    }

    fn limits(&self) -> Limits {
        BatchTarget::limits(self)
    }

    fn preparation_fault(&self) -> Option<Fault> {
        BatchTarget::preparation_fault(self)
    }

    fn prepare(&self) -> BoxFuture<'_, ()> {
        BatchTarget::prepare(self).boxed()
    }

    fn identify(&self, entry: &mut T::Entry, identity: &Identity) {
        BatchTarget::identify(self, entry, identity);
    }

    fn check(&self, entry: &T::Entry) -> Result<usize, InvalidEntry> {
        BatchTarget::check(self, entry)
    }

    fn weight(&self, entry: &T::Entry, bytes: usize) -> usize {
        BatchTarget::weight(self, entry, bytes)
    }

    fn supersedes(&self, newer: &T::Entry, older: &T::Entry) -> bool {
        BatchTarget::supersedes(self, newer, older)
    }

    fn complete(&self, entry: &mut T::Entry, bytes: usize, wanted: WantedTraits) -> Traits {
        BatchTarget::complete(self, entry);
        let weight = BatchTarget::weight(self, entry, bytes);
        let lane = self.lane(entry);
        // Entries of a lane that shares calls are not split by key.
        let by_key = wanted.partition_keys && !lane.is_some_and(Lane::shares_calls);
        Traits {
            weight,
            lane,
            partition_key: by_key.then(|| self.partition_key(entry)).flatten(),
            units: wanted.units.then(|| self.units(entry)),
        }
    }

    fn send<'a>(&'a self, chunk: &'a [T::Entry], wants_units: bool) -> BoxFuture<'a, (Answer, Option<f64>)> {
        if wants_units {
            self.send_metered(chunk).boxed()
        } else {
            BatchTarget::send(self, chunk).map(|answer| (answer, None)).boxed()
        }
    }

    fn restore(&self, entry: &mut T::Entry) {
        BatchTarget::restore(self, entry);
    }

    fn clean_up<'a>(&'a self, undelivered: &'a mut [Undelivered<T::Entry>]) -> BoxFuture<'a, ()> {
        BatchTarget::clean_up(self, undelivered).boxed()
    }
}
