//! The entries of a call, and their results.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::calls::Verdict;
use crate::journal::Acknowledgement;
use crate::wire::Refusal;

/// An entry of a call, checked.
pub(crate) struct Entry {
    pub(crate) json: Value,
    /// The key whose entries are in order; empty if there is none.
    pub(crate) key: String,
    /// The shard whose capacity it consumes.
    pub(crate) shard: usize,
    pub(crate) bytes: usize,
    /// The deduplication id: only the first entry with it is kept within five minutes.
    pub(crate) deduplication_id: Option<String>,
    /// Why this entry alone fails.
    pub(crate) failure: Option<Refusal>,
}

impl Entry {
    /// An entry without an order, of the only shard.
    pub(crate) fn new(json: Value, bytes: usize) -> Self {
        Self {
            json,
            key: String::new(),
            shard: 0,
            bytes,
            deduplication_id: None,
            failure: None,
        }
    }
}

/// The result of an entry.
pub(crate) enum EntryResult {
    /// It is accepted with this number.
    Accepted(u64),
    Throttled,
    Failed {
        code: Cow<'static, str>,
        sender_fault: bool,
    },
    /// It alone fails.
    Refused(Refusal),
    Omitted {
        applied: bool,
    },
}

impl EntryResult {
    /// Of an entry that reaches the gate. If it is accepted, it has this number.
    pub(crate) fn of(verdict: Verdict, number: u64) -> Self {
        match verdict {
            Verdict::Accepted => Self::Accepted(number),
            Verdict::Omitted { applied } => Self::Omitted { applied },
            Verdict::Failed { code, sender_fault } => Self::Failed { code, sender_fault },
            // Only tables have conditions and transactions.
            Verdict::Throttled(_) | Verdict::ConditionFailed | Verdict::Canceled => Self::Throttled,
        }
    }

    pub(crate) fn acknowledgement(&self) -> Acknowledgement {
        match self {
            Self::Accepted(_) => Acknowledgement::Accepted,
            Self::Throttled | Self::Failed { .. } | Self::Refused(_) => Acknowledgement::Rejected,
            Self::Omitted { applied } => Acknowledgement::Ambiguous { applied: *applied },
        }
    }
}

/// The entries of a request, of which there must be at least one and at most this many. `member` is the name of their list.
pub(crate) fn entries_of(request: Value, member: &str, most: usize) -> Result<Vec<Value>, Refusal> {
    match request {
        Value::Array(entries) if (1..=most).contains(&entries.len()) => Ok(entries),
        _ => Err(Refusal::new(
            "ValidationException",
            format!(
                "1 validation error detected: Value at '{member}' failed to satisfy constraint: Member must have length less \
                 than or equal to {most} and greater than or equal to 1"
            ),
        )),
    }
}

/// The bytes of a record.
pub(crate) fn data(record: &Value) -> Result<Vec<u8>, Refusal> {
    if record["Data"].is_null() {
        return Err(Refusal::new(
            "ValidationException",
            "1 validation error detected: Value null at 'records.member.data' failed to satisfy constraint: Member must not be null",
        ));
    }
    let data = record["Data"].as_str().and_then(|text| STANDARD.decode(text).ok());
    data.ok_or_else(|| Refusal::serialization("Data is not Base64"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_data_and_data_that_is_no_base64_are_different_errors() {
        let code = |record: Value| data(&record).unwrap_err().short_code().to_owned();
        assert_eq!(code(json!({})), "ValidationException");
        let of_parser = "com.amazon.coral.service#SerializationException";
        assert_eq!(code(json!({"Data": "a*b"})), of_parser);
        assert_eq!(data(&json!({"Data": ""})), Ok(Vec::new()));
    }
}
