//! Single calls to tables, whose answers do not depend on the time: units, errors, and why a small table throttles.

use std::collections::HashMap;
use std::error::Error;

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemOutput;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConsumedCapacity, DeleteRequest, KeysAndAttributes, Put, PutRequest, ReturnConsumedCapacity,
    TransactWriteItem, WriteRequest,
};

use crate::belongings::{Billing, Key};
use crate::failure::of_call;
use crate::figures::Answer;
use crate::place::Place;

type Item = HashMap<String, AttributeValue>;

const TOTAL: ReturnConsumedCapacity = ReturnConsumedCapacity::Total;
/// Bytes of the names and the key of an item whose key has one letter.
const REST: usize = 2 + 1 + 4;
/// The largest item, in bytes.
const LARGEST: usize = 409_600;
/// How often a table of one write unit is written to: the burst of a table that was just created has fewer units.
const TRIES: usize = 40;

pub(crate) async fn run(place: &Place) -> Result<Vec<Answer>> {
    let table = place.belongings.table("answers", Key::Id, Billing::OnDemand).await?;
    let calls = Calls {
        client: &place.dynamo,
        table,
    };
    let mut answers = calls.units().await;
    answers.extend(calls.batches().await);
    answers.extend(calls.refusals().await);
    answers.extend(calls.reads_and_transactions().await);
    let billing = Billing::Provisioned { writes: 1, reads: 1 };
    let table = place.belongings.table("one-unit", Key::Id, billing).await?;
    let calls = Calls {
        client: &place.dynamo,
        table,
    };
    answers.extend(calls.throttled().await);
    Ok(answers)
}

struct Calls<'a> {
    client: &'a Client,
    table: String,
}

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// An item of this many bytes, whose key has one letter.
fn item(id: &str, bytes: usize) -> Item {
    with(id, text("x".repeat(bytes - REST)))
}

fn with(id: &str, value: AttributeValue) -> Item {
    [("id".to_owned(), text(id)), ("text".to_owned(), value)].into()
}

fn key(id: &str) -> Item {
    [("id".to_owned(), text(id))].into()
}

fn nested(levels: usize) -> AttributeValue {
    (0..levels).fold(text("x"), |inner, _| AttributeValue::L(vec![inner]))
}

#[expect(clippy::expect_used, reason = "what it needs was given")]
fn put(item: Item) -> WriteRequest {
    let put = PutRequest::builder()
        .set_item(Some(item))
        .build()
        .expect("the put has an item");
    WriteRequest::builder().put_request(put).build()
}

#[expect(clippy::expect_used, reason = "what it needs was given")]
fn delete(id: &str) -> WriteRequest {
    let delete = DeleteRequest::builder()
        .set_key(Some(key(id)))
        .build()
        .expect("the deletion has a key");
    WriteRequest::builder().delete_request(delete).build()
}

fn units<'a>(consumed: impl IntoIterator<Item = &'a ConsumedCapacity>) -> String {
    let units = consumed.into_iter().filter_map(ConsumedCapacity::capacity_units);
    units
        .reduce(|all, units| all + units)
        .map_or_else(|| "accepted, without units".to_owned(), counted)
}

fn counted(units: f64) -> String {
    let is_one = (units - 1.0).abs() < f64::EPSILON;
    format!("{units} unit{}", if is_one { "" } else { "s" })
}

/// The units, or the error.
fn answer<O, E>(ended: Result<O, SdkError<E>>, accepted: impl FnOnce(&O) -> String) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match ended {
        Ok(output) => accepted(&output),
        Err(error) => of_call(&error),
    }
}

fn written(output: &BatchWriteItemOutput) -> String {
    let unprocessed: usize = output
        .unprocessed_items()
        .into_iter()
        .flat_map(HashMap::values)
        .map(Vec::len)
        .sum();
    let units = units(output.consumed_capacity());
    if unprocessed == 0 {
        units
    } else {
        format!("{units}, {unprocessed} unprocessed")
    }
}

