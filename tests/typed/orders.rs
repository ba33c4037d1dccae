//! Items and keys of a table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_batch_delivery::{Delivery, DeliveryError};
use aws_batch_simulator::{InjectedFault, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;
use serde::{Deserialize, Serialize, Serializer};

use crate::support::cases::cases;
use crate::support::paused::paused;
use crate::typed::shop;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Order {
    id: String,
    cents: i64,
    weight: f64,
    note: Option<String>,
    #[serde(
        default,
        with = "serde_dynamo::string_set",
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    tags: BTreeSet<String>,
    #[serde(
        default,
        with = "serde_dynamo::number_set",
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    lots: BTreeSet<u32>,
    lines: Vec<Line>,
    labels: BTreeMap<String, bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Line {
    Gift,
    Article { number: u64, count: u8 },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct OrderKey {
    id: String,
}

async fn read_back(simulator: &Simulator) -> Vec<Order> {
    let scan = simulator.dynamo_client().scan().table_name("orders");
    let items = scan.into_paginator().items().send().try_collect().await.unwrap();
    let mut orders: Vec<Order> = serde_dynamo::from_items(items).unwrap();
    orders.sort_by(|one, other| one.id.cmp(&other.id));
    orders
}

fn any_line() -> impl Strategy<Value = Line> {
    prop_oneof![
        Just(Line::Gift),
        (any::<u64>(), any::<u8>()).prop_map(|(number, count)| Line::Article { number, count }),
    ]
}

prop_compose! {
    fn any_order(number: usize)(
        cents: i64,
        weight in -1e100..1e100,
        note in proptest::option::of("[a-z]{0,3}"),
        tags in proptest::collection::btree_set("[a-z]{1,3}", 0..3),
        lots in proptest::collection::btree_set(any::<u32>(), 0..3),
        lines in proptest::collection::vec(any_line(), 0..3),
        labels in proptest::collection::btree_map("[a-z]{1,3}", any::<bool>(), 0..3),
    ) -> Order {
        Order { id: format!("order-{number:04}"), cents, weight, note, tags, lots, lines, labels }
    }
}

fn any_orders() -> impl Strategy<Value = Vec<Order>> {
    (0..120_usize).prop_flat_map(|count| (0..count).map(any_order).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    #[test]
    fn every_value_is_read_back_as_it_was_or_handed_back_as_it_was(orders in any_orders(), unprocessed in 0..8_usize) {
        let (stored, handed_back) = paused(async {
            let (simulator, table, delivery) = shop();
            table.script([InjectedFault::Unprocessed(unprocessed), InjectedFault::Throttle]);
            let ended = delivery.put_items().deliver(orders.clone()).await;
            let handed_back = ended.map_or_else(DeliveryError::into_undelivered, |_| Vec::new());
            (read_back(&simulator).await, handed_back)
        });
        for undelivered in &handed_back {
            prop_assert_eq!(&*undelivered.entry, &orders[usize::try_from(undelivered.position).unwrap()]);
        }
        let mut all = stored;
        all.extend(handed_back.into_iter().map(|undelivered| *undelivered.entry));
        all.sort_by(|one, other| one.id.cmp(&other.id));
        prop_assert_eq!(all, orders);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_documentation_says_of_values_holds() {
    #[derive(Serialize)]
    struct Kinds {
        id: &'static str,
        empty: &'static str,
        list: [u8; 2],
        nothing: Option<u8>,
        unit: (),
        float: f64,
        plain: Line,
        #[serde(serialize_with = "as_bytes")]
        bytes: &'static [u8],
    }
    fn as_bytes<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }
    let (simulator, _, delivery) = shop();
    let kinds = Kinds {
        id: "a",
        empty: "",
        list: [1, 2],
        nothing: None,
        unit: (),
        float: 0.1,
        plain: Line::Gift,
        bytes: b"ab",
    };
    delivery.put_items().deliver([kinds]).await.unwrap();
    let got = simulator.dynamo_client().get_item().table_name("orders");
    let got = got.key("id", AttributeValue::S("a".into())).send().await.unwrap();
    let number = |number: &str| AttributeValue::N(number.into());
    let expected = HashMap::from([
        ("id".to_owned(), AttributeValue::S("a".into())),
        ("empty".to_owned(), AttributeValue::S(String::new())),
        ("list".to_owned(), AttributeValue::L(vec![number("1"), number("2")])),
        ("nothing".to_owned(), AttributeValue::Null(true)),
        ("unit".to_owned(), AttributeValue::Null(true)),
        ("float".to_owned(), number("0.1")),
        ("plain".to_owned(), AttributeValue::S("Gift".into())),
        ("bytes".to_owned(), AttributeValue::B(b"ab".to_vec().into())),
    ]);
    assert_eq!(got.item, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn values_that_dynamodb_would_refuse_are_handed_back_unsent() {
    #[derive(Debug, Serialize)]
    struct Odd {
        id: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        float: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        large: Option<u128>,
        #[serde(with = "serde_dynamo::string_set", skip_serializing_if = "Vec::is_empty")]
        set: Vec<&'static str>,
    }
    let odd = |id| Odd {
        id,
        float: None,
        large: None,
        set: Vec::new(),
    };
    let (_, table, delivery) = shop();
    let not_a_number = Odd {
        float: Some(f64::NAN),
        ..odd("a")
    };
    let too_large = Odd {
        large: Some(u128::MAX),
        ..odd("b")
    };
    let repeated = Odd {
        set: vec!["x", "x"],
        ..odd("c")
    };
    let error = delivery
        .put_items()
        .deliver([not_a_number, too_large, repeated, odd(""), odd("d")])
        .await
        .unwrap_err();
    let causes: Vec<String> = error.undelivered().iter().map(|one| one.cause.to_string()).collect();
    assert_eq!(
        (error.report.delivered, causes.len(), table.len()),
        (1, 4, 1),
        "{causes:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn keys_are_deleted_and_come_back_as_keys() {
    let (_, table, delivery) = shop();
    let key = |number: u32| OrderKey { id: number.to_string() };
    delivery.clone().put_items().deliver((0..50).map(key)).await.unwrap();
    table.script([InjectedFault::Throttle]);
    let error = delivery.delete_keys().deliver((0..40).map(key)).await.unwrap_err();
    let kept = error.undelivered().iter().map(|one| (*one.entry).clone());
    assert!(kept.eq((0..25).map(key)), "{error}");
    assert_eq!(table.len(), 35);
}

#[tokio::test(start_paused = true)]
async fn items_go_to_the_tables_that_their_values_name() {
    let simulator = Simulator::new(7);
    let tables = ["gifts", "articles"].map(|name| simulator.table(name, TableOptions::key("id", KeyType::S)));
    let shop = Delivery::to_dynamo_tables(simulator.dynamo_client(), ["gifts", "articles"]);
    let shop = shop.put_items_to(|key: &OrderKey| if key.id.starts_with('g') { "gifts" } else { "articles" });
    let keys = (0..60).map(|number| OrderKey {
        id: if number % 3 == 0 {
            format!("g{number}")
        } else {
            format!("a{number}")
        },
    });
    assert_eq!(shop.deliver(keys).await.unwrap().delivered, 60);
    assert_eq!(tables.map(|table| table.len()), [20, 40]);
}
