//! A target made outside the crate, and how the engine treats its answers.

mod bounds;
mod checkpoint;
mod cleaning_up;
mod concurrent;
mod conditions;
mod events;
mod frozen;
mod handler_ends;
mod handlers;
mod held_by_concurrency;
mod hot_key_model;
mod hot_keys;
mod keyed;
mod named_waits;
mod numbers;
mod on_an_sdk;
mod outdated;
mod pace;
mod packing;
mod panics;
mod patience;
mod preparation;
mod producer;
mod receipts;
mod shutdown;
mod streams;
mod unanswered;
mod unpolled;

mod units;
