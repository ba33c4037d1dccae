//! As much of tokio as the library uses, on a model checker's scheduler and a clock of its own.
//!
//! What synchronizes (`sync`, `select!`) is the real tokio: it needs no runtime. Each of its operations is one step of the model,
//! and another task may run before it and after it. Tasks, threads and time are the model's.

pub mod model;
pub mod runtime;
pub mod sync;
pub mod task;
pub mod time;

pub use real::{join, pin, select};
pub use task::spawn;
