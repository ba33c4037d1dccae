//! Transactions over two tables: both are written or none, and what is reported is what was done.

use aws_batch_delivery::targets::dynamo::Transaction;
use aws_batch_delivery::{Cause, Delivery};
use aws_batch_simulator::{KeyType, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use proptest::prelude::*;

use crate::entries::{item, key, number};
use crate::mix::{Mix, any_mix};
use crate::outcomes::{Outcome, outcomes};
use crate::paused::paused;
use crate::races::{applied, contradictions};

const SALES: usize = 40;

/// Pieces in stock, fewer than are to be sold.
const PIECES: i64 = 250;

fn put(id: &str, by: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name("orders")
        .set_item(Some(item(id, by)))
        .condition_expression("attribute_not_exists(id)");
    TransactWriteItem::builder().put(put.build().unwrap()).build()
}

fn take(attribute: &str, pieces: i64) -> TransactWriteItem {
    let update = Update::builder()
        .table_name("stock")
        .set_key(Some(key("lamp")))
        .update_expression(format!("SET {attribute} = {attribute} - :sold"))
        .condition_expression("pieces >= :sold")
        .expression_attribute_values(":sold", number(pieces))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    TransactWriteItem::builder().update(update.build().unwrap()).build()
}

/// The order and what it takes from the stock. Each tenth order is there already.
fn sale(place: usize, writer: &str) -> (String, Transaction) {
    let name = format!("{writer} {place}");
    let id = format!("{writer} {}", place - usize::from(place % 10 == 9));
    (name.clone(), Transaction::new([put(&id, &name), take("pieces", 5)]))
}

async fn with_stock(simulator: &Simulator, mix: &Mix) -> Table {
    let stock = simulator.table("stock", TableOptions::key("id", KeyType::S));
    let mut lamps = key("lamp");
    lamps.insert("pieces".to_owned(), number(PIECES));
    let client = simulator.dynamo_client();
    client
        .put_item()
        .table_name("stock")
        .set_item(Some(lamps))
        .send()
        .await
        .unwrap();
    stock.set_faults(mix.faults());
    stock
}

fn pieces(stock: &Table) -> i64 {
    stock.items()[0]["pieces"]["N"].as_str().unwrap().parse().unwrap()
}

async fn sell(mix: &Mix) -> Result<(), TestCaseError> {
    let (simulator, orders) = mix.table();
    let stock = with_stock(&simulator, mix).await;
    let delivery = Delivery::to_dynamo_transactions(simulator.dynamo_client()).options(mix.options());
    let of = |writer: &'static str| (0..SALES).map(move |place| sale(place, writer)).unzip();
    let (one_names, one): (Vec<String>, Vec<Transaction>) = of("one");
    let (other_names, other): (Vec<String>, Vec<Transaction>) = of("other");
    let (one, other) = futures::join!(outcomes(&delivery, one), outcomes(&delivery, other));
    let applied = applied(&orders);
    for (names, outcomes) in [(&one_names, &one), (&other_names, &other)] {
        let contradictions = contradictions(names, outcomes, &applied);
        prop_assert!(contradictions.is_empty(), "{:?}", contradictions);
        let is_decided = |outcome: &Outcome| matches!(outcome, Outcome::Delivered | Outcome::ConditionFailed);
        prop_assert!(outcomes.iter().all(is_decided), "{:?}", outcomes);
    }
    prop_assert!(applied.values().all(|times| *times == 1), "{:?}", applied);
    // What was taken from the stock is what the orders have, and nothing was sold that was not there.
    prop_assert_eq!(PIECES - pieces(&stock), 5 * i64::try_from(orders.len()).unwrap());
    prop_assert_eq!(pieces(&stock), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_tables_are_written_or_none(mix in any_mix()) {
        paused(sell(&mix))?;
    }
}

/// Clones have one token as long as the service has not decided on the transaction.
#[test]
fn clones_of_a_transaction_are_transactions_of_their_own() {
    for seed in 0..5 {
        let mix = Mix::of_lost_answers(seed);
        paused(async {
            let (simulator, _) = mix.table();
            let stock = with_stock(&simulator, &mix).await;
            let delivery = Delivery::to_dynamo_transactions(simulator.dynamo_client()).options(mix.options());
            let clones = vec![Transaction::new([take("pieces", 5)]); 20];
            outcomes(&delivery, clones).await;
            assert_eq!(pieces(&stock), PIECES - 20 * 5, "seed {seed}");
        });
    }
}

/// Users parse the message of a cancellation to learn which of their items has failed, and why.
#[test]
fn the_action_that_has_failed_is_known_without_reading_messages() {
    paused(async {
        let mix = Mix::without_faults(7);
        let (simulator, orders) = mix.table();
        with_stock(&simulator, &mix).await;
        let delivery = Delivery::to_dynamo_transactions(simulator.dynamo_client());
        let too_many = Transaction::new([put("1", "one"), take("pieces", PIECES + 1)]);
        let report = delivery.deliver([too_many.clone()]).await.unwrap();
        assert_eq!((report.delivered, report.condition_failed), (0, 1));
        let failed = too_many.take_failed_conditions();
        assert_eq!((failed.len(), failed[0].action), (1, 1));
        assert_eq!(failed[0].item.as_ref().unwrap()["pieces"], number(PIECES));

        // The expression of the second action refers to an attribute that the item has not.
        let error = delivery
            .deliver([Transaction::new([put("1", "one"), take("boxes", 1)])])
            .await
            .unwrap_err();
        let undelivered = &error.undelivered()[0];
        assert!(!undelivered.may_have_been_delivered);
        let Cause::Refused(fault) = &undelivered.cause else {
            panic!("{:?}", undelivered.cause);
        };
        assert_eq!(fault.code(), "TransactionCanceledException: action 1: ValidationError");
        assert!(fault.message().is_some() && orders.is_empty());
    });
}
