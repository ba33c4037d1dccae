//! The same mix with loops as applications write them by hand, with the SDK and `backon`. Only leftovers are sent again, with full
//! jitter, several chunks at once, and transient failures are retried without a limit. The SDK's own retries are off.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::WriteRequest;
use aws_sdk_sqs::types::{BatchResultErrorEntry, SendMessageBatchRequestEntry};
use backon::{Backoff, BackoffBuilder, ExponentialBuilder, RetryableWithContext};
use futures::{StreamExt, stream};
use tokio::time::{Instant, timeout};

use crate::chaos::client::Access;
use crate::chaos::load::{Entry, Load, Wire};
use crate::chaos::mix::{Mix, Service, Waiting, Way};
use crate::chaos::served::Served;
use crate::chaos::trial::runtime;

/// The time limit of a loop.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// How long a mix takes with loops; `None` if they exceed the time limit.
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
    let rounds = rounds(mix, &load);
    let at_once = match mix.way {
        Way::Producer(Waiting::Each) => mix.workers,
        _ => mix.concurrency,
    };
    let started = Instant::now();
    let through = async {
        match mix.service {
            Service::Table => {
                let client = access.dynamo();
                send_all(rounds, at_once, async |chunk: Vec<Entry>| {
                    let writes = chunk.iter().map(|entry| Wire::of(entry, mix.service)).collect();
                    write(&client, &destination, writes).await;
                })
                .await;
            }
            Service::Writes => unreachable!("they are retried, and not sent in rounds"),
            Service::Queue | Service::Fifo => {
                let client = access.sqs();
                send_all(rounds, at_once, async |chunk: Vec<Entry>| {
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

/// Rounds of sequences of chunks. The rounds are sent one after another, the sequences of a round at the same time, and the chunks
/// of a sequence one after another. This is how an application keeps the order of each key and group by hand.
type Rounds = Vec<Vec<Vec<Vec<Entry>>>>;

fn rounds(mix: &Mix, load: &Load) -> Rounds {
    let size = mix.service.chunk();
    if mix.way == Way::Producer(Waiting::Each) {
        let line = |worker| load.of_worker(worker).into_iter().map(|entry| vec![entry]).collect();
        return vec![(0..mix.workers).map(line).collect()];
    }
    if mix.service == Service::Fifo {
        let mut groups: HashMap<usize, Vec<Entry>> = HashMap::new();
        for entry in &load.entries {
            groups.entry(entry.lane).or_default().push(*entry);
        }
        let line = |group: &Vec<Entry>| group.chunks(size).map(<[_]>::to_vec).collect();
        return vec![groups.values().map(line).collect()];
    }
    // The first write of each key is in the first round, the second one in the second, and so on.
    let mut rounds: Vec<Vec<Entry>> = Vec::new();
    let mut of_lane: HashMap<usize, usize> = HashMap::new();
    for entry in &load.entries {
        let round = of_lane.entry(entry.lane).or_default();
        if *round == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[*round].push(*entry);
        *round += usize::from(mix.service == Service::Table);
    }
    let lines = |round: Vec<Entry>| round.chunks(size).map(|chunk| vec![chunk.to_vec()]).collect();
    rounds.into_iter().map(lines).collect()
}

async fn send_all(rounds: Rounds, at_once: usize, send: impl AsyncFn(Vec<Entry>)) {
    let send = &send;
    for lines in rounds {
        stream::iter(lines)
            .for_each_concurrent(at_once, |line| async move {
                for chunk in line {
                    send(chunk).await;
                }
            })
            .await;
    }
}

/// AWS's full jitter: 0 to 50 ms, 0 to 100 ms, and so on up to 0 to 5 s, for as long as it takes.
pub(crate) fn full_jitter() -> impl Backoff {
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
                let failed: HashSet<&str> = answer.failed().iter().map(BatchResultErrorEntry::id).collect();
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

/// Whether a failure is transient: throttles and wrong clocks by their codes, internal errors by their status, and calls that
/// were not sent or not answered.
pub(crate) fn may_pass<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    let SdkError::ServiceError(error) = error else {
        return true;
    };
    let code = error.err().code().and_then(|code| code.rsplit('.').next());
    let status = error.raw().status();
    // A success that cannot be read is an error of the service to the SDK.
    status.is_success()
        || status.is_server_error()
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
