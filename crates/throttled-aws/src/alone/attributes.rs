//! The attributes that a queue can have, from the reference of `SetQueueAttributes`.

use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// What the value of an attribute is.
enum Kind {
    /// A whole number from the first to the last.
    Number(u64, u64),
    OneOf(&'static [&'static str]),
    /// The JSON of a policy with a dead-letter queue, or nothing, which removes it.
    Redrive,
    /// A text that is kept without a look at it.
    Text,
}

/// Why these attributes are not those of a queue.
pub(super) fn check(attributes: &Map<String, Value>) -> Result<(), Refusal> {
    for (name, value) in attributes {
        let Some(kind) = kind_of(name) else {
            let message = format!("Unknown Attribute {name}, with the value {value}.");
            return Err(Refusal::new("InvalidAttributeName", message));
        };
        if !value.as_str().is_some_and(|value| kind.has(value)) {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let message = format!(
                "Invalid value for the parameter {name}: it is {}, not {shown}",
                kind.range()
            );
            return Err(Refusal::new("InvalidAttributeValue", message));
        }
    }
    Ok(())
}

fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "DelaySeconds" => Kind::Number(0, 900),
        "MaximumMessageSize" => Kind::Number(1_024, 1_048_576),
        "MessageRetentionPeriod" => Kind::Number(60, 1_209_600),
        "ReceiveMessageWaitTimeSeconds" => Kind::Number(0, 20),
        "VisibilityTimeout" => Kind::Number(0, 43_200),
        "KmsDataKeyReusePeriodSeconds" => Kind::Number(60, 86_400),
        "ContentBasedDeduplication" | "FifoQueue" | "SqsManagedSseEnabled" => Kind::OneOf(&["true", "false"]),
        "DeduplicationScope" => Kind::OneOf(&["messageGroup", "queue"]),
        "FifoThroughputLimit" => Kind::OneOf(&["perQueue", "perMessageGroupId"]),
        "RedrivePolicy" => Kind::Redrive,
        "KmsMasterKeyId" | "Policy" | "RedriveAllowPolicy" => Kind::Text,
        _ => return None,
    })
}

impl Kind {
    fn has(&self, value: &str) -> bool {
        match self {
            Self::Number(first, last) => value
                .parse()
                .is_ok_and(|number: u64| (*first..=*last).contains(&number)),
            Self::OneOf(values) => values.contains(&value),
            Self::Redrive => value.is_empty() || is_redrive_policy(value),
            Self::Text => true,
        }
    }

    fn range(&self) -> String {
        match self {
            Self::Number(first, last) => format!("a whole number from {first} to {last}"),
            Self::OneOf(values) => values.join(" or "),
            Self::Redrive => {
                "JSON with a deadLetterTargetArn and a maxReceiveCount from 1 to 1000, or nothing".to_owned()
            }
            Self::Text => "a text".to_owned(),
        }
    }
}

fn is_redrive_policy(value: &str) -> bool {
    let policy: Value = serde_json::from_str(value).unwrap_or_default();
    let count = &policy["maxReceiveCount"];
    // A number, or the text of one.
    let receives = count.as_u64().or_else(|| count.as_str()?.parse().ok());
    policy["deadLetterTargetArn"].is_string() && receives.is_some_and(|receives| (1..=1_000).contains(&receives))
}
