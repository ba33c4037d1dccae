//! Values, keys and writes at the limits. Those that may be refused have at most one mistake.

use dynoxide::types::number_size;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::super::number::Number;
use super::super::value::size_of_item;

/// A table that has a binary key, besides the others.
const BLOBS: &str = "blobs";

/// A text in the form of a number, at the limits of digits and magnitude, and some that are none.
pub(super) fn number() -> impl Strategy<Value = String> {
    let digits = prop_oneof![
        3 => "[0-9]{1,4}",
        1 => "0{0,3}[1-9][0-9]{34,37}0{0,3}",
        1 => "9{37,39}",
        1 => "0{1,3}",
    ];
    let exponent = prop_oneof![
        2 => Just(String::new()),
        2 => (-4..4_i32).prop_map(|exponent| format!("e{exponent}")),
        2 => prop_oneof![-170..-90_i32, 85..130_i32].prop_map(|exponent| format!("E{exponent:+}")),
        1 => select(vec!["e2147483647", "e2147483648", "e-2147483649", "e9223372036854775808"]).prop_map(str::to_owned),
    ];
    let form = (select(vec!["", "", "-", "+"]), digits, 0..45_usize, exponent);
    let form = form.prop_map(|(sign, mut digits, point, exponent)| {
        // Without a point if it is behind the digits.
        if point <= digits.len() {
            digits.insert(point, '.');
        }
        format!("{sign}{digits}{exponent}")
    });
    let other = select(vec![
        "", "-", ".", "1e", "e1", " 1", "1 ", "0x1", "NaN", "1_0", "--1", "1.2.3", "١",
    ]);
    prop_oneof![12 => form, 1 => other.prop_map(str::to_owned)]
}

/// The same in which both see a number of the same size: see `sizes_of_numbers_in_the_emulator_differ_by_the_pairs_of_digits_alone`.
fn valid_number() -> impl Strategy<Value = String> {
    number().prop_filter("is one", |text| {
        Number::parse(text).is_ok_and(|number| number.size() == number_size(text))
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,3}",
        Just("ü😀".to_owned()),
        (0..1_100_usize).prop_map(|length| "x".repeat(length))
    ]
}

fn binary() -> impl Strategy<Value = String> {
    select(vec!["", "AA==", "AQ==", "/w==", "AAEC", "//79"]).prop_map(str::to_owned)
}

fn set<S: Strategy<Value = String>>(member: impl Fn() -> S) -> impl Strategy<Value = Value> {
    vec(member(), 1..4).prop_map(|mut members| {
        let mut seen = std::collections::HashSet::new();
        members.retain(|member| seen.insert(Number::parse(member).map_or(member.clone(), |number| number.canonical())));
        json!(members)
    })
}

fn valid_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(|text| json!({"S": text})),
        valid_number().prop_map(|number| json!({"N": number})),
        binary().prop_map(|binary| json!({"B": binary})),
        any::<bool>().prop_map(|on| json!({"BOOL": on})),
        Just(json!({"NULL": true})),
        set(|| "[a-cA-C]{0,2}").prop_map(|set| json!({"SS": set})),
        set(valid_number).prop_map(|set| json!({"NS": set})),
        set(binary).prop_map(|set| json!({"BS": set})),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|list| json!({"L": list})),
            btree_map("[a-c]{1,2}", inner, 0..3).prop_map(|map| json!({"M": map})),
        ]
    })
}

/// This many lists and maps around a value.
fn nested(depth: usize, inner: Value) -> Value {
    (0..depth).fold(inner, |inner, level| match level % 2 {
        0 => json!({"L": [inner]}),
        _ => json!({"M": {"k": inner}}),
    })
}

/// A value that may be refused.
fn edge_value() -> impl Strategy<Value = Value> {
    let innermost = select(vec![json!({"S": "x"}), json!({"L": []}), json!({"M": {}})]);
    prop_oneof![
        6 => number().prop_map(|number| json!({"N": number})),
        2 => number().prop_map(|number| json!({"NS": ["1", number]})),
        2 => (29..36_usize, innermost).prop_map(|(depth, inner)| nested(depth, inner)),
        1 => select(vec!["SS", "NS", "BS"]).prop_map(|tag| json!({tag: []})),
        1 => select(vec![
            json!({"SS": ["b", "a", "b", "C"]}),
            json!({"NS": ["2", "1", "2.0"]}),
            json!({"BS": ["/w==", "AA==", "AA=="]}),
            json!({"SS": ["", ""]}),
        ]),
        1 => select(vec![
            json!({"NULL": false}),
            json!({}),
            json!({"S": "a", "N": "1"}),
            json!({"X": "a"}),
            json!({"L": [{"M": {"": {"S": "x"}}}]}),
            json!({"S": 1}),
            json!({"B": "!"}),
            json!({"L": [{"NULL": false}]}),
        ]),
    ]
}

