//! What the kit needs from a test.

use super::service::{Said, Service};
use crate::targets::{BatchTarget, Limits};

/// A target under test, and the service that it calls.
pub trait Fixture: Send + Sync + 'static {
    /// The target under test.
    type Target: BatchTarget;

    /// A target whose calls are answered by `service`: with the limits of the service, or with these.
    fn target(&self, service: Service, limits: Option<Limits>) -> Self::Target;

    /// A valid entry that contains this number and is about this many bytes larger than the smallest one.
    fn entry(&self, number: usize, bytes: usize) -> <Self::Target as BatchTarget>::Entry;

    /// The number that the entry was made with.
    fn number(&self, entry: &<Self::Target as BatchTarget>::Entry) -> usize;

    /// What the service can say about a single entry, in an answer that speaks of each entry.
    fn says_of_an_entry(&self) -> &[Said];

    /// Whether the service can answer for an entry that was not sent, as far as the format of its answers allows. Default:
    /// no.
    fn answers_for_strangers(&self) -> bool {
        false
    }

    /// Whether the service can refuse a whole call because of one entry. Default: yes.
    fn refuses_calls(&self) -> bool {
        true
    }
}
