//! Transactions over any tables, and the call that makes one.

use std::borrow::Cow;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TransactWriteItem;

use super::attempts::{Attempts, Reply};
use super::calls::DynamoCalls;
use super::transaction::{MAX_TRANSACTION_BYTES, Transaction};
use crate::aws::of_named_resources;
use crate::contract::{Answer, BatchTarget, Fault, Identity, Lane, Limits, Verdict};
use crate::invalid::InvalidEntry;
use crate::services::debug::debug_by_name;

/// Transactions of DynamoDB, each of which is one call of `TransactWriteItems`.
///
/// Each has a token, so that it is applied once however often it is sent. If the first lost answer lies 10 minutes back, less a
/// margin, DynamoDB may have forgotten the token: the transaction is handed back
/// [in doubt](crate::Undelivered::may_have_been_delivered), and not sent.
///
/// | reason of a cancellation, for any action | outcome |
/// |---|---|
/// | a condition does not hold | [`ConditionFailed`](crate::Disposition::ConditionFailed); [`Transaction::take_failed_conditions`] has the actions |
/// | validation, size of an item collection, permission | handed back as [refused](crate::Cause::Refused), with the number of the action |
/// | a conflict with another write, a throttle | sent again |
///
/// A transaction that names a table that does not exist is handed back as [refused](crate::Cause::Refused), with the code
/// `ResourceNotFoundException`; the others are written.
///
/// Transactions keep no order among each other. Two that write to the same item at the same time conflict; with
/// [`concurrency(1)`](crate::DeliveryOptions::concurrency) none of a delivery does.
///
/// Retries, credentials and timeouts are as with [`DynamoTable`](super::DynamoTable).
#[derive(Clone)]
pub struct DynamoTransactions {
    calls: DynamoCalls,
}

impl DynamoTransactions {
    /// Transactions over the tables of this client's account and region.
    pub fn new(client: Client) -> Self {
        Self {
            calls: DynamoCalls::new(client),
        }
    }
}

impl BatchTarget for DynamoTransactions {
    type Entry = Transaction;

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("dynamodb/transactions")
    }

    fn limits(&self) -> Limits {
        Limits::new(1, MAX_TRANSACTION_BYTES)
    }

    fn check(&self, transaction: &Transaction) -> Result<usize, InvalidEntry> {
        transaction.check()
    }

    fn identify(&self, transaction: &mut Transaction, identity: &Identity) {
        transaction.attempts = Arc::new(Attempts::of(identity));
    }

    /// Clones have one token, so each is sent after the one before it was decided: then it is another transaction.
    fn lane(&self, transaction: &Transaction) -> Option<Lane> {
        Some(Lane::exclusive(&Arc::as_ptr(&transaction.attempts).addr()))
    }

    fn units(&self, transaction: &Transaction) -> usize {
        transaction.units()
    }

    async fn send(&self, chunk: &[Transaction]) -> Answer {
        self.send_metered(chunk).await.0
    }

    async fn send_metered(&self, chunk: &[Transaction]) -> (Answer, Option<f64>) {
        match chunk {
            [transaction] => {
                let actions = transaction.actions().to_vec();
                let (answer, units) = transact(&self.calls, &transaction.attempts, actions).await;
                (of_named_resources(answer), units)
            }
            _ => (
                Answer::Whole(Verdict::Refused(Fault::new("more than one transaction"))),
                None,
            ),
        }
    }
}

/// Makes all of the actions or none, once for all attempts. Returns what the answer means, and the consumed units.
///
/// A condition that fails after a lost answer has failed: if the lost attempt had been applied, its token would be recognized, and the
/// answer would be that of the attempt.
pub(super) async fn transact(
    calls: &DynamoCalls,
    attempts: &Attempts,
    actions: Vec<TransactWriteItem>,
) -> (Answer, Option<f64>) {
    let Some(token) = attempts.token() else {
        return (token_expired(), None);
    };
    let attempt = attempts.begin();
    let (answer, units) = match calls.transact(actions, &token, attempts.is_spooled()).await {
        Reply::Applied(units) => (Answer::Whole(Verdict::Accepted), units),
        Reply::ConditionFailed(failed) => {
            attempts.failed(failed);
            (Answer::Whole(Verdict::ConditionFailed), None)
        }
        Reply::Failed(answer) => (answer, None),
    };
    attempts.end(attempt, &answer);
    (answer, units)
}

