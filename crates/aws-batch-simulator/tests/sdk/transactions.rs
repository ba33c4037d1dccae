//! Transactions, without expressions.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_simulator::{
    Acknowledgement, Capacity, Faults, IndexOptions, InjectedFault, KeyType, OnDemand, Record, Simulator, Table,
    Throughput, json,
};
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::{TransactWriteItemsError, TransactWriteItemsOutput};
use aws_sdk_dynamodb::types::{Delete, Put, ReturnConsumedCapacity, TransactWriteItem};
use aws_smithy_http_client::Builder;
use tokio::time::{Instant, advance};

use crate::{by_id, string};

const SECOND: Duration = Duration::from_secs(1);

fn put(table: &str, id: &str, text: &str) -> TransactWriteItem {
    let put = Put::builder().table_name(table);
    let put = put.item("id", string(id)).item("text", string(text));
    TransactWriteItem::builder().put(put.build().unwrap()).build()
}

fn delete(table: &str, id: &str) -> TransactWriteItem {
    let delete = Delete::builder().table_name(table).key("id", string(id));
    TransactWriteItem::builder().delete(delete.build().unwrap()).build()
}

/// One call without the SDK's own retries. Without a token the SDK sends one of its own.
async fn transact(
    dynamo: &Dynamo,
    token: Option<&str>,
    actions: Vec<TransactWriteItem>,
) -> Result<TransactWriteItemsOutput, SdkError<TransactWriteItemsError>> {
    let once = aws_sdk_dynamodb::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = dynamo.transact_write_items().set_transact_items(Some(actions));
    let call = call
        .set_client_request_token(token.map(str::to_owned))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    call.customize().config_override(once).send().await
}

/// The codes of the reasons, in their order.
fn codes(error: SdkError<TransactWriteItemsError>) -> Vec<String> {
    match error.into_service_error() {
        TransactWriteItemsError::TransactionCanceledException(error) => {
            let reasons = error.cancellation_reasons().iter();
            let codes: Vec<String> = reasons.map(|reason| reason.code().unwrap().to_owned()).collect();
            let message = error.message().unwrap();
            assert!(message.ends_with(&format!("[{}]", codes.join(", "))), "{message}");
            codes
        }
        other => panic!("{other:?}"),
    }
}

fn two_tables(simulator: &Simulator) -> (Table, Table, Dynamo) {
    let tables = ["orders", "customers"].map(|name| {
        let table = simulator.table(name, by_id());
        table.keep_journal();
        table
    });
    let [orders, customers] = tables;
    (orders, customers, simulator.dynamo_client())
}

fn told(table: &Table) -> Vec<Acknowledgement> {
    table.journal().iter().map(Record::acknowledgement).collect()
}

