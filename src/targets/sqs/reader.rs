//! Answers, read as far as they matter.
//!
//! Nearly every answer accepts all messages of its call. Of each it then tells, beside the id under which it was sent, an id
//! given by the service and one or two digests, none of which is used here. The SDK makes a string of each of them; so such an
//! answer is read here, for the ids that it accepts. What else it may be, the SDK reads.

use std::str;

use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatch, SendMessageBatchOutput};
use aws_sdk_sqs::types::SendMessageBatchResultEntry;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeDeserializationInterceptorContextRef, Output, OutputOrError,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_smithy_runtime_api::client::ser_de::{DeserializeResponse, SharedResponseDeserializer};
use aws_smithy_types::config_bag::{ConfigBag, FrozenLayer};

use crate::targets::json::first_escape;

/// The status of an answer that accepts messages. From the API reference of `SendMessageBatch`.
const OK: u16 = 200;

/// Reads the answers to `SendMessageBatch`. It belongs into a client that makes no other calls.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    /// Where the SDK keeps its own.
    of_the_sdk: Option<FrozenLayer>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            of_the_sdk: SendMessageBatch::new().config(),
        }
    }

    fn sdk(&self) -> Option<&SharedResponseDeserializer> {
        self.of_the_sdk.as_ref()?.load::<SharedResponseDeserializer>()
    }
}

#[dyn_dispatch_hint]
impl Intercept for Reader {
    fn name(&self) -> &'static str {
        "Reader"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // Who reads answers stays for all attempts of a call; calls are made once.
        if context.response().status().as_u16() == OK && self.sdk().is_some() {
            let reader = SharedResponseDeserializer::new(self.clone());
            bag.interceptor_state().store_put(reader);
        }
        Ok(())
    }
}

impl DeserializeResponse for Reader {
    fn deserialize_nonstreaming_with_config(&self, response: &HttpResponse, bag: &ConfigBag) -> OutputOrError {
        let text = response.body().bytes().and_then(|body| str::from_utf8(body).ok());
        if let Some(output) = text.and_then(accepting_all) {
            return Ok(Output::erase(output));
        }
        match self.sdk() {
            Some(sdk) => sdk.deserialize_nonstreaming_with_config(response, bag),
            None => Err(OrchestratorError::other("the SDK reads no answers")),
        }
    }
}

/// The answer with only the ids of the messages, if it accepts all that it speaks of.
fn accepting_all(answer: &str) -> Option<SendMessageBatchOutput> {
    let mut text = Text(answer.as_bytes());
    let mut accepted = None;
    text.expect(b'{')?;
    loop {
        let member = text.string()?;
        text.expect(b':')?;
        match member {
            b"Successful" if accepted.is_none() => accepted = Some(text.list()?),
            b"Failed" => {
                text.expect(b'[')?;
                text.expect(b']')?;
            }
            _ => return None,
        }
        if text.ends_with(b'}')? {
            break;
        }
    }
    let output = SendMessageBatchOutput::builder()
        .set_successful(accepted)
        .set_failed(Some(Vec::new()));
    output.build().ok().filter(|_| text.is_over())
}

