//! The same mix by what applications write by hand: the SDK and `backon`. Only leftovers are sent again, with full jitter, so
//! many chunks at once, and what may pass is tried for as long as it takes. The SDK's own retries are off.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::WriteRequest;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use backon::{Backoff, BackoffBuilder, ExponentialBuilder, RetryableWithContext};
use futures::{StreamExt, stream};
use tokio::time::{Instant, timeout};

use crate::chaos::client::Access;
use crate::chaos::load::{Entry, Load, Wire};
use crate::chaos::mix::{Mix, Service, Waiting, Way};
use crate::chaos::served::Served;
use crate::chaos::trial::runtime;

/// A loop that takes longer is given up.
const LIMIT: Duration = Duration::from_mins(2);

/// How long a mix takes by loops; `None` when it is not through in time.
pub(crate) fn time(mix: &Mix) -> Option<Duration> {
    let load = Arc::new(Load::of(mix));
    let served = Served::start(mix.service, &mix.faults);
    let access = Access {
        port: served.port,
        conditions: served.conditions.clone(),
        attempt_timeout: Some(mix.attempt_timeout),
        witness: None,
    };
    let destination = served.resource.destination();
    let runtime = runtime(mix.threads);
    let lines = lines(mix, &load);
    let at_once = match mix.way {
        Way::Producer(Waiting::Each) => mix.workers,
        _ => mix.concurrency,
    };
    let started = Instant::now();
    let through = async {
        match mix.service {
            Service::Table => {
                let client = access.dynamo();
                send_all(lines, at_once, async |chunk: Vec<Entry>| {
                    let writes = chunk.iter().map(|entry| Wire::of(entry, mix.service)).collect();
                    write(&client, &destination, writes).await;
                })
                .await;
            }
            Service::Queue | Service::Fifo => {
                let client = access.sqs();
                send_all(lines, at_once, async |chunk: Vec<Entry>| {
                    let messages = chunk.iter().map(|entry| Wire::of(entry, mix.service)).collect();
                    send(&client, &destination, messages).await;
                })
                .await;
            }
        }
    };
    let ended = runtime.block_on(async { timeout(LIMIT, through).await });
    ended.ok().map(|()| started.elapsed())
}

/// Sequences of chunks. The sequences are sent at once, the chunks of each one after the other.
fn lines(mix: &Mix, load: &Load) -> Vec<Vec<Vec<Entry>>> {
    if mix.way == Way::Producer(Waiting::Each) {
        let line = |worker| load.of_worker(worker).into_iter().map(|entry| vec![entry]).collect();
        return (0..mix.workers).map(line).collect();
    }
    if mix.service == Service::Fifo {
        let mut groups: HashMap<usize, Vec<Entry>> = HashMap::new();
        for entry in &load.entries {
            groups.entry(entry.lane).or_default().push(*entry);
        }
        let chunk = mix.service.chunk();
        return groups
            .values()
            .map(|group| group.chunks(chunk).map(<[_]>::to_vec).collect())
            .collect();
    }
    // A call may have each key once. The order of writes of a key is not kept.
    let mut chunks: Vec<(HashSet<usize>, Vec<Entry>)> = Vec::new();
    let mut first_with_room = 0;
    for entry in &load.entries {
        let has_room = |(keys, chunk): &(HashSet<usize>, Vec<Entry>)| {
            chunk.len() < mix.service.chunk() && !(mix.service == Service::Table && keys.contains(&entry.lane))
        };
        let place = chunks[first_with_room..]
            .iter()
            .position(has_room)
            .map(|place| first_with_room + place);
        let place = place.unwrap_or_else(|| {
            chunks.push((HashSet::new(), Vec::new()));
            chunks.len() - 1
        });
        chunks[place].0.insert(entry.lane);
        chunks[place].1.push(*entry);
        while chunks
            .get(first_with_room)
            .is_some_and(|(_, chunk)| chunk.len() == mix.service.chunk())
        {
            first_with_room += 1;
        }
    }
    chunks.into_iter().map(|(_, chunk)| vec![chunk]).collect()
}

async fn send_all(lines: Vec<Vec<Vec<Entry>>>, at_once: usize, send: impl AsyncFn(Vec<Entry>)) {
    let send = &send;
    stream::iter(lines)
        .for_each_concurrent(at_once, |line| async move {
            for chunk in line {
                send(chunk).await;
            }
        })
        .await;
}

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

async fn write(client: &aws_sdk_dynamodb::Client, table: &str, chunk: Vec<WriteRequest>) {
    let attempt = |pending: Vec<WriteRequest>| async {
        let call = client.batch_write_item().request_items(table, pending.clone());
        match call.send().await {
            Ok(answer) => match answer.unprocessed_items.unwrap_or_default().remove(table) {
                Some(rest) if !rest.is_empty() => (rest, Err(())),
                _ => (Vec::new(), Ok(())),
            },
            Err(error) => {
                assert!(may_pass(&error), "the call is refused: {error:?}");
                (pending, Err(()))
            }
        }
    };
    _ = attempt
        .retry(full_jitter())
        .sleep(tokio::time::sleep)
        .context(chunk)
        .await;
}

async fn send(client: &aws_sdk_sqs::Client, url: &str, chunk: Vec<SendMessageBatchRequestEntry>) {
    let numbered = |(id, mut message): (usize, SendMessageBatchRequestEntry)| {
        message.id = id.to_string();
        if message.message_group_id.is_some() {
            // The body begins with the number of the message.
            message.message_deduplication_id = message.message_body.split(' ').next().map(str::to_owned);
        }
        message
    };
    let chunk: Vec<_> = chunk.into_iter().enumerate().map(numbered).collect();
    let attempt = |pending: Vec<SendMessageBatchRequestEntry>| async {
        let call = client.send_message_batch().queue_url(url);
        match call.set_entries(Some(pending.clone())).send().await {
            Ok(answer) => {
                let failed: HashSet<&str> = answer.failed().iter().map(|failure| failure.id()).collect();
                let rest: Vec<_> = pending
                    .into_iter()
                    .filter(|message| failed.contains(message.id()))
                    .collect();
                let result = if rest.is_empty() { Ok(()) } else { Err(()) };
                (rest, result)
            }
            Err(error) => {
                assert!(may_pass(&error), "the call is refused: {error:?}");
                (pending, Err(()))
            }
        }
    };
    _ = attempt
        .retry(full_jitter())
        .sleep(tokio::time::sleep)
        .context(chunk)
        .await;
}

/// Throttles and clocks that are off by their codes, internal errors by their status, and calls that were not made or not
/// answered.
fn may_pass<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    let SdkError::ServiceError(error) = error else {
        return true;
    };
    let code = error.err().code().and_then(|code| code.rsplit('.').next());
    error.raw().status().as_u16() >= 500
        || matches!(
            code,
            Some(
                "ProvisionedThroughputExceededException"
                    | "ThrottlingException"
                    | "RequestLimitExceeded"
                    | "RequestThrottled"
                    | "InvalidSignatureException"
            )
        )
}
