use aws_sdk_sns::types::MessageAttributeValue;
use aws_sdk_sns::types::builders::PublishBatchRequestEntryBuilder;

use super::*;
use crate::aws::recording::{Recorder, recorded_config};

const ARN: &str = "arn:aws:sns:eu-central-1:123456789012:orders";

fn client(recorder: &Recorder) -> Client {
    Client::from_conf(recorded_config!(aws_sdk_sns, recorder.clone()).build())
}

fn topic(arn: &str) -> SnsTopic {
    SnsTopic::new(client(&Recorder::answering(200, "<a/>")), arn)
}

fn fifo() -> SnsTopic {
    topic(&format!("{ARN}.fifo"))
}

fn message(text: &str) -> PublishBatchRequestEntryBuilder {
    PublishBatchRequestEntry::builder().id("my own").message(text)
}

fn checked(topic: &SnsTopic, message: PublishBatchRequestEntryBuilder) -> Result<usize, String> {
    topic
        .check(&message.build().unwrap())
        .map_err(|error| error.to_string())
}

#[test]
fn the_log_names_the_topic_without_its_account() {
    assert_eq!(topic(ARN).name(), "sns/orders");
    assert_eq!(fifo().name(), "sns/orders.fifo");
    assert!(!format!("{:?}", topic(ARN)).contains("123456789012"));
}

#[test]
fn a_message_counts_its_subject_and_attributes() {
    let attribute = MessageAttributeValue::builder().data_type("String").string_value("abc");
    let message = message("text")
        .subject("hi")
        .message_attributes("name", attribute.build().unwrap());
    assert_eq!(checked(&topic(ARN), message), Ok(4 + 2 + 4 + 6 + 3));
}

#[test]
fn a_message_has_its_limits() {
    assert_eq!(
        checked(&topic(ARN), message(&"x".repeat(MAX_BATCH_BYTES))),
        Ok(MAX_BATCH_BYTES)
    );
    let error = checked(&topic(ARN), message(&"x".repeat(MAX_BATCH_BYTES + 1)));
    assert_eq!(
        error,
        Err("the message has 262145 bytes, the limit is 262144".to_owned())
    );
    assert_eq!(
        checked(&topic(ARN), message("")),
        Err("the message is missing or empty".to_owned())
    );
    let larger = topic(ARN).with_limits(Limits::new(10, 1024 * 1024));
    assert!(checked(&larger, message(&"x".repeat(MAX_BATCH_BYTES + 1))).is_ok());
}

#[test]
fn a_message_of_a_fifo_topic_needs_its_group() {
    let error = "the message group id is missing or empty".to_owned();
    assert_eq!(checked(&fifo(), message("a")), Err(error));
    assert_eq!(checked(&fifo(), message("a").message_group_id("g")), Ok(1));
}

#[test]
fn messages_of_a_fifo_topic_have_the_lane_of_their_group_and_those_of_other_topics_have_none() {
    let of = |group: &str| message("a").message_group_id(group).build().unwrap();
    assert_eq!(topic(ARN).lane(&of("g")), None);
    assert_eq!(fifo().lane(&of("g")), Some(Lane::ordered("g")));
    assert_eq!(fifo().strict_order().lane(&of("g")), Some(Lane::exclusive("g")));
}

#[tokio::test]
async fn a_fifo_topic_is_asked_once_whether_it_derives_the_ids() {
    for (value, is_given) in [("true", false), ("false", true)] {
        let attributes = format!(
            "<GetTopicAttributesResponse><GetTopicAttributesResult><Attributes><entry>\
             <key>ContentBasedDeduplication</key><value>{value}</value></entry></Attributes>\
             </GetTopicAttributesResult></GetTopicAttributesResponse>"
        );
        let recorder = Recorder::answering(200, attributes.leak());
        let topic = SnsTopic::new(client(&recorder), format!("{ARN}.fifo"));
        topic.prepare().await;
        topic.prepare().await;
        recorder.only_request();
        let mut message = message("a").message_group_id("g").build().unwrap();
        topic.complete(&mut message);
        assert_eq!(message.message_deduplication_id().is_some(), is_given, "{value}");
    }
}

/// According to SNS, only the body and the attributes count.
#[test]
fn a_subject_makes_no_message_too_large_and_has_its_own_limits() {
    let largest = || message(&"x".repeat(MAX_BATCH_BYTES));
    assert_eq!(checked(&topic(ARN), largest().subject("hi")), Ok(MAX_BATCH_BYTES));
    assert_eq!(checked(&topic(ARN), message("x").subject("é".repeat(100))), Ok(201));
    assert_eq!(
        checked(&topic(ARN), message("x").subject("é".repeat(101))),
        Err("the subject must be of at most 100 characters".to_owned())
    );
    assert_eq!(
        checked(&topic(ARN), message("x").subject("a\nb")),
        Err("the subject has U+000A at byte 1, a character that is not allowed".to_owned())
    );
}

/// SNS answers both with the code by which it refuses a message.
#[tokio::test]
async fn an_arn_that_is_not_of_the_clients_region_stops_and_a_message_at_fault_does_not() {
    const REFUSED: &str = "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidParameter</Code>\
        <Message>Invalid parameter: TopicArn</Message></Error><RequestId>r</RequestId></ErrorResponse>";
    let sent = async |arn: &str| {
        let topic = SnsTopic::new(client(&Recorder::answering(400, REFUSED)), arn);
        topic.send(&[message("x").build().unwrap()]).await
    };
    for arn in ["arn:aws:sns:us-east-1:123456789012:orders", "orders"] {
        let Answer::Stop(fault) = sent(arn).await else {
            panic!("{arn}");
        };
        let words = "InvalidParameter: the ARN is not that of a topic in the region of the client";
        assert_eq!((fault.to_string().as_str(), fault.is_ambiguous()), (words, false));
    }
    let answer = sent(ARN).await;
    assert!(matches!(answer, Answer::Whole(Verdict::Refused(_))), "{answer:?}");
}
