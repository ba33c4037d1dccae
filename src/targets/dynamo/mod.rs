//! DynamoDB: writes to one table or several by `BatchWriteItem`, and reads from one by `BatchGetItem`.

mod body;
mod calls;
mod check;
mod correlate;
mod describe;
mod equality;
mod index_keys;
mod key;
mod key_read;
mod memory;
mod name;
mod number;
mod reads;
mod size;
mod table;
mod tables;
#[cfg(test)]
mod testing;
mod throttling;
mod throughput;
mod write;

pub use key_read::KeyRead;
pub use reads::{DynamoReads, MAX_ANSWER_BYTES, MAX_KEYS};
pub use size::item_size;
pub use table::{DynamoTable, MAX_BODY_BYTES, MAX_ITEM_BYTES, MAX_REQUESTS};
pub use tables::DynamoTables;
pub use write::TableWrite;
