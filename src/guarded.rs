//! Runs code of the caller, which may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::contract::{ErasedTarget, Fault};

/// Runs code of `owner` and turns a panic into a fault, so that the delivery can end properly and hand back its entries.
pub(crate) fn guarded<R>(owner: &'static str, run: impl FnOnce() -> R) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| panicked(owner, &*panic))
}

/// The fault for a panic in code of `owner`.
pub(crate) fn panicked(owner: &'static str, panic: &(dyn Any + Send)) -> Fault {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Fault::new(format!("{owner} panicked")).caused_by(Panicked(message))
}

/// The name of the target in the log.
pub(crate) fn destination<E>(target: &dyn ErasedTarget<E>) -> String {
    let name = guarded("the target's `name`", || target.name().into_owned());
    // A panic over a name must not end a delivery.
    name.unwrap_or_else(|_| "custom".to_owned())
}

/// The message of a panic.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Panicked(String);
