//! The activity of Step Functions that hands out shards.

use std::env;
use std::process;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_sfn::Client;
use aws_sdk_sfn::config::retry::RetryConfig;
use aws_sdk_sfn::config::timeout::TimeoutConfig;
use aws_sdk_sfn::config::{Builder, StalledStreamProtectionConfig};
use aws_sdk_sfn::error::{DisplayErrorContext, ProvideErrorMetadata};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::shard_result::{STOPPED, ShardResult};
use crate::connection::AnswerLimit;
use crate::console::Console;
use crate::outcome::Failure;
use crate::stop::Stop;

/// How long an answer may take. `GetActivityTask` is held open for 60 s, and AWS recommends 65 s at least.
const READ_TIMEOUT: Duration = Duration::from_secs(75);

/// Attempts at a call. There are many, because a lost answer repeats a whole shard.
const ATTEMPTS: u32 = 6;

/// The delay before the next poll after an error.
const PAUSE: Duration = Duration::from_secs(2);

/// Heartbeats in a row without success after which the delivery stops. With a heartbeat in each third of its time, that time is over,
/// and another worker may have the shard.
const MISSED: u32 = 3;

/// Permanent errors of an activity. A heartbeat or a poll of this worker would never succeed.
const PERMANENT: [&str; 5] = [
    "ActivityDoesNotExist",
    "InvalidArn",
    "AccessDeniedException",
    "UnrecognizedClientException",
    "InvalidSignatureException",
];

/// Errors with which Step Functions reports that the task no longer belongs to this worker.
const LOST: [&str; 3] = ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"];

/// How long a task may be unknown after it was handed out: LocalStack knows it a moment later.
const UNKNOWN: Duration = Duration::from_millis(500);

/// The most characters of an error and of its cause. From the API reference of `SendTaskFailure`.
const LONGEST_CAUSE: usize = 32_768;

#[derive(Clone)]
pub(super) struct Activity {
    client: Client,
    arn: String,
    console: Console,
}

/// A shard that was handed out.
pub(super) struct Task {
    token: String,
    pub(super) input: String,
    /// It was not handed out before.
    asked_at: Instant,
}

/// The heartbeats of a shard, which end when they are dropped.
pub(super) struct Heartbeats {
    _sending: AbortOnDropHandle<()>,
    /// Why no heartbeat of this worker would succeed.
    refused: Arc<OnceLock<String>>,
}

impl Heartbeats {
    /// The answer for the shard, unless the delivery was stopped because heartbeats are refused. This worker would fail other shards
    /// as well.
    pub(super) fn answer(&self, answer: ShardResult) -> ShardResult {
        match (answer, self.refused.get()) {
            (ShardResult::Failed { .. }, Some(words)) => ShardResult::failed(STOPPED, words.clone()),
            (answer, _) => answer,
        }
    }
}

impl Activity {
    pub(super) fn new(config: &SdkConfig, arn: &str, console: Console) -> Self {
        let config = Builder::from(config)
            .timeout_config(TimeoutConfig::builder().read_timeout(READ_TIMEOUT).build())
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            // A request that Step Functions holds open is not stalled.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .interceptor(AnswerLimit)
            .build();
        Self {
            client: Client::from_conf(config),
            arn: arn.to_owned(),
            console,
        }
    }

    /// Waits for a shard. `None` if the worker is to stop.
    pub(super) async fn next(&self, stop: &Stop) -> Result<Option<Task>, Failure> {
        let host = env::var("HOSTNAME").unwrap_or_else(|_| "worker".to_owned());
        let name: String = format!("{}-{host}", process::id()).chars().take(80).collect();
        loop {
            let asked_at = Instant::now();
            let ask = self
                .client
                .get_activity_task()
                .activity_arn(&self.arn)
                .worker_name(&name);
            // If a shard is being handed out at this moment, it is handed out again after the timeout of its heartbeat. So a worker
            // that is to stop must not even begin to ask.
            let answer = tokio::select! {
                biased;
                () = stop.token.cancelled() => return Ok(None),
                answer = ask.send() => answer,
            };
            match answer {
                Ok(answer) => {
                    if let (Some(token), Some(input)) = (answer.task_token, answer.input)
                        && !token.is_empty()
                    {
                        return Ok(Some(Task { token, input, asked_at }));
                    }
                }
                Err(error) => {
                    let words = format!("the activity cannot be polled for shards: {}", words(&error));
                    if is_permanent(&error) {
                        return Err(Failure::WrongUse(format!(
                            "{words}: check --activity, --region and --profile"
                        )));
                    }
                    self.console.warn(&words);
                    tokio::select! {
                        () = stop.token.cancelled() => return Ok(None),
                        () = sleep(PAUSE) => {}
                    }
                }
            }
        }
    }

