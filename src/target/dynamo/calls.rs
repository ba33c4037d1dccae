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
    use super::super::testing::{client, put, text};
    use super::*;
    use crate::target::recording::{Foreigner, Recorder};

    #[tokio::test]
    async fn what_does_not_speak_json_writes_the_body_itself() {
        let recorder = Recorder::answering(200, r#"{"UnprocessedItems":{}}"#);
        let mut calls = Calls::new(client(&recorder));
        calls.per_call = calls.per_call.interceptor(Foreigner);
        let request = put([("id", text("hello"))]);
        assert!(calls.write(&[("orders", vec![&request])], false).await.is_ok());
        let body = recorder.only_request().body;
        assert!(body.contains(r#"{"id":{"S":"hello"}}"#), "{body}");
    }
}
