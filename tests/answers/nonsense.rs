//! JSON that is well formed and has the words of a service, and makes no sense.

use serde_json::{Map, Value, json};

use super::bytes::Bytes;

/// Names and values that mean something to the readers of answers.
const WORDS: [&str; 44] = [
    "UnprocessedItems",
    "orders",
    "PutRequest",
    "DeleteRequest",
    "Item",
    "Key",
    "id",
    "S",
    "N",
    "B",
    "M",
    "L",
    "SS",
    "BS",
    "NULL",
    "BOOL",
    "ConsumedCapacity",
    "TableName",
    "CapacityUnits",
    "ItemCollectionMetrics",
    "Successful",
    "Failed",
    "Id",
    "Code",
    "SenderFault",
    "Message",
    "message",
    "MessageId",
    "MD5OfMessageBody",
    "SequenceNumber",
    "FailedRecordCount",
    "Records",
    "ShardId",
    "ErrorCode",
    "ErrorMessage",
    "EncryptionType",
    "__type",
    "Table",
    "KeySchema",
    "AttributeName",
    "KeyType",
    "HASH",
    "RANGE",
    "TableStatus",
];

/// Codes that are told apart.
pub(crate) const CODES: [&str; 16] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "ValidationException",
    "ResourceNotFoundException",
    "AccessDeniedException",
    "ExpiredTokenException",
    "InternalServerError",
    "ItemCollectionSizeLimitExceededException",
    "AWS.SimpleQueueService.BatchRequestTooLong",
    "AWS.SimpleQueueService.NonExistentQueue",
    "InvalidMessageContents",
    "KMS.ThrottlingException",
    "RequestExpired",
    "ServiceUnavailable",
    "",
];

const DEEPEST: usize = 6;

pub(crate) fn value(bytes: &mut Bytes<'_>) -> Value {
    at_level(bytes, 0)
}

fn at_level(bytes: &mut Bytes<'_>, level: usize) -> Value {
    let kinds = if level < DEEPEST { 9 } else { 6 };
    match bytes.next() % kinds {
        0 => Value::Null,
        1 => json!(bytes.one_in(2)),
        2 => json!(i64::from_le_bytes([0; 8].map(|_: u8| bytes.next()))),
        3 => json!(f64::from(bytes.next()) / 3.0),
        4 => json!(word(bytes)),
        5 => json!(String::from_utf8_lossy(&bytes.some())),
        6 => Value::Array((0..bytes.next() % 12).map(|_| at_level(bytes, level + 1)).collect()),
        _ => Value::Object(
            (0..bytes.next() % 6)
                .map(|_| (word(bytes), at_level(bytes, level + 1)))
                .collect::<Map<_, _>>(),
        ),
    }
}

fn word(bytes: &mut Bytes<'_>) -> String {
    match bytes.next() % 8 {
        0 => (*bytes.one_of(&CODES)).to_owned(),
        // The id of an entry, or of none.
        1 => (bytes.next() % 16).to_string(),
        _ => (*bytes.one_of(&WORDS)).to_owned(),
    }
}
