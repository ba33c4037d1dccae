//! What is delivered from disk is what was handed over.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::{self, Debug, Display};

use aws_batch_delivery::spool::{Spool, SpoolError, SpoolOptions};
use aws_batch_delivery::{Delivery, exact_number};
use aws_batch_simulator::{KeyType, Simulator, TableOptions};
use proptest::prelude::*;
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tempfile::{TempDir, tempdir};

use crate::paused::paused;

/// A number of any digits, which is read as `rust_decimal` and `bigdecimal` read theirs: from whatever stands there.
#[derive(Debug, Clone, PartialEq)]
struct Decimal(String);

impl Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Decimal;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Decimal, E> {
                Ok(Decimal(number.to_string()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Decimal, E> {
                Ok(Decimal(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Decimal, E> {
                Ok(Decimal(number.to_string()))
            }

            fn visit_str<E>(self, digits: &str) -> Result<Decimal, E> {
                Ok(Decimal(digits.to_owned()))
            }
        }
        deserializer.deserialize_any(Digits)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Exact<N: Display>(#[serde(serialize_with = "exact_number", bound(deserialize = "N: Deserialize<'de>"))] N);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Tagged {
    Nothing,
    One(f64),
    Two(u64, String),
    Named { wei: Exact<u128>, rate: f32 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Inside {
    Number { value: f64 },
    Price { price: Exact<Decimal> },
    Text { text: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Text(String),
    List(Vec<i64>),
}

/// All types that the guide names, in each place in which they may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Everything {
    id: u64,
    float: f64,
    small: f32,
    signed: i64,
    wei: Exact<u128>,
    debt: Exact<i128>,
    tagged: Vec<Tagged>,
    inside: Option<Inside>,
    untagged: BTreeMap<String, Untagged>,
    #[serde(flatten)]
    flat: Flat,
    by_number: HashMap<String, HashMap<String, f64>>,
    set: HashSet<i64>,
    #[serde(with = "serde_dynamo::string_set")]
    texts: BTreeSet<String>,
    letter: char,
    nothing: (),
    pair: (u8, f64),
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Flat {
    flat_float: f64,
    flat_text: String,
}

/// A price, whose digits are more than those of any `f64`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Priced {
    id: u64,
    price: Exact<Decimal>,
    others: Vec<Exact<Decimal>>,
}

fn float() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("a number", |float| {
        float.is_finite() && float.abs() < 1e120 && (*float == 0.0 || float.abs() > 1e-120)
    })
}

fn text() -> impl Strategy<Value = String> {
    "[a-z\\\\\"{}:,0-9äß ]{1,12}"
}

fn tagged() -> impl Strategy<Value = Tagged> {
    prop_oneof![
        Just(Tagged::Nothing),
        float().prop_map(Tagged::One),
        (any::<u64>(), text()).prop_map(|(number, text)| Tagged::Two(number, text)),
        (0..10_u128.pow(38), -1e6_f32..1e6).prop_map(|(wei, rate)| Tagged::Named { wei: Exact(wei), rate }),
    ]
}

fn digits() -> impl Strategy<Value = Decimal> {
    prop_oneof![
        "-?[1-9][0-9]{0,17}\\.[0-9]{0,10}[1-9]",
        "-?[1-9][0-9]{0,5}\\.[0-9]{1,2}",
        "[1-9][0-9]{0,25}",
        "[1-9][0-9]{0,3}\\.0{1,3}",
    ]
    .prop_map(Decimal)
}

fn inside() -> impl Strategy<Value = Inside> {
    prop_oneof![
        float().prop_map(|value| Inside::Number { value }),
        (1_i64..).prop_map(|price| Inside::Price {
            price: Exact(Decimal(price.to_string()))
        }),
        text().prop_map(|text| Inside::Text { text }),
    ]
}

fn untagged() -> impl Strategy<Value = Untagged> {
    prop_oneof![
        float().prop_map(Untagged::Number),
        text().prop_map(Untagged::Text),
        proptest::collection::vec(any::<i64>(), 0..4).prop_map(Untagged::List),
    ]
}

prop_compose! {
    fn everything()(
        (float, small, signed, wei, debt) in (float(), -1e9_f32..1e9, any::<i64>(), 0..10_u128.pow(38), -10_i128.pow(37)..10_i128.pow(37)),
        tagged in proptest::collection::vec(tagged(), 0..4),
        inside in proptest::option::of(inside()),
        untagged in proptest::collection::btree_map(text(), untagged(), 0..4),
        (flat_float, flat_text) in (self::float(), text()),
        by_number in proptest::collection::hash_map(text(), proptest::collection::hash_map(text(), self::float(), 0..5), 0..5),
        set in proptest::collection::hash_set(any::<i64>(), 0..5),
        texts in proptest::collection::btree_set(text(), 1..4),
        (letter, second) in (any::<char>(), self::float()),
        left_out in proptest::option::of(self::float()),
    ) -> Everything {
        Everything {
            id: 0, float, small, signed, wei: Exact(wei), debt: Exact(debt), tagged, inside, untagged,
            flat: Flat { flat_float, flat_text }, by_number, set, texts, letter, nothing: (), pair: (7, second), left_out,
        }
    }
}

/// Delivers the values directly, and by way of a spool, and compares what is in the tables.
async fn are_the_same<V: Serialize + DeserializeOwned + Clone + Debug + Send + Sync + 'static>(values: Vec<V>) {
    let simulator = Simulator::new(1);
    let [direct, spooled] =
        ["direct", "spooled"].map(|name| simulator.table(name, TableOptions::key("id", KeyType::N)));
    let to = |name| Delivery::to_dynamo(simulator.dynamo_client(), name).put_items::<V>();
    to("direct").deliver(values.clone()).await.unwrap();
    let folder = tempdir().unwrap();
    let spool = to("spooled").spooled(SpoolOptions::at(folder.path())).await.unwrap();
    for value in &values {
        spool
            .enqueue(value)
            .await
            .unwrap_or_else(|error| panic!("{error}: {value:?}"));
    }
    spool.flush().await.unwrap();
    assert_eq!(spool.close().await.unwrap().refused, 0);
    let items = |table: &aws_batch_simulator::Table| {
        let mut items = table.items();
        items.iter_mut().for_each(sort_sets);
        items.sort_by_key(|item| item["id"]["N"].as_str().unwrap().parse::<u64>().unwrap());
        items
    };
    assert_eq!(items(&spooled), items(&direct));
}

/// A set has no order.
fn sort_sets(value: &mut aws_batch_simulator::Value) {
    for name in ["set", "texts"] {
        for kind in ["L", "SS"] {
            if let Some(list) = value[name].get_mut(kind).and_then(|list| list.as_array_mut()) {
                list.sort_by_key(ToString::to_string);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_is_delivered_from_disk_as_it_would_be_directly(
        mut values in proptest::collection::vec(everything(), 1..30),
        prices in proptest::collection::vec((digits(), proptest::collection::vec(digits(), 0..4)), 1..30),
    ) {
        for (id, value) in values.iter_mut().enumerate() {
            value.id = id as u64;
        }
        let prices = prices.into_iter().enumerate().map(|(id, (price, others))| Priced {
            id: id as u64,
            price: Exact(price),
            others: others.into_iter().map(Exact).collect(),
        });
        let prices = prices.collect();
        paused(async {
            are_the_same(values).await;
            are_the_same(prices).await;
        });
    }
}

/// From a public report on `serde_json`, whose numbers lose their last digit in one of nine.
#[tokio::test(start_paused = true)]
async fn a_float_keeps_its_last_digit() {
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Measured {
        id: u64,
        value: f64,
    }
    let values = (0..5_000_u32).map(|id| Measured {
        id: u64::from(id),
        value: 117.633_313_94 + f64::from(id) / 7.0,
    });
    let known = [117.633_313_940_000_17, 1.577_777_777_777_000_1];
    let known = (5_000..).zip(known).map(|(id, value)| Measured { id, value });
    are_the_same(values.chain(known).collect()).await;
}

async fn numbers<V: Serialize + DeserializeOwned + Send + Sync + 'static>() -> (TempDir, Spool<V>) {
    let folder = tempdir().unwrap();
    let simulator = Simulator::new(1);
    simulator.table("table", TableOptions::key("id", KeyType::N));
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "table").put_items::<V>();
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    (folder, spool)
}

/// What `enqueue` says of a value, of which nothing is in the folder then.
async fn refusal<V: Serialize + DeserializeOwned + Send + Sync + 'static>(value: V) -> String {
    let (_folder, spool) = numbers().await;
    let error = spool.enqueue(&value).await.unwrap_err();
    assert!(matches!(error, SpoolError::Unreadable { .. }), "{error}");
    assert_eq!(spool.figures().await.unwrap().entries, 0);
    error.to_string()
}

#[tokio::test(start_paused = true)]
async fn what_would_be_read_as_something_else_is_not_acknowledged() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Nested(Vec<Nested>);

    #[derive(Serialize, Deserialize)]
    struct WriteOnly {
        #[serde(skip_deserializing)]
        secret: String,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Large {
        Exact(Exact<u128>),
    }

    let mut nested = Nested(Vec::new());
    for _ in 0..200 {
        nested = Nested(vec![nested]);
    }
    refusal(nested).await;
    refusal(f64::NAN).await;
    refusal(vec![f64::INFINITY]).await;
    // Each is `null` in JSON, as no value is.
    refusal(Some(f64::NAN)).await;
    refusal(vec![(1, Some(f32::NEG_INFINITY))]).await;
    refusal(Some(None::<u8>)).await;
    refusal(Some(())).await;
    refusal(Large::Exact(Exact(u128::MAX))).await;
    let words = refusal(WriteOnly {
        secret: "hidden".to_owned(),
    })
    .await;
    assert!(words.contains("WriteOnly") && !words.contains("hidden"), "{words}");
}

#[expect(
    clippy::option_option,
    reason = "an attribute that is left as it is, one that is removed, and one that is set"
)]
#[tokio::test(start_paused = true)]
async fn a_null_that_is_read_as_what_it_was_is_acknowledged() {
    #[derive(Serialize, Deserialize)]
    struct Change {
        #[serde(deserialize_with = "given")]
        price: Option<Option<u32>>,
        #[serde(deserialize_with = "or_not_a_number")]
        weight: f64,
    }

    fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
        Option::deserialize(deserializer).map(Some)
    }

    fn or_not_a_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }

    let (_folder, spool) = numbers().await;
    for price in [Some(None), Some(Some(3))] {
        for weight in [1.5, f64::NAN] {
            spool.enqueue(&Change { price, weight }).await.unwrap();
        }
    }
    let change = Change {
        price: None,
        weight: 1.5,
    };
    assert!(matches!(
        spool.enqueue(&change).await,
        Err(SpoolError::Unreadable { .. })
    ));
}