    /// Whether the shard still belongs to this worker when its delivery begins. An answer that comes late may hand out one that another worker
    /// has by now, or has delivered.
    pub(super) async fn confirm(&self, task: &Task, heartbeat: Duration, stop: &Stop) -> bool {
        if task.asked_at.elapsed() < heartbeat {
            return true;
        }
        tokio::select! {
            biased;
            // The delivery ends at once, and answers for the shard.
            () = stop.token.cancelled() => true,
            is_ours = self.is_ours(task, heartbeat) => is_ours,
        }
    }

    /// Whether a heartbeat of the shard is taken.
    async fn is_ours(&self, task: &Task, heartbeat: Duration) -> bool {
        let beat = || {
            timeout(
                heartbeat / 3,
                self.client.send_task_heartbeat().task_token(&task.token).send(),
            )
        };
        let mut answer = beat().await;
        if matches!(&answer, Ok(Err(error)) if is_lost(error)) {
            sleep(UNKNOWN).await;
            answer = beat().await;
        }
        let words = match answer {
            Ok(Ok(_)) => return true,
            // The delivery shows it, and ends the worker.
            Ok(Err(error)) if is_permanent(&error) => return true,
            Ok(Err(error)) => words(&error),
            Err(_) => "no answer".to_owned(),
        };
        self.console
            .warn(&format!("a shard is not begun, as it was handed out too late: {words}"));
        false
    }

    /// Sends a heartbeat in each third of this time, until the handle is dropped. Stops the delivery if the shard no longer
    /// belongs to this worker, or may not, or if heartbeats are refused.
    pub(super) fn start_heartbeats(&self, task: &Task, heartbeat: Duration, delivery: Stop) -> Heartbeats {
        let (activity, token) = (self.clone(), task.token.clone());
        let refused = Arc::new(OnceLock::new());
        let refusal = Arc::clone(&refused);
        let every = heartbeat / 3;
        let sending = AbortOnDropHandle::new(tokio::spawn(async move {
            // The timeout begins when the shard is handed out.
            let mut beats = interval_at(Instant::now() + every, every);
            beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut missed = 0;
            loop {
                beats.tick().await;
                let beat = activity.client.send_task_heartbeat().task_token(&token).send();
                // After a heartbeat without an answer, the next one may succeed.
                let (failed, is_lost) = match timeout(every, beat).await {
                    Ok(Ok(_)) => {
                        missed = 0;
                        continue;
                    }
                    Ok(Err(error)) if is_permanent(&error) => {
                        let _ = refusal.set(format!("heartbeats are refused: {}", words(&error)));
                        delivery.token.cancel();
                        return;
                    }
                    Ok(Err(error)) => (words(&error), is_lost(&error)),
                    Err(_) => (format!("no answer in {every:.1?}"), false),
                };
                activity.console.warn(&format!("a heartbeat has failed: {failed}"));
                missed += 1;
                if is_lost || missed == MISSED {
                    delivery.token.cancel();
                    return;
                }
            }
        }));
        Heartbeats {
            _sending: sending,
            refused,
        }
    }

    /// Sends the result of the shard. Without an answer, the shard is handed out again after the timeout of its heartbeat.
    pub(super) async fn answer(&self, task: Task, answer: &ShardResult) {
        let failed = match answer {
            ShardResult::Delivered(counts) => {
                let success = self.client.send_task_success().task_token(task.token);
                success
                    .output(counts.to_string())
                    .send()
                    .await
                    .map_err(|error| words(&error))
                    .err()
            }
            ShardResult::Failed { error, cause, .. } => {
                let cause: String = cause.chars().take(LONGEST_CAUSE).collect();
                let failure = self.client.send_task_failure().task_token(task.token);
                let sent = failure.error(*error).cause(cause).send().await;
                sent.map_err(|error| words(&error)).err()
            }
        };
        if let Some(words) = failed {
            self.console
                .warn(&format!("the answer for a shard could not be sent: {words}"));
        }
    }
}

