//! Deduplication ids for messages that have none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tracing::warn;

use super::Fault;
use super::lookup::{Advice, Lookup, LookupError};
use crate::events::LOOKUP;

/// Gives an id to each message of a FIFO queue or topic that has none, unless the service derives ids from the bodies.
///
/// The id is drawn once for a message and kept, so that the service recognizes a message that is sent again after a lost
/// answer, while two messages with the same content remain two.
#[derive(Clone)]
pub(super) struct Deduplication {
    /// Whether the service derives the ids from the bodies.
    by_content: Lookup<bool>,
    /// Distinguishes the messages of this target from those of any other process.
    prefix: u128,
    next: Arc<AtomicU64>,
}

impl Deduplication {
    pub(super) fn new() -> Self {
        Self {
            by_content: Lookup::default(),
            prefix: rand::random(),
            next: Arc::default(),
        }
    }

    /// Sets whether the service derives the ids from the bodies.
    pub(super) fn by_content(mut self, by_content: bool) -> Self {
        self.by_content = Lookup::given(by_content);
        self
    }

    /// Asks the service whether it derives the ids from the bodies, unless that is known. `permission` is what the call
    /// needs.
    pub(super) async fn ask<F>(&self, call: impl Fn() -> F, destination: &str, permission: &'static str)
    where
        F: Future<Output = Result<bool, LookupError>>,
    {
        let Err(fault) = self.by_content.ask(call).await else {
            return;
        };
        let advice = match LookupError::advice(&fault) {
            Advice::Permit => format!("allow {permission}, or set `content_based_deduplication`"),
            Advice::DoWithout => "set `content_based_deduplication`".to_owned(),
            Advice::Wait => {
                "the next delivery asks again; set `content_based_deduplication` to avoid the call".to_owned()
            }
        };
        warn!(
            target: LOOKUP,
            destination,
            code = fault.code(),
            advice,
            "it is not known whether messages are deduplicated by content: those without an id may be refused"
        );
    }

    /// Why the last call failed, while the lookup continues.
    pub(super) fn failing(&self) -> Option<Fault> {
        self.by_content.failing()
    }

    /// Whether the service is known to derive the ids from the bodies.
    #[cfg(feature = "s3-offload")]
    pub(super) fn is_by_content(&self) -> bool {
        self.by_content.get() == Some(&true)
    }

    /// Gives a message an id if it needs one.
    pub(super) fn complete(&self, id: &mut Option<String>) {
        if self.by_content.get() == Some(&false) && id.is_none() {
            let number = self.next.fetch_add(1, Relaxed);
            *id = Some(format!("{:032x}-{number}", self.prefix));
        }
    }
}
