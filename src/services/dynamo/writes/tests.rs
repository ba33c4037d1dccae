//! What a write is sent with, and what its answers mean, even after a lost one.

#[cfg(feature = "spool")]
use std::collections::{BTreeSet, HashSet};
use std::error::Error as _;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, Put};
use serde_json::Value;

use super::super::testing::{attributes, client, text};
use super::*;
use crate::aws::recording::Recorder;
use crate::contract::Rejection;

const APPLIED: (u16, &str) = (200, "{}");
const LOST: (u16, &str) = (
    500,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#,
);
const THROTTLED: (u16, &str) = (
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#,
);
const FAILED: (u16, &str) = (
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no"}"#,
);
const OURS_STANDS: (u16, &str) = (
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no",
        "Item":{"id":{"S":"1"},"n":{"N":"7.0"}}}"#,
);
const OTHER_STANDS: (u16, &str) = (
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no",
        "Item":{"id":{"S":"1"},"n":{"N":"8"}}}"#,
);
const CANCELLED: (u16, &str) = (
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"no",
        "CancellationReasons":[{"Code":"ConditionalCheckFailed","Item":{"id":{"S":"1"}}}]}"#,
);

fn seven() -> AttributeValue {
    AttributeValue::N("7".to_owned())
}

fn put() -> ItemWrite {
    ItemWrite::put(attributes([("id", text("1")), ("n", seven())]))
}

fn put_if_absent() -> ItemWrite {
    put().condition("attribute_not_exists(id)")
}

fn key() -> super::super::Attributes {
    attributes([("id", text("1"))])
}

fn assignment() -> ItemWrite {
    ItemWrite::update(key(), "SET n = :n").value(":n", seven())
}

fn deletion() -> ItemWrite {
    ItemWrite::delete(key()).condition("n = :n").value(":n", seven())
}

fn counter() -> ItemWrite {
    ItemWrite::update(key(), "ADD n :n").value(":n", seven())
}

fn table(recorder: &Recorder) -> DynamoWrites {
    DynamoTable::new(client(recorder), "orders").key("id").into()
}

