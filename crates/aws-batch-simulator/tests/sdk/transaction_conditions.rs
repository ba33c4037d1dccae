//! Transactions with conditions and updates.

use std::collections::HashMap;

use aws_batch_simulator::{Acknowledgement, Action, InjectedFault, Record, Simulator, Table, json};
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, CancellationReason, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};

use crate::{by_id, string};

const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn action() -> aws_sdk_dynamodb::types::builders::TransactWriteItemBuilder {
    TransactWriteItem::builder()
}

/// Puts an account with this balance.
fn open(id: &str, balance: i64) -> TransactWriteItem {
    let put = Put::builder().table_name("accounts").item("id", string(id));
    let put = put
        .item("balance", number(balance))
        .condition_expression("attribute_not_exists(id)");
    action().put(put.build().unwrap()).build()
}

/// Changes the balance of an account, which does not fall below 0.
fn change(id: &str, by: i64) -> TransactWriteItem {
    let update = Update::builder().table_name("accounts").key("id", string(id));
    let update = update.update_expression("SET balance = balance + :by");
    let update = update.condition_expression("balance >= :least");
    let update = update.expression_attribute_values(":by", number(by));
    let update = update.expression_attribute_values(":least", number((-by).max(0)));
    let update = update.return_values_on_condition_check_failure(ALL_OLD);
    action().update(update.build().unwrap()).build()
}

fn close(id: &str) -> TransactWriteItem {
    let delete = Delete::builder().table_name("accounts").key("id", string(id));
    let delete = delete.condition_expression("balance = :none");
    let delete = delete.expression_attribute_values(":none", number(0));
    action().delete(delete.build().unwrap()).build()
}

fn check(id: &str, condition: &str) -> TransactWriteItem {
    let check = ConditionCheck::builder().table_name("accounts").key("id", string(id));
    let check = check.condition_expression(condition);
    let check = check.return_values_on_condition_check_failure(ALL_OLD);
    action().condition_check(check.build().unwrap()).build()
}

async fn transact(dynamo: &Dynamo, actions: Vec<TransactWriteItem>) -> Result<(), TransactWriteItemsError> {
    let call = dynamo.transact_write_items().set_transact_items(Some(actions)).send();
    call.await.map(|_| ()).map_err(SdkError::into_service_error)
}

