//! SQS by the SDK: the client, the messages, and one call.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{BatchResultErrorEntry, SendMessageBatchRequestEntry};
use peers::{Failure, Offered, Work, number_of_body};

use super::http;

pub fn config(work: &Work, retries: RetryConfig) -> Result<Config, Failure> {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("peers", "peers", None, None, "peers"))
        .endpoint_url(&work.endpoint)
        .http_client(http::client(work)?)
        .retry_config(retries)
        .build();
    Ok(config)
}

pub fn client(work: &Work, retries: RetryConfig) -> Result<Client, Failure> {
    Ok(Client::from_conf(config(work, retries)?))
}

/// Messages whose ids differ.
pub fn messages(work: &Work) -> Result<Vec<SendMessageBatchRequestEntry>, Failure> {
    (0..work.offered.entries)
        .map(|number| {
            let group = work.offered.group(number);
            let message = SendMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .message_body(Offered::body(number))
                .set_message_deduplication_id(group.is_some().then(|| number.to_string()))
                .set_message_group_id(group);
            Ok(message.build()?)
        })
        .collect()
}

/// The numbers of these entries.
pub fn numbers<'a>(messages: impl IntoIterator<Item = &'a SendMessageBatchRequestEntry>) -> Vec<usize> {
    messages
        .into_iter()
        .filter_map(|message| number_of_body(message.message_body()))
        .collect()
}

/// What became of a call.
pub enum Outcome {
    /// The first may be sent again, the others are refused. Both may be empty.
    Answered(Vec<SendMessageBatchRequestEntry>, Vec<SendMessageBatchRequestEntry>),
    /// The call failed for a reason that may pass.
    Passing,
    /// The call failed for good.
    Refused,
}

pub async fn call(client: &Client, url: &str, messages: &[SendMessageBatchRequestEntry]) -> Outcome {
    let call = client.send_message_batch().queue_url(url);
    match call.set_entries(Some(messages.to_vec())).send().await {
        Ok(answer) => {
            let failed: HashMap<&str, &BatchResultErrorEntry> =
                answer.failed().iter().map(|failure| (failure.id(), failure)).collect();
            let failed_messages = messages
                .iter()
                .filter_map(|message| Some((failed.get(message.id())?, message)));
            let (rest, refused): (Vec<_>, Vec<_>) = failed_messages.partition(|(failure, _)| is_passing(failure));
            let messages = |pairs: Vec<(_, &SendMessageBatchRequestEntry)>| {
                pairs.into_iter().map(|(_, message)| message.clone()).collect()
            };
            Outcome::Answered(messages(rest), messages(refused))
        }
        Err(error) if may_pass(&error) => Outcome::Passing,
        Err(_) => Outcome::Refused,
    }
}

/// By the code, since throttles are blamed on the sender; by the blame where the code says nothing.
fn is_passing(failure: &BatchResultErrorEntry) -> bool {
    let code = failure.code().rsplit('.').next().unwrap_or_default();
    match code {
        "InternalError" | "ServiceUnavailable" | "RequestThrottled" | "ThrottlingException" | "Throttling" => true,
        "InvalidMessageContents" | "InvalidParameterValue" => false,
        _ => !failure.sender_fault(),
    }
}

fn may_pass<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    match error {
        SdkError::ServiceError(error) => {
            let code = error.err().code().and_then(|code| code.rsplit('.').next());
            error.raw().status().as_u16() >= 500 || matches!(code, Some("RequestThrottled" | "ThrottlingException"))
        }
        SdkError::DispatchFailure(_) | SdkError::TimeoutError(_) | SdkError::ResponseError(_) => true,
        _ => false,
    }
}
