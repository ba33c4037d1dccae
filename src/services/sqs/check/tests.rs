//! Which messages are refused, and with which error; which are encoded.

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::builders::SendMessageBatchRequestEntryBuilder;

use super::*;
use crate::aws::recording::Recorder;
use crate::contract::BatchTarget;
use crate::invalid::InvalidEntry;
use crate::services::sqs::testing::{binary, client, message, text};
use crate::services::sqs::{MAX_MESSAGE_BYTES, SqsQueue};

const STANDARD: bool = false;
const FIFO: bool = true;

fn checked(message: SendMessageBatchRequestEntryBuilder, fifo: bool) -> Result<usize, String> {
    check(&message.build().unwrap(), fifo, MAX_MESSAGE_BYTES).map_err(|refusal| refusal.to_string())
}

fn refusal(message: SendMessageBatchRequestEntryBuilder) -> String {
    checked(message, STANDARD).unwrap_err()
}

#[test]
fn lists_of_values_are_reserved() {
    let value = || MessageAttributeValue::builder().data_type("String").string_value("a");
    let lists = [
        value().string_list_values("b").build().unwrap(),
        value().binary_list_values(Blob::new("b")).build().unwrap(),
    ];
    for list in lists {
        let refused = refusal(message("body").message_attributes("list", list));
        assert_eq!(
            refused,
            "`list`: the attribute value must be a single value, not a list"
        );
    }
}

#[test]
fn a_message_of_exactly_the_limit_passes_and_one_byte_more_is_refused() {
    assert_eq!(checked(message(&"x".repeat(1_048_576)), STANDARD), Ok(1_048_576));
    assert_eq!(
        refusal(message(&"x".repeat(1_048_577))),
        "the message has 1048577 bytes, the limit is 1048576"
    );
}

#[test]
fn attributes_count_for_the_size_of_a_message() {
    let with = |bytes: usize| message(&"x".repeat(bytes)).message_attributes("name", text("String", "value"));
    assert_eq!(checked(with(1_048_576 - 15), STANDARD), Ok(1_048_576));
    assert_eq!(
        refusal(with(1_048_576 - 14)),
        "the message has 1048577 bytes, the limit is 1048576"
    );
}

#[test]
fn a_message_needs_a_body() {
    assert_eq!(refusal(message("")), "the message body is missing or empty");
}

#[test]
fn characters_are_those_of_xml() {
    for allowed in [
        '\t',
        '\n',
        '\r',
        ' ',
        '\u{7f}',
        '\u{D7FF}',
        '\u{E000}',
        '\u{FFFD}',
        '\u{10000}',
        '\u{10FFFF}',
    ] {
        assert!(checked(message(&allowed.to_string()), STANDARD).is_ok(), "{allowed:?}");
    }
    for refused in [
        '\0', '\u{1}', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{FFFE}', '\u{FFFF}',
    ] {
        assert!(checked(message(&refused.to_string()), STANDARD).is_err(), "{refused:?}");
    }
    assert_eq!(
        refusal(message("sécret\u{1}")),
        "the message body has U+0001 at byte 7, a character that is not allowed"
    );
    assert_eq!(
        refusal(message("x").message_attributes("name", text("String", "\u{FFFE}"))),
        "`name`: the attribute value has U+FFFE at byte 0, a character that is not allowed"
    );
}

#[test]
fn ten_attributes_pass_and_eleven_are_refused() {
    let with = |count: usize| {
        (0..count).fold(message("x"), |message, number| {
            message.message_attributes(format!("a{number}"), text("String", "x"))
        })
    };
    assert!(checked(with(10), STANDARD).is_ok());
    assert_eq!(refusal(with(11)), "there are 11 message attributes, the limit is 10");
}

#[test]
fn attribute_names_follow_the_rules() {
    let named = |name: &str| checked(message("x").message_attributes(name, text("String", "x")), STANDARD);
    let longest = "n".repeat(256);
    for name in ["a", "A-b_c.9", "größe", "aws", "awsome.x", longest.as_str()] {
        assert!(named(name).is_ok(), "{name}");
    }
    let longer = "n".repeat(257);
    for name in [
        "",
        "a b",
        "a/b",
        ".a",
        "a.",
        "a..b",
        "AWS.a",
        "amazon.a",
        longer.as_str(),
    ] {
        assert!(named(name).is_err(), "{name}");
    }
}

#[test]
fn attribute_values_follow_the_rules() {
    let valued = |value| checked(message("x").message_attributes("name", value), STANDARD);
    for value in [
        text("String", "x"),
        text("String.label", "x"),
        text("Number", "-1.5e3"),
        text("Number.int", "x"),
        binary(b"x"),
    ] {
        assert!(valued(value).is_ok());
    }
    let long_type = format!("String.{}", "x".repeat(250));
    for value in [
        text("String", ""),
        text("Binary", "x"),
        text("Number", "x"),
        text("Number", "NaN"),
        text("Number", ""),
        text("Text", "x"),
        text("", "x"),
        text(&long_type, "x"),
        binary(b""),
    ] {
        assert!(valued(value).is_err());
    }
}

