//! The SDK's adaptive retry mode, which paces calls and retries those that fail. Leftovers are sent again at once.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::WriteRequest;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::{StreamExt, stream};
use peers::{Failure, Service, Told, Work};

use super::{dynamo, lanes, sqs};

pub async fn write(work: Work) -> Result<Told, Failure> {
    let client = dynamo::client(&work, RetryConfig::adaptive())?;
    let writes = dynamo::writes(&work)?;
    work.start()?;
    let chunks: Vec<Vec<WriteRequest>> = writes.chunks(Service::Dynamo.chunk()).map(<[_]>::to_vec).collect();
    drop(writes);
    let mut undelivered = stream::iter(chunks)
        .map(|chunk| {
            let (client, table) = (client.clone(), work.target.clone());
            tokio::spawn(async move { write_chunk(client, table, chunk).await })
        })
        .buffer_unordered(work.workers);
    let mut told = Told::success();
    while let Some(writes) = undelivered.next().await {
        told = told.and(Told::undelivered(dynamo::numbers(&writes?)));
    }
    Ok(told)
}

/// Returns what was not delivered.
async fn write_chunk(client: aws_sdk_dynamodb::Client, table: String, chunk: Vec<WriteRequest>) -> Vec<WriteRequest> {
    let mut pending = chunk;
    loop {
        match dynamo::call(&client, &table, pending.clone()).await {
            dynamo::Outcome::Done => return Vec::new(),
            dynamo::Outcome::Unprocessed(rest) => pending = rest,
            dynamo::Outcome::Passing | dynamo::Outcome::Refused => return pending,
        }
    }
}

pub async fn send(work: Work) -> Result<Told, Failure> {
    let client = sqs::client(&work, RetryConfig::adaptive())?;
    let messages = sqs::messages(&work)?;
    work.start()?;
    let mut undelivered = stream::iter(lanes::sequences(&work, messages))
        .map(|sequence| {
            let (client, url) = (client.clone(), work.target.clone());
            tokio::spawn(async move {
                let mut undelivered = Vec::new();
                for chunk in sequence {
                    undelivered.extend(send_chunk(&client, &url, chunk).await);
                }
                undelivered
            })
        })
        .buffer_unordered(work.workers);
    let mut told = Told::success();
    while let Some(messages) = undelivered.next().await {
        told = told.and(Told::undelivered(sqs::numbers(&messages?)));
    }
    Ok(told)
}

/// Returns what was not delivered.
async fn send_chunk(
    client: &aws_sdk_sqs::Client,
    url: &str,
    chunk: Vec<SendMessageBatchRequestEntry>,
) -> Vec<SendMessageBatchRequestEntry> {
    let (mut pending, mut undelivered) = (chunk, Vec::new());
    while !pending.is_empty() {
        match sqs::call(client, url, &pending).await {
            sqs::Outcome::Answered(rest, refused) => {
                undelivered.extend(refused);
                pending = rest;
            }
            sqs::Outcome::Passing | sqs::Outcome::Refused => undelivered.append(&mut pending),
        }
    }
    undelivered
}
