//! The SDK and `backon`, written with care: only leftovers are sent again, with full jitter, several chunks at once, and refused
//! entries are handed back. The SDK's own retries are off.

use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::WriteRequest;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use backon::{Backoff, BackoffBuilder, ExponentialBuilder, RetryableWithContext};
use futures::{StreamExt, stream};
use peers::{Failure, Service, Told, Work};

use super::{dynamo, lanes, sqs};

/// AWS's full jitter: 0 to 50 ms, 0 to 100 ms, and so on up to 0 to 5 s, for as long as it takes.
fn full_jitter() -> impl Backoff {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(50))
        .with_factor(2.0)
        .with_max_delay(Duration::from_secs(5))
        .without_max_times()
        .build()
        .map(|delay| delay.mul_f64(rand::random()))
}

/// Whether it is worth another try.
enum Trouble {
    Passing,
    Lasting,
}

pub async fn write(work: Work) -> Result<Told, Failure> {
    let client = dynamo::client(&work, RetryConfig::disabled())?;
    let writes = dynamo::writes(&work)?;
    work.start()?;
    let chunks: Vec<Vec<WriteRequest>> = writes.chunks(Service::Dynamo.chunk()).map(<[_]>::to_vec).collect();
    drop(writes);
    let undelivered = stream::iter(chunks)
        .map(|chunk| {
            let (client, table) = (client.clone(), work.target.clone());
            tokio::spawn(async move { write_chunk(client, table, chunk).await })
        })
        .buffer_unordered(work.workers);
    Ok(collect(undelivered, |writes| dynamo::numbers(writes)).await)
}

async fn write_chunk(client: aws_sdk_dynamodb::Client, table: String, chunk: Vec<WriteRequest>) -> Vec<WriteRequest> {
    let attempt = |pending: Vec<WriteRequest>| async {
        match dynamo::call(&client, &table, pending.clone()).await {
            dynamo::Outcome::Done => (Vec::new(), Ok(())),
            dynamo::Outcome::Unprocessed(rest) => (rest, Err(Trouble::Passing)),
            dynamo::Outcome::Passing => (pending, Err(Trouble::Passing)),
            dynamo::Outcome::Refused => (pending, Err(Trouble::Lasting)),
        }
    };
    let retried = attempt
        .retry(full_jitter())
        .sleep(tokio::time::sleep)
        .context(chunk)
        .when(|trouble| matches!(trouble, Trouble::Passing));
    retried.await.0
}

pub async fn send(work: Work) -> Result<Told, Failure> {
    let client = sqs::client(&work, RetryConfig::disabled())?;
    let messages = sqs::messages(&work)?;
    work.start()?;
    let undelivered = stream::iter(lanes::sequences(&work, messages))
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
    Ok(collect(undelivered, |messages| sqs::numbers(messages)).await)
}

async fn send_chunk(
    client: &aws_sdk_sqs::Client,
    url: &str,
    chunk: Vec<SendMessageBatchRequestEntry>,
) -> Vec<SendMessageBatchRequestEntry> {
    type Pending = (Vec<SendMessageBatchRequestEntry>, Vec<SendMessageBatchRequestEntry>);
    let attempt = |(pending, mut refused): Pending| async {
        match sqs::call(client, url, &pending).await {
            sqs::Outcome::Answered(rest, more) => {
                refused.extend(more);
                let result = if rest.is_empty() { Ok(()) } else { Err(Trouble::Passing) };
                ((rest, refused), result)
            }
            sqs::Outcome::Passing => ((pending, refused), Err(Trouble::Passing)),
            sqs::Outcome::Refused => ((pending, refused), Err(Trouble::Lasting)),
        }
    };
    let retried = attempt
        .retry(full_jitter())
        .sleep(tokio::time::sleep)
        .context((chunk, Vec::new()))
        .when(|trouble| matches!(trouble, Trouble::Passing));
    let (mut undelivered, refused) = retried.await.0;
    undelivered.extend(refused);
    undelivered
}

async fn collect<E>(
    undelivered: impl futures::Stream<Item = Result<Vec<E>, tokio::task::JoinError>>,
    numbers: impl Fn(&[E]) -> Vec<usize>,
) -> Told {
    undelivered
        .fold(Told::success(), |told, entries| {
            let more = entries.map_or_else(|_| Told::failure(), |entries| Told::undelivered(numbers(&entries)));
            futures::future::ready(told.and(more))
        })
        .await
}
