//! DynamoDB by the SDK: the client, the writes, and one call.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use peers::{Failure, Offered, Work};

use super::http;

pub fn client(work: &Work, retries: RetryConfig) -> Result<Client, Failure> {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("peers", "peers", None, None, "peers"))
        .endpoint_url(&work.endpoint)
        .http_client(http::client(work)?)
        .retry_config(retries)
        .build();
    Ok(Client::from_conf(config))
}

pub fn writes(work: &Work) -> Result<Vec<WriteRequest>, Failure> {
    (0..work.offered.entries)
        .map(|number| {
            let put = PutRequest::builder()
                .item("id", AttributeValue::S(work.offered.id(number)))
                .item("n", AttributeValue::N(number.to_string()))
                .item("customer", AttributeValue::S(Offered::customer(number)))
                .item("note", AttributeValue::S(Offered::note().to_owned()))
                .build()?;
            Ok(WriteRequest::builder().put_request(put).build())
        })
        .collect()
}

/// The numbers of these entries.
pub fn numbers<'a>(writes: impl IntoIterator<Item = &'a WriteRequest>) -> Vec<usize> {
    writes
        .into_iter()
        .filter_map(|write| number_of(write.put_request()?.item()))
        .collect()
}

fn number_of(item: &HashMap<String, AttributeValue>) -> Option<usize> {
    item.get("n")?.as_n().ok()?.parse().ok()
}

/// The result of a call.
pub enum Outcome {
    Done,
    /// These writes were returned as unprocessed.
    Unprocessed(Vec<WriteRequest>),
    /// The call failed for a reason that may pass.
    Passing,
    /// The call failed for good.
    Refused,
}

pub async fn call(client: &Client, table: &str, writes: Vec<WriteRequest>) -> Outcome {
    match client.batch_write_item().request_items(table, writes).send().await {
        Ok(answer) => match answer.unprocessed_items.unwrap_or_default().remove(table) {
            Some(rest) if !rest.is_empty() => Outcome::Unprocessed(rest),
            _ => Outcome::Done,
        },
        Err(error) if may_pass(&error) => Outcome::Passing,
        Err(_) => Outcome::Refused,
    }
}

/// Whether a failure is transient: throttles by their codes, internal errors by their status, and calls without an answer.
fn may_pass<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    match error {
        SdkError::ServiceError(error) => {
            error.raw().status().as_u16() >= 500
                || matches!(
                    error.err().code(),
                    Some("ProvisionedThroughputExceededException" | "ThrottlingException" | "RequestLimitExceeded")
                )
        }
        SdkError::DispatchFailure(_) | SdkError::TimeoutError(_) | SdkError::ResponseError(_) => true,
        _ => false,
    }
}