/// Sends the write as often as there are answers. Returns what the last one means, and the requests.
async fn sent(write: &ItemWrite, answers: &[(u16, &'static str)]) -> (Verdict, Vec<Value>) {
    let recorder = Recorder::answering_in_turn(answers);
    let table = table(&recorder);
    let mut last = None;
    for _ in answers {
        last = Some(match table.send(std::slice::from_ref(write)).await {
            Answer::Whole(verdict) => verdict,
            Answer::Each(mut verdicts) => verdicts.pop().unwrap(),
            other => panic!("{other:?}"),
        });
    }
    let requests = recorder.all_requests();
    let requests = requests
        .iter()
        .map(|request| serde_json::from_str(&request.body).unwrap());
    (last.unwrap(), requests.collect())
}

async fn verdict(write: &ItemWrite, answers: &[(u16, &'static str)]) -> Verdict {
    sent(write, answers).await.0
}

fn is_undecided(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Refused(fault) if fault.is_ambiguous() && fault.code() == "ConditionalCheckFailedException")
}

#[tokio::test]
async fn each_kind_of_write_has_its_call() {
    for (write, operation) in [
        (put(), "PutItem"),
        (put_if_absent(), "PutItem"),
        (assignment(), "UpdateItem"),
        (counter(), "TransactWriteItems"),
        (counter().idempotent(), "UpdateItem"),
        (deletion(), "DeleteItem"),
        (deletion().with_token(), "TransactWriteItems"),
    ] {
        let recorder = Recorder::answering(200, "{}");
        let answer = table(&recorder).send(&[write]).await;
        assert!(matches!(answer, Answer::Whole(Verdict::Accepted)), "{answer:?}");
        let request = recorder.only_request();
        assert_eq!(request.operation, operation);
        assert!(
            request.user_agent.contains("lib/aws-batch-delivery/"),
            "{}",
            request.user_agent
        );
    }
}

#[tokio::test]
async fn a_metered_call_requests_and_returns_its_consumed_capacity() {
    let recorder = Recorder::answering(
        200,
        r#"{"ConsumedCapacity":{"TableName":"orders","CapacityUnits":2.5}}"#,
    );
    let (answer, units) = table(&recorder).send_metered(&[put()]).await;
    assert!(matches!(answer, Answer::Whole(Verdict::Accepted)));
    assert_eq!(units, Some(2.5));
    let recorder = Recorder::answering(
        200,
        r#"{"ConsumedCapacity":[{"TableName":"orders","CapacityUnits":5.0}]}"#,
    );
    let (_, units) = table(&recorder).send_metered(&[counter()]).await;
    assert_eq!(units, Some(5.0));
}

#[tokio::test]
async fn a_failed_condition_is_a_verdict_with_the_item_that_stands_there_if_it_is_wanted() {
    for write in [
        put_if_absent(),
        deletion(),
        assignment().condition("attribute_exists(id)"),
    ] {
        let (verdict, requests) = sent(&write, &[OTHER_STANDS]).await;
        assert!(matches!(verdict, Verdict::ConditionFailed), "{verdict:?}");
        assert!(requests[0].get("ReturnValuesOnConditionCheckFailure").is_none());
    }
    for (write, answer) in [
        (put_if_absent(), OTHER_STANDS),
        (deletion(), OTHER_STANDS),
        (counter().condition("n < :n"), CANCELLED),
    ] {
        let write = write.return_old_item();
        let kept = write.clone();
        let verdict = verdict(&write, &[answer]).await;
        assert!(matches!(verdict, Verdict::ConditionFailed), "{verdict:?}");
        assert_eq!(kept.take_old_item().unwrap()["id"], text("1"));
        assert_eq!(kept.take_old_item(), None);
    }
}

#[tokio::test]
async fn a_condition_that_fails_after_a_lost_answer_is_decided_by_what_stands_there() {
    let conditional = assignment().condition("attribute_not_exists(n)");
    for write in [put_if_absent(), conditional] {
        let (after, requests) = sent(&write.clone(), &[LOST, OURS_STANDS]).await;
        assert!(matches!(after, Verdict::Accepted), "{after:?}");
        let asks = |request: &Value| request["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD";
        assert_eq!(requests.iter().map(asks).collect::<Vec<_>>(), [false, true]);

        // The throttle in between says nothing of the lost attempt.
        for answers in [
            &[LOST, OTHER_STANDS][..],
            &[LOST, FAILED],
            &[LOST, THROTTLED, OTHER_STANDS],
        ] {
            let after = verdict(&write, answers).await;
            assert!(is_undecided(&after), "{after:?}");
        }
        // The doubt stays with the write that is handed back, until the service has decided on it.
        let after = verdict(&write, &[OTHER_STANDS]).await;
        assert!(is_undecided(&after), "{after:?}");
        assert_eq!(write.take_old_item().unwrap()["n"], AttributeValue::N("8".to_owned()));
        let after = verdict(&write, &[APPLIED, OTHER_STANDS]).await;
        assert!(matches!(after, Verdict::ConditionFailed), "{after:?}");
    }
}

#[tokio::test]
async fn a_deletion_whose_condition_fails_after_a_lost_answer_is_undecided() {
    for failed in [FAILED, OURS_STANDS, OTHER_STANDS] {
        let after = verdict(&deletion(), &[LOST, failed]).await;
        assert!(is_undecided(&after), "{after:?}");
        let fault = match after {
            Verdict::Refused(fault) => fault,
            other => panic!("{other:?}"),
        };
        assert!(fault.source().is_none() && fault.to_string().contains("an earlier attempt"));
    }
}

#[tokio::test]
async fn a_throttle_leaves_no_doubt() {
    let after = verdict(&put_if_absent(), &[THROTTLED, THROTTLED, OTHER_STANDS]).await;
    assert!(matches!(after, Verdict::ConditionFailed), "{after:?}");
}

#[tokio::test]
async fn a_counter_keeps_its_token_until_it_is_applied() {
    let write = counter();
    let (after, requests) = sent(&write, &[LOST, THROTTLED, LOST, APPLIED, APPLIED]).await;
    assert!(matches!(after, Verdict::Accepted), "{after:?}");
    let token = |request: &Value| request["ClientRequestToken"].as_str().unwrap().to_owned();
    let tokens: Vec<_> = requests.iter().map(token).collect();
    assert!(tokens[..4].iter().all(|token| *token == tokens[0]), "{tokens:?}");
    // It was applied: delivered again, it is another write.
    assert_ne!(tokens[4], tokens[0]);
    assert!(
        requests[..4].iter().all(|request| *request == requests[0]),
        "requests with one token are equal"
    );
}

/// aws/aws-sdk-go-v2#3131: a map has another order each time that it is made, and what compares the bytes of requests with one token, as
/// DynamoDB Local does, refuses the second one.
#[cfg(feature = "spool")]
#[tokio::test]
async fn requests_with_one_token_are_equal_whichever_delivery_makes_them() {
    let identity = Identity::new(7);
    let mut bodies = BTreeSet::new();
    for _ in 0..8 {
        let recorder = Recorder::answering_in_turn([LOST]);
        let table = table(&recorder);
        let tags: HashSet<_> = (0..8).map(|tag| format!("a \"tag\" \u{e9}\n{tag}")).collect();
        // As the next process makes it of what is on disk.
        let mut write = ItemWrite::update(key(), "ADD #a :a, #b :b, #c :c, #tags :tags")
            .name("#tags", "tags")
            .value(":tags", AttributeValue::Ss(tags.into_iter().collect()));
        for name in ["a", "b", "c"] {
            write = write.name(format!("#{name}"), name).value(format!(":{name}"), seven());
        }
        table.identify(&mut write, &identity);
        table.send(&[write]).await;
        bodies.insert(recorder.only_request().body);
    }
    assert_eq!(bodies.len(), 1, "{bodies:#?}");
}

#[tokio::test]
async fn with_a_token_a_condition_that_fails_after_a_lost_answer_has_failed() {
    for write in [
        counter().condition("n < :n"),
        put_if_absent().with_token(),
        deletion().with_token(),
    ] {
        let after = verdict(&write, &[LOST, CANCELLED]).await;
        assert!(matches!(after, Verdict::ConditionFailed), "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_may_be_forgotten_is_not_used_again() {
    let recorder = Recorder::answering_in_turn([LOST, APPLIED]);
    let (table, write) = (table(&recorder), [counter()]);
    table.send(&write).await;
    tokio::time::advance(Duration::from_secs(9 * 60)).await;
    let Answer::Each(verdicts) = table.send(&write).await else {
        panic!("the verdict is on the entry");
    };
    assert!(
        matches!(&verdicts[0], Verdict::Refused(fault) if fault.is_ambiguous() && fault.code() == "request token expired")
    );
    assert_eq!(recorder.requests(), 1);
}

#[tokio::test]
async fn conflicts_are_no_refusals() {
    const CONFLICT: &str =
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"no"}"#;
    let after = verdict(&put_if_absent(), &[(400, CONFLICT)]).await;
    assert!(
        matches!(&after, Verdict::Rejected(Rejection::Transient, fault) if !fault.is_ambiguous()),
        "{after:?}"
    );
    let in_progress = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionInProgressException","Message":"no"}"#;
    let after = verdict(&counter(), &[(400, in_progress)]).await;
    assert!(
        matches!(&after, Verdict::Rejected(Rejection::Transient, fault) if fault.is_ambiguous()),
        "{after:?}"
    );
}

#[test]
fn a_write_is_checked_before_it_is_sent() {
    let orders = table(&Recorder::answering(200, "{}"));
    let refusal = |write: &ItemWrite| orders.check(write).unwrap_err().to_string();
    assert!(orders.check(&put_if_absent()).is_ok() && orders.check(&counter()).is_ok());
    let of_another = Put::builder()
        .table_name("films")
        .item("id", text("1"))
        .build()
        .unwrap();
    assert_eq!(
        refusal(&of_another.into()),
        "the table must be the table of the delivery"
    );
    let of_this = Put::builder()
        .table_name("orders")
        .item("id", text("1"))
        .build()
        .unwrap();
    assert!(orders.check(&of_this.into()).is_ok());
    assert_eq!(
        refusal(&ItemWrite::update(attributes([("name", text("1"))]), "ADD n :n")),
        "`id`: the partition key is missing or empty"
    );
    assert_eq!(refusal(&put().condition(" ")), "the condition is missing or empty");
    assert_eq!(
        refusal(&ItemWrite::update(key(), "")),
        "the update expression is missing or empty"
    );
    assert_eq!(
        refusal(&put().condition("x".repeat(4_097))),
        "the condition has 4097 bytes, the limit is 4096"
    );
    assert_eq!(
        refusal(&counter().value(":n", AttributeValue::N("x".to_owned()))),
        "`:n`: the number must be a decimal number"
    );
    let large = ItemWrite::put(attributes([("id", text("1")), ("n", text(&"x".repeat(409_600)))]));
    assert_eq!(refusal(&large), "the item has 409604 bytes, the limit is 409600");
}

#[test]
fn writes_of_one_key_share_a_lane_whatever_they_do() {
    let orders = table(&Recorder::answering(200, "{}"));
    let lane = orders.lane(&put());
    assert!(lane.is_some());
    for write in [put_if_absent(), assignment(), counter(), deletion()] {
        assert_eq!(orders.lane(&write), lane);
        assert_eq!(orders.partition_key(&write), orders.partition_key(&put()));
    }
}

#[test]
fn only_whole_writes_supersede() {
    let orders = table(&Recorder::answering(200, "{}"));
    let whole = [put(), ItemWrite::delete(key())];
    for newer in &whole {
        assert!(whole.iter().all(|older| orders.supersedes(newer, older)));
        for partial in [put_if_absent(), assignment(), counter(), deletion()] {
            assert!(!orders.supersedes(newer, &partial) && !orders.supersedes(&partial, newer));
        }
    }
}

#[test]
fn a_transaction_takes_twice_the_units() {
    let orders = table(&Recorder::answering(200, "{}"));
    let large = || ItemWrite::put(attributes([("id", text("1")), ("n", text(&"x".repeat(1_500)))]));
    for (write, units) in [
        (put(), 1),
        (large(), 2),
        (large().with_token(), 4),
        (counter(), 2),
        (counter().idempotent(), 1),
        (assignment().value(":n", text(&"x".repeat(1_500))), 2),
        (deletion(), 1),
    ] {
        assert_eq!(orders.units(&write), units, "{write:?}");
    }
}

/// An answer without members is a success, and so an answer that lost its body would be.
#[tokio::test]
async fn an_answer_that_lost_its_body_leaves_a_doubt() {
    for write in [put(), put_if_absent(), assignment(), ItemWrite::delete(key())] {
        let recorder = Recorder::answering(200, "");
        let table = DynamoWrites::from(DynamoTable::new(client(&recorder), "orders").key("id"));
        let answer = table.send(std::slice::from_ref(&write)).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Connection, fault)) if fault.is_ambiguous()),
            "{write:?}: {answer:?}"
        );
    }
}
