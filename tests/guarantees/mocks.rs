//! A client that is mocked in the way of `aws_smithy_mocks`: an interceptor replaces each answer with the output of a rule,
//! and panics at a call without a rule.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::sync::Mutex;

use aws_batch_delivery::{Cause, Delivery};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemOutput;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableInput;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeSerializationInterceptorContextRef, FinalizerInterceptorContextMut, Output,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;

use crate::guarantees::entries::{one_at_a_time, puts, with_table};
use crate::guarantees::watching::Watcher;

/// Has a rule for every call but `DescribeTable`.
#[derive(Debug)]
struct Mock;

impl Intercept for Mock {
    fn name(&self) -> &'static str {
        "Mock"
    }

    fn read_before_serialization(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let input = context.input().downcast_ref::<DescribeTableInput>();
        assert!(input.is_none(), "no rules matched for DescribeTable");
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_mock_without_a_rule_for_describe_table_needs_the_key() {
    let (simulator, _) = with_table();
    let config = simulator.dynamo_client().config().to_builder().interceptor(Mock);
    let delivery = Delivery::to_dynamo(Client::from_conf(config.build()), "orders");

    let error = delivery.deliver(puts(3)).await.unwrap_err();
    let Cause::Stopped(fault) = &error.undelivered()[0].cause else {
        panic!("{:?}", error.undelivered()[0].cause);
    };
    assert_eq!(fault.code(), "the target's `prepare` panicked");
    let source = fault.source().unwrap().to_string();
    assert_eq!(source, "no rules matched for DescribeTable");

    assert_eq!(
        delivery
            .map_target(|table| table.key("id"))
            .deliver(puts(3))
            .await
            .unwrap()
            .delivered,
        3
    );
}

/// Returns its outputs one after another.
#[derive(Debug)]
struct Rules(Mutex<VecDeque<BatchWriteItemOutput>>);

impl Intercept for Rules {
    fn name(&self) -> &'static str {
        "Rules"
    }

    fn modify_before_attempt_completion(
        &self,
        context: &mut FinalizerInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let output = self.0.lock().unwrap().pop_front().expect("a rule");
        *context.output_or_error_mut().unwrap() = Ok(Output::erase(output));
        Ok(())
    }
}

/// Answers every request as the HTTP client of `aws_smithy_mocks` does, with an answer that a rule must replace.
#[derive(Debug)]
struct Teapot;

impl HttpConnector for Teapot {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let status = 418.try_into().unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from("I'm a teapot!"))))
    }
}

impl HttpClient for Teapot {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Self)
    }
}

#[tokio::test(start_paused = true)]
async fn a_mock_sees_every_write_and_its_outputs_count() {
    let leftovers = HashMap::from([("orders".to_owned(), puts(2))]);
    let outputs = [leftovers, HashMap::new()].map(|unprocessed| {
        BatchWriteItemOutput::builder()
            .set_unprocessed_items(Some(unprocessed))
            .build()
    });
    let watcher = Watcher::default();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .http_client(Teapot)
        .interceptor(watcher.clone())
        .interceptor(Rules(Mutex::new(outputs.into())));
    let delivery = Delivery::to_dynamo(Client::from_conf(config.build()), "orders").map_target(|table| table.key("id"));
    let report = delivery.options(one_at_a_time()).deliver(puts(3)).await.unwrap();
    assert_eq!((report.delivered, report.calls), (3, 2));
    assert_eq!(watcher.calls(), [3, 2]);
}