impl Calls<'_> {
    async fn put(&self, call: &'static str, item: Item) -> Answer {
        let sent = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .return_consumed_capacity(TOTAL);
        Answer::new(
            call,
            answer(sent.send().await, |output| units(output.consumed_capacity())),
        )
    }

    async fn delete(&self, call: &'static str, id: &str) -> Answer {
        let sent = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(key(id)))
            .return_consumed_capacity(TOTAL);
        Answer::new(
            call,
            answer(sent.send().await, |output| units(output.consumed_capacity())),
        )
    }

    async fn update(&self, call: &'static str, id: &str, expression: &str, value: AttributeValue) -> Answer {
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(id)))
            .update_expression(expression);
        let sent = sent
            .expression_attribute_values(":v", value)
            .return_consumed_capacity(TOTAL);
        Answer::new(
            call,
            answer(sent.send().await, |output| units(output.consumed_capacity())),
        )
    }

    async fn batch(&self, call: &'static str, writes: Vec<WriteRequest>) -> Answer {
        self.batch_to(call, &self.table, writes).await
    }

    async fn batch_to(&self, call: &'static str, table: &str, writes: Vec<WriteRequest>) -> Answer {
        let sent = self
            .client
            .batch_write_item()
            .request_items(table, writes)
            .return_consumed_capacity(TOTAL);
        Answer::new(call, answer(sent.send().await, written))
    }

    async fn units(&self) -> Vec<Answer> {
        vec![
            self.put("put of 100 bytes", item("a", 100)).await,
            self.put("put of 1,024 bytes", item("b", 1_024)).await,
            self.put("put of 1,025 bytes", item("c", 1_025)).await,
            self.put("put of 5,000 bytes", item("d", 5_000)).await,
            self.put("put of 100 bytes over 5,000", item("d", 100)).await,
            self.put("put of 5,000 bytes over 100", item("d", 5_000)).await,
            self.put("put of 409,600 bytes", item("e", LARGEST)).await,
            self.delete("deletion of 5,000 bytes", "d").await,
            self.delete("deletion of no item", "d").await,
            self.update("update of no item", "f", "SET n = :v", AttributeValue::N("1".into()))
                .await,
            self.update("addition to a number", "f", "ADD n :v", AttributeValue::N("1".into()))
                .await,
            self.update("update to 3,000 bytes", "f", "SET m = :v", text("x".repeat(3_000)))
                .await,
            self.update("update to 10 bytes", "f", "SET m = :v", text("x")).await,
        ]
    }

    async fn batches(&self) -> Vec<Answer> {
        let small = |count: usize| {
            (0..count)
                .map(|number| put(item(&letter(number), 500)))
                .collect::<Vec<_>>()
        };
        vec![
            self.batch("batch of 25 puts of 500 bytes", small(25)).await,
            self.batch("batch of 26 puts", small(26)).await,
            self.batch("batch without writes", Vec::new()).await,
            self.batch(
                "batch of a put and a deletion",
                vec![put(item("a", 2_000)), delete("b")],
            )
            .await,
            self.batch("batch of two writes of one key", vec![put(item("a", 100)), delete("a")])
                .await,
            self.batch(
                "batch with an item of 409,601 bytes",
                vec![put(item("a", 100)), put(item("b", LARGEST + 1))],
            )
            .await,
            self.batch(
                "batch with an item without key",
                vec![put(item("a", 100)), put(Item::new())],
            )
            .await,
            self.batch(
                "batch with an empty set",
                vec![put(with("a", AttributeValue::Ss(Vec::new())))],
            )
            .await,
            self.batch_to(
                "batch to no table",
                // No other table of the account has this name.
                &format!("{}-none", self.table),
                vec![put(item("a", 100))],
            )
            .await,
        ]
    }

    async fn refusals(&self) -> Vec<Answer> {
        let number = |digits: &str| with("a", AttributeValue::N(digits.to_owned()));
        let wrong_key: Item = [("id".to_owned(), AttributeValue::N("1".into()))].into();
        let mut answers = vec![
            self.put("put without key", Item::new()).await,
            self.put("put with a number as key", wrong_key).await,
            self.put("put with an empty key", with("", text("x"))).await,
            self.put("put with a key of 2,048 bytes", with(&"k".repeat(2_048), text("x")))
                .await,
            self.put("put with a key of 2,049 bytes", with(&"k".repeat(2_049), text("x")))
                .await,
            self.put("put of 409,601 bytes", item("a", LARGEST + 1)).await,
            self.put("put of a number of 38 digits", number(&"9".repeat(38))).await,
            self.put("put of a number of 39 digits", number(&"9".repeat(39))).await,
            self.put("put of a number that is none", number("one")).await,
            self.put("put of an empty text", with("a", text(""))).await,
            self.put(
                "put of empty bytes",
                with("a", AttributeValue::B(Blob::new(Vec::new()))),
            )
            .await,
            self.put(
                "put of a set with a member twice",
                with("a", AttributeValue::Ns(vec!["1".into(), "1.0".into()])),
            )
            .await,
            self.put("put of 31 lists in each other", with("a", nested(31))).await,
            self.put("put of 32 lists in each other", with("a", nested(32))).await,
        ];
        let conditional = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item("a", 100)));
        let conditional = conditional.return_consumed_capacity(TOTAL);
        let fails = conditional
            .clone()
            .condition_expression("attribute_not_exists(id)")
            .send()
            .await;
        answers.push(Answer::new(
            "put whose condition fails",
            answer(fails, |output| units(output.consumed_capacity())),
        ));
        let wrong = conditional.condition_expression("attribute_not_exists(").send().await;
        answers.push(Answer::new(
            "put with a wrong condition",
            answer(wrong, |output| units(output.consumed_capacity())),
        ));
        answers
    }

    async fn reads_and_transactions(&self) -> Vec<Answer> {
        let mut answers = Vec::new();
        for (call, id, is_consistent) in [
            ("consistent read of 409,600 bytes", "e", true),
            ("read of 409,600 bytes", "e", false),
            ("consistent read of no item", "nothing", true),
            ("read of no item", "nothing", false),
        ] {
            let sent = self.client.get_item().table_name(&self.table).set_key(Some(key(id)));
            let sent = sent
                .consistent_read(is_consistent)
                .return_consumed_capacity(TOTAL)
                .send()
                .await;
            answers.push(Answer::new(
                call,
                answer(sent, |output| units(output.consumed_capacity())),
            ));
        }
        let twice = KeysAndAttributes::builder().keys(key("a")).keys(key("a")).build();
        if let Ok(twice) = twice {
            let sent = self
                .client
                .batch_get_item()
                .request_items(&self.table, twice)
                .return_consumed_capacity(TOTAL);
            let sent = sent.send().await;
            answers.push(Answer::new(
                "batch that reads one key twice",
                answer(sent, |output| units(output.consumed_capacity())),
            ));
        }
        for (call, writes) in [
            (
                "transaction of two puts",
                vec![self.action("t", None), self.action("u", None)],
            ),
            (
                "transaction with two puts of one key",
                vec![self.action("t", None), self.action("t", None)],
            ),
            (
                "transaction with a condition that fails",
                vec![
                    self.action("v", None),
                    self.action("t", Some("attribute_not_exists(id)")),
                ],
            ),
        ] {
            let sent = self
                .client
                .transact_write_items()
                .set_transact_items(Some(writes))
                .return_consumed_capacity(TOTAL);
            answers.push(Answer::new(
                call,
                answer(sent.send().await, |output| units(output.consumed_capacity())),
            ));
        }
        answers
    }

    #[expect(clippy::expect_used, reason = "what it needs was given")]
    fn action(&self, id: &str, condition: Option<&str>) -> TransactWriteItem {
        let put = Put::builder().table_name(&self.table).set_item(Some(item(id, 100)));
        let put = put.set_condition_expression(condition.map(str::to_owned));
        TransactWriteItem::builder()
            .put(put.build().expect("the put has a table and an item"))
            .build()
    }

    /// What a table of one write unit a second answers when it has none left.
    async fn throttled(&self) -> Vec<Answer> {
        let mut batches = Answer::new(
            "25 puts of 1,000 bytes to one write unit, until the call fails",
            "never failed",
        );
        for _ in 0..TRIES {
            let writes = (0..25).map(|number| put(item(&letter(number), 1_000))).collect();
            let sent = self
                .client
                .batch_write_item()
                .request_items(&self.table, writes)
                .send()
                .await;
            if let Err(error) = sent {
                batches.answer = of_call(&error);
                break;
            }
        }
        let mut puts = Answer::new("a put of 1,000 bytes, until it fails", "never failed");
        for _ in 0..TRIES {
            let sent = self
                .client
                .put_item()
                .table_name(&self.table)
                .set_item(Some(item("a", 1_000)))
                .send()
                .await;
            if let Err(error) = sent {
                puts.answer = of_call(&error);
                break;
            }
        }
        vec![batches, puts]
    }
}

/// A key of one letter, of which there are more than a batch has.
fn letter(number: usize) -> String {
    char::from(b'A' + u8::try_from(number).unwrap_or_default()).to_string()
}