fn reasons(error: TransactWriteItemsError) -> Vec<CancellationReason> {
    match error {
        TransactWriteItemsError::TransactionCanceledException(error) => error.cancellation_reasons.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn codes(error: TransactWriteItemsError) -> Vec<String> {
    reasons(error).into_iter().map(|reason| reason.code.unwrap()).collect()
}

/// Accounts 1 and 2, with balances of 100 and 0.
async fn accounts(simulator: &Simulator) -> (Table, Dynamo) {
    let accounts = simulator.table("accounts", by_id());
    let dynamo = simulator.dynamo_client();
    transact(&dynamo, vec![open("1", 100), open("2", 0)]).await.unwrap();
    accounts.keep_journal();
    (accounts, dynamo)
}

fn balance(accounts: &Table, id: &str) -> Option<i64> {
    let item = accounts.item(&json!({"id": {"S": id}}))?;
    Some(item["balance"]["N"].as_str().unwrap().parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_transfer_changes_both_accounts_or_none() {
    let simulator = Simulator::new(1);
    let (accounts, dynamo) = accounts(&simulator).await;
    transact(&dynamo, vec![change("1", -60), change("2", 60)])
        .await
        .unwrap();
    assert_eq!((balance(&accounts, "1"), balance(&accounts, "2")), (Some(40), Some(60)));
    // The update of the second one is valid, and first in the order of the request.
    let error = transact(&dynamo, vec![change("2", 60), change("1", -60)])
        .await
        .unwrap_err();
    assert_eq!(codes(error), ["None", "ConditionalCheckFailed"]);
    assert_eq!((balance(&accounts, "1"), balance(&accounts, "2")), (Some(40), Some(60)));
    let told: Vec<Acknowledgement> = accounts.journal().iter().map(Record::acknowledgement).collect();
    let accepted = Acknowledgement::Accepted;
    assert_eq!(
        told,
        [
            accepted,
            accepted,
            Acknowledgement::Rejected,
            Acknowledgement::ConditionFailed
        ]
    );
    let statistics = accounts.statistics();
    assert_eq!(
        (
            statistics.conditions_failed,
            statistics.failed,
            statistics.canceled_calls
        ),
        (1, 1, 1)
    );
    assert!(
        (statistics.units - 12.0).abs() < 1e-9,
        "a canceled transaction consumes as well"
    );
}

// Seen in emulators: the item of a check that failed was missing among the reasons.
#[tokio::test(start_paused = true)]
async fn a_check_that_fails_returns_its_item_in_the_order_of_the_actions() {
    let simulator = Simulator::new(1);
    let (accounts, dynamo) = accounts(&simulator).await;
    transact(&dynamo, vec![open("4", 5)]).await.unwrap();
    let actions = vec![
        open("3", 5),
        check("1", "attribute_not_exists(id)"),
        check("2", "attribute_exists(id)"),
        check("9", "attribute_exists(id)"),
        close("4"),
    ];
    let reasons = reasons(transact(&dynamo, actions).await.unwrap_err());
    let codes: Vec<&str> = reasons.iter().map(|reason| reason.code().unwrap()).collect();
    let failed = "ConditionalCheckFailed";
    assert_eq!(codes, ["None", failed, "None", failed, failed]);
    let one = HashMap::from([("id".to_owned(), string("1")), ("balance".to_owned(), number(100))]);
    let items: Vec<_> = reasons.iter().map(CancellationReason::item).collect();
    // There is no account 9, and the delete does not ask for its item.
    assert_eq!(items, [None, Some(&one), None, None, None]);
    assert_eq!(reasons[0].message(), None);
    assert_eq!(reasons[1].message(), Some("The conditional request failed"));
    assert_eq!(accounts.len(), 3);
    let actions: Vec<Action> = accounts.journal()[1..].iter().map(|record| record.action).collect();
    assert_eq!(
        actions,
        [Action::Put, Action::Check, Action::Check, Action::Check, Action::Delete]
    );
}

#[tokio::test(start_paused = true)]
async fn a_check_that_holds_writes_nothing_and_consumes_two_units() {
    let simulator = Simulator::new(1);
    let (accounts, dynamo) = accounts(&simulator).await;
    let before = accounts.statistics().units;
    transact(
        &dynamo,
        vec![check("1", "balance > id OR attribute_exists(id)"), close("2")],
    )
    .await
    .unwrap();
    assert_eq!(balance(&accounts, "1"), Some(100));
    assert_eq!(accounts.len(), 1);
    assert!((accounts.statistics().units - before - 4.0).abs() < 1e-9);
}

// Seen in emulators: an update on the condition that the item exists created an item with nothing but its key.
#[tokio::test(start_paused = true)]
async fn an_update_whose_condition_is_false_creates_no_item() {
    let simulator = Simulator::new(1);
    let (accounts, dynamo) = accounts(&simulator).await;
    let error = transact(&dynamo, vec![change("9", 1)]).await.unwrap_err();
    let reasons = reasons(error);
    assert_eq!(
        (reasons[0].code(), reasons[0].item()),
        (Some("ConditionalCheckFailed"), None)
    );
    assert_eq!(accounts.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_update_that_does_not_fit_its_item_is_a_reason_and_a_wrong_expression_is_an_error() {
    let simulator = Simulator::new(1);
    let (accounts, dynamo) = accounts(&simulator).await;
    let update = |expression: &str| {
        let update = Update::builder().table_name("accounts").key("id", string("1"));
        let update = update.update_expression(expression);
        let update = update.expression_attribute_values(":one", number(1));
        action().update(update.build().unwrap()).build()
    };
    for (expression, part) in [
        (
            "SET a = b + :one",
            "refers to an attribute that does not exist in the item",
        ),
        (
            "SET id = :one",
            "Cannot update attribute id. This attribute is part of the key",
        ),
        (
            "SET a = id + :one",
            "An operand in the update expression has an incorrect data type",
        ),
    ] {
        let error = transact(&dynamo, vec![open("3", 0), update(expression)])
            .await
            .unwrap_err();
        let reasons = reasons(error);
        assert_eq!(
            (reasons[0].code(), reasons[1].code()),
            (Some("None"), Some("ValidationError")),
            "{expression}"
        );
        assert!(reasons[1].message().unwrap().contains(part), "{reasons:?}");
    }
    let error = transact(&dynamo, vec![open("3", 0), update("SET a = ")])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("ValidationException"));
    assert!(
        error
            .message()
            .unwrap()
            .contains("Invalid UpdateExpression: Syntax error"),
        "{error:?}"
    );
    assert_eq!((accounts.len(), balance(&accounts, "1")), (2, Some(100)));
    assert_eq!(accounts.statistics().refused_calls, 1);
}

// Seen in emulators: a token was ignored, so an update was applied with each call.
#[tokio::test(start_paused = true)]
async fn an_update_with_a_token_is_applied_once_whatever_answers_are_lost() {
    let simulator = Simulator::new(1);
    let (accounts, dynamo) = accounts(&simulator).await;
    accounts.script([
        InjectedFault::Dropped { applied: true },
        InjectedFault::internal_error(true),
        InjectedFault::None,
        InjectedFault::None,
    ]);
    // The SDK repeats the call twice, with the same token.
    for _ in 0..2 {
        let call = dynamo.transact_write_items().client_request_token("token");
        let actions = vec![change("1", -10), change("2", 10)];
        call.set_transact_items(Some(actions)).send().await.unwrap();
    }
    assert_eq!((balance(&accounts, "1"), balance(&accounts, "2")), (Some(90), Some(10)));
    assert_eq!(accounts.calls(), 1 + 4);
}

// Seen in emulators: two actions on the same item were accepted.
#[tokio::test(start_paused = true)]
async fn a_check_and_a_write_of_one_item_are_refused() {
    let simulator = Simulator::new(1);
    let (accounts, dynamo) = accounts(&simulator).await;
    let actions = vec![check("1", "attribute_exists(id)"), change("1", 1)];
    let error = transact(&dynamo, actions).await.unwrap_err();
    assert_eq!(error.code(), Some("ValidationException"));
    assert!(
        error.message().unwrap().contains("multiple operations on one item"),
        "{error:?}"
    );
    assert_eq!(balance(&accounts, "1"), Some(100));
}

#[tokio::test(start_paused = true)]
async fn money_is_neither_made_nor_lost_by_concurrent_transfers_with_faults() {
    let simulator = Simulator::new(7);
    let (accounts, dynamo) = accounts(&simulator).await;
    let faults = aws_batch_simulator::Faults::none()
        .calls(0.1, InjectedFault::Conflict(1))
        .calls(0.1, InjectedFault::Dropped { applied: true })
        .calls(0.1, InjectedFault::Dropped { applied: false })
        .calls(0.1, InjectedFault::Unprocessed(1));
    accounts.set_faults(faults);
    let transfers = (0..200).map(|number| {
        let dynamo = dynamo.clone();
        let (from, to) = if number % 2 == 0 { ("1", "2") } else { ("2", "1") };
        tokio::spawn(async move { transact(&dynamo, vec![change(from, -7), change(to, 7)]).await.is_ok() })
    });
    let mut succeeded = 0;
    for transfer in transfers.collect::<Vec<_>>() {
        succeeded += usize::from(transfer.await.unwrap());
    }
    let balances = ["1", "2"].map(|id| balance(&accounts, id).unwrap());
    assert_eq!(balances.iter().sum::<i64>(), 100, "{balances:?}");
    assert!(balances.iter().all(|balance| *balance >= 0), "{balances:?}");
    assert!(succeeded > 50, "{succeeded}");
}
