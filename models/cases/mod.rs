//! The cases of the model checker: the library's own code, in many orders of its steps.

mod delivery;
mod gate;
mod producer;
mod strategies;
mod target;

pub use delivery::*;
pub use gate::*;
pub use producer::*;
