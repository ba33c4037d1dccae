//! The client, and how it is called.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{Builder, FrameworkMetadata};
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItemError, BatchWriteItemOutput};
use aws_sdk_dynamodb::operation::describe_table::{DescribeTableError, DescribeTableOutput};
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, WriteRequest};
use aws_sdk_dynamodb::{Client, Config};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::wire;
use crate::target::body::{Placer, was_not_placed};
use crate::target::kept::Learner;

/// A client, with what these calls change in its configuration.
#[derive(Clone)]
pub(super) struct Calls {
    client: Client,
    /// What is changed for a call that is made by the client.
    per_call: Builder,
    kept: Learner,
    /// The client with the changes, which takes a call less time than to make them for it.
    derived: Arc<OnceLock<Client>>,
    /// Somebody looks at the input of each call.
    watched: bool,
}

impl Calls {
    pub(super) fn new(client: Client) -> Self {
        let watched = client.config().interceptors().next().is_some();
        Self {
            client,
            per_call: changed(Config::builder()),
            kept: Learner::default(),
            derived: Arc::default(),
            watched,
        }
    }

    /// The client with the changes, once a call has told what it has to share with the caller's.
    fn derived(&self) -> Option<&Client> {
        let kept = self.kept.learnt()?;
        let derive = || {
            let mut config = changed(self.client.config().to_builder())
                .http_client(kept.http_client.clone())
                .identity_cache(kept.identity_cache.clone())
                .interceptor(Placer);
            if let Some(clock) = &kept.clock {
                config.push_interceptor(clock.clone());
            }
            Client::from_conf(config.build())
        };
        Some(self.derived.get_or_init(derive))
    }

    /// Makes one call with some tables' requests, which may ask for the capacity that it takes.
    pub(super) async fn write(
        &self,
        tables: &[(&str, Vec<&WriteRequest>)],
        metered: bool,
    ) -> Result<BatchWriteItemOutput, SdkError<BatchWriteItemError, HttpResponse>> {
        let call = |client: &Client, requests| {
            client
                .batch_write_item()
                .set_request_items(Some(requests))
                .set_return_consumed_capacity(metered.then_some(ReturnConsumedCapacity::Total))
        };
        let changed = |requests| {
            let call = call(&self.client, requests).customize();
            call.config_override(self.per_call.clone())
        };
        if !self.watched
            && let Some(body) = wire::body(tables, metered)
        {
            let none = tables.iter().map(|(table, _)| ((*table).to_owned(), Vec::new()));
            let none = none.collect();
            let answer = match self.derived() {
                Some(derived) => body.sent_by(call(derived, none).send()).await,
                None => {
                    let call = changed(none).interceptor(self.kept.clone()).interceptor(Placer);
                    body.sent_by(call.send()).await
                }
            };
            match answer {
                Err(error) if was_not_placed(&error) => {}
                answer => return answer,
            }
        }
        let copies = tables.iter().map(|(table, requests)| {
            let requests: Vec<WriteRequest> = requests.iter().copied().cloned().collect();
            ((*table).to_owned(), requests)
        });
        changed(copies.collect::<HashMap<_, _>>()).send().await
    }

    pub(super) async fn describe(
        &self,
        table: &str,
    ) -> Result<DescribeTableOutput, SdkError<DescribeTableError, HttpResponse>> {
        let call = self.client.describe_table().table_name(table);
        call.customize().config_override(self.per_call.clone()).send().await
    }
}

/// What these calls change in the client's configuration. Retries underneath would multiply the attempts and hide the
/// throttles.
fn changed(config: Builder) -> Builder {
    let config = config.retry_config(RetryConfig::disabled());
    match FrameworkMetadata::new(env!("CARGO_PKG_NAME"), Some(env!("CARGO_PKG_VERSION"))) {
        Ok(crate_name) => config.framework_metadata(crate_name),
        // The user agent then goes without the crate's name; the calls work as well.
        Err(_) => config,
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join;

    use super::super::testing::{client, put, text};
    use super::*;
    use crate::target::recording::{Foreigner, Recorder};

    const ALL_WRITTEN: &str = r#"{"UnprocessedItems":{}}"#;

    async fn write(calls: &Calls, id: &str) -> bool {
        let request = put([("id", text(id))]);
        calls.write(&[("orders", vec![&request])], false).await.is_ok()
    }

    fn body_of(id: &str) -> String {
        format!(r#"{{"RequestItems":{{"orders":[{{"PutRequest":{{"Item":{{"id":{{"S":"{id}"}}}}}}}}]}}}}"#)
    }

    #[tokio::test]
    async fn every_call_has_its_own_body() {
        let recorder = Recorder::answering(200, ALL_WRITTEN);
        let calls = Calls::new(client(&recorder));
        for id in ["a", "b", "c"] {
            assert!(write(&calls.clone(), id).await);
        }
        assert!(calls.derived.get().is_some());
        assert_eq!(recorder.bodies(), ["a", "b", "c"].map(body_of));
    }

    #[tokio::test]
    async fn a_single_call_derives_no_client() {
        let recorder = Recorder::answering(200, ALL_WRITTEN);
        let calls = Calls::new(client(&recorder));
        assert!(write(&calls, "a").await);
        assert!(calls.derived.get().is_none());
    }

    #[tokio::test]
    async fn calls_that_begin_together_have_each_its_own_body() {
        let recorder = Recorder::answering(200, ALL_WRITTEN);
        let calls = Calls::new(client(&recorder));
        assert_eq!(join(write(&calls, "a"), write(&calls, "b")).await, (true, true));
        let mut bodies = recorder.bodies();
        bodies.sort();
        assert_eq!(bodies, ["a", "b"].map(body_of));
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_leaves_nothing_to_the_next() {
        let recorder = Recorder::answering(200, ALL_WRITTEN);
        let calls = Calls::new(client(&recorder));
        for [dropped, next] in [["a", "b"], ["c", "d"]] {
            recorder.hang(true);
            assert!(write(&calls, dropped).now_or_never().is_none());
            recorder.hang(false);
            assert!(write(&calls, next).await);
        }
        assert_eq!(recorder.bodies(), ["a", "b", "c", "d"].map(body_of));
    }

    #[tokio::test]
    async fn a_call_is_tried_once() {
        let recorder = Recorder::answering(
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#,
        );
        let calls = Calls::new(client(&recorder));
        for made in 1..=3 {
            assert!(!write(&calls, "a").await);
            assert_eq!(recorder.requests(), made);
        }
    }

    #[tokio::test]
    async fn what_does_not_speak_json_writes_the_body_itself() {
        let recorder = Recorder::answering(200, ALL_WRITTEN);
        let foreign = client(&recorder).config().to_builder().interceptor(Foreigner);
        let mut calls = Calls::new(Client::from_conf(foreign.build()));
        calls.watched = false;
        for id in ["a", "b"] {
            assert!(write(&calls, id).await);
        }
        assert!(calls.derived.get().is_some());
        assert_eq!(recorder.bodies(), ["a", "b"].map(body_of));
    }
}
