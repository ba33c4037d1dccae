//! One entry: what the engine knows of it, its failed attempts, and what is reported to its sender.
//!
//! - `chunk`: the entries of one call, and the space that is left for others.

mod chunk;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::backoff::Retry;
use crate::contract::{Fault, Identity, Lane};
use crate::debug::debug_fields;
use crate::disposition::Disposition;
use crate::options::DeliveryOptions;
use crate::report::Undelivered;

pub(crate) use chunk::{Chunk, Space};

/// What the engine knows of one entry. Only the target inspects the entry itself.
#[derive(Debug)]
pub(crate) struct EntryState<E> {
    /// Its position in the input, from 0.
    pub(crate) position: u64,
    /// How many bytes of a call it needs, measured once.
    pub(crate) bytes: usize,
    /// How much memory it takes while it waits.
    pub(crate) weight: usize,
    /// What it counts for with the strategy: 1, or its units of capacity.
    pub(crate) cost: usize,
    /// Its partition key, if the strategy paces single keys.
    pub(crate) key: Option<u64>,
    /// The lane whose order it keeps.
    pub(crate) lane: Option<Lane>,
    /// When it was submitted: sent to a producer, or read from any other input. `None` before it was read.
    pub(crate) arrived: Option<Instant>,
    /// Its failed attempts; `None` if there are none. Boxed because it is rare and the state is moved often.
    pub(crate) history: Option<Box<History>>,
    /// The receipt or handler that gets its outcome, if there is one.
    pub(crate) confirmation: Option<Confirmation<E>>,
}

impl<E> EntryState<E> {
    pub(crate) fn new(position: u64, bytes: usize) -> Self {
        Self {
            position,
            bytes,
            weight: bytes,
            cost: 1,
            key: None,
            lane: None,
            arrived: None,
            history: None,
            confirmation: None,
        }
    }

    /// How many attempts have failed.
    pub(crate) fn attempts(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.attempts)
    }

    /// How often it was rejected.
    pub(crate) fn rejections(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.rejections)
    }

    /// Whether its next attempt shows the state of its key: it is the first one, or others of the key wait behind it.
    pub(crate) fn stands_for_its_key(&self) -> bool {
        let history = self.history.as_ref();
        history.is_none_or(|history| history.rejections == 0 || history.is_followed)
    }

    /// Its next retry, as it is passed to the strategy.
    pub(crate) fn retry(&self) -> Retry {
        self.history.as_ref().map_or(Retry::FIRST, |history| history.retry)
    }

    /// Its retries count from 1 again.
    pub(crate) fn start_over(&mut self) {
        if let Some(history) = &mut self.history {
            history.retry = Retry::FIRST;
        }
    }

    /// The service rejected this entry.
    pub(crate) fn rejected(&mut self, sent_at: Instant, fault: Fault) -> &mut History {
        let history = self.failed(sent_at, fault);
        history.rejections = history.rejections.saturating_add(1);
        history
    }

    /// An attempt failed, for a reason that need not be this entry.
    pub(crate) fn failed(&mut self, sent_at: Instant, fault: Fault) -> &mut History {
        let history = self.history.get_or_insert_with(|| Box::new(History::since(sent_at)));
        history.failed(fault);
        history
    }

    /// Why the last attempt failed, if there was one.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        self.history.as_mut()?.fault.take()
    }

    /// Until when it may be tried; `None` without a limit, or while its time has not begun.
    pub(crate) fn expiry(&self, options: &DeliveryOptions) -> Option<Instant> {
        let begins = if options.counts_from_hand_over {
            self.arrived?
        } else {
            self.history.as_ref()?.first_sent
        };
        begins.checked_add(options.patience())
    }
}

/// An entry with its state.
#[derive(Debug)]
pub(crate) struct TrackedEntry<E> {
    pub(crate) entry: E,
    pub(crate) state: EntryState<E>,
}

impl<E> TrackedEntry<E> {
    /// Removes the entries of a list for which `goes` is true, in the order of their keys.
    pub(crate) fn take_from<K: Ord + Copy>(
        list: &mut BTreeMap<K, Self>,
        mut goes: impl FnMut(&EntryState<E>) -> bool,
    ) -> Vec<Self> {
        let going = list.iter().filter(|(_, entry)| goes(&entry.state));
        let going: Vec<K> = going.map(|(key, _)| *key).collect();
        going.iter().filter_map(|key| list.remove(key)).collect()
    }
}

/// The failed attempts of an entry. Most entries have none.
#[derive(Debug)]
pub(crate) struct History {
    /// How often it was sent.
    pub(crate) attempts: u32,
    /// How often it was rejected. Less than `attempts` if calls were refused because of other entries.
    pub(crate) rejections: u32,
    /// When it was sent first.
    pub(crate) first_sent: Instant,
    /// Its next retry, as it is passed to the strategy.
    pub(crate) retry: Retry,
    /// Others of its lane waited behind it when it was rejected last.
    pub(crate) is_followed: bool,
    /// When it was first refused alone, without a word on whether because of this entry.
    pub(crate) disputed_since: Option<Instant>,
    /// Whether an answer left open if the service has it.
    pub(crate) ambiguous: bool,
    /// Why the last attempt failed.
    pub(crate) fault: Option<Fault>,
}

impl History {
    pub(crate) fn since(first_sent: Instant) -> Self {
        Self {
            attempts: 0,
            rejections: 0,
            first_sent,
            retry: Retry::FIRST,
            is_followed: false,
            disputed_since: None,
            ambiguous: false,
            fault: None,
        }
    }

    /// The entry was sent and not accepted.
    pub(crate) fn failed(&mut self, fault: Fault) {
        self.attempts = self.attempts.saturating_add(1);
        self.ambiguous |= fault.is_ambiguous();
        self.fault = Some(fault);
    }
}

/// Reports the outcome of an entry to its sender: a receipt or a handler.
///
/// It is as large as one pointer, because every entry has space for one.
pub(crate) struct Confirmation<E>(Box<dyn Confirms<E>>);

/// Receives what became of an entry.
pub(crate) trait Confirms<E>: Send + Sync {
    /// This entry was delivered or superseded, or its condition does not hold.
    fn resolve(self: Box<Self>, entry: &E, disposition: Disposition);

    /// By what the service recognizes the entry if another delivery has sent it before.
    fn identity(&self) -> Option<Identity> {
        None
    }

    /// Code of the caller panicked with this entry. It is handed back next, as are others for the stop of the delivery.
    fn panicked(&self) {}

    /// Hands the entry back. Returns it if nothing waits for it.
    fn hand_back(self: Box<Self>, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>>;
}

impl<E> Confirmation<E> {
    pub(crate) fn to(confirms: impl Confirms<E> + 'static) -> Self {
        Self(Box::new(confirms))
    }

    /// Reports that this entry was delivered or superseded, or that its condition does not hold.
    pub(crate) fn resolve(self, entry: &E, disposition: Disposition) {
        self.0.resolve(entry, disposition);
    }

    /// By what the service recognizes the entry if another delivery has sent it before.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.0.identity()
    }

    /// Reports that code of the caller panicked with this entry, before it is handed back.
    pub(crate) fn panicked(&self) {
        self.0.panicked();
    }

    /// Hands the entry back. Returns it if nothing waits for it.
    pub(crate) fn hand_back(self, undelivered: Undelivered<E>) -> BoxFuture<'static, Option<Undelivered<E>>> {
        self.0.hand_back(undelivered)
    }
}

debug_fields!(Confirmation<E>);
