//! Topics of SNS.

use std::time::Duration;

use aws_batch_simulator::{Capacity, InjectedFault, Simulator, TopicOptions};
use aws_sdk_sns::Client;
use aws_sdk_sns::config::retry::RetryConfig;
use aws_sdk_sns::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sns::operation::publish_batch::{PublishBatchError, PublishBatchOutput};
use aws_sdk_sns::primitives::Blob;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use tokio::time::sleep;

fn message(id: impl Into<String>, text: impl Into<String>) -> PublishBatchRequestEntry {
    PublishBatchRequestEntry::builder()
        .id(id)
        .message(text)
        .build()
        .unwrap()
}

fn ordered(id: usize, group: &str, deduplication_id: Option<&str>) -> PublishBatchRequestEntry {
    let entry = PublishBatchRequestEntry::builder()
        .id(id.to_string())
        .message(id.to_string());
    let entry = entry.message_group_id(group);
    entry
        .set_message_deduplication_id(deduplication_id.map(str::to_owned))
        .build()
        .unwrap()
}

fn messages(count: usize) -> Vec<PublishBatchRequestEntry> {
    (0..count)
        .map(|number| message(number.to_string(), number.to_string()))
        .collect()
}

/// One call without the SDK's own retries.
async fn publish(
    client: &Client,
    topic: impl Into<String>,
    entries: Vec<PublishBatchRequestEntry>,
) -> Result<PublishBatchOutput, SdkError<PublishBatchError>> {
    let once = aws_sdk_sns::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = client
        .publish_batch()
        .topic_arn(topic)
        .set_publish_batch_request_entries(Some(entries));
    call.customize().config_override(once).send().await
}

