//! What answers a call.

use serde_json::Value;

use crate::refusal::Refusal;

/// What answers a call.
pub(super) enum Step {
    Answer(Value),
    /// This call to the simulator, whose answer is changed so.
    Ask(
        &'static str,
        Value,
        Box<dyn FnOnce(Value) -> Result<Value, Refusal> + Send>,
    ),
    /// The simulator, as it is.
    Pass,
}
