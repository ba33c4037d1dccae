//! The program as a whole, run as people and machines run it.

mod input;
mod program;
mod summary;