/// The entry is handed back, because its token may no longer be recognized.
fn token_expired() -> Answer {
    let fault = Fault::new("request token expired")
        .explained("an attempt whose answer was lost lies so far back that the next one might be applied as well")
        .ambiguous();
    // The verdict on the entry, not a refusal of a call.
    Answer::Each(vec![Verdict::Refused(fault)])
}

debug_by_name!(DynamoTransactions);

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::{Put, TransactWriteItem};

    use super::super::testing::{client, text};
    use super::*;
    use crate::aws::recording::Recorder;

    fn transaction() -> Transaction {
        let put = |table: &str| Put::builder().table_name(table).item("id", text("1")).build().unwrap();
        Transaction::new(["orders", "stock"].map(|table| TransactWriteItem::builder().put(put(table)).build()))
    }

    async fn sent(transaction: &Transaction, answers: &[(u16, &'static str)]) -> (Answer, Vec<serde_json::Value>) {
        let recorder = Recorder::answering_in_turn(answers);
        let target = DynamoTransactions::new(client(&recorder));
        let mut answer = None;
        for _ in answers {
            answer = Some(target.send(std::slice::from_ref(transaction)).await);
        }
        let requests = recorder.all_requests();
        let requests = requests
            .iter()
            .map(|request| serde_json::from_str(&request.body).unwrap());
        (answer.unwrap(), requests.collect())
    }

    const CANCELLED: (u16, &str) = (
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]",
            "CancellationReasons":[{"Code":"None"},
                {"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":{"id":{"S":"1"}}}]}"#,
    );

    #[tokio::test]
    async fn a_transaction_is_one_call_with_one_token_for_all_attempts() {
        const LOST: (u16, &str) = (503, "");
        let transaction = transaction();
        let (answer, requests) = sent(&transaction, &[LOST, LOST, (200, "{}")]).await;
        assert!(matches!(answer, Answer::Whole(Verdict::Accepted)), "{answer:?}");
        assert_eq!(requests[0]["TransactItems"].as_array().unwrap().len(), 2);
        assert!(requests[0]["ClientRequestToken"].is_string());
        assert!(requests.iter().all(|request| *request == requests[0]));
    }

    /// An answer without members is a success, and so an answer that lost its body would be.
    #[tokio::test]
    async fn an_empty_body_leaves_a_doubt() {
        let (answer, _) = sent(&transaction(), &[(200, "")]).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(_, fault)) if fault.is_ambiguous()),
            "{answer:?}"
        );
    }

    #[tokio::test]
    async fn an_action_whose_condition_fails_is_named() {
        let transaction = transaction();
        let (answer, _) = sent(&transaction, &[CANCELLED]).await;
        assert!(matches!(answer, Answer::Whole(Verdict::ConditionFailed)), "{answer:?}");
        let failed = transaction.clone().take_failed_conditions();
        assert_eq!((failed.len(), failed[0].action), (1, 1));
        assert_eq!(failed[0].item.as_ref().unwrap()["id"], text("1"));
        assert!(!format!("{failed:?}").contains("id"));
        assert!(transaction.take_failed_conditions().is_empty());
    }

    /// A proxy may answer with any status; only one of a refusal says that nothing was applied.
    #[tokio::test]
    async fn a_cancellation_with_another_status_leaves_a_doubt() {
        let (answer, _) = sent(&transaction(), &[(500, CANCELLED.1)]).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(_, fault)) if fault.is_ambiguous()),
            "{answer:?}"
        );
    }
}
