//! The errors of this crate and their sources: what one of them says, the one above it does not say as well.

use std::error::Error;
use std::iter::successors;
use std::time::Duration;

use aws_batch_delivery::targets::{Fault, LookupError};
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions, InvalidEntry};
use aws_batch_simulator::InjectedFault;
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use tokio::time::Instant;

use crate::guarantees::entries::{no_delay, put, put_with, puts, with_queue, with_table};

fn assert_says_nothing_twice(error: &(dyn Error + 'static)) {
    let chain: Vec<_> = successors(Some(error), |&error| error.source()).collect();
    // Behind an error of an SDK are others of the SDK.
    let of_this_crate = chain
        .iter()
        .take_while(|error| !error.is::<SdkError<BatchWriteItemError>>());
    for (parent, child) in of_this_crate.zip(&chain[1..]) {
        let (parent, child) = (parent.to_string(), child.to_string());
        let words: Vec<_> = chain.iter().map(ToString::to_string).collect();
        assert!(!parent.contains(&child), "{child:?} is said twice: {words:#?}");
    }
}

async fn failed(delivery: Delivery<aws_batch_delivery::targets::dynamo::DynamoTable>) -> DeliveryError<WriteRequest> {
    delivery.deliver(puts(1)).await.unwrap_err()
}

/// A delivery that fails, for each kind of failure.
async fn failures() -> Vec<DeliveryError<WriteRequest>> {
    let mut failures = Vec::new();
    for code in [
        "ValidationException",
        "AccessDeniedException",
        "UnrecognizedClientException",
        "NeverHeardOf",
    ] {
        let (simulator, table) = with_table();
        table.script(vec![InjectedFault::error(400, code, false); 4]);
        failures.push(failed(Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(no_delay())).await);
    }
    for fault in [
        InjectedFault::Dropped { applied: false },
        InjectedFault::internal_error(false),
        InjectedFault::Garbage { applied: false },
        InjectedFault::Throttle,
    ] {
        let (simulator, table) = with_table();
        table.script(vec![fault; 100]);
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").map_target(|table| table.key("id"));
        failures.push(failed(delivery.clone().options(no_delay().retries(1))).await);
        let (simulator, table) = with_table();
        table.script(vec![InjectedFault::internal_error(false); 10_000]);
        let deadline = DeliveryOptions::default().deadline(Instant::now() + Duration::from_secs(3));
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").map_target(|table| table.key("id"));
        failures.push(failed(delivery.options(deadline)).await);
    }
    let provider = provide_credentials_fn(|| async { Err(CredentialsError::not_loaded("there are none")) });
    let (simulator, _) = with_table();
    let config = simulator
        .dynamo_client()
        .config()
        .to_builder()
        .credentials_provider(provider);
    failures.push(failed(Delivery::to_dynamo(Client::from_conf(config.build()), "orders")).await);
    let (simulator, _) = with_table();
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders");
    let malformed = put_with("a", "number", AttributeValue::N("one".to_owned()));
    failures.push(delivery.deliver([malformed, put("b")]).await.unwrap_err());
    let torn = futures::stream::iter([Ok(put("a")), Err("the file ends too early")]);
    failures.push(delivery.try_deliver_stream(torn).await.unwrap_err());
    failures
}

#[tokio::test(start_paused = true)]
async fn no_error_says_what_its_source_says() {
    let failures = failures().await;
    assert_eq!(failures.len(), 15);
    for error in failures {
        for undelivered in error.undelivered() {
            assert_says_nothing_twice(&undelivered.cause);
        }
        let undelivered = error.undelivered().len();
        assert_says_nothing_twice(&error);
        let error = error.into_undelivered().into_iter().next();
        assert_eq!(error.is_some(), undelivered > 0);
        if let Some(error) = error {
            assert_says_nothing_twice(&error);
        }
    }
    let fault = || Fault::new("no connection").caused_by("the cable is not plugged in");
    let invalid = InvalidEntry::Missing { part: "message body" };
    for cause in [
        Cause::Invalid(invalid),
        Cause::Refused(fault()),
        Cause::RetriesUsedUp(fault()),
        Cause::TimeUsedUp(fault()),
        Cause::Stopped(fault()),
        Cause::DeadlineReached(Some(fault())),
        Cause::Cancelled(Some(fault())),
        Cause::Closed,
    ] {
        assert_says_nothing_twice(&cause);
        let chain = format!("{:#}", anyhow::Error::new(cause.clone()));
        let has_fault = !matches!(cause, Cause::Invalid(_) | Cause::Closed);
        assert_eq!(
            chain.matches("no connection").count(),
            usize::from(has_fault),
            "{chain}"
        );
        assert_eq!(chain.matches("the cable").count(), usize::from(has_fault), "{chain}");
    }
    for error in [LookupError::Never(fault()), LookupError::Transient(fault())] {
        assert_says_nothing_twice(&error);
    }
}

#[tokio::test(start_paused = true)]
async fn the_message_of_the_service_is_told_on_request_only() {
    const MESSAGE: &str = "One or more parameter values are not valid: hunter2";
    let (simulator, table) = with_table();
    let refused = |code: &'static str| InjectedFault::Error {
        status: 400,
        code: code.into(),
        message: MESSAGE.into(),
        applied: false,
    };
    table.script([refused("ValidationException")]);
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders")
        .map_target(|table| table.key("id"))
        .options(no_delay());
    let error = delivery.deliver(puts(1)).await.unwrap_err();
    let Cause::Refused(fault) = &error.undelivered()[0].cause else {
        panic!("{error}");
    };
    assert_eq!(fault.message(), Some(MESSAGE));
    assert!(!format!("{error} {error:?} {fault} {fault:?} {:?}", error.undelivered()).contains("hunter2"));

    let (simulator, queue) = with_queue("orders");
    queue.script([InjectedFault::failed(1, "InvalidMessageContents", true)]);
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(no_delay());
    let error = delivery
        .deliver(crate::guarantees::entries::messages(1))
        .await
        .unwrap_err();
    let Cause::Refused(fault) = &error.undelivered()[0].cause else {
        panic!("{error}");
    };
    assert!(fault.message().is_some_and(|message| !message.is_empty()));
    assert_eq!(Fault::new("no connection").message(), None);
}