#[tokio::test(start_paused = true)]
async fn messages_arrive_as_they_were_published() {
    let simulator = Simulator::new(1);
    let topic = simulator.topic("orders", TopicOptions::default());
    let text = "a&b=c+d%20 <ü>\n\"🎬\"";
    let attribute = |kind: &str| MessageAttributeValue::builder().data_type(kind);
    let entry = PublishBatchRequestEntry::builder()
        .id("a")
        .message(text)
        .subject("s & t");
    let entry = entry
        .message_attributes("x.y", attribute("String").string_value("1 2").build().unwrap())
        .message_attributes(
            "b",
            attribute("Binary").binary_value(Blob::new([1, 2])).build().unwrap(),
        );
    let output = publish(&simulator.sns_client(), topic.arn(), vec![entry.build().unwrap()])
        .await
        .unwrap();
    assert_eq!((output.successful().len(), output.failed().len()), (1, 0));
    let stored = &topic.messages()[0];
    assert_eq!((&*stored.message, stored.subject.as_deref()), (text, Some("s & t")));
    let expected = aws_batch_simulator::json!({
        "x.y": {"DataType": "String", "StringValue": "1 2"},
        "b": {"DataType": "Binary", "BinaryValue": "AQI="},
    });
    assert_eq!(stored.attributes, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn whole_calls_are_refused_for_what_concerns_all() {
    let simulator = Simulator::new(1);
    let topic = simulator.topic("orders", TopicOptions::default());
    let fifo = simulator.topic("orders.fifo", TopicOptions::default());
    let client = simulator.sns_client();
    let missing = format!("{}-missing", topic.arn());
    for (arn, entries, code) in [
        (topic.arn(), Vec::new(), "EmptyBatchRequest"),
        (topic.arn(), messages(11), "TooManyEntriesInBatchRequest"),
        (
            topic.arn(),
            vec![message("a", "1"), message("a", "2")],
            "BatchEntryIdsNotDistinct",
        ),
        (topic.arn(), vec![message("a b", "1")], "InvalidBatchEntryId"),
        (
            topic.arn(),
            vec![message("a", "x".repeat(131_072)), message("b", "x".repeat(131_073))],
            "BatchRequestTooLong",
        ),
        (missing, messages(1), "NotFound"),
        (fifo.arn(), messages(1), "InvalidParameter"),
        (fifo.arn(), vec![ordered(1, "g", None)], "InvalidParameter"),
    ] {
        let error = publish(&client, arn, entries).await.unwrap_err();
        assert_eq!(error.code(), Some(code));
    }
    assert!(topic.is_empty() && fifo.is_empty());
}

#[tokio::test(start_paused = true)]
async fn messages_fail_by_themselves_for_what_concerns_them_alone() {
    let simulator = Simulator::new(1);
    let topic = simulator.topic("orders", TopicOptions::default());
    topic.poison(|message| message["Message"] == "poison");
    let deduplicated = ordered(3, "g", Some("d"));
    let entries = vec![
        message("good", "1"),
        message("empty", ""),
        message("poison", "poison"),
        deduplicated,
    ];
    let output = publish(&simulator.sns_client(), topic.arn(), entries).await.unwrap();
    let failed: Vec<_> = output
        .failed()
        .iter()
        .map(|entry| (entry.id(), entry.code(), entry.sender_fault()))
        .collect();
    let code = "InvalidParameter";
    assert_eq!(
        failed,
        [("empty", code, true), ("poison", code, true), ("3", code, true)]
    );
    assert_eq!(topic.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fifo_topic_deduplicates_and_tells_how() {
    let simulator = Simulator::new(1);
    let client = simulator.sns_client();
    let by_id = simulator.topic("by_id.fifo", TopicOptions::default());
    let by_content = simulator.topic("by_content.fifo", TopicOptions::default().content_based_deduplication());
    for (topic, entry, told) in [
        (&by_id, ordered(1, "g", Some("d")), "false"),
        (&by_content, ordered(1, "g", None), "true"),
    ] {
        let output = client
            .get_topic_attributes()
            .topic_arn(topic.arn())
            .send()
            .await
            .unwrap();
        let attributes = output.attributes().unwrap();
        assert_eq!(attributes["ContentBasedDeduplication"], told);
        assert_eq!(attributes["FifoTopic"], "true");
        let first = publish(&client, topic.arn(), vec![entry.clone()]).await.unwrap();
        let second = publish(&client, topic.arn(), vec![entry.clone()]).await.unwrap();
        assert_eq!(
            first.successful(),
            second.successful(),
            "the same message under the same number"
        );
        assert_eq!(topic.len(), 1);
        sleep(Duration::from_mins(5)).await;
        publish(&client, topic.arn(), vec![entry]).await.unwrap();
        assert_eq!(topic.len(), 2, "the id is forgotten");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_and_calls_are_throttled() {
    let simulator = Simulator::new(1);
    let capacity = Capacity::per_second(4.0).burst(4.0).starts_full();
    let topic = simulator.topic("orders", TopicOptions::default().capacity(capacity));
    let client = simulator.sns_client();
    let output = publish(&client, topic.arn(), messages(10)).await.unwrap();
    assert_eq!((output.successful().len(), output.failed().len()), (4, 6));
    assert_eq!(output.failed()[0].code(), "Throttled");
    let error = publish(&client, topic.arn(), messages(10)).await.unwrap_err();
    assert_eq!(error.code(), Some("Throttled"));
    assert_eq!(topic.statistics().throttled_calls, 1);
    topic.set_capacity(Capacity::unlimited());
    topic.script([
        InjectedFault::error(500, "InternalError", false),
        InjectedFault::Garbage { applied: true },
        InjectedFault::Empty { applied: true },
        InjectedFault::failed(2, "KMSThrottling", true),
    ]);
    let error = publish(&client, topic.arn(), messages(10)).await.unwrap_err();
    assert!(error.into_service_error().is_internal_error_exception());
    assert!(publish(&client, topic.arn(), messages(10)).await.is_err());
    let empty = publish(&client, topic.arn(), messages(10)).await.unwrap();
    assert!(empty.successful().is_empty() && empty.failed().is_empty());
    let output = publish(&client, topic.arn(), messages(10)).await.unwrap();
    assert_eq!(output.failed()[0].code(), "KMSThrottling");
    assert_eq!(topic.len(), 4 + 10 + 10 + 8);
}

/// As LocalStack has recorded it on SNS: the whole call is refused.
#[tokio::test(start_paused = true)]
async fn a_call_is_refused_for_a_broken_structure_an_empty_subject_or_a_topic_elsewhere() {
    let simulator = Simulator::new(1);
    let topic = simulator.topic("orders", TopicOptions::default());
    let client = simulator.sns_client();
    let structured = |text: &str| {
        let entry = PublishBatchRequestEntry::builder().id("a").message(text);
        entry.message_structure("json").build().unwrap()
    };
    let subject = |subject: &str| {
        let entry = PublishBatchRequestEntry::builder().id("a").message("text");
        entry.subject(subject).build().unwrap()
    };
    let elsewhere = topic.arn().replace("us-east-1", "eu-west-1");
    for (arn, entry, part) in [
        (topic.arn(), structured("{broken"), "JSON message body failed to parse"),
        (topic.arn(), structured("[]"), "No default entry"),
        (topic.arn(), structured(r#"{"sqs": "text"}"#), "No default entry"),
        (topic.arn(), structured(r#"{"default": {}}"#), "No default entry"),
        (topic.arn(), subject(""), "Invalid parameter: Subject"),
        (elsewhere, message("a", "text"), "Invalid parameter: TopicArn"),
        ("orders".to_owned(), message("a", "text"), "at least 6 elements, not 1"),
    ] {
        let error = publish(&client, arn, vec![message("b", "text"), entry])
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some("InvalidParameter"), "{part}");
        assert!(error.message().unwrap().contains(part), "{error:?}");
    }
    assert!(topic.messages().is_empty());
    let good = structured(r#"{"default": "text"}"#);
    assert_eq!(
        publish(&client, topic.arn(), vec![good])
            .await
            .unwrap()
            .successful()
            .len(),
        1
    );
}
