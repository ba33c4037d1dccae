//! Finds the call that the loop is asking about.

use std::collections::VecDeque;

/// The results of answered calls, until the loop has asked about each.
///
/// A strategy observes a call, then the loop asks for the delays of its leftovers, and then for the cooldown after it, call by
/// call in the order of the answers. On one thread that is enough to know which call a delay is for.
#[derive(Debug, Default)]
pub(super) struct Answered {
    calls: VecDeque<Call>,
}

/// A call that was answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// When, in seconds.
    pub(super) at: f64,
    /// Whether all of it was throttled. DynamoDB then answers with an error and not with `UnprocessedItems`.
    pub(super) throttled: bool,
    /// Whether the loop has already asked for a delay of its leftovers.
    pub(super) asked: bool,
}

impl Answered {
    pub(super) fn push(&mut self, at: f64, throttled: bool) {
        self.calls.push_back(Call {
            at,
            throttled,
            asked: false,
        });
    }

    /// The call whose leftovers are asked about.
    pub(super) fn current(&mut self) -> Option<&mut Call> {
        self.calls.front_mut()
    }

    /// Removes the call, about which the loop asks no more.
    pub(super) fn pop(&mut self) {
        self.calls.pop_front();
    }
}