fn is_permanent<E: ProvideErrorMetadata>(error: &E) -> bool {
    error.code().is_some_and(|code| PERMANENT.contains(&code))
}

fn is_lost<E: ProvideErrorMetadata>(error: &E) -> bool {
    error.code().is_some_and(|code| LOST.contains(&code))
}

fn words<E: std::error::Error + ProvideErrorMetadata>(error: &E) -> String {
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => DisplayErrorContext(error).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_config::{BehaviorVersion, Region};
    use aws_sdk_sfn::config::Credentials;
    use std::net::TcpListener;
    use std::sync::Mutex;

    use crate::fleet::http::{Response, serve};

    async fn activity(address: &str) -> Activity {
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("id", "key", None, None, "test"))
            .endpoint_url(format!("http://{address}"))
            .load()
            .await;
        Activity::new(&config, "arn", Console::new(false, true))
    }

    const MINUTE: Duration = Duration::from_mins(1);

    /// Whether a task that was asked for so long ago begins, by the answers to its heartbeats, and how many were sent.
    async fn begun(asked: Duration, answers: &'static [&'static str]) -> (bool, usize) {
        let sent = Arc::new(Mutex::new(0));
        let count = Arc::clone(&sent);
        let address = serve(move |_| {
            let mut sent = count.lock().unwrap();
            *sent += 1;
            let (status, body) = match answers[(*sent - 1).min(answers.len() - 1)] {
                "" => (200, "{}".to_owned()),
                code => (400, format!("{{\"__type\":\"{code}\"}}")),
            };
            let headers = "content-type: application/x-amz-json-1.0\r\n".to_owned();
            Some(Response(status, headers, body.into_bytes()))
        });
        let task = Task {
            token: "token".to_owned(),
            input: String::new(),
            asked_at: Instant::now() - asked,
        };
        let stop = Stop::default();
        let is_begun = activity(&address).await.confirm(&task, MINUTE, &stop).await;
        let sent = *sent.lock().unwrap();
        (is_begun, sent)
    }

    #[tokio::test]
    async fn a_task_that_was_handed_out_too_late_is_not_begun() {
        let (soon, late) = (Duration::from_secs(59), Duration::from_secs(61));
        assert_eq!(begun(soon, &["TaskTimedOut"]).await, (true, 0));
        assert_eq!(begun(late, &[""]).await, (true, 1));
        assert_eq!(begun(late, &["TaskTimedOut"]).await, (false, 2));
        // LocalStack knows a task a moment later.
        assert_eq!(begun(late, &["InvalidToken", ""]).await, (true, 2));
        // The delivery ends the worker.
        assert_eq!(begun(late, &["AccessDeniedException"]).await, (true, 1));
    }

    #[tokio::test]
    async fn a_worker_that_is_told_to_stop_does_not_wait_for_the_confirmation_of_a_late_task() {
        // Nothing answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let activity = activity(&listener.local_addr().unwrap().to_string()).await;
        let task = Task {
            token: "token".to_owned(),
            input: String::new(),
            asked_at: Instant::now() - MINUTE,
        };
        let stop = Stop::default();
        let confirmed = activity.confirm(&task, 10 * MINUTE, &stop);
        assert!(confirmed.await, "it is early");
        let confirmed = activity.confirm(&task, MINUTE, &stop);
        let stopping = async {
            let asked = tokio::task::spawn_blocking(move || listener.accept().unwrap());
            let connection = asked.await.unwrap();
            stop.token.cancel();
            connection
        };
        let (is_begun, _connection) = tokio::join!(confirmed, stopping);
        assert!(is_begun, "its delivery answers for it");
    }

    #[tokio::test]
    async fn a_worker_that_is_to_stop_does_not_begin_to_ask_for_a_shard() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let activity = activity(&listener.local_addr().unwrap().to_string()).await;
        let stop = Stop::default();
        stop.token.cancel();
        for _ in 0..20 {
            assert!(activity.next(&stop).await.unwrap().is_none());
            tokio::task::yield_now().await;
        }
        assert!(listener.accept().is_err(), "a connection was opened");
    }
}
