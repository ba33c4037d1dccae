//! Connects to the services.

use std::error::Error;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::ProvideCredentials;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;

use crate::arguments::{Given, Queue, Service};
use crate::format::Key;
use crate::outcome::Failure;

/// Codes of calls that are not permitted, or that an emulator does not have.
const UNASKED: [&str; 3] = ["AccessDeniedException", "AccessDenied", "UnknownOperationException"];

/// The AWS configuration, as AWS's own tools find it.
pub(crate) async fn config(service: &Service) -> Result<SdkConfig, Failure> {
    let mut loader = aws_config::defaults(BehaviorVersion::latest());
    if let Some(profile) = &service.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(region) = &service.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(url) = &service.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    let config = loader.load().await;
    if config.region().is_none() {
        let words = "no AWS region is set: give --region, set AWS_REGION, or set it in the profile";
        return Err(Failure::WrongUse(words.to_owned()));
    }
    if let Some(provider) = config.credentials_provider()
        && let Err(error) = provider.provide_credentials().await
    {
        return Err(Failure::WrongUse(without_credentials(service, &error)));
    }
    Ok(config)
}

/// Why there are no credentials, and what to do.
fn without_credentials(service: &Service, error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    // Only the first line: the rest lists every place that was searched.
    let words = last.to_string();
    let why = words
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches(". Attempted:");
    let whose = service
        .profile
        .as_ref()
        .map(|profile| format!(" in the profile {profile}"));
    format!(
        "there are no AWS credentials{}: {why}. Name a --profile that has some, or set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY; renew an expired session with aws sso login",
        whose.unwrap_or_default()
    )
}

/// The settings that identify the service.
pub(crate) fn settings(config: &SdkConfig) -> Vec<(&'static str, String)> {
    let region = config.region().map(|region| ("region", region.to_string()));
    let endpoint = config.endpoint_url().map(|url| ("--endpoint-url", url.to_owned()));
    region.into_iter().chain(endpoint).collect()
}

/// The key and the ARN of a table; `None` if `DescribeTable` is not permitted.
pub(crate) async fn key(
    client: &aws_sdk_dynamodb::Client,
    table: &str,
) -> Result<(Option<Key>, Option<String>), Failure> {
    let error = match client.describe_table().table_name(table).send().await {
        Ok(answer) => {
            let table = answer.table();
            let arn = table.and_then(|table| table.table_arn());
            return Ok((table.and_then(Key::of_table), arn.map(ToOwned::to_owned)));
        }
        Err(error) => error,
    };
    match error.code() {
        Some(code) if UNASKED.contains(&code) => Ok((None, None)),
        Some("ResourceNotFoundException") => Err(Failure::WrongUse(format!(
            "there is no table {table} in this account and region: check --table, --region and --profile"
        ))),
        _ => Err(unreachable("the table", table, &error)),
    }
}

/// The URL of a queue.
pub(crate) async fn queue_url(client: &aws_sdk_sqs::Client, queue: &Queue) -> Result<String, Failure> {
    let ask = client.get_queue_url().queue_name(&queue.name);
    let ask = match &queue.given {
        Given::Url => return Ok(queue.to_string()),
        Given::Arn { account } => ask.queue_owner_aws_account_id(account),
        Given::Name => ask,
    };
    let error = match ask.send().await {
        Ok(answer) => return Ok(answer.queue_url().unwrap_or_default().to_owned()),
        Err(error) => error,
    };
    let code = error.code().unwrap_or_default();
    if code.ends_with("QueueDoesNotExist") || code.ends_with("NonExistentQueue") {
        return Err(Failure::WrongUse(format!(
            "there is no queue {queue} in this account and region: check --queue, --region and --profile"
        )));
    }
    if UNASKED.contains(&code) {
        return Err(Failure::WrongUse(format!(
            "sqs:GetQueueUrl is not permitted for the queue {queue}: give --queue its URL"
        )));
    }
    Err(unreachable("the queue", &queue.to_string(), &error))
}

/// The lookup failed: without an answer, or with an unexpected error.
fn unreachable<E>(what: &str, name: &str, error: &E) -> Failure
where
    E: Error + ProvideErrorMetadata,
{
    Failure::Failed(format!(
        "{what} {name} cannot be looked up: {}. Check --region, --profile and --endpoint-url",
        words(error)
    ))
}

/// The code and message of the service, or the error and its sources.
pub(crate) fn words<E>(error: &E) -> String
where
    E: Error + ProvideErrorMetadata,
{
    if let (Some(code), Some(message)) = (error.code(), error.message()) {
        return format!("{code}: {message}");
    }
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        source = error.source();
    }
    words
}