pub(super) fn valid_key() -> impl Strategy<Value = (&'static str, Value)> {
    let id = || select(vec!["0", "1", "2", "3"]);
    let number = select(vec!["0", "1", "1.0", "1e2", "100", "-0", "1E-130", "-7.50"]);
    let blob = select(vec!["AA==", "AQ==", "/w=="]);
    prop_oneof![
        2 => id().prop_map(|id| ("orders", json!({"id": {"S": id}}))),
        2 => (number, select(vec!["early", "late"])).prop_map(|(id, at)| ("events", json!({"id": {"N": id}, "at": {"S": at}}))),
        1 => blob.prop_map(|id| (BLOBS, json!({"id": {"B": id}}))),
    ]
}

/// A key that may not fit its table.
pub(super) fn edge_key() -> impl Strategy<Value = (&'static str, Value)> {
    let text = |length: usize| json!({"S": "k".repeat(length)});
    let orders = select(vec![
        json!({"id": {"S": ""}}),
        json!({"id": {"N": "1"}}),
        json!({"id": {"L": [{"S": "x"}]}}),
        json!({"other": {"S": "x"}}),
        json!({"id": text(2_048)}),
        json!({"id": text(2_049)}),
        json!({"id": {"SS": ["b", "b"]}}),
        json!({"": {"S": "x"}}),
        json!({}),
    ]);
    let events = prop_oneof![
        2 => select(vec![
            json!({"id": {"N": "1"}}),
            json!({"id": {"N": "1"}, "at": {"S": ""}}),
            json!({"id": {"N": "1"}, "at": text(1_024)}),
            json!({"id": {"N": "1"}, "at": text(1_025)}),
            json!({"id": {"N": "1"}, "at": {"N": "1"}}),
        ]),
        1 => number().prop_map(|number| json!({"id": {"N": number}, "at": {"S": "early"}})),
    ];
    prop_oneof![
        orders.prop_map(|key| ("orders", key)),
        events.prop_map(|key| ("events", key)),
        select(vec![json!({"id": {"B": ""}}), json!({"id": {"S": "AA=="}})]).prop_map(|key| (BLOBS, key)),
    ]
}

fn item(key: Value, attributes: Vec<(String, Value)>) -> Value {
    let mut item = key;
    for (name, value) in attributes {
        item[format!("a{name}")] = value;
    }
    item
}

fn attributes_of<S: Strategy<Value = Value>>(value: S) -> impl Strategy<Value = Vec<(String, Value)>> {
    vec(("[a-d]{0,2}", value), 0..4)
}

/// An item of this many bytes.
fn sized(mut item: Value, bytes: usize) -> Value {
    item["pad"] = json!({"S": ""});
    let taken = size_of_item(item.as_object().unwrap()).unwrap();
    item["pad"] = json!({"S": "x".repeat(bytes - taken)});
    item
}

/// One write of a batch: its table and the request.
pub(super) fn valid_write() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        3 => (valid_key(), attributes_of(valid_value())).prop_map(|((table, key), attributes)| {
            (table, json!({"PutRequest": {"Item": item(key, attributes)}}))
        }),
        1 => valid_key().prop_map(|(table, key)| (table, json!({"DeleteRequest": {"Key": key}}))),
    ]
}

pub(super) fn edge_write() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        8 => (valid_key(), edge_value()).prop_map(|((table, mut key), value)| {
            key["edge"] = value;
            (table, json!({"PutRequest": {"Item": key}}))
        }),
        2 => edge_key().prop_map(|(table, key)| (table, json!({"PutRequest": {"Item": key}}))),
        2 => edge_key().prop_map(|(table, key)| (table, json!({"DeleteRequest": {"Key": key}}))),
        1 => valid_key().prop_map(|(table, mut key)| {
            key["more"] = json!({"S": "x"});
            (table, json!({"DeleteRequest": {"Key": key}}))
        }),
        1 => (valid_key(), attributes_of(valid_value()), 409_598..409_603_usize)
            .prop_map(|((table, key), attributes, bytes)| {
                let attributes = attributes.into_iter().take(2).collect();
                (table, json!({"PutRequest": {"Item": sized(item(key, attributes), bytes)}}))
            }),
        1 => valid_key().prop_map(|(table, mut key)| {
            key[""] = json!({"S": "x"});
            (table, json!({"PutRequest": {"Item": key}}))
        }),
    ]
}