/// The rest of a text, that is read as long as it is what is expected.
struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// The next byte that is no space.
    fn next(&mut self) -> Option<u8> {
        let (next, rest) = self.after_spaces().split_first()?;
        self.0 = rest;
        Some(*next)
    }

    fn expect(&mut self, expected: u8) -> Option<()> {
        (self.next()? == expected).then_some(())
    }

    /// Whether a list or an object ends here, and does not go on with its next member.
    fn ends_with(&mut self, end: u8) -> Option<bool> {
        match self.next()? {
            b',' => Some(false),
            next => (next == end).then_some(true),
        }
    }

    fn is_over(&self) -> bool {
        self.after_spaces().is_empty()
    }

    fn after_spaces(&self) -> &'a [u8] {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let spaces = self.0.iter().take_while(|byte| is_space(byte)).count();
        &self.0[spaces..]
    }

    /// A string without escapes.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let end = first_escape(self.0)?;
        let (string, rest) = self.0.split_at(end);
        // Nothing may be skipped before it.
        self.0 = rest.strip_prefix(b"\"")?;
        Some(string)
    }

    /// The accepted messages.
    fn list(&mut self) -> Option<Vec<SendMessageBatchResultEntry>> {
        let mut accepted = Vec::with_capacity(super::MAX_MESSAGES);
        self.expect(b'[')?;
        loop {
            accepted.push(self.entry()?);
            if self.ends_with(b']')? {
                return Some(accepted);
            }
        }
    }

    /// One of them, with its id.
    fn entry(&mut self) -> Option<SendMessageBatchResultEntry> {
        let mut id = None;
        self.expect(b'{')?;
        loop {
            let member = self.string()?;
            self.expect(b':')?;
            let value = self.string()?;
            if member == b"Id" && id.replace(value).is_some() {
                return None;
            }
            if self.ends_with(b'}')? {
                break;
            }
        }
        let entry = SendMessageBatchResultEntry::builder().id(str::from_utf8(id?).ok()?);
        entry.message_id("").md5_of_message_body("").build().ok()
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// What a reader makes of an answer: the ids that it accepts, and those that failed with their codes.
    type Fates = (Vec<String>, Vec<(String, String)>);

    fn read(reader: &impl DeserializeResponse, answer: &[u8]) -> Option<Fates> {
        let response = HttpResponse::new(OK.try_into().unwrap(), SdkBody::from(answer));
        let output = reader.deserialize_nonstreaming_with_config(&response, &ConfigBag::base());
        let output = output.ok()?.downcast::<SendMessageBatchOutput>().unwrap();
        let accepted = output.successful.into_iter().map(|entry| entry.id);
        let failed = output.failed.into_iter().map(|entry| (entry.id, entry.code));
        Some((accepted.collect(), failed.collect()))
    }

    fn accepted(answer: &str) -> Option<Vec<String>> {
        let output = accepting_all(answer)?;
        Some(output.successful.into_iter().map(|entry| entry.id).collect())
    }

    #[test]
    fn an_answer_that_accepts_all_is_read_for_its_ids() {
        let of_a_queue =
            r#"{"Successful":[{"Id":"0","MD5OfMessageBody":"098f","MessageId":"f4eb"},{"Id":"1","MessageId":"5fea"}]}"#;
        assert_eq!(accepted(of_a_queue).unwrap(), ["0", "1"]);
        let of_a_fifo_queue =
            r#"{"Successful":[{"Id":"0","SequenceNumber":"18885","MD5OfMessageBody":"098f","MessageId":"f4eb"}]}"#;
        assert_eq!(accepted(of_a_fifo_queue).unwrap(), ["0"]);
        let spaced = " {\n \"Failed\": [ ],\r\n\t\"Successful\": [ { \"MessageId\" : \"f\" , \"Id\" : \"7\" } ] } ";
        assert_eq!(accepted(spaced).unwrap(), ["7"]);
    }

    #[test]
    fn an_answer_that_says_anything_else_is_left_to_the_sdk() {
        for answer in [
            "",
            "{}",
            r#"{"Successful":[]}"#,
            r#"{"Successful":null}"#,
            r#"{"Failed":[]}"#,
            r#"{"Successful":[{"Id":"0"}],"Failed":[{"Id":"1","Code":"InternalError","SenderFault":false}]}"#,
            r#"{"Successful":[{"Id":"0"}],"Successful":[{"Id":"1"}]}"#,
            r#"{"Successful":[{"Id":"0","Id":"1"}]}"#,
            r#"{"Successful":[{"Id":"\u0030"}]}"#,
            "{\"Successful\":[{\"Id\":\"0\n\"}]}",
            r#"{"Successful":[{"Id":"0","Delay":1}]}"#,
            r#"{"Successful":[{"MessageId":"0"}]}"#,
            r#"{"Successful":[{"Id":"0"}],"More":"#,
            r#"{"Successful":[{"Id":"0"}]"#,
            r#"{"Successful":[{"Id":"0"}]} {"#,
            "<SendMessageBatchResponse/>",
        ] {
            assert_eq!(accepted(answer), None, "{answer}");
        }
    }

    /// Pieces of answers: in their right order now and then, which the property below makes sure of.
    const PIECES: &[&str] = &[
        r#"{"Successful":["#,
        r#"{"Id":"0","MessageId":"5fea","MD5OfMessageBody":"098f"}"#,
        r#"{"MessageId":"5fea", "Id":"1"}"#,
        r#"{"Id":"2"}"#,
        r#""Id":"3""#,
        "{",
        "}",
        "[",
        "]",
        "]}",
        ",",
        ":",
        " ",
        "\n",
        "\u{c}",
        "null",
        r#""Failed":[]"#,
        r#""Failed":[{"Id":"1","Code":"InternalError","SenderFault":true}]"#,
        r#""Id":"\u0034""#,
        r#""Größe":"€""#,
    ];

    /// An answer that accepts some messages.
    fn accepting() -> impl Strategy<Value = String> {
        let entries = vec(select(&PIECES[1..4]), 1..4);
        let end = select(&[r"]}", r#"],"Failed":[]}"#, r#"],"Failed":[ ] } "#][..]);
        (entries, end).prop_map(|(entries, end)| format!(r#"{{"Successful":[{}{end}"#, entries.join(",")))
    }

    /// Nearly such an answer: a piece more somewhere, or a character less.
    fn spoilt() -> impl Strategy<Value = String> {
        (accepting(), any::<prop::sample::Index>(), select(PIECES), any::<bool>()).prop_map(
            |(mut answer, place, piece, inserts)| {
                let place = place.index(answer.len());
                if inserts {
                    answer.insert_str(place, piece);
                } else {
                    answer.remove(place);
                }
                answer
            },
        )
    }

    fn any_answer() -> impl Strategy<Value = String> {
        let jumbled = vec(select(PIECES), 0..8).prop_map(|pieces| pieces.concat());
        prop_oneof![accepting(), spoilt(), jumbled]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn an_answer_says_what_it_says_to_the_sdk(answer in any_answer()) {
            let reader = Reader::new();
            let sdk = reader.sdk().expect("the SDK reads answers");
            prop_assert_eq!(read(&reader, answer.as_bytes()), read(sdk, answer.as_bytes()));
        }

        #[test]
        fn an_answer_that_accepts_all_needs_no_sdk(answer in accepting()) {
            prop_assert!(accepted(&answer).is_some());
        }
    }
}
