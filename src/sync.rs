//! Locks that a model checker can watch, with `--cfg model`: see `models/README.md`.

#[cfg(model)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(model))]
pub(crate) use std::sync::{Mutex, MutexGuard};
