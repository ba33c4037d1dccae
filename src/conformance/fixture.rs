//! What the kit has to be given.

use super::service::{Said, Service};
use crate::targets::{BatchTarget, Limits};

/// A target under test, and the service at the other end of its calls.
pub trait Fixture: Send + Sync + 'static {
    /// The target under test.
    type Target: BatchTarget;

    /// A target whose calls are answered as `service` says: with the service's own limits, or with these.
    fn target(&self, service: Service, limits: Option<Limits>) -> Self::Target;

    /// A valid entry with this number in it, which has about so many bytes beyond its smallest size.
    fn entry(&self, number: usize, bytes: usize) -> <Self::Target as BatchTarget>::Entry;

    /// The number that the entry was made with.
    fn number(&self, entry: &<Self::Target as BatchTarget>::Entry) -> usize;

    /// What the service can say of a single entry, in an answer that speaks of each.
    fn says_of_an_entry(&self) -> &[Said];

    /// Whether the service can answer for an entry that was not sent, as far as its answers tell. Default: no.
    fn answers_for_strangers(&self) -> bool {
        false
    }

    /// Whether the service can refuse a call on account of an entry. Default: yes.
    fn refuses_calls(&self) -> bool {
        true
    }
}
