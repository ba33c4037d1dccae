//! The part of tokio that the library uses, on a model checker's scheduler and a clock of its own.
//!
//! The synchronization primitives (`sync`, `select!`) are the real tokio's, which need no runtime. Each of their operations is one
//! step of the model, and another task may run before and after it. Tasks, threads and time are the model's.

pub mod model;
pub mod runtime;
pub mod sync;
pub mod task;
pub mod time;

pub use real::{join, pin, select};
pub use task::spawn;
