//! The program as a whole, run as people and machines run it.

mod dead_letters;
mod input;
mod program;
mod resuming;
mod served;
mod summary;
