//! Calls that are refused as a whole: the entries at fault are found, and the others are delivered.

mod all_or_nothing;
mod disputes;
mod rejected;
mod search;
mod shared_reason;
