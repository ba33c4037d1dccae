//! Code that is not this crate's, and may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::targets::{BatchTarget, Fault};

/// Runs code of `whose` and turns a panic into a fault, so that the delivery can end in order and lose nothing.
pub(crate) fn guarded<R>(whose: &'static str, run: impl FnOnce() -> R) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panicked(whose, &*panic))
}

/// What a panic of `whose` code comes to.
pub(crate) fn panicked(whose: &'static str, panic: &(dyn Any + Send)) -> Fault {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Fault::new(format!("{whose} panicked")).caused_by(Panicked(message))
}

/// What the target is called in the log.
pub(crate) fn destination<T: BatchTarget>(target: &T) -> String {
    let name = guarded("the target's `name`", || target.name().into_owned());
    // The log is not worth the end of a delivery.
    name.unwrap_or_else(|_| "custom".to_owned())
}

/// What a panic said.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Panicked(String);