#[test]
fn delays_go_from_0_to_900() {
    for delay in [0, 1, 900] {
        assert!(checked(message("x").delay_seconds(delay), STANDARD).is_ok());
    }
    assert_eq!(
        refusal(message("x").delay_seconds(901)),
        "the delay in seconds is 901, the limits are 0 and 900"
    );
    assert!(checked(message("x").delay_seconds(-1), STANDARD).is_err());
}

#[test]
fn a_fifo_queue_takes_no_delay() {
    let with = |delay| checked(message("x").message_group_id("g").delay_seconds(delay), FIFO);
    assert!(with(0).is_ok());
    assert_eq!(
        with(1).unwrap_err(),
        "the delay in seconds must be absent or 0 if the queue is FIFO"
    );
}

#[test]
fn a_fifo_queue_needs_a_group() {
    assert_eq!(
        checked(message("x"), FIFO).unwrap_err(),
        "the message group id is missing or empty"
    );
    assert!(checked(message("x").message_group_id(""), FIFO).is_err());
    assert!(checked(message("x").message_group_id("g"), FIFO).is_ok());
    assert!(checked(message("x").message_group_id("g"), STANDARD).is_ok());
}

#[test]
fn ids_are_up_to_128_graphic_characters() {
    let with = |id: &str| message("x").message_group_id(id).message_deduplication_id(id);
    let punctuation = r##"azAZ09!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"##;
    assert!(checked(with(punctuation), FIFO).is_ok());
    assert!(checked(with(&"x".repeat(128)), FIFO).is_ok());
    for id in ["a b", "ä", "\u{7f}", &"x".repeat(129)] {
        assert!(checked(message("x").message_group_id(id), FIFO).is_err(), "{id}");
        let deduplicated = message("x").message_group_id("g").message_deduplication_id(id);
        assert!(checked(deduplicated, FIFO).is_err(), "{id}");
    }
}

#[test]
fn a_standard_queue_takes_no_deduplication_id() {
    assert_eq!(
        refusal(message("x").message_deduplication_id("d")),
        "the message deduplication id must be absent unless the queue or topic is FIFO"
    );
}

fn queue(recorder: &Recorder) -> SqsQueue {
    SqsQueue::new(
        client(recorder),
        "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
    )
    .encode_invalid_characters()
}

#[tokio::test]
async fn a_body_with_invalid_characters_is_encoded_and_marked() {
    let recorder = Recorder::answering(200, "{}");
    let queue = queue(&recorder);
    let entry = message("a\u{0}ü")
        .message_attributes("mine", text("String", "x"))
        .build()
        .unwrap();
    // `YQDDvA==`, and both attributes.
    assert_eq!(queue.check(&entry), Ok(8 + 11 + 25 + 6 + 6));
    queue.send(&[entry]).await;
    let body = recorder.only_request().body;
    assert!(body.contains(r#""MessageBody":"YQDDvA==""#), "{body}");
    assert!(
        body.contains(r#""Content-Transfer-Encoding":{"#) && body.contains("mine"),
        "{body}"
    );
}

#[tokio::test]
async fn a_valid_body_stays_as_it_is() {
    let recorder = Recorder::answering(200, "{}");
    let queue = queue(&recorder);
    let entry = message("größe\t😀").build().unwrap();
    assert_eq!(queue.check(&entry), Ok(12));
    queue.send(&[entry]).await;
    let body = recorder.only_request().body;
    assert!(body.contains("größe") && !body.contains(ENCODING_ATTRIBUTE), "{body}");
}

#[test]
fn a_message_that_would_be_too_large_encoded_is_refused() {
    let queue = queue(&Recorder::answering(200, "{}"));
    let entry = |bytes: usize| message(&"\u{1}".repeat(bytes)).build().unwrap();
    // Three bytes become four, and the attribute has 37.
    assert_eq!(queue.check(&entry(786_402)), Ok(1_048_536 + 37));
    assert!(matches!(
        queue.check(&entry(786_405)),
        Err(InvalidEntry::TooLarge { actual: 1_048_577, .. })
    ));
}

#[test]
fn without_the_option_or_with_the_attribute_it_is_refused() {
    let recorder = Recorder::answering(200, "{}");
    let plain = SqsQueue::new(
        client(&recorder),
        "https://sqs.eu-central-1.amazonaws.com/123456789012/orders",
    );
    let entry = message("\u{1}").build().unwrap();
    assert!(matches!(plain.check(&entry), Err(InvalidEntry::Character { .. })));
    let taken = message("\u{1}").message_attributes(ENCODING_ATTRIBUTE, text("String", "x"));
    let refusal = queue(&recorder).check(&taken.build().unwrap());
    assert!(matches!(refusal, Err(InvalidEntry::Character { .. })));
}
