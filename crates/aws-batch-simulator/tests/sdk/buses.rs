//! Event buses of EventBridge.

use aws_batch_simulator::{Acknowledgement, Capacity, EventBusOptions, InjectedFault, Simulator};
use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::config::retry::RetryConfig;
use aws_sdk_eventbridge::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_eventbridge::operation::put_events::{PutEventsError, PutEventsOutput};
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_eventbridge::types::builders::PutEventsRequestEntryBuilder;

fn event(bus: &str) -> PutEventsRequestEntryBuilder {
    let event = PutEventsRequestEntry::builder().event_bus_name(bus).source("shop");
    event.detail_type("order").detail("{}")
}

fn events(bus: &str, count: usize) -> Vec<PutEventsRequestEntry> {
    vec![event(bus).build(); count]
}

/// One call without the SDK's own retries.
async fn put(
    client: &Client,
    entries: Vec<PutEventsRequestEntry>,
) -> Result<PutEventsOutput, SdkError<PutEventsError>> {
    let once = aws_sdk_eventbridge::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = client.put_events().set_entries(Some(entries));
    call.customize().config_override(once).send().await
}

fn codes(output: &PutEventsOutput) -> Vec<&str> {
    output
        .entries()
        .iter()
        .map(|entry| entry.error_code().unwrap_or_default())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn events_go_to_the_bus_that_each_names_and_are_lost_where_there_is_none() {
    let simulator = Simulator::new(1);
    let orders = simulator.event_bus("orders", EventBusOptions::default());
    let default = simulator.event_bus("default", EventBusOptions::default());
    let client = simulator.eventbridge_client();
    let arn = orders.arn();
    let mut entries = vec![
        event("orders").resources("r").build(),
        event(&arn).build(),
        event("missing").build(),
    ];
    let mut unnamed = event("").build();
    unnamed.event_bus_name = None;
    entries.push(unnamed);
    let output = put(&client, entries).await.unwrap();
    assert_eq!((output.failed_entry_count(), codes(&output)), (0, vec![""; 4]));
    assert_eq!((orders.len(), default.len()), (2, 1));
    assert_eq!(orders.events()[0]["Resources"], aws_batch_simulator::json!(["r"]));
    let described = client.describe_event_bus().name(&arn).send().await.unwrap();
    assert_eq!(described.name(), Some("orders"));
    let error = client.describe_event_bus().name("missing").send().await.unwrap_err();
    assert!(error.into_service_error().is_resource_not_found_exception());
}

#[tokio::test(start_paused = true)]
async fn events_fail_by_themselves_for_what_concerns_them_alone() {
    let simulator = Simulator::new(1);
    let bus = simulator.event_bus("orders", EventBusOptions::default());
    bus.poison(|event| event["Source"] == "poison");
    let entries = vec![
        event("orders").build(),
        event("orders").detail("[1]").build(),
        event("orders").source("").build(),
        event("orders").source("poison").build(),
        event("missing").detail("oops").build(),
    ];
    let output = put(&simulator.eventbridge_client(), entries).await.unwrap();
    let malformed = "MalformedDetail";
    assert_eq!(
        codes(&output),
        [
            "",
            malformed,
            "InvalidArgument",
            "NotAuthorizedForSourceException",
            malformed
        ]
    );
    assert_eq!((output.failed_entry_count(), bus.len()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn limits_are_those_of_the_service() {
    let simulator = Simulator::new(1);
    let bus = simulator.event_bus("orders", EventBusOptions::default());
    let client = simulator.eventbridge_client();
    // Besides the text: quotes and braces, the source and the detail type.
    let large = |bytes: usize| {
        event("orders")
            .detail(format!(r#"{{"t":"{}"}}"#, "x".repeat(bytes - 17)))
            .build()
    };
    for entries in [Vec::new(), events("orders", 11), vec![large(500_000), large(500_000)]] {
        let error = put(&client, entries).await.unwrap_err();
        assert_eq!(error.code(), Some("ValidationException"));
    }
    put(&client, vec![large(500_000), large(499_999)]).await.unwrap();
    assert_eq!((bus.len(), bus.statistics().refused_calls), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn events_and_calls_are_throttled() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(4.0).burst(4.0).starts_full();
    let orders = simulator.event_bus("orders", EventBusOptions::default().capacity(capacity));
    let other = simulator.event_bus("other", EventBusOptions::default());
    orders.keep_journal();
    other.keep_journal();
    let client = simulator.eventbridge_client();
    let output = put(&client, [events("orders", 6), events("other", 2)].concat())
        .await
        .unwrap();
    assert_eq!((output.failed_entry_count(), orders.len(), other.len()), (2, 4, 2));
    assert!(codes(&output).contains(&"ThrottlingException"));
    orders.script([InjectedFault::Throttle, InjectedFault::Garbage { applied: true }]);
    orders.set_capacity(Capacity::unlimited());
    let both = || [events("orders", 1), events("other", 1)].concat();
    let error = put(&client, both()).await.unwrap_err();
    assert_eq!(error.code(), Some("ThrottlingException"));
    assert!(put(&client, both()).await.is_err());
    assert_eq!((orders.len(), other.len()), (5, 3), "a fault is that of the whole call");
    for bus in [orders, other] {
        let journal = bus.journal();
        let told: Vec<_> = journal[journal.len() - 2..]
            .iter()
            .map(aws_batch_simulator::Record::acknowledgement)
            .collect();
        assert_eq!(
            told,
            [Acknowledgement::Rejected, Acknowledgement::Ambiguous { applied: true }]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_one_event_fails_one_event_however_many_buses_the_call_names() {
    let simulator = Simulator::new(1);
    let orders = simulator.event_bus("orders", EventBusOptions::default());
    let other = simulator.event_bus("other", EventBusOptions::default());
    let client = simulator.eventbridge_client();
    let both = || [events("orders", 2), events("other", 2)].concat();
    for (entries, fault) in [
        (1, InjectedFault::Unprocessed(1)),
        (3, InjectedFault::failed(3, "InternalFailure", false)),
        (4, InjectedFault::Conflict(9)),
    ] {
        orders.script([fault]);
        assert_eq!(put(&client, both()).await.unwrap().failed_entry_count(), entries);
    }
    orders.script([InjectedFault::Omitted {
        entries: 3,
        applied: false,
    }]);
    assert_eq!(put(&client, both()).await.unwrap().entries().len(), 1);
    assert_eq!((orders.len(), other.len()), (1, 4));
    orders.script([InjectedFault::Repeated(1)]);
    assert_eq!(put(&client, both()).await.unwrap().entries().len(), 5);
}

/// From the API reference of `PutEvents`: the prefix is reserved for the services of AWS.
#[tokio::test(start_paused = true)]
async fn an_event_of_a_service_of_aws_fails_alone() {
    let simulator = Simulator::new(1);
    let bus = simulator.event_bus("orders", EventBusOptions::default());
    let client = simulator.eventbridge_client();
    let of = |source: &str| event("orders").source(source).build();
    let output = put(&client, vec![of("aws.s3"), of("aws"), of("awsome.shop")])
        .await
        .unwrap();
    assert_eq!(codes(&output), ["NotAuthorizedForSourceException", "", ""]);
    assert_eq!(bus.events().len(), 2);
}
