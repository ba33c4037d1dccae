//! Single calls to queues, whose answers do not depend on the time.

use anyhow::Result;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    SendMessageBatchRequestEntry as Entry, builders::SendMessageBatchRequestEntryBuilder as Builder,
};

use crate::failure::of_call;
use crate::figures::Answer;
use crate::place::Place;
use crate::tally::failed_entry;

/// Of a message, and of all messages of a call, in bytes.
const LARGEST: usize = 1_048_576;

pub(crate) async fn run(place: &Place) -> Result<Vec<Answer>> {
    let standard = place.belongings.queue("answers", false).await?;
    let fifo = place.belongings.queue("answers", true).await?;
    let calls = Calls {
        client: &place.sqs,
        url: standard,
    };
    let mut answers = calls.standard().await;
    answers.extend(
        Calls {
            client: &place.sqs,
            url: fifo,
        }
        .fifo()
        .await,
    );
    Ok(answers)
}

struct Calls<'a> {
    client: &'a Client,
    url: String,
}

fn message(id: usize, body: &str) -> Builder {
    Entry::builder().id(id.to_string()).message_body(body)
}

#[expect(clippy::expect_used, reason = "each has an id and a body")]
fn built(message: Builder) -> Entry {
    message.build().expect("the message has an id and a body")
}

impl Calls<'_> {
    async fn send(&self, call: &'static str, messages: impl IntoIterator<Item = Builder>) -> Answer {
        self.send_to(call, &self.url, messages).await
    }

    async fn send_to(&self, call: &'static str, url: &str, messages: impl IntoIterator<Item = Builder>) -> Answer {
        let entries: Vec<_> = messages.into_iter().map(built).collect();
        let sent = self
            .client
            .send_message_batch()
            .queue_url(url)
            .set_entries(Some(entries))
            .send()
            .await;
        let answer = match sent {
            Ok(output) => {
                let failed: Vec<_> = output.failed().iter().map(failed_entry).collect();
                let sent = output.successful().len();
                if failed.is_empty() {
                    format!("{sent} sent")
                } else {
                    format!("{sent} sent, failed: {}", failed.join(", "))
                }
            }
            Err(error) => of_call(&error),
        };
        Answer::new(call, answer)
    }

    async fn standard(&self) -> Vec<Answer> {
        let messages = |count: usize| (0..count).map(|id| message(id, "body"));
        let half = "x".repeat(LARGEST / 2);
        let missing = format!("{}-missing", self.url);
        vec![
            self.send("10 messages", messages(10)).await,
            self.send("11 messages", messages(11)).await,
            self.send("no messages", messages(0)).await,
            self.send("two messages with one id", [message(1, "a"), message(1, "b")])
                .await,
            self.send("an id with a point", [message(1, "a").id("1.5")]).await,
            self.send("an id of 80 letters", [message(1, "a").id("i".repeat(80))])
                .await,
            self.send("an id of 81 letters", [message(1, "a").id("i".repeat(81))])
                .await,
            self.send("a message of 1 MiB", [message(1, &"x".repeat(LARGEST))])
                .await,
            self.send("a message of 1 MiB and a byte", [message(1, &"x".repeat(LARGEST + 1))])
                .await,
            self.send("two messages of 1 MiB together", [message(1, &half), message(2, &half)])
                .await,
            self.send(
                "the same and a byte",
                [message(1, &half), message(2, &half), message(3, "x")],
            )
            .await,
            self.send("an empty body", [message(1, "a"), message(2, "")]).await,
            self.send(
                "a character that is not allowed",
                [message(1, "a"), message(2, "\u{1}")],
            )
            .await,
            self.send(
                "a delay of 901 s",
                [message(1, "a"), message(2, "b").delay_seconds(901)],
            )
            .await,
            self.send(
                "a group in a standard queue",
                [message(1, "a").message_group_id("group")],
            )
            .await,
            self.send(
                "a deduplication id in a standard queue",
                [message(1, "a").message_deduplication_id("id")],
            )
            .await,
            self.send_to("a queue that does not exist", &missing, messages(1)).await,
        ]
    }

    async fn fifo(&self) -> Vec<Answer> {
        let whole = |id: usize| {
            message(id, "body")
                .message_group_id("group")
                .message_deduplication_id(format!("id-{id}"))
        };
        vec![
            self.send("10 messages of a group", (0..10).map(whole)).await,
            self.send("the same messages", (0..10).map(whole)).await,
            self.send(
                "a message without group",
                [whole(10), message(11, "a").message_deduplication_id("id-11")],
            )
            .await,
            self.send(
                "a message without deduplication id",
                [whole(12), message(13, "a").message_group_id("group")],
            )
            .await,
            self.send("a delay in a FIFO queue", [whole(14), whole(15).delay_seconds(1)])
                .await,
            self.send(
                "a group with a space",
                [whole(16), whole(17).message_group_id("a group")],
            )
            .await,
            self.send(
                "a group of 129 letters",
                [whole(18), whole(19).message_group_id("g".repeat(129))],
            )
            .await,
        ]
    }
}
