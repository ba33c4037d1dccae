//! Calls that are refused as a whole: the guilty entries are found, and the innocent ones are delivered.

mod innocent;
mod picky;
mod search;
mod shared_reason;
