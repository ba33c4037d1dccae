//! What is counted of each call: an interceptor of the SDK's clients.

use std::collections::BTreeMap;
use std::error::Error;
use std::mem::take;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItemError, BatchWriteItemOutput};
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    self, BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};

use crate::failure::code_of;

/// The names of AWS's own endpoints end with one of these.
const AWS: [&str; 3] = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];

/// Counts the writes and sends of the clients that have it. Clones share their counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    counts: Mutex<Counts>,
    /// All calls, to AWS and to anything else.
    to_aws: AtomicU64,
    elsewhere: AtomicU64,
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    /// The units that the answers say were consumed.
    pub(crate) units: Option<f64>,
    /// How often each code was seen: of a call, or of an entry.
    pub(crate) codes: BTreeMap<String, u64>,
    /// How long each call took.
    pub(crate) times: Vec<Duration>,
}

impl Counts {
    fn seen(&mut self, code: String, times: usize) {
        *self.codes.entry(code).or_default() += u64::try_from(times).unwrap_or(u64::MAX);
    }

    /// The median time of a call.
    pub(crate) fn median(&self) -> Option<Duration> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

impl Tally {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted since the last time.
    pub(crate) fn take(&self) -> Counts {
        take(&mut *self.lock())
    }

    /// Whether all calls were calls to AWS.
    pub(crate) fn is_aws(&self) -> bool {
        self.0.to_aws.load(Relaxed) > 0 && self.0.elsewhere.load(Relaxed) == 0
    }
}

#[derive(Debug)]
struct Started(Instant);

impl Storable for Started {
    type Storer = StoreReplace<Self>;
}

impl Intercept for Tally {
    fn name(&self) -> &'static str {
        "Tally"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        bag.interceptor_state().store_put(Started(Instant::now()));
        Ok(())
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let calls = if is_aws(context.request().uri()) {
            &self.0.to_aws
        } else {
            &self.0.elsewhere
        };
        calls.fetch_add(1, Relaxed);
        Ok(())
    }

    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Some(ended) = context.output_or_error() else {
            return Ok(());
        };
        let mut counts = self.lock();
        match ended {
            Ok(output) => {
                if let Some(output) = output.downcast_ref::<BatchWriteItemOutput>() {
                    written(&mut counts, output);
                } else if let Some(output) = output.downcast_ref::<SendMessageBatchOutput>() {
                    sent(&mut counts, output);
                }
            }
            Err(error) => counts.seen(code(error), 1),
        }
        if let Some(Started(at)) = bag.load::<Started>() {
            counts.times.push(at.elapsed());
        }
        Ok(())
    }
}

/// Whether the address of a request is one of AWS.
fn is_aws(uri: &str) -> bool {
    let host = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split(':').next().unwrap_or_default();
    AWS.iter().any(|ending| host.ends_with(ending))
}

fn written(counts: &mut Counts, output: &BatchWriteItemOutput) {
    let units: f64 = output
        .consumed_capacity()
        .iter()
        .filter_map(aws_sdk_dynamodb::types::ConsumedCapacity::capacity_units)
        .sum();
    if !output.consumed_capacity().is_empty() {
        *counts.units.get_or_insert_default() += units;
    }
    let unprocessed: usize = output
        .unprocessed_items()
        .into_iter()
        .flat_map(|tables| tables.values())
        .map(Vec::len)
        .sum();
    if unprocessed > 0 {
        counts.seen("UnprocessedItems".to_owned(), unprocessed);
    }
}

fn sent(counts: &mut Counts, output: &SendMessageBatchOutput) {
    for failed in output.failed() {
        counts.seen(failed_entry(failed), 1);
    }
}

/// A message that failed, in words.
pub(crate) fn failed_entry(failed: &aws_sdk_sqs::types::BatchResultErrorEntry) -> String {
    let fault = if failed.sender_fault() {
        "sender's fault"
    } else {
        "not the sender's fault"
    };
    format!("{} ({fault})", failed.code())
}

fn code(error: &OrchestratorError<context::Error>) -> String {
    if let Some(error) = error.as_operation_error() {
        if let Some(error) = error.downcast_ref::<BatchWriteItemError>() {
            return code_of(error.code(), error);
        }
        if let Some(error) = error.downcast_ref::<SendMessageBatchError>() {
            return code_of(error.code(), error as &(dyn Error + 'static));
        }
        return "an error of another operation".to_owned();
    }
    let connection = error.as_connector_error();
    let words = if error.is_timeout_error() || connection.is_some_and(ConnectorError::is_timeout) {
        "timeout"
    } else if connection.is_some() {
        "connection lost"
    } else if error.is_response_error() {
        "answer cut off"
    } else {
        "not sent"
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_aws_are_recognized_by_their_host_alone() {
        for uri in [
            "https://dynamodb.us-east-1.amazonaws.com/",
            "https://123456789012.ddb.us-east-1.amazonaws.com",
            "https://sqs.cn-north-1.amazonaws.com.cn/",
            "https://sqs.eu-west-1.api.aws:443/x",
        ] {
            assert!(is_aws(uri), "{uri}");
        }
        for uri in [
            "http://127.0.0.1:4500/",
            "http://localhost/?at=dynamodb.us-east-1.amazonaws.com",
            "http://dynamodb.us-east-1.amazonaws.com.example.org/",
            "http://sqs.eu-west-1.amazonaws.com@127.0.0.1/",
            "",
        ] {
            assert!(!is_aws(uri), "{uri}");
        }
    }

    #[test]
    fn the_median_is_that_of_all_calls() {
        let times = [5, 1, 9].map(Duration::from_millis).to_vec();
        assert_eq!(
            Counts {
                times,
                ..Counts::default()
            }
            .median(),
            Some(Duration::from_millis(5))
        );
        assert_eq!(Counts::default().median(), None);
    }
}
