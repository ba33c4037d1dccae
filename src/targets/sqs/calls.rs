//! The client, and how it is called.

use std::borrow::Cow;
use std::pin::pin;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::SdkError;
use aws_sdk_sqs::operation::get_queue_attributes::{GetQueueAttributesError, GetQueueAttributesOutput};
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::correlate::wire_id;
use super::reader::Reader;
use super::wire;
use crate::targets::body::was_not_placed;
use crate::targets::clients::clients;

clients!(aws_sdk_sqs, Reader::new());

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

    /// Sends the messages in one call. If all are accepted, the answer may have their ids alone: the service's ids and the digests
    /// are then empty.
    pub(super) async fn send(
        &self,
        queue_url: &str,
        messages: impl Iterator<Item = Cow<'_, SendMessageBatchRequestEntry>> + Clone,
    ) -> Result<SendMessageBatchOutput, SdkError<SendMessageBatchError, HttpResponse>> {
        let call = |client: &Client, entries| client.send_message_batch().queue_url(queue_url).set_entries(entries);
        let clients = &self.clients;
        if !clients.need_input()
            && let Some(body) = wire::body(queue_url, messages.clone())
        {
            let answer = if let Some(derived) = clients.derived() {
                body.sent_by(pin!(call(derived, None).send())).await
            } else {
                let call = call(clients.callers(), None).customize();
                let call = call.config_override(clients.changes_with_body());
                body.sent_by(pin!(call.send())).await
            };
            match answer {
                Err(error) if was_not_placed(&error) => clients.give_input(),
                answer => return answer,
            }
        }
        let copies = messages.enumerate().map(|(place, message)| {
            let mut copy = message.into_owned();
            copy.id = wire_id(place);
            copy
        });
        let call = call(clients.callers(), Some(copies.collect())).customize();
        call.config_override(clients.changes()).send().await
    }

    /// Asks for one attribute of the queue.
    pub(super) async fn attribute(
        &self,
        queue_url: &str,
        name: QueueAttributeName,
    ) -> Result<GetQueueAttributesOutput, SdkError<GetQueueAttributesError, HttpResponse>> {
        let call = self
            .clients
            .callers()
            .get_queue_attributes()
            .queue_url(queue_url)
            .attribute_names(name);
        call.customize().config_override(self.clients.changes()).send().await
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use aws_sdk_sqs::error::ProvideErrorMetadata;
    use futures::FutureExt;
    use futures::future::join;

    use super::super::testing::{client, message};
    use super::*;
    use crate::targets::recording::{Foreigner, Recorder};

    const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/1/orders";

    async fn send(calls: &Calls, body: &str) -> bool {
        let message = message(body).build().unwrap();
        let sent = calls.send(QUEUE, iter::once(Cow::Borrowed(&message)));
        sent.await.is_ok()
    }

    fn body_of(message: &str) -> String {
        format!(r#"{{"QueueUrl":"{QUEUE}","Entries":[{{"Id":"0","MessageBody":"{message}"}}]}}"#)
    }

    #[tokio::test]
    async fn every_call_has_its_own_body() {
        let recorder = Recorder::answering(200, "{}");
        let calls = Calls::new(client(&recorder));
        for message in ["a", "b", "c"] {
            assert!(send(&calls.clone(), message).await);
        }
        assert!(calls.clients.have_derived());
        assert_eq!(recorder.bodies(), ["a", "b", "c"].map(body_of));
    }

    #[tokio::test]
    async fn of_an_answer_that_accepts_all_only_the_ids_are_read() {
        let answer = r#"{"Successful":[{"Id":"0","MessageId":"5fea","MD5OfMessageBody":"098f"}]}"#;
        let calls = Calls::new(client(&Recorder::answering(200, answer)));
        assert!(send(&calls, "a").await);
        let message = message("b").build().unwrap();
        let sent = calls.send(QUEUE, iter::once(Cow::Borrowed(&message))).await.unwrap();
        let accepted = &sent.successful()[0];
        assert_eq!((accepted.id(), accepted.message_id()), ("0", ""));
    }

    #[tokio::test]
    async fn every_other_answer_is_read_by_the_sdk() {
        let failed = r#"{"Failed":[{"Id":"0","Code":"InternalError","SenderFault":false}]}"#;
        let throttled = r#"{"__type":"com.amazonaws.sqs#RequestThrottled"}"#;
        for (status, answer, code) in [(200, failed, "InternalError"), (403, throttled, "RequestThrottled")] {
            let calls = Calls::new(client(&Recorder::answering(status, answer)));
            let message = message("a").build().unwrap();
            // By the caller's client, and by a derived one.
            for _ in 0..2 {
                let told = match calls.send(QUEUE, iter::once(Cow::Borrowed(&message))).await {
                    Ok(output) => output.failed()[0].code.clone(),
                    Err(error) => error.code().unwrap_or_default().to_owned(),
                };
                assert_eq!(told, code);
            }
            assert!(calls.clients.have_derived());
        }
    }

    #[tokio::test]
    async fn a_single_call_derives_no_client() {
        let recorder = Recorder::answering(200, "{}");
        let calls = Calls::new(client(&recorder));
        assert!(send(&calls, "a").await);
        assert!(!calls.clients.have_derived());
    }

    #[tokio::test]
    async fn calls_that_begin_together_have_each_its_own_body() {
        let recorder = Recorder::answering(200, "{}");
        let calls = Calls::new(client(&recorder));
        assert_eq!(join(send(&calls, "a"), send(&calls, "b")).await, (true, true));
        let mut bodies = recorder.bodies();
        bodies.sort();
        assert_eq!(bodies, ["a", "b"].map(body_of));
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_leaves_nothing_to_the_next() {
        let recorder = Recorder::answering(200, "{}");
        let calls = Calls::new(client(&recorder));
        for [dropped, next] in [["a", "b"], ["c", "d"]] {
            recorder.hang(true);
            assert!(send(&calls, dropped).now_or_never().is_none());
            recorder.hang(false);
            assert!(send(&calls, next).await);
        }
        assert_eq!(recorder.bodies(), ["a", "b", "c", "d"].map(body_of));
    }

    #[tokio::test]
    async fn a_call_is_tried_once() {
        let recorder = Recorder::answering(403, r#"{"__type":"com.amazonaws.sqs#RequestThrottled"}"#);
        let calls = Calls::new(client(&recorder));
        for made in 1..=3 {
            assert!(!send(&calls, "a").await);
            assert_eq!(recorder.requests(), made);
        }
    }

    #[tokio::test]
    async fn what_does_not_speak_json_writes_the_body_itself() {
        let recorder = Recorder::answering(200, "{}");
        let foreign = client(&recorder).config().to_builder().interceptor(Foreigner);
        let clients = Clients::new(Client::from_conf(foreign.build()));
        // In the first call, and in one of a derived client.
        for message in ["a", "b"] {
            let clients = clients.clone().unwatched();
            let calls = Calls { clients };
            assert!(send(&calls, message).await);
            assert!(calls.clients.need_input(), "no later call has to find out");
        }
        assert!(clients.have_derived());
        assert_eq!(recorder.bodies(), ["a", "b"].map(body_of));
    }
}
