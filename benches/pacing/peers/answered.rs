//! Which call the loop is asking about.

use std::collections::VecDeque;

/// What answered calls came to, until the loop has asked about each.
///
/// A strategy hears of a call, then the loop asks for the rests of its leftovers, and then for the pause after it, call by
/// call in the order of the answers. On one thread that is enough to tell which call a rest is for.
#[derive(Debug, Default)]
pub(super) struct Answered {
    calls: VecDeque<Call>,
}

/// A call that was answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// When, in seconds.
    pub(super) at: f64,
    /// All of it was throttled. DynamoDB then answers with an error and not with `UnprocessedItems`.
    pub(super) throttled: bool,
    /// Somebody has asked for a rest of its leftovers already.
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

    /// The loop is done with it.
    pub(super) fn pop(&mut self) {
        self.calls.pop_front();
    }
}
