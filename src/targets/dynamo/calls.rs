//! The client, and how it is called.

use std::collections::HashMap;
use std::pin::pin;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItemError, BatchWriteItemOutput};
use aws_sdk_dynamodb::operation::describe_table::{DescribeTableError, DescribeTableOutput};
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, WriteRequest};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::wire;
use crate::targets::body::was_not_placed;
use crate::targets::clients::clients;

clients!(aws_sdk_dynamodb);

/// The calls of the service.
#[derive(Clone)]
pub(super) struct Calls {
    clients: Clients,
}

impl Calls {
    pub(super) fn new(client: Client) -> Self {
        Self {
            clients: Clients::new(client),
        }
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
        let clients = &self.clients;
        if !clients.need_input()
            && let Some(body) = wire::body(tables, metered)
        {
            let none = tables.iter().map(|(table, _)| ((*table).to_owned(), Vec::new()));
            let none = none.collect();
            let answer = if let Some(derived) = clients.derived() {
                body.sent_by(pin!(call(derived, none).send())).await
            } else {
                let call = call(clients.callers(), none).customize();
                let call = call.config_override(clients.changes_with_body());
                body.sent_by(pin!(call.send())).await
            };
            match answer {
                Err(error) if was_not_placed(&error) => clients.give_input(),
                answer => return answer,
            }
        }
        let copies = tables.iter().map(|(table, requests)| {
            let requests: Vec<WriteRequest> = requests.iter().copied().cloned().collect();
            ((*table).to_owned(), requests)
        });
        let call = call(clients.callers(), copies.collect::<HashMap<_, _>>()).customize();
        call.config_override(clients.changes()).send().await
    }

    pub(super) async fn describe(
        &self,
        table: &str,
    ) -> Result<DescribeTableOutput, SdkError<DescribeTableError, HttpResponse>> {
        let call = self.clients.callers().describe_table().table_name(table);
        call.customize().config_override(self.clients.changes()).send().await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join;

    use super::super::testing::{client, put, text};
    use super::*;
    use crate::targets::recording::{Foreigner, Recorder};

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
        assert!(calls.clients.have_derived());
        assert_eq!(recorder.bodies(), ["a", "b", "c"].map(body_of));
    }

    #[tokio::test]
    async fn a_single_call_derives_no_client() {
        let recorder = Recorder::answering(200, ALL_WRITTEN);
        let calls = Calls::new(client(&recorder));
        assert!(write(&calls, "a").await);
        assert!(!calls.clients.have_derived());
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
    async fn a_derived_client_sends_nothing_without_a_body() {
        let recorder = Recorder::answering(200, ALL_WRITTEN);
        let calls = Calls::new(client(&recorder));
        assert!(write(&calls, "a").await);
        let derived = calls.clients.derived().unwrap();
        let copies = vec![put([("id", text("b"))])];
        let call = derived.batch_write_item().request_items("orders", copies);
        assert!(was_not_placed(&call.send().await.unwrap_err()));
        assert_eq!(recorder.bodies(), [body_of("a")]);
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
        let clients = Clients::new(Client::from_conf(foreign.build()));
        // In the first call, and in one of a derived client.
        for id in ["a", "b"] {
            let clients = clients.clone().unwatched();
            let calls = Calls { clients };
            assert!(write(&calls, id).await);
            assert!(calls.clients.need_input(), "no later call has to find out");
        }
        assert!(clients.have_derived());
        assert_eq!(recorder.bodies(), ["a", "b"].map(body_of));
    }
}
