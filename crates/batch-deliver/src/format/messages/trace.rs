//! The trace of a message in a queue.

use std::collections::HashMap;

use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::types::{MessageSystemAttributeNameForSends, MessageSystemAttributeValue};

/// The system attributes of a message with this header of X-Ray, the only one that is sent; `None` without one.
pub(crate) fn traced(
    header: Option<&str>,
) -> Result<Option<HashMap<MessageSystemAttributeNameForSends, MessageSystemAttributeValue>>, BuildError> {
    let Some(header) = header else { return Ok(None) };
    let value = MessageSystemAttributeValue::builder()
        .data_type("String")
        .string_value(header)
        .build()?;
    let name = MessageSystemAttributeNameForSends::AwsTraceHeader;
    Ok(Some(HashMap::from([(name, value)])))
}