#[tokio::test(start_paused = true)]
async fn all_actions_are_applied_in_all_tables() {
    let simulator = Simulator::new(1);
    let (orders, customers, dynamo) = two_tables(&simulator);
    transact(&dynamo, None, vec![put("orders", "old", "x")]).await.unwrap();
    let actions = vec![
        put("orders", "1", "x"),
        put("customers", "1", "y"),
        delete("orders", "old"),
    ];
    transact(&dynamo, None, actions).await.unwrap();
    assert_eq!(orders.items(), [json!({"id": {"S": "1"}, "text": {"S": "x"}})]);
    assert_eq!(customers.items(), [json!({"id": {"S": "1"}, "text": {"S": "y"}})]);
    assert_eq!(told(&orders), [Acknowledgement::Accepted; 3]);
    assert_eq!((orders.statistics().calls, customers.statistics().calls), (2, 1));
    assert_eq!((orders.statistics().applied, customers.statistics().applied), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_of_one_action_cancels_all_of_them_and_the_reasons_are_in_their_order() {
    let simulator = Simulator::new(1);
    let (orders, customers, dynamo) = two_tables(&simulator);
    customers.script([InjectedFault::Conflict(1)]);
    let actions = || {
        let orders = (0..5).map(|number| put("orders", &number.to_string(), "x"));
        orders.chain([put("customers", "1", "y"), delete("orders", "gone")])
    };
    let error = transact(&dynamo, Some("a"), actions().collect()).await.unwrap_err();
    assert_eq!(error.code(), Some("TransactionCanceledException"));
    let mut expected = vec!["None"; 7];
    expected[5] = "TransactionConflict";
    assert_eq!(codes(error), expected);
    assert!(orders.is_empty() && customers.is_empty());
    assert_eq!(told(&orders), [Acknowledgement::Rejected; 6]);
    assert_eq!((orders.statistics().canceled_calls, orders.statistics().failed), (1, 6));
    // A token is not used up by a transaction that was canceled.
    transact(&dynamo, Some("a"), actions().collect()).await.unwrap();
    assert_eq!((orders.len(), customers.len()), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fault_may_give_any_reason() {
    let simulator = Simulator::new(1);
    let (orders, _, dynamo) = two_tables(&simulator);
    orders.script([
        InjectedFault::failed(1, "ItemCollectionSizeLimitExceeded", true),
        InjectedFault::Unprocessed(1),
        InjectedFault::error(400, "TransactionInProgressException", false),
        InjectedFault::Throttle,
        InjectedFault::Repeated(1),
    ]);
    let call = || transact(&dynamo, None, vec![put("orders", "1", "x")]);
    assert_eq!(codes(call().await.unwrap_err()), ["ItemCollectionSizeLimitExceeded"]);
    for code in [
        "InternalServerError",
        "TransactionInProgressException",
        "ProvisionedThroughputExceededException",
    ] {
        let error = call().await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error:?}");
        assert!(orders.is_empty());
    }
    call().await.unwrap();
    let rejected = Acknowledgement::Rejected;
    let in_doubt = Acknowledgement::Ambiguous { applied: false };
    assert_eq!(
        told(&orders),
        [rejected, in_doubt, rejected, rejected, Acknowledgement::Accepted]
    );
}

#[tokio::test(start_paused = true)]
async fn conflicts_at_random_are_repeatable() {
    let conflicts = |seed| async move {
        let simulator = Simulator::new(seed);
        let (orders, _, dynamo) = two_tables(&simulator);
        orders.set_faults(Faults::none().calls(0.3, InjectedFault::Conflict(1)));
        let mut reasons = Vec::new();
        for number in 0..30 {
            let ids = [number * 2, number * 2 + 1];
            let actions = ids.map(|id| put("orders", &id.to_string(), "x"));
            reasons.push(transact(&dynamo, None, actions.into()).await.map_err(codes).err());
        }
        assert_eq!(
            orders.len(),
            2 * reasons.iter().filter(|reason| reason.is_none()).count()
        );
        reasons
    };
    let first = conflicts(1).await;
    assert_eq!(first, conflicts(1).await);
    assert_ne!(first, conflicts(2).await);
    for place in [0, 1] {
        let of_place = |codes: &Vec<String>| codes[place] == "TransactionConflict";
        assert!(
            first.iter().flatten().any(of_place),
            "any action may be the one that conflicts"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_consumes_twice_the_units_of_the_tables_and_once_those_of_the_indexes() {
    let simulator = Simulator::new(1);
    let (_, customers, dynamo) = two_tables(&simulator);
    let options = by_id().index("by_text", IndexOptions::key("text", KeyType::S));
    let orders = simulator.table("orders", options);
    let large = "x".repeat(1_500);
    let actions = vec![
        put("orders", "1", &large),
        put("orders", "2", "x"),
        put("customers", "1", "x"),
    ];
    let output = transact(&dynamo, None, actions).await.unwrap();
    let of_table = |name: &str| {
        let mut consumed = output.consumed_capacity().iter();
        consumed.find(|consumed| consumed.table_name() == Some(name)).unwrap()
    };
    let consumed = of_table("orders");
    assert_eq!(consumed.capacity_units(), Some(6.0 + 3.0));
    assert_eq!(consumed.write_capacity_units(), Some(6.0 + 3.0));
    assert_eq!(consumed.table().unwrap().write_capacity_units(), Some(6.0));
    let of_index = &consumed.global_secondary_indexes().unwrap()["by_text"];
    assert_eq!(of_index.write_capacity_units(), Some(3.0));
    assert_eq!(of_table("customers").capacity_units(), Some(2.0));
    assert!((orders.statistics().units - 6.0).abs() < 1e-9);
    assert!((customers.statistics().units - 2.0).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn an_action_without_capacity_cancels_the_transaction() {
    let simulator = Simulator::new(1);
    let (orders, customers, dynamo) = two_tables(&simulator);
    customers.set_capacity(Capacity::per_second(1.0).burst(10.0).starts_full());
    let actions = |ids: &[&str]| {
        let customers = ids.iter().map(|id| put("customers", id, "x"));
        std::iter::once(put("orders", "1", "x"))
            .chain(customers)
            .collect::<Vec<_>>()
    };
    transact(&dynamo, None, actions(&["1", "2"])).await.unwrap();
    // Six units are left, and each action needs two.
    let error = transact(&dynamo, None, actions(&["3", "4", "5", "6"]))
        .await
        .unwrap_err();
    let exceeded = "ProvisionedThroughputExceeded";
    assert_eq!(codes(error), ["None", "None", "None", "None", exceeded]);
    assert_eq!((orders.len(), customers.len()), (1, 2));
    assert_eq!(
        (customers.statistics().throttled, customers.statistics().failed),
        (1, 3)
    );
    // The three that would have fitted have consumed their units.
    let error = transact(&dynamo, None, actions(&["3"])).await.unwrap_err();
    assert_eq!(codes(error), ["None", exceeded]);
    advance(2 * SECOND).await;
    transact(&dynamo, None, actions(&["3"])).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_on_demand_table_cancels_a_transaction_with_its_own_reason() {
    let simulator = Simulator::new(1);
    let on_demand = Throughput::on_demand(OnDemand::default().at_most(10.0));
    simulator.table("orders", by_id().throughput(on_demand));
    let dynamo = simulator.dynamo_client();
    let mut error = None;
    for number in 0..50 {
        let text = "x".repeat(100_000);
        let actions = vec![put("orders", &number.to_string(), &text)];
        error = error.or(transact(&dynamo, None, actions).await.err());
    }
    assert_eq!(codes(error.unwrap()), ["ThrottlingError"]);
}

#[tokio::test(start_paused = true)]
async fn a_token_makes_a_transaction_idempotent_for_ten_minutes() {
    let simulator = Simulator::new(1);
    let (orders, _, dynamo) = two_tables(&simulator);
    let large = "x".repeat(5_000);
    let call = || {
        transact(
            &dynamo,
            Some("token"),
            vec![put("orders", "1", &large), put("orders", "2", "y")],
        )
    };
    let first = call().await.unwrap();
    assert_eq!(first.consumed_capacity()[0].write_capacity_units(), Some(12.0));
    transact(&dynamo, None, vec![delete("orders", "1")]).await.unwrap();
    advance(599 * SECOND).await;
    let again = call().await.unwrap();
    assert_eq!(orders.len(), 1, "it is not written again");
    assert_eq!(again.consumed_capacity()[0].capacity_units(), Some(2.0 * (2.0 + 1.0)));
    assert_eq!(
        again.consumed_capacity()[0].read_capacity_units(),
        Some(6.0),
        "it is read"
    );
    assert_eq!((orders.statistics().entries, orders.statistics().calls), (3, 3));
    advance(SECOND).await;
    call().await.unwrap();
    assert_eq!(orders.len(), 2, "it is a new transaction");
}

#[tokio::test(start_paused = true)]
async fn a_token_with_other_parameters_is_a_mismatch() {
    let simulator = Simulator::new(1);
    let (orders, _, dynamo) = two_tables(&simulator);
    transact(&dynamo, Some("token"), vec![put("orders", "1", "x")])
        .await
        .unwrap();
    let error = transact(&dynamo, Some("token"), vec![put("orders", "1", "y")])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("IdempotentParameterMismatchException"));
    assert_eq!(orders.items(), [json!({"id": {"S": "1"}, "text": {"S": "x"}})]);
    assert_eq!(orders.statistics().refused_calls, 1);
    // Another capacity is no other transaction.
    let call = dynamo.transact_write_items().client_request_token("token");
    call.transact_items(put("orders", "1", "x")).send().await.unwrap();
    advance(600 * SECOND).await;
    transact(&dynamo, Some("token"), vec![put("orders", "1", "y")])
        .await
        .unwrap();
}

// Seen in emulators: of two equal requests one was taken for another, because the members of their items came in another order.
#[tokio::test(start_paused = true)]
async fn the_order_of_attributes_does_not_make_another_transaction() {
    let simulator = Simulator::new(1);
    let (_, _, dynamo) = two_tables(&simulator);
    for _ in 0..50 {
        let attributes = (0..8).map(|number| (format!("attribute {number}"), string("x")));
        let item: HashMap<_, _> = attributes.chain([("id".to_owned(), string("1"))]).collect();
        let put = Put::builder()
            .table_name("orders")
            .set_item(Some(item))
            .build()
            .unwrap();
        let action = TransactWriteItem::builder().put(put).build();
        transact(&dynamo, Some("token"), vec![action]).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_finds_the_transaction_whose_answer_was_lost() {
    for fault in [
        InjectedFault::Dropped { applied: true },
        InjectedFault::internal_error(true),
        InjectedFault::Garbage { applied: true },
    ] {
        let simulator = Simulator::new(1);
        let (orders, customers, dynamo) = two_tables(&simulator);
        customers.script([fault.clone(), fault]);
        let call = || {
            transact(
                &dynamo,
                Some("token"),
                vec![put("orders", "1", "x"), put("customers", "1", "x")],
            )
        };
        call().await.unwrap_err();
        call().await.unwrap_err();
        call().await.unwrap();
        assert_eq!((orders.len(), customers.len()), (1, 1));
        assert_eq!(
            told(&orders),
            [Acknowledgement::Ambiguous { applied: true }],
            "written once"
        );
        assert_eq!((orders.statistics().applied, orders.statistics().failed_calls), (1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_did_not_arrive_is_performed_when_it_is_repeated() {
    let simulator = Simulator::new(1);
    let (orders, customers, dynamo) = two_tables(&simulator);
    orders.script([InjectedFault::Dropped { applied: false }]);
    let call = || {
        transact(
            &dynamo,
            Some("token"),
            vec![put("orders", "1", "x"), put("customers", "1", "x")],
        )
    };
    call().await.unwrap_err();
    assert!(orders.is_empty() && customers.is_empty());
    call().await.unwrap();
    let in_doubt = Acknowledgement::Ambiguous { applied: false };
    assert_eq!(told(&customers), [in_doubt, Acknowledgement::Accepted]);
}

#[tokio::test(start_paused = true)]
async fn the_sdk_repeats_a_transaction_with_its_own_token() {
    let simulator = Simulator::new(1);
    let (orders, _, dynamo) = two_tables(&simulator);
    orders.script([InjectedFault::Dropped { applied: true }]);
    let call = dynamo.transact_write_items().transact_items(put("orders", "1", "x"));
    call.send().await.unwrap();
    assert_eq!((orders.calls(), orders.statistics().applied), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_slow_transaction_is_applied_in_time() {
    let simulator = Simulator::new(1);
    let (orders, _, dynamo) = two_tables(&simulator);
    orders.script([InjectedFault::Slow(2 * SECOND)]);
    let start = Instant::now();
    let call = tokio::spawn(async move { transact(&dynamo, None, vec![put("orders", "1", "x")]).await });
    tokio::time::sleep(SECOND).await;
    assert_eq!(orders.len(), 1);
    call.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_has_its_limits() {
    let simulator = Simulator::new(1);
    let (orders, _, dynamo) = two_tables(&simulator);
    let many = |count: usize| {
        (0..count)
            .map(|id| put("orders", &id.to_string(), "x"))
            .collect::<Vec<_>>()
    };
    let large = |count: usize| {
        let text = "x".repeat(400_000);
        (0..count)
            .map(|id| put("orders", &id.to_string(), &text))
            .collect::<Vec<_>>()
    };
    let long_token = "t".repeat(37);
    for (token, actions, part) in [
        (None, many(0), "greater than or equal to 1"),
        (None, many(101), "less than or equal to 100"),
        (None, large(11), "exceeding the 4MB limit"),
        (Some(long_token.as_str()), many(1), "less than or equal to 36"),
        (
            None,
            vec![TransactWriteItem::builder().build()],
            "should contain Delete or Put or Update",
        ),
        (
            None,
            vec![
                put("orders", "1", "x"),
                put("customers", "1", "x"),
                delete("orders", "1"),
            ],
            "cannot include multiple operations on one item",
        ),
        (None, vec![put("orders", "", "x")], "empty string value"),
    ] {
        let error = transact(&dynamo, token, actions).await.unwrap_err();
        assert_eq!(error.code(), Some("ValidationException"), "{part}");
        assert!(error.message().unwrap().contains(part), "{error:?}");
        assert!(orders.is_empty());
    }
    let error = transact(&dynamo, None, vec![put("nowhere", "1", "x")])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("ResourceNotFoundException"));
    // A key of another shape is the reason of its action alone.
    let delete = Delete::builder()
        .table_name("orders")
        .key("other", string("1"))
        .build()
        .unwrap();
    let delete = TransactWriteItem::builder().delete(delete).build();
    let error = transact(&dynamo, None, vec![put("orders", "1", "x"), delete])
        .await
        .unwrap_err();
    assert_eq!(codes(error), ["None", "ValidationError"]);
    transact(&dynamo, None, many(100)).await.unwrap();
    transact(&dynamo, None, large(10)).await.unwrap();
    assert_eq!(orders.len(), 100);
}

#[tokio::test]
async fn transactions_are_served_over_http() {
    let simulator = Simulator::new(1);
    let (orders, customers, dynamo) = two_tables(&simulator);
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let config = dynamo.config().to_builder().endpoint_url(server.endpoint());
    let dynamo = Dynamo::from_conf(config.http_client(Builder::new().build_http()).build());
    orders.script([InjectedFault::Conflict(1), InjectedFault::Dropped { applied: true }]);
    let call = || {
        transact(
            &dynamo,
            Some("token"),
            vec![put("orders", "1", "x"), put("customers", "1", "x")],
        )
    };
    assert_eq!(codes(call().await.unwrap_err()), ["TransactionConflict", "None"]);
    call().await.unwrap_err();
    call().await.unwrap();
    assert_eq!((orders.len(), customers.len()), (1, 1));
    assert_eq!(orders.statistics().applied, 1);
}

#[tokio::test(start_paused = true)]
async fn no_fault_reports_a_transaction_as_done_that_is_not() {
    for applied in [false, true] {
        let simulator = Simulator::new(1);
        let orders = simulator.table("orders", by_id());
        let dynamo = simulator.dynamo_client();
        let fault = InjectedFault::Empty { applied };
        orders.script([fault.clone(), fault]);
        transact(&dynamo, None, vec![put("orders", "1", "x")]).await.unwrap();
        assert_eq!(orders.len(), 1);
        orders.set_capacity(Capacity::none());
        transact(&dynamo, None, vec![delete("orders", "1")]).await.unwrap_err();
    }
}
