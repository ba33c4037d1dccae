//! A client that is mocked as `aws_smithy_mocks` does it: by an interceptor that panics at a call without a rule.

use std::error::Error;

use aws_batch_delivery::{Cause, Delivery};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::describe_table::DescribeTableInput;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeSerializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

use crate::entries::{puts, with_table};

/// Has a rule for every call but `DescribeTable`.
#[derive(Debug)]
struct Mock;

#[dyn_dispatch_hint]
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

    assert_eq!(delivery.key("id").deliver(puts(3)).await.unwrap().delivered, 3);
}
